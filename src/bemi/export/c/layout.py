"""The layout of an ensemble in C: types, macros and tables, chosen here and written by ``program.py``."""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

import numpy as np

from bemi.ensemble.ensemble import Ensemble
from bemi.ensemble.folding import EVIDENCE_SCALE, FoldedNetwork
from bemi.ensemble.subsets import class_subsets, memberships
from bemi.export.c import window
from bemi.export.c.batches import Lots, in_lots, save_memory
from bemi.export.c.chances import HEAD, coupled_code, pair_code
from bemi.export.c.costs import CODE, ELECTION, LOTS, PACKED, WORDS, Costs, Work, costs
from bemi.export.c.text import BYTES, Tables, runtime, sum_type
from bemi.export.c.types import TYPES, InputTypes
from bemi.export.c.weights import Encoded, encoded
from bemi.inputs.c_types import read_macro, smallest_type
from bemi.inputs.export_hooks import CCode, CPiece, CWindow, own_piece
from bemi.inputs.fixed_point_c import c_code
from bemi.problem.problem import ABSTAIN

NO_EVIDENCE = 2**32 - 1
LAYERS_INSTEAD = 255
"""Replaces the number of voting neurons: this network has no table."""

MOST = 2**16 - 1
"""Inputs, networks, neurons and table entries are counted in 16 bits."""


