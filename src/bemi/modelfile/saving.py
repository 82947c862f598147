"""Ensembles in files: a JSON header, packed weights and a digest.  No pickle; see docs/model-file.md."""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from importlib.metadata import version
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi.augment import scenarios
from bemi.certificate import DEFAULT_BUDGET, FORMAT, Sizes, certificate_path, needed_budget
from bemi.ensemble.ensemble import Ensemble, TrainingRecord, check_open_label
from bemi.ensemble.probabilities import Probabilities, Sigmoid
from bemi.ensemble.subsets import class_subsets, given_subsets
from bemi.ensemble.ties import TIES
from bemi.ensemble.unknown import KnownRanges, count_of_values
from bemi.exact import Integers
from bemi.files import write_atomically
from bemi.inputs import registry
from bemi.inputs.fixed_point import FixedPoint
from bemi.inputs.inputs import Inputs
from bemi.inputs.scaling import InputScaling
from bemi.modelfile import container
from bemi.modelfile.container import ModelFileError
from bemi.modelfile.header import RECORDED_SETTINGS, SELECTION, checked
from bemi.network import Network, bits_per_weight
from bemi.problem.problem import outputs_for, signs_towards_later_classes
from bemi.problem.soft_margin import row_norms
from bemi.stages.result import stage_claim, stage_record, stage_result

_ROWS_AT_A_TIME = 1000

MOST_SCORES = 256
"""Scores that are counted in a file; networks with more have no card that people would read."""

_MAPPINGS = ("monotone", "class_weight")
"""Settings that may be mappings.  Their keys need not be text, so files have lists of pairs."""


def write(ensemble: Ensemble, path: str | os.PathLike) -> None:
    """Write an ensemble to a file, and the certificate of its claims next to it, atomically.

    The file holds no times: the same networks give the same bytes.  An ensemble read from a file has no certificate.
    """
    content = container.pack(_header(ensemble), b"".join(map(packed_weights, ensemble.networks)))
    # Nothing is written that could not be read again, such as a transform that is not in the registry.
    try:
        _ensemble(*container.unpack(content, "the file"))
    except ValueError as error:
        raise ValueError(f"this classifier cannot be saved: {error}") from error
    files = {Path(path): content}
    certificate = Path(certificate_path(path))
    budget = 0.0
    if ensemble.training.rows is not None:
        # Rows may be many, so their text is never whole.
        before, after = _claims(ensemble, container.digest(content))
        files[certificate] = _gzipped(chain([before], _row_texts(ensemble.training.rows.rows), [after]))
        budget = _needed_budget(ensemble, len(files[certificate]), before + after)
    write_atomically(files)
    if certificate not in files:
        certificate.unlink(missing_ok=True)  # an older model's
    elif budget > DEFAULT_BUDGET:
        warnings.warn(
            f"checking the certificate takes up to {math.ceil(budget):,} million steps, more than the "
            f"{DEFAULT_BUDGET:,} that 'bemi verify' allows by default; verify this model with --budget "
            f"{math.ceil(budget)}",
            stacklevel=2,
        )


def read(path: str | os.PathLike, known: str | None = None) -> Ensemble:
    """Read an ensemble from a file written by :func:`write`; raises ModelFileError with the reason for any other.

    ``known`` is the digest that the file must have, if it was verified before.
    """
    header, weights = container.read(path, known)
    try:
        return _ensemble(header, weights)
    except ValueError as error:
        raise ModelFileError(f"{path} is damaged: {error}") from error


def _header(ensemble: Ensemble) -> dict[str, Any]:
    recorded, inputs = ensemble.training.settings, ensemble.inputs
    settings = {name: recorded[name] for name in RECORDED_SETTINGS if name in recorded} | {"ties": ensemble.ties.name}
    header = {
        "bemi": version("bemi"),
        "settings": {name: _plain(_as_pairs(value)) for name, value in settings.items()},
        "classes": ensemble.classes.tolist(),
        "classes_dtype": ensemble.classes.dtype.newbyteorder("<").str,
        "features": inputs.features,
        "feature_names": None if inputs.names is None else list(inputs.names),
        "inputs": inputs.size,
        "transform": None if inputs.transform is None else inputs.transform.parameters(),
        "input_scaling": _scaling(inputs.scaling),
        "training_digest": ensemble.training.digest,
        "solver": ensemble.training.solver,
        "networks": [
            {"splitting": mask.astype(int).tolist(), "reports": [stage_record(report) for report in reports.values()]}
            for mask, reports in zip(ensemble.splitting, ensemble.reports, strict=True)
        ],
    }
    return header | _limits(inputs, recorded) | _parts(ensemble, header["networks"])


