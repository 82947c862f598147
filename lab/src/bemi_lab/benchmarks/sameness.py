"""What must stay the same when code is rearranged: weights, labels, bounds, verdicts, C code, by node limits alone.

``python -m bemi_lab.benchmarks.sameness OUT.json`` trains every case without a clock and writes a digest of all that it
gives;
``python -m bemi_lab.benchmarks.sameness OUT.json --against OLD.json`` also compares with an earlier file, made with
another version of the code (``PYTHONPATH=that/src``), and exits with 1 if anything differs.  Only public names are
used, so that versions with other insides can be compared.  Texts, comments, seconds and format numbers are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine

from bemi import BeMiClassifier, ConstantInput, ImageScenarios, IntegerHog, NoiseScenarios, recommended, save, verify
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


def _fixed(**parameters: Any) -> BeMiClassifier:
    """A classifier whose result no clock decides."""
    return BeMiClassifier(**{"time_limit": None, "node_limit": 20, **parameters})


def _with_more_classes(X: np.ndarray, y: np.ndarray) -> BeMiClassifier:
    first = y < 3
    return _fixed().fit(X[first], y[first]).add_classes(X[~first], y[~first])


def _recommended(X: np.ndarray, y: np.ndarray, **parameters: Any) -> BeMiClassifier:
    return recommended(X, **parameters).set_params(time_limit=None, node_limit=50).fit(X, y)


def cases() -> Iterator[tuple[str, Callable[[], Rows], Callable[[np.ndarray, np.ndarray], BeMiClassifier]]]:
    """Name, rows, and what trains on them."""

    def fitted(**parameters: Any) -> Callable[[np.ndarray, np.ndarray], BeMiClassifier]:
        return lambda X, y: _fixed(**parameters).fit(X, y)

    few = lambda: _digits(6, 5)  # noqa: E731
    yield "digits, paper", lambda: _digits(10), fitted(node_limit=50)
    yield "digits, abstain", few, fitted(ties="abstain")
    yield "digits, recommended", lambda: _digits(10), _recommended
    yield "digits, m = 3", few, fitted(subset_size=3, hidden_layers=(4,), node_limit=5)
    yield "digits, P = 7", few, fitted(weight_bound=7)
    yield "digits, P = 3, soft margins and links", few, fitted(weight_bound=3, hidden_layers=(), stages=("soft", "mw"))
    yield "digits, SM + MW", few, fitted(stages=("sm", "mw"))
    yield "digits, MM", few, fitted(stages=("mm",), hidden_layers=(3,))
    yield "digits, add_classes", few, _with_more_classes
    yield "digits, chosen subsets", few, fitted(subsets=6, max_per_class=4)
    yield (
        "digits, hog and scenarios",
        few,
        fitted(
            hidden_layers=(),
            weight_bound=7,
            stages=("soft",),
            transform=IntegerHog(),
            scenarios=ImageScenarios(),
            C=1.0,
        ),
    )
    yield "iris, constant input", lambda: _table(load_iris, 3), fitted(transform=ConstantInput(), weight_bound=3)
    yield (
        "iris, noise",
        lambda: _table(load_iris, 5),
        fitted(hidden_layers=(2,), transform=ConstantInput(), scenarios=NoiseScenarios(), node_limit=5),
    )
    yield "iris, monolithic", lambda: _table(load_iris, 15), fitted(engine="monolithic", hidden_layers=(2,))
    yield (
        "iris, monolithic soft",
        lambda: _table(load_iris, 10),
        fitted(engine="monolithic", hidden_layers=(), stages=("soft", "mw")),
    )
    yield "wine, recommended", lambda: _table(load_wine, 4), _recommended
    yield "heart disease, P = 1", _heart, fitted(hidden_layers=(5,), input_scaling="per-feature", node_limit=3)
    yield (
        "heart disease, P = 7",
        _heart,
        fitted(hidden_layers=(5,), weight_bound=7, input_scaling="per-feature", node_limit=3),
    )
    yield "MNIST, paper", lambda: _images("mnist", 10), fitted(node_limit=30)
    yield "MNIST, recommended", lambda: _images("mnist", 6), _recommended
    yield (
        "Fashion-MNIST, paper, two hidden layers (10, 3)",
        lambda: _images("fashion-mnist", 4),
        fitted(hidden_layers=(10, 3), node_limit=10),
    )


def digest(classifier: BeMiClassifier, rows: np.ndarray) -> dict[str, Any]:
    """All that must stay the same of a trained classifier."""
    weights = hashlib.sha256()
    for network in classifier.networks_.values():
        for layer in network.weights:
            weights.update(np.ascontiguousarray(layer, dtype="<i8").tobytes())
    reports = [
        [key, _stage(stage), *map(str, (r.objective, r.bound, r.proof, r.links, r.rows))]
        for key, stages in classifier.reports_.items()
        for stage, r in stages.items()
    ]
    votes = classifier.vote(rows)
    radii = classifier.certified_radius(rows[:20])
    with tempfile.TemporaryDirectory() as name:
        model = Path(name) / "model.bemi"
        save(classifier, model)
        found = verify(model)
        parts = ("certified", "claimed", "not_run")
        verdicts = {part: {_stage(name): n for name, n in getattr(found, part).items()} for part in parts}
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


def _stage(name: str) -> str:
    """The name of a stage; soft margins were called ml2 in release 0.2.0."""
    return {"ml2": "soft"}.get(name, name)


def _code(path: Path) -> str:
    """Tokens of a C file, without comments."""
    return " ".join(re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.DOTALL).split())


def _hashed(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()


def run() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--against", type=Path, help="an earlier output to compare with")
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    options = parser.parse_args()
    old = json.loads(options.against.read_text()) if options.against else {}
    found: dict[str, Any] = {}
    different = 0
    for name, rows, train in cases():
        if options.only not in name:
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
        options.output.write_text(json.dumps(found, indent=1))
    return 1 if different else 0


if __name__ == "__main__":
    raise SystemExit(run())
