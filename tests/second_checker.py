"""A second checker of certificates, slow and simple, that follows docs/certificates.md.

It imports nothing from bemi.  What the page proves is believed; what it says to compute is computed in the plainest
way: plain sums, recursion, every weight vector where the page says that all are tried.  :func:`proved` returns, for
each network and stage, what the certificate proves; :class:`Refused` says that it does not hold.  There are no limits
on work here but :data:`LONGEST`, beyond which a search over all weights is given up with :class:`TooLarge`.
"""

# ruff: noqa: B905 - short lines before long ones

from __future__ import annotations

import gzip
import hashlib
import json
import math
import struct
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, pairwise, product
from pathlib import Path

LONGEST = 3_000_000
"""Weight vectors and partial ones that are tried before a search is given up."""

BIG = 2**64


class Refused(Exception):
    """The certificate does not hold."""


class TooLarge(Exception):
    """This checker is too slow for the file; it may hold or not."""


def need(fact, words="something does not hold"):
    if not fact:
        raise Refused(words)


def integer(value, low, high, words="an integer"):
    """R: an integer in low..high."""
    need(type(value) is int and low <= value <= high, f"{words}: {value!r:.60}")
    return value


def integers(values, low, high, words="integers"):
    need(type(values) is list, words)
    return [integer(v, low, high, words) for v in values]


def members(thing, required, optional=()):
    need(type(thing) is dict, "not an object")
    need(set(required) <= set(thing) <= set(required) | set(optional), f"members {sorted(thing)}")
    return thing


def is_of(proof, *kinds):
    """R8: the kind of a proof, one of these."""
    need(type(proof) is dict, "not an object")
    need(proof["kind"] in kinds, "kind of proof")
    return proof["kind"]


def ceil_div(a, b):
    return -((-a) // b)


# -- files (R1 to R7) --------------------------------------------------------------------------------------------------


def once(pairs):
    need(len({name for name, _ in pairs}) == len(pairs), "a repeated name")
    return dict(pairs)


def not_a_number(name):
    raise Refused(name)


def read_json(text):
    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=not_a_number)
    except (ValueError, RecursionError) as error:
        raise Refused("not JSON") from error


def read_model(content):
    """R1"""
    need(len(content) >= 42 and content[:6] in (b"BEMI\x07\x00", b"BEMI\x08\x00"), "not a model")
    need(hashlib.sha256(content[:-32]).digest() == content[-32:], "the digest")
    (length,) = struct.unpack("<I", content[6:10])
    need(10 + length <= len(content) - 32, "the header's length")
    text = content[10 : 10 + length]
    header = read_json(text)
    need(json.dumps(header, sort_keys=True, separators=(",", ":")).encode() == text, "not canonical")
    return header, content[10 + length : -32], content[-32:].hex()


def proved(model, certificate=None):
    """For each network, a list of (stage, objective, bound claimed, kind of proof, bound proved)."""
    header, packed, digest = read_model(Path(model).read_bytes())
    try:
        text = gzip.decompress(Path(certificate or f"{model}.cert").read_bytes())
    except (OSError, EOFError) as error:
        raise Refused("not gzipped") from error
    claims = read_json(text)
    try:
        renamed(header)
        return whole_file(header, packed, digest, claims)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise Refused(f"malformed: {error!r}") from error


def renamed(header):
    """R1: stages that had other names in model format 7."""
    for stage in (stage for entry in header["networks"] for stage in entry["reports"]):
        stage["stage"] = "soft" if stage["stage"] == "ml2" else stage["stage"]
    header["settings"]["stages"] = ["soft" if name == "ml2" else name for name in header["settings"]["stages"]]


OLD_KINDS = {  # R2: a member that tells the kind, and the kind without any of them
    "sm": ({"prices": "row-prices"}, "last-layer"),
    "mm": ({"constant": "splitting-neurons"}, "dichotomies"),
    "mw": (
        {"theta": "links-under-ceiling", "single": "smallest-neurons", "support": "small-supports"},
        "sign-patterns",
    ),
    "soft": ({}, "multipliers"),
}


def format_4(stage):
    """R2: a stage of format 3 with its present name, and with a kind of its proof."""
    name, proof = "soft" if stage["stage"] == "ml2" else stage["stage"], stage["certificate"]
    if type(proof) is dict:
        need("kind" not in proof, "a kind in format 3")
        telling, kind = OLD_KINDS.get(name, ({}, "none"))
        kinds = [k for member, k in telling.items() if member in proof]
        proof = proof | {"kind": kinds[0] if kinds else kind}
    return stage | {"stage": name, "certificate": proof}


HEADER = (
    *("bemi", "classes", "classes_dtype", "feature_names", "features", "input_scaling", "inputs", "networks"),
    *("settings", "solver", "training_digest", "transform"),
)
PARTS = (
    *("expected", "given_rows", "image", "probabilities", "rate", "score_counts", "selection", "signs", "subsets"),
    "uncounted",
)


def whole_file(header, packed, digest, claims):
    members(claims, ("format", "model", "rows", "labels", "networks"), ("weights", "seconds"))
    if integer(claims["format"], 3, 4) == 3:
        claims = claims | {"networks": [[format_4(stage) for stage in stages] for stages in claims["networks"]]}
    need(claims["model"] == digest, "another model")
    members(header, HEADER, PARTS)
    need(type(header["classes"]) is list, "classes")
    settings = header["settings"]
    bound = integer(settings["weight_bound"], 1, 2**31 - 1)
    classes = integer(len(header["classes"]), 2, 4096)
    for name in ("C", "mw_loss"):
        need(type(settings[name]) in (int, float) and 0 <= settings[name] <= 1e300, name)
    size = integer(settings["subset_size"], 2, classes)
    outputs = max(1, math.ceil(math.log2(size)))
    layers = [integer(n, 1, 2**31 - 1) for n in [header["inputs"], *settings["hidden_layers"], outputs]]
    each = sum(a * b for a, b in pairwise(layers))
    need(len(header["networks"]) >= 1 and len(header["networks"]) * each <= 2**24, "weights")
    # R3
    rows = [integers(row, -(2**31), 2**31 - 1) for row in claims["rows"]]
    need(all(len(row) == layers[0] for row in rows), "values of a row")
    labels = integers(claims["labels"], 0, classes - 1)
    weights = None
    if claims.get("weights") is not None:
        weights = integers(claims["weights"], 1, 2**47)
        need(len(weights) == len(rows), "row weights")
    need(len(labels) == len(rows), "labels")
    given = integer(header.get("given_rows", len(rows)), 0, len(rows))
    flat = [len(rows), given, len(rows[0]) if rows else 0, *(v for r in rows for v in r), *labels, *(weights or [])]
    written = b"".join(v.to_bytes(8, "little", signed=True) for v in flat)
    need(hashlib.sha256(written).hexdigest() == header["training_digest"], "the training digest")
    # R4
    if "subsets" in header:
        subsets = [tuple(integers(s, 0, classes - 1)) for s in header["subsets"]]
        need(all(len(s) == size and list(s) == sorted(set(s)) for s in subsets), "subsets")
        need(subsets == sorted(set(subsets)), "order of subsets")
    else:
        need(math.comb(classes, size) == len(header["networks"]), "one network per set")
        subsets = list(combinations(range(classes), size))
    need(len(subsets) == len(header["networks"]) == len(claims["networks"]), "number of networks")
    if "seconds" in claims:
        need([len(t) for t in claims["seconds"]] == [len(n) for n in claims["networks"]], "seconds")
        every = [s for times in claims["seconds"] for s in times]
        need(all(type(s) in (int, float) and 0 <= s < math.inf for s in every), "seconds")
    signs, uncounted = limits_of(header, layers)
    final = model_weights(packed, each, bound, len(subsets))
    found = []
    for subset, stages, entry, last in zip(subsets, claims["networks"], header["networks"], final, strict=True):
        added = integers(entry.get("added", []), given, len(rows) - 1)  # R5
        need(added == sorted(set(added)) and all(labels[k] in subset for k in added), "added rows")
        chosen = [k for k in range(given) if labels[k] in subset] + added
        codes = [code_of(subset.index(labels[k]), layers[-1]) for k in chosen]
        network = {
            **{"rows": [tuple(rows[k]) for k in chosen], "codes": codes, "layers": layers, "P": bound},
            **{"weights": None if weights is None else [weights[k] for k in chosen], "settings": settings},
            **{"signs": signs, "uncounted": uncounted},
        }
        found.append(all_stages(network, stages, entry, last))
    return found


def limits_of(header, layers):
    """R7"""
    settings = header["settings"]
    need(("signs" in header and header["signs"] is not None) == (settings["monotone"] is not None), "signs")
    need(
        ("uncounted" in header and header["uncounted"] is not None) == (settings["max_links"] is not None), "uncounted"
    )
    signs = [0] * layers[0]
    if header.get("signs") is not None:
        signs = integers(header["signs"], -1, 1)
        need(len(signs) == layers[0] and layers[-1] == 1, "signs")
    return signs, set(integers(header.get("uncounted") or [], 0, layers[0] - 1))


