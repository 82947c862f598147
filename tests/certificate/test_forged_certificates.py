"""Certificates that claim too much, each refused for the reason that makes it false."""

from __future__ import annotations

import numpy as np
import pytest
from given_networks import give_networks

from bemi import BeMiClassifier, Network, save, verify
from bemi.certificate import CertificateError, Rows
from bemi.certificate.links import links_bound
from bemi.certificate.margins import MarginProof
from bemi.certificate.reading import added_rows
from bemi.stages import Outcome, StageResult

# What stages say of their networks.

ROWS, LABELS = np.array([[5, 1], [4, 2], [1, 5], [2, 4]]), np.array([0, 0, 1, 1])
GOOD = Network((np.array([[1, 1], [-1, -1]]), np.array([[1], [1]])))
TURNED = Network((-GOOD.weights[0], -GOOD.weights[1]))
CONSTANT = Network((np.array([[1, 1], [0, 0]]), np.array([[1], [1]])))
WITHOUT_LINKS = Network((np.array([[1, 0], [-1, 0]]), np.array([[1], [1]])))
WEAKER = Network((np.array([[1, 1], [-1, 0]]), np.array([[1], [1]])))


def stage(name, network, objective, bound, proof="solver", rows=4):
    return StageResult(name, network, objective, bound, 0.0, proof, network.links, rows, Outcome.OPTIMAL)


def honest(*names):
    every = {"sm": stage("sm", GOOD, 4, 4, "certified"), "mm": stage("mm", GOOD, 6, 9), "mw": stage("mw", GOOD, 6, 1)}
    return {name: every[name] for name in names}


def refusal(folder, reports, final=None):
    """Why a model with these reports is refused, or None."""
    classifier = BeMiClassifier((2,), stages=tuple(reports), node_limit=1).fit(ROWS, LABELS)
    network = final or list(reports.values())[-1].network
    splitting = {(0, 1): network.splitting_neurons(ROWS)}
    give_networks(classifier, {(0, 1): network}, splitting=splitting, reports={(0, 1): reports})
    save(classifier, folder / "m")
    try:
        verify(folder / "m")
    except CertificateError as error:
        return str(error)
    return None


def test_honest_reports_are_accepted(tmp_path):
    assert refusal(tmp_path, honest("sm", "mm", "mw")) is None
    assert refusal(tmp_path, honest("sm", "mw")) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"sm": stage("sm", CONSTANT, 2, 2, "certified")}, "claims the bound 2, but only 4 is proved"),
        ({"mm": stage("mm", WITHOUT_LINKS, 3, 9)}, "a margin is below 1"),
        ({"mm": stage("mm", TURNED, None, None, "none")}, "could not run, but changed the network"),
        ({"mw": stage("mw", WEAKER, 5, 1)}, "a margin is smaller than Max-Margin's"),
        ({"mw": stage("mw", GOOD, 5, 1)}, "claims 5, but its weights give 6"),
        ({"mm": stage("mm", GOOD, 6, 9, rows=3)}, "claims 3 rows, but 4 are right"),
    ],
)
def test_false_reports_are_refused(tmp_path, change, reason):
    assert reason in refusal(tmp_path, honest("sm", "mm", "mw") | change)


def test_without_margins_labels_must_be_right(tmp_path):
    reports = honest("sm", "mw") | {"mw": stage("mw", CONSTANT, 4, 1)}
    assert "a row is misclassified" in refusal(tmp_path, reports)


def test_the_model_must_have_the_weights_of_the_last_stage(tmp_path):
    assert "weights are not those of the last stage" in refusal(tmp_path, honest("sm", "mm", "mw"), final=TURNED)


def test_added_rows_are_of_the_classes_of_their_network():
    labels = [0, 1, 2, 0, 2]
    assert added_rows([3], 3, labels, (0, 1)) == [3]
    with pytest.raises(CertificateError, match="of another class"):
        added_rows([3, 4], 3, labels, (0, 1))


# Proofs of margins: four rows, two outputs, two neurons; the best network has the margins 10 and 3, and 1 twice.

POINTS = [[-10, -3], [-10, 3], [10, -3], [10, 3]]
CODES = [[-1, -1], [-1, 1], [1, -1], [1, 1]]
BEST = 15


