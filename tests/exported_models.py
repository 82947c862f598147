"""Small trained ensembles of every kind that an export must repeat, and rows to try them on."""

import copy
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine
from soft_margins import soft_margins

from bemi import BeMiClassifier, ConstantInput, IntegerHog, Network, SignalCounts
from bemi.ensemble import looks_at_columns, vote
from bemi.exact import Rows
from bemi.inputs.fixed_point import MISSING

NODES = 20

PROBABILITIES = {"soft": True, "weight_bound": 7, "probabilities": True}


def _few(X, y, per_class):
    rows = np.concatenate([np.flatnonzero(y == label)[:per_class] for label in np.unique(y)])
    return X[rows], y[rows]


def _fitted(X, y, **settings):
    fast = {"node_limit": NODES, "time_limit": None}
    estimator = soft_margins if settings.pop("soft", False) else BeMiClassifier
    return estimator(**(fast | settings)).fit(X, y)


def _replaced(classifier, seed, *, bound=None, hidden=None):
    """The same ensemble with random networks: more ties, more live neurons, wider layers than training gives."""
    rng = np.random.default_rng(seed)
    networks, splitting = [], []
    for network in classifier.ensemble_.networks:
        layers = network.layers if hidden is None else (network.layers[0], *hidden, network.layers[-1])
        limit = bound or network.weight_bound
        weights = [rng.integers(-limit, limit + 1, shape) for shape in pairwise(layers)]
        networks.append(Network(tuple(weights), limit))
        splitting.append(rng.random(layers[1]) < 0.7)
    if bound is not None:
        classifier.weight_bound = bound
    if hidden is not None:
        classifier.hidden_layers = hidden
    return with_networks(classifier, networks, splitting)


def _constant(classifier):
    """The same ensemble without any link: every network always gives the same vote."""
    old = classifier.ensemble_.networks
    networks = [Network(tuple(np.zeros_like(w) for w in n.weights), n.weight_bound) for n in old]
    return with_networks(classifier, networks, [np.zeros(n.layers[1], dtype=bool) for n in old])


def with_networks(classifier, networks, splitting):
    """The classifier with these networks in place of its own."""
    ensemble = classifier.ensemble_
    classifier.ensemble_ = ensemble.with_networks(ensemble.subsets, networks, ensemble.reports, splitting)
    return classifier


def with_transform(classifier, transform):
    """A copy of the classifier with a fitted transform in place of its own."""
    copied = copy.copy(classifier)
    ensemble = classifier.ensemble_
    copied.ensemble_ = replace(ensemble, inputs=replace(ensemble.inputs, transform=transform))
    return copied


def _by_margins(classifier):
    """The classifier with margins that count, whatever training chose."""
    ensemble = classifier.ensemble_
    sizes = np.median(np.abs(ensemble.scores(waves(24, *ensemble.inputs.transform.window_shape)[0])), axis=0)
    margins = {"halvings": np.log2(sizes / 32).astype(int), "usual_margin": 50, "weights": np.array([33, 20])}
    classifier.ensemble_ = replace(ensemble, known_ranges=replace(ensemble.known_ranges, **margins))
    return classifier


def _digits(classes=10, per_class=4):
    X, y = load_digits(return_X_y=True)
    return _few(X[y < classes].astype(int), y[y < classes], per_class)


def _colours():
    rng = np.random.default_rng(3)
    return rng.integers(0, 201, (12, 17 * 20 * 3)), np.repeat(np.arange(3), 4)


def _narrow():
    rng = np.random.default_rng(4)
    return rng.integers(0, 1001, (12, 40)), np.repeat(np.arange(3), 4)


