"""Writes genuine.json: small models with certificates that together have every kind of proof and step.

    python tests/certificate/make_genuine.py

Max-Margin's proofs are those of the proof search even where a solver was faster in training.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import second_checker
from forgery import forged, made_up, opened, with_kind
from soft_margins import soft_margins

from bemi import BeMiClassifier, ConstantInput, NoiseScenarios, save, verify
from bemi.engines import initial_network
from bemi.engines.decomposition.max_margin.dichotomies import Search
from bemi.engines.decomposition.max_margin.nodes import Budget
from bemi.engines.decomposition.sat_margin import prices
from bemi.limits import FOREVER
from bemi.problem import Problem, class_codes

NODES = {"node_limit": 20, "time_limit": 5}


def clusters(seed: int, classes: int, per: int, inputs: int, spread: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows around a centre for each class."""
    rng = np.random.default_rng(seed)
    centres = rng.integers(20, 200, (classes, inputs))
    rows = [np.clip(c + rng.integers(-spread, spread + 1, (per, inputs)), 0, 255) for c in centres]
    return np.concatenate(rows), np.repeat(np.arange(classes), per)


def noisy(seed: int, rows: int, inputs: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, (rows, inputs))
    return X, (X[:, 0] * 2 - X[:, 1] + rng.integers(-9, 10, rows) > 0).astype(int)


