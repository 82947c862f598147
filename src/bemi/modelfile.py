"""Trained classifiers in files: a JSON header, packed weights and a digest.  No pickle; see docs/model-file.md."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
import struct
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from bemi import scenarios
from bemi.certificate import FORMAT, certificate_path
from bemi.classifier import BeMiClassifier
from bemi.files import write_atomically
from bemi.journal import stage_claim, stage_record, stage_result
from bemi.network import Network
from bemi.problem import InputScaling
from bemi.subsets import given_subsets
from bemi.transforms import from_parameters
from bemi.voting import class_subsets

MAGIC = b"BEMI"
SCHEMA = 3
_WITHOUT_PARTS = 2
"""Format of a model with a network for every set of classes, trained on all given rows and no others."""
_ADDED_IN_2 = {"C": 10.0, "mw_loss": 0.01}
"""Settings that format 1 did not have, with the values that they had in effect."""
_PREFIX = struct.Struct("<4sHI")  # magic, schema version, header length
_DIGEST_BYTES = 32
_LARGEST_FILE = 256 * 2**20

_SETTINGS = (
    "hidden_layers",
    "weight_bound",
    "stages",
    "engine",
    "solver",
    "time_limit",
    "node_limit",
    "gap",
    "subset_size",
    "ties",
    "input_scaling",
    "C",
    "mw_loss",
    "random_state",
)
"""Parameters that a model keeps; how many jobs trained it and how loudly are not part of it."""


_PARTS = {"subsets", "given_rows", "selection"}
"""Members of the header since format 3, each only where it says something."""


class ModelFileError(ValueError):
    """A file that is not a model, is damaged, or is of a version that this release does not know."""


def save(classifier: BeMiClassifier, path: str | os.PathLike) -> None:
    """Write a fitted classifier to a file, all of it or nothing.

    The file holds no times: the same networks give the same bytes.  A certificate, with which :func:`bemi.verify`
    checks everything that the model claims, is written beside it; a classifier that was read from a file has none to
    write.
    """
    described = _header(classifier)
    header = json.dumps(described, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    dtype = _weight_dtype(next(iter(classifier.networks_.values())).weight_bound)
    payload = b"".join(w.astype(dtype).tobytes() for n in classifier.networks_.values() for w in n.weights)
    schema = SCHEMA if _PARTS & described.keys() else _WITHOUT_PARTS
    body = _PREFIX.pack(MAGIC, schema, len(header)) + header + payload
    files = {Path(path): body + hashlib.sha256(body).digest()}
    beside = Path(certificate_path(path))
    if hasattr(classifier, "training_rows_"):
        claims = json.dumps(_certificate(classifier), separators=(",", ":")).encode()
        files[beside] = gzip.compress(claims, compresslevel=6, mtime=0)
    write_atomically(files)
    if beside not in files:
        beside.unlink(missing_ok=True)  # an older model's


def load(path: str | os.PathLike) -> BeMiClassifier:
    """Read a fitted classifier from a file written by :func:`save`."""
    path = Path(path)
    if path.stat().st_size > _LARGEST_FILE:
        raise ModelFileError(f"{path} is not a bemi model: it is larger than {_LARGEST_FILE} bytes")
    content = path.read_bytes()
    if len(content) < _PREFIX.size + _DIGEST_BYTES or not content.startswith(MAGIC):
        raise ModelFileError(f"{path} is not a bemi model")
    _, schema, header_length = _PREFIX.unpack_from(content)
    if not 1 <= schema <= SCHEMA:
        raise ModelFileError(f"{path} has model format {schema}; this release of bemi reads formats 1 to {SCHEMA}")
    body, digest = content[:-_DIGEST_BYTES], content[-_DIGEST_BYTES:]
    if hashlib.sha256(body).digest() != digest:
        raise ModelFileError(f"{path} is damaged: its digest does not match")
    try:
        header = json.loads(body[_PREFIX.size : _PREFIX.size + header_length])
        if schema == 1:
            header |= {"settings": _ADDED_IN_2 | header["settings"], "inputs": header["features"], "transform": None}
        return _classifier(header, body[_PREFIX.size + header_length :])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"{path} is damaged: its header does not describe a model") from error


def _header(classifier: BeMiClassifier) -> dict[str, Any]:
    settings = {name: getattr(classifier, name) for name in _SETTINGS}
    if not isinstance(settings["random_state"], (int, np.integer)):
        settings["random_state"] = None
    # Parameters may have been set anew since the fit; what describes the networks is read off them.
    key, network = next(iter(classifier.networks_.items()))
    settings |= {"hidden_layers": network.layers[1:-1], "weight_bound": network.weight_bound, "subset_size": len(key)}
    scaling = classifier.input_scaling_
    names = getattr(classifier, "feature_names_in_", None)
    header = {
        "bemi": version("bemi"),
        "settings": {name: _plain(value) for name, value in settings.items()},
        "classes": classifier.classes_.tolist(),
        "classes_dtype": classifier.classes_.dtype.str,
        "features": classifier.n_features_in_,
        "feature_names": None if names is None else names.tolist(),
        "inputs": network.layers[0],
        "transform": None if classifier.transform_ is None else classifier.transform_.parameters(),
        "input_scaling": {
            "factors": None if scaling.factors is None else scaling.factors.tolist(),
            "low": scaling.low,
            "high": scaling.high,
        },
        "training_digest": classifier.training_digest_,
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
    if subsets != class_subsets(len(classifier.classes_), len(subsets[0])).tolist():
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
    return {
        "format": FORMAT,
        "rows": classifier.training_rows_.tolist(),
        "labels": classifier.training_targets_.tolist(),
        "networks": [[stage_claim(r) for r in reports.values()] for reports in classifier.reports_.values()],
    }


def _classifier(header: dict[str, Any], payload: bytes) -> BeMiClassifier:
    settings = header["settings"]
    if set(settings) != set(_SETTINGS):
        raise ValueError("unknown settings")
    classifier = BeMiClassifier()
    classifier.set_params(**{name: tuple(v) if isinstance(v, list) else v for name, v in settings.items()})
    dtype = np.dtype(header["classes_dtype"])
    if dtype.kind not in "biufUO":
        raise ValueError("classes of an unknown kind")
    classifier.classes_ = np.array(header["classes"], dtype=dtype)
    classifier.n_features_in_ = int(header["features"])
    classifier.training_digest_ = str(header["training_digest"])
    if header["feature_names"] is not None:
        classifier.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    transform = header["transform"]
    classifier.transform_ = None if transform is None else from_parameters(transform)
    classifier.transform = None if transform is None else clone(classifier.transform_)
    selection = header.get("selection", {"subsets": None, "max_per_class": None, "scenarios": None})
    classifier.set_params(subsets=_tuples(selection["subsets"]), max_per_class=selection["max_per_class"])
    known = selection["scenarios"]
    classifier.scenarios = None if known is None else scenarios.from_parameters(known)
    scaling = header["input_scaling"]
    factors = None if scaling["factors"] is None else np.array(scaling["factors"], dtype=np.float64)
    if factors is not None and factors.shape != (classifier.n_features_in_,):
        raise ValueError("one factor per feature")
    classifier.input_scaling_ = InputScaling(factors, int(scaling["low"]), int(scaling["high"]))
    subsets = class_subsets(len(classifier.classes_), classifier.subset_size)
    if "subsets" in header:
        subsets = given_subsets(header["subsets"], range(len(classifier.classes_)), classifier.subset_size)
        if subsets.tolist() != header["subsets"]:
            raise ValueError("subsets are not in order")
    keys = classifier._keys(subsets)
    classifier.given_rows_ = header.get("given_rows")
    classifier.added_rows_ = {
        key: np.array(entry.get("added", []), dtype=np.int64)
        for key, entry in zip(keys, header["networks"], strict=True)
    }
    outputs = max(1, math.ceil(math.log2(classifier.subset_size)))
    layers = (int(header["inputs"]), *classifier.hidden_layers, outputs)
    shapes = list(pairwise(layers))
    weight_dtype = _weight_dtype(classifier.weight_bound)
    per_network = sum(a * b for a, b in shapes)
    if len(payload) != len(keys) * per_network * weight_dtype.itemsize or len(header["networks"]) != len(keys):
        raise ValueError("weights do not fit the layers")
    flat = np.frombuffer(payload, dtype=weight_dtype).reshape(len(keys), per_network)
    cuts = np.cumsum([a * b for a, b in shapes])[:-1]
    classifier.networks_, classifier.reports_, classifier.splitting_ = {}, {}, {}
    for key, values, entry in zip(keys, flat, header["networks"], strict=True):
        parts = [part.reshape(shape) for part, shape in zip(np.split(values, cuts), shapes, strict=True)]
        classifier.networks_[key] = Network(tuple(parts), classifier.weight_bound)
        splitting = np.array(entry["splitting"], dtype=bool)
        if splitting.shape != (layers[1],):
            raise ValueError("one splitting mark per first-layer neuron")
        classifier.splitting_[key] = splitting
        classifier.reports_[key] = {
            r["stage"]: stage_result(r, network=None, seconds=math.nan, certificate=None) for r in entry["reports"]
        }
    return classifier


def _plain(value: Any) -> Any:
    """NumPy scalars and sequences as what JSON knows."""
    if isinstance(value, (tuple, list, np.ndarray)):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _tuples(value: Any) -> Any:
    """Lists within lists as tuples."""
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _weight_dtype(weight_bound: int) -> np.dtype:
    """Smallest little-endian integer type that holds every weight."""
    for name in ("<i1", "<i2", "<i4"):
        if weight_bound <= np.iinfo(name).max:
            return np.dtype(name)
    return np.dtype("<i8")