def waves(rows, time, channels, classes=4, seed=0):
    """Windows of noisy waves, whose frequency tells the class, and the classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    turns = np.arange(time) / time * (2 + 3 * y[:, None, None] + np.arange(channels)[:, None])
    signal = 900 * np.sin(2 * np.pi * (turns + rng.random((rows, channels, 1)))) + rng.normal(0, 250, turns.shape)
    return np.rint(signal).astype(int).transpose(0, 2, 1), y


def _signals(time, channels, *, classes=4, settings=None, **parameters):
    usual = {"soft": True, "weight_bound": 7, "inputs": SignalCounts(**parameters)}
    return _fitted(*waves(24, time, channels, classes), **usual | (settings or {}))


def wild_windows(counts, rows, seed=0):
    """Readings like those of training, others far beyond, constant ones, and those that jump between the ends."""
    rng = np.random.default_rng(seed)
    layout, (low, high) = counts.layout_, counts.reading_range
    found = waves(rows, layout.time, layout.channels, seed=seed + 1)[0] * rng.choice([1, 1, 2, 60], (rows, 1, 1))
    part = max(1, rows // 8)
    found[:part] = rng.choice([low, low + 1, -1, 0, 1, high - 1, high], found[:part].shape)
    found[part : 2 * part] = rng.integers(low, high + 1, found[part : 2 * part].shape)
    found[0], found[1], found[2] = low, high, 0
    return np.clip(found, low, high).reshape(rows, -1)


MODELS = {
    "digits": lambda: _fitted(*_digits(per_class=2)),
    "digits, the paper's ties": lambda: _fitted(*_digits(6), ties="abstain"),
    "no hidden layer, P = 7": lambda: _fitted(*_digits(5), soft=True, weight_bound=7),
    "many ties": lambda: _replaced(_fitted(*_digits(6), stages=("sm",)), 1),
    "many ties, the paper's rule": lambda: _replaced(_fitted(*_digits(6), stages=("sm",), ties="abstain"), 1),
    "three classes per network": lambda: _replaced(_fitted(*_digits(5), stages=("sm",), subset_size=3), 2),
    "a network for some pairs": lambda: _replaced(_fitted(*_digits(7), stages=("sm",), subsets=9), 3),
    "wide layers": lambda: _replaced(_fitted(*_digits(4), stages=("sm",), hidden_layers=(3,)), 4, hidden=(13, 5)),
    "one network for all classes": lambda: _replaced(
        _fitted(*_digits(4), stages=("sm",), hidden_layers=(3,), subset_size=4), 6, hidden=(9, 9)
    ),
    "no links": lambda: _constant(_fitted(*_digits(4), stages=("sm",))),
    "no links, the paper's rule": lambda: _constant(_fitted(*_digits(4), stages=("sm",), ties="abstain")),
    "large weights": lambda: _replaced(_fitted(*_digits(4), stages=("sm",), hidden_layers=(2,)), 5, bound=1000),
    "scaled signed features": lambda: _fitted(*_few(load_iris().data - 3.0, load_iris().target, 5)),
    "constant input": lambda: _fitted(*load_wine(return_X_y=True), soft=True, weight_bound=7, inputs=ConstantInput()),
    "probabilities of two classes": lambda: _fitted(
        *_digits(2, 9), **PROBABILITIES, inputs=ConstantInput(), input_scaling=None
    ),
    "probabilities of five classes": lambda: _fitted(*_digits(5, 6), **PROBABILITIES),
    "probabilities, the paper's ties": lambda: _fitted(*_digits(4, 6), **PROBABILITIES, ties="abstain"),
    "strings for classes": lambda: _fitted(
        *_few(load_iris().data, np.array(['a"*/', "b\\n\n", "\u00e9??/"], dtype=object)[load_iris().target], 5)
    ),
    "histograms of doubled images": lambda: _fitted(
        *_digits(4), soft=True, weight_bound=7, inputs=IntegerHog(orientations=8)
    ),
    "histograms of a narrow image": lambda: _fitted(*_narrow(), soft=True, inputs=IntegerHog((40, 1), 1000)),
    "histograms of colours": lambda: _fitted(
        *_colours(), soft=True, inputs=IntegerHog((17, 20, 3), 200, orientations=12)
    ),
    "histograms and colours": lambda: _fitted(
        *_colours(), soft=True, inputs=IntegerHog((17, 20, 3), 200, straighten=False, colours=True)
    ),
    "histograms of frames": lambda: _fitted(
        *_colours(), soft=True, inputs=IntegerHog((17, 20, 3), 200, orientations=8, colours=True, shrink=2)
    ),
    "histograms, not straightened": lambda: _fitted(
        *_colours(), soft=True, inputs=IntegerHog((17, 20, 3), 200, straighten=False)
    ),
    "counts of a signal": lambda: _signals(49, 3),
    "counts of differences": lambda: _signals(64, 2, rocket=0),
    "counts of a wide signal": lambda: _signals(40, 2, bits=15, rocket=84),
    "counts of a long signal": lambda: _signals(300, 1, rocket=84),
    "counts for large weights": lambda: _signals(33, 2, rocket=84, settings={"weight_bound": 15}),
    "probabilities of a signal": lambda: _signals(40, 2, rocket=84, settings={"probabilities": True}),
    "probabilities of two signals": lambda: _signals(30, 1, rocket=0, classes=2, settings={"probabilities": True}),
    "probabilities of unknown rows": lambda: _fitted(
        *_digits(3, 9), **PROBABILITIES, inputs=ConstantInput(), input_scaling=None, reject=0.3
    ),
    "unknown images": lambda: _fitted(*_digits(5, 12), soft=True, inputs=IntegerHog(orientations=8), reject=0.4),
    "unknown windows": lambda: _signals(33, 2, settings={"weight_bound": 15, "reject": 0.4}),
    "unknown windows, by margins, too": lambda: _by_margins(
        _signals(33, 2, classes=3, settings={"weight_bound": 7, "reject": 0.4})
    ),
    "probabilities of unknown windows": lambda: _signals(
        40, 2, rocket=84, settings={"probabilities": True, "reject": 0.4}
    ),
}


@cache
def model(name):
    return MODELS[name]()


def probes(name, count, low, high, seed=0):
    """Integers after scaling: some like the training rows, the others anywhere in the range."""
    rng = np.random.default_rng(seed)
    classifier = model(name)
    features = classifier.n_features_in_
    if isinstance(classifier.transform_, IntegerHog):
        rows = rng.integers(0, high + 1, (count, features))
        # Flat images, and images with a single bright pixel, take other paths.
        rows[: count // 4] = np.where(rng.random((count // 4, features)) < 0.05, rows[: count // 4], 0)
        rows[0] = 0
        if classifier.ensemble_.known_ranges is not None:
            rows[count // 2 :] = np.resize(load_digits().data, (count - count // 2, features))
        return rows
    if isinstance(classifier.transform_, SignalCounts):
        return wild_windows(classifier.transform_, count, seed)
    near = classifier.input_scaling_
    rows = rng.integers(max(low, near.low - 3), min(high, near.high + 3) + 1, (count, features))
    wide = rng.integers(low, high + 1, (count // 4, features))
    rows[: len(wide)] = wide
    rows[0] = 0
    rows[1], rows[2] = low, high
    if classifier.ensemble_.known_ranges is not None:
        rows[count // 2 :] = np.resize(classifier.training_rows_[:, :features], (count - count // 2, features))
    return rows


def voted(classifier, integers):
    """Votes of Python's networks, from integers that are already scaled."""
    outcome = _voted_by_networks(classifier, integers)
    ranges = classifier.ensemble_.known_ranges
    if ranges is None:
        return outcome
    inputs = classifier.ensemble_.inputs
    rows = zip(
        values_of(inputs, integers).tolist(), outcome.label.tolist(), scores_of(classifier, integers), strict=True
    )
    strange = [strangeness(ranges, *row) for row in rows]
    return replace(outcome, label=np.where(np.array(strange) > ranges.threshold, -1, outcome.label))


