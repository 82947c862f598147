"""From an ensemble to the HTML of its page."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import bemi
from bemi.checks import check_integer
from bemi.ensemble.ensemble import Ensemble, TrainingRows, ensemble_of
from bemi.export.page.data import (
    TestData,
    channel_names,
    fields,
    image_data,
    label_texts,
    model_data,
    results,
    scorecards,
    usual_title,
    weight_counts,
)
from bemi.files import write_atomically
from bemi.inputs.export_hooks import PageScript, export_hook
from bemi.report.summary import training_summary

SCRIPTS_BEFORE_TRANSFORM = ("elements", "scaling")
SCRIPTS_AFTER_TRANSFORM = (
    *(
        "probabilities",
        "unknown",
        "network",
        "framing",
        "words",
        "pictures",
        "pad",
        "form",
        "readings",
        "signal",
        "reasons",
    ),
    *("votes", "scorecard", "samples", "results", "training", "inside", "main"),
)
"""Parts of the page's script, in order."""

SAMPLES = 200

TrainingData = TrainingRows
"""The integers that networks were trained on, after scaling and transform, and their class indices."""


def write(model: Any, path: str | os.PathLike, **options: Any) -> None:
    """Write the page of a fitted classifier or an ensemble; see :func:`page` for the options.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> import bemi
    >>> from bemi.export import page
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> page.write(clf, mkdtemp() + "/pets.html", title="Pets")
    """
    write_atomically({Path(path): page(model, **options).encode()})


def page(
    model: Any,
    *,
    title: str | None = None,
    test: TestData | None = None,
    training: TrainingData | None = None,
    others: Mapping[str, float] | None = None,
    image: Sequence[int] | bool = True,
    samples: int = SAMPLES,
) -> str:
    """The page of a fitted classifier or an ensemble, as HTML.

    Parameters
    ----------
    model
        A fitted classifier or an :class:`bemi.ensemble.ensemble.Ensemble`.
    title
        The heading; None asks which of the classes a row is.
    test
        Rows to click through and to measure accuracy on; None for neither.
    training
        The rows that it was trained on, for the ranges of features and to warn if test rows are among them; None uses
        those that the ensemble has, if any.
    others
        Accuracy of other classifiers on the test rows, by name, to show next to the ensemble's.
    image
        ``(height, width)`` or ``(height, width, channels)`` of the rows, False if they are not images; True uses the
        shape that a transform knows, and treats 784 and 64 features as square grey images.
    samples
        Maximum number of test rows in the page.

    Examples
    --------
    >>> import bemi
    >>> from bemi.export import page
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> page.page(clf, title="Pets").startswith("<!doctype html>")
    True
    """
    ensemble = ensemble_of(model)
    check_integer("samples", samples, 0)
    given = _given_rows(ensemble, training)
    transform, transform_script = _transform(ensemble)
    labels = label_texts(ensemble, None if test is None else test.class_names)
    shape = image_data(ensemble.inputs, image)
    title = usual_title(ensemble.inputs, labels, is_image=shape is not None) if title is None else title
    data = {
        **model_data(ensemble),
        "transform": transform,
        "version": bemi.__version__,
        "title": title,
        "labels": labels,
        "image": shape,
        "scorecards": scorecards(ensemble),
        "fields": fields(ensemble.inputs, test, given),
        "training": None if given is None else len(given.targets),
        "summary": training_summary(ensemble),
        "weightCounts": weight_counts(ensemble),
        "test": None if test is None else results(ensemble, test, others or {}, samples, given),
    }
    return _filled(title, data, transform_script)


def _given_rows(ensemble: Ensemble, training: TrainingData | None) -> TrainingData | None:
    """The training rows without their variants."""
    rows = ensemble.training.rows if training is None else training
    if rows is None:
        return None
    given = ensemble.training.given_rows
    return TrainingData(rows.rows[:given], rows.targets[:given])


def _transform(ensemble: Ensemble) -> tuple[dict[str, Any] | None, str]:
    """The transform's data for the page, and its script."""
    transform = ensemble.inputs.transform
    if transform is None:
        return None, ""
    piece: PageScript = export_hook(transform, "page_script", "a page")()
    return {"name": transform.NAME, "channelNames": channel_names(ensemble.inputs), **piece.data}, piece.script


def _filled(title: str, data: dict[str, Any], transform_script: str) -> str:
    """The completed template; only the scripts in it may run, and it can load nothing."""
    before, after = (
        "".join(page_file(f"{name}.js") for name in names)
        for names in (SCRIPTS_BEFORE_TRANSFORM, SCRIPTS_AFTER_TRANSFORM)
    )
    script = f'(() => {{\n"use strict";\n{before}{transform_script}{after}}})();\n'
    style = page_file("style.css")
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return Template(page_file("page.html")).substitute(
        policy=policy, title=html.escape(title), style=style, data=_inert(data), script=script
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _inert(data: dict[str, Any]) -> str:
    """JSON that cannot break out of its element: everything HTML or JavaScript could interpret is escaped."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)  # ASCII only
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def page_file(name: str) -> str:
    """Text of a file of the page."""
    return (files("bemi.export.page") / "files" / name).read_text(encoding="utf-8")
