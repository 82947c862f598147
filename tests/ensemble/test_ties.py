"""Tie rules: what a rule says is all that there is to know about it."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bemi import BeMiClassifier
from bemi.ensemble import TIES, check_open_label
from bemi.export.c import export as c_export
from bemi.export.onnx import model as onnx_model
from bemi.export.page import page
from bemi.export.verilog import export as verilog_export

LAST_LEADER = replace(
    TIES["abstain"],
    name="last",
    decide=lambda tied: tied.dominant.shape[1] - 1 - tied.dominant[:, ::-1].argmax(axis=1),
    labels_every_row=True,
    pieces={},
    words="the last of the leaders",
)
"""A third rule, which reads the votes alone and which no export has code for."""


@pytest.fixture(scope="module")
def trained():
    X, y = load_digits(n_class=4, return_X_y=True)
    return BeMiClassifier(hidden_layers=(2,), stages=("sm",), node_limit=5).fit(X[:12], y[:12]), X


@pytest.fixture
def ensemble(trained, monkeypatch):
    """An ensemble under the third rule."""
    monkeypatch.setitem(TIES, LAST_LEADER.name, LAST_LEADER)
    return trained[0].ensemble_.with_ties("last")


def test_a_third_rule_decides_the_rows_that_the_paper_leaves_open(trained, ensemble):
    rows = trained[1]
    votes = ensemble.votes(rows)
    paper = ensemble.with_ties("abstain").votes(rows)
    tied = np.flatnonzero(paper.unclassified)
    assert len(tied)
    assert votes.label[tied].tolist() == [int(np.flatnonzero(leaders)[-1]) for leaders in votes.dominant[tied]]
    clear = ~paper.unclassified
    assert np.array_equal(votes.label[clear], paper.label[clear])
    # Decision values follow the rule, and no label is needed for rows without one.
    assert np.array_equal(ensemble.decisions(rows).argmax(axis=1), votes.label)
    check_open_label(np.array([-1, 0, 1, 2]), LAST_LEADER)
    with pytest.raises(ValueError, match="use ties='margin' or ties='last'"):
        check_open_label(np.array([-1, 0, 1, 2]), TIES["abstain"])


def test_a_label_that_only_votes_decide_stays_while_they_do(trained, ensemble):
    """Rows that evidence decides have no certified radius; those that votes decide have that of the votes."""
    rows = trained[1]
    tied = ensemble.votes(rows).unclassified
    by_votes, by_evidence = ensemble.radius(rows), ensemble.with_ties("margin").radius(rows)
    assert (by_evidence.linf[tied] == 0).all()
    assert (by_votes.l1[tied] > 0).any()
    assert np.array_equal(by_votes.l1[~tied], by_evidence.l1[~tied])


@pytest.mark.parametrize(
    ("name", "export"), [("C", c_export), ("ONNX", onnx_model), ("page", page), ("Verilog", verilog_export)]
)
def test_an_export_without_code_for_a_rule_says_so(ensemble, name, export):
    if name == "ONNX":
        pytest.importorskip("onnx", reason="the ONNX export needs onnx")
    line = f"the {name} export has no code for ties='last'; use ties='margin' or ties='abstain'"
    with pytest.raises(ValueError, match=line):
        export(ensemble)