def code_of(position, outputs):
    """R4"""
    return tuple(-1 if digit == "1" else 1 for digit in f"{position:0{outputs}b}")


def model_weights(packed, each, bound, networks):
    """R6"""
    bits = len(f"{2 * bound:b}")
    size = ceil_div(each * bits, 8)
    need(len(packed) == size * networks, "bytes of weights")
    found = []
    for n in range(networks):
        text = "".join(f"{byte:08b}" for byte in packed[n * size : (n + 1) * size])
        need(set(text[each * bits :]) <= {"0"}, "bits after the weights")
        found.append([int(text[k * bits : (k + 1) * bits], 2) - bound for k in range(each)])
    return found


# -- stages (R8 to R15) ------------------------------------------------------------------------------------------------


def layers_of(flat, layers):
    """Weights as one list of columns per layer: column j has the weights of neuron j."""
    found, at = [], 0
    for inputs, size in pairwise(layers):
        block = flat[at : at + inputs * size]
        found.append([block[j::size] for j in range(size)])
        at += inputs * size
    return found


def sums_of(network, row):
    """The sums of all neurons, layer by layer."""
    found, signal = [], row
    for layer in network:
        here = [sum(w * x for w, x in zip(column, signal, strict=True)) for column in layer]
        found.append(here)
        signal = [1 if s >= 0 else -1 for s in here]
    return found


REPORT = ("stage", "objective", "bound", "proof", "links", "rows", "message", "outcome")


def all_stages(network, stages, entry, last):
    names = [stage["stage"] for stage in stages]
    need(names and names == list(network["settings"]["stages"]), "stages")
    need(
        names == [s for s in ("sm", "mm", "mw") if s in names] or names in (["soft"], ["soft", "mw"]), "order of stages"
    )
    need(len(entry["reports"]) == len(stages), "reports")
    state = {"seen": range(len(network["rows"])), "margins": None, "ceiling": None, "before": None}
    results = []
    for stage, report in zip(stages, entry["reports"], strict=True):
        members(stage, (*REPORT, "weights", "certificate"), ("soft",))
        for name in (*REPORT, "soft"):
            need(stage.get(name) == report.get(name), f"the model's {name}")
        results.append(one_stage(network, stage, state))
    need(state["before"] == last, "the model's weights")
    first = layers_of(last, network["layers"])[0]
    signs = [{sums_of([first], row)[0][j] >= 0 for row in network["rows"]} for j in range(len(first))]
    need(integers(entry["splitting"], 0, 1) == [int(len(both) == 2) for both in signs], "splitting")
    return results


def one_stage(network, stage, state):
    layers, bound = network["layers"], network["P"]
    flat = integers(stage["weights"], -bound, bound, "weights")
    need(len(flat) == sum(a * b for a, b in pairwise(layers)), "number of weights")
    integer(stage["rows"], len(state["seen"]), len(state["seen"]), "rows")
    links = sum(w != 0 for w in flat)
    integer(stage["links"], links, links, "links")
    name = stage["stage"]
    if stage["objective"] is None:
        need(stage["bound"] is None and stage["proof"] == "none", "claims of a stage that did not run")
        need(state["before"] is None or state["before"] == flat, "a stage that did not run has other weights")
        state["before"] = flat
        return name, None, None, "none", None
    state["before"] = flat
    view = {key: [network[key][k] for k in state["seen"]] for key in ("rows", "codes")} | {"layers": layers, "P": bound}
    columns = layers_of(flat, layers)
    if name == "sm":
        objective, shown = sat_margin(view, columns, stage["certificate"], state)
    elif name == "mm":
        objective, shown = max_margin(view, columns, stage["certificate"], state)
    elif name == "soft":
        objective, shown = soft_margins(network, columns, stage, state)
    else:
        objective, shown = links, fewest_links(network, view, columns, stage, state)
    if name == "soft":
        value, claimed = rational(stage["objective"], 2**17), rational(stage["bound"], 2**17)
    else:
        value, claimed = integer(stage["objective"], 0, BIG - 1), integer(stage["bound"], 0, BIG - 1)
    need(value == objective, f"objective {value}, but {objective}")
    better = (lambda a, b: a > b) if name in ("soft", "mw") else (lambda a, b: a < b)
    need(not better(claimed, value), "the bound is on the wrong side")
    need(stage["proof"] in ("certified", "computed", "solver"), "kind of proof")
    if stage["proof"] == "certified":
        need(not better(claimed, shown), f"the bound {claimed}, but {shown} is proved")
    return name, value, claimed, stage["proof"], shown


def threshold_of(view):
    layers = view["layers"]
    return 1 if len(layers) == 2 else ceil_div(view["P"] * (layers[-2] + 1), 4)


def sat_margin(view, columns, proof, state):
    """R9, R20"""
    least, confident, kept = threshold_of(view), 0, []
    for k, (row, code) in enumerate(zip(view["rows"], view["codes"])):
        marks = [s * y >= least for s, y in zip(sums_of(columns, row)[-1], code, strict=True)]
        confident += sum(marks)
        if all(marks):
            kept.append(k)
    state["seen"] = kept
    shown = 0
    for row in set(view["rows"]):
        codes = [c for r, c in zip(view["rows"], view["codes"]) if r == row]
        for j in range(view["layers"][-1]):
            plus = sum(c[j] == 1 for c in codes)
            shown += max(plus, len(codes) - plus)
    if proof is not None:
        single = view["layers"][-1] == 1
        is_of(proof, "row-prices" if single else "last-layer")
        shown = min(shown, (prices if single else last_layers)(view, proof))
    return confident, shown


def margins_of(view, columns):
    every = [sums_of(columns, row) for row in view["rows"]]
    found = [[min(abs(s[at][j]) for s in every) for j in range(len(layer))] for at, layer in enumerate(columns[:-1])]
    outputs = range(len(columns[-1]))
    return [*found, [min(s[-1][j] * c[j] for s, c in zip(every, view["codes"])) for j in outputs]]


def norm(row):
    return sum(map(abs, row))


def max_margin(view, columns, proof, state):
    """R10, R23"""
    need(view["rows"], "no rows")
    state["margins"] = margins_of(view, columns)
    need(all(m >= 1 for layer in state["margins"] for m in layer), "a margin below 1")
    objective = sum(map(sum, state["margins"]))
    layers = view["layers"]
    if proof is None:
        above = sum(a * b for a, b in pairwise(layers[1:]))
        return objective, view["P"] * (layers[1] * min(map(norm, view["rows"])) + above)
    pairs = sorted(set(zip(view["rows"], view["codes"])))
    distinct = view | {"rows": [p[0] for p in pairs], "codes": [p[1] for p in pairs]}
    kind = is_of(proof, "dichotomies", "splitting-neurons", "single-neurons", "combinations")
    match kind:
        case "splitting-neurons":
            return objective, splits(distinct, proof)
        case "single-neurons":
            return objective, single_neurons(distinct, proof)
        case "combinations":
            return objective, combined_margins(distinct, proof)
    return objective, Dichotomies(distinct, proof).bound()


def fewest_links(network, view, columns, stage, state):
    proof = stage["certificate"]
    if state["ceiling"] is not None:  # R14
        objective, soft = soft_objective(network, columns, state["soft"])
        need(objective <= state["ceiling"], "above the ceiling")
        if proof is not None:
            is_of(proof, "links-under-ceiling")
        return 0 if proof is None else links_under_a_ceiling(soft, state["ceiling"], proof)
    if state["margins"] is None:  # R12
        for row, code in zip(view["rows"], view["codes"]):
            need(tuple(1 if s >= 0 else -1 for s in sums_of(columns, row)[-1]) == code, "a wrong output")
        if proof is not None:
            is_of(proof, "small-supports")
        return 0 if proof is None else without_margins(view, proof)
    have = margins_of(view, columns)  # R11
    pairs = [(a, b) for x, y in zip(have, state["margins"], strict=True) for a, b in zip(x, y, strict=True)]
    need(all(a >= b for a, b in pairs), "a margin is not kept")
    if proof is None:
        return 0
    kind = is_of(proof, "sign-patterns", "smallest-neurons", "combinations")
    if kind == "sign-patterns":
        return Relations(view, state["margins"]).proved(proof)
    return (listed if kind == "smallest-neurons" else combined_links)(view, state["margins"], proof)


# -- multipliers (R16) -------------------------------------------------------------------------------------------------


def combined(view, signs, multipliers):
    """g and the sum of the multipliers"""
    need(type(multipliers) is list and multipliers, "multipliers")
    g, total = [0] * view["layers"][0], 0
    for pair in multipliers:
        need(type(pair) is list and len(pair) == 2, "a multiplier")
        k, number = integer(pair[0], 0, len(view["rows"]) - 1), integer(pair[1], 0, BIG - 1)
        need(signs[k] in (1, -1), "a row without a sign")
        total += number
        g = [a + number * signs[k] * x for a, x in zip(g, view["rows"][k], strict=True)]
    need(total > 0, "multipliers that are all 0")
    return g, total


