"""What scenarios gain on signals: accuracy on test windows as recorded, quieter, louder and late.

``python -m bemi_lab.benchmarks.signal_gain FILE.npz ... --per-class 10 --draws 5``: files with X of shape (windows,
time, channels), labels y and, where recordings are known, groups.  With groups, half of them are trained on.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import bemi

KINDS = {
    "windows alone": None,
    "small gains and shifts": bemi.SignalScenarios((0.8, 1.25), (-0.125, 0.125)),
    "gains": bemi.SignalScenarios(),
    "gains and shifts": bemi.SignalScenarios((0.625, 1.5), (-0.125, 0.125)),
}


def draw(X, y, groups, per_class, seed):
    """Training and test rows: some of each class, at most 200 of the others."""
    rng = np.random.default_rng(seed)
    rows = np.arange(len(y))
    if groups is not None:
        names = rng.permutation(np.unique(groups))
        seen = np.isin(groups, names[: len(names) // 2])
    else:
        seen = np.ones(len(y), dtype=bool)
    train = np.concatenate([rng.permutation(rows[seen & (y == label)])[:per_class] for label in np.unique(y)])
    left = np.setdiff1d(rows, train) if groups is None else rows[~seen]
    return train, rng.permutation(left)[:200]


def late(X):
    """Windows that begin an eighth of their length too early, so that all happens late."""
    time = np.arange(X.shape[1])
    return X[:, np.maximum(time - len(time) // 8, 0)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--per-class", type=int, default=10)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0, help="of the first draw")
    options = parser.parse_args()
    print("| set | trained on | as recorded | gain 0.7 | gain 1.3 | late by T/8 |\n|---|---|---|---|---|---|")
    for path in options.files:
        with np.load(path) as arrays:
            X, y, groups = arrays["X"], arrays["y"], arrays.get("groups")
        draws = [
            draw(X, y, groups, options.per_class, seed) for seed in range(options.seed, options.seed + options.draws)
        ]
        for kind, scenarios in KINDS.items():
            accuracies = []
            for train, test in draws:
                clf = bemi.recommended(X, scenarios=scenarios, candidates=None, n_jobs=1).fit(X[train], y[train])
                tests = (X[test], 0.7 * X[test], 1.3 * X[test], late(X[test]))
                accuracies.append([100 * clf.score(rows, y[test]) for rows in tests])
            numbers = " | ".join(f"{value:.1f}" for value in np.mean(accuracies, axis=0))
            print(f"| {path.stem} | {kind} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
