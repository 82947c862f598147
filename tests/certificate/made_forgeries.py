"""Certificates made by hand, by the module whose conditions refuse them.

A checker without one of these conditions accepts the certificate, or refuses it for another reason.  Where a comment
says so, what it would accept is false.
"""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from typing import Any

from certificate_mutants import Parts, files, repair
from forgery import bits, with_kind

from bemi.certificate import FORMAT
from bemi.certificate.arithmetic import pre_activations
from bemi.certificate.reading import as_matrices

Claim = tuple[list[int], Any, Any, Any]
"""Weights, objective, bound, and a proof or "solver"."""


def made(
    rows: list[list[int]],
    labels: list[int],
    hidden: list[int],
    bound: int,
    stages: dict[str, Claim],
    *,
    size: int = 2,
    soft: dict[str, Any] | None = None,
    **settings: Any,
) -> Parts:
    """A model of one network on ``size`` classes."""
    network = []
    for name, (weights, objective, limit, proof) in stages.items():
        claimed = proof == "solver"
        certificate = None if claimed else with_kind(name, proof)
        network.append(
            {"stage": name, "objective": objective, "bound": limit, "proof": "solver" if claimed else "certified"}
            | {"links": sum(map(bool, weights)), "rows": len(rows)}
            | {"message": "", "outcome": "optimal", "weights": weights, "certificate": certificate}
            | ({"soft": soft} if name == "soft" else {})
        )
    last = next(reversed(stages.values()))[0]
    layers = [len(rows[0]), *hidden, max(1, (size - 1).bit_length())]
    first = as_matrices(last, layers)[:1]
    sums = [pre_activations(first, row)[0] for row in rows]
    splitting = [int(len({s[j] >= 0 for s in sums}) == 2) for j in range(layers[1])]
    usual = {
        **{"hidden_layers": hidden, "weight_bound": bound, "stages": list(stages), "subset_size": size, "C": 10.0},
        **{"mw_loss": 0.01, "monotone": None, "max_links": None, "hinges": 1},
    }
    header = {
        **{"bemi": "0", "solver": "none", "settings": usual | settings, "classes": list(range(size))},
        **{"classes_dtype": "<i8", "features": len(rows[0]), "inputs": len(rows[0]), "feature_names": None},
        **{"transform": None, "input_scaling": {"scale": None, "low": -100, "high": 100, "limit": None}},
        "networks": [{"splitting": splitting, "reports": [{"stage": name} for name in stages]}],
    }
    if header["settings"]["max_links"] is not None:
        header["uncounted"] = []
    claims = {"format": FORMAT, "model": "0" * 64, "rows": rows, "labels": labels, "networks": [network]}
    repair(header, claims)
    return header, bits(last, bound), claims


# -- Sat-Margin --------------------------------------------------------------------------------------------------------

CROSS, CROSSED = [[1, 1], [-1, -1], [1, -1], [-1, 1]], [0, 0, 1, 1]
"""Exclusive or: one neuron is right on three of the rows, and so is every network of two neurons."""
PRICES = {"unit": 1, "prices": [1] * 4, "most": 3, "order": [0, 1], "quotas": [[1, 0, 1]]}


def prices() -> Iterator[Parts]:
    three = [1, 1, -1, -1]
    yield made(CROSS, CROSSED, [2], 1, {"sm": ([*three, 1, 0], 3, 3, PRICES)})
    # False: with a second layer of three neurons all four rows can be right.
    yield made(CROSS, CROSSED, [2, 3], 1, {"sm": ([*three, 1, 1, 1, 0, 0, 0, 1, 1, 1], 3, 3, PRICES)})
    for more in ({"most": 5}, {"unit": 0, "prices": [0] * 4, "most": 0}):
        yield made(CROSS, CROSSED, [2], 1, {"sm": ([*three, 1, 0], 3, 4, PRICES | more)})


def last_layers() -> Iterator[Parts]:
    header, weights, claims = made(
        [[1, 1]], [0], [2], 1, {"sm": ([1, 1, 1, 1, 1, 1, 1, 1], 2, 2, {"bound": 2})}, size=3
    )
    yield header, weights, claims
    header, weights, claims = copy.deepcopy((header, weights, claims))
    claims |= {"rows": [], "labels": []}
    claims["networks"][0][0] |= {
        "rows": 0,
        "objective": 0,
        "bound": 0,
        "certificate": {"kind": "last-layer", "bound": 0},
    }
    header["networks"][0]["splitting"] = [0, 0]
    repair(header, claims)
    yield header, weights, claims


# -- two neurons that split --------------------------------------------------------------------------------------------

