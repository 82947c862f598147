"""The networks that an ensemble needs, each turned into a task on access, and the ensemble that they form."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_random_state

from bemi import solvers
from bemi.certificate import training_digest
from bemi.checks import is_integer, is_list
from bemi.ensemble.ensemble import Ensemble, TrainingRecord, keys_of
from bemi.ensemble.ties import TieRule
from bemi.exact import Integers, in_pieces, shortest, signed
from bemi.limits import Limits
from bemi.problem.problem import Problem, class_codes, signs_towards_later_classes
from bemi.settings import RECORDED, SETTINGS
from bemi.stages.registry import get, parameters_read
from bemi.training.pipeline import Training, Variants, shortfall, stage_parameters, train, train_lazily, untrained
from bemi.training.training_set import TrainingSet

LEAST_SECONDS = 0.01
"""Training does not begin with less time than this."""


@dataclass(frozen=True, eq=False)
class Task:
    """One network to train: all arguments of :func:`bemi.training.pipeline.train`, and variants of the rows, if any."""

    problem: Problem
    stages: tuple[str, ...]
    engine: str
    solver: str
    time_limit: float | tuple[float, ...] | None
    gap: float | None
    limits: Limits
    parameters: Mapping[str, Any] = field(default_factory=dict)
    variants: Variants | None = None
    total_time_limit: float | None = None

    def run(self, seconds: float | None = None) -> Training:
        """Train; ``seconds`` may shorten the time limit.

        A stage takes longer than ``LEAST_SECONDS`` however short its limit.  If less time is left, the result is the
        start network, unless a stage is quick.
        """
        if seconds is not None and seconds < LEAST_SECONDS and not any(get(stage).quick for stage in self.stages):
            training = untrained(self.problem, self.stages, max(0.0, seconds))
            violated = 0 if self.variants is None else int((shortfall(training, self.variants) > 0).sum())
            return replace(training, violated=violated)
        settings: dict[str, Any] = {
            "engine": self.engine,
            "solver": self.solver,
            "time_limit": shortened(self.time_limit, None if seconds is None else max(LEAST_SECONDS, seconds)),
            "gap": self.gap,
            "limits": self.limits,
            **stage_parameters(self.stages, self.parameters),
        }
        if self.variants is None:
            return train(self.problem, self.stages, **settings)
        return train_lazily(self.problem, self.variants, self.stages, **settings)

    def key(self) -> str:
        """A digest of everything that determines the result: data, parameters, and versions of bemi and the solver."""
        settings = {
            "versions": _versions(self.solver),
            "solver": self.solver,
            "engine": self.engine,
            "stages": self.stages,
            "time_limit": self.time_limit,
            "gap": self.gap,
            "limits": asdict(self.limits),
            "total_time_limit": self.total_time_limit,
            "parameters": stage_parameters(self.stages, self.parameters),
            "layers": self.problem.layers,
            "weight_bound": self.problem.weight_bound,
            "uncounted": self.problem.uncounted,
        }
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
        problem, variants = self.problem, self.variants
        arrays: list[NDArray[Any] | None] = [problem.data, problem.codes, problem.row_weights, problem.signs]
        arrays += [None] * 3 if variants is None else [variants.data, variants.codes, variants.row_weights]
        for array in arrays:
            # What is left out has no dimensions, unlike anything that is there.
            there: NDArray[Any] = np.array(0) if array is None else array
            digest.update(np.array([there.ndim, *there.shape], dtype="<i8").tobytes())
            for part in map(shortest, in_pieces(np.atleast_2d(there))):
                kind = part.dtype.newbyteorder("<")
                digest.update(kind.str.encode() + np.ascontiguousarray(part, dtype=kind).tobytes())
        return digest.hexdigest()[:40]


@cache
def _versions(solver: str) -> tuple[str, str]:
    return version("bemi"), solvers.get(solver).version()


def shortened(time_limit: float | tuple[float, ...] | None, seconds: float | None) -> float | tuple[float, ...] | None:
    """A time limit of at most ``seconds`` in total, with the same shares for the stages."""
    if seconds is None or time_limit is None:
        return seconds if time_limit is None else time_limit
    whole = sum(time_limit) if isinstance(time_limit, tuple) else time_limit
    share = min(1.0, seconds / whole)
    return tuple(share * s for s in time_limit) if isinstance(time_limit, tuple) else share * time_limit


Settings = Mapping[str, Any]
"""All settings of training by name, see :mod:`bemi.settings`; nothing is left to choose."""


def seed_of(random_state: Any) -> int:
    """An integer seed; None means a fixed one."""
    seed: Any = 0 if random_state is None else random_state
    if not is_integer(seed):
        seed = check_random_state(seed).randint(2**31 - 1)
    return int(seed) % 2**31


def task_settings(chosen: Settings) -> dict[str, Any]:
    """Arguments of :class:`bemi.training.plan.Task` that are the same for all networks."""
    seconds = chosen["time_limit"]
    if is_list(seconds):
        seconds = tuple(float(s) for s in seconds)
    total = chosen["total_time_limit"]
    return {
        "stages": tuple(chosen["stages"]),
        "engine": chosen["engine"],
        "solver": chosen["solver"],
        "time_limit": seconds,
        "gap": None if chosen["gap"] is None else float(chosen["gap"]),
        "limits": Limits(nodes=chosen["node_limit"], seed=seed_of(chosen["random_state"])),
        "parameters": {
            # Of the default's type, so that C=1 and C=1.0 are the same task.
            name: _plain(chosen[name]) if SETTINGS[name].default is None else type(SETTINGS[name].default)(chosen[name])
            for name in parameters_read(chosen["stages"])
        },
        "total_time_limit": None if total is None else float(total),
    }


def recorded(chosen: Settings) -> dict[str, Any]:
    """What a fitted ensemble records: the estimator's name, and the settings that are part of a model."""
    record = {name: chosen[name] for name in ("estimator", *RECORDED)}
    for name in ("hidden_layers", "stages"):
        record[name] = tuple(record[name])
    record["probabilities"] = bool(record["probabilities"])
    seed = record["random_state"]
    record["random_state"] = int(seed) if is_integer(seed) else None
    for name, value in record.items():
        if isinstance(value, Mapping):
            record[name] = {_plain(key): _plain(item) for key, item in value.items()}
    return record