def without_rejecting(classifier, integers):
    """Class indices that the networks give, to unknown rows, too."""
    return _voted_by_networks(classifier, integers).label


def _voted_by_networks(classifier, integers):
    data = classifier.ensemble_.inputs.transformed(integers)
    ensemble = classifier.ensemble_.folded()
    return vote(
        ensemble.votes(Rows(data)),
        np.array([n.subset for n in ensemble.networks]),
        len(classifier.classes_),
        ties=classifier.ensemble_.ties,
        evidence=lambda rows: ensemble.evidence(Rows(data[rows])),
    )


def features_of(ranges, values):
    """What one row of columns, or of inputs of the networks, is looked at through."""
    features = []
    for position, centre, exponent in zip(ranges.positions, ranges.centres, ranges.exponents, strict=True):
        value = int(values[position])
        if value == MISSING:
            features.append(0)
        elif exponent == 127:
            features.append(-127 if value < 0 else 0)
        else:
            features.append(
                max(-127, min(127, math.trunc(Fraction(value - int(centre)) * Fraction(2) ** int(exponent))))
            )
    for number, (first, second) in enumerate(ranges.pairs):
        other = features[second] if number < ranges.sums else -features[second]
        features.append(math.trunc(Fraction(features[first] + other, 2)))
    return features


