"""The fitted model: it votes as its networks do, row by row, and does not change."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from given_networks import give_networks
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bemi import BeMiClassifier, ConstantInput, Network, save
from bemi.ensemble import Ensemble, ensemble_of
from bemi.ensemble.ensemble import ROWS_AT_A_TIME, ROWS_DECIDED_TOGETHER
from bemi.export.c import export
from bemi.problem import ABSTAIN

MANY = ROWS_DECIDED_TOGETHER + 2 * ROWS_AT_A_TIME + 7


@pytest.fixture(scope="module")
def ensemble() -> Ensemble:
    """Random networks on five classes, so that many rows tie, behind a transform."""
    rng = np.random.default_rng(1)
    X, y = rng.integers(-9, 10, (15, 4)), np.repeat(np.arange(5), 3)
    settings = {"hidden_layers": (3,), "weight_bound": 2, "stages": ("sm",), "node_limit": 1, "time_limit": None}
    classifier = BeMiClassifier(inputs=ConstantInput(9), input_scaling=None, **settings).fit(X, y)
    networks = {
        key: Network(tuple(rng.integers(-2, 3, w.shape) for w in network.weights), 2)
        for key, network in classifier.networks_.items()
    }
    splitting = {key: rng.random(3) < 0.7 for key in networks}
    return give_networks(classifier, networks, splitting=splitting).ensemble_


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return np.random.default_rng(2).integers(-9, 10, (MANY, 4))


def test_many_rows_get_the_labels_of_single_rows(ensemble, rows):
    together = ensemble.votes(rows)
    assert together.unclassified.sum() > 50, "there are ties in every piece"
    chosen = np.flatnonzero(together.unclassified)[::9]
    alone = [int(ensemble.votes(rows[i : i + 1]).label[0]) for i in chosen]
    assert together.label[chosen].tolist() == alone
    assert together.counts.shape == (MANY, 5)
    assert (together.counts.sum(axis=1) <= len(ensemble.networks)).all()


def test_networks_vote_for_themselves(ensemble, rows):
    inputs = ensemble.inputs(rows)
    for column, (network, subset) in enumerate(zip(ensemble.networks, ensemble.subsets, strict=True)):
        outputs = network.forward(inputs)[:, 0]
        assert np.array_equal(ensemble.network_votes(inputs)[:, column], np.where(outputs > 0, *subset))


def test_evidence_is_the_scaled_distance_of_the_nearest_splitting_neuron(ensemble, rows):
    found = ensemble.evidence(rows)
    inputs = ensemble.inputs(rows)
    for column, (network, _, splitting) in enumerate(ensemble.parts()):
        weights = network.weights[0][:, splitting]
        scales = 2**24 // np.maximum(np.abs(weights).sum(axis=0), 1)
        distances = np.abs(inputs @ weights) * scales
        expected = distances.min(axis=1) if splitting.any() else np.zeros(MANY, dtype=int)
        assert np.array_equal(found[:, column], expected)


def test_another_tie_rule_changes_open_rows_alone(ensemble, rows):
    paper = ensemble.with_ties("abstain")
    left_open = paper.votes(rows)
    assert np.array_equal(left_open.label == ABSTAIN, left_open.unclassified)
    clear = ~left_open.unclassified
    assert np.array_equal(left_open.label[clear], ensemble.votes(rows).label[clear])
    assert ensemble.with_ties("margin") is ensemble
    with pytest.raises(ValueError, match="ties must be one of margin, abstain"):
        ensemble.with_ties("loudest")


def test_it_is_frozen_and_can_be_pickled(ensemble, rows):
    with pytest.raises(FrozenInstanceError):
        ensemble.ties = None
    ensemble.votes(rows)
    content = pickle.dumps(ensemble)
    again = pickle.loads(content)
    assert np.array_equal(again.votes(rows).label, ensemble.votes(rows).label)
    assert pickle.dumps(ensemble) == content, "what predictions prepare is not part of it"


def test_an_ensemble_is_found_in_a_classifier(ensemble):
    assert ensemble_of(ensemble) is ensemble
    classifier = BeMiClassifier.from_ensemble(ensemble)
    assert ensemble_of(classifier) is ensemble
    assert classifier.get_params()["inputs__level"] == 9


def test_a_pipeline_is_refused_in_one_line(tmp_path):
    rows = np.random.default_rng(0).normal(size=(20, 3))
    pipeline = make_pipeline(StandardScaler(), BeMiClassifier(hidden_layers=(), stages=("sm",), node_limit=1))
    pipeline.fit(rows, rows[:, 0] > 0)
    message = r"^a Pipeline cannot be saved or exported.*: fit the classifier on the raw rows.*pipeline\[-1\]$"
    for refusing in (
        lambda: save(pipeline, tmp_path / "model.bemi"),
        lambda: export(pipeline),
        lambda: ensemble_of(make_pipeline(StandardScaler())),
    ):
        with pytest.raises(ValueError, match=message):
            refusing()
    assert not list(tmp_path.iterdir())
    save(pipeline[-1], tmp_path / "model.bemi")
    with pytest.raises(ValueError, match="a LogisticRegression is not a bemi model; pass the fitted classifier"):
        ensemble_of(LogisticRegression().fit(rows, rows[:, 0] > 0))
