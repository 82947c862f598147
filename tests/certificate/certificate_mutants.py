"""Structure-aware mutants of certificates of small models: all digests fit, so that only the content can be refused.

This tries many, in a process whose memory is limited:

    python tests/certificate/certificate_fuzz.py 1000000

No mutant may end in anything but a result or a refusal in one line, and every one that is accepted is given to the
second checker, which must accept it and compute the same.
"""

from __future__ import annotations

import copy
import hashlib
import json
import random
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

from bemi.certificate import training_digest

GENUINE = Path(__file__).with_name("genuine.json")

# fmt: off
ODD = (
    None, True, False, 0, 1, 2, 3, 4, -1, -2, 5, 7, 400, 1 << 16, 1 << 20, 1 << 31, (1 << 64) - 1, 1 << 64, -(1 << 64),
    1 << 300, 0.0, 1.0, -1.5, 1e300, "", "L", "T", "O", "C", "S", "W", "K", "certified", "solver", "none", "sm", "mw",
    "0/1", "1/1", "-1/1", "2/4", "f/0", "ff/1", "1/ff", [], {}, [[]], [0], [0, 1], [[0, 1]], [[0, 1], [1, 1]], ["C"],
    ["O"], ["L", [[0, 1]]], ["K", [[0, 1]], 1], {"multipliers": []},
    {"kind": "small-supports", "support": 3}, {"kind": "last-layer", "bound": 0},
)
# fmt: on
KINDS = (
    *("row-prices", "last-layer", "dichotomies", "splitting-neurons", "sign-patterns", "smallest-neurons"),
    *("combinations", "small-supports", "multipliers", "links-under-ceiling"),
)
REPORTED = ("objective", "bound", "proof", "links", "rows", "message", "outcome", "soft")

Parts = tuple[dict[str, Any], bytes, dict[str, Any]]
"""Header, packed weights and claims."""


def genuine() -> dict[str, Parts]:
    """The models of genuine.json by title."""
    entries = json.loads(GENUINE.read_text())
    return {title: (e["header"], bytes.fromhex(e["weights"]), e["claims"]) for title, e in entries.items()}


def places(node: Any, path: tuple = ()) -> list[tuple]:
    """Paths to all values within a value, but for the kinds of proofs: these are changed apart."""
    found = []
    for key, child in list(node.items()) if isinstance(node, dict) else list(enumerate(node)):
        if key == "kind":
            continue
        found.append((*path, key))
        if isinstance(child, (dict, list)):
            found += places(child, (*path, key))
    return found


def near(value: Any, rng: random.Random) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return rng.choice((value - 1, value + 1, value - 1, value + 1, -value, 2 * value, value + 2, 0))
    if isinstance(value, float):
        return rng.choice((value * 2, -value, int(value)))
    if isinstance(value, str):
        if "/" in value:
            top, bottom = value.split("/", 1)
            return rng.choice((f"{top}1/{bottom}", f"{top}/{bottom}1", f"-{value}", f"{top}/{bottom}0"))
        return rng.choice(ODD)
    named = {"kind": value["kind"]} if isinstance(value, dict) and "kind" in value else {}
    items = [item for item in value.items() if item[0] != "kind"] if isinstance(value, dict) else list(value)
    kind = rng.randrange(4)
    if items and kind == 0:
        items.pop(rng.randrange(len(items)))
    elif items and kind == 1 and isinstance(value, list):
        items.insert(rng.randrange(len(items) + 1), copy.deepcopy(rng.choice(items)))
    elif kind == 2:
        rng.shuffle(items)
    elif items and isinstance(value, list):
        a, b = rng.randrange(len(items)), rng.randrange(len(items))
        items[a], items[b] = items[b], items[a]
    return named | dict(items) if isinstance(value, dict) else items