def values_of(inputs, integers):
    """Columns, inputs of the networks, or, for each level or difference of a window, how wide and how high it is."""
    if looks_at_columns(inputs):
        return integers
    outputs = inputs.transformed(integers)
    transform = inputs.transform
    if not isinstance(transform, SignalCounts):
        return outputs
    values = []
    for first in range(0, 8 * len(transform.layout_.differences), 8):
        eight = sorted(range(first, first + 8), key=lambda output: (transform.thresholds_[output], output))
        low, high = outputs[:, eight[:4]].sum(axis=1), outputs[:, eight[4:]].sum(axis=1)
        values += [np.trunc((high - low) / 8), np.trunc((high + low) / 8)]
    return np.stack(values, axis=1).astype(np.int64)


def scores_of(classifier, integers):
    """Scores of all networks; none if they have hidden layers."""
    ensemble = classifier.ensemble_
    data = ensemble.inputs.transformed(integers)
    if len(ensemble.layers) > 2:
        return np.zeros((len(data), 0), dtype=int)
    return np.concatenate([network.pre_activations(data)[0] for network in ensemble.networks], axis=1)


def strangeness(ranges, values, label, scores):
    """How unlike a class one row with such values and scores is."""
    if label < 0:
        return 0
    features, outside = features_of(ranges, values), 0
    for feature, start, shift, (low, high) in zip(
        features, ranges.starts, ranges.shifts, ranges.steps[label], strict=True
    ):
        outside += max(0, start + low * 2**shift - feature, feature - start - high * 2**shift)
    lacking = distance = 0
    if len(ranges.halvings):
        pairs = list(combinations(range(len(ranges.steps)), 2))
        towards = [
            (int(score) if pair[0] == label else -int(score)) // 2 ** int(halved)
            for pair, score, halved in zip(pairs, scores, ranges.halvings, strict=True)
            if label in pair
        ]
        lacking = max(0, ranges.usual_margin - max(0, min(127, *towards)))
    if len(ranges.examples):
        own = [features[place] for place in ranges.looked_at]
        distance = min(sum(abs(a - b) for a, b in zip(own, other, strict=True)) for other in ranges.examples.tolist())
    return 64 * outside + int(ranges.weights[0]) * lacking + int(ranges.weights[1]) * distance


def expected(classifier, integers):
    """Class indices that Python gives, -1 for unclassified."""
    return voted(classifier, integers).label


def with_probabilities():
    """Names of the models that have probabilities."""
    return [name for name in MODELS if name.startswith("probabilities")]


def rejecting():
    """Names of the models that leave unknown rows without a label."""
    return [name for name in MODELS if "unknown" in name]


def expected_probabilities(classifier, integers):
    """Probabilities of the classes in 65536ths that Python gives."""
    ensemble = classifier.ensemble_
    return ensemble.probabilities.of_scores(scores_of(classifier, integers))
