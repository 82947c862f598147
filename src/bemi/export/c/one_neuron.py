"""The layout of an ensemble that is a single neuron, such as a scorecard: one loop, no array of inputs, no votes."""

from __future__ import annotations

from string import Template

import numpy as np

from bemi.ensemble.ensemble import Ensemble
from bemi.ensemble.folding import FoldedNetwork
from bemi.export.c.chances import pair_code
from bemi.export.c.costs import CODE, FRAMES, NEURON, Costs
from bemi.export.c.text import Tables, runtime, sum_type
from bemi.export.c.types import InputTypes
from bemi.inputs.export_hooks import CPiece
from bemi.problem.problem import ABSTAIN


class OneNeuron:
    """Everything that the source is written from; attributes as those of :class:`bemi.export.c.layout.Layout`."""

    scaling = window = None

    def __init__(self, ensemble: Ensemble, input_types: InputTypes, network: FoldedNetwork, neuron: CPiece) -> None:
        self.ensemble, self.input_types, self.transform = ensemble, input_types, neuron
        assert network.table is not None
        self.votes = network.table.tolist()
        weights = np.abs(network.network.weights[0][:, network.neurons[0]])
        largest = int(np.abs([input_types.value_low, input_types.value_high]).max())
        # A card starts with all tests failed, and each of its points counts twice.
        self.types = {"bemi_sum_t": sum_type(3 * largest * int(weights.sum()))}
        self.macros = dict(neuron.macros)
        self.tables = Tables()
        self.tables.add_all(neuron)
        self.chances = None
        if ensemble.probabilities is not None:
            self.chances = pair_code(ensemble.probabilities, prepare="", score=f"{neuron.function}(x)")
            self.macros |= self.chances.macros
            self.tables.add_all(self.chances)
        self.costs = self._costs(int(np.count_nonzero(weights)))

    @classmethod
    def of(cls, ensemble: Ensemble, input_types: InputTypes) -> OneNeuron | None:
        """The layout if the ensemble is one neuron that its transform can write as one loop; otherwise None."""
        transform = ensemble.inputs.transform
        if len(ensemble.networks) > 1 or "c_neuron" not in vars(type(transform)):
            return None
        (network,) = ensemble.folded(input_types.value_low, input_types.value_high).networks
        if network.table is None or len(network.neurons) != 1 or ABSTAIN in network.table:
            return None
        neuron = transform.c_neuron(network.network.weights[0][:, network.neurons[0]])  # type: ignore[union-attr]
        return None if neuron is None else cls(ensemble, input_types, network, neuron)

    def code(self) -> list[str]:
        """Functions of the source, in order."""
        negative, positive = self.votes
        decision = Template(runtime("neuron.c"))
        names = {"function": self.transform.function, "negative": negative, "positive": positive}
        chances = [] if self.chances is None else [self.chances.source]
        return [self.transform.source, decision.substitute(names), *chances]

    def _costs(self, links: int) -> Costs:
        parts = [part for part in (self.transform, self.chances) if part is not None]
        steps = self.transform.instructions + NEURON
        return Costs(
            flash=self.tables.bytes + sum(part.code_bytes for part in parts) + CODE["neuron.c"],
            tables=self.tables.bytes,
            stack=FRAMES + self.transform.stack_bytes,
            additions=links,
            instructions=steps,
            without_tie=steps,
        )