def margin_bound(view, signs, multipliers):
    """R16"""
    g, total = combined(view, signs, multipliers)
    return view["P"] * norm(g) // total


# -- searches over all weights of a neuron -----------------------------------------------------------------------------


def every_neuron(view, order, fits):
    """All sums and links of neurons, weight by weight in some order; ``fits`` sees the lowest and highest sums left."""
    rows, bound = view["rows"], view["P"]
    tried = 0

    def below(at, low, high, links):
        nonlocal tried
        if at == len(order):
            yield low, links
            return
        for w in range(-bound, bound + 1):
            tried += 1
            if tried > LONGEST:
                raise TooLarge
            column = [row[order[at]] for row in rows]
            lower = [a + w * x + bound * abs(x) for a, x in zip(low, column)]
            upper = [a + w * x - bound * abs(x) for a, x in zip(high, column)]
            if fits(lower, upper, links + (w != 0)):
                yield from below(at + 1, lower, upper, links + (w != 0))

    full = [bound * norm(row) for row in rows]
    yield from below(0, [-f for f in full], full, 0)


def with_signs(view, order, signs, least, most_links=None):
    """Sums and links of neurons with these signs (0 for either) and absolute sums of at least ``least``."""

    def fits(low, high, links):
        if most_links is not None and links > most_links:
            return False
        return all((s >= 0 and b >= least) or (s <= 0 and a <= -least) for s, a, b in zip(signs, low, high))

    return every_neuron(view, order, fits)


def permutation(order, inputs):
    need(sorted(integers(order, 0, inputs - 1)) == list(range(inputs)), "order")
    return order


# -- Sat-Margin (R21, R22) ---------------------------------------------------------------------------------------------


def prices(view, proof):
    """R21"""
    layers, bound = view["layers"], view["P"]
    need(len(layers) == 3 and layers[2] == 1 and layers[1] <= 10, "layers")
    members(proof, ("unit", "prices", "most", "quotas", "order"), ("kind",))
    unit, n = integer(proof["unit"], 1, 2**20 - 1), layers[1]
    price = integers(proof["prices"], 0, unit)
    need(len(price) == len(view["rows"]), "prices")
    most = integer(proof["most"], 0, unit * len(price))
    order = permutation(proof["order"], layers[0])
    need(type(proof["quotas"]) is list and len(proof["quotas"]) <= 1024, "quotas")
    quotas = [integers(q, 0, 1023) for q in proof["quotas"]]
    need(all(len(q) == n + 1 and q[-1] >= 1 for q in quotas), "a quota")
    need(math.comb(bound + n, n) <= 1024, "output weights")
    worst = Fraction(0)
    for v in combinations_with_replacement(range(bound, -1, -1), n):
        sets = [r for r in product((0, 1), repeat=n) if 2 * sum(map(int.__mul__, v, r)) - sum(v) >= threshold_of(view)]
        fit = [Fraction(sum(q[:-1]), q[-1]) for q in quotas if all(sum(map(int.__mul__, q, r)) >= q[-1] for r in sets)]
        need(fit, "no quota fits")
        if sets:
            worst = max(worst, min(fit))
    for turn in (1, -1):
        targets = [turn * code[0] for code in view["codes"]]

        def fits(low, high, links, targets=targets):
            can = (b >= 0 if y > 0 else -a >= 1 for y, a, b in zip(targets, low, high))
            return sum(p for p, c in zip(price, can) if c) > most

        need(not any(True for _ in every_neuron(view, order, fits)) or sum(price) <= most, "a neuron is worth more")
    return math.floor((sum(unit - p for p in price) + worst * most) / unit)


def last_layers(view, proof):
    """R22: the patterns that an output is confident on are all that matters; try every set that is not in another."""
    layers, bound = view["layers"], view["P"]
    need(len(layers) > 2, "a last layer of a network without hidden layers")
    shown = integer(members(proof, ("bound",), ("kind",))["bound"], 0, BIG - 1)
    n = layers[-2]
    need(view["rows"] and n <= 8 and math.comb(n + bound, n) <= 4000, "too many last layers")
    codes = tuple(sorted((c, view["codes"].count(c)) for c in set(view["codes"])))
    need(most_confident(n, bound, codes) <= shown, "a last layer has more confident outputs")
    return shown


@lru_cache
def most_confident(n, bound, codes):
    """The most confident outputs of any last layer, for codes and their numbers of rows."""
    if (2 * bound + 1) ** n > LONGEST // 100:
        raise TooLarge
    least, outputs = ceil_div(bound * (n + 1), 4), len(codes[0][0])
    patterns = list(product((1, -1), repeat=n))

    def confident(column):
        return frozenset(z for z in patterns if sum(map(int.__mul__, column, z)) >= least)

    sets = {confident(column) for column in product(range(-bound, bound + 1), repeat=n)}
    sets = [s for s in sets if not any(s < other for other in sets)]
    # Neurons may be turned and change places, so the first output has sorted weights.
    sorted_ = {confident(column) for column in combinations_with_replacement(range(bound, -1, -1), n)}
    first = [s for s in sets if s in sorted_]
    if len(first) * len(sets) ** (outputs - 1) * len(patterns) * len(codes) > 10 * LONGEST:
        raise TooLarge
    marks = {(s, y): [tuple(y * v for v in z) in s for z in patterns] for s in sets for y in (1, -1)}

    def best(at, scores):
        """Given for each code how many outputs each pattern has right so far."""
        if at == outputs:
            return sum(count * max(score) for (_, count), score in zip(codes, scores))
        return max(
            best(at + 1, [list(map(int.__add__, score, marks[s, c[at]])) for (c, _), score in zip(codes, scores)])
            for s in (sets if at else first)
        )

    return best(0, [[0] * len(patterns) for _ in codes])


# -- Max-Margin (R24 to R41) -------------------------------------------------------------------------------------------


class Closed(Exception):
    """No better network fits a node."""