def _plain(value: Any) -> Any:
    """A NumPy scalar as a Python one."""
    return value.item() if isinstance(value, np.generic) else value


def check_solver(solver: str, stages: Iterable[str]) -> None:
    """Raise ValueError unless the solver can solve the programs of all stages."""
    if not solvers.integers_only(solver):
        return
    for stage in map(get, stages):
        if not stage.whole_numbers:
            raise ValueError(
                f"solver {solver!r} solves programs of integers only, and stage {stage.name!r} has continuous columns; "
                f"use another solver, such as {SETTINGS['solver'].default!r}"
            )


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
            variants = Variants(_some(rows.variants, chosen), codes, _some(rows.variant_weights, chosen))
        problem = Problem(
            signed(_some(rows.data, own)),
            _codes(_some(rows.targets, own), subset),
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
        """For each network, the positions of the variants that it was trained on, if it was; None without scenarios."""
        targets = self.training_set.variant_targets
        if targets is None:
            return None
        added = [list(trainings[key].added) if key in trainings else [] for key in self.keys]
        return [np.flatnonzero(np.isin(targets, subset))[own] for subset, own in zip(self.subsets, added, strict=True)]


def _some(rows: NDArray[np.integer] | None, chosen: NDArray[np.bool_]) -> Any:
    """The chosen ones, without a copy if these are all; None if there are none to choose from."""
    return rows if rows is None or chosen.all() else rows[chosen]


def _codes(targets: Integers, subset: Integers) -> Integers:
    """Output codes of class indices in the network of a subset."""
    return class_codes(len(subset))[np.searchsorted(subset, targets)]
