"""What is in a model, how it was trained and what is proved, as plain data.  Only reads ensembles."""

from __future__ import annotations

import math
from typing import Any

from bemi.augment import scenarios
from bemi.ensemble.ensemble import Ensemble
from bemi.inputs.fixed_point_inputs import in_units
from bemi.inputs.inputs import Inputs
from bemi.inputs.registry import describe
from bemi.inputs.transform import Takes, reader_of
from bemi.io.recordings.reading import ModelWindows
from bemi.report.scorecard import Scorecard
from bemi.report.summary import stage_numbers, training_summary


def contents(ensemble: Ensemble) -> dict[str, Any]:
    """Classes, columns, inputs, networks, training and proofs of a model."""
    inputs = ensemble.inputs
    return {
        "classes": ensemble.classes.tolist(),
        "ties": ensemble.ties.name,
        "columns": _columns(inputs),
        "named": inputs.names is not None,
        "inputs": {"number": inputs.size, "are": describe(inputs.transform)},
        "training": _training(ensemble),
        "networks": [
            {
                "classes": list(key),
                "links": network.links,
                "stages": {stage: _proved(report) for stage, report in reports.items()},
            }
            for key, network, reports in zip(ensemble.keys, ensemble.networks, ensemble.reports, strict=True)
        ],
        "summary": training_summary(ensemble),
        "probabilities": ensemble.probabilities is not None,
        "scorecard": _scorecard(ensemble),
    }


def _scorecard(ensemble: Ensemble) -> str | None:
    """The model as points to add up, if it is of that kind."""
    try:
        return Scorecard.of(ensemble).text()
    except ValueError:
        return None


def _columns(inputs: Inputs) -> list[dict[str, Any]]:
    """Name and kind of each column; for tables also what is made of it.  Of windows, the channels."""
    windows = ModelWindows.of(inputs)
    if windows is not None:
        names = windows.channels or [f"channel {place}" for place in range(windows.count)]
        units = reader_of(inputs.transform).reading_units()
        return [
            {"name": name, "kind": f"{windows.time} samples", "unit": in_units(1, unit["decimals"])}
            for name, unit in zip(names, units, strict=False)
        ]
    if Takes.by(inputs.transform) is not Takes.RAW_COLUMNS:
        names = inputs.names or [f"feature {place}" for place in range(inputs.features)]
        return [{"name": name, "kind": "number"} for name in names]
    found = []
    for column in inputs.transform.columns_:  # type: ignore[union-attr]
        about: dict[str, Any] = {"name": column.name, "missing": column.has_missing}
        if column.levels is not None:
            about |= {"kind": "category", "levels": list(column.levels)}
        else:
            cuts = [in_units(threshold, column.decimals) for threshold in column.thresholds]
            about |= {"kind": "number", "unit": in_units(1, column.decimals), "thresholds": cuts}
            about |= {"value": column.multiplier > 0}
        found.append(about)
    return found


def _training(ensemble: Ensemble) -> dict[str, Any]:
    record = ensemble.training
    settings = {name: list(v) if isinstance(v, tuple) else v for name, v in record.settings.items()}
    settings["copies"] = scenarios.parameters(settings.get("copies"))
    return {"settings": settings, "rows": _rows(ensemble), "solver": record.solver, "digest": record.digest}


def _rows(ensemble: Ensemble) -> int | None:
    """Number of training rows, variants not counted; None if it does not follow from those of the networks.

    The first stage of a network sees all rows of its classes.  If every set of m of k classes has a network, it counts
    each row ``C(k-1, m-1)`` times.
    """
    if ensemble.training.given_rows is not None:
        return ensemble.training.given_rows
    classes, size = len(ensemble.classes), ensemble.subsets.shape[1]
    if len(ensemble.subsets) < math.comb(classes, size):
        return None
    seen = sum(next(iter(reports.values())).rows for reports in ensemble.reports)
    return seen // math.comb(classes - 1, size - 1)


def _proved(report: Any) -> dict[str, Any]:
    """A stage's numbers; times are not part of a model."""
    numbers = {name: value for name, value in stage_numbers(report).items() if name != "seconds"}
    return numbers | {"gap": report.gap if report.ran else None, "outcome": report.outcome.label}