class Layout:
    """Everything that the source is written from.

    Attributes
    ----------
    ensemble, input_types
        The exported ensemble, and the types and ranges of its inputs.
    networks
        The networks, folded for these inputs.
    used
        Positions of the inputs of the networks that are computed.
    transform
        The piece of the transform, None without one.
    scaling
        The code that scales readings, None if features enter unchanged.
    chances
        The code that computes chances, None if the ensemble has no probabilities.
    weights
        First-layer weights of all networks, as bytes.
    lots
        The same in lots, which replace the bytes; None if the inputs of the networks are stored.
    window
        The piece of the transform if it reads windows from a ring buffer, else None.
    types, macros
        Types by name, values of macros by name.
    tables
        Constant arrays.
    costs
        Resources needed on a device.
    """

    def __init__(self, ensemble: Ensemble, input_types: InputTypes, optimize: str) -> None:
        self.ensemble, self.input_types = ensemble, input_types
        self.networks = ensemble.folded(input_types.value_low, input_types.value_high).networks
        self.classes = len(ensemble.classes)
        # A single network decides on its own, unless it may abstain.
        first = self.networks[0].table
        self.single = len(self.networks) == 1 and first is not None and ABSTAIN not in first
        self.by_evidence = ensemble.ties.reads_evidence and not self.single
        every = class_subsets(self.classes, 2)
        self.all_pairs = ensemble.subsets.shape == every.shape and bool((ensemble.subsets == every).all())
        self.has_layers = any(n.table is None for n in self.networks)
        # A tie needs the sums of many networks again; up to this many fit on a small device's stack.
        self.keeps_sums = self.by_evidence and len(self.networks) <= 255
        # First-layer neurons of each network: those that its vote depends on, then those that are only evidence.
        self.neurons = [self._neurons(n) for n in self.networks]
        self._check_sizes()
        columns = self._columns()
        self.transform, self.used = _transform_piece(ensemble, input_types, columns)
        self.window = self.transform if isinstance(self.transform, CWindow) else None
        self.scaling = _scaling_code(ensemble, input_types)
        # Upper bound on partial sums of a neuron; with a base weight, the common inputs and the rest add up.
        largest = 3 * ensemble.weight_bound * len(self.used) * self._largest_input()
        self.lots: Lots | None = None
        if self.window is not None and self.window.order is not None:
            self.lots = in_lots(columns, self.window.order, self.window.constant, ensemble.weight_bound)
            self.keeps_sums, largest = False, self.lots.largest
            added = (len(self.used),) * columns.shape[1]
            self.weights = Encoded(LOTS, (), False, added, added)
        else:
            self.weights = encoded(columns[self.used], ensemble.weight_bound, optimize, with_base=largest < 2**31)
        self.types = {"bemi_value_t": "bemi_input_t" if self.transform is None else input_types.value_type}
        self.types["bemi_sum_t"] = sum_type(largest)
        self.macros: dict[str, object] = {}
        self.tables = Tables()
        self._lay_out_weights()
        self._lay_out_votes()
        self._lay_out_evidence()
        self.chances = self._chance_code()
        self._lay_out_pieces()
        self.costs = self._costs()

    def runtime_files(self) -> list[str]:
        """Names of the runtime files that the ensemble needs after the state, in order."""
        return [
            self.weights.file,
            "vote_layers.c" if self.has_layers else "vote_table.c",
            *([] if self.single else ["count.c"]),
            *(["evidence.c"] if self.by_evidence else []),
            "single.c" if self.single else "pairs.c" if self.all_pairs else "sets.c",
        ]

    def code(self) -> list[str]:
        """Functions of the source, in order."""
        ties = "" if self.single else runtime(self.ensemble.ties.piece("C")).rstrip()
        *parts, decision = self.runtime_files()
        return [
            *([] if self.scaling is None else [self.scaling.source]),
            *([] if self.lots is None else [runtime("lots.c")]),
            *([] if self.transform is None else [self.transform.source]),
            runtime("state.c" if self.lots is None else "state_lots.c"),
            *map(runtime, parts),
            Template(runtime(decision)).substitute(head=self._head(), prepare=self._prepare(), ties=ties),
            *([] if self.chances is None else [self.chances.source]),
            *([] if self.window is None else window.code(self.chances is not None)),
        ]

    def _head(self) -> str:
        return "int bemi_predict(const bemi_input_t x[BEMI_INPUTS])" if self.window is None else window.HEAD

    def _prepare(self) -> str:
        """Statements that make the state of a prediction."""
        given = "x" if self.window is None else "x, oldest"
        prepare = ["    state.z = x;", "    state.common = 0;"]
        if self.transform is not None:
            values, function = f"    bemi_value_t z[{len(self.used)}];", self.transform.function
            prepare = [values, f"    {function}({given}, z);", "    state.z = z;", "    state.common = 0;"]
            if self.lots is not None:
                prepare = ["    bemi_start(state.sums);", f"    {function}({given}, state.sums);"]
        if self.weights.has_common:
            prepare.append(f"    state.common = bemi_sum(&state, {len(self.weights.neurons) - 1});")
        return "\n".join(["    bemi_state_t state;", *prepare])

    def _neurons(self, network: FoldedNetwork) -> list[int]:
        if self.ensemble.probabilities is not None:
            return [0]  # a score has a chance even if its sign cannot change
        own = network.neurons.tolist()
        return own + [i for i in network.split.tolist() if self.by_evidence and i not in own]

    def _columns(self) -> np.ndarray:
        """Weights of all first-layer neurons that are computed, shape (inputs of the networks, neurons)."""
        if not any(self.neurons):
            # All votes are constant.  C has no empty tables, so one unused neuron is written.
            return np.zeros((len(self.input_types.value_low), 1), dtype=np.int64)
        parts = zip(self.networks, self.neurons, strict=True)
        return np.concatenate([n.network.weights[0][:, own] for n, own in parts], axis=1)

    def _largest_input(self) -> int:
        return int(np.abs([self.input_types.value_low, self.input_types.value_high]).max())

    def _check_sizes(self) -> None:
        counts = {
            "inputs": len(self.input_types.value_low),
            "networks": len(self.networks),
            "neurons": sum(map(len, self.neurons)),
            "places in tables": sum(len(n.table) for n in self.networks if n.table is not None),
        }
        for name, count in counts.items():
            if count > MOST:
                raise ValueError(f"the ensemble has {count} {name}, and the C export counts up to {MOST}")
        # |w x| floor(2^24 / |w|_1) <= 2^24 max |x|, summed over a class's networks; if classes are in different numbers
        # of networks, sums are multiplied by these to compare shares.
        members = memberships(self.ensemble.subsets, self.classes)
        times = 1 if members.min() == members.max() else int(members.max())
        largest = EVIDENCE_SCALE * self._largest_input() * int(members.max()) * times
        if self.by_evidence and largest >= 2**64:
            raise ValueError("sums of evidence for ties may exceed 64 bits; scale the data down or use ties='abstain'")

    def _lay_out_weights(self) -> None:
        if self.lots is not None:
            starts = self.lots.starts
            kind = smallest_type(min(starts), max(starts), ("int16_t", "int32_t"))
            self._reader("START_SUM", kind)
            self.tables.add("bemi_starts", kind, starts)
            self.tables.add("bemi_weights", "uint32_t", self.lots.words)
            self.macros |= {"BEMI_NEURONS": len(starts), "BEMI_WEIGHT_BOUND": self.ensemble.weight_bound}
            # All sums are known before the first vote.
            self.macros["BEMI_NO_EARLY_OUT"] = 1
            return
        places = np.cumsum([0, *map(len, self.weights.neurons)]).tolist()
        self._reader("PLACE", kind := "uint16_t" if places[-1] <= MOST else "uint32_t")
        self.tables.add("bemi_weights_at", kind, places)
        self.tables.add("bemi_weights", "uint8_t", b"".join(self.weights.neurons))
        if self.weights.file == WORDS:
            for name, kind, column in (("bemi_word_steps", "uint8_t", 0), ("bemi_word_weights", "int8_t", 1)):
                self.tables.add(name, kind, [word[column] for word in self.weights.dictionary])
        if self.weights.bits:
            self.macros["BEMI_WEIGHT_BOUND"] = self.ensemble.weight_bound
        if self.weights.file == PACKED:
            self.macros["BEMI_BITS"] = self.weights.bits
            self.types["bemi_bits_t"] = "uint_fast16_t" if self.weights.bits <= 8 else "uint_fast32_t"

    def _lay_out_votes(self) -> None:
        """Where the neurons of a network are, what their signs mean, and which classes it tells apart."""
        none = 255 if self.classes < 255 else MOST
        self._reader("CLASS", kind := "uint8_t" if none == 255 else "uint16_t")
        self.types["bemi_class_t"] = kind
        self.macros |= {"BEMI_NETWORKS": len(self.networks), "BEMI_NONE": none, "BEMI_KEEP_SUMS": int(self.keeps_sums)}
        self.macros["BEMI_SUBSET_SIZE"] = self.ensemble.subsets.shape[1]
        starts = np.cumsum([0, *map(len, self.neurons)]).tolist()
        self._reader("NEURON", neuron_kind := "uint8_t" if starts[-1] <= 255 else "uint16_t")
        self.tables.add("bemi_neurons_at", neuron_kind, starts)
        voting = [LAYERS_INSTEAD if n.table is None else len(n.neurons) for n in self.networks]
        self.tables.add("bemi_voting", "uint8_t", voting)
        places: list[int] = []
        votes: list[int] = []
        layered = [n for n in self.networks if n.table is None]
        for n in self.networks:
            places.append(layered.index(n) if n.table is None else len(votes))
            votes += [] if n.table is None else n.table.tolist()
        self.tables.add("bemi_tables_at", "uint16_t", places)
        self.tables.add("bemi_tables", kind, [none if vote == ABSTAIN else vote for vote in votes or [ABSTAIN]])
        if layered:
            self._lay_out_layers(layered)
        if layered or not (self.all_pairs or self.single):
            self.tables.add("bemi_subsets", kind, self.ensemble.subsets.reshape(-1).tolist())
        members = memberships(self.ensemble.subsets, self.classes)
        self.macros["BEMI_NETWORKS_OF(a)"] = 1
        if members.min() < members.max():
            self.tables.add("bemi_memberships", "uint16_t", members.tolist())
            self.macros["BEMI_NETWORKS_OF(a)"] = "BEMI_READ16(bemi_memberships[a])"

    def _lay_out_layers(self, layered: Sequence[FoldedNetwork]) -> None:
        """Per network: signs of the first layer, 0 if they depend on the input, and the upper weights, by neuron."""
        rows = [np.concatenate([n.fixed, *(w.T.reshape(-1) for w in n.network.weights[1:])]) for n in layered]
        bound = self.ensemble.weight_bound
        kind = next(k for k in ("int8_t", "int16_t", "int32_t") if bound < 2 ** (8 * BYTES[k] - 1))
        self._reader("UPPER", kind)
        self.types["bemi_upper_t"] = kind
        self.tables.add("bemi_upper", kind, np.concatenate(rows).tolist())
        sizes = layered[0].network.layers[1:]
        self.tables.add("bemi_layers", "uint16_t", sizes)
        self.macros |= {"BEMI_LAYERS": len(sizes), "BEMI_WIDEST_LAYER": max(sizes), "BEMI_UPPER_SIZE": len(rows[0])}
        self.macros["BEMI_LAYERS_INSTEAD"] = LAYERS_INSTEAD

    def _lay_out_evidence(self) -> None:
        if not self.by_evidence:
            return
        scales = []
        for network, own in zip(self.networks, self.neurons, strict=True):
            known = dict(zip(network.split.tolist(), network.scales.tolist(), strict=True))
            scales += [known.get(neuron, NO_EVIDENCE) for neuron in own]
        self.tables.add("bemi_scales", "uint32_t", scales or [NO_EVIDENCE])
        self.macros["BEMI_NO_EVIDENCE"] = f"{NO_EVIDENCE}UL"

    def _chance_code(self) -> CCode | None:
        probabilities = self.ensemble.probabilities
        if probabilities is None:
            return None
        head = HEAD if self.window is None else window.HEAD_OF_CHANCES
        if self.classes == 2:
            return pair_code(probabilities, prepare=self._prepare(), score="bemi_sum(&state, 0)", head=head)
        return coupled_code(probabilities, prepare=self._prepare(), head=head)

    def _lay_out_pieces(self) -> None:
        for part in (self.scaling, self.transform, self.chances):
            if part is not None:
                self.macros |= part.macros
                self.tables.add_all(part)

    def _reader(self, name: str, kind: str) -> None:
        self.macros |= read_macro(name, kind)

    def _costs(self) -> Costs:
        voting: list[int] = []
        again: list[int] = []
        starts = np.cumsum([0, *map(len, self.neurons[:-1])])
        for n, own, start in zip(self.networks, self.neurons, starts, strict=True):
            voting += range(start, start + len(n.neurons))
            kept = n.neurons[:1].tolist() if self.keeps_sums else []
            if self.lots is None:
                again += [start + own.index(i) for i in n.split.tolist() if self.by_evidence and i not in kept]
        if self.weights.has_common:
            voting.append(len(self.weights.neurons) - 1)
        above = self.ensemble.networks[0].weights[1:] if self.has_layers else ()
        further = [n.network.layers[1] if n.table is None else len(n.neurons) for n in self.networks]
        work = Work(
            file=self.weights.file,
            bits=self.weights.bits,
            lots=0 if self.lots is None else len(self.lots.words) // len(self.lots.starts),
            networks=len(self.networks),
            additions=sum(self.weights.additions[i] for i in voting),
            groups=sum(self.weights.groups[i] for i in voting),
            neurons=sum(max(0, count - 1) for count in further) + len(self.networks) * sum(w.shape[1] for w in above),
            tie_additions=sum(self.weights.additions[i] for i in again),
            tie_groups=sum(self.weights.groups[i] for i in again),
            tie_neurons=len(again),
            classes=self.classes,
            upper=len(self.networks) * sum(w.size for w in above),
            by_evidence=self.by_evidence,
        )
        files = self.runtime_files()
        if self.single and len(self.networks[0].neurons) < 2:
            files.remove("vote_table.c")  # A loop of one turn is nothing.
        static = 0
        if self.window is not None:
            files += window.files(self.lots is not None, self.chances is not None)
            static = window.static_bytes(self.window, self.input_types.type)
        others = (self.scaling, self.chances)
        return costs(files, self.tables.bytes, self._stack_arrays(), work, self.transform, *others, static=static)

    def _stack_arrays(self) -> int:
        """Bytes of arrays on the stack, without those of the transform."""
        arrays = len(self.networks) * BYTES[self.types["bemi_class_t"]]
        arrays += self.classes * (BYTES[self.types["bemi_class_t"]] if self.all_pairs else 2)
        arrays += 4 * len(self.networks) * self.keeps_sums
        if self.lots is not None:
            arrays += 4 * len(self.lots.starts)
        elif self.transform is not None:
            arrays += len(self.used) * BYTES[self.input_types.value_type]
        if self.chances is not None and self.classes > 2:
            arrays += 4 * self.classes + ELECTION
        if self.has_layers:
            arrays += 2 * max(self.ensemble.layers[1:])
        return arrays


