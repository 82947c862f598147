"""From an ensemble to an ONNX model and its file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import bemi
from bemi.ensemble.ensemble import Ensemble, ensemble_of
from bemi.ensemble.folding import FoldedNetwork
from bemi.ensemble.probabilities import CERTAIN, RECIPROCAL, SHARE, WHOLE, Probabilities
from bemi.ensemble.subsets import class_subsets, memberships
from bemi.ensemble.unknown import IS_LEVEL, LARGEST, OUTSIDE, KnownRanges, looks_at_columns, summaries_of
from bemi.exact import PRE_ACTIVATION_LIMIT, Integers
from bemi.files import write_atomically
from bemi.inputs.export_hooks import export_hook
from bemi.inputs.fixed_point import LARGEST_READING, MISSING
from bemi.inputs.inputs import Inputs
from bemi.inputs.transform import SUMMED, Takes, reader_of
from bemi.problem.problem import ABSTAIN, decode_outputs

if TYPE_CHECKING:
    from bemi.export.onnx.graph import Tensor


class FirstLayer:
    """First-layer neurons that votes, evidence or scores depend on, for all networks.

    Attributes
    ----------
    networks
        The folded networks.
    weights
        Shape (inputs, neurons).  The last neuron has no links: it is a placeholder.
    """

    def __init__(self, networks: tuple[FoldedNetwork, ...], *, evidence: bool, scores: bool = False) -> None:
        self.networks = networks
        self._needed = [np.union1d(n.neurons, n.split) if evidence else np.sort(n.neurons) for n in networks]
        if scores:
            self._needed = [np.arange(n.network.layers[1]) for n in networks]
        self._starts = np.cumsum([0, *map(len, self._needed)])
        parts = [n.network.weights[0][:, needed] for n, needed in zip(networks, self._needed, strict=True)]
        self.weights = np.concatenate([*parts, np.zeros((len(parts[0]), 1), dtype=np.int64)], axis=1)

    @property
    def none(self) -> int:
        """Index of the neuron without links."""
        return self.weights.shape[1] - 1

    def index(self, network: int, neurons: Integers) -> Integers:
        """Indices of a network's neurons in this layer."""
        return self._starts[network] + np.searchsorted(self._needed[network], neurons)


def votes(sums: Tensor, layer: FirstLayer) -> Tensor:
    """Vote of every network for every row, shape (rows, networks).

    Every network looks up its vote in a table, indexed by the signs of its first-layer neurons or, if these are too
    many for a table, of its outputs.
    """
    bits = (sums >= 0).cast(np.int32)
    wide = [k for k, n in enumerate(layer.networks) if n.table is None]
    tables: list[Integers] = []
    places: list[Integers] = []
    for k, n in enumerate(layer.networks):
        if n.table is not None:
            tables.append(n.table)
            places.append(layer.index(k, n.neurons))
        else:
            outputs = n.network.layers[-1]
            tables.append(_votes_of_outputs(outputs, n.subset))
            places.append(layer.none + 1 + wide.index(k) * outputs + np.arange(outputs))
    if wide:
        bits = bits.concatenated(_output_bits(bits, layer, wide), axis=1)
    most = max(1, *map(len, places))
    columns = np.full((len(places), most), layer.none)
    powers = np.zeros_like(columns)
    for k, place in enumerate(places):
        columns[k, : len(place)] = place
        powers[k, : len(place)] = 1 << np.arange(len(place))
    offsets = np.cumsum([0, *map(len, tables[:-1])])
    table = sums.graph.constant(np.concatenate(tables), np.int32)
    return table.gather((bits.gather(columns, axis=1) * powers).sum(2) + offsets, axis=0)


def _votes_of_outputs(outputs: int, subset: Integers) -> Integers:
    """Vote for each pattern of outputs, bit i standing for +1 of output i."""
    signs = 2 * ((np.arange(1 << outputs)[:, None] >> np.arange(outputs)) & 1) - 1
    chosen = decode_outputs(signs, len(subset))
    return np.where(chosen == ABSTAIN, ABSTAIN, subset[chosen])