def margin_bound(*tree, value=8, tiers=(0, 0), codes=CODES):
    proof = {"value": value, "tiers": list(tiers), "cap": [13, 0, ["L", [[0, 1]]]], "tree": list(tree)}
    return MarginProof(Rows(POINTS, codes, [2, 2, 2], 1), proof).bound()


def test_an_open_node_proves_nothing():
    assert margin_bound(["O"]) >= BEST
    assert margin_bound(["O"], value=0) == margin_bound(["O"])


LEVEL = 3
ALONE = [[["O"]], [["O"]]]


@pytest.mark.parametrize(
    ("tree", "more", "reason"),
    [
        ([["C"]], {}, "called closed, but its bound is above the value"),
        ([["B", 0, [[1, 1]]], ["O"]], {}, "is on a row without a sign"),
        ([["B", 0, [[0, -1]]], ["O"]], {}, "bad multiplier"),
        ([["X", 0, 1, 1, [[1, 1]]], ["O"]], {}, "in a neuron that may be flipped"),
        ([["T", 0, 0, [[["X", 0, 1, 1, [[1, 1]]], ["O"]]]]], {}, "an excluded sign is possible"),
        ([["M", 0, 0, 1, ["L", [[0, 1]]]], ["O"]], {}, "a merge does not follow"),
        ([["D", 0, 1], ["O"]], {"tiers": (0, 1)}, "a separation is not forced"),
        ([["S", 0, 1, [[["O"]]]]], {"tiers": (0, 1)}, "a branch is missing"),
        # Neurons of one tier may be swapped only if the same is known about both.
        ([["T", 0, 0, [[["D", 0, 1], ["O"]]]]], {}, "a separation is not forced"),
        ([["T", 0, 0, [[["S", 0, 1, [[["O"]]]]]]]], {}, "a branch is missing"),
        ([["G", 0, 1], ["O"]], {"codes": [[1, 1], [1, 1], [-1, 1], [-1, -1]]}, "a pair of rows has equal codes"),
        ([["A", 0, 1], ["O"]], {}, "opposed rows have different codes"),
        ([["F", 0, 0], ["O"]], {}, "a list that does not exist"),
        ([["N", 0, 3, ["L", [[0, 1]]]], ["O"]], {}, "a list is not complete"),
        ([["V", 0, LEVEL, ALONE]], {}, "may change places with another"),
        # A floor for the second neuron is none for the first, which may have a margin of 3 here.
        (
            [["V", 1, 12, [[["M", 0, 0, 1, ["L", [[0, 1], [1, 1]]]], ["O"]], ALONE[0]]]],
            {"tiers": (0, 1)},
            "merge does not",
        ),
    ],
)
def test_false_steps_are_refused(tree, more, reason):
    with pytest.raises(CertificateError, match=reason):
        margin_bound(*tree, **more)


def test_what_is_just_possible_is_not_excluded():
    """A value for which a neuron needs a margin of 13, and may have it."""
    value = margin_bound(["O"]) - 1
    with pytest.raises(CertificateError, match="an excluded sign is possible"):
        margin_bound(["T", 0, 0, [[["X", 0, 1, 1, [[1, 1]]], ["O"]]]], value=value)
    with pytest.raises(CertificateError, match="a merge does not follow"):
        margin_bound(["M", 0, 0, 1, ["L", [[0, 1]]]], ["O"], value=value)
    # With a value one higher nothing is possible any more.
    assert margin_bound(["C"], value=value + 1) == value + 1


def test_a_level_is_a_floor_for_its_neuron_and_higher_tiers_alone():
    rows = Rows(POINTS, CODES, [2, 2, 2], 1)
    proof = MarginProof(rows, {"value": 8, "tiers": [0, 1], "cap": [13, 0, ["L", [[0, 1]]]], "tree": []})
    strong, weak = (child() for child in proof._margins(proof._begin(), 1, LEVEL))
    assert strong.floors == [0, LEVEL + 1]
    assert [neuron.bound for neuron in weak.neurons] == [13, LEVEL]
    strong, weak = (child() for child in proof._margins(proof._begin(), 0, LEVEL))
    assert strong.floors == [LEVEL + 1, LEVEL + 1]
    assert [neuron.bound for neuron in weak.neurons] == [LEVEL, 13]