SIDES, SIDED = [[-5, 9], [5, 9]], [1, 0]
"""One neuron is right on both rows, with a margin of 5; constant neurons have a margin of 9."""
PAIRS = {"constant": 9, "other": 5, "order": [0, 1], "pairs": [[0, 10], [1, 10]]}

EITHER, EITHERS = [[-5, -5, 20], [-5, 5, 20], [5, -5, 20], [5, 5, 20]], [1, 0, 0, 0]
"""Two neurons that split, with a margin of 5 each, and a constant one with 20."""
OR = {"constant": 20, "other": 5, "order": [0, 1, 2], "pairs": [[0, 10], [3, 10]]}
PLAIN = [1, 0, 0, 0, 1, 0, 0, 0, 1]
DEEP = [*PLAIN, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0]
TWICE = [*PLAIN, 1, 0, 1, 0, 1, 1]


def splits() -> Iterator[Parts]:
    yield made(EITHER, EITHERS, [3], 1, {"mm": ([*PLAIN, 1, 1, 1], 31, 31, OR)})
    for more in ({"constant": 31}, {"other": 21}):
        yield made(EITHER, EITHERS, [3], 1, {"mm": ([*PLAIN, 1, 1, 1], 31, 99, OR | more)})
    # False: two more links to the output add 2 to its margin.
    yield made(EITHER, EITHERS, [3, 3], 1, {"mm": (DEEP, 34, 34, OR)})
    yield made(EITHER, [2, 0, 0, 0], [3], 1, {"mm": (TWICE, 32, 32, OR)}, size=3)
    # False: one neuron that splits and two constant ones have 5 + 9 + 9 + 1.
    yield made(SIDES, SIDED, [3], 1, {"mm": ([1, 1, 1, 0, 0, 0, 1, 1, 1], 18, 20, PAIRS)})
    yield made(SIDES, SIDED, [2], 1, {"mm": ([1, 1, 0, 0, 1, 1], 12, 20, PAIRS)})
    yield made(SIDES, [0, 0], [3], 1, {"mm": ([0, 0, 0, 1, 1, 1, 1, 1, 1], 30, 30, PAIRS)})


UNEVEN, UNEVENS = [[3, 1], [5, 2], [1, 4], [2, 5]], [0, 0, 1, 1]
"""Rows for two neurons; sorted, these are [1, 4], [2, 5], [3, 1] and [5, 2]."""
DOUBLE = [1, 1, -1, -1, 1, 1]
CLOSED = ["L", [[0, 1], [1, 1], [2, 1], [3, 1]]]
ONE = {
    "labels": [2, ["W", 0, 0, ["A"], ["W", 1, -1, CLOSED, ["A"]]]],
    "any": [4, ["T", 2, ["L", [[2, 1]]], ["A"]]],
    "kind": "single-neurons",
}


def widest() -> Iterator[Parts]:
    yield made(UNEVEN, UNEVENS, [2], 1, {"mm": (DOUBLE, 6, 7, ONE)})
    yield made(UNEVEN, UNEVENS, [1], 1, {"mm": ([1, -1, 1], 3, 3, {"labels": ONE["labels"], "kind": ONE["kind"]})})
    yield made(UNEVEN, UNEVENS, [1], 1, {"mm": ([1, -1, 1], 3, 3, ONE)})
    # False: the bound is for one hidden layer of at most two neurons, and one output.
    yield made(UNEVEN, UNEVENS, [2, 1], 1, {"mm": ([*DOUBLE, 1], 7, 7, ONE)})
    yield made(UNEVEN, UNEVENS, [3], 1, {"mm": ([1, 1, 1, -1, -1, 1, 1, 1, 1], 11, 11, ONE)})
    yield made(UNEVEN, [0, 0, 3, 3], [2], 1, {"mm": ([1, 1, -1, -1, 1, 1, 1, 1], 8, 8, ONE)}, size=4)
    everything, huge = ["A"], 10**6
    for labels, free in (
        ([2, everything], [4, everything]),
        ([1, everything], [4, everything]),
        ([2, everything], [3, everything]),
        ([5, everything], [8, everything]),
        ([0, everything], [4, everything]),
        ([huge, everything], [4, everything]),
        ([2, everything, 0], [4, everything]),
        ([2, ["A", 0]], [4, everything]),
        ([2, []], [4, everything]),
        ([2, [0]], [4, everything]),
        ([2, "A"], [4, everything]),
        ([2, ["L"]], [4, everything]),
        ([2, [[0]]], [4, everything]),
        ([2, CLOSED], [4, everything]),
        ([5, CLOSED], [4, everything]),
        ([2, everything], [4, ["T", 2, everything, ["L", [[2, 1]]]]]),
        ([2, everything], [3, ["T", 2, ["L", [[2, 1]]], ["L", [[2, 1]]]]]),
        ([2, everything], [4, ["T", 4, everything, everything]]),
        ([2, everything], [4, ["T", -1, everything, everything]]),
        ([2, ["T", 0, everything, everything]], [4, everything]),
        ([2, ["T", 2, everything, everything]], [4, everything]),
        ([2, everything], [4, ["W", 2, 0, everything, everything]]),
        ([2, everything], [4, ["W", -1, 0, everything, everything]]),
        ([2, everything], [4, ["W", 0, 1, everything, everything]]),
        ([2, everything], [4, ["W", 0, -2, everything, everything]]),
        ([2, everything], [4, ["W", 0, -1, everything, ["W", 0, 0, everything, everything]]]),
        ([2, everything], [4, ["T", 2, everything, None]]),
        ([2, everything], [4, ["T", 2, ["T", 1, everything, None], everything]]),
        ([2, everything], [4, ["W", 0, 0, ["T", 2, everything, None], everything]]),
        ([2, everything], [3, ["W", 0, -1, everything, everything]]),
        ([1, ["W", 0, 0, everything, everything]], [4, everything]),
    ):
        proof = {"kind": "single-neurons", "labels": labels, "any": free}
        yield made(UNEVEN, UNEVENS, [2], 1, {"mm": (DOUBLE, 6, 7, proof)})