def _output_bits(bits: Tensor, layer: FirstLayer, wide: list[int]) -> Tensor:
    """Which outputs of the networks that have no table are +1, shape (rows, networks times outputs)."""
    networks = [layer.networks[k] for k in wide]
    fixed = np.stack([n.fixed for n in networks])
    columns = np.full_like(fixed, layer.none)
    for place, (k, n) in enumerate(zip(wide, networks, strict=True)):
        columns[place, n.neurons] = layer.index(k, n.neurons)
    # Neurons with a known sign are not computed: they contribute the sign, the others 2 * bit - 1.
    signs = bits.gather(columns, axis=1) * (2 * (fixed == 0)) + np.where(fixed == 0, -1, fixed)
    signs = signs.transpose(1, 0, 2)
    for above in zip(*(n.network.weights[1:] for n in networks), strict=True):
        signs = (signs @ np.stack(above) >= 0).cast(np.int32) * 2 - 1
    return (signs >= 0).cast(np.int32).transpose(1, 0, 2).reshape(0, -1)


def evidence(sums: Tensor, layer: FirstLayer) -> Tensor:
    """Evidence of each network, as :meth:`bemi.ensemble.folding.FoldedEnsemble.evidence` defines it."""
    most = max(1, *(len(n.split) for n in layer.networks))
    columns = np.full((most, len(layer.networks)), layer.none)
    scales = np.zeros_like(columns)
    for k, n in enumerate(layer.networks):
        if len(n.split):
            # Repeat them cyclically in the remaining places: a minimum does not change.
            order = np.resize(np.arange(len(n.split)), most)
            columns[:, k], scales[:, k] = layer.index(k, n.split)[order], n.scales[order]
    sizes = sums.magnitude().cast(np.int64)
    nearest, *others = (sizes.gather(columns[i], axis=1) * scales[i] for i in range(most))
    for distance in others:
        nearest = (distance < nearest).choose(distance, nearest, np.int64)
    return nearest


def collected(votes: Tensor, amounts: Tensor, classes: int) -> Tensor:
    """For each class, the sum of ``amounts`` over the networks that voted for it, shape (rows, classes)."""
    graph = votes.graph
    # The first column is for networks that abstain.
    shape = votes.sizes(0, 1).concatenated(graph.constant([classes + 1], np.int64), axis=0)
    zeros = graph.constant(0, np.int64).expand(shape)
    return zeros.scatter_add(votes - ABSTAIN, amounts, axis=1).slice(1, classes + 1, axis=1)


def largest_shares(sums: Tensor, networks: Integers, among: Tensor | None = None) -> Tensor:
    """Which classes have the largest sum relative to their number of networks, of all classes or of those ``among``.

    Shares ``s_a / n_a`` and ``s_b / n_b`` are compared by their integer parts, and if these are equal by their
    remainders: ``r_a n_b < r_b n_a``.  Nothing becomes larger than s.  If all n are equal, sums replace shares.
    """
    differ = bool((networks != networks[0]).any())
    whole = sums // networks if differ else sums
    ranked = whole if among is None else among.choose(whole, -1, np.int64)
    # Class a on axis 1, class b on axis 2.
    of_a, of_b = ranked.unsqueeze(2), ranked.unsqueeze(1)
    behind = of_a < of_b
    if differ:
        rest = sums - whole * networks
        behind |= of_a.equals(of_b) & (rest.unsqueeze(2) * networks < rest.unsqueeze(1) * networks[:, None])
    return behind.cast(np.int32).max(2).equals(0)


def most_evidence(
    label: Tensor, votes: Tensor, dominant: Tensor, sums: Tensor, layer: FirstLayer, networks: Integers
) -> Tensor:
    """The label, and where there is none the leader that :func:`bemi.ensemble.ties.most_evidence` gives."""
    classes = len(networks)
    support = collected(votes, evidence(sums, layer), classes)
    nearest = largest_shares(support, networks, dominant).first(-1, classes)
    return label.equals(ABSTAIN).choose(nearest, label)


def no_label(label: Tensor, *_: object) -> Tensor:
    """The label as it is."""
    return label


TIE_BREAKS: dict[str, Callable[..., Tensor]] = {"most_evidence": most_evidence, "no_label": no_label}
"""Code for tie rules, by the name that :meth:`bemi.ensemble.ties.TieRule.piece` gives it."""