class Mutator:
    """Mutants of the genuine models; the same number gives the same mutant."""

    def __init__(self, models: dict[str, Parts]) -> None:
        self.rng = random.Random(0)
        self.models = {title: json.dumps([header, claims]) for title, (header, _, claims) in models.items()}
        self.weights = {title: weights for title, (_, weights, _) in models.items()}
        self.titles = list(models)
        # Pieces of proofs, to be put into other proofs.
        self.pieces = []
        for _, _, claims in models.values():
            for network in claims["networks"]:
                for stage in network:
                    proof = stage["certificate"]
                    self.pieces += [found for path in places(proof or {}) for found in [follow(proof, path)]]

    def mutant(self, number: int, title: str | None = None) -> tuple[str, Parts]:
        """A title, and a mutant of that model; the model file repeats what the certificate says of each stage."""
        self.rng.seed(number)
        rng = self.rng
        chosen, any_title = rng.choice(self.titles), title is None
        title = chosen if title is None else title
        header, claims = json.loads(self.models[title])
        weights = self.weights[title]
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            stage = rng.choice(rng.choice(claims["networks"]))
            kind = rng.random()
            if kind < 0.72 and isinstance(stage["certificate"], (dict, list)) and stage["certificate"]:
                self._change(stage["certificate"])
            elif kind < 0.8:
                self._change(stage)
            elif kind < 0.86:
                self._tighten(stage)
            elif kind < 0.92:
                self._change(claims)
            elif kind < 0.99:
                self._change(header)
            elif weights:
                at = rng.randrange(len(weights))
                weights = weights[:at] + bytes([weights[at] ^ 1 << rng.randrange(8)]) + weights[at + 1 :]
            if not _has_stages(claims.get("networks")):
                break
        everything = rng.random() < 0.9
        if any_title and number % 20 == 0 and _has_stages(claims.get("networks")):
            self._change_kind(rng.choice(rng.choice(claims["networks"]))["certificate"])
        repair(header, claims, everything=everything)
        return title, (header, weights, claims)

    def _tighten(self, stage: dict[str, Any]) -> None:
        """A bound that is better than what was proved, or a kind of proof that was not."""
        bound, objective = stage.get("bound"), stage.get("objective")
        if type(bound) is int and type(objective) is int:
            stage["bound"] = self.rng.choice((bound - 1, bound + 1, objective))
        elif isinstance(objective, str):
            stage["bound"] = objective
        stage["proof"] = self.rng.choice(("certified", "certified", "certified", "computed", "solver"))

    def _change_kind(self, proof: Any) -> None:
        """A proof of another kind, of none, or without a kind."""
        if isinstance(proof, dict):
            proof["kind"] = self.rng.choice((*KINDS, *ODD))
            if self.rng.random() < 0.1:
                del proof["kind"]

    def _change(self, node: Any) -> None:
        rng = self.rng
        every = places(node)
        if not every:
            return
        path = rng.choice(every)
        parent = follow(node, path[:-1])
        key, kind = path[-1], rng.random()
        if kind < 0.45:
            parent[key] = near(parent[key], rng)
        elif kind < 0.6:
            parent[key] = copy.deepcopy(rng.choice(ODD))
        elif kind < 0.75:
            parent[key] = copy.deepcopy(rng.choice(self.pieces))
        elif kind < 0.9:
            other = rng.choice(every)
            try:
                parent[key] = copy.deepcopy(follow(node, other))
            except (LookupError, TypeError):
                return
        elif isinstance(parent, list):
            del parent[key]
        elif kind < 0.95:
            parent.pop(key)
        else:
            parent[rng.choice(("note", "bound", "theta", "soft", "added", "subsets", "weights"))] = rng.choice(ODD)


def follow(node: Any, path: tuple) -> Any:
    for key in path:
        node = node[key]
    return node


def _has_stages(networks: Any) -> bool:
    return (
        isinstance(networks, list)
        and bool(networks)
        and all(
            isinstance(n, list) and n and all(isinstance(s, dict) and "certificate" in s for s in n) for n in networks
        )
    )


def repair(header: Any, claims: Any, *, everything: bool = True) -> None:
    """Make the model say what the certificate says, and let the training digest fit, where a mutant still has them."""
    with suppress(LookupError, TypeError, ValueError, AttributeError):
        if everything:
            for entry, network in zip(header["networks"], claims["networks"], strict=False):
                for report, stage in zip(entry["reports"], network, strict=False):
                    report.update({name: stage[name] for name in REPORTED if name in stage})
        training = claims["rows"], claims["labels"], claims.get("weights"), header.get("given_rows")
        if _in_64_bits(training):
            header["training_digest"] = training_digest(*training)


def _in_64_bits(value: Any) -> bool:
    """Whether all integers inside have a digest, which is one of 64-bit integers."""
    if isinstance(value, (list, tuple)):
        return all(map(_in_64_bits, value))
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def files(parts: Parts) -> tuple[bytes, dict[str, Any]]:
    """The bytes of the model file, and claims that name it."""
    header, weights, claims = parts
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    body = struct.pack("<4sHI", b"BEMI", 7, len(text)) + text + weights
    digest = hashlib.sha256(body)
    if isinstance(claims, dict) and "model" in claims:
        claims["model"] = digest.hexdigest()
    return body + digest.digest(), claims


def forgery(models: dict[str, Parts], title: str, path: list, value: Any) -> Parts:
    """A genuine model with another value at one place of ``[header, claims]``; None of a pair removes it."""
    header, weights, claims = models[title]
    both = copy.deepcopy([header, claims])
    parent = follow(both, tuple(path[:-1]))
    parent[path[-1]] = copy.deepcopy(value)
    repair(*both, everything=path[0] == 1)
    return both[0], weights, both[1]
