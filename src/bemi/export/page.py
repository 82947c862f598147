"""A page for people: one HTML file in which a trained ensemble can be tried and looked into.

It holds the networks, some test rows and everything that draws them, loads nothing and sends nothing.  What stands in
``runtime/page`` computes the same integers as Python; docs/page.md tells what there is to see.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

import bemi
from bemi.baselines.alternatives import fitted
from bemi.classifier import BeMiClassifier
from bemi.ensemble.summary import evaluation, training_summary
from bemi.files import write_atomically
from bemi.inputs.transforms import ConstantInput, IntegerHog, check_shape
from bemi.modelfile.saving import packed_weights
from bemi.problem.codes import ABSTAIN
from bemi.products import Integers
from bemi.stages.result import StageResult

SCRIPTS = (
    *("elements.js", "transforms.js", "network.js", "framing.js", "words.js", "pictures.js"),
    *("pad.js", "form.js", "votes.js", "samples.js", "results.js", "training.js", "inside.js", "main.js"),
)
"""Parts of the page's script, in their order."""

SAMPLES = 200
GUESSED_IMAGES = {784: (28, 28), 64: (8, 8)}
"""Number of features that are taken for the pixels of an image if nobody says otherwise."""

BLOCKS_SIDE = 16
"""Images with a shorter side are framed as the digits of 8 x 8 were, others as MNIST was."""

MOST_BARS = 31
"""Weights are counted one by one up to so many different ones, and in ranges beyond."""


@dataclass(frozen=True, eq=False)
class TestData:
    """Labelled rows that an ensemble was not trained on.

    Attributes
    ----------
    X, y
        Features and labels.
    about
        Where they come from, in words.
    class_names
        Names of the classes 0, 1, ..., where the labels are these numbers.
    """

    X: Any
    y: NDArray
    about: str = "test rows"
    class_names: Sequence[str] | None = None


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The integers that networks were trained on, after scaling and transform, and their class indices."""

    rows: Integers
    targets: Integers


def write(classifier: BeMiClassifier, path: str | os.PathLike, **options: Any) -> None:
    """Write the page of a fitted classifier; see :func:`page` for the options."""
    write_atomically({Path(path): page(classifier, **options).encode()})


def page(
    classifier: BeMiClassifier,
    *,
    title: str = "A few-bit ensemble",
    test: TestData | None = None,
    training: TrainingData | None = None,
    image: Sequence[int] | bool = True,
    samples: int = SAMPLES,
) -> str:
    """The page of a fitted classifier, as HTML.

    Parameters
    ----------
    classifier
        A fitted classifier without a transform or with one of bemi's own.
    title
        The heading.
    test
        Rows to click through and to measure accuracy on; None for neither.
    training
        The rows that it was trained on, for the ranges of features and for other classifiers beside it; None takes
        those that the classifier still has, if any.
    image
        ``(height, width)`` or ``(height, width, channels)`` of the rows, False if they are no images; True takes the
        shape that a transform knows, and 784 and 64 features for square grey images.
    samples
        How many test rows to put into the page at most.
    """
    check_is_fitted(classifier)
    if samples < 0:
        raise ValueError(f"samples must be at least 0, got {samples}")
    if training is None and hasattr(classifier, "training_rows_"):
        training = TrainingData(classifier.training_rows_, classifier.training_targets_)
    if training is not None:
        # Variants of the given rows are no rows of their own.
        given = classifier.given_rows_
        training = TrainingData(training.rows[:given], training.targets[:given])
    data = {
        **_model(classifier),
        "version": bemi.__version__,
        "title": title,
        "labels": _label_texts(classifier, test),
        "image": _image(classifier, image),
        "fields": _fields(classifier, test, training),
        "training": None if training is None else len(training.targets),
        "summary": training_summary(classifier),
        "weightCounts": _weight_counts(classifier),
        "test": None if test is None else _results(classifier, test, training, samples),
    }
    return _filled(title, data)


def _filled(title: str, data: dict[str, Any]) -> str:
    """The template with everything in it; only what is in it may run, and it can load nothing."""
    script = "".join(_runtime(name) for name in SCRIPTS)
    script = f'(() => {{\n"use strict";\n{script}}})();\n'
    style = _runtime("style.css")
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return Template(_runtime("page.html")).substitute(
        policy=policy, title=html.escape(title), style=style, data=_inert(data), script=script
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _inert(data: dict[str, Any]) -> str:
    """JSON that nothing in it can end: whatever HTML or JavaScript would take for more than text is escaped."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)  # ASCII alone
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _runtime(name: str) -> str:
    return (files("bemi.export") / "runtime" / "page" / name).read_text(encoding="utf-8")