def at_random(seed: int, rows: int, inputs: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(-9, 10, (rows, inputs)), rng.choice([0, 1], rows)


def stripes(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose class is the OR of two half spaces, with a large common part."""
    rng = np.random.default_rng(5)
    data = rng.integers(0, 20, (rows, 4))
    data[:, -1] += 100
    first, second = data[:, 0] - data[:, 1], data[:, 1] - data[:, 2]
    keep = (first != 0) & (second != 0)
    return data[keep], ((first > 0) | (second > 0)).astype(int)[keep]


def trained(folder: Path, classifier: BeMiClassifier, X: Any, y: Any, **fit: Any) -> tuple[dict, bytes, dict]:
    save(classifier.fit(X, y, **fit), folder / "m")
    return opened(folder / "m")


def searched(folder: Path, nodes: int, classifier: BeMiClassifier, X: np.ndarray, y: np.ndarray) -> Any:
    """A model of one network whose Max-Margin has the proof of a search with so many nodes."""
    header, weights, claims = trained(folder, classifier, X, y)
    at = classifier.stages.index("mm")
    mm = claims["networks"][0][at]
    assert mm["rows"] == len(X), "the search sees all rows"
    pairs = sorted({(tuple(row), label) for row, label in zip(X.tolist(), y.tolist(), strict=True)})
    codes = class_codes(classifier.subset_size)[[label for _, label in pairs]]
    problem = Problem(np.array([row for row, _ in pairs]), codes, classifier.hidden_layers, classifier.weight_bound)
    search = Search(problem, Budget(nodes))
    search.run()
    for report in (mm, header["networks"][0]["reports"][at]):
        report |= {"proof": "certified", "bound": search.proof["bound"]}
    mm["certificate"] = search.proof
    return header, weights, claims


def rewritten(parts: tuple[dict, bytes, dict], stage: int, proof: Any, bound: Any) -> tuple[dict, bytes, dict]:
    """A model with another proof of a stage of its only network."""
    header, weights, claims = parts
    for report in (claims["networks"][0][stage], header["networks"][0]["reports"][stage]):
        report |= {"proof": "certified", "bound": bound}
    claims["networks"][0][stage]["certificate"] = with_kind(claims["networks"][0][stage]["stage"], proof)
    return header, weights, claims


SPLITS = {"kind": "splitting-neurons", "constant": 121, "other": 1, "pairs": [[4, 2], [1, 0]], "order": [3, 1, 0, 2]}
"""As bemi 0.2.0 wrote it for the stripes."""


def tight(parts: tuple[dict, bytes, dict]) -> tuple[dict, bytes, dict]:
    """The bounds of the only network as they are proved."""
    header, weights, claims = parts
    reports = list(zip(header["networks"][0]["reports"], claims["networks"][0], strict=True))
    for both in reports:
        for report in both:
            report |= {"bound": report["objective"], "proof": "solver"}
    (found,) = second_checker.whole_file(header, weights, claims["model"], claims)
    for both, (_, _, _, _, shown) in zip(reports, found, strict=True):
        for report in both:
            bound = shown if isinstance(shown, int) else f"{shown.numerator:x}/{shown.denominator:x}"
            report |= {"bound": bound, "proof": "certified"}
    return parts


def with_trees(parts: tuple[dict, bytes, dict], theta: str) -> tuple[dict, bytes, dict]:
    """Soft margins with a tree that branches once, and the same tree as a proof of the links."""
    trees = parts[2]["networks"][0][0]["certificate"]
    trees = trees | {
        "outputs": [
            tree if "split" in tree else {"split": [1, 0], "children": [tree, tree]} for tree in trees["outputs"]
        ]
    }
    return tight(
        rewritten(rewritten(parts, 0, trees, "0/1"), 1, trees | {"kind": "links-under-ceiling", "theta": theta}, 0)
    )


def by_hand(folder: Path) -> tuple[dict, bytes, dict]:
    """Two neurons of equal margins that may be swapped: a tree of links that branches."""
    apart = ["B", [0], ["K", [[0, 1], [1, 1]], 20]]
    proof = {"target": 3, "tree": [["T", [0, 1], 0, 1, [["D", 0, 1]], [apart]]]}
    stages = {"mm": (21, None), "mw": (3, proof)}
    parts = opened(made_up(folder / "h", [[10, 3], [-10, 3]], [0, 1], [2], 1, [1, 1, 0, 0, 1, 0], stages))
    opposed = [["S", 0, 1, [[["B", 0, [[0, 1], [1, 1]]], ["O"]]]]]
    cap = {"value": 0, "tiers": [0, 0], "cap": [13, 0, ["L", [[0, 1]]]]}
    return rewritten(rewritten(parts, 0, cap | {"tree": opposed}, 25), 1, proof, 2)


def with_list(folder: Path) -> tuple[dict, bytes, dict]:
    """A list of all dichotomies, used for both neurons, and rows that both neurons would separate."""
    rows, weights = [[1, 5], [2, 4], [4, 2], [5, 1]], [1, 1, -1, -1, 1, 1]
    everywhere = [[k, 1] for k in range(4)]

    def tree(row: int) -> list:
        return ["T", row, tree(row + 1), tree(row + 1)] if row < 4 else ["W", everywhere]

    opposed = ["T", 1, 1, [[["O"]], [["A", 0, 1], ["O"]]]]
    both = ["T", 0, 1, [[["F", 0, 7], ["O"]], [["X", 0, 2, 1, [[0, 1], [1, 1]]], ["T", 1, 0, [[opposed]]]]]]
    root = [["N", 0, 0, tree(1)], ["F", 1, 7], ["T", 0, 0, [[both]]]]
    proof = {"value": 9, "tiers": [0, 0], "cap": [6, 0, ["L", [[0, 1]]]], "tree": root}
    return tight(opened(made_up(folder / "h", rows, [1, 1, 0, 0], [2], 1, weights, {"mm": (6, proof)})))


def models(folder: Path) -> Iterator[tuple[str, tuple[dict, bytes, dict]]]:
    three, four = clusters(3, 3, 2, 4, 15), clusters(1, 4, 2, 4, 15)
    one = BeMiClassifier
    yield "shapes", searched(folder, 100, one((3,), subset_size=3, **NODES), *three)
    yield "more shapes", searched(folder, 60, one((3,), stages=("mm",), subset_size=4, **NODES), *four)
    yield "open", searched(folder, 2, one((3,), subset_size=3, **NODES), *clusters(1, 3, 2, 4, 15))
    yield "list", with_list(folder)
    yield "deep", searched(folder, 60, one((2, 2), **NODES), *clusters(1, 2, 5, 3, 60))
    yield "weights", searched(folder, 60, one((2,), weight_bound=3, **NODES), *clusters(2, 2, 4, 3, 100))
    yield "no hidden layer", searched(folder, 20, one((), **NODES), *clusters(2, 2, 4, 3, 50))
    X, y = at_random(0, 24, 3)
    problem = Problem(X, class_codes(2)[y], (5,), 1)
    found = prices.priced_bound(problem, initial_network(problem), FOREVER)
    assert found is not None
    yield (
        "prices",
        rewritten(trained(folder, one((5,), stages=("sm",), **NODES), X, y), 0, found.proof, found.bound),
    )
    yield "last layers", trained(folder, one((2,), stages=("sm",), subset_size=5, **NODES), *clusters(5, 5, 2, 3, 9))
    splits = trained(folder, one((3,), stages=("mm", "mw"), **NODES), *stripes(24))
    yield "splits", rewritten(splits, 0, SPLITS, 124)
    yield "by hand", by_hand(folder)
    yield "labels", trained(folder, one((2,), stages=("sm", "mw"), **NODES), *noisy(2, 7, 3))
    yield (
        "soft",
        with_trees(trained(folder, soft_margins(weight_bound=3, mw_loss=0.01, **NODES), *noisy(3, 9, 3)), "1/4"),
    )
    limits = trained(
        folder,
        soft_margins(
            weight_bound=2, max_links=2, hinges=2, monotone={0: 1}, inputs=ConstantInput(), mw_loss=0.3, **NODES
        ),
        *noisy(4, 9, 4),
        sample_weight=np.arange(9) % 3 + 1,
    )
    yield "limits", with_trees(limits, "1/2")
    yield (
        "subsets",
        trained(
            folder,
            one((2,), subsets=[(0, 1), (1, 2)], scenarios=NoiseScenarios(0.8, 2), random_state=3, **NODES),
            *clusters(7, 3, 2, 3, 9),
        ),
    )


def main() -> None:
    entries = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, (header, weights, claims) in models(folder):
            checked = verify(forged(folder / "f", header, weights, claims))
            entries[title] = {"header": header, "weights": weights.hex(), "claims": claims}
            print(
                title, len(json.dumps(claims)), dict(checked.certified), f"{checked.seconds * 1000:.1f} ms", flush=True
            )
    lines = [f"{json.dumps(title)}: {json.dumps(entry, separators=(',', ':'))}" for title, entry in entries.items()]
    (Path(__file__).parent / "genuine.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
