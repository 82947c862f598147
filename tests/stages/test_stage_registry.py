"""The stages: which lists make a training, and what every stage says of itself."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bemi import Network
from bemi.engines import decomposition, first_network, monolithic
from bemi.limits import Deadline
from bemi.problem import KeepLabels, KeepMargins, KeepObjective, Problem
from bemi.stages import PAPER_STAGES, SOFT_STAGES, STAGES, Outcome, StageResult, check_stages, get, list_title
from bemi.stages.registry import Handover, stage_lists
from bemi.training.pipeline import stage_parameters

TRAININGS = {
    ("sm",),
    ("mm",),
    ("mw",),
    ("soft",),
    ("sm", "mm"),
    ("sm", "mw"),
    ("mm", "mw"),
    ("soft", "mw"),
    ("sm", "mm", "mw"),
}


def accepted(names) -> bool:
    try:
        return check_stages(names) == tuple(names)
    except ValueError:
        return False


def test_exactly_these_lists_make_a_training():
    lists = [names for size in range(6) for names in product(STAGES, repeat=size)]
    assert {names for names in lists if accepted(names)} == TRAININGS == set(stage_lists())
    assert accepted(["sm", "mm"])
    assert {PAPER_STAGES, SOFT_STAGES} <= TRAININGS


@pytest.mark.parametrize(
    ("stages", "words"),
    [
        ((), "one of these lists: sm; mm; soft; mw; sm, mm"),
        (("mm", "sm"), "one of these lists: sm; mm; soft; mw; sm, mm"),
        (("sm", "xx"), "unknown stage 'xx'; known: sm, mm, soft, mw"),
        (([],), r"unknown stage \[\]"),
        ("sm", "must be a tuple such as"),
        (None, "must be a tuple such as"),
        ({"sm"}, "must be a tuple such as"),
    ],
)
def test_a_bad_list_is_told_what_is_wrong(stages, words):
    with pytest.raises(ValueError, match=words):
        check_stages(stages)


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_every_stage_has_its_words_and_a_function_in_every_engine(stage):
    assert get(stage.name) is stage
    assert stage.title
    assert stage.asks_for
    assert stage.time_share > 0
    assert set(stage.may_follow) <= set(STAGES)
    assert stage.name in monolithic.RUNNERS
    assert stage.name in decomposition.RUNNERS
    assert list_title([stage.name])


def test_a_list_is_called_by_its_stages_or_by_its_title():
    assert list_title(PAPER_STAGES) == "SM+MM+MW"
    assert list_title(("soft", "mw")) == "soft margins"


def test_only_soft_margins_forbid_hidden_layers():
    assert check_stages(PAPER_STAGES, (4, 4)) == PAPER_STAGES
    assert check_stages(SOFT_STAGES, ()) == SOFT_STAGES
    with pytest.raises(ValueError, match="stage 'soft' is for networks without a hidden layer"):
        check_stages(("soft", "mw"), (4,))


def problem() -> Problem:
    return Problem(np.array([[3, 0], [0, 3], [2, 2]]), np.array([[1], [-1], [1]]), (), 2)


def report(stage: str, network: Network | None, objective=1) -> StageResult:
    return StageResult.of(
        stage, problem(), network, objective, objective, clock=Deadline(), proof="certified", outcome=Outcome.OPTIMAL
    )


def test_what_stages_hand_on():
    given = problem()
    network = Network((np.array([[2], [-2]]),), 2)
    seen, keep = get("sm").handover(Handover(given), report("sm", network), {})
    assert seen.data.tolist() == [[3, 0], [0, 3]]  # the last row has a sum of 0, which is not confident
    assert keep == KeepLabels()
    after = get("mm").handover(Handover(seen), report("mm", network), {})
    assert after.problem is seen
    assert isinstance(after.keep, KeepMargins)
    assert [m.tolist() for m in after.keep.margins] == [[6]]
    assert get("mm").handover(Handover(seen), report("mm", network, None), {}) == Handover(seen)
    begun = first_network("soft", given, stage_parameters(("soft",), {}))
    ceiling = get("soft").handover(Handover(begun.problem), report("soft", begun.network), {"mw_loss": 0.5}).keep
    assert ceiling == KeepObjective(begun.problem.soft_value(begun.network) * 3 / 2)
    assert get("mw").handover(Handover(seen), report("mw", network), {}) == Handover(seen)


def test_what_must_be_kept_is_kept_or_not():
    given = problem()
    network, turned = Network((np.array([[2], [-2]]),), 2), Network((np.array([[-2], [2]]),), 2)
    assert KeepLabels().holds(given, network)
    assert not KeepLabels().holds(given, turned)
    assert KeepMargins((np.array([0]),)).holds(given, network)
    assert not KeepMargins((np.array([1]),)).holds(given, network)
    begun = first_network("soft", given, stage_parameters(("soft",), {}))
    value = begun.problem.soft_value(begun.network)
    assert KeepObjective(value).holds(begun.problem, begun.network)
    assert not KeepObjective(value - 1).holds(begun.problem, begun.network)
    assert get("mw").value(given, network, KeepLabels()) == 2
    assert get("mw").value(given, turned, KeepLabels()) is None