# -- Min-Weight --------------------------------------------------------------------------------------------------------

WIDE = ([1, 0, 0, 0, 1, 1, 1, 1, -1], 24, 40, "solver")
SINGLE = {"order": [0, 1], "single": [], "pair": {"wide": 6, "rows": [0, 1], "links": 2}}
TWO_OF_THREE = {"order": [0, 1, 2], "single": [[20, 1]], "pair": {"wide": 6, "rows": [0, 3], "links": 2}}


def smallest() -> Iterator[Parts]:
    for hidden, labels, weights, links, size in (
        ([3], EITHERS, [*PLAIN, 1, 1, 1], 6, 2),
        ([3, 3], EITHERS, DEEP, 13, 2),
        ([3], [2, 0, 0, 0], TWICE, 7, 3),
    ):
        stages = {"mm": (weights, {6: 31, 13: 34, 7: 32}[links], 99, "solver"), "mw": (weights, links, 6, TWO_OF_THREE)}
        yield made(EITHER, labels, hidden, 1, stages, size=size)
    for more in ({"wide": 0}, {"links": 7}):
        proof = TWO_OF_THREE | {"pair": TWO_OF_THREE["pair"] | more}
        stages = {"mm": ([*PLAIN, 1, 1, 1], 31, 99, "solver"), "mw": ([*PLAIN, 1, 1, 1], 6, 6, proof)}
        yield made(EITHER, EITHERS, [3], 1, stages)
    # False: the output needs only one link.
    yield made(SIDES, SIDED, [3], 1, {"mm": WIDE, "mw": (WIDE[0], 6, 5, SINGLE)})
    two = ([1, 0, 0, 1, 1, 0], 15, 40, "solver")
    yield made(SIDES, SIDED, [2], 1, {"mm": two, "mw": (two[0], 3, 2, SINGLE)})
    same = ([0, 0, 0, 1, 1, 1, 1, 1, 1], 30, 40, "solver")
    yield made(SIDES, [0, 0], [3], 1, {"mm": same, "mw": (same[0], 6, 2, SINGLE)})
    alone = ([1, 0], 5, 40, "solver")
    yield made(SIDES, SIDED, [], 1, {"mm": alone, "mw": (alone[0], 1, 1, SINGLE | {"single": [[5, 1]], "pair": None})})


LINKS = [1, 1, 0, 0, 1, 0]
APART = [[0, 1], [1, 1]]
LEAF = ["K", APART, 20]


def links() -> Iterator[Parts]:
    """Two rows, and two neurons that may be swapped; nothing is claimed but that there are 0 links."""

    def with_tree(*steps: Any) -> Parts:
        proof = {"target": 3, "tree": [["T", [0, 1], 0, 1, [["D", 0, 1]], list(steps)]]}
        stages = {"mm": (LINKS, 21, 99, "solver"), "mw": (LINKS, 3, 0, proof)}
        return made([[10, 3], [-10, 3]], [0, 1], [2], 1, stages)

    yield with_tree(["B", [0], LEAF])
    proof = {"target": 3, "tree": [["T", [0, 1], 0, 1, [["D", 0, 1]], [["B", [0], ["K", APART, 2]]]]]}
    margin_of_1 = {"mm": (LINKS, 3, 99, "solver"), "mw": (LINKS, 3, 0, proof)}
    yield made([[1, 3], [-1, 3]], [0, 1], [2], 1, margin_of_1)
    yield with_tree([])
    for tree in (
        *([], ["K", [], 20], ["K", [[]], 20]),
        *(["W", i, value, LEAF, LEAF] for i, value in ((-1, 0), (2, 0), (9, 0), (0, -2), (0, 1), (0, 7))),
        ["W", 0, 0, LEAF, LEAF, 0],
    ):
        yield with_tree(["B", [0], tree])


