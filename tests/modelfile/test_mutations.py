"""Damaged model files are refused, with the digest that they had all of them; what is accepted is a model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from soft_margins import soft_margins

from bemi import BeMiClassifier, ConstantInput, ImageScenarios, IntegerHog, NoiseScenarios, ScorecardClassifier, save
from bemi.estimators import Classifier

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited in the way of Linux")

HERE = Path(__file__).parent
DATA = np.array([[5, 1, 0], [0, 5, 1], [1, 0, 5], [6, 1, 0], [0, 7, 1], [2, 0, 5]])
CLASSES = [0, 1, 2, 0, 1, 2]
FAST = {"hidden_layers": (2,), "node_limit": 1, "time_limit": 5}
SOFT = {"node_limit": 1, "time_limit": None, "mw_loss": 0.01}


def models() -> dict[str, Classifier]:
    """Small models that together have every member of a header."""
    names = pd.DataFrame(DATA, columns=["length", "width", "ü"])
    digits, labels = load_digits(n_class=3, return_X_y=True)
    tiny = np.array([[9, 0, 0, 0], [0, 0, 9, 0], [8, 1, 0, 0], [0, 1, 9, 0]])
    return {
        "plain": BeMiClassifier(**FAST | {"hidden_layers": (4, 4)}).fit(DATA, CLASSES),
        "names": BeMiClassifier(**FAST, ties="abstain").fit(names, ["b", "a", "ü"] * 2),
        "objects": BeMiClassifier(**FAST | {"time_limit": (3, 2)}, stages=("sm", "mw")).fit(
            DATA, np.array(["b", "a", "ü"] * 2, dtype=object)
        ),
        "bytes": BeMiClassifier(**FAST, subset_size=3, weight_bound=200).fit(DATA, np.array(CLASSES, dtype=np.int8)),
        "truth": BeMiClassifier(**FAST).fit(tiny, [True, False, True, False]),
        "soft": soft_margins(**SOFT, weight_bound=7).fit(DATA / 7, CLASSES),
        "constant": soft_margins(**SOFT, inputs=ConstantInput(), weight_bound=3).fit(DATA, CLASSES),
        "chances": soft_margins(**SOFT, weight_bound=7, probabilities=True).fit(DATA, CLASSES),
        "card": ScorecardClassifier(2, monotone={1: 1}, node_limit=1, time_limit=None).fit(DATA, CLASSES),
        "hog": soft_margins(**SOFT, inputs=IntegerHog(orientations=8)).fit(digits[:20].astype(int), labels[:20]),
        "rejecting": soft_margins(**SOFT, reject=0.4).fit(DATA / 7, CLASSES),
        "some": BeMiClassifier(**FAST, subsets=[(0, 2), (1, 2)], max_per_class=1).fit(DATA, CLASSES),
        "chosen": BeMiClassifier(**FAST, subsets=2, copies=NoiseScenarios(0.8, 4), random_state=3).fit(DATA, CLASSES),
        "images": BeMiClassifier(**FAST, copies=ImageScenarios(shifts=(1,), noise=(0.1,))).fit(
            tiny, np.array([0.0, 1.0, 0.0, 1.0])
        ),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("mutations")
    for name, model in models().items():
        save(model, made / f"{name}.bemi")
    for path in (HERE / "models").glob("*.bemi"):
        shutil.copy(path, made)
    return made


UNKNOWN_SOLVER = "ignore:this model was trained with the solver"


def tried(folder: Path, count: int, seed: int) -> dict:
    command = [
        sys.executable,
        "-W",
        "error",
        "-W",
        UNKNOWN_SOLVER,
        str(HERE / "mutations.py"),
        str(folder),
        str(count),
        str(seed),
    ]
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | threads)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    print({name: value for name, value in summary.items() if name != "reasons"})
    return summary


def check(summary: dict) -> None:
    outcomes = summary["outcomes"]
    assert sum(outcomes.values()) == summary["mutants"]
    assert outcomes["refused"] == summary["mutants"] // 2
    # Mutants that are models after all must be among them, or they would not come near the last checks.
    assert outcomes["accepted, repaired"] > summary["mutants"] // 100
    assert len(summary["reasons"]) > 50
    assert summary["grown_mb"] < 200


def test_mutants_are_refused_or_models(folder):
    check(tried(folder, 12_000, seed=0))


@pytest.mark.slow
def test_a_million_mutants(folder):
    check(tried(folder, 1_000_000, seed=1))