def _model(classifier: BeMiClassifier) -> dict[str, Any]:
    """All that a prediction needs, and what training says of every network."""
    networks = list(classifier.networks_.values())
    low, high = _input_range(classifier)
    factors = classifier.input_scaling_.factors
    folded = classifier.folded(low, high).networks
    return {
        "features": classifier.n_features_in_,
        "layers": networks[0].layers,
        "weightBound": networks[0].weight_bound,
        "ties": classifier.ties,
        "unclassified": str(classifier.unclassified_label_),
        "factors": None if factors is None else factors.tolist(),
        "transform": _transform(classifier.transform_),
        "inputRange": [int(low.min()), int(high.max())],
        "solver": classifier.solver_,
        "weights": base64.b64encode(b"".join(map(packed_weights, networks))).decode(),
        "networks": [
            {
                "classes": n.subset.tolist(),
                "splitting": classifier.splitting_[key].astype(int).tolist(),
                "voting": list(range(n.network.layers[1])) if n.table is None else n.neurons.tolist(),
                "matter": int(np.count_nonzero(n.network.weights[0][:, n.neurons])),
                "stages": [_stage(report) for report in classifier.reports_[key].values()],
            }
            for key, n in zip(classifier.networks_, folded, strict=True)
        ],
    }


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


def _transform(transform: Any) -> dict[str, Any] | None:
    if transform is None:
        return None
    if type(transform) is ConstantInput:
        return {"name": transform.NAME, "level": transform.level_}
    if type(transform) is not IntegerHog:
        raise ValueError(f"the transform {type(transform).__name__} cannot be shown; only bemi's own can")
    fixed = transform.constants
    shift = max(0, transform.maximum_.bit_length() - 8)  # levels depend on no more than eight bits
    return {
        "name": transform.NAME,
        "shape": transform.shape_,
        "maximum": transform.maximum_,
        "levels": fixed.levels.tolist()[:: 1 << shift],
        "levelShift": shift,
        "doubled": fixed.doubled,
        "height": fixed.height,
        "width": fixed.width,
        "rows": fixed.rows,
        "columns": fixed.columns,
        "massShift": fixed.mass_shift,
        "orientations": int(transform.orientations),
        "directions": fixed.directions.tolist(),
        "outputShift": fixed.output_shift,
    }


def _input_range(classifier: BeMiClassifier) -> tuple[Integers, Integers]:
    """Smallest and largest value of each input of the networks, for features as training saw them."""
    scaling, transform = classifier.input_scaling_, classifier.transform_
    inputs = next(iter(classifier.networks_.values())).layers[0]
    if isinstance(transform, IntegerHog):
        low, high = transform.output_range
        return np.full(inputs, low), np.full(inputs, high)
    lows, highs = np.full(inputs, scaling.low), np.full(inputs, scaling.high)
    if isinstance(transform, ConstantInput):
        lows, highs = np.maximum(lows, -transform.level_), np.minimum(highs, transform.level_)
        lows[-1] = highs[-1] = transform.level_
    return lows, highs


def _label_texts(classifier: BeMiClassifier, test: TestData | None) -> list[str]:
    labels = classifier.classes_.tolist()
    names = None if test is None else test.class_names
    if names is None or not all(isinstance(label, int) and 0 <= label < len(names) for label in labels):
        return [str(label) for label in labels]
    return [str(names[label]) for label in labels]


def _image(classifier: BeMiClassifier, image: Sequence[int] | bool) -> dict[str, Any] | None:
    """Shape and brightest value of the images, and how a drawing becomes one; None where rows are no images."""
    transform, features = classifier.transform_, classifier.n_features_in_
    if isinstance(image, bool):
        if not image:
            return None
        if isinstance(transform, IntegerHog):
            image = transform.shape_
        elif classifier.input_scaling_.low < 0 or features not in GUESSED_IMAGES:
            return None
        else:
            image = GUESSED_IMAGES[features]
    height, width, channels = check_shape(image)
    if height * width * channels != features:
        raise ValueError(
            f"an image of {height} x {width} with {channels} channels has {height * width * channels} values, "
            f"but the model has {features} features"
        )
    factors = classifier.input_scaling_.factors
    if factors is None:
        maximum = float(transform.maximum_ if isinstance(transform, IntegerHog) else classifier.input_scaling_.high)
    else:
        # The largest training magnitude of a feature becomes the largest integer.
        used = factors[factors > 0]
        maximum = float(classifier.input_scaling_.high / used.min()) if len(used) else 1.0
    return {
        "height": height,
        "width": width,
        "channels": channels,
        "maximum": maximum,
        "whole": factors is None,
        "framing": "blocks" if min(height, width) < BLOCKS_SIDE else "mass",
    }