def paper_label(votes: Tensor, dominant: Tensor, subsets: Integers, classes: int) -> Tensor:
    """The label by :func:`bemi.ensemble.voting.paper_labels`."""
    number = dominant.cast(np.int32).sum(1)
    label = number.equals(1).choose(dominant.first(-1, classes), ABSTAIN)
    theirs = dominant.gather(subsets[:, 0], axis=1)
    for members in subsets.T[1:]:
        theirs = theirs & dominant.gather(members, axis=1)
    # No two networks have the same classes.  A network that abstains votes -1, as if there were none.
    decided = theirs.choose(votes, ABSTAIN).max(1)
    return number.equals(subsets.shape[1]).choose(decided, label)


def class_probabilities(sums: Tensor, layer: FirstLayer, probabilities: Probabilities) -> Tensor:
    """Probabilities in 65536ths, shape (rows, classes), from the sums of the first layer.

    They are those of :mod:`bemi.ensemble.probabilities`.
    """
    classes = len(probabilities.prior)
    firsts = _firsts(sums, layer, probabilities)
    if classes == 2:
        whole = firsts * (WHOLE // CERTAIN)
        return whole.concatenated(WHOLE - whole, axis=1)
    first, second = class_subsets(classes, 2).T
    numerator = sums.graph.constant(RECIPROCAL, np.int32)
    reciprocals = (numerator // firsts) @ _one_hot(first, classes)
    reciprocals += (numerator // (CERTAIN - firsts)) @ _one_hot(second, classes)
    shares = sums.graph.constant(SHARE, np.int32) // (reciprocals - (classes - 2) * (RECIPROCAL // CERTAIN))
    wide = shares.at_least(1).cast(np.int64)
    total = wide.sum(1, keep=True)
    return ((wide * WHOLE + total // 2) // total).cast(np.int32).at_least(1)


def _firsts(sums: Tensor, layer: FirstLayer, probabilities: Probabilities) -> Tensor:
    """Probability of the first class of every network in 256ths, shape (rows, networks)."""
    tables = probabilities.tables
    starts, ends = (np.array([getattr(table, side) for table in tables]) for side in ("start", "end"))
    offsets = np.cumsum([0, *(len(table.entries) for table in tables)])[:-1]
    scores = _scores(sums, layer).at_least(starts).at_most(ends)
    places = (scores - starts) // np.array([1 << table.shift for table in tables]) + offsets
    every = sums.graph.constant(np.concatenate([table.entries for table in tables]), np.int32)
    return every.gather(places, axis=0)


def _scores(sums: Tensor, layer: FirstLayer) -> Tensor:
    """Sums of the first neuron of every network, shape (rows, networks)."""
    columns = np.array([layer.index(network, np.array([0]))[0] for network in range(len(layer.networks))])
    return sums.gather(columns, axis=1)


def known_label(label: Tensor, values: Tensor, sums: Tensor, layer: FirstLayer, ranges: KnownRanges) -> Tensor:
    """The label, or -1 for unknown rows; ``values`` are what features are made of.

    As :mod:`bemi.ensemble.unknown` defines it.
    """
    cells = values.gather(ranges.positions, axis=1)
    levels = ranges.exponents == IS_LEVEL
    exponents = np.where(levels, 0, ranges.exponents)
    apart = (cells.cast(np.int64) - ranges.centres).magnitude() * (1 << np.maximum(exponents, 0))
    size = (apart // (1 << np.maximum(-exponents, 0))).clipped(0, LARGEST).cast(np.int32)
    single = (cells < ranges.centres).choose(-size, size)
    is_level = values.graph.constant(levels[None], np.bool_)
    single = is_level.choose((cells < 0).choose(-LARGEST, 0), single)
    single = cells.equals(MISSING).choose(0, single)
    features = single
    if len(ranges.pairs):
        signs = np.where(np.arange(len(ranges.pairs)) < ranges.sums, 1, -1)
        both = single.gather(ranges.pairs[:, 0], axis=1) + single.gather(ranges.pairs[:, 1], axis=1) * signs
        features = single.concatenated(both // 2, axis=1)  # a division truncates
    # A row without a label keeps none, whichever class it is compared with.
    low, high = (
        values.graph.constant(end, np.int32).gather(label.at_least(0).cast(np.int64), axis=0) for end in ranges.ranges
    )
    strangeness = ((low - features).at_least(0) + (features - high).at_least(0)).sum(1) * OUTSIDE
    if ranges.needs_scores:
        lacking = (ranges.usual_margin - _margin(label, _scores(sums, layer), ranges)).at_least(0)
        strangeness += lacking * int(ranges.weights[0])
    if len(ranges.examples):
        apart = single.gather(ranges.looked_at, axis=1).unsqueeze(1) - ranges.examples
        strangeness += apart.magnitude().sum(2).min(1) * int(ranges.weights[1])
    return (strangeness <= ranges.threshold).choose(label, ABSTAIN)


def _margin(label: Tensor, scores: Tensor, ranges: KnownRanges) -> Tensor:
    """Margin of the label's class, as :func:`bemi.ensemble.unknown.margins` defines it."""
    classes, units = len(ranges.steps), 1 << ranges.halvings
    first, second = class_subsets(classes, 2).T
    # Of each class, the scores that should be large: of some networks as they are, of others with the other sign.
    towards = (scores.at_least(0) // units).concatenated((-scores).at_least(0) // units, axis=1)
    own = [
        np.concatenate([np.flatnonzero(first == c), len(first) + np.flatnonzero(second == c)]) for c in range(classes)
    ]
    margins = towards.gather(np.stack(own), axis=1).min(2).at_most(LARGEST)
    return label.unsqueeze(1).equals(np.arange(classes)).choose(margins, 0).sum(1)


def _one_hot(labels: Integers, classes: int) -> Integers:
    return (labels[:, None] == np.arange(classes)).astype(np.int64)


if TYPE_CHECKING:
    from onnx import ModelProto

    from bemi.export.onnx.graph import Tensor

LARGEST_INPUT = PRE_ACTIVATION_LIMIT - 1
"""Inputs are signed 32-bit integers, and so is every sum of them that Python accepts."""


class OnnxNotInstalled(ImportError, ValueError):
    """The Python package onnx is missing."""


def write(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted classifier or an ensemble to an ONNX file; see :func:`model`.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> import bemi
    >>> from bemi.export import onnx
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> onnx.write(clf, mkdtemp() + "/pets.onnx")
    """
    write_atomically({Path(path): _model(ensemble_of(model)).SerializeToString(deterministic=True)})


def model(model: Any) -> ModelProto:
    """The ONNX model of a fitted classifier or an :class:`bemi.ensemble.ensemble.Ensemble`.

    Its input ``x``, int32 of shape (N, features), holds readings (:mod:`bemi.inputs.fixed_point`), or the
    features themselves if the model takes integers as they are.  Its outputs are ``label``, the class index or -1, and
    ``counts``, the votes for each class, both int64; with probabilities, also ``probabilities``, those of the classes
    in 65536ths, int32.  For every input within the declared range that Python accepts, they equal those of
    :meth:`bemi.BeMiClassifier.vote` and :meth:`bemi.BeMiClassifier.predict_proba`.

    Examples
    --------
    >>> import bemi
    >>> from bemi.export import onnx
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> [output.name for output in onnx.model(clf).graph.output]
    ['label', 'counts']
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
    has_margins = ensemble.known_ranges is not None and ensemble.known_ranges.needs_scores
    scores = ensemble.probabilities is not None or has_margins
    layer = FirstLayer(networks, evidence=ensemble.ties.reads_evidence, scores=scores)
    taken = _scaled(x, inputs)
    seen = _transformed(taken, inputs)
    sums = seen @ layer.weights
    cast = votes(sums, layer)
    counts = collected(cast, graph.constant(1, np.int64).expand(cast.sizes(0, 2)), classes)
    shared_by = memberships(ensemble.subsets, classes)
    dominant = largest_shares(counts, shared_by)
    label = paper_label(cast, dominant, ensemble.subsets, classes)
    label = TIE_BREAKS[ensemble.ties.piece("ONNX")](label, cast, dominant, sums, layer, shared_by)
    if ensemble.known_ranges is not None:
        values, signs = taken if looks_at_columns(inputs) else seen, summaries_of(inputs)
        values = values if signs is None else (seen @ signs) // SUMMED  # a division truncates
        label = known_label(label, values, sums, layer, ensemble.known_ranges)
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