def separators() -> Iterator[Parts]:
    for support in (3, 5, 6):
        proof = {"support": support}
        yield made([[5, 1], [-5, 1]], [0, 1], [], 1, {"mw": ([1, 0], 1, 1, proof)})


# -- Max-Margin --------------------------------------------------------------------------------------------------------

FOUR, FOURS = [[1, 5], [2, 4], [4, 2], [5, 1]], [1, 1, 0, 0]
HUGE = 10**6
"""A value that everything is below: every merge follows."""


def margins() -> Iterator[Parts]:
    """Nothing is claimed that is not obvious; the steps are what is refused."""

    def with_steps(*steps: Any, value: int = HUGE, tiers: tuple[int, int] = (0, 0)) -> Parts:
        proof = {"value": value, "tiers": list(tiers), "cap": [6, 0, ["L", [[0, 1]]]], "tree": list(steps)}
        return made(FOUR, FOURS, [2], 1, {"mm": ([1, 1, -1, -1, 1, 1], 6, HUGE, proof)})

    everywhere = [[k, 1] for k in range(4)]
    members = [["W", everywhere]] * 8
    for row in (3, 2, 1):
        members = [["T", row, *members[:2]]] * 2
    all_of_them = members[0]
    end, every = ["O"], ["N", 0, 0, all_of_them]
    yield with_steps(every, end)
    yield with_steps(every, every, end)
    yield with_steps(["N", 0, 0, ["T", 1, ["W", [[0, 1]]], ["W", [[0, 1]]]]], end)
    yield with_steps(["F", 0, 0], end)
    for j in (1, 0):
        yield with_steps(["N", 1, 0, all_of_them], ["F", j, 0], end, tiers=(0, 1))
    # The need is just what the merge, or the member that is left out, can have.
    for value in (8, 9):
        yield with_steps(["M", 0, 0, 1, ["L", [[0, 1], [1, 1]]]], end, value=value)
        yield with_steps(every, ["F", 0, 1], end, value=value + 2)
    yield with_steps([], end)
    for j, row in ((0, 3), (2, 3), (0, -1), (0, 4)):
        yield with_steps(["T", 0, 0, [[["X", j, row, 1, [[0, 1]]], end]]], value=9)
    yield with_steps(["Y", 0, [0, 2], [], []], end)
    yield with_steps(["Y", 0, [], [], []], end, tiers=(0, 1))
    flat = {"value": HUGE, "tree": [["G", 0, 2], ["O"]]}
    yield made(FOUR, FOURS, [], 1, {"mm": ([1, -1], 2, HUGE, flat)})


def shapes() -> Iterator[Parts]:
    rows = [[17, 43, 87, 111], [36, 29, 73, 102], [50, 162, 181, 127], [51, 161, 188, 125], [170, 34, 45, 51]]
    rows.append([172, 42, 38, 50])
    weights = [1, 1, 1, 1, 1, 1, 0, -1, 1, -1, -1, 1, 1, -1, 0, 1, 0, 1]

    def with_step(*merged: tuple[int, int], step: list, tiers: tuple[int, int, int] = (0, 0, 1)) -> Parts:
        merges = [["M", 1, a, b, ["L", [[a, 1], [b, 1]]]] for a, b in merged]
        proof = {"value": HUGE, "tiers": list(tiers), "cap": [300, 0, ["L", [[0, 1]]]], "tree": [*merges, step, ["O"]]}
        return made(rows, [2, 2, 1, 1, 0, 0], [3], 1, {"mm": (weights, 375, HUGE, proof)}, size=3)

    pairs, end = ((2, 3), (4, 5), (1, 4)), [[None, None], -1, []]
    labels = [[0, 1], [0, 0]]
    yield with_step(*pairs, step=["Y", 4, [1, 4], [], [[labels, end]]])
    yield with_step(*pairs, step=["Y", 4, [0, 4], [], []])
    yield with_step(*pairs, step=["Y", 4, [1, 4], [], [[labels, end, 0]]])
    yield with_step(*pairs, step=["Y", 4, [1, 4], [], [[labels, [[None, None], 0, [end] * 3]]]])
    every = (*pairs, (0, 1), (0, 2))
    yield with_step(*every, step=["Y", 4, [0, 4, 2], [], []])
    yield with_step(*every, step=["Y", 4, [0, 2, 4], [], []], tiers=(0, 1, 1))
    yield with_step(*every, step=["Y", 4, [0, 4, 2], [], []], tiers=(0, 1, 1))