def _fields(classifier: BeMiClassifier, test: TestData | None, training: TrainingData | None) -> list[dict[str, Any]]:
    """Name, range and usual value of every feature."""
    features, scaling = classifier.n_features_in_, classifier.input_scaling_
    factors = np.ones(features) if scaling.factors is None else np.where(scaling.factors > 0, scaling.factors, 1.0)
    names = getattr(classifier, "feature_names_in_", [f"feature {i + 1}" for i in range(features)])
    if test is not None and len(test.y):
        seen = np.asarray(test.X, dtype=np.float64)
    elif training is not None and not isinstance(classifier.transform_, IntegerHog):
        seen = training.rows[:, :features] / factors
    else:
        seen = np.stack([scaling.low / factors, (scaling.low + scaling.high) // 2 / factors, scaling.high / factors])
    fields = []
    for name, column in zip(names, seen.T, strict=True):
        whole = scaling.factors is None or bool((column == np.rint(column)).all())
        low, start, high = (_rounded(v, whole) for v in (column.min(), np.median(column), column.max()))
        fields.append({"name": str(name), "low": low, "start": start, "high": high, "whole": whole})
    return fields


def _rounded(value: float, whole: bool) -> float | int:
    return int(value) if whole else float(f"{value:.6g}")


def _weight_counts(classifier: BeMiClassifier) -> list[dict[str, int]]:
    """How many weights of all networks there are of each value, or in each of some ranges."""
    weights = np.concatenate([w.reshape(-1) for n in classifier.networks_.values() for w in n.weights])
    bound = next(iter(classifier.networks_.values())).weight_bound
    width = -(-(2 * bound + 1) // MOST_BARS) | 1  # odd, so that zero stands in the middle of its range
    place = (weights + width // 2) // width
    reach = (bound + width // 2) // width
    return [
        {"low": i * width - width // 2, "high": i * width - width // 2 + width - 1, "count": int((place == i).sum())}
        for i in range(-reach, reach + 1)
    ]


def _results(classifier: BeMiClassifier, test: TestData, training: TrainingData | None, samples: int) -> dict[str, Any]:
    """Accuracy, confusion and other classifiers on all rows, and some of the rows."""
    y = np.asarray(test.y)
    votes = classifier.vote(test.X)
    truth, given = classifier._class_index(y, len(y)), classifier._class_index(votes.label, len(y))
    paper = np.where(votes.unclassified, ABSTAIN, given)
    confusion = {"paper": _confusion(classifier, truth, paper)}
    if classifier.ties == "margin":
        confusion["margin"] = _confusion(classifier, truth, given)
    right = (given == truth) & (truth != ABSTAIN)
    return {
        "about": test.about,
        **evaluation(classifier, test.X, y),
        "confusion": confusion,
        "others": {} if training is None else _others(classifier, training, test.X, truth),
        "wrong": int((~right).sum()),
        **_samples(np.asarray(test.X), truth, given, y, _chosen(right, samples)),
    }


def _confusion(classifier: BeMiClassifier, truth: Integers, given: Integers) -> list[list[int]]:
    """Rows by true class, columns by decision, the last one for none."""
    classes = len(classifier.classes_)
    known = truth != ABSTAIN
    table = np.zeros((classes, classes + 1), dtype=np.int64)
    np.add.at(table, (truth[known], given[known]), 1)  # ABSTAIN is the last column
    return table.tolist()


def _chosen(right: NDArray[np.bool_], samples: int) -> Integers:
    """Rows to show, misclassified ones first, spread over the data; each kind gets what the other does not use."""
    wrong, fine = np.flatnonzero(~right), np.flatnonzero(right)
    first = min(len(wrong), max(samples - samples // 2, samples - len(fine)))
    parts = [
        rows[np.linspace(0, len(rows) - 1, number).astype(np.int64)] if number else rows[:0]
        for rows, number in ((wrong, first), (fine, min(len(fine), samples - first)))
    ]
    return np.concatenate(parts)


def _samples(X: NDArray, truth: Integers, given: Integers, y: NDArray, chosen: Integers) -> dict[str, Any]:
    rows = X[chosen]
    small = rows.dtype.kind in "biuf" and bool(((rows == np.rint(rows)) & (rows >= 0) & (rows <= 255)).all())
    return {
        # Pixels take a byte each; other numbers stand as they are.
        "rowBytes": base64.b64encode(rows.astype(np.uint8).tobytes()).decode() if small else None,
        "rowNumbers": None if small else rows.tolist(),
        "numbers": chosen.tolist(),
        "truth": truth[chosen].tolist(),
        "truthLabels": [str(label) for label in y[chosen].tolist()],
        "given": given[chosen].tolist(),
    }


def _others(classifier: BeMiClassifier, training: TrainingData, X: ArrayLike, truth: Integers) -> dict[str, float]:
    """Accuracy of other classifiers, untuned, on the same inputs of the networks and the same training rows."""
    inputs = classifier._inputs(np.asarray(X))
    one_unit = classifier.transform_ is None or isinstance(classifier.transform_, IntegerHog)
    others = fitted(training.rows, training.targets, images=one_unit, names=("linear SVM", "1-NN"))
    return {name: float(np.mean(predict(inputs) == truth)) for name, predict in others.items()}
