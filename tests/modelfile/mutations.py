"""Mutants of model files, and what must hold of each: a clean refusal, or a model that works.

Run as a program, in a process of its own, so that its memory can be limited and every warning is an error:

    python -W error mutations.py FOLDER COUNT SEED

FOLDER holds the model files that mutants are made of.  Prints a summary as JSON; the first mutant that misbehaves
stays in FOLDER/mutant and ends the run with a traceback.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import resource
import struct
import sys
import time
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bemi
from bemi import IntegerHog
from bemi.estimators import Classifier
from bemi.modelfile.container import ModelFileError
from bemi.report import training_summary

PREFIX = struct.Struct("<4sHI")
EXACT_RANGE = 2**31
ROOM = 256 * 2**20
"""Memory that a mutant may take beyond what the models themselves took."""

# fmt: off
ODD_VALUES = (
    None, True, False, 0, 1, 2, 3, -1, 7, 127, 128, 255, 256, 1000, 65535, 2**20, 2**24, 2**31 - 1, 2**31, -(2**31),
    2**32, 2**53, 2**63 - 1, 2**63, 2**64, 2**70, -(2**70), 2**256, 10**400, 0.0, -0.0, 1.0, 2.0, 0.5, -1.5, 5e-324,
    1e-310, 1e300, 1e308, -1e308, math.nan, math.inf, -math.inf,
    "", "a", "0", "1", "\x00", "b\x00", "ü", "\ud800", "x" * 5000, "unclassified", "margin", "abstain", "highs",
    "sm", "mm", "mw", "soft", "bemi", "few-bit", "scorecard", "certified", "solver", "none", "auto", "common", "images",
    "noise", "integer-hog",
    "|O", "<U1", "<U3", "<U9999", "<U99999999", "<i8", ">i8", "|i1", "|u1", "<u8", "<f2", "<f8", "|b1", "<M8[s]", "O,O",
    "1/0", "0/1", "-0/1", "1/1", "2/4", "ff/1", "-1/2", "f" * 3000 + "/1", "1/" + "f" * 3000, "1/2/3", "/", "0x1/1",
    [], {}, [[]], [0], [1], [0, 0], [0, 1], [1, 0], [0, 1, 2], [[0, 1]], [[0, 1], [0, 1]], [None], [""], [1.0], [True],
    {"name": "noise"}, {"": 0}, list(range(500)), [0] * 500, [{}] * 100,
)
# fmt: on
NESTED = "[" * 500 + "]" * 500
RAW = ("[" * 100_000, NESTED, "1" * 5000, "1e5", "1E400", "-0", "01", "1 ", '{"a":1,"a":1}', "NaN", '"\\u0061"')
"""Values that only text can show: nesting, long or oddly written numbers, members given twice."""
HOLE = "@raw@"
NAMES = ("more", "soft", "estimator", "copies", "subsets", "given_rows", "selection", "added", "solver", "", "name")


def split(content: bytes) -> tuple[int, bytes, bytes]:
    """Format, header and weights of a model file."""
    _, schema, length = PREFIX.unpack_from(content)
    return schema, content[PREFIX.size : PREFIX.size + length], content[PREFIX.size + length : -32]


def joined(schema: int, header: bytes, weights: bytes) -> bytes:
    """All of a model file but its digest."""
    return PREFIX.pack(b"BEMI", schema, len(header)) + header + weights


def with_digest(body: bytes) -> bytes:
    return body + hashlib.sha256(body).digest()


def written(header: Any) -> bytes:
    """A header as a model file has it, and NaN if it must be."""
    return json.dumps(header, sort_keys=True, separators=(",", ":")).encode()


def places(node: Any, path: tuple = ()) -> Iterator[tuple]:
    """Keys and indices that lead to every value within a header."""
    for key, child in list(node.items() if isinstance(node, dict) else enumerate(node)):
        yield (*path, key)
        if isinstance(child, (dict, list)):
            yield from places(child, (*path, key))


def found(header: Any, path: tuple) -> tuple[Any, Any]:
    """The object or list that a path leads to, and the last key or index, which it has."""
    for key in path[:-1]:
        header = header[key]
    if isinstance(header, str):
        raise LookupError
    header[path[-1]]
    return header, path[-1]


class Mutator:
    """Mutants of some model files; the same seed gives the same mutants."""

    def __init__(self, models: list[bytes], seed: int) -> None:
        self.models, self.rng = models, random.Random(seed)
        # By member of the header, since most of its values are in the reports.
        self.places: dict[bytes, list[list[tuple]]] = {}
        for _, text, _ in map(split, models):
            members = groupby(places(json.loads(text)), key=lambda path: path[0])
            self.places[text] = [list(group) for _, group in members]

    def mutant(self, *, repaired: bool) -> bytes:
        """A mutant with the digest of its model, or with its own."""
        while True:
            model = self.rng.choice(self.models)
            body = self._mutated(model)
            content = with_digest(body) if repaired else body + model[-32:]
            if not repaired and self.rng.random() < 0.1:
                content = self._bytes(content)
            if content != model:
                return content

    def _mutated(self, model: bytes) -> bytes:
        rng = self.rng
        schema, header, weights = split(model)
        kind = rng.random()
        if kind < 0.55:
            return joined(schema, self._header(header), weights)
        if kind < 0.65:
            return joined(schema, header, self._bytes(weights))
        if kind < 0.75:
            return joined(schema, self._bytes(header), weights)
        if kind < 0.8:
            return joined(rng.choice((0, 1, 6, 7, 8, 9, 255, 65535)), header, weights)
        if kind < 0.85:
            length = rng.choice((0, 1, len(header) - 1, len(header) + 1, len(header) + len(weights), 2**31, 2**32 - 1))
            return PREFIX.pack(rng.choice((b"BEMI", b"BEMJ")), schema, length) + header + weights
        if kind < 0.9:
            other = split(rng.choice(self.models))
            return joined(*(rng.choice(pair) for pair in zip((schema, header, weights), other, strict=True)))
        return self._bytes(model[:-32])

    def _bytes(self, content: bytes) -> bytes:
        """Bits flipped, bytes set, or pieces left out, put in, or given twice."""
        rng = self.rng
        changed = bytearray(content)
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            at = rng.randrange(len(changed) + 1)
            size = rng.choice((1, 1, 2, 4, 32, 100))
            kind = rng.randrange(6)
            if kind <= 1 and at < len(changed):
                changed[at] ^= 1 << rng.randrange(8)
            elif kind == 2 and at < len(changed):
                changed[at] = rng.choice((0, 1, 127, 128, 255, *b'0"[]{},:-.e'))
            elif kind == 3:
                del changed[at : rng.choice((at + size, len(changed)))]
            elif kind == 4:
                changed[at:at] = rng.randbytes(size)
            else:
                changed[at:at] = changed[at : at + size]
        return bytes(changed)

    def _header(self, text: bytes) -> bytes:
        """A header with something else at one or a few of its places."""
        rng = self.rng
        header = json.loads(text)
        raw = None
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            try:
                (node, key), (other, place) = (found(header, rng.choice(rng.choice(self.places[text]))) for _ in "ab")
            except (LookupError, TypeError):
                continue  # A change before this one took the place away.
            kind = rng.randrange(10)
            if kind <= 2:
                node[key] = deepcopy(rng.choice(ODD_VALUES))
            elif kind <= 5:
                node[key] = self._near(node[key])
            elif kind == 6:
                del node[key]
            elif kind == 7:
                node[key], other[place] = other[place], node[key]
                if _is_endless(header):
                    node[key] = None
            elif kind == 8 and isinstance(node, dict):
                node[rng.choice(NAMES)] = deepcopy(rng.choice(ODD_VALUES))
            elif kind == 8:
                node.insert(key, node[rng.randrange(len(node))])
            else:
                node[key], raw = HOLE, rng.choice(RAW)
        changed = written(header)
        return changed if raw is None else changed.replace(f'"{HOLE}"'.encode(), raw.encode())

    def _near(self, value: Any) -> Any:
        """Another value of the same kind."""
        rng = self.rng
        if isinstance(value, bool) or value is None:
            return not value
        if isinstance(value, int):
            return value + rng.choice((-2, -1, 1, 2, value, -2 * value))
        if isinstance(value, float):
            return value * rng.choice((-1.0, 0.5, 2.0, 1e30, 1e200)) + rng.choice((0.0, 1.0))
        if isinstance(value, str):
            at = rng.randrange(len(value) + 1)
            return value[:at] + rng.choice(("", "a", "0", "f", "/", "ß", "\ud800")) + value[at + rng.randrange(2) :]
        items = list(value.items() if isinstance(value, dict) else value)
        rng.shuffle(items)
        items = items[rng.randrange(2) :] + items[: rng.randrange(2)]
        return dict(items) if isinstance(value, dict) else items


def _is_endless(header: Any) -> bool:
    """Whether swapping put a list into itself."""
    try:
        written(header)
    except ValueError as error:
        return "Circular" in str(error)
    return False


def exercise(model: Classifier, content: bytes, again: Path) -> None:
    """Whatever is accepted works: it answers, is described, and is the same after another round through a file."""
    rng = np.random.default_rng(len(content))
    scaling = model.input_scaling_
    inside = rng.integers(scaling.low, scaling.high, (4, model.n_features_in_), endpoint=True)
    inside[0], inside[1] = scaling.low, scaling.high
    far = rng.integers(-(2**31), 2**31, (2, model.n_features_in_))
    near = rng.integers(-300, 300, (2, model.n_features_in_))
    allowed = {*model.classes_.tolist(), model.unclassified_label_}
    for integers, is_inside in ((inside, True), (far, False), (near, False)):
        X = integers.astype(np.float64)
        if scaling.scale is not None and is_inside:
            with np.errstate(over="ignore"):
                X = np.clip(np.nan_to_num(scaling.values(integers)), -1e300, 1e300)
        rows = pd.DataFrame(X, columns=model.feature_names_in_) if hasattr(model, "feature_names_in_") else X
        try:
            labels = model.predict(rows)
            radii = model.certified_radius(rows) if is_inside else None
            chances = model.predict_proba(rows) if model.ensemble_.probabilities is not None else None
        except ValueError as error:
            if _may_refuse(model, X, str(error), is_inside):
                continue
            raise
        assert set(labels.tolist()) <= allowed
        assert chances is None or (chances.min() > 0 and np.allclose(chances.sum(axis=1), 1))
        assert radii is None or min(radii.linf.min(), radii.l1.min()) >= 0
    assert repr(model)
    assert set(model.get_params()) >= {"weight_bound", "inputs", "time_limit"}
    training_summary(model.ensemble_)
    again.unlink(missing_ok=True)
    bemi.save(model, again)
    same = bemi.load(again)
    assert same.networks_ == model.networks_
    assert list(same.networks_) == list(model.networks_)
    assert same.classes_.dtype == model.classes_.dtype
    schema, header, _ = split(content)
    written = split(again.read_bytes())
    if schema == written[0] and json.loads(header)["bemi"] == json.loads(written[1])["bemi"]:
        assert again.read_bytes() == content, "a model has one file"


def _may_refuse(model: Classifier, X: np.ndarray, message: str, is_inside: bool) -> bool:
    """Whether a model may refuse these rows: they are too large for exact sums, or no pixels."""
    if isinstance(model.transform_, IntegerHog) and not is_inside:
        return message.startswith(("pixels must not be negative", "pixel value", "values are too large"))
    scale = model.input_scaling_.scale
    sizes = np.abs(X if scale is None else scale.scaled(scale.fixed_point_inputs(X)))
    level = getattr(model.transform_, "level_", math.inf)
    norm = np.minimum(sizes, level).sum(axis=1).max() + (0 if level == math.inf else level)
    largest = max(norm * model.ensemble_.training.settings["weight_bound"], sizes.max())
    return message.startswith("values are too large") and largest >= EXACT_RANGE - 1


def memory(kind: str) -> int:
    """Bytes that this process has now (VmSize) or had in memory at most (VmHWM)."""
    # Not from getrusage, whose peak may be that of the process which started this one.
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(kind))
    return int(line.split()[1]) * 1024


def run(folder: Path, count: int, seed: int) -> dict[str, Any]:
    """Try so many mutants, every other one with a digest of its own."""
    os.fsync = lambda descriptor: None  # These files need not survive a crash, and there are many.
    models = [path.read_bytes() for path in sorted(folder.glob("*.bemi"))]
    path, again = folder / "mutant", folder / "again"
    for content in models:
        path.write_bytes(content)
        exercise(bemi.load(path), content, again)
    before = memory("VmHWM")
    limit = memory("VmSize") + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    mutator = Mutator(models, seed)
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    slowest, began, cpu = 0.0, time.perf_counter(), time.process_time()
    for number in range(count):
        repaired = number % 2 == 1
        content = mutator.mutant(repaired=repaired)
        path.unlink()  # Writing over a file is far slower than writing a new one.
        path.write_bytes(content)
        start = time.perf_counter()
        try:
            model = bemi.load(path)
        except ModelFileError as error:
            outcomes["refused, repaired" if repaired else "refused"] += 1
            reasons[str(error).removeprefix(str(path))[:40]] += 1
        else:
            assert repaired, "a changed byte was not noticed"
            exercise(model, content, again)
            outcomes["accepted, repaired"] += 1
        slowest = max(slowest, time.perf_counter() - start)
    after = memory("VmHWM")
    return {
        "mutants": count,
        "outcomes": outcomes,
        "reasons": dict(reasons.most_common()),
        "seconds": time.perf_counter() - began,
        "slowest": slowest,
        "cpu_seconds": time.process_time() - cpu,
        "peak_mb": after / 2**20,
        "grown_mb": (after - before) / 2**20,
    }


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])), indent=1))
