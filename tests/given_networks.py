"""Fitted classifiers with networks that no training made: for tests of what comes after training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bemi import BeMiClassifier, Network


def give_networks(
    classifier: BeMiClassifier,
    networks: Mapping[tuple, Network],
    *,
    splitting: Mapping[tuple, Any] | None = None,
    reports: Mapping[tuple, Any] | None = None,
    classes: Any = None,
) -> BeMiClassifier:
    """Put other networks into a fitted classifier, and what goes with them; what is not given stays as it was."""
    old = classifier.ensemble_
    labels = old.classes if classes is None else np.asarray(classes)
    index = {label: position for position, label in enumerate(labels.tolist())}
    first = next(iter(networks.values()))
    kind = {"hidden_layers": first.layers[1:-1], "weight_bound": first.weight_bound}
    if classes is not None:
        # Whatever networks on other classes say of their training, it is not about them.
        of_old = {key: (old.splitting[0], old.reports[0]) for key in networks}
    else:
        of_old = dict(zip(old.keys, zip(old.splitting, old.reports, strict=True), strict=True))
    added = tuple(np.empty(0, dtype=np.int64) for _ in networks)
    classifier.ensemble_ = old.with_networks(
        np.array([[index[label] for label in key] for key in networks]),
        list(networks.values()),
        [(reports or {}).get(key, of_old[key][1]) for key in networks],
        [np.asarray((splitting or {}).get(key, of_old[key][0]), dtype=bool) for key in networks],
        classes=labels,
        training=replace(old.training, settings={**old.training.settings, **kind}, added_rows=added),
    )
    return classifier.set_params(**kind)
