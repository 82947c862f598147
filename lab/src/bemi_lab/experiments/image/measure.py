"""One system on one draw of images: what it gets right, what was proved, and what it took."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from threadpoolctl import threadpool_limits

from bemi_lab.experiments.image.lesson import Lesson, Rows, lesson, timed
from bemi_lab.experiments.image.systems import SYSTEMS, Make, unit_length
from bemi_lab.experiments.spec import Settings
from bemi_lab.experiments.tabular.measure import what_was_proved

AT_ONCE = 2000
"""Images that are predicted together: kernel matrices of all of them would take too much memory."""


def measured(system: str, dataset: str, draw_name: str, index: int, settings: Settings) -> dict[str, Any]:
    """Train a system on a draw, on one core, and measure it on the draw's test images."""
    chosen = SYSTEMS[system]
    with threadpool_limits(1):
        learned = lesson(dataset, draw_name, index, settings)
        if chosen.make is None:
            found = _ours(learned)
        else:
            rows = learned.as_chosen[0] if chosen.as_chosen else learned.plain
            found = _other(chosen.make, rows, learned.images.test_y)
    return {"table": dataset, "split": draw_name, "sample": index} | found


def _ours(learned: Lesson) -> dict[str, Any]:
    """Choosing and training, which includes deforming, as fitting the recommended model does them."""
    choice, choosing = learned.choice
    _, deforming = learned.as_chosen
    images = learned.images
    model = learned.model(**choice.candidate.settings)
    model, training = timed(lambda: model.fit(images.train_X, images.train_y))
    return {
        "accuracy": round(float(np.mean(model.predict(images.test_X) == images.test_y)), 6),
        "choice": choice.name,
        "choosing": round(choosing.cpu, 3),
        "deforming": round(deforming.cpu, 3),
        "cpu": round(choosing.cpu + training.cpu, 3),
        "seconds": round(choosing.wall + training.wall, 3),
        **what_was_proved(model),
    }


def _other(make: Make, rows: Rows, truth: NDArray[Any]) -> dict[str, Any]:
    train, test = unit_length(rows.train), unit_length(rows.test)
    model, training = timed(lambda: make(train, rows.price).fit(train, rows.labels))
    found = _predicted(model, test)
    return {
        "accuracy": round(float(np.mean(found == truth)), 6),
        "rows": len(train),
        "cpu": round(training.cpu, 3),
        "seconds": round(training.wall, 3),
    }


def _predicted(model: ClassifierMixin, rows: NDArray) -> NDArray[Any]:
    parts = range(0, len(rows), AT_ONCE)
    return np.concatenate([model.predict(rows[start : start + AT_ONCE]) for start in parts])
