"""Which networks an ensemble needs, each made into a task only when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from bemi.problem.codes import class_codes
from bemi.problem.problem import Problem
from bemi.products import Integers
from bemi.training.task import Task
from bemi.training.variants import Variants


@dataclass(frozen=True, eq=False)
class Plan(Sequence[Task]):
    """The networks to train.

    All tasks share these rows; thousands of networks with copies of their own would not fit into memory.

    Attributes
    ----------
    keys, subsets
        Labels, and class indices, of every network's classes.
    data, targets
        Training rows and their class indices.
    hidden_layers, weight_bound
        Of every network.
    settings
        What else a :class:`Task` takes.
    variants, variant_targets
        All variants of the rows and their class indices, None without scenarios.
    """

    keys: list[tuple]
    subsets: Integers
    data: Integers
    targets: Integers
    hidden_layers: tuple[int, ...]
    weight_bound: int
    settings: dict[str, Any]
    variants: NDArray[np.integer] | None = None
    variant_targets: Integers | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def part(self, positions: Iterable[int]) -> Plan:
        """Some of the networks."""
        chosen = list(positions)
        return replace(self, keys=[self.keys[i] for i in chosen], subsets=self.subsets[chosen])

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Task]: ...
    def __getitem__(self, index: int | slice) -> Task | Sequence[Task]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        subset = self.subsets[index]
        own = np.isin(self.targets, subset)
        codes = codes_of(self.targets[own], subset)
        variants = None
        if self.variants is not None and self.variant_targets is not None:
            chosen = np.isin(self.variant_targets, subset)
            variants = Variants(self.variants[chosen], codes_of(self.variant_targets[chosen], subset))
        problem = Problem(self.data[own], codes, self.hidden_layers, self.weight_bound)
        return Task(problem=problem, variants=variants, **self.settings)


def codes_of(targets: Integers, subset: Integers) -> Integers:
    """Output codes of class indices in the network of a subset."""
    return class_codes(len(subset))[np.searchsorted(subset, targets)]


def keys_of(classes: NDArray, subsets: Integers) -> list[tuple]:
    """Labels of the classes of each subset."""
    return [tuple(classes[subset].tolist()) for subset in subsets]
