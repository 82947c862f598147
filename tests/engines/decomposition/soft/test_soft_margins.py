"""The soft-margin stage against every network of a tiny problem, and its bound against its proof."""

from hypothesis import given, settings
from soft_brute import best, by_hand, problems, proved

from bemi.engines.decomposition.soft import margins
from bemi.programs.limits import Limits
from bemi.stages.registry import get


@given(problems())
@settings(max_examples=150)
def test_it_finds_and_proves_the_best_network_of_tiny_problems(case):
    problem, start = case
    smallest = best(problem)
    result = margins.run(get("ml2"), problem, start=start, limits=Limits())
    assert problem.allows(result.network)
    columns = result.network.weights[0].T.tolist()
    assert result.objective == sum(by_hand(problem, column, j) for j, column in enumerate(columns))
    bounds = [proved(problem, result.certificate, output) for output in range(len(smallest))]
    assert all(bound <= least for bound, least in zip(bounds, smallest, strict=True))
    assert 0 <= result.bound <= sum(bounds)
    # The tree closes the gap up to the precision of its linear programs.
    assert result.objective == sum(smallest)
    assert result.gap < 1e-5