# -- soft margins ------------------------------------------------------------------------------------------------------


def softmargins() -> Iterator[Parts]:
    usual = {"price": "a/1", "resolutions": ["1/1"], "hinges": 1, "max_links": None}
    leaf = {"multipliers": []}

    def with_tree(tree: Any, theta: str = "1/1", objective: str = "11/2") -> Parts:
        proof = {"denominator": 1, "outputs": [tree]}
        stages = {"soft": ([1, 0], objective, "0/1", proof), "mw": ([1, 0], 1, 0, proof | {"theta": theta})}
        return made([[3, 4], [-3, 4]], [0, 1], [], 1, stages, soft=usual)

    yield with_tree(leaf)
    yield with_tree({"split": [0, -2], "children": [leaf, leaf]})
    yield with_tree(leaf, theta="0/1")
    for objective in ("11/0", "22/4"):
        yield with_tree(leaf, objective=objective)
    # False: both weights are links, and one is allowed.
    limited = {"soft": ([1, 1], "d/1", "0/1", None)}
    yield made([[3, 4], [-3, 4]], [0, 1], [], 1, limited, soft=usual | {"max_links": 1}, max_links=1)
    deep = {"soft": ([1, 1, 0, 0, 1, 1], "11/2", "0/1", None)}
    twice = usual | {"resolutions": ["1/1", "1/1"]}
    yield made([[3, 4], [-3, 4]], [0, 1], [2], 1, deep, soft=twice)


# -- files and stages --------------------------------------------------------------------------------------------------

HEADER, CLAIMS = 0, 1
GONE = object()


def altered(parts: Parts, *changes: tuple[list, Any], weights: bytes | None = None, digest: str | None = None) -> Parts:
    """The same with other values at some places of ``[header, claims]``; all digests fit but a given one."""
    header, packed, claims = copy.deepcopy(parts)
    for (*path, key), value in changes:
        parent: Any = [header, claims]
        for step in path:
            parent = parent[step]
        if value is GONE:
            del parent[key]
        else:
            parent[key] = copy.deepcopy(value)
    repair(header, claims)
    if digest is not None:
        header["training_digest"] = digest
    return header, packed if weights is None else weights, claims


# Two neurons, of which the first is right on all rows; no row is at the edge of anything.
ROWS, LABELS = [[5, 1], [4, 2], [-5, 1], [-4, 2]], [0, 0, 1, 1]
WEIGHTS = [1, 0, 0, 1, 1, 0]
STAGES = {"sm": (WEIGHTS, 4, 4, None), "mm": (WEIGHTS, 6, 99, None), "mw": (WEIGHTS, 3, 0, None)}
FIRST = [CLAIMS, "networks", 0, 0]
"""Where the first stage is."""


def the_header(base: Parts) -> Iterator[Parts]:
    """What belongs into a model file."""
    settings, entry = [HEADER, "settings"], [HEADER, "networks", 0]
    two = {"networks": [CLAIMS, "networks"], "entries": [HEADER, "networks"]}
    yield altered(base, ([HEADER, "note"], 1))
    yield altered(base, ([HEADER, "solver"], GONE))
    yield altered(base, ([HEADER, "classes"], "ab"))
    yield altered(base, ([HEADER, "classes"], [0]))
    yield altered(base, ([HEADER, "classes"], list(range(4097))), ([HEADER, "subsets"], [[0, 1]]))
    yield altered(base, ([*settings, "weight_bound"], 0))
    yield made([[1]], [0], [], 1 << 31, {"sm": ([1], 1, 1, None)})
    for value in (0.0, 1e300, 2e300, -1.0, "1", True):
        yield altered(base, ([*settings, "C"], value))
    for size in (1, 3, "2"):
        yield altered(base, ([*settings, "subset_size"], size))
    for neurons in (0, 1 << 31, "2"):
        yield altered(base, ([*settings, "hidden_layers"], [neurons]))
    none: tuple = (([HEADER, "subsets"], []), ([HEADER, "networks"], []), ([CLAIMS, "networks"], []))
    yield altered(base, *none, weights=b"")
    network, report = base[2]["networks"][0], base[0]["networks"][0]
    yield altered(base, (two["networks"], [network] * 2), (two["entries"], [report] * 2))
    yield altered(base, (two["networks"], [network] * 2))
    yield altered(base, ([*settings, "stages"], ["sm", "mm", "mv"]))
    yield altered(base, ([*settings, "stages"], ["sm", "mm", "mx"]))
    for marks in ([1, 1], [0, 0], [1, 2], [1, -1], [True, False], [1, False]):
        yield altered(base, ([*entry, "splitting"], marks))
    yield altered(base, weights=base[1] + b"\0")
    yield altered(base, weights=base[1][:-1] + bytes([base[1][-1] | 1]))
    reports = [*entry, "reports", 0]
    for key, value in (("stage", "sn"), ("stage", "aa"), ("soft", {})):
        yield altered(base, ([*reports, key], value))
    for flip in (0x40, 0x04):
        yield altered(base, weights=bytes([base[1][0] ^ flip]) + base[1][1:])


