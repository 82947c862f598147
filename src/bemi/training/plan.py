"""The networks that an ensemble needs, each turned into a task on access, and the ensemble that they form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bemi.certificate import training_digest
from bemi.ensemble.ensemble import Ensemble, TrainingRecord, keys_of
from bemi.ensemble.ties import TieRule
from bemi.exact import Integers
from bemi.problem.problem import Problem, class_codes, signs_towards_later_classes
from bemi.training.pipeline import Training
from bemi.training.task import Task
from bemi.training.training_set import TrainingSet
from bemi.training.variants import Variants


@dataclass(frozen=True, eq=False)
class Plan:
    """The networks to train: a list of tasks that are created on access.

    All tasks share the rows of the training set; copies for thousands of networks would not fit into memory.

    Attributes
    ----------
    training_set
        Rows, classes and variants.
    subsets
        Class indices of every network's classes, shape (networks, m).
    hidden_layers, weight_bound
        Of every network.
    settings
        Further arguments of :class:`Task`.
    monotone
        Directions of features, as in :class:`bemi.BeMiClassifier`.
    """

    training_set: TrainingSet
    subsets: Integers
    hidden_layers: tuple[int, ...]
    weight_bound: int
    settings: Mapping[str, Any]
    monotone: Mapping[Any, int] | None = None

    @cached_property
    def signs(self) -> Integers | None:
        """The sign that the weights of each input must have, shape (inputs, 1); None if all may have both."""
        directions = self.training_set.inputs.directions(self.monotone)
        return None if directions is None else signs_towards_later_classes(directions)[:, None]

    @property
    def keys(self) -> list[tuple]:
        """Labels of the classes of each network."""
        return keys_of(self.training_set.classes, self.subsets)

    def part(self, positions: Iterable[int]) -> Plan:
        """Some of the networks."""
        return replace(self, subsets=self.subsets[list(positions)])

    def shard(self, shard: int, shards: int) -> Plan:
        """One of several equal parts, counted from 1."""
        return self.part(range(shard - 1, len(self), shards))

    def __len__(self) -> int:
        return len(self.subsets)

    def __getitem__(self, index: int) -> Task:
        rows, subset = self.training_set, self.subsets[index]
        own = np.isin(rows.targets, subset)
        variants = None
        if rows.variants is not None and rows.variant_targets is not None:
            chosen = np.isin(rows.variant_targets, subset)
            codes = _codes(rows.variant_targets[chosen], subset)
            variants = Variants(rows.variants[chosen], codes, _some(rows.variant_weights, chosen))
        problem = Problem(
            cast(Integers, rows.data[own]),  # which the problem converts
            _codes(rows.targets[own], subset),
            self.hidden_layers,
            self.weight_bound,
            row_weights=_some(rows.weights, own),
            signs=self.signs,
            uncounted=rows.inputs.constant_inputs,
        )
        return Task(problem=problem, variants=variants, **self.settings)

    def groups_of(self, index: int) -> Integers | None:
        """What the rows of a network come from, as indices; None if nothing is known."""
        rows = self.training_set
        return _some(rows.groups, np.isin(rows.targets, self.subsets[index]))

    def assembled(
        self,
        trainings: Mapping[tuple, Training],
        *,
        known: Ensemble | None = None,
        ties: TieRule,
        solver: str,
        settings: Mapping[str, Any],
    ) -> Ensemble:
        """The ensemble of the trained networks.

        Parameters
        ----------
        trainings
            Trainings by the key of their network.
        known
            An ensemble that supplies the networks without a training.
        ties
            What to do with rows that have no clear winner.
        solver, settings
            What the ensemble records about its training.
        """
        taken = self._taken_variants(trainings)
        every = None if taken is None else np.unique(np.concatenate(taken))
        given = len(self.training_set.data)
        rows = self.training_set.rows(every)
        added = (
            (np.empty(0, dtype=np.int64),) * len(self)
            if taken is None or every is None
            else tuple(given + np.searchsorted(every, own) for own in taken)
        )
        record = TrainingRecord(
            settings=settings,
            digest=training_digest(
                rows.rows,
                rows.targets.tolist(),
                None if rows.weights is None else rows.weights.tolist(),
                given,
            ),
            solver=solver,
            rows=rows,
            given_rows=None if taken is None else given,
            added_rows=added,
        )
        parts = {} if known is None else dict(zip(known.keys, known.parts(), strict=True))
        for key, subset, own in zip(self.keys, self.subsets, added, strict=True):
            if key in trainings:
                network = trainings[key].network
                splitting = network.splitting_neurons(rows.rows[rows.of(subset, given, own)])
                parts[key] = network, dict(trainings[key].reports), splitting
        networks, reports, splittings = zip(*(parts[key] for key in self.keys), strict=True)
        return Ensemble(
            classes=self.training_set.classes,
            subsets=self.subsets,
            networks=networks,
            reports=reports,
            splitting=splittings,
            inputs=self.training_set.inputs,
            training=record,
            ties=ties,
        )

    def _taken_variants(self, trainings: Mapping[tuple, Training]) -> list[NDArray[np.integer]] | None:
        """For each network, the positions of the variants that it was trained on; None without scenarios."""
        targets = self.training_set.variant_targets
        if targets is None:
            return None
        pairs = zip(self.subsets, (trainings[key] for key in self.keys), strict=True)
        return [np.flatnonzero(np.isin(targets, subset))[list(training.added)] for subset, training in pairs]


def _some(weights: Integers | None, chosen: NDArray[np.bool_]) -> Integers | None:
    return None if weights is None else weights[chosen]


def _codes(targets: Integers, subset: Integers) -> Integers:
    """Output codes of class indices in the network of a subset."""
    return class_codes(len(subset))[np.searchsorted(subset, targets)]