def _transform_piece(
    ensemble: Ensemble, input_types: InputTypes, columns: np.ndarray
) -> tuple[CPiece | None, np.ndarray]:
    """The piece of the transform, and which of its outputs it computes: if it can select, those with a link."""
    transform, used = ensemble.inputs.transform, np.arange(len(columns))
    if transform is None:
        return None, used
    if "c_window" in vars(type(transform)):
        inputs, neurons = columns.shape
        lots = save_memory(inputs, neurons, ensemble.weight_bound)
        made: CWindow = transform.c_window(lots)  # type: ignore[attr-defined]
        return made, used if made.order is None else np.array(made.order)
    piece, kind = own_piece(transform, "c_piece", "C"), TYPES[input_types.type]
    if not getattr(transform, "selects_outputs", False):
        return piece(*kind), used
    # C has no empty arrays, so without any link one output is computed.
    used = used[columns.any(axis=1)] if columns.any() else used[-1:]
    return piece(*kind, used.tolist()), used


def _scaling_code(ensemble: Ensemble, input_types: InputTypes) -> CCode | None:
    """``bemi_scale``, with the saturation of the scaling and of the input type."""
    scaling = ensemble.inputs.scaling
    if scaling.scale is None:
        return None
    low, high = input_types.low, input_types.high
    if scaling.limit is not None:
        low, high = max(low, -scaling.limit), min(high, scaling.limit)
    return c_code(scaling.scale, low, high).followed_by(runtime("scale.c"), CODE["scale.c"])