def the_rows(base: Parts) -> Iterator[Parts]:
    """Rows, labels, row weights and times."""
    rows, labels = [CLAIMS, "rows"], [CLAIMS, "labels"]
    yield altered(base, ([CLAIMS, "note"], 1))
    for number in (4, 3.0, True):
        yield altered(base, ([CLAIMS, "format"], number))
    yield altered(base, digest="0" * 64)
    for value in (1 << 31, -(1 << 31) - 1, True, 1.0):
        yield altered(base, ([*rows, 0, 0], value))
    yield altered(base, ([*rows, 0], [5, 1, 0]))
    for value in (-1, 2, False):
        yield altered(base, ([*labels, 0], value))
    for other in ([0, 0, 1], [0, 0, 1, 1, 1]):
        yield altered(base, (labels, other))
    # False: the last row is hidden.
    fewer = [([CLAIMS, "networks", 0, stage, "rows"], 3) for stage in range(3)]
    yield altered(base, ([HEADER, "given_rows"], -1), *fewer, ([*FIRST, "objective"], 3), ([*FIRST, "bound"], 3))
    for given in (5, None, True):
        yield altered(base, ([HEADER, "given_rows"], given))
    for weights in ([1] * 4, "1111", [1] * 3, [1] * 5, [0, 1, 1, 1], [(1 << 47) + 1, 1, 1, 1], [True, 1, 1, 1]):
        yield altered(base, ([CLAIMS, "weights"], weights))
    for seconds in ([[0.5] * 3], "x", [], [[0.5] * 3] * 2, [[0.5] * 2], [[0.5] * 4], [["1", 0, 0]]):
        yield altered(base, ([CLAIMS, "seconds"], seconds))


def sets_of_classes() -> Iterator[Parts]:
    """Three classes, of which two pairs have a network, and variants of rows."""
    rows = [[5, 1], [1, 5], [-5, 1], [6, 1], [1, 6], [-6, 1]]
    header, _, claims = made(rows[:1], [0], [], 1, {"sm": ([1, -1], 3, 3, None)})
    (entry,), (network,) = header["networks"], claims["networks"]
    network[0]["rows"] = 3
    header |= {"classes": [0, 1, 2], "subsets": [[0, 1], [1, 2]], "given_rows": 3}
    header["networks"] = [
        entry | {"splitting": [n], "added": [3 + 1 - n], "reports": [{"stage": "sm"}]} for n in (1, 0)
    ]
    claims |= {"rows": rows, "labels": [0, 1, 2] * 2}
    claims["networks"] = [network, [network[0] | {"weights": [-1, 1], "objective": 2}]]
    base = header, bits([1, -1], 1) + bits([-1, 1], 1), claims
    yield altered(base)
    first = [HEADER, "networks", 0, "added"]
    for added in ({}, "", [3, 3], [4, 3], [5], [2], [6], ["3"]):
        yield altered(base, (first, added))
    pairs = [HEADER, "subsets"]
    for sets in (
        *([[0, 1]], [[0, 1], [0, 2], [1, 2]], [[0, 1], [2]], [[0, 1], [0, 1, 2]], [[0, 1], [2, 1]], [[0, 1], [2, 2]]),
        *([[1, 2], [0, 1]], [[0, 1], [0, 1]], [[-1, 1], [1, 2]], [[0, 1], [1, 3]], [[0, 1], ["1", 2]]),
    ):
        yield altered(base, (pairs, sets))
    yield altered(base, (pairs, GONE))


