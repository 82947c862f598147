"""Trained classifiers in files: a JSON header, packed weights and a digest.  No pickle; see docs/model-file.md."""

from __future__ import annotations

import gzip
import json
import math
import os
from collections.abc import Iterator
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bemi.certificate import FORMAT, certificate_path
from bemi.classifier import BeMiClassifier
from bemi.ensemble.subsets import class_subsets, given_subsets
from bemi.files import write_atomically
from bemi.inputs.scaling import InputScaling
from bemi.inputs.transforms import Transform, from_parameters
from bemi.modelfile import container
from bemi.modelfile.container import ModelFileError
from bemi.modelfile.header import SETTINGS, checked
from bemi.network import Network
from bemi.products import Integers
from bemi.rows import scenarios
from bemi.training.plan import keys_of
from bemi.training.records import stage_claim, stage_record, stage_result

__all__ = ["ModelFileError", "load", "save"]

_WEIGHTS_AT_A_TIME = 2**16
"""How many weights are unpacked at once; a multiple of 8, so that each time begins with a whole byte."""


def save(classifier: BeMiClassifier, path: str | os.PathLike) -> None:
    """Write a fitted classifier to a file, all of it or nothing.

    The file holds no times: the same networks give the same bytes.  A certificate, with which :func:`bemi.verify`
    checks everything that the model claims, is written beside it; a classifier that was read from a file has none to
    write.
    """
    check_is_fitted(classifier)
    header = _header(classifier)
    content = container.pack(header, b"".join(packed_weights(network) for network in classifier.networks_.values()))
    # What could not be read again, such as a transform without an entry in TRANSFORMS, is not written.
    try:
        _classifier(*container.unpack(content, "the file"))
    except ValueError as error:
        raise ValueError(f"this classifier cannot be saved: {error}") from error
    files = {Path(path): content}
    beside = Path(certificate_path(path))
    if hasattr(classifier, "training_rows_"):
        claims = json.dumps(_certificate(classifier), separators=(",", ":")).encode()
        files[beside] = gzip.compress(claims, compresslevel=6, mtime=0)
    write_atomically(files)
    if beside not in files:
        beside.unlink(missing_ok=True)  # an older model's


def load(path: str | os.PathLike) -> BeMiClassifier:
    """Read a fitted classifier from a file written by :func:`save`.

    Whatever else a file may hold, :class:`ModelFileError` says why it is refused.
    """
    schema, header, weights = container.read(path)
    try:
        return _classifier(schema, header, weights)
    except ValueError as error:
        raise ModelFileError(f"{path} is damaged: {error}") from error


def _header(classifier: BeMiClassifier) -> dict[str, Any]:
    settings = {name: getattr(classifier, name) for name in SETTINGS}
    seed = settings["random_state"]
    settings["random_state"] = int(seed) if isinstance(seed, (int, np.integer)) else None
    settings |= classifier._trained_with()
    scaling = classifier.input_scaling_
    names = getattr(classifier, "feature_names_in_", None)
    header = {
        "bemi": version("bemi"),
        "settings": {name: _plain(value) for name, value in settings.items()},
        "classes": classifier.classes_.tolist(),
        "classes_dtype": classifier.classes_.dtype.newbyteorder("<").str,
        "features": classifier.n_features_in_,
        "feature_names": None if names is None else names.tolist(),
        "inputs": next(iter(classifier.networks_.values())).layers[0],
        "transform": None if classifier.transform_ is None else classifier.transform_.parameters(),
        "input_scaling": {
            "factors": None if scaling.factors is None else scaling.factors.tolist(),
            "low": scaling.low,
            "high": scaling.high,
        },
        "training_digest": classifier.training_digest_,
        "solver": classifier.solver_,
        "networks": [
            {
                "splitting": classifier.splitting_[key].astype(int).tolist(),
                "reports": [stage_record(report) for report in classifier.reports_[key].values()],
            }
            for key in classifier.networks_
        ],
    }
    return header | _parts(classifier, header["networks"])


def _parts(classifier: BeMiClassifier, networks: list[dict[str, Any]]) -> dict[str, Any]:
    """What is only there for fewer networks, fewer rows, or variants of rows."""
    found: dict[str, Any] = {}
    subsets = [classifier._subset(key).tolist() for key in classifier.networks_]
    if len(subsets) < math.comb(len(classifier.classes_), len(subsets[0])):
        found["subsets"] = subsets
    if classifier.given_rows_ is not None:
        found["given_rows"] = classifier.given_rows_
        for entry, added in zip(networks, classifier.added_rows_.values(), strict=True):
            entry["added"] = added.tolist()
    selection = {name: _plain(getattr(classifier, name)) for name in ("subsets", "max_per_class")}
    selection["scenarios"] = scenarios.parameters(classifier.scenarios)
    if any(value is not None for value in selection.values()):
        found["selection"] = {name: _plain(value) for name, value in selection.items()}
    return found


def _certificate(classifier: BeMiClassifier) -> dict[str, Any]:
    """All that the checker needs; see docs/certificates.md."""
    claims = {
        "format": FORMAT,
        "rows": classifier.training_rows_.tolist(),
        "labels": classifier.training_targets_.tolist(),
        "networks": [[stage_claim(r) for r in reports.values()] for reports in classifier.reports_.values()],
    }
    if classifier.node_limit is None:
        # With a node limit the same rows give the same bytes, and times would not.
        claims["seconds"] = [
            [round(r.seconds, 4) for r in reports.values()] for reports in classifier.reports_.values()
        ]
    return claims


