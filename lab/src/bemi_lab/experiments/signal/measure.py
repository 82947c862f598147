"""One system on one draw of windows: what it gets right, also at a lower gain, and what was proved."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bemi_lab.experiments.signal.draws import draw
from bemi_lab.experiments.signal.sets import Windows
from bemi_lab.experiments.signal.systems import SYSTEMS
from bemi_lab.experiments.spec import Settings
from bemi_lab.experiments.tabular.measure import what_was_proved

GAIN = 0.7
"""Of the second measurement: the sensor measures this much of what it measured in training."""


def measured(system: str, windows: Windows, draw_name: str, index: int, settings: Settings) -> dict[str, Any]:
    """Train a system on a draw, on one core, and measure it on the draw's test windows."""
    seed = settings.seed + index
    train, test = draw(draw_name).of(windows, seed)
    X, y = windows.X[test], windows.y[test]
    with threadpool_limits(1):
        began = time.perf_counter()
        model = SYSTEMS[system].make(windows.X[train], seed, settings).fit(windows.X[train], windows.y[train])
        seconds = time.perf_counter() - began
        right, lower = (float(np.mean(model.predict(gain * X) == y)) for gain in (1.0, GAIN))
    return {
        "table": windows.name,
        "split": draw_name,
        "sample": index,
        "seconds": round(seconds, 3),
        "accuracy": round(right, 6),
        "lower_gain": round(lower, 6),
        **what_was_proved(model),
    }
