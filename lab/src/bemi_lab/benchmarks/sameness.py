"""What must stay the same when code is rearranged: weights, labels, bounds, verdicts, C code, by node limits alone.

``bemi-lab bench sameness OUT.json`` trains every case without a clock and writes a digest of all that it gives;
``--against OLD.json`` also compares with an earlier file, and the command exits with 1 if anything differs.  To make
that file with another version of the code, run ``PYTHONPATH=that/src:lab/src python -m bemi_lab.benchmarks.sameness``:
only public names are used here, so that versions with other insides can be compared.  Texts, comments, seconds and
format numbers are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine

import bemi
from bemi import ConstantInput, ImageScenarios, IntegerHog, NoiseScenarios, SignalCounts, TableBits, save, verify
from bemi.cli import main
from bemi_lab.datasets import load as load_set
from bemi_lab.datasets import sample

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Training rows, their labels, and rows to predict."""


def _digits(per_class: int, classes: int = 10) -> Rows:
    X, y = load_digits(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    chosen = np.concatenate([np.flatnonzero(y == label)[:per_class] for label in range(classes)])
    return X[chosen], y[chosen], X[:600]


def _table(loader: Callable[..., Any], stride: int) -> Rows:
    X, y = loader(return_X_y=True)
    return X[::stride], y[::stride], X


def _images(name: str, per_class: int) -> Rows:
    rows = sample(load_set(name), per_class, 0, seed=0)
    return rows.train_X, rows.train_y, rows.test_X[:500]


def _heart() -> Rows:
    dataset = load_set("heart-disease")
    X = np.where(np.isnan(dataset.train_X), 0.0, dataset.train_X)
    return X[:120], dataset.train_y[:120], X[120:]


def _paper(**parameters: Any) -> Any:
    """The paper's classifier, whose result no clock decides."""
    return bemi.BeMiClassifier(**{"time_limit": None, "node_limit": 20, **parameters})


def _soft(**parameters: Any) -> Any:
    """Soft margins with a fixed choice."""
    usual = {"time_limit": None, "node_limit": 20, "weight_bound": 7, "inputs": None, "copies": None, "C": 10.0}
    return bemi.FewBitClassifier("table", **{"probabilities": False, **usual, **parameters})


def _chosen(X: np.ndarray, y: np.ndarray) -> Any:
    """Soft margins that choose their settings."""
    table = X.ndim == 2 and X.shape[1] != 64 and X.shape[1] != 784
    return bemi.FewBitClassifier(time_limit=None, node_limit=50, probabilities=table).fit(X, y)


def _with_more_classes(X: np.ndarray, y: np.ndarray) -> Any:
    first = y < 3
    return _paper().fit(X[first], y[first]).add_classes(X[~first], y[~first])


def _signal() -> Rows:
    """Windows of two channels whose classes differ in frequency and phase."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    time_ = np.arange(64) / 64
    waves = np.sin(2 * np.pi * ((2 + y)[:, None] * time_ + rng.random((90, 1))))
    X = np.stack([waves, np.roll(waves, 5, axis=1)], axis=2) + rng.normal(0, 0.4, (90, 64, 2))
    X = np.rint(100 * X).astype(np.int64)
    return X[:45], y[:45], X


Case = tuple[Callable[[], Rows], Callable[[np.ndarray, np.ndarray], Any]]
"""Rows, and what trains on them."""


def _case(rows: Callable[..., Rows], *arguments: Any, make: Callable[..., Any] = _paper, **parameters: Any) -> Case:
    return partial(rows, *arguments), lambda X, y: make(**parameters).fit(X, y)


_HOG: dict[str, Any] = {"make": _soft, "inputs": IntegerHog()}
_HEART: dict[str, Any] = {"hidden_layers": (5,), "input_scaling": "per-feature", "node_limit": 3}
_WINE: dict[str, Any] = {"make": _soft, "inputs": TableBits(), "C": 3.0, "weight_bound": 15, "probabilities": True}
_IRIS: dict[str, Any] = {"inputs": ConstantInput(), "hidden_layers": (2,), "node_limit": 5}

CASES: dict[str, Case] = {
    "digits, paper": _case(_digits, 10, node_limit=50),
    "digits, abstain": _case(_digits, 6, 5, ties="abstain"),
    "digits, chosen": (partial(_digits, 10), _chosen),
    "digits, m = 3": _case(_digits, 6, 5, subset_size=3, hidden_layers=(4,), node_limit=5),
    "digits, P = 7": _case(_digits, 6, 5, weight_bound=7),
    "digits, P = 3, soft margins and links": _case(_digits, 6, 5, make=_soft, weight_bound=3, mw_loss=0.01),
    "digits, SM + MW": _case(_digits, 6, 5, stages=("sm", "mw")),
    "digits, MM": _case(_digits, 6, 5, stages=("mm",), hidden_layers=(3,)),
    "digits, add_classes": (partial(_digits, 6, 5), _with_more_classes),
    "digits, chosen subsets": _case(_digits, 6, 5, subsets=6, max_per_class=4),
    "digits, hog and copies": _case(_digits, 6, 5, copies=ImageScenarios(), C=1.0, **_HOG),
    "digits, hog": _case(_digits, 6, 5, **_HOG),
    "iris, constant input": _case(_table, load_iris, 3, inputs=ConstantInput(), weight_bound=3),
    "iris, noise": _case(_table, load_iris, 5, copies=NoiseScenarios(), **_IRIS),
    "iris, monolithic": _case(_table, load_iris, 15, engine="monolithic", hidden_layers=(2,)),
    "wine, bits, probabilities, three links": _case(_table, load_wine, 4, max_links=3, **_WINE),
    "wine, chosen": (partial(_table, load_wine, 4), _chosen),
    "signal, counts": _case(_signal, make=_soft, inputs=SignalCounts()),
    "signal, chosen": (_signal, _chosen),
    "heart disease, P = 1": _case(_heart, **_HEART),
    "heart disease, P = 7": _case(_heart, weight_bound=7, **_HEART),
    "MNIST, paper": _case(_images, "mnist", 10, node_limit=30),
    "MNIST, chosen": (partial(_images, "mnist", 6), _chosen),
    "Fashion-MNIST, paper, two hidden layers (10, 3)": _case(
        _images, "fashion-mnist", 4, hidden_layers=(10, 3), node_limit=10
    ),
}


def digest(classifier: Any, rows: np.ndarray) -> dict[str, Any]:
    """All that must stay the same of a trained classifier."""
    weights = hashlib.sha256()
    for network in classifier.networks_.values():
        for layer in network.weights:
            weights.update(np.ascontiguousarray(layer, dtype="<i8").tobytes())
    reports = [
        [key, stage, *map(str, (r.objective, r.bound, r.proof, r.links, r.rows))]
        for key, stages in classifier.reports_.items()
        for stage, r in stages.items()
    ]
    votes = classifier.vote(rows)
    radii = classifier.certified_radius(rows[:20])
    with tempfile.TemporaryDirectory() as name:
        model = Path(name) / "model.bemi"
        save(classifier, model)
        found = verify(model)
        verdicts = {part: dict(getattr(found, part)) for part in ("certified", "claimed", "not_run")}
        code = Path(name) / "c"
        with redirect_stdout(StringIO()):
            main(["export", "c", str(model), "-o", str(code)])
        source = "".join(_code(path) for path in sorted(code.iterdir()))
    return {
        "weights": weights.hexdigest(),
        "reports": _hashed(reports),
        "splitting": _hashed([[key, mask.tolist()] for key, mask in classifier.splitting_.items()]),
        "labels": _hashed([votes.label.tolist(), votes.counts.tolist(), votes.unclassified.tolist()]),
        "radii": _hashed([np.asarray(part).tolist() for part in vars(radii).values()]),
        "verdicts": verdicts,
        "digest of rows": classifier.training_digest_,
        "C": hashlib.sha256(source.encode()).hexdigest(),
    }


def _code(path: Path) -> str:
    """Tokens of a C file, without comments."""
    return " ".join(re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.DOTALL).split())


def _hashed(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()


def run(output: Path, *, against: Path | None = None, only: str = "") -> int:
    """Train the cases, write their digests, and return 1 if any differs from an earlier one."""
    old = json.loads(against.read_text()) if against else {}
    found: dict[str, Any] = {}
    different = 0
    for name, (rows, train) in CASES.items():
        if only not in name:
            continue
        X, y, unseen = rows()
        began = time.perf_counter()
        classifier = train(X, y)
        seconds = time.perf_counter() - began
        found[name] = json.loads(json.dumps(digest(classifier, unseen)))
        parts = [part for part, value in found[name].items() if name in old and old[name][part] != value]
        different += bool(parts)
        verdict = "" if name not in old else f"DIFFERENT: {', '.join(parts)}" if parts else "same"
        print(f"{seconds:6.1f} s  {name:50} {verdict}", flush=True)
        output.write_text(json.dumps(found, indent=1))
    return 1 if different else 0


if __name__ == "__main__":
    # Without the command line of the laboratory, which an older version of the library may not serve.
    command = argparse.ArgumentParser()
    command.add_argument("output", type=Path)
    command.add_argument("--against", type=Path)
    command.add_argument("--only", default="")
    given = command.parse_args()
    raise SystemExit(run(given.output, against=given.against, only=given.only))