def _classifier(schema: int, header: Any, weights: bytes) -> BeMiClassifier:
    """The classifier that a file describes; ValueError says why it describes none."""
    header = checked(header, schema)
    transform = None if header["transform"] is None else from_parameters(header["transform"])
    selection = header.get("selection", {"subsets": None, "max_per_class": None, "scenarios": None})
    known = selection["scenarios"]
    classifier = BeMiClassifier(
        **{name: _tuples(value) for name, value in header["settings"].items()},
        transform=None if transform is None else clone(transform),
        subsets=_tuples(selection["subsets"]),
        max_per_class=selection["max_per_class"],
        scenarios=None if known is None else scenarios.from_parameters(known),
    )
    classifier.classes_ = np.array(header["classes"], dtype=header["classes_dtype"])
    if classifier.classes_.tolist() != header["classes"]:
        raise ValueError("labels are not those that their type can hold")
    classifier.fitted_C_, classifier.fitted_mw_loss_ = classifier.C, classifier.mw_loss
    classifier.n_features_in_ = header["features"]
    if header["feature_names"] is not None:
        classifier.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    classifier.training_digest_, classifier.solver_ = header["training_digest"], header["solver"]
    scaling = header["input_scaling"]
    factors = None if scaling["factors"] is None else np.array(scaling["factors"], dtype=np.float64)
    classifier.input_scaling_ = InputScaling(factors, scaling["low"], scaling["high"])
    classifier.transform_ = transform
    if transform is not None:
        _check_transform(transform, header["features"], header["inputs"], classifier.input_scaling_)
    keys = keys_of(classifier.classes_, _subsets(header))
    classifier.given_rows_ = header.get("given_rows")
    classifier.networks_, classifier.reports_, classifier.splitting_, classifier.added_rows_ = {}, {}, {}, {}
    networks = _networks(schema, header, weights)
    for key, network, entry in zip(keys, networks, header["networks"], strict=True):
        if entry["reports"][-1]["links"] != network.links:
            raise ValueError("the weights have not as many links as the last stage left")
        splitting = np.array(entry["splitting"], dtype=bool)
        if not np.abs(network.weights[0]).sum(axis=0)[splitting].all():
            raise ValueError("a neuron without links splits nothing")
        classifier.networks_[key] = network
        classifier.splitting_[key] = splitting
        classifier.added_rows_[key] = np.array(entry.get("added", []), dtype=np.int64)
        classifier.reports_[key] = {
            r["stage"]: stage_result(r, network=None, seconds=math.nan, certificate=None) for r in entry["reports"]
        }
    return classifier


def _check_transform(transform: Transform, features: int, inputs: int, scaling: InputScaling) -> None:
    if (transform.n_features_in_, transform.n_outputs) != (features, inputs):
        raise ValueError("the transform does not lead from the features to the inputs")
    low, high = transform.input_range
    if not low <= scaling.low <= scaling.high <= high:
        raise ValueError("the transform does not take the integers seen in training")


def _subsets(header: dict[str, Any]) -> Integers:
    """The sets of classes that have a network."""
    classes, size = len(header["classes"]), header["settings"]["subset_size"]
    if "subsets" not in header:
        return class_subsets(classes, size)
    return given_subsets(header["subsets"], range(classes), size)


def _networks(schema: int, header: dict[str, Any], weights: bytes) -> Iterator[Network]:
    settings = header["settings"]
    bound = settings["weight_bound"]
    outputs = (settings["subset_size"] - 1).bit_length()
    shapes = list(pairwise((header["inputs"], *settings["hidden_layers"], outputs)))
    count = sum(a * b for a, b in shapes)
    bits = 8 * _byte_type(bound).itemsize if schema < 4 else _bits(bound)
    size = -(-count * bits // 8)
    if len(weights) != size * len(header["networks"]):
        raise ValueError("the weights do not fit the layers")
    for start in range(0, len(weights), size):
        packed = np.frombuffer(weights, dtype=np.uint8, count=size, offset=start)
        flat = packed.view(_byte_type(bound)) if schema < 4 else _unpacked(packed, count, bound)
        parts = np.split(flat, np.cumsum([a * b for a, b in shapes])[:-1])
        yield Network(tuple(p.reshape(shape) for p, shape in zip(parts, shapes, strict=True)), bound)


def _bits(weight_bound: int) -> int:
    """The fewest bits that tell the weights ``-P..P`` apart."""
    return (2 * weight_bound).bit_length()


def packed_weights(network: Network) -> bytes:
    """All weights, each as the number ``w + P`` of a few bits, the highest first; zeros fill the last byte."""
    numbers = np.concatenate([w.reshape(-1) for w in network.weights]) + network.weight_bound
    digits = np.empty((len(numbers), _bits(network.weight_bound)), dtype=np.uint8)
    for place, digit in enumerate(reversed(digits.T)):
        digit[:] = (numbers >> place) & 1
    return np.packbits(digits).tobytes()


def _unpacked(packed: NDArray[np.uint8], count: int, weight_bound: int) -> Integers:
    """The weights that were packed."""
    bits = _bits(weight_bound)
    if int(packed[-1]) % (1 << (8 * len(packed) - count * bits)):
        raise ValueError("the weights are followed by something else")
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


def _plain(value: Any) -> Any:
    """NumPy scalars, and sequences and sets of anything, as what JSON knows."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(_plain, value))
    if isinstance(value, (tuple, list, np.ndarray)):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _tuples(value: Any) -> Any:
    """Lists within lists as tuples."""
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _byte_type(weight_bound: int) -> np.dtype:
    """How formats before 4 have weights: as the smallest little-endian integers that hold all."""
    return np.dtype(next(name for name in ("<i1", "<i2", "<i4", "<i8") if weight_bound <= np.iinfo(name).max))