def test_a_pair_that_is_separated_may_be_separated_by_that_neuron_alone():
    rows = Rows(POINTS, CODES, [2, 2, 2], 1)
    proof = MarginProof(rows, {"value": 8, "tiers": [0, 0], "cap": [13, 0, ["L", [[0, 1]]]], "tree": []})
    state = proof._begin()
    assert state.neurons[0].assign(0, 1)
    assert state.neurons[0].assign(1, -1)
    children = proof._separations(state, 0, 1)
    assert sorted(child().neurons[1].separates(0, 1) for child in children) == [False, True]


# Proofs of links: two rows of different codes, one output, two neurons.


def tree_bound(*steps, target=9, margins=((10, 10), (1,)), rows=None):
    rows = rows or Rows([[10, 3], [-10, 3]], [[1], [-1]], [2, 2, 1], 1)
    return links_bound(rows, margins, {"target": target, "tree": list(steps)})


ONE_LINK = ["K", [[0, 1]], 20]
"""Row 0 alone proves that a margin of 10 needs a link: 10 / 20 of one."""


def test_a_tree_counts_what_its_steps_prove():
    assert tree_bound() == 1
    assert tree_bound(["B", [0, 1], ONE_LINK]) == 3
    assert tree_bound(["B", [0], ONE_LINK]) == 2
    assert tree_bound(["B", [0, 1], ONE_LINK], target=2) == 2
    # Two branches, the weaker one counts; separated rows need their first input, so 20 / 20 of a link.
    apart = ["B", [0], ["K", [[0, 1], [1, 1]], 20]]
    assert tree_bound(["T", [0, 1], 0, 1, [], [apart]]) == 1
    assert tree_bound(["T", [0, 1], 0, 1, [["D", 0, 1]], [apart]]) == 2
    # Both weights of neuron 0 are at most 0 or at least 1.
    assert tree_bound(["B", [0], ["W", 0, 0, ["W", 0, -1, ONE_LINK, ["K", [[0, 30]], 20]], ONE_LINK]]) == 2
    assert tree_bound(["L", 0, [[0, 1]]], margins=((14, 10), (1,))) == 9


@pytest.mark.parametrize(
    ("steps", "more", "reason"),
    [
        ([["L", 0, [[0, 1]]]], {}, "closed without reason"),
        ([["L", 0, [[0, 1], [1, 1]]]], {}, "row without a sign"),
        ([["L", 2, [[0, 1]]]], {}, "bad neuron"),
        ([["L", 0, []]], {}, "multipliers are missing"),
        ([["L", 0, [[0, -1]]]], {}, "bad multiplier"),
        ([["D", 0, 1]], {}, "counting decides nothing"),
        ([["D", 0, 0]], {}, "against itself"),
        ([["D", 0, 2]], {}, "bad row"),
        ([["X", [0], 0, 1, -1, []]], {}, "excluded without reason"),
        ([["X", [0], 0, 1, -1, [["B", [0], ONE_LINK]]]], {}, "excluded without reason"),
        ([["X", [0], 0, 1, 2, []]], {}, "neither equal nor opposite"),
        ([["X", [0, 1], 0, 1, -1, []]], {"margins": ((10, 11), (1,))}, "not interchangeable"),
        ([["X", [0, 0], 0, 1, -1, []]], {}, "named twice"),
        ([["T", [0], 0, 1, [["T", [0], 0, 1, [], []]], []]], {}, "known already"),
        ([["T", [0], 0, 1, [["T", [0, 1], 0, 1, [], []]], []]], {}, "not interchangeable"),
        ([["T", [0], 0, 1, [], []], ["D", 0, 1]], {}, "malformed"),
        ([["T", [0], 0, 1, []]], {}, "malformed"),
        ([["B", [], ONE_LINK]], {}, "names no neuron"),
        ([["B", [0], ["K", [[0, 1]], 0]]], {}, "bad unit"),
        ([["B", [0], ["K", [[0, 1], [1, 1]], 20]]], {}, "row without a sign"),
        ([["B", [0], ONE_LINK]], {"margins": ((0, 10), (1,))}, "without a margin"),
        ([["B", [0], ["W", 0, 1, ONE_LINK, ONE_LINK]]], {}, "bad weight"),
        ([["B", [0], ["W", 0, 0, ["W", 0, 0, ONE_LINK, ONE_LINK], ONE_LINK]]], {}, "bad weight"),
        ([["B", [0], ["W", 2, 0, ONE_LINK, ONE_LINK]]], {}, "bad input"),
        ([["B", [0], ["W", 0, 0, ONE_LINK]]], {}, "malformed"),
        ([["B", [0], []]], {}, "malformed"),
        ([[]], {}, "malformed"),
        ([["Q"]], {}, "malformed"),
        ([], {"target": -1}, "bad number of links"),
        ([], {"target": True}, "bad number of links"),
    ],
)
def test_false_steps_of_a_tree_are_refused(steps, more, reason):
    with pytest.raises(CertificateError, match=reason):
        tree_bound(*steps, **more)


