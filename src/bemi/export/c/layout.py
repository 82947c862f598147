"""The layout of an ensemble in C: types, macros and tables, chosen here and written by ``writing.py``."""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

import numpy as np

from bemi.ensemble.ensemble import Ensemble
from bemi.ensemble.folding import EVIDENCE_SCALE, FoldedNetwork
from bemi.ensemble.subsets import class_subsets, memberships
from bemi.ensemble.unknown import MOST_MARGINS, count_of_values, looks_at_columns
from bemi.export.c import unknown
from bemi.export.c.costs import BATCHES, CODE, ELECTION, FRAMES, NEURON, PACKED, WORDS, Costs, Work, costs
from bemi.export.c.extras import (
    DECIDE,
    DECIDE_PROBA,
    PREDICT,
    PREDICT_PROBA,
    coupled_probabilities,
    probabilities_of_two,
    stream_bytes,
    stream_files,
)
from bemi.export.c.inputs import TYPES, InputTypes
from bemi.export.c.text import BYTES, Tables, runtime, sum_type
from bemi.export.c.weights import AS_WORDS, Batches, Encoded, encoded, save_memory, weights_in_batches
from bemi.inputs.export_hooks import CCode, CTransform, CWindow, export_hook, read_macro, smallest_type
from bemi.problem.problem import ABSTAIN

NO_EVIDENCE = 2**32 - 1
LAYERS_INSTEAD = 255
"""Replaces the number of voting neurons: this network has no table."""