class Dichotomies:
    """The state of a node is a dictionary; it is copied before every change of a branch."""

    def __init__(self, view, proof):
        self.view, self.hidden = view, len(view["layers"]) > 2
        self.rows, self.codes, self.n = view["rows"], view["codes"], view["layers"][1]
        members(proof, ("value", "tree", *(("tiers", "cap") if self.hidden else ())), ("bound", "kind"))
        self.value, self.proof = integer(proof["value"], 0, BIG - 1), proof
        self.tiers = [0] * self.n

    def bound(self):
        """R38"""
        try:
            shown = max(self.value, self.node(self.beginning(), self.proof["tree"]))
        except Closed:
            shown = self.value
        if "bound" in self.proof:
            need(integer(self.proof["bound"], 0, BIG - 1) >= shown, "the proof's own bound")
        return shown

    def beginning(self):
        """R25"""
        count, bound, layers = len(self.rows), self.view["P"], self.view["layers"]
        own = list(range(count))
        known = {"list": None, "labels": None, "together": None}
        if not self.hidden:
            top = bound * max(map(norm, self.rows))
            neurons = [neuron([c[j] for c in self.codes], own, top) for j in range(self.n)]
            return known | {"neurons": neurons, "merged": [own], "upper": 0}
        self.tiers = integers(self.proof["tiers"], 0, self.n)
        need(len(self.tiers) == self.n and self.tiers == sorted(self.tiers), "tiers")
        need(type(self.proof["cap"]) is list and len(self.proof["cap"]) == 3, "the cap")
        top, first, tree = self.proof["cap"]
        integer(top, 0, BIG - 1)
        integer(first, 0, count - 1)
        leaf, _ = self.tree([int(k == first) for k in own], own, tree)
        need(leaf <= top, "the cap does not follow")
        if len(set(self.codes)) == 1:
            upper = bound * sum(a * b for a, b in pairwise(layers[1:]))
        else:
            upper = max(self.above(h, d) for h in range(1, self.n + 1) for d in range(layers[-1] + 1))
        neurons = [neuron([0] * count, own, top) for _ in range(self.n)]
        return known | {"neurons": neurons, "merged": [own for _ in range(max(self.tiers) + 1)], "upper": upper}

    def above(self, h, d):
        """R26"""
        sizes = self.view["layers"][1:]

        def most(at, here):
            if at == len(sizes) - 1:
                return 0 if here == d else None
            found = []
            for after in [d] if at == len(sizes) - 2 else range(1, sizes[at + 1] + 1):
                rest = most(at + 1, after)
                if rest is not None:
                    found.append(rest + after * here + (sizes[at + 1] - after) * (sizes[at] - here))
            return max(found)

        return self.view["P"] * most(0, h)

    def tree(self, signs, group, tree, listing=False):
        """R27: the largest leaf, and the members (R33) in the order of the page."""
        need(type(tree) is list and len(tree) > 1, "a tree")
        if tree[0] == "L":
            need(len(tree) == 2, "a leaf")
            return margin_bound(self.view, signs, tree[1]), []
        if tree[0] == "W" and listing:
            need(len(tree) == 2 and 0 not in signs, "a member")
            return 0, [(margin_bound(self.view, signs, tree[1]), tuple(signs))]
        need(tree[0] == "T" and len(tree) == 4, "a branch")
        row = integer(tree[1], 0, len(self.rows) - 1)
        need(signs[row] == 0, "a sign twice")
        found, listed_ = 0, []
        for sign, child in ((-1, tree[3]), (1, tree[2])):
            with_sign = [sign if group[k] == group[row] else s for k, s in enumerate(signs)]
            leaf, more = self.tree(with_sign, group, child, listing)
            found, listed_ = max(found, leaf), listed_ + more
        return found, listed_

    # What bounds say

    def total(self, state):
        """R28"""
        shares = [
            min(n["bound"] for i, n in enumerate(state["neurons"]) if i == j or self.tiers[i] > self.tiers[j])
            for j in range(self.n)
        ]
        low = sum(s for s, t in zip(shares, self.tiers) if t == 0)
        if state["together"] is not None:
            low = min(low, state["together"])
        return state["upper"] + sum(s for s, t in zip(shares, self.tiers) if t) + low

    def need_of(self, state, j):
        """R28"""
        goal = self.value + 1 - state["upper"]
        bounds = [n["bound"] for n in state["neurons"]]
        others = sum(b for i, b in enumerate(bounds) if i != j and self.tiers[i] >= self.tiers[j])
        lower = [b for i, b in enumerate(bounds) if self.tiers[i] < self.tiers[j]]
        # The left side is linear between the bounds of lower tiers.
        at, left = 0, others
        for b in sorted(lower):
            rising = 1 + sum(c >= b for c in lower)
            if left + rising * (b - at) >= goal:
                break
            left, at = left + rising * (b - at), max(b, at)
        rising = 1 + sum(c > at for c in lower)
        m = at + max(0, ceil_div(goal - left, rising))
        if state["together"] is not None and self.tiers[j]:
            high = sum(b for i, b in enumerate(bounds) if self.tiers[i] and i != j)
            m = max(m, goal - state["together"] - high)
        return max(m, state["neurons"][j]["floor"])

    # Nodes

    def node(self, state, node):
        """The largest total of an open node below; Closed if there is none."""
        need(type(node) is list and node, "a node")
        for step in node[:-1]:
            need(type(step) is list and step, "a step")
            actions = {
                **{"B": (self.b, 3), "X": (self.x, 5), "D": (self.d, 3), "M": (self.m, 5), "N": (self.list_, 4)},
                **{"F": (self.f, 3), "Y": (self.y, 5), "A": (self.a, 3), "G": (self.g, 3)},
            }
            need(type(step[0]) is str and step[0] in actions, "an unknown step")
            action, length = actions[step[0]]
            need(len(step) == length, "a step's length")
            action(state, *step[1:])
        if any(n["bound"] < 1 for n in state["neurons"]) or self.total(state) <= self.value:
            raise Closed
        end = node[-1]
        need(type(end) is list and end, "an end")
        if end[0] == "O":
            return self.total(state)
        need(end[0] in ("S", "T", "V") and len(end) == 4 and type(end[3]) is list, "not closed")
        children = {"S": self.s, "T": self.t, "V": self.v}[end[0]](state, *end[1:3])
        need(len(children) == len(end[3]), "children")
        found = []
        for child, below in zip(children, end[3], strict=True):
            if child is not None:
                try:
                    found.append(self.node(child, below))
                except Closed:
                    continue
        if not found:
            raise Closed
        return max(found)

    def row(self, k):
        return integer(k, 0, len(self.rows) - 1, "a row")

    def one(self, j):
        return integer(j, 0, self.n - 1, "a neuron")

    def pair(self, a, b):
        need(self.codes[self.row(a)] != self.codes[self.row(b)], "equal codes")

    # Steps

    def b(self, state, j, multipliers):
        own = state["neurons"][self.one(j)]
        own["bound"] = min(own["bound"], margin_bound(self.view, own["signs"], multipliers))

    def x(self, state, j, row, sign, multipliers):
        own = state["neurons"][self.one(j)]
        self.row(row)
        need(type(sign) is int and sign in (1, -1) and own["signs"][row] == 0 and any(own["signs"]), "a sign")
        trial = given(own, row, sign)
        need(margin_bound(self.view, trial["signs"], multipliers) < self.need_of(state, j), "a possible sign")
        state["neurons"][j] = given(own, row, -sign)

    def options(self, state, a, b):
        """R31: lists of neurons that may be swapped, each with the possible signs of a."""
        sets = []
        for j, own in enumerate(state["neurons"]):
            for known in sets:
                other = state["neurons"][known[0]]
                if self.tiers[j] == self.tiers[known[0]] and all(own[k] == other[k] for k in ("signs", "group")):
                    known.append(j)
                    break
            else:
                sets.append([j])
        found = []
        for alike in sets:
            own = state["neurons"][alike[0]]
            one, two = own["signs"][a], own["signs"][b]
            if not can_separate(own, a, b):
                signs = []
            elif one or two:
                signs = [one or -two]
            else:
                signs = [1, -1] if any(own["signs"]) else [1]
            found.append((alike, signs))
        return found

    def d(self, state, a, b):
        self.pair(a, b)
        need(not any(separates(n, a, b) for n in state["neurons"]), "separated already")
        options = [(alike[0], sign) for alike, signs in self.options(state, a, b) for sign in signs]
        need(len(options) <= 1, "not forced")
        if not options:
            raise Closed
        j, sign = options[0]
        state["neurons"][j] = split(state["neurons"][j], a, b, sign)

    def tier(self, tier):
        return integer(tier, 0, max(self.tiers), "a tier")

    def m(self, state, tier, a, b, tree):
        group = state["merged"][self.tier(tier)]
        self.row(a), self.row(b)
        need(group[a] != group[b], "merged already")
        signs = [1 if g == group[a] else -1 if g == group[b] else 0 for g in group]
        concerned = [j for j in range(self.n) if self.tiers[j] >= tier]
        leaf, _ = self.tree(signs, group, tree)
        need(leaf < min(self.need_of(state, j) for j in concerned), "a merge does not follow")
        for t in range(tier, len(state["merged"])):
            state["merged"][t] = joined(state["merged"][t], a, b)
        for j in concerned:
            state["neurons"][j] = equal(state["neurons"][j], a, b)
        if None in state["neurons"]:
            raise Closed

    def list_(self, state, tier, level, tree):
        group = state["merged"][self.tier(tier)]
        need(state["list"] is None, "a second list")
        integer(level, 0, BIG - 1)
        need(type(tree) is list, "a tree")
        norms = [norm(row) for row in self.rows]
        first = norms.index(min(norms))
        leaf, found = self.tree([int(g == group[first]) for g in group], group, tree, True)
        need(leaf <= level, "an incomplete list")
        kept = sorted((m for m in found if m[0] > level), key=lambda m: -m[0])
        state["list"] = (tier, level, kept)

    def f(self, state, j, count):
        own = state["neurons"][self.one(j)]
        need(state["list"] is not None, "no list")
        tier, level, every = state["list"]
        integer(count, 0, len(every))
        least = self.need_of(state, j)
        need(self.tiers[j] >= tier and least > level, "a list for others")
        need(all(bound < least for bound, _ in every[count:]), "a member left out")
        kept = []
        for bound, signs in every[:count]:
            for turn in (1, -1):
                turned = [turn * s for s in signs]
                agrees = all(s in (0, t) for s, t in zip(own["signs"], turned))
                if agrees and all(turned[k] == turned[own["group"].index(g)] for k, g in enumerate(own["group"])):
                    kept.append((bound, turned))
        if not kept:
            raise Closed
        columns = [tuple(signs[k] for _, signs in kept) for k in range(len(self.rows))]
        signs = [c[0] if len(set(c)) == 1 else 0 for c in columns] if any(own["signs"]) else own["signs"]
        bound = min(own["bound"], max(bound for bound, _ in kept))
        state["neurons"][j] = own | {"signs": signs, "group": [columns.index(c) for c in columns], "bound": bound}

    def a(self, state, a, b):
        self.row(a), self.row(b)
        need(self.codes[a] == self.codes[b], "different codes")
        need(all(separates(n, a, b) for n in state["neurons"]), "not opposed")
        raise Closed

    def g(self, state, a, b):
        self.pair(a, b)
        need(self.hidden, "no upper layers")
        low = sum(separates(n, a, b) for n in state["neurons"])
        high = low + sum(can_separate(n, a, b) for n in state["neurons"])
        if high == 0:
            raise Closed
        d = sum(x != y for x, y in zip(self.codes[a], self.codes[b]))
        state["upper"] = min(state["upper"], max(self.above(h, d) for h in range(max(low, 1), high + 1)))

    # Shapes

    def y(self, state, row, marked, entries, trees):
        """R35"""
        self.row(row)
        need(len(state["merged"]) > 1, "no higher tier")
        q = self.tiers.count(0)
        need(q <= 3, "too many neurons")
        integers(marked, 0, len(self.rows) - 1)
        group = state["merged"][1]
        inside = [k for k, g in enumerate(group) if g == group[row]]
        codes = sorted({self.codes[k] for k in inside})
        need([self.codes[k] for k in marked] == codes and set(marked) <= set(inside), "marked rows")
        known = state["labels"]
        if known is None or known[0] != (row, marked):
            known = ((row, marked), {}, {})
        labels, shapes = dict(known[1]), dict(known[2])

        def signs_of(digits):
            need(type(digits) is list and len(digits) == len(codes), "a label")
            signs = [0] * len(self.rows)
            for c, digit in enumerate(digits):
                integer(digit, 0, 3)
                for k in [k for k in inside if self.codes[k] == codes[c]] if digit < 2 else [marked[c]]:
                    signs[k] = -1 if digit % 2 else 1
            return signs

        need(type(entries) is list and type(trees) is list, "entries")
        for entry in entries:
            need(type(entry) is list and len(entry) == 2, "an entry")
            found = margin_bound(self.view, signs_of(entry[0]), entry[1])
            label = tuple(entry[0])
            labels[label] = min(found, labels.get(label, found))
        cap = min(n["bound"] for n, t in zip(state["neurons"], self.tiers) if t)
        for entry in trees:
            need(type(entry) is list and len(entry) == 2 and type(entry[0]) is list and len(entry[0]) == q, "a tree")
            signs = [signs_of(digits) for digits in entry[0]]
            bounds = [min(cap, labels.get(tuple(digits), cap)) for digits in entry[0]]
            owners = {tuple(digits[c] % 2 for digits in entry[0]): c for c in range(len(codes))}
            need(len(owners) == len(codes), "two codes with one pattern")
            worth = self.cases(signs, bounds, owners, entry[1], (inside, codes))
            shape = tuple(sorted(map(tuple, entry[0])))
            shapes[shape] = min(worth, shapes.get(shape, worth))
        need(len(codes) <= 2**q, "more codes than patterns")
        most = 0
        for shape in every_shape(len(codes), q):
            plain = sum(min(cap, labels.get(label, cap)) for label in shape)
            most = max(most, min(plain, shapes.get(shape, plain)))
        state["together"] = most if state["together"] is None else min(most, state["together"])
        state["labels"] = ((row, list(marked)), labels, shapes)

    def cases(self, signs, bounds, owners, tree, about):
        inside, codes = about
        need(type(tree) is list and len(tree) == 3, "cases")
        multipliers, row, children = tree
        need(type(multipliers) is list and len(multipliers) == len(signs) and type(children) is list, "cases")
        bounds = [
            b if given_ is None else min(b, margin_bound(self.view, own, given_))
            for b, own, given_ in zip(bounds, signs, multipliers)
        ]
        if type(row) is int and row == -1:
            need(not children, "children of a leaf")
            return sum(bounds)
        need(self.row(row) in inside, "a row that is not merged")
        code = codes.index(self.codes[row])
        patterns = [
            p
            for number in range(2 ** len(signs))
            for p in [tuple(number // 2**j % 2 for j in range(len(signs)))]
            if owners.get(p, code) == code and all(own[row] in (0, 1 - 2 * bit) for own, bit in zip(signs, p))
        ]
        need(len(patterns) == len(children), "patterns")
        worth = 0
        for p, child in zip(patterns, children):
            after = [[1 - 2 * bit if k == row else s for k, s in enumerate(own)] for own, bit in zip(signs, p)]
            worth = max(worth, self.cases(after, bounds, owners | {p: code}, child, about))
        return worth

    # Branches; a child is None if it contradicts what is known

    def s(self, state, a, b):
        """R39"""
        self.pair(a, b)
        children, earlier = [], []

        def child(j=None, sign=0):
            new = copied(state)
            for i in earlier:
                new["neurons"][i] = equal(new["neurons"][i], a, b)
            if j is not None:
                try:
                    new["neurons"][j] = split(new["neurons"][j], a, b, sign)
                except Closed:
                    return None
            return None if None in new["neurons"] else new

        for alike, signs in self.options(state, a, b):
            children += [child(alike[0], sign) for sign in signs]
            earlier += alike if signs else []
        if any(separates(n, a, b) for n in state["neurons"]):
            children.append(child())
        return children

    def t(self, state, j, row):
        """R40"""
        own = state["neurons"][self.one(j)]
        need(own["signs"][self.row(row)] == 0, "a sign twice")
        children = []
        for sign in (1, -1) if any(own["signs"]) else (1,):
            new = copied(state)
            new["neurons"][j] = given(own, row, sign)
            children.append(new)
        return children

    def v(self, state, j, level):
        """R41"""
        self.one(j)
        integer(level, 0, BIG - 1)
        need(self.tiers.count(self.tiers[j]) == 1, "not alone in its tier")
        strong, weak = copied(state), copied(state)
        for i, own in enumerate(strong["neurons"]):
            if i == j or self.tiers[i] > self.tiers[j]:
                own["floor"] = max(own["floor"], level + 1)
        weak["neurons"][j]["bound"] = min(weak["neurons"][j]["bound"], level)
        return [strong, weak]


def neuron(signs, group, bound):
    return {"signs": list(signs), "group": list(group), "bound": bound, "floor": 0}


def copied(state):
    return state | {"neurons": [dict(n) for n in state["neurons"]], "merged": list(state["merged"])}


def separates(own, a, b):
    return own["signs"][a] * own["signs"][b] == -1


def can_separate(own, a, b):
    return own["group"][a] != own["group"][b] and 0 in (own["signs"][a], own["signs"][b])


def given(own, row, sign):
    """The neuron with this sign on the row's group"""
    if own["signs"][row] == -sign:
        raise Closed
    signs = [sign if g == own["group"][row] else s for s, g in zip(own["signs"], own["group"])]
    return own | {"signs": signs}


def split(own, a, b, sign):
    return given(given(own, a, sign), b, -sign)


def joined(group, a, b):
    return [min(group[a], group[b]) if g in (group[a], group[b]) else g for g in group]


def equal(own, a, b):
    """The neuron with equal signs on two rows, or None"""
    if own is None or separates(own, a, b):
        return None
    new = own | {"group": joined(own["group"], a, b)}
    sign = own["signs"][a] or own["signs"][b]
    return given(new, a, sign) if sign else new


SHAPES = {}


def every_shape(codes, q):
    """The sorted labels of every shape, with every choice of marked patterns."""
    if (codes, q) not in SHAPES:
        patterns = list(product((0, 1), repeat=q))
        found = set()
        if codes ** len(patterns) > LONGEST:
            raise TooLarge
        for owners in product(range(codes), repeat=len(patterns)):
            if len(set(owners)) < codes or owners[0] != 0:
                continue
            own = [[p for p, o in zip(patterns, owners) if o == c] for c in range(codes)]
            for marks in product([patterns[0]], *own[1:]):
                labels = []
                for j in range(q):
                    sides = [{p[j] for p in o} for o in own]
                    labels.append(tuple(2 + m[j] if len(s) == 2 else m[j] for s, m in zip(sides, marks)))
                found.add(tuple(sorted(labels)))
        SHAPES[codes, q] = found
    return SHAPES[codes, q]


def splits(view, proof):
    """R42"""
    layers, bound, codes = view["layers"], view["P"], [c[0] for c in view["codes"]]
    need(len(layers) == 3 and layers[2] == 1 and layers[1] >= 3 and set(codes) == {1, -1}, "splits")
    members(proof, ("constant", "other", "pairs", "order"), ("kind",))
    n, top = layers[1], bound * max(map(norm, view["rows"]))
    c = integer(proof["constant"], 1, top)
    d = integer(proof["other"], 0, c)
    order = permutation(proof["order"], layers[0])
    plus = [1] * len(codes)
    need(not any(True for _ in with_signs(view, order, plus, c + 1)), "a constant neuron")
    need(not any(min(s) < 0 for s, _ in with_signs(view, order, [1, *[0] * (len(codes) - 1)], d + 1)), "another neuron")
    need(not any(True for _ in with_signs(view, order, codes, 1)), "right on all rows")
    need(type(proof["pairs"]) is list and len(proof["pairs"]) == 2, "pairs")
    shown = (n - 3) * c + 3 * d + n * bound
    for y, pair in zip((1, -1), proof["pairs"]):
        row, s = integers(pair, 0, 2**40 - 1)
        need(row < len(codes) and codes[row] != y, "the row of a pair")
        for one, two in pairs_of(view, order, codes, y, row, 1, 1, None):
            need(min(map(abs, one)) + min(map(abs, two)) <= s, "a pair with larger margins")
        if s:
            shown = max(shown, (n - 2) * c + s + bound)
    return shown


def signed_rows(view):
    """R63"""
    layers = view["layers"]
    need(len(layers) > 2 and layers[-1] == 1 and layers[-2] <= 5 and max(layers[1:-2], default=0) <= 4, "the shape")
    rows = {tuple(x * c[0] for x in row) for row, c in zip(view["rows"], view["codes"])}
    need(all(map(any, rows)), "a row of zeros")
    return frozenset(rows)


@lru_cache(maxsize=4096)
def all_neurons(rows, bound, margin):
    """R63: for each set of rows that a neuron may be wrong on, the largest margin and the fewest links."""
    rows = sorted(rows)
    live = [i for i in range(len(rows[0])) if any(row[i] for row in rows)]
    if (2 * bound + 1) ** len(live) * len(rows) > 300_000:
        raise TooLarge
    found = {}
    for weights in product(range(-bound, bound + 1), repeat=len(live)):
        sums = [sum(w * row[i] for w, i in zip(weights, live)) for row in rows]
        if min(map(abs, sums)) >= margin:
            signs, links = tuple(1 if s > 0 else -1 for s in sums), sum(map(bool, weights))
            wide, few = found.get(signs, (0, links))
            found[signs] = max(wide, min(map(abs, sums))), min(few, links)
    return found


def best_with_patterns(lists):
    """For each set of patterns that neurons, one from each list, give the rows: the largest sum of their values."""
    if math.prod(map(len, lists)) > 20_000:
        raise TooLarge
    if not all(lists):
        return {}
    reached = {((),) * len(next(iter(lists[0]))): 0}
    for entries in lists:
        after = {}
        for patterns, total in reached.items():
            for signs, value in entries.items():
                new = tuple((*p, s) for p, s in zip(patterns, signs))
                after[new] = max(after.get(new, total + value), total + value)
        reached = after
    best = {}
    for patterns, total in reached.items():
        key = frozenset(patterns)
        best[key] = max(best.get(key, total), total)
    if len(best) > 500:
        raise TooLarge
    return best


def all_outputs(rows, bound):
    """The smallest sum and the links of all output weights."""
    for weights in product(range(-bound, bound + 1), repeat=len(next(iter(rows)))):
        yield min(sum(map(int.__mul__, weights, row)) for row in rows), sum(map(bool, weights))


@lru_cache(maxsize=4096)
def most_margins(rows, sizes, bound):
    """The largest sum of margins of layers that give + on all rows, or -1."""
    if not sizes:
        return max((least for least, _ in all_outputs(rows, bound) if least >= 1), default=-1)
    neurons = {signs: wide for signs, (wide, _) in all_neurons(rows, bound, 1).items()}
    best = -1
    for patterns, total in best_with_patterns([neurons] * sizes[0]).items():
        above = most_margins(patterns, sizes[1:], bound)
        best = max(best, total + above) if above >= 0 else best
    return best


@lru_cache(maxsize=4096)
def fewest_with_margins(rows, margins, bound):
    """The fewest links of layers that keep margins and give + on all rows, or infinity."""
    if len(margins) == 1:
        return min((few for least, few in all_outputs(rows, bound) if least >= margins[0][0]), default=math.inf)
    lists = [{signs: -few for signs, (_, few) in all_neurons(rows, bound, m).items()} for m in margins[0]]
    best = best_with_patterns(lists).items()
    return min((fewest_with_margins(z, margins[1:], bound) - total for z, total in best), default=math.inf)


def combined_margins(view, proof):
    """R64"""
    members(proof, ("value", "any", "labels"), ("kind",))
    rows, bound = signed_rows(view), view["P"]
    value = integer(proof["value"], 0, 2**40 - 1)
    widest = integer(proof["any"], 1, bound * max(map(norm, view["rows"])))
    right = integer(proof["labels"], 0, widest)
    margins = {signs: wide for signs, (wide, _) in all_neurons(rows, bound, 1).items()}
    need(max(margins.values(), default=0) == widest, "another largest margin")
    need(all(m <= right for signs, m in margins.items() if min(signs) > 0), "a larger margin with the labels")
    need(most_margins(rows, tuple(view["layers"][1:-1]), bound) <= value, "a better combination")
    return value


def combined_links(view, margins, proof):
    """R65"""
    members(proof, ("links",), ("kind",))
    links = integer(proof["links"], 0, 2**40 - 1)
    need(min(map(min, margins)) >= 1, "margins of at least 1")
    need(fewest_with_margins(signed_rows(view), tuple(map(tuple, margins)), view["P"]) >= links, "fewer links")
    return links


def pairs_of(view, order, codes, y, row, first_margin, second_margin, most_links):
    """Sums of two neurons, right on all rows of code y, the first on ``row``, one of them on each row."""
    signs = [c if c == y or k == row else 0 for k, c in enumerate(codes)]
    seen = {}
    for one, links in with_signs(view, order, signs, first_margin, most_links):
        wrong = tuple(c if c == y or c * s < 0 else 0 for c, s in zip(codes, one))
        if wrong not in seen:
            left = None if most_links is None else most_links
            seen[wrong] = list(with_signs(view, order, wrong, second_margin, left))
        for two, more in seen[wrong]:
            if most_links is None or links + more <= most_links:
                yield one, two


def single_neurons(view, proof):
    """R62"""
    layers, bound = view["layers"], view["P"]
    need(len(layers) == 3 and layers[1] in (1, 2) and layers[2] == 1, "single neurons")
    members(proof, ("labels", "any") if layers[1] == 2 else ("labels",), ("kind",))
    labels = one_neuron(view, [c[0] for c in view["codes"]], proof["labels"])
    if layers[1] == 1:
        return labels + bound
    widest = one_neuron(view, [0] * len(view["rows"]), proof["any"])
    return max(labels + widest + bound, 2 * labels + 2 * bound)


def one_neuron(view, signs, proof):
    """R61"""
    need(type(proof) is list and len(proof) == 2, "a neuron's proof")
    top = integer(proof[0], 1, view["P"] * max(map(norm, view["rows"])))

    def fits(low, high):
        return all((s >= 0 and b > top) or (s <= 0 and a < -top) for s, a, b in zip(known, low, high))

    def wider(at, low, high):
        """Whether some neuron within the limits has a larger margin; the weights before ``at`` are fixed."""
        nonlocal tried
        tried += 1
        if tried > LONGEST:
            raise TooLarge
        if not fits(low, high):
            return False
        if at == len(limits):
            return True
        least, most = limits[at]
        column = [row[at] for row in view["rows"]]
        for w in range(least, most + 1):
            lower = [a + w * x - min(least * x, most * x) for a, x in zip(low, column)]
            upper = [b + w * x - max(least * x, most * x) for b, x in zip(high, column)]
            if wider(at + 1, lower, upper):
                return True
        return False

    tried = 0
    open_trees = [(proof[1], list(signs), [(-view["P"], view["P"])] * view["layers"][0])]
    while open_trees:
        tree, known, limits = open_trees.pop()
        need(type(tree) is list and tree, "a tree")
        if tree[0] == "A":
            need(len(tree) == 1, "a tree")
            lowest = [sum(min(a * x, b * x) for (a, b), x in zip(limits, row)) for row in view["rows"]]
            highest = [sum(max(a * x, b * x) for (a, b), x in zip(limits, row)) for row in view["rows"]]
            need(not wider(0, lowest, highest), "a larger margin")
        elif tree[0] == "L":
            need(len(tree) == 2, "a tree")
            g, total = combined(view, known, tree[1])
            most = sum(max(low * v, high * v) for (low, high), v in zip(limits, g))
            need(most // total <= top, "an open leaf")
        elif tree[0] == "T":
            need(len(tree) == 4, "a tree")
            k = integer(tree[1], 0, len(known) - 1)
            need(known[k] == 0, "a row with a sign")
            for sign, child in ((1, tree[2]), (-1, tree[3])):
                if sign < 0 and child is None:
                    need(not any(known) and set(limits) == {(-view["P"], view["P"])}, "a missing branch")
                    continue
                open_trees.append((child, [*known[:k], sign, *known[k + 1 :]], limits))
        else:
            need(tree[0] == "W" and len(tree) == 5, "a tree")
            i = integer(tree[1], 0, len(limits) - 1)
            low, high = limits[i]
            value = integer(tree[2], low, high - 1)
            for part, child in (((low, value), tree[3]), ((value + 1, high), tree[4])):
                open_trees.append((child, known, [*limits[:i], part, *limits[i + 1 :]]))
    return top


# -- Min-Weight with margins (R43 to R52) ------------------------------------------------------------------------------


class Relations:
    """For each neuron a dictionary from pairs of rows to 1 (equal signs) or -1 (opposite ones), closed under chains."""

    def __init__(self, view, margins):
        self.view, self.first, self.above = view, margins[0], margins[1:]
        self.count = len(view["rows"])

    def proved(self, proof):
        members(proof, ("target", "tree"), ("bound", "kind"))
        self.target = integer(proof["target"], 0, BIG - 1)
        known = [self.chains(j) for j in range(len(self.first))]
        shown = self.node({"known": known, "links": [0] * len(known)}, proof["tree"], 1)
        if "bound" in proof:
            need(integer(proof["bound"], 0, BIG - 1) <= shown, "the proof's own bound")
        return shown

    def chains(self, j):
        """Each row with a name and a sign; rows with one name have known relations."""
        if self.above:
            return [(k, 1) for k in range(self.count)]
        return [(0, c[j] * self.view["codes"][0][j]) for c in self.view["codes"]]

    @staticmethod
    def between(known, a, b):
        return known[a][1] * known[b][1] if known[a][0] == known[b][0] else 0

    def related(self, known, a, b, r):
        need(self.between(known, a, b) == 0, "a known relation")
        (one, s), (two, t) = known[a], known[b]
        low, high = min(one, two), max(one, two)
        return [(low, p * s * t * r) if name == high else (name, p) for name, p in known]

    def alike(self, state, which):
        need(type(which) is list and which, "no neurons")
        for j in which:
            integer(j, 0, len(self.first) - 1)
        need(len(set(which)) == len(which), "a neuron twice")
        first = which[0]
        need(all(self.first[j] == self.first[first] for j in which), "other margins")
        need(all(state["known"][j] == state["known"][first] for j in which), "other relations")
        return which

    def rows(self, *which):
        return [integer(k, 0, self.count - 1, "a row") for k in which]

    def node(self, state, steps, depth):
        """R50"""
        need(type(steps) is list and depth <= 400, "a node")
        known = state["known"]
        for at, step in enumerate(steps):
            need(type(step) is list and step, "a step")
            kind = (step[0], len(step))
            if kind == ("D", 3):
                if self.counted(known, *self.rows(*step[1:])) is None:
                    return self.target
            elif kind == ("X", 6):
                which, (a, b), r = self.alike(state, step[1]), self.rows(*step[2:4]), step[4]
                need(type(r) is int and r in (1, -1), "a relation")
                trial = {"known": list(known), "links": list(state["links"])}
                trial["known"][which[0]] = self.related(known[which[0]], a, b, r)
                need(self.node(trial, step[5], depth + 1) >= self.target, "a possible relation")
                for j in which:
                    known[j] = self.related(known[j], a, b, -r)
            elif kind == ("B", 3):
                which = self.alike(state, step[1])
                need(self.first[which[0]] >= 1, "no margin")
                least = self.weights(known[which[0]], self.first[which[0]], step[2], {})
                for j in which:
                    state["links"][j] = max(state["links"][j], least)
            elif kind == ("L", 3):
                j = integer(step[1], 0, len(self.first) - 1)
                need(margin_bound(self.view, self.signs(known[j], step[2]), step[2]) < self.first[j], "not closed")
                return self.target
            else:
                need(kind == ("T", 6) and at == len(steps) - 1, "a step")
                which, (a, b) = self.alike(state, step[1]), self.rows(*step[2:4])
                one = {"known": list(known), "links": list(state["links"])}
                two = {"known": list(known), "links": list(state["links"])}
                for j in which:
                    one["known"][j] = self.related(known[j], a, b, 1)
                two["known"][which[0]] = self.related(known[which[0]], a, b, -1)
                return min(self.node(one, step[4], depth + 1), self.node(two, step[5], depth + 1))
        return min(self.target, sum(state["links"]) + self.links_above(known))

    def least(self, m):
        return max(0, ceil_div(m, self.view["P"]))

    def links_above(self, known):
        """R50, R51"""
        links = sum(self.least(m) for layer in self.above for m in layer)
        if len(self.above) != 2 or len(self.above[1]) != 1 or self.least(self.above[1][0]) < len(self.above[0]):
            return links
        codes = self.view["codes"]
        different = [(a, b) for a, b in combinations(range(self.count), 2) if codes[a] != codes[b]]
        if all(any(self.between(own, a, b) == 1 for a, b in different) for own in known):
            links += sum(max(0, 3 - self.least(m)) for m in self.above[0] if m >= 1)
        return links

    def counted(self, known, a, b):
        """R44; None if the node is closed"""
        need(self.above and a != b, "counting")
        codes = self.view["codes"]

        def possible(layer, h, n):
            if layer == len(self.above):
                return True
            totals = {0}
            for j, m in enumerate(self.above[layer]):
                can = {1} if h >= max(1, self.least(m)) else set()
                can |= {0} if n - h >= self.least(m) else set()
                if layer == len(self.above) - 1:
                    can = {0} if m < 1 else can & {int(codes[a][j] != codes[b][j])}
                totals = {t + c for t in totals for c in can}
            return any(possible(layer + 1, t, len(self.above[layer])) for t in totals)

        relations = [self.between(own, a, b) for own in known]
        e, free = relations.count(-1), [j for j, r in enumerate(relations) if r == 0]
        left = [h for h in range(e, e + len(free) + 1) if possible(0, h, len(known))]
        if not left:
            return None
        need(free and len(left) == 1 and left[0] in (e, e + len(free)), "nothing is decided")
        for j in free:
            known[j] = self.related(known[j], a, b, 1 if left[0] == e else -1)
        return True

    def signs(self, known, multipliers):
        need(type(multipliers) is list and multipliers and type(multipliers[0]) is list, "multipliers")
        (home,) = self.rows(*multipliers[0][:1])
        return [p if name == known[home][0] else 0 for name, p in known]

    def weights(self, known, m, tree, limits):
        """R47"""
        need(type(tree) is list and tree, "a tree of weights")
        bound = self.view["P"]
        if tree[0] == "W":
            need(len(tree) == 5, "a branch of weights")
            i = integer(tree[1], 0, self.view["layers"][0] - 1)
            low, high = limits.get(i, (-bound, bound))
            value = integer(tree[2], low, high - 1)
            one = self.weights(known, m, tree[3], limits | {i: (low, value)})
            return min(one, self.weights(known, m, tree[4], limits | {i: (value + 1, high)}))
        need(tree[0] == "K" and len(tree) == 3, "a leaf of weights")
        unit = integer(tree[2], 1, BIG - 1)
        g, total = combined(self.view, self.signs(known, tree[1]), tree[1])
        shown = Fraction(m * total, unit)
        for i, v in enumerate(g):
            low, high = limits.get(i, (-bound, bound))
            shown -= max(Fraction(w * v, unit) - (w != 0) for w in {low, high, min(max(0, low), high)})
        return max(0, math.ceil(shown))


def listed(view, margins, proof):
    """R52"""
    layers, codes = view["layers"], view["codes"]
    need(len(layers) > 2 and min(margins[0]) >= 1, "listed neurons")
    members(proof, ("single", "pair", "order"), ("kind",))
    order = permutation(proof["order"], layers[0])
    need(type(proof["single"]) is list, "single")
    any_signs = [1, *[0] * (len(codes) - 1)]
    for entry in proof["single"]:
        m, n = integers(entry, 0, 2**40 - 1)
        need(m >= 1 and 1 <= n <= layers[0], "an entry")
        need(not any(True for _ in with_signs(view, order, any_signs, m, n - 1)), "a neuron with fewer links")
    sizes = sorted(margins[0])
    needed = [max([n for least, n in proof["single"] if least <= m], default=0) for m in sizes]
    pair = proof["pair"]
    if pair is None:
        return sum(needed) + sum(max(0, ceil_div(m, view["P"])) for layer in margins[1:] for m in layer)
    need(len(layers) == 3 and layers[2] == 1 and layers[1] >= 3 and len(set(codes)) == 2, "a pair")
    members(pair, ("wide", "rows", "links"))
    wide, s = integer(pair["wide"], 1, sizes[2]), integer(pair["links"], 2, 2 * layers[0])
    signs = [c[0] for c in codes]
    need(not any(min(x) < 0 for x, _ in with_signs(view, order, any_signs, wide)), "a wide neuron that splits")
    need(not any(True for _ in with_signs(view, order, signs, 1)), "right on all rows")
    need(type(pair["rows"]) is list and len(pair["rows"]) == 2, "rows of a pair")
    for y, row in zip((1, -1), pair["rows"]):
        need(signs[integer(row, 0, len(codes) - 1)] != y, "the row of a pair")
        for one, two in (sizes[:2], sizes[1::-1]):
            need(not any(True for _ in pairs_of(view, order, signs, y, row, one, two, s - 1)), "a smaller pair")
    return sum(needed[2:]) + s + 3


# -- Min-Weight without margins (R53 to R56) ---------------------------------------------------------------------------


def without_margins(view, proof):
    support = integer(members(proof, ("support",), ("kind",))["support"], 1, 5)
    need(view["rows"], "no rows")
    codes, depth = view["codes"], len(view["layers"]) - 1
    outputs = [tuple(c[j] for c in codes) for j in range(view["layers"][-1])]
    columns = list(zip(*view["rows"]))
    bound = view["P"]

    def signs(*weighted):
        return tuple(1 if sum(w * x for (w, _), x in zip(weighted, values)) >= 0 else -1
                     for values in zip(*(column for _, column in weighted)))  # fmt: skip

    def of_neurons(links):
        """Signs of all neurons with so many links."""
        if math.comb(len(columns), links) * (2 * bound) ** links * len(codes) > 4 * LONGEST:
            raise TooLarge
        values = [v for v in range(-bound, bound + 1) if v]
        for chosen in combinations([c for c in columns if any(c)], links):
            yield from (signs(*zip(weights, chosen)) for weights in product(values, repeat=links))

    def covered(wanted, links):
        """Whether one of these classes is the union of a side of each of two neurons with so many links together."""
        for few in range(1, links // 2 + 1):
            one, other = (
                {frozenset(k for k, v in enumerate(o) if v == y) for o in set(of_neurons(n)) for y in (1, -1)}
                for n in (few, links - few)
            )
            for o in wanted:
                rows = frozenset(k for k, v in enumerate(o) if v == 1)
                if any(a | b == rows for a in one if a <= rows for b in other if b <= rows):
                    return True
        return False

    def smallest(wanted, most):
        """Links of the smallest neuron with signs among those wanted, or one more than two joined have; or ``most``."""
        if most == 1 or any(signs((w, column)) in wanted for column in columns for w in (1, -1)):
            return 1
        if most == 2:
            return 2
        need(bound <= 500, "pairs of large weights")
        if (2 * bound + 1) ** 2 * len(columns) ** 2 * len(codes) > 20 * LONGEST:
            raise TooLarge
        values = range(-bound, bound + 1)
        for one, two in combinations([c for c in columns if any(c)], 2):
            if any(signs((v, one), (w, two)) in wanted for v in values for w in values if v or w):
                return 2
        for links in range(3, most):
            if any(found in wanted for found in of_neurons(links)):
                return links
            if len(wanted) == 2 and covered(wanted, links - 1):
                return links
        return most

    negative = [o for o in outputs if -1 in o]
    if depth == 1:
        return sum(smallest([o], support) for o in negative)
    different = len(set(codes))
    links = len(negative) + (depth - 1) * math.ceil(math.log2(different))
    shapes = {min(o, tuple(-v for v in o)) for o in negative if 1 in o}
    most = support if different == 2 else min(support, 2)
    return links + sum(smallest([o, tuple(-v for v in o)], most) - 1 for o in shapes)


# -- soft margins (R57 to R60) -----------------------------------------------------------------------------------------


def rational(text, longest):
    """R57"""
    need(type(text) is str and len(text) <= longest and text.count("/") == 1, "a rational")
    one, two = text.split("/")
    digits = set("0123456789abcdef")
    need(one.removeprefix("-") and set(one.removeprefix("-")) <= digits and two and set(two) <= digits, "a rational")
    a, b = int(one, 16), int(two, 16)
    need(b > 0 and math.gcd(a, b) == 1 and text == f"{a:x}/{b:x}", "lowest terms")
    return Fraction(a, b)


def positive(text):
    value = rational(text, 1024)
    need(value > 0, "not positive")
    return value


def soft_objective(network, columns, soft):
    """R13, R57: the objective, and everything about the rows that proofs need."""
    layers, rows, settings = network["layers"], network["rows"], network["settings"]
    need(len(layers) == 2, "soft margins with a hidden layer")
    members(soft, ("price", "resolutions", "hinges", "max_links"))
    price, hinges = positive(soft["price"]), integer(soft["hinges"], 1, 2)
    need(price == Fraction(settings["C"]), "the model's price")
    need(type(soft["resolutions"]) is list and len(soft["resolutions"]) == layers[1], "resolutions")
    need(hinges == settings["hinges"] and soft["max_links"] == settings["max_links"], "the model's limits")
    most = soft["max_links"]
    if most is not None:
        integer(most, 1, 2**31 - 1)
    norms = [math.isqrt(sum(x * x for x in row)) for row in rows]
    omega = [Fraction(w, 2**16) for w in network["weights"]] if network["weights"] else [Fraction(1)] * len(rows)
    total, outputs = Fraction(0), []
    for j, (text, column) in enumerate(zip(soft["resolutions"], columns[0], strict=True)):
        t = positive(text)
        need(all(w * s >= 0 for w, s in zip(column, network["signs"], strict=True)), "a wrong sign")
        links = sum(w != 0 for i, w in enumerate(column) if i not in network["uncounted"])
        need(most is None or links <= most, "too many links")
        signs = [c[j] for c in network["codes"]]
        targets = [t] if hinges == 1 else [t / 2, 3 * t / 2]
        terms = [(k, target, price * t * omega[k] / hinges) for target in targets for k in range(len(rows))]
        total += Fraction(sum(w * w for w in column), 2)
        for k, target, cost in terms:
            if norms[k]:
                reached = Fraction(signs[k] * sum(w * x for w, x in zip(column, rows[k])), norms[k])
                total += cost * max(Fraction(0), target - reached)
        outputs.append({"signs": signs, "terms": terms})
    facts = {"rows": rows, "norms": norms, "outputs": outputs, "most": most, "uncounted": network["uncounted"]}
    bound = network["P"]
    facts["limits"] = [(0 if s > 0 else -bound, 0 if s < 0 else bound) for s in network["signs"]]
    return total, facts


def soft_margins(network, columns, stage, state):
    objective, facts = soft_objective(network, columns, stage["soft"])
    state["soft"], state["ceiling"] = stage["soft"], (1 + Fraction(network["settings"]["mw_loss"])) * objective
    proof = stage["certificate"]
    if proof is None:
        return objective, Fraction(0)
    is_of(proof, "multipliers")
    members(proof, ("denominator", "outputs"), ("kind",))
    shown = Fraction(0)
    for leaves in soft_trees(facts, proof):
        values = [value for value in (least_objective(facts, *leaf) for leaf in leaves) if value is not None]
        need(values, "no leaf")
        shown += min(values)
    return objective, shown


def soft_trees(facts, proof):
    """R59: for each output the leaves, each as g, the gain and the limits."""
    unit = integer(proof["denominator"], 1, BIG - 1)
    need(type(proof["outputs"]) is list and len(proof["outputs"]) == len(facts["outputs"]), "trees")
    nodes = 0

    def leaves(output, tree, limits, depth):
        nonlocal nodes
        nodes += 1
        need(type(tree) is dict and nodes <= 2**17 and depth <= 200, "a tree")
        if "split" in tree:
            members(tree, ("split", "children"))
            i, value = tree["split"]
            low, high = limits[integer(i, 0, len(limits) - 1)]
            integer(value, low, high - 1)
            need(type(tree["split"]) is list and type(tree["children"]) is list and len(tree["children"]) == 2, "split")
            for part, child in zip(((low, value), (value + 1, high)), tree["children"]):
                yield from leaves(output, child, [*limits[:i], part, *limits[i + 1 :]], depth + 1)
            return
        members(tree, ("multipliers",))
        g, gain, seen = [0] * len(limits), Fraction(0), set()
        need(type(tree["multipliers"]) is list, "multipliers")
        for pair in tree["multipliers"]:
            need(type(pair) is list and len(pair) == 2, "a multiplier")
            number = integer(pair[0], 0, len(output["terms"]) - 1)
            numerator = integer(pair[1], 0, 2**256 - 1)
            mu = Fraction(numerator, unit)
            need(number not in seen, "a term twice")
            seen.add(number)
            k, target, cost = output["terms"][number]
            need(facts["norms"][k] * mu <= cost, "above its price")
            gain += target * facts["norms"][k] * mu
            g = [a + numerator * output["signs"][k] * x for a, x in zip(g, facts["rows"][k])]
        yield [Fraction(v, unit) for v in g], gain, limits

    for output, tree in zip(facts["outputs"], proof["outputs"], strict=True):
        yield leaves(output, tree, facts["limits"], 0)


def most_of(g, low, high):
    """h_i of R58: the integers next to g, and the limits, are all that can be best."""
    near = math.floor(g)
    return max(p * g - Fraction(p * p, 2) for p in (low, high, near, near + 1) if low <= p <= high)


def least_objective(facts, g, gain, limits):
    """R58"""
    always, optional, forced = Fraction(0), [], 0
    for i, (v, (low, high)) in enumerate(zip(g, limits, strict=True)):
        best = most_of(v, low, high)
        if facts["most"] is None or i in facts["uncounted"]:
            always += best
        elif low <= 0 <= high:
            optional.append(best)
        else:
            always, forced = always + best, forced + 1
    if facts["most"] is not None:
        if forced > facts["most"]:
            return None
        always += sum(sorted(optional, reverse=True)[: facts["most"] - forced])
    return gain - always


def links_under_a_ceiling(facts, ceiling, proof):
    """R60"""
    members(proof, ("denominator", "outputs", "theta"), ("kind",))
    theta = positive(proof["theta"])
    shown = -theta * ceiling
    for leaves in soft_trees(facts, proof):
        values = []
        for g, gain, limits in leaves:
            value = theta * gain
            for v, (low, high) in zip(g, limits, strict=True):
                with_link = 1 - theta * most_of(v, low, high)
                value += min(Fraction(0), with_link) if low <= 0 <= high else with_link
            values.append(value)
        shown += min(values)
    return max(0, math.ceil(shown))