def _limits(inputs: Inputs, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Members for limits on weights, which bounds depend on: the checker does not know the transform."""
    found: dict[str, Any] = {}
    directions = inputs.directions(settings["monotone"])
    if directions is not None:
        found["signs"] = signs_towards_later_classes(directions).tolist()
    if settings["max_links"] is not None:
        found["uncounted"] = sorted(inputs.constant_inputs)
    return found


def _parts(ensemble: Ensemble, networks: list[dict[str, Any]]) -> dict[str, Any]:
    """Members needed only for a selection of networks or rows, for variants of rows, or for probabilities and unknown
    rows."""
    found: dict[str, Any] = {}
    subsets = ensemble.subsets
    if len(subsets) < math.comb(len(ensemble.classes), subsets.shape[1]):
        found["subsets"] = subsets.tolist()
    if ensemble.training.given_rows is not None:
        found["given_rows"] = ensemble.training.given_rows
        for entry, added in zip(networks, ensemble.training.added_rows, strict=True):
            entry["added"] = added.tolist()
    selection = {name: ensemble.training.settings[name] for name in SELECTION}
    selection["copies"] = scenarios.parameters(selection["copies"])
    if any(value is not None for value in selection.values()):
        found["selection"] = _plain(selection)
    if ensemble.probabilities is not None:
        sigmoids = [[n for n in astuple(sigmoid) if n is not None] for sigmoid in ensemble.probabilities.sigmoids]
        found["probabilities"] = {"sigmoids": sigmoids, "prior": list(ensemble.probabilities.prior)}
    if ensemble.known_ranges is not None:
        found["known_ranges"] = ensemble.known_ranges.record()
    found |= {name: value for name in ("image", "rate") if (value := getattr(ensemble.inputs, name)) is not None}
    if ensemble.training.expected is not None:
        found["expected"] = list(map(float, ensemble.training.expected))
    counts = ensemble.score_counts
    if counts is not None and max(map(len, counts)) <= MOST_SCORES:
        found["score_counts"] = [sorted(map(list, own.items())) for own in counts]
    return found


def _gzipped(pieces: Iterable[bytes]) -> bytes:
    """Text in pieces, compressed; equal texts give equal bytes."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=6, mtime=0) as file:
        for piece in pieces:
            file.write(piece)
    return packed.getvalue()


def _row_texts(rows: NDArray[np.integer]) -> Iterator[bytes]:
    """The rows of a certificate; they may be many, so they are written some at a time."""
    for start in range(0, len(rows), _ROWS_AT_A_TIME):
        yield (b"," if start else b"") + _json(rows[start : start + _ROWS_AT_A_TIME].tolist())[1:-1]


def _claims(ensemble: Ensemble, model: str) -> tuple[bytes, bytes]:
    """What the checker needs about the model with this digest, before its rows and after; see docs/certificates.md."""
    rows = ensemble.training.rows
    assert rows is not None
    first = {"format": FORMAT, "model": model}
    claims = {
        "labels": rows.targets.tolist(),
        **({} if rows.weights is None else {"weights": rows.weights.tolist()}),
        "networks": [[stage_claim(report) for report in reports.values()] for reports in ensemble.reports],
    }
    if ensemble.training.settings["node_limit"] is None:
        # With a node limit the same rows give the same bytes; times would differ.
        claims["seconds"] = [[round(r.seconds, 4) for r in reports.values()] for reports in ensemble.reports]
    return _json(first)[:-1] + b',"rows":[', b"]," + _json(claims)[1:]


def _needed_budget(ensemble: Ensemble, file: int, text: bytes) -> float:
    """Millions of steps that the checker needs at most; 0 for stages other than soft margins."""
    rows = ensemble.training.rows
    if rows is None or all(report.soft is None for reports in ensemble.reports for report in reports.values()):
        return 0.0
    data = rows.rows
    largest = max(int(data.max(initial=0)), -int(data.min(initial=0)))
    sizes = Sizes(len(data), data.shape[1], int(data.any(axis=0).sum()), len(np.unique(row_norms(data))), largest)
    networks = (
        (max(report.rows for report in reports.values()), [report.certificate for report in reports.values()])
        for reports in ensemble.reports
    )
    return needed_budget(file, text, sizes, ensemble.training.settings["hinges"], networks)


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _ensemble(header: Any, weights: bytes) -> Ensemble:
    """The ensemble that a file describes; ValueError with the reason if it describes none."""
    header = checked(header)
    settings = {name: _tuples(value) for name, value in header["settings"].items()}
    settings |= {name: dict(settings[name]) for name in _MAPPINGS if isinstance(settings[name], tuple)}
    ties = settings.pop("ties")
    classes = np.array(header["classes"], dtype=header["classes_dtype"])
    if classes.tolist() != header["classes"]:
        raise ValueError("labels do not fit their type")
    check_open_label(classes, TIES[ties], rejects="known_ranges" in header)
    inputs = _inputs(header)
    if any(header[name] != value for name, value in _limits(inputs, settings).items()):
        raise ValueError("signs or uncounted inputs are not those of the transform")
    subsets = _subsets(header)
    layers = (header["inputs"], *settings["hidden_layers"], outputs_for(settings["subset_size"]))
    networks = tuple(unpacked_networks(weights, layers, settings["weight_bound"], len(subsets)))
    splitting = []
    for network, entry in zip(networks, header["networks"], strict=True):
        if entry["reports"][-1]["links"] != network.links:
            raise ValueError("the number of links in the weights is not that of the last stage")
        mask = np.array(entry["splitting"], dtype=bool)
        if not np.abs(network.weights[0]).sum(axis=0)[mask].all():
            raise ValueError("a neuron without links cannot split")
        splitting.append(mask)
    return Ensemble(
        classes=classes,
        subsets=subsets,
        networks=networks,
        reports=tuple(
            {r["stage"]: stage_result(r, network=None, seconds=math.nan, certificate=None) for r in entry["reports"]}
            for entry in header["networks"]
        ),
        splitting=tuple(splitting),
        inputs=inputs,
        training=_training_record(header, settings),
        ties=TIES[ties],
        probabilities=_probabilities(header, networks, inputs),
        known_ranges=_known_ranges(header, inputs),
        score_counts=_score_counts(header),
    )


def _probabilities(header: dict[str, Any], networks: Sequence[Network], inputs: Inputs) -> Probabilities | None:
    """What the file says about chances; the tables follow from it."""
    found = header.get("probabilities")
    if found is None:
        return None
    sigmoids = [Sigmoid(line[0], line[1], (*line, None)[2]) for line in found["sigmoids"]]
    return Probabilities.of(sigmoids, found["prior"], networks, inputs)


def _known_ranges(header: dict[str, Any], inputs: Inputs) -> KnownRanges | None:
    """By which ranges rows are unknown, if any are."""
    if "known_ranges" not in header:
        return None
    found = KnownRanges.from_record(header["known_ranges"])
    if found.positions.max(initial=0) >= count_of_values(inputs):
        raise ValueError("a position of known_ranges is beyond the features")
    pairs = class_subsets(len(header["classes"]), 2)
    if found.needs_scores and (header["settings"]["hidden_layers"] or not np.array_equal(_subsets(header), pairs)):
        raise ValueError("margins belong to networks of all pairs of classes without a hidden layer")
    return found


def _score_counts(header: dict[str, Any]) -> tuple[dict[int, int], ...] | None:
    """How many training rows have each score, if the file knows."""
    found = header.get("score_counts")
    return None if found is None else tuple(dict(counts) for counts in found)


def _scaling(scaling: InputScaling) -> dict[str, Any]:
    scale = None
    if scaling.scale is not None:
        scale = {part.name: getattr(scaling.scale, part.name).tolist() for part in fields(FixedPoint)}
    return {"scale": scale, "low": scaling.low, "high": scaling.high, "limit": scaling.limit}


def _inputs(header: dict[str, Any]) -> Inputs:
    given = header["input_scaling"]
    scale = given["scale"]
    if scale is not None:
        scale = FixedPoint(**{name: np.array(numbers, dtype=np.int64) for name, numbers in scale.items()})
    scaling = InputScaling(scale, given["low"], given["high"], given["limit"])
    transform = None if header["transform"] is None else registry.from_parameters(header["transform"])
    names = header["feature_names"]
    image = tuple(header["image"]) if "image" in header else None
    names = None if names is None else tuple(names)
    inputs = Inputs(header["features"], names, scaling, transform, image, header.get("rate"))
    if transform is not None:
        if (transform.n_features_in_, transform.n_outputs) != (header["features"], header["inputs"]):
            raise ValueError("the transform does not map the features to the inputs")
        low, high = transform.input_range if inputs.takes_integers else (scaling.low, scaling.high)
        if not low <= scaling.low <= scaling.high <= high:
            raise ValueError("the transform does not accept the integers seen in training")
    return inputs


def _training_record(header: dict[str, Any], settings: dict[str, Any]) -> TrainingRecord:
    selection = header.get("selection", dict.fromkeys(SELECTION))
    known = selection["copies"]
    chosen = {name: _tuples(selection[name]) for name in SELECTION}
    chosen["copies"] = None if known is None else scenarios.from_parameters(known)
    return TrainingRecord(
        settings=settings
        | chosen
        | {"probabilities": "probabilities" in header, "reject": header.get("known_ranges", {}).get("asked")},
        digest=header["training_digest"],
        solver=header["solver"],
        given_rows=header.get("given_rows"),
        added_rows=tuple(np.array(entry.get("added", []), dtype=np.int64) for entry in header["networks"]),
        expected=tuple(header["expected"]) if "expected" in header else None,
    )


def _subsets(header: dict[str, Any]) -> Integers:
    """The sets of classes that have a network."""
    classes, size = len(header["classes"]), header["settings"]["subset_size"]
    if "subsets" not in header:
        return class_subsets(classes, size)
    return given_subsets(header["subsets"], range(classes), size)


def _plain(value: Any) -> Any:
    """NumPy scalars, sequences and sets, as JSON types."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(_plain, value))
    if isinstance(value, (tuple, list, np.ndarray)):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _as_pairs(value: Any) -> Any:
    """A mapping as a list of pairs."""
    return list(value.items()) if isinstance(value, Mapping) else value


def _tuples(value: Any) -> Any:
    """Nested lists as tuples."""
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


_WEIGHTS_AT_A_TIME = 2**16
"""How many weights are unpacked at once; a multiple of 8, so that each chunk begins at a whole byte."""


def packed_weights(network: Network) -> bytes:
    """All weights of a network, layer by layer; the last byte is padded with zeros."""
    numbers = np.concatenate([w.reshape(-1) for w in network.weights]) + network.weight_bound
    digits = np.empty((len(numbers), bits_per_weight(network.weight_bound)), dtype=np.uint8)
    for place, digit in enumerate(reversed(digits.T)):
        digit[:] = (numbers >> place) & 1
    return np.packbits(digits).tobytes()


def unpacked_networks(packed: bytes, layers: tuple[int, ...], weight_bound: int, count: int) -> Iterator[Network]:
    """The networks that were packed one after another; ValueError if the bytes do not fit."""
    shapes = list(pairwise(layers))
    weights = sum(a * b for a, b in shapes)
    size = -(-weights * bits_per_weight(weight_bound) // 8)
    if len(packed) != size * count:
        raise ValueError("the weights do not fit the layers")
    for start in range(0, len(packed), size):
        flat = _unpacked(np.frombuffer(packed, dtype=np.uint8, count=size, offset=start), weights, weight_bound)
        parts = np.split(flat, np.cumsum([a * b for a, b in shapes])[:-1])
        yield Network(tuple(p.reshape(shape) for p, shape in zip(parts, shapes, strict=True)), weight_bound)


def _unpacked(packed: NDArray[np.uint8], count: int, weight_bound: int) -> Integers:
    bits = bits_per_weight(weight_bound)
    if int(packed[-1]) % (1 << (8 * len(packed) - count * bits)):
        raise ValueError("there are unexpected bytes after the weights")
    weights = np.zeros(count, dtype=np.int64)
    for start in range(0, count, _WEIGHTS_AT_A_TIME):
        part = weights[start : start + _WEIGHTS_AT_A_TIME]
        first = start * bits // 8
        digits = np.unpackbits(packed[first : first + -(-len(part) * bits // 8)], count=len(part) * bits)
        for digit in digits.reshape(len(part), bits).T:
            part <<= 1
            part |= digit
        part -= weight_bound
    return weights