ELECTED = {"pairs.c": ("pair.c", "elected_pairs.c"), "sets.c": ("elected_sets.c",), "single.c": ()}
"""What a decision needs once all networks have voted, by its file."""

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
        The code of the transform, None without one.
    scaling
        The code that scales readings, None if features enter unchanged.
    probabilities
        The code that computes probabilities, None if the ensemble has none.
    known
        The code that recognizes unknown rows, None if every row is labelled.
    learn
        Whether classes are learned on the device.
    weights
        First-layer weights of all networks, as bytes.
    batches
        The same in batches, which replace the bytes; None if the inputs of the networks are stored.
    window
        The code of the transform if it reads windows from a ring buffer, else None.
    types, macros
        Types by name, values of macros by name.
    tables
        Constant arrays.
    costs
        Resources needed on a device.
    """

    def __init__(self, ensemble: Ensemble, input_types: InputTypes, optimize: str, *, learn: bool = False) -> None:
        self.ensemble, self.input_types, self.learn = ensemble, input_types, learn
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
        self.has_margins = ensemble.known_ranges is not None and ensemble.known_ranges.needs_scores
        self.keeps_sums = (self.by_evidence and len(self.networks) <= MOST_MARGINS) or self.has_margins
        # First-layer neurons of each network: those that its vote depends on, then those that are only evidence.
        self.neurons = [self._neurons(n) for n in self.networks]
        self._check_sizes()
        columns = self._columns()
        self.transform, self.used = _transform_code(ensemble, input_types, columns, optimize != AS_WORDS)
        self.window = self.transform if isinstance(self.transform, CWindow) else None
        self.scaling = _scaling_code(ensemble, input_types)
        # Upper bound on partial sums of a neuron; with a base weight, the common inputs and the rest add up.
        largest = 3 * ensemble.weight_bound * len(self.used) * self._largest_input()
        self.batches: Batches | None = None
        if self.window is not None and self.window.order is not None:
            self.batches = weights_in_batches(columns, self.window.order, self.window.constant, ensemble.weight_bound)
            self.keeps_sums, largest = False, self.batches.largest
            added = (len(self.used),) * columns.shape[1]
            self.weights = Encoded(BATCHES, (), False, added, added)
        else:
            self.weights = encoded(columns[self.used], ensemble.weight_bound, optimize, with_base=largest < 2**31)
        self.types = {"bemi_value_t": "bemi_input_t" if self.transform is None else input_types.value_type}
        self.types["bemi_sum_t"] = sum_type(largest)
        self.macros: dict[str, object] = {}
        self.tables = Tables()
        self._lay_out_weights()
        self._lay_out_votes()
        self._lay_out_evidence()
        self.known = self._known_code()
        self.probabilities = self._probability_code()
        self._lay_out_parts()
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
        decided = "\n".join(map(runtime, (*ELECTED[decision], decision)))
        return [
            *([] if self.scaling is None else [self.scaling.source]),
            *([] if self.batches is None else [runtime("batches.c")]),
            *([] if self.transform is None else [self.transform.source]),
            runtime("state.c" if self.batches is None else "state_batches.c"),
            *map(runtime, parts),
            Template(decided).substitute(head=self._head(), prepare=self._prepare(), ties=ties),
            *([] if self.probabilities is None else [self.probabilities.source]),
            *([] if self.known is None else [self.known.source, *self._rejecting()]),
            *([] if self.window is None else map(runtime, stream_files(proba=self.probabilities is not None))),
        ]

    def _head(self, proba: bool = False) -> str:
        """Declaration of the function that labels a row; what it calls knows no unknown rows."""
        if self.known is None:
            return _heads(self.window is not None)[proba]
        given = "const bemi_input_t *x" + ", uint_fast16_t oldest" * (self.window is not None)
        given += ", uint16_t *p" * proba + f", {self._handed[0]} *{self._handed[1]}" * self._hands_on
        given += ", bemi_state_t *state" * self.has_margins
        return f"static int bemi_label{'_proba' * proba}({given})"

    @property
    def _hands_on(self) -> bool:
        """Whether a function hands on what features are made of, because its caller does not have that."""
        return self.known is not None and not looks_at_columns(self.ensemble.inputs)

    @property
    def _handed(self) -> tuple[str, str]:
        """Type and name of that."""
        return ("bemi_value_t", "z") if self.window is None else ("int8_t", "summed")

    def _rejecting(self) -> list[str]:
        """The functions that leave unknown rows without a label."""
        heads = _heads(self.window is not None)[: 1 if self.probabilities is None else 2]
        given = "x" if self.window is None else "x, oldest"
        values, room, handed, margin = "x", "", "", ""
        if self._hands_on:
            kind, values = self._handed
            size = len(self.used) if self.window is None else count_of_values(self.ensemble.inputs)
            room, handed = f"    {kind} {values}[{size}];\n", f", {values}"
        if self.has_margins:
            room, handed, margin = (
                f"{room}    bemi_state_t state;\n",
                f"{handed}, &state",
                ", bemi_margin(&state, label)",
            )
        labels = [f"bemi_label({given}{handed})", f"bemi_label_proba({given}, p{handed})"]
        made = [
            unknown.rejecting(head, label, values, room, margin) for head, label in zip(heads, labels, strict=False)
        ]
        if self.learn:
            kind = self._handed[0] if self._hands_on else "bemi_input_t"
            made += unknown.learning(kind, labels[0], values, room, margin, in_window=self.window is not None)
        return made

    def _known_code(self) -> CCode | None:
        ranges = self.ensemble.known_ranges
        if ranges is None:
            return None
        if looks_at_columns(self.ensemble.inputs):
            return unknown.of_columns(ranges, "bemi_input_t")
        used = self.used.tolist() if self.window is None else range(count_of_values(self.ensemble.inputs))
        return unknown.of_inputs(ranges, self._handed[0], used)

    def _prepare(self) -> str:
        """Statements that make the state of a prediction."""
        given = "x" if self.window is None else "x, oldest"
        prepare = ["    state->z = x;", "    state->common = 0;"]
        if self.transform is not None:
            values, function = f"    bemi_value_t z[{len(self.used)}];", self.transform.function
            summed = ", summed" * (self._hands_on and self.window is not None)
            prepare = [values, f"    {function}({given}, z{summed});", "    state->z = z;", "    state->common = 0;"]
            if self._hands_on and not summed:
                prepare = prepare[1:]
            if self.batches is not None:
                prepare = ["    bemi_start(state->sums);", f"    {function}({given}, state->sums{summed});"]
        if self.weights.has_common:
            prepare.append(f"    state->common = bemi_sum(state, {len(self.weights.neurons) - 1});")
        # With margins the caller reads the state, too.
        own = [] if self.has_margins else ["    bemi_state_t own, *const state = &own;"]
        return "\n".join([*own, *prepare])

    def _neurons(self, network: FoldedNetwork) -> list[int]:
        if self.ensemble.probabilities is not None or self.has_margins:
            return [0]  # a score has a probability, and is a margin, even if its sign cannot change
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
        if self.batches is not None:
            starts = self.batches.starts
            kind = smallest_type(min(starts), max(starts), ("int16_t", "int32_t"))
            self._reader("START_SUM", kind)
            self.tables.add("bemi_starts", kind, starts)
            self.tables.add("bemi_weights", "uint32_t", self.batches.words)
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
        votes_of = [[] if n.table is None else n.table.tolist() for n in self.networks]
        if self.has_margins:
            # The margin of a network that always gives the same vote needs its sum, too.
            votes_of = [2 * own if len(own) == 1 else own for own in votes_of]
        voting = [len(own).bit_length() - 1 if own else LAYERS_INSTEAD for own in votes_of]
        self.tables.add("bemi_voting", "uint8_t", voting)
        places: list[int] = []
        votes: list[int] = []
        layered = [n for n in self.networks if n.table is None]
        for n, own in zip(self.networks, votes_of, strict=True):
            places.append(layered.index(n) if n.table is None else len(votes))
            votes += own
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
            by_neuron = dict(zip(network.split.tolist(), network.scales.tolist(), strict=True))
            scales += [by_neuron.get(neuron, NO_EVIDENCE) for neuron in own]
        self.tables.add("bemi_scales", "uint32_t", scales or [NO_EVIDENCE])
        self.macros["BEMI_NO_EVIDENCE"] = f"{NO_EVIDENCE}UL"

    def _probability_code(self) -> CCode | None:
        probabilities = self.ensemble.probabilities
        if probabilities is None:
            return None
        head = self._head(proba=True)
        if self.classes == 2:
            score = "bemi_sum(state, 0)"
            return probabilities_of_two(probabilities, prepare=self._prepare(), score=score, head=head)
        return coupled_probabilities(probabilities, prepare=self._prepare(), head=head)

    def _lay_out_parts(self) -> None:
        for part in (self.scaling, self.transform, self.known, self.probabilities):
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
            if self.batches is None:
                again += [start + own.index(i) for i in n.split.tolist() if self.by_evidence and i not in kept]
        if self.weights.has_common:
            voting.append(len(self.weights.neurons) - 1)
        above = self.ensemble.networks[0].weights[1:] if self.has_layers else ()
        further = [n.network.layers[1] if n.table is None else len(n.neurons) for n in self.networks]
        work = Work(
            file=self.weights.file,
            bits=self.weights.bits,
            batches=0 if self.batches is None else len(self.batches.words) // len(self.batches.starts),
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
        state = 0
        if self.window is not None:
            files += [
                *([] if self.batches is None else ["batches.c"]),
                *stream_files(proba=self.probabilities is not None),
            ]
            state = stream_bytes(self.window, self.input_types.type)
        others = (self.scaling, self.probabilities, self.known)
        ranges, after = self.ensemble.known_ranges, 0
        if ranges is not None:
            after = unknown.instructions(ranges)
        arrays = self._stack_arrays()
        return costs(files, self.tables.bytes, arrays, work, self.transform, *others, state=state, further=after)

    def _stack_arrays(self) -> int:
        """Bytes of arrays on the stack, without those of the transform."""
        arrays = len(self.networks) * BYTES[self.types["bemi_class_t"]]
        arrays += self.classes * (BYTES[self.types["bemi_class_t"]] if self.all_pairs else 2)
        arrays += 4 * len(self.networks) * self.keeps_sums
        if self.batches is not None:
            arrays += 4 * len(self.batches.starts)
        elif self.transform is not None:
            arrays += len(self.used) * BYTES[self.input_types.value_type]
        if self.probabilities is not None and self.classes > 2:
            arrays += 4 * self.classes + ELECTION
        if self.has_layers:
            arrays += 2 * max(self.ensemble.layers[1:])
        if self.ensemble.known_ranges is not None:
            arrays += unknown.stack_bytes(self.ensemble.known_ranges)
            if self.window is not None:
                arrays += count_of_values(self.ensemble.inputs)
        return arrays


def _transform_code(
    ensemble: Ensemble, input_types: InputTypes, columns: np.ndarray, may_save_memory: bool
) -> tuple[CTransform | None, np.ndarray]:
    """The code of the transform, and which of its outputs it computes: if it can select, those with a link."""
    transform, used = ensemble.inputs.transform, np.arange(len(columns))
    if transform is None:
        return None, used
    if "c_window" in vars(type(transform)):
        inputs, neurons = columns.shape
        in_batches = may_save_memory and save_memory(inputs, neurons, ensemble.weight_bound)
        summed = ensemble.known_ranges is not None
        made: CWindow = transform.c_window(in_batches, summed)  # type: ignore[attr-defined]
        return made, used if made.order is None else np.array(made.order)
    c_code, (low, high) = export_hook(transform, "c_code", "C"), TYPES[input_types.type]
    if not getattr(transform, "selects_outputs", False):
        return c_code(low, high), used
    linked = np.asarray(columns.any(axis=1))
    if ensemble.known_ranges is not None and not looks_at_columns(ensemble.inputs):
        linked[ensemble.known_ranges.positions] = True
    # C has no empty arrays, so without any link one output is computed.
    used = used[linked] if linked.any() else used[-1:]
    return c_code(low, high, used.tolist()), used


def _scaling_code(ensemble: Ensemble, input_types: InputTypes) -> CCode | None:
    """``bemi_scale``, with the saturation of the scaling and of the input type."""
    scaling = ensemble.inputs.scaling
    if scaling.scale is None:
        return None
    low, high = input_types.low, input_types.high
    if scaling.limit is not None:
        low, high = max(low, -scaling.limit), min(high, scaling.limit)
    return scaling.scale.c_code(low, high).followed_by(runtime("scale.c"), CODE["scale.c"])


def _heads(in_window: bool) -> tuple[str, str]:
    """Declarations of the functions that label a row, without and with probabilities."""
    return (DECIDE, DECIDE_PROBA) if in_window else (PREDICT, PREDICT_PROBA)


class OneNeuron:
    """The layout of an ensemble that is a single neuron, such as a scorecard: no array of inputs, no votes.

    Attributes are those of :class:`Layout`.
    """

    scaling = window = None

    def __init__(
        self, ensemble: Ensemble, input_types: InputTypes, network: FoldedNetwork, neuron: CTransform, *, learn: bool
    ) -> None:
        self.ensemble, self.input_types, self.transform, self.learn = ensemble, input_types, neuron, learn
        assert network.table is not None
        self.votes = network.table.tolist()
        weights = np.abs(network.network.weights[0][:, network.neurons[0]])
        largest = int(np.abs([input_types.value_low, input_types.value_high]).max())
        # A card starts with all tests failed, and each of its points counts twice.
        self.types = {"bemi_sum_t": sum_type(3 * largest * int(weights.sum()))}
        self.macros = dict(neuron.macros)
        self.tables = Tables()
        self.tables.add_all(neuron)
        ranges, self.probabilities = ensemble.known_ranges, None
        self.known = None if ranges is None else unknown.of_columns(ranges, "bemi_input_t")
        if ensemble.probabilities is not None:
            score = f"{neuron.function}(x)"
            head = self._head(proba=True)
            self.probabilities = probabilities_of_two(ensemble.probabilities, prepare="", score=score, head=head)
        for part in (self.known, self.probabilities):
            if part is not None:
                self.macros |= part.macros
                self.tables.add_all(part)
        self.costs = self._costs(int(np.count_nonzero(weights)))

    def code(self) -> list[str]:
        """Functions of the source, in order."""
        negative, positive = self.votes
        decision = Template(runtime("neuron.c"))
        names = {"function": self.transform.function, "negative": negative, "positive": positive}
        more = [] if self.probabilities is None else [self.probabilities.source]
        if self.known is not None:
            heads = _heads(in_window=False)[: 1 if self.probabilities is None else 2]
            made = zip(heads, ("bemi_label(x)", "bemi_label_proba(x, p)"), strict=False)
            more += [self.known.source, *(unknown.rejecting(head, label, "x") for head, label in made)]
            if self.learn:
                more += unknown.learning("bemi_input_t", "bemi_label(x)", "x", in_window=False)
        return [self.transform.source, decision.substitute(names, head=self._head()), *more]

    def _head(self, proba: bool = False) -> str:
        if self.known is None:
            return _heads(in_window=False)[proba]
        return f"static int bemi_label{'_proba' * proba}(const bemi_input_t *x{', uint16_t *p' * proba})"

    def _costs(self, links: int) -> Costs:
        parts = [part for part in (self.transform, self.known, self.probabilities) if part is not None]
        steps = self.transform.instructions + NEURON
        stack, ranges = FRAMES + self.transform.stack_bytes, self.ensemble.known_ranges
        if ranges is not None:
            steps += unknown.instructions(ranges)
            stack += unknown.stack_bytes(ranges)
        return Costs(
            flash=self.tables.bytes + sum(part.code_bytes for part in parts) + CODE["neuron.c"],
            tables=self.tables.bytes,
            stack=stack,
            additions=links,
            instructions=steps,
            without_tie=steps,
        )


AnyLayout = Layout | OneNeuron


def layout_of(ensemble: Ensemble, input_types: InputTypes, optimize: str, *, learn: bool = False) -> AnyLayout:
    """The layout of an ensemble: of a single neuron if it is one that its transform can write as one loop."""
    transform = ensemble.inputs.transform
    if len(ensemble.networks) == 1 and "c_neuron" in vars(type(transform)):
        (network,) = ensemble.folded(input_types.value_low, input_types.value_high).networks
        if network.table is not None and len(network.neurons) == 1 and ABSTAIN not in network.table:
            neuron = transform.c_neuron(network.network.weights[0][:, network.neurons[0]])  # type: ignore[union-attr]
            if neuron is not None:
                return OneNeuron(ensemble, input_types, network, neuron, learn=learn)
    return Layout(ensemble, input_types, optimize, learn=learn)
