"""What a model costs as C on a device, before it is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bemi.ensemble.ensemble import Ensemble, TrainingRecord
from bemi.ensemble.probabilities import LONGEST_TABLE, Probabilities, ProbabilityTable, Sigmoid
from bemi.ensemble.subsets import class_subsets
from bemi.ensemble.unknown import values_of
from bemi.exact import Integers
from bemi.export import c
from bemi.network import Network
from bemi.training.folds import Seen
from bemi.training.rejection import fitted_ranges


def expected_costs(settings: Mapping[str, Any], X: Any, y: Any) -> c.Costs:
    """Costs of the C of networks that have all links, with these settings and rows, and weights at random.

    Weights of signals are stored in batches, so that other weights cost the same, and tables of probabilities are as
    long as they may be.
    """
    classes, targets = np.unique(y, return_inverse=True)
    seen = Seen.of(settings, X, targets)
    inputs, bound = seen.inputs, int(settings["weight_bound"])
    subsets = class_subsets(len(classes), 2)
    rng = np.random.default_rng(0)
    signs: Integers = rng.choice([-1, 1], (len(subsets), inputs.size, 1))
    networks = tuple(Network((own,), bound) for own in signs * rng.integers(1, bound + 1, signs.shape))
    probabilities = ranges = None
    if settings["probabilities"]:
        sigmoids, longest = (Sigmoid.of(1.0, 0.0),) * len(networks), ProbabilityTable(0, 0, (1,) * LONGEST_TABLE)
        probabilities = Probabilities(sigmoids, (1,) * len(classes), (longest,) * len(networks))
    if settings["reject"] is not None:
        ranges, _ = fitted_ranges(inputs, values_of(inputs, seen.rows), targets, len(classes))
        if len(classes) > 2:
            ranges = replace(ranges, halvings=np.zeros(len(subsets), dtype=np.int64))
    model = Ensemble(
        classes=classes,
        subsets=subsets,
        networks=networks,
        reports=({},) * len(networks),
        splitting=(np.ones(1, dtype=bool),) * len(networks),
        inputs=inputs,
        training=TrainingRecord(settings=settings, digest="", solver=""),
        probabilities=probabilities,
        known_ranges=ranges,
    )
    return c.export(model).costs