def test_trees_that_are_too_deep_are_refused():
    node = []
    for _ in range(450):
        node = [["X", [0], 0, 1, -1, node]]
    with pytest.raises(CertificateError, match="known already"):
        tree_bound(*node)
    rows = Rows([[k + 1, 1] for k in range(500)], [[1]] * 500, [2, 1, 1], 1)
    node = []
    for k in range(1, 500):
        node = [["T", [0], 0, k, [], node]]
    with pytest.raises(CertificateError, match="too deep"):
        tree_bound(*node, rows=rows, margins=((1,), (1,)))


def test_a_relation_that_costs_too_many_links_is_excluded():
    apart = [["B", [0], ["K", [[0, 1], [1, 1]], 20]]]
    # One link above and one of neuron 0 reach the target of 2, so no better network separates the rows by it.
    assert tree_bound(["X", [0, 1], 0, 1, -1, apart], ["D", 0, 1], target=2) == 2
    with pytest.raises(CertificateError, match="excluded without reason"):
        tree_bound(["X", [0, 1], 0, 1, -1, apart], target=3)


def test_weights_within_limits_gain_what_they_can():
    # Without a hidden layer; one row (10, 3) with margin 10; the first weight is limited to -1..0, so 7 are missing.
    rows = Rows([[10, 3]], [[1]], [2, 1], 1)
    tree = ["W", 0, 0, ["K", [[0, 4]], 4], ["K", [[0, 2]], 20]]
    # First leaf: (40 - max(0, -40 - 4, 0) - (12 - 4)) / 4 = 8 links; second: (20 - (20 - 20)) / 20 = 1.
    assert tree_bound(["B", [0], tree], rows=rows, margins=((10,),)) == 1
    tree[4] = ["K", [[0, 4]], 4]
    # 40 - (40 - 4) - (12 - 4) < 0
    assert tree_bound(["B", [0], tree], rows=rows, margins=((10,),)) == 0
    assert tree_bound(["B", [0], ["W", 0, 0, tree[3], tree[3]]], rows=rows, margins=((10,),)) == 0


def test_three_links_where_copies_do_not_suffice():
    rows = Rows([[9, 1], [8, 2], [-9, 3]], [[1], [-1], [-1]], [2, 2, 2, 1], 1)
    misses = ["X", [0, 1], 0, 1, -1, [["L", 0, [[0, 1], [1, 1]]]]]
    # Both neurons give rows 0 and 1 equal signs, although their codes differ, so their copies are no use.
    margins = ((6, 6), (1, 1), (2,))
    assert tree_bound(misses, rows=rows, margins=margins) == 4 + 2 * 2
    # Before that is known, or if one neuron of the second layer is enough, a link each is all that is certain.
    assert tree_bound(rows=rows, margins=margins) == 4
    assert tree_bound(misses, rows=rows, margins=((6, 6), (1, 1), (1,))) == 3
    # Only one of the two neurons misses the pair.
    step = ["X", [0], 0, 1, -1, [["L", 0, [[0, 1], [1, 1]]]]]
    assert tree_bound(step, rows=rows, margins=margins) == 4


@pytest.mark.parametrize("nothing", ["", {}, (), None, 0])
def test_added_rows_are_a_list(nothing):
    with pytest.raises(CertificateError, match="added rows are not a list"):
        added_rows(nothing, 3, [0, 1, 2], (0, 1))
