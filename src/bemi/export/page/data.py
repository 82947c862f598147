"""The data of a page: everything a prediction needs, training results, and the performance on test rows."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi.ensemble.ensemble import Ensemble, TrainingRows
from bemi.ensemble.ties import PAPER_RULE
from bemi.ensemble.unknown import IS_LEVEL, LARGEST, OUTSIDE, looks_at_columns, summaries_of
from bemi.ensemble.voting import LabelStatus
from bemi.exact import Integers
from bemi.inputs.export_hooks import export_hook, number_field
from bemi.inputs.fixed_point import POWERS_OF_TEN
from bemi.inputs.images import USUAL_SHAPES, check_shape
from bemi.inputs.inputs import Inputs
from bemi.inputs.transform import Takes
from bemi.io.signals import ModelWindows
from bemi.modelfile.saving import packed_weights
from bemi.network import bits_per_weight
from bemi.problem.problem import ABSTAIN
from bemi.report.scorecard import Scorecard, why_no_card
from bemi.report.summary import confusion, evaluation
from bemi.stages import get
from bemi.stages.result import StageResult

BLOCKS_SIDE = 16
"""Images with a shorter side are framed like the 8 x 8 digits, others like MNIST."""

MOST_LINES = 30
"""Cards with more lines are not shown."""

MOST_ASKED, MOST_ASKED_TEXT = 4, 60
"""Up to so many classes, with names of so many characters together, are named in the title."""

MOST_BARS = 31
"""Up to this many different weights are counted individually; more are counted in ranges."""


def model_data(ensemble: Ensemble) -> dict[str, Any]:
    """Everything a prediction needs except the transform, and the training results of every network."""
    scaling, ties = ensemble.inputs.scaling, ensemble.ties
    low, high = ensemble.inputs.bounds(scaling.low, scaling.high)
    folded = ensemble.folded(low, high).networks
    parts = zip(folded, ensemble.splitting, ensemble.reports, strict=True)
    return {
        "features": ensemble.inputs.features,
        "rowsInside": ensemble.inputs.rows_inside,
        "layers": ensemble.layers,
        "weightBound": ensemble.weight_bound,
        "bitsPerWeight": bits_per_weight(ensemble.weight_bound),
        "ties": {
            "decide": ties.piece("page"),
            "isPaperRule": ties == PAPER_RULE,
            "sentence": ties.sentence,
            "reason": ties.reason,
        },
        "unclassified": str(ensemble.unclassified_label),
        "scaling": _scaling(ensemble.inputs),
        "inputRange": [int(low.min()), int(high.max())],
        "chances": None if ensemble.probabilities is None else [asdict(t) for t in ensemble.probabilities.tables],
        "known": _known(ensemble),
        "solver": ensemble.training.solver,
        "weights": base64.b64encode(b"".join(map(packed_weights, ensemble.networks))).decode(),
        **_stage_words(ensemble.stages),
        "statuses": [
            {"name": s.value, "leaders": s.leaders, "correct": s.correct, "among": s.among, "words": s.words}
            for s in LabelStatus
        ],
        "networks": [
            {
                "classes": n.subset.tolist(),
                "splitting": splitting.astype(int).tolist(),
                "voting": list(range(n.network.layers[1])) if n.table is None else n.neurons.tolist(),
                "matter": int(np.count_nonzero(n.network.weights[0][:, n.neurons])),
                "stages": [_stage(report) for report in reports.values()],
            }
            for n, splitting, reports in parts
        ],
    }


def _known(ensemble: Ensemble) -> dict[str, Any] | None:
    """By what a page recognizes unknown rows; None if every row is labelled."""
    ranges = ensemble.known_ranges
    if ranges is None:
        return None
    low, high = ranges.ranges
    signs = summaries_of(ensemble.inputs)
    features = zip(ranges.positions.tolist(), ranges.centres.tolist(), ranges.exponents.tolist(), strict=True)
    pairs = ranges.pairs.tolist()
    return {
        "ofColumns": looks_at_columns(ensemble.inputs),
        "summaries": None if signs is None else [[np.flatnonzero(s).tolist(), s[s != 0].tolist()] for s in signs.T],
        "single": [
            {"position": position, "centre": centre, "factor": None if exponent == IS_LEVEL else 2.0**exponent}
            for position, centre, exponent in features
        ],
        "pairs": [[*pair, 1 if place < ranges.sums else -1] for place, pair in enumerate(pairs)],
        "largest": LARGEST,
        "low": low.tolist(),
        "high": high.tolist(),
        "outside": OUTSIDE,
        "weights": ranges.weights.tolist(),
        "halvings": ranges.halvings.tolist(),
        "usualMargin": ranges.usual_margin,
        "lookedAt": ranges.looked_at.tolist(),
        "examples": ranges.examples.tolist(),
        "threshold": ranges.threshold,
    }


def _scaling(inputs: Inputs) -> dict[str, Any] | None:
    """How features become integers; None if they are integers already."""
    scale = inputs.scaling.scale
    if scale is None:
        return None
    parts = {name: getattr(scale, name).tolist() for name in ("decimals", "centres", "multipliers", "shifts")}
    powers = POWERS_OF_TEN[np.abs(scale.decimals)].tolist()
    return {**parts, "powers": powers, "limit": inputs.scaling.limit, "range": inputs.closed_range}


def scorecards(ensemble: Ensemble) -> list[dict[str, Any]] | None:
    """The cards of a small model; None if it has none, or too many lines."""
    if why_no_card(ensemble) is not None:
        return None
    cards = Scorecard.of(ensemble).cards
    if max(len(card.lines) for card in cards) > MOST_LINES:
        return None
    return [
        {
            "start": card.start,
            "lines": [
                {"column": line.column, "condition": line.condition, "points": line.points, "input": line.input}
                for line in card.lines
            ],
            "totals": card.totals.tolist(),
            # Of the second class, for each total.
            "chances": None if card.table is None else card.probabilities(card.totals).tolist(),
            "groups": None if card.table is None else [asdict(group) for group in card.grouped()],
        }
        for card in cards
    ]


def _stage_words(names: Sequence[str]) -> dict[str, Any]:
    """Titles and goals of the stages, and which of them a network is judged by."""
    stages = [get(name) for name in names]
    judged = next((stage for stage in stages if stage.shows_gap), stages[0])
    words = {
        stage.name: {
            "title": stage.title[0].upper() + stage.title[1:],
            "asksFor": stage.asks_for,
            "measure": stage.measure,
        }
        for stage in stages
    }
    return {"stageWords": words, "judged": judged.name}


def _stage(report: StageResult) -> dict[str, Any]:
    return {
        "stage": report.stage,
        "objective": _number(report.objective),
        "bound": _number(report.bound),
        "gap": report.gap if report.ran else None,
        "proof": report.proof,
        "links": report.links,
        "message": report.message,
        "seconds": None if math.isnan(report.seconds) else round(report.seconds, 3),
    }


def _number(value: Any) -> float | int | None:
    return value if value is None or isinstance(value, int) else float(value)


def label_texts(ensemble: Ensemble, names: Sequence[str] | None) -> list[str]:
    """The labels as text; ``names`` are those of the classes 0, 1, ..."""
    labels = ensemble.classes.tolist()
    if names is None or not all(isinstance(label, int) and 0 <= label < len(names) for label in labels):
        return [str(label) for label in labels]
    return [str(names[label]) for label in labels]


def image_data(inputs: Inputs, image: Sequence[int] | bool) -> dict[str, Any] | None:
    """Shape and brightest value of the images, and how a drawing becomes one; None if rows are not images."""
    shape = _image_shape(inputs, image)
    if shape is None:
        return None
    height, width, channels = shape
    if height * width * channels != inputs.features:
        raise ValueError(
            f"an image of {height} x {width} with {channels} channels has {height * width * channels} values, "
            f"but the model has {inputs.features} features"
        )
    return {
        "height": height,
        "width": width,
        "channels": channels,
        "maximum": _brightest(inputs),
        "whole": inputs.scaling.scale is None,
        "framing": "blocks" if min(height, width) < BLOCKS_SIDE else "mass",
    }


def _image_shape(inputs: Inputs, image: Sequence[int] | bool) -> tuple[int, int, int] | None:
    if Takes.by(inputs.transform) is Takes.WINDOWS:
        # Files of windows say their shape as files of images do.
        if not isinstance(image, bool) and tuple(image) != getattr(inputs.transform, "window_shape", None):
            raise ValueError("rows of this model are windows of a signal, not images; leave out the shape of images")
        return None
    if not isinstance(image, bool):
        return check_shape(image)
    if not image:
        return None
    if inputs.image_shape is not None:
        return inputs.image_shape
    return None if inputs.scaling.low < 0 else USUAL_SHAPES.get(inputs.features)


def usual_title(inputs: Inputs, labels: Sequence[str], *, is_image: bool) -> str:
    """A question that a model with these labels answers."""
    are_numbers = all(label.lstrip("-").isdigit() for label in labels)
    if len(labels) <= MOST_ASKED and sum(map(len, labels)) <= MOST_ASKED_TEXT:
        asked = " or ".join([", ".join(labels[:-1]), labels[-1]])
        return f"Class {asked}?" if are_numbers else f"{asked[0].upper()}{asked[1:]}?"
    what = "image" if is_image else "signal" if inputs.window_shape is not None else "row"
    if labels == [str(number) for number in range(len(labels))]:
        return f"Which one is it, 0 to {len(labels) - 1}?"
    return f"Which of {len(labels)} classes is this {what}?"


def channel_names(inputs: Inputs) -> tuple[str, ...] | None:
    """Names of the channels of a signal; None if they have none, and for other rows."""
    windows = ModelWindows.of(inputs)
    return None if windows is None else windows.channels


def _brightest(inputs: Inputs) -> float:
    scaling = inputs.scaling
    if scaling.scale is not None:
        # The largest training magnitude of a feature becomes the largest integer.
        brightest_of_each = scaling.values(np.full(inputs.features, scaling.high))
        return float(brightest_of_each.max()) or 1.0
    _, brightest = inputs.closed_range or (scaling.low, scaling.high)
    return float(brightest)


def fields(inputs: Inputs, test: TestData | None, training: TrainingRows | None) -> list[dict[str, Any]]:
    """The fields of the form, with the range and the usual value of every feature."""
    tested = test is not None and len(test.y) > 0
    if not inputs.takes_integers:
        rows = plain_rows(inputs, test.X) if test is not None and tested else None
        found = export_hook(inputs.transform, "page_fields", "a page")(rows)
        return [
            field | {"name": name} for field, name in zip(found, channel_names(inputs) or (), strict=False)
        ] or found
    scaling = inputs.scaling
    seen = None
    if test is not None and tested:
        seen = np.asarray(test.X, dtype=np.float64)
    elif training is not None:
        seen = inputs.features_of(training.rows.astype(np.int64))
    if seen is None:
        ends = (scaling.low, (scaling.low + scaling.high) // 2, scaling.high)
        seen = scaling.values(np.stack([np.full(inputs.features, end) for end in ends]))
    names = inputs.names or [f"feature {i + 1}" for i in range(inputs.features)]
    decimals = [0] * inputs.features if scaling.scale is None else scaling.scale.decimals.tolist()
    return [
        number_field(str(name), column.min(), float(np.median(column)), column.max(), d)
        for name, column, d in zip(names, seen.T, decimals, strict=True)
    ]


def weight_counts(ensemble: Ensemble) -> list[dict[str, int]]:
    """Number of weights of all networks with each value, or in each range."""
    weights = np.concatenate([w.reshape(-1) for network in ensemble.networks for w in network.weights])
    bound = ensemble.weight_bound
    width = -(-(2 * bound + 1) // MOST_BARS) | 1  # odd, so that zero is in the middle of its range
    place = (weights + width // 2) // width
    reach = (bound + width // 2) // width
    return [
        {"low": i * width - width // 2, "high": i * width - width // 2 + width - 1, "count": int((place == i).sum())}
        for i in range(-reach, reach + 1)
    ]


@dataclass(frozen=True, eq=False)
class TestData:
    """Labelled rows that an ensemble was not trained on.

    Attributes
    ----------
    X, y
        Features and labels.
    about
        Human-readable description of their source.
    class_names
        Names of the classes 0, 1, ..., if the labels are these numbers.

    Examples
    --------
    >>> import bemi
    >>> from bemi.export import page
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> test = page.TestData([[0, 5, 2]], ["cat"], "one more pet")
    >>> "one more pet" in page.page(clf, test=test)
    True
    """

    X: Any
    y: NDArray
    about: str = "test rows"
    class_names: Sequence[str] | None = None


def results(
    ensemble: Ensemble, test: TestData, others: Mapping[str, float], samples: int, training: TrainingRows | None
) -> dict[str, Any]:
    """Accuracy and confusion on all rows, the accuracies of other classifiers, and some of the rows."""
    y = np.asarray(test.y)
    truth = ensemble.class_indices(y)
    votes = ensemble.votes(test.X, truth)
    given = votes.label
    tables = {PAPER_RULE.words: confusion(ensemble, votes, truth)}
    if ensemble.ties != PAPER_RULE:
        tables = {f"ties by {ensemble.ties.name}": confusion(ensemble, votes, truth, by_paper=False), **tables}
    right = (given == truth) & (truth != ABSTAIN)
    return {
        "about": test.about,
        **evaluation(ensemble, test.X, y, votes),
        "confusion": tables,
        "others": dict(others),
        "wrong": int((~right).sum()),
        "seen": None if training is None else _seen(ensemble.inputs.of(test.X), truth, training),
        **_samples(plain_rows(ensemble.inputs, test.X), truth, given, y, _chosen(right, samples)),
    }


def _seen(inputs: Integers, truth: Integers, training: TrainingRows) -> dict[str, int]:
    """How many rows equal a training row, inputs and class, and how many training rows they equal."""
    theirs, own = (
        [(row.tobytes(), label) for row, label in zip(np.ascontiguousarray(rows, dtype=np.int64), labels, strict=True)]
        for rows, labels in ((inputs, truth.tolist()), (training.rows, training.targets.tolist()))
    )
    known, given = set(own), set(theirs)
    return {"rows": sum(pair in known for pair in theirs), "training": sum(pair in given for pair in own)}


def _chosen(right: NDArray[np.bool_], samples: int) -> Integers:
    """Rows to show, misclassified ones first, spread over the data; each kind may use places the other leaves."""
    wrong, fine = np.flatnonzero(~right), np.flatnonzero(right)
    first = min(len(wrong), max(samples - samples // 2, samples - len(fine)))
    parts = [
        rows[np.linspace(0, len(rows) - 1, number).astype(np.int64)] if number else rows[:0]
        for rows, number in ((wrong, first), (fine, min(len(fine), samples - first)))
    ]
    return np.concatenate(parts)


def plain_rows(inputs: Inputs, X: Any) -> NDArray:
    """Rows as the page takes them: numbers, or plain cells if the transform takes raw columns."""
    if inputs.takes_integers:
        return np.asarray(X)
    return np.array(export_hook(inputs.transform, "page_rows", "a page")(X), dtype=object)


def _samples(X: NDArray, truth: Integers, given: Integers, y: NDArray, chosen: Integers) -> dict[str, Any]:
    rows = X[chosen]
    small = rows.dtype.kind in "biuf" and bool(((rows == np.rint(rows)) & (rows >= 0) & (rows <= 255)).all())
    return {
        # Pixels take a byte each; other numbers are written as they are.
        "rowBytes": base64.b64encode(rows.astype(np.uint8).tobytes()).decode() if small else None,
        "rowNumbers": None if small else rows.tolist(),
        "numbers": chosen.tolist(),
        "truth": truth[chosen].tolist(),
        "truthLabels": [str(label) for label in y[chosen].tolist()],
        "given": given[chosen].tolist(),
    }