def limits_on_weights() -> Iterator[Parts]:
    soft = {"price": "a/1", "resolutions": ["1/1"], "hinges": 1, "max_links": None}
    rows = [[3, 4], [-3, 4]]
    stages = {"soft": ([1, 0], "11/2", "0/1", None), "mw": ([1, 0], 1, 0, None)}
    base = made(rows, [0, 1], [], 1, stages, soft=soft, mw_loss=0.0)
    yield base
    for price in ("b/1", "9/1"):
        yield altered(base, ([*FIRST, "soft", "price"], price))
    for name in ("hinges", "max_links"):
        yield altered(base, ([*FIRST, "soft", name], 2))
    # False: the network after Min-Weight has a larger objective than the ceiling.
    yield altered(base, ([CLAIMS, "networks", 0, 1, "weights"], [0, 1]), weights=bits([0, 1], 1))
    yield altered(base, ([HEADER, "uncounted"], []))
    signed = altered(base, ([HEADER, "signs"], [1, 0]), ([HEADER, "settings", "monotone"], [[0, 1]]))
    yield signed
    yield altered(signed, ([HEADER, "signs"], GONE))
    yield altered(base, ([HEADER, "signs"], [1, 0]))
    for signs in ("ab", [1], [1, 0, 0], [2, 0], [-2, 0], [True, 0]):
        yield altered(signed, ([HEADER, "signs"], signs))
    several = made([[3, 4], [4, 3]], [0, 0], [], 1, {"sm": ([1, 1, 1, 1], 4, 4, None)}, size=3, monotone=[[0, 1]])
    yield altered(several, ([HEADER, "signs"], [1, 1]))
    limited = altered(
        base, ([HEADER, "settings", "max_links"], 1), ([*FIRST, "soft", "max_links"], 1), ([HEADER, "uncounted"], [1])
    )
    yield limited
    for inputs in ([-1], [2], ["1"]):
        yield altered(limited, ([HEADER, "uncounted"], inputs))


def the_stages(base: Parts) -> Iterator[Parts]:
    """What stages claim."""
    last = [CLAIMS, "networks", 0, 2]
    middle = [CLAIMS, "networks", 0, 1]
    settings = [HEADER, "settings", "stages"]
    yield altered(base, (FIRST[:-1], []), (settings, []), ([HEADER, "networks", 0, "reports"], []))
    backwards = {"mw": (WEIGHTS, 3, 0, None), "mm": (WEIGHTS, 6, 99, None)}
    yield made(ROWS, LABELS, [2], 1, backwards)
    for weights in ([*WEIGHTS, 0], WEIGHTS[:-1], "111111"):
        yield altered(base, ([*FIRST, "weights"], weights))
    for weights in ([2, *WEIGHTS[1:]], [-2, *WEIGHTS[1:]]):
        yield altered(base, ([*FIRST, "weights"], weights))
    for name, values in (("rows", (5, 3, -1, 1 << 64)), ("objective", (5, 3, -1)), ("links", (4, 2))):
        for value in values:
            yield altered(base, ([*FIRST, name], value))
    # False: more rows than there are, and an objective that the weights do not have.
    yield altered(base, ([*FIRST, "objective"], 5), ([*FIRST, "bound"], 5))
    yield altered(base, ([*middle, "bound"], 5), ([*middle, "proof"], "solver"))
    # False: nothing proves so small a bound.
    yield altered(base, ([*middle, "bound"], 6))
    yield altered(base, ([*middle, "bound"], 1 << 64))
    missing = ([*last, "objective"], None), ([*last, "bound"], None), ([*last, "proof"], "none")
    yield altered(base, *missing)
    yield altered(base, *missing, ([*last, "bound"], 0))
    yield altered(base, *missing, ([*last, "proof"], "solver"))
    for weights in ([1, 0, 0, 1, 1, 1], [1, 0, 0, 1, 0, 0], [1, 0, 0, 1, 0, 1]):
        links = ([*last, "links"], sum(map(bool, weights)))
        yield altered(base, *missing, ([*last, "weights"], weights), links, weights=bits(weights, 1))
    yield altered(base, ([*FIRST, "note"], 1))
    for kind in ("magic", "trust me", True):
        yield altered(base, ([*FIRST, "proof"], kind))
    yield made([[5, 1], [-5, 1]], [0, 1], [], 1, {"mw": ([1, 0], 1, 1, {"support": 3})})
    # A proof says what it is, and only some kinds are proofs of a stage.
    cross = made(CROSS, CROSSED, [2], 1, {"sm": ([1, 1, -1, -1, 1, 0], 3, 3, PRICES)})
    for kind in ("last-layer", "row-prices ", "", None, 0, ["row-prices"]):
        yield altered(cross, ([*FIRST, "certificate", "kind"], kind))
    nameless = copy.deepcopy(cross[2]["networks"][0][0]["certificate"])
    del nameless["kind"]
    yield altered(cross, ([*FIRST, "certificate"], nameless))
    yield made([[5, 1], [-5, 1]], [0, 1], [], 1, {"mw": ([1, 0], 1, 1, {"kind": "sign-patterns", "support": 3})})
    # Those of release 0.2.0 do not.
    yield altered(cross, ([*FIRST, "certificate"], nameless), ([CLAIMS, "format"], 3))
    yield altered(cross, ([CLAIMS, "format"], 3))
    # False: the second neuron has no margin, or loses it.
    without = [1, 0, 0, 0, 1, 0]
    yield made(ROWS, LABELS, [2], 1, {"mm": (without, 5, 99, None)})
    yield made(ROWS, LABELS, [2], 1, {"mm": STAGES["mm"], "mw": (without, 2, 0, None)})
    # False: without hidden layers a last layer is no proof.
    flat = {"sm": ([1, 1, 1, 1], 4, 4, {"bound": 4})}
    yield made([[3, 4], [4, 3]], [0, 0], [], 1, flat, size=3)
    # False: a row is misclassified.
    for labels in ([0, 0, 1, 0], [0, 1, 1, 1]):
        yield made(ROWS, labels, [2], 1, {"mw": (WEIGHTS, 3, 0, None)})
    empty = altered(
        base, ([CLAIMS, "rows"], []), ([CLAIMS, "labels"], []), ([HEADER, "networks", 0, "splitting"], [0, 0])
    )
    for stages in (("mm",), ("mw",)):
        network = [s | {"rows": 0} for s in base[2]["networks"][0] if s["stage"] in stages]
        network[0]["certificate"] = {"kind": "small-supports", "support": 1} if stages == ("mw",) else None
        reports = [{"stage": name} for name in stages]
        yield altered(
            empty, (FIRST[:-1], network), (settings, list(stages)), ([HEADER, "networks", 0, "reports"], reports)
        )


