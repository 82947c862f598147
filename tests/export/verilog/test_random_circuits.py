"""Circuits of networks that no training would give: few or no links, large weights, deep layers, many classes."""

from __future__ import annotations

import copy
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from exported_models import with_networks
from hypothesis import given, settings
from hypothesis import strategies as st
from mixed_tables import patients
from simulated_verilog import in_icarus, needs, warnings

from bemi import BeMiClassifier, ConstantInput, Network, TableBits
from bemi.export.verilog import write

INPUTS = ("integers", "signed integers", "wide integers", "constant input", "scaled", "bits", "values and bits")


@cache
def trained(inputs, features, classes, together, ties):
    """A classifier with the inputs, classes and ties; its networks will be replaced."""
    chosen = {"hidden_layers": (2,) if together > 2 else (), "stages": ("sm",), "subset_size": together, "ties": ties}
    rng, rows = np.random.default_rng(0), 40
    if inputs in ("bits", "values and bits"):
        X = patients(rows)[0].iloc[:, : min(features, 8)]
        chosen["inputs"] = TableBits(thresholds=3, values=inputs != "bits")
    else:
        low, high = {"signed integers": (-5, 3), "wide integers": (-(2**20), 2**20 - 1)}.get(inputs, (0, 16))
        X = rng.integers(low, high + 1, (rows, features))
        X[:2] = [[low], [high]]
        X = X / 7 if inputs == "scaled" else X
    if inputs == "constant input":
        chosen |= {"inputs": ConstantInput(), "input_scaling": None}
    return BeMiClassifier(node_limit=1, time_limit=None, **chosen).fit(X, np.arange(rows) % classes)


@st.composite
def models(draw):
    """A classifier with random networks."""
    classes = draw(st.sampled_from((2, 3, 4, 5)))
    together = min(classes, draw(st.sampled_from((2, 3, classes))))
    shape = draw(st.sampled_from(INPUTS)), draw(st.sampled_from((1, 2, 5, 17)))
    classifier = copy.copy(trained(*shape, classes, together, draw(st.sampled_from(("margin", "abstain")))))
    return randomized(
        classifier,
        bound=draw(st.sampled_from((1, 3, 7, 15))),
        hidden=draw(st.sampled_from(((), (1,), (3,), (2, 2), (4, 3)))),
        density=draw(st.sampled_from((0.0, 0.2, 1.0))),
        seed=draw(st.integers(0, 1000)),
    )


def randomized(classifier, *, bound, hidden, density, seed):
    """The classifier with random networks, in which this share of the links is kept."""
    rng, networks, splitting = np.random.default_rng(seed), [], []
    for network in classifier.ensemble_.networks:
        layers = (network.layers[0], *hidden, network.layers[-1])
        weights = (rng.integers(-bound, bound + 1, s) * (rng.random(s) < density) for s in pairwise(layers))
        networks.append(Network(tuple(weights), bound))
        splitting.append(rng.random(layers[1]) < 0.5)
    return with_networks(classifier, networks, splitting)


def try_both(classifier, folder):
    """Labels, clocks and style of both interfaces."""
    for interface in ("stream", "parallel"):
        made = write(classifier, folder, interface=interface, vectors=40)
        runs = in_icarus(folder)
        assert [(run.predictions, run.differences) for run in runs] == [(40, 0), (40, 0)]
        assert made.costs.latency <= runs[0].first <= made.costs.latency + made.costs.tie
        assert runs[0].most <= made.costs.latency + made.costs.tie
        assert warnings(folder) == ""


@needs("iverilog")
@needs("verilator")
@settings(max_examples=3)
@given(classifier=models())
def test_any_networks(classifier, tmp_path_factory):
    try_both(classifier, tmp_path_factory.mktemp("circuit"))


@needs("iverilog")
@needs("verilator")
@pytest.mark.slow
@settings(max_examples=100)
@given(classifier=models())
def test_many_networks(classifier, tmp_path_factory):
    try_both(classifier, tmp_path_factory.mktemp("circuit"))


@needs("iverilog")
@needs("verilator")
def test_one_network_that_always_gives_the_same_label(tmp_path):
    classifier = copy.copy(trained("bits", 1, 2, 2, "margin"))
    try_both(randomized(classifier, bound=1, hidden=(), density=0.0, seed=0), tmp_path)


@needs("iverilog")
@needs("verilator")
@pytest.mark.slow
@pytest.mark.parametrize(("inputs", "features"), [("integers", 17), ("bits", 8)])
def test_twenty_classes(inputs, features, tmp_path):
    classifier = copy.copy(trained(inputs, features, 20, 2, "margin"))
    try_both(randomized(classifier, bound=15, hidden=(), density=1.0, seed=0), tmp_path)


@needs("iverilog")
def test_the_test_bench_counts_wrong_and_undefined_labels(tmp_path):
    write(trained("bits", 2, 2, 2, "margin"), tmp_path, vectors=20)
    labels = (tmp_path / "labels.txt").read_text().splitlines()
    (tmp_path / "labels.txt").write_text("\n".join([str(1 - int(labels[0])), *labels[1:]]))
    assert [run.differences for run in in_icarus(tmp_path)] == [1, 1]
    source = tmp_path / "bemi_model.v"
    source.write_text(source.read_text().replace("out_label <= cast[0:0];", "out_label <= 1'bx;"))
    assert [run.differences for run in in_icarus(tmp_path)] == [20, 20]
