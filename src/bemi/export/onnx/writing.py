"""From an ensemble to an ONNX model and its file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import bemi
from bemi.ensemble.ensemble import Ensemble, ensemble_of
from bemi.ensemble.subsets import memberships
from bemi.exact import PRE_ACTIVATION_LIMIT
from bemi.export.onnx.vote import (
    TIE_BREAKS,
    FirstLayer,
    class_probabilities,
    collected,
    largest_shares,
    paper_label,
    votes,
)
from bemi.files import write_atomically
from bemi.inputs.export_hooks import export_hook
from bemi.inputs.fixed_point import LARGEST_READING, MISSING
from bemi.inputs.inputs import Inputs
from bemi.inputs.transform import Takes, reader_of

if TYPE_CHECKING:
    from onnx import ModelProto

    from bemi.export.onnx.graph import Tensor

LARGEST_INPUT = PRE_ACTIVATION_LIMIT - 1
"""Inputs are signed 32-bit integers, and so is every sum of them that Python accepts."""


class OnnxNotInstalled(ImportError, ValueError):
    """The Python package onnx is missing."""


def write(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted classifier or an ensemble to an ONNX file; see :func:`model`."""
    write_atomically({Path(path): _model(ensemble_of(model)).SerializeToString(deterministic=True)})


def model(model: Any) -> ModelProto:
    """The ONNX model of a fitted classifier or an :class:`bemi.ensemble.ensemble.Ensemble`.

    Its input ``x``, int32 of shape (N, features), holds readings (:mod:`bemi.inputs.fixed_point`), or the
    features themselves if the model takes integers as they are.  Its outputs are ``label``, the class index or -1, and
    ``counts``, the votes for each class, both int64; with probabilities, also ``probabilities``, those of the classes
    in 65536ths, int32.  For every input within the declared range that Python accepts, they equal those of
    :meth:`bemi.BeMiClassifier.vote` and :meth:`bemi.BeMiClassifier.predict_proba`.
    """
    return _model(ensemble_of(model))


def _model(ensemble: Ensemble) -> ModelProto:
    try:
        from bemi.export.onnx.graph import Graph
    except ImportError as error:
        raise OnnxNotInstalled("onnx is not installed; install it with: pip install 'bemi[onnx]'") from error
    inputs, classes = ensemble.inputs, len(ensemble.classes)
    graph = Graph()
    x = graph.input("x", np.int32, ("N", inputs.features))
    networks = ensemble.folded(*inputs.bounds(*_scaled_range(inputs))).networks
    layer = FirstLayer(networks, evidence=ensemble.ties.reads_evidence, scores=ensemble.probabilities is not None)
    sums = _transformed(_scaled(x, inputs), inputs) @ layer.weights
    cast = votes(sums, layer)
    counts = collected(cast, graph.constant(1, np.int64).expand(cast.sizes(0, 2)), classes)
    shared_by = memberships(ensemble.subsets, classes)
    dominant = largest_shares(counts, shared_by)
    label = paper_label(cast, dominant, ensemble.subsets, classes)
    label = TIE_BREAKS[ensemble.ties.piece("ONNX")](label, cast, dominant, sums, layer, shared_by)
    outputs: dict[str, Any] = {"label": (label.cast(np.int64), ("N",)), "counts": (counts, ("N", classes))}
    if ensemble.probabilities is not None:
        outputs["probabilities"] = (class_probabilities(sums, layer, ensemble.probabilities), ("N", classes))
    made = graph.model(
        outputs, producer_name="bemi", producer_version=bemi.__version__, doc_string=_description(inputs)
    )
    for name, value in metadata(ensemble).items():
        made.metadata_props.add(key=name, value=json.dumps(value))
    return made


def _scaled(x: Tensor, inputs: Inputs) -> Tensor:
    """The integers after scaling."""
    scale = inputs.scaling.scale
    return x if scale is None else scale.onnx(x).clipped(*_scaled_range(inputs)).cast(np.int32)


def _scaled_range(inputs: Inputs) -> tuple[int, int]:
    """Smallest and largest integer after scaling that Python accepts."""
    limit = LARGEST_INPUT if inputs.scaling.limit is None else inputs.scaling.limit
    return inputs.closed_range or (-limit, limit)


def _transformed(x: Tensor, inputs: Inputs) -> Tensor:
    """What the networks see, from the integers after scaling, or from readings if the transform takes raw columns."""
    transform = inputs.transform
    return x if transform is None else export_hook(transform, "onnx", "ONNX")(x)


def metadata(model: Any) -> dict[str, Any]:
    """The metadata of an ONNX model, each value as JSON."""
    ensemble = ensemble_of(model)
    inputs = ensemble.inputs
    return {
        "bemi_version": bemi.__version__,
        "classes": ensemble.classes.tolist(),
        "ties": ensemble.ties.name,
        "input_range": _range(inputs),
        "columns": inputs.reading_units(),
        "missing": MISSING if Takes.by(inputs.transform).allows_missing else None,
        "transform": None if inputs.transform is None else inputs.transform.parameters(),
    }


def _description(inputs: Inputs) -> str:
    low, high = _range(inputs)
    made = "the features"
    if inputs.reading_units() is not None:
        made = (
            "readings by the columns of the metadata: the value times 10^decimals in double precision (divided by "
            "10^-decimals if negative), rounded half to even and clipped"
        )
    if Takes.by(inputs.transform).allows_missing:
        made += f"; or the index of a text among the levels, -1 for another text; {MISSING} for a missing cell"
    return (
        f"x: integers in {low}..{high}, {made}. label: index into the classes of the metadata, -1 for unclassified. "
        "counts: votes for each class. probabilities, if any: those of the classes in 65536ths."
    )


def input_range(model: Any) -> tuple[int, int]:
    """Smallest and largest value of ``x`` that the ONNX model is made for.

    If a transform accepts a smaller range than 32 bits, values beyond it are clipped.
    """
    return _range(ensemble_of(model).inputs)


def _range(inputs: Inputs) -> tuple[int, int]:
    if not inputs.takes_integers:
        return reader_of(inputs.transform).reading_range
    if inputs.scaling.scale is not None:
        return -LARGEST_READING, LARGEST_READING
    return _scaled_range(inputs)