def verification() -> Iterator[Parts]:
    base = made(ROWS, LABELS, [2], 1, STAGES)
    yield base
    yield from the_header(base)
    yield from the_rows(base)
    yield from sets_of_classes()
    yield from limits_on_weights()
    yield from the_stages(base)


def limits() -> Iterator[Parts]:
    yield made(CROSS, CROSSED, [2], 1, {"sm": ([1, 1, -1, -1, 1, 0], 3, 3, PRICES | {"prices": ""})})
    yield made(CROSS, CROSSED, [2], 1, {"sm": ([1, 1, -1, -1, 1, 0], 3, 3, [])})
    yield made(SIDES, SIDED, [3], 1, {"mm": WIDE, "mw": (WIDE[0], 6, 5, SINGLE | {"pair": []})})


FileCase = tuple[bytes, bytes, dict[str, str] | None]
"""A model file, its certificate, and what :func:`verify` is asked with; None to read the training record alone."""


def in_files() -> Iterator[FileCase]:
    """What can be refused before anything is computed."""
    base = altered(made(ROWS, LABELS, [2], 1, STAGES), ([CLAIMS, "seconds"], [[0.0, 0.5, 1.0]]))

    def case(parts: Parts, ask: dict[str, str] | None, **members: Any) -> FileCase:
        model, claims = files(copy.deepcopy(parts))
        text = json.dumps(claims | members).replace("Infinity", "1e999")
        return model, gzip.compress(text.encode(), mtime=0), ask

    good = case(base, {})
    yield good
    for digest in ("0" * 64, "f" * 64):
        yield case(base, {"digest": digest})
        yield case(base, {}, model=digest)
    for text in (b"[]", b'{"format": 3, "format": 3}', b'{"format": NaN}', b"[" * 100_000):
        yield good[0], gzip.compress(text, mtime=0), {}
    yield good[0], good[1] + b"more", {}
    yield case(base, None)
    for seconds in ([[-1.0, 0, 0]], [[float("1e999"), 0, 0]]):
        yield case(base, None, seconds=seconds)
    # A page of training rows that are none.
    yield case(altered(base, ([CLAIMS, "rows"], []), ([CLAIMS, "labels"], [])), None)


MODULES = {
    **{"confidence": (prices, last_layers), "shapes": (shapes,), "margins": (margins,), "links": (links,)},
    **{"neurons": (splits, smallest), "separators": (separators,), "softmargins": (softmargins,)},
    **{"widest": (widest,), "verification": (verification,), "limits": (limits,)},
}


def by_module() -> dict[str, list[Parts]]:
    return {module: [parts for function in functions for parts in function()] for module, functions in MODULES.items()}
