"""C99 for devices: one header, one source, integers only, nothing allocated, no library called.

The source is put together from the pieces in ``runtime`` that an ensemble needs, and from tables.  Networks are folded
over the whole range of the inputs' type (:mod:`bemi.ensemble.folding`), so that whatever can be passed gets the label that
Python gives it.  docs/export.md tells how to use it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np
from sklearn.utils.validation import check_is_fitted

import bemi
from bemi.classifier import BeMiClassifier
from bemi.ensemble.folding import EVIDENCE_SCALE, FoldedNetwork
from bemi.ensemble.subsets import class_subsets, memberships
from bemi.export.costs import Costs, Work, costs
from bemi.export.inputs import TYPES, Inputs, inputs_of
from bemi.export.weights import encoded
from bemi.files import write_atomically
from bemi.inputs.transforms import ConstantInput, IntegerHog
from bemi.problem.codes import ABSTAIN

OPTIMIZE = ("speed", "size")
NO_EVIDENCE = 2**32 - 1
LAYERS_INSTEAD = 255
"""In place of the number of voting neurons: this network has no table."""

MOST = 2**16 - 1
"""Inputs, networks, neurons and places in tables are counted in 16 bits."""

BYTES = {"uint8_t": 1, "int8_t": 1, "uint16_t": 2, "int16_t": 2, "uint32_t": 4, "int32_t": 4}


@dataclass(frozen=True)
class CExport:
    """The files, and what they cost.

    Attributes
    ----------
    header, source, example
        Text of ``bemi_model.h``, ``bemi_model.c`` and ``main.c``.
    costs
        Flash, stack and time on a Cortex-M3.
    """

    header: str
    source: str
    example: str
    costs: Costs


def write(
    classifier: BeMiClassifier, folder: str | os.PathLike, *, optimize: str = "speed", input_type: str | None = None
) -> CExport:
    """Write ``bemi_model.h``, ``bemi_model.c`` and an example ``main.c`` to a folder, which is made if need be.

    Parameters
    ----------
    classifier
        A fitted classifier.
    folder
        Where to write.
    optimize
        ``"speed"`` stores weights such that fewest steps are needed, ``"size"`` such that they take least flash.
    input_type
        Type of an input, such as ``"int16_t"``; None takes the smallest that holds the training rows.
    """
    made = export(classifier, optimize=optimize, input_type=input_type)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"bemi_model.h": made.header, "bemi_model.c": made.source, "main.c": made.example}
    write_atomically({folder / name: text.encode() for name, text in texts.items()})
    return made


def export(classifier: BeMiClassifier, *, optimize: str = "speed", input_type: str | None = None) -> CExport:
    """What :func:`write` writes."""
    check_is_fitted(classifier)
    if optimize not in OPTIMIZE:
        raise ValueError(f"optimize must be one of {', '.join(OPTIMIZE)}, got {optimize!r}")
    model = _Model(classifier, inputs_of(classifier, input_type), optimize)
    return CExport(model.header(), model.source(), _runtime("main.c"), model.costs)


class _Tables:
    """Constant arrays as C, and how many bytes they take."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.bytes = 0

    def add(self, name: str, kind: str, values: Iterable[int]) -> None:
        numbers = [f"{value}," for value in values]
        lines, line = [], "   "
        for number in numbers:
            if len(line) + len(number) >= 120:
                lines.append(line)
                line = "   "
            line += " " + number
        self.text.append(f"BEMI_TABLE {kind} {name}[] = {{\n" + "\n".join([*lines, line]) + "\n};\n")
        self.bytes += len(numbers) * BYTES[kind]


class _Model:
    """A classifier on its way to C: types, macros and tables are settled first, then written out."""

    def __init__(self, classifier: BeMiClassifier, inputs: Inputs, optimize: str) -> None:
        self.classifier, self.inputs, self.transform = classifier, inputs, classifier.transform_
        self.networks = classifier.folded(inputs.value_low, inputs.value_high).networks
        self.classes = len(classifier.classes_)
        self.subsets = np.array([n.subset for n in self.networks])
        every = class_subsets(self.classes, 2)
        self.all_pairs = self.subsets.shape == every.shape and bool((self.subsets == every).all())
        self.by_margin = classifier.ties == "margin"
        self.has_layers = any(n.table is None for n in self.networks)
        # In a tie the sums of many networks are needed once more; of this many they fit on a small device's stack.
        self.keeps_sums = self.by_margin and len(self.networks) <= 255
        self.bound = self.networks[0].network.weight_bound
        # First-layer neurons of each network: those that its vote depends on, then those that are only evidence.
        self.neurons = [self._neurons(n) for n in self.networks]
        self._check_sizes()
        columns = [n.network.weights[0][:, own] for n, own in zip(self.networks, self.neurons, strict=True)]
        if not any(self.neurons):
            # All votes are constant.  C has no empty tables, so there is a neuron that nobody asks.
            columns = [np.zeros((len(inputs.value_low), 1), dtype=np.int64)]
        # No sum on the way to a neuron's is larger; with a base weight, the common inputs and the rest add up.
        largest = 3 * self.bound * len(inputs.value_low) * self._largest_input()
        self.weights = encoded(np.concatenate(columns, axis=1), self.bound, optimize, with_base=largest < 2**31)
        self.types = {"bemi_value_t": "bemi_input_t" if self.transform is None else inputs.value_type}
        self.types["bemi_sum_t"] = "int_fast16_t" if largest < 2**15 else "int_fast32_t"
        self.macros: dict[str, object] = {}
        self.tables = _Tables()
        self._lay_out_weights()
        self._lay_out_votes()
        self._lay_out_evidence()
        self._lay_out_transform()
        self.costs = self._costs()

    def _neurons(self, network: FoldedNetwork) -> list[int]:
        own = network.neurons.tolist()
        return own + [i for i in network.split.tolist() if self.by_margin and i not in own]

    def _largest_input(self) -> int:
        return int(np.abs([self.inputs.value_low, self.inputs.value_high]).max())

    def _check_sizes(self) -> None:
        counts = {
            "inputs": len(self.inputs.value_low),
            "networks": len(self.networks),
            "neurons": sum(map(len, self.neurons)),
            "places in tables": sum(len(n.table) for n in self.networks if n.table is not None),
        }
        for name, count in counts.items():
            if count > MOST:
                raise ValueError(f"the ensemble has {count} {name}, and the C export counts up to {MOST}")
        # |w x| floor(2^24 / |w|_1) <= 2^24 max |x|, summed over a class's networks; where classes are in different
        # numbers of networks, sums are multiplied by these to compare shares.
        members = memberships(self.subsets, self.classes)
        times = 1 if members.min() == members.max() else int(members.max())
        largest = EVIDENCE_SCALE * self._largest_input() * int(members.max()) * times
        if self.by_margin and largest >= 2**64:
            raise ValueError("evidence for ties may leave 64 bits; scale the data down or use ties='abstain'")

    def _lay_out_weights(self) -> None:
        places = np.cumsum([0, *map(len, self.weights.neurons)]).tolist()[:-1]
        self._reader("PLACE", kind := "uint16_t" if places[-1] <= MOST else "uint32_t")
        self.tables.add("bemi_weights_at", kind, places)
        self.tables.add("bemi_weights", "uint8_t", b"".join(self.weights.neurons))
        if self.weights.bits is not None:
            self.macros |= {"BEMI_BITS": self.weights.bits, "BEMI_WEIGHT_BOUND": self.bound}
            self.types["bemi_bits_t"] = "uint_fast16_t" if self.weights.bits <= 8 else "uint_fast32_t"

    def _lay_out_votes(self) -> None:
        """Where the neurons of a network are, what their signs mean, and which classes it tells apart."""
        none = 255 if self.classes < 255 else MOST
        self._reader("CLASS", kind := "uint8_t" if none == 255 else "uint16_t")
        self.types["bemi_class_t"] = kind
        self.macros |= {"BEMI_NETWORKS": len(self.networks), "BEMI_NONE": none, "BEMI_KEEP_SUMS": int(self.keeps_sums)}
        self.macros["BEMI_SUBSET_SIZE"] = self.subsets.shape[1]
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
        if layered or not self.all_pairs:
            self.tables.add("bemi_subsets", kind, self.subsets.reshape(-1).tolist())
        members = memberships(self.subsets, self.classes)
        self.macros["BEMI_NETWORKS_OF(a)"] = 1
        if members.min() < members.max():
            self.tables.add("bemi_memberships", "uint16_t", members.tolist())
            self.macros["BEMI_NETWORKS_OF(a)"] = "BEMI_READ16(bemi_memberships[a])"

    def _lay_out_layers(self, layered: Sequence[FoldedNetwork]) -> None:
        """Per network: signs of the first layer, 0 where they depend on the input, and the weights above, by neuron."""
        rows = [np.concatenate([n.fixed, *(w.T.reshape(-1) for w in n.network.weights[1:])]) for n in layered]
        kind = next(k for k in ("int8_t", "int16_t", "int32_t") if self.bound < 2 ** (8 * BYTES[k] - 1))
        self._reader("UPPER", kind)
        self.types["bemi_upper_t"] = kind
        self.tables.add("bemi_upper", kind, np.concatenate(rows).tolist())
        sizes = layered[0].network.layers[1:]
        self.tables.add("bemi_layers", "uint16_t", sizes)
        self.macros |= {"BEMI_LAYERS": len(sizes), "BEMI_WIDEST_LAYER": max(sizes), "BEMI_UPPER_SIZE": len(rows[0])}
        self.macros["BEMI_LAYERS_INSTEAD"] = LAYERS_INSTEAD

    def _lay_out_evidence(self) -> None:
        if not self.by_margin:
            return
        scales = []
        for network, own in zip(self.networks, self.neurons, strict=True):
            known = dict(zip(network.split.tolist(), network.scales.tolist(), strict=True))
            scales += [known.get(neuron, NO_EVIDENCE) for neuron in own]
        self.tables.add("bemi_scales", "uint32_t", scales or [NO_EVIDENCE])
        self.macros["BEMI_NO_EVIDENCE"] = f"{NO_EVIDENCE}UL"

    def _lay_out_transform(self) -> None:
        transform = self.transform
        if isinstance(transform, ConstantInput):
            self.macros["BEMI_LEVEL"] = transform.level_
        elif isinstance(transform, IntegerHog):
            fixed = transform.constants
            shift = max(0, transform.maximum_.bit_length() - 8)  # levels depend on no more than eight bits
            self.macros |= {
                "BEMI_GIVEN_WIDTH": transform.shape_[1],
                "BEMI_CHANNELS": transform.shape_[2],
                "BEMI_HEIGHT": fixed.height,
                "BEMI_WIDTH": fixed.width,
                "BEMI_DOUBLED": int(fixed.doubled),
                "BEMI_ROWS": fixed.rows,
                "BEMI_COLUMNS": fixed.columns,
                "BEMI_MAXIMUM": transform.maximum_,
                "BEMI_SATURATE": int(TYPES[self.inputs.type][1] > transform.maximum_),
                "BEMI_SIGNED": int(TYPES[self.inputs.type][0] < 0),
                "BEMI_LEVEL_SHIFT": shift,
                "BEMI_STRAIGHTEN": int(transform.straighten),
                "BEMI_MASS_SHIFT": fixed.mass_shift or 0,
                "BEMI_ORIENTATIONS": transform.orientations,
                "BEMI_SECTORS": transform.orientations // 4,
                "BEMI_OUTPUT_SHIFT": fixed.output_shift,
            }
            self.tables.add("bemi_levels", "uint8_t", fixed.levels.tolist()[:: 1 << shift])
            self.tables.add("bemi_directions", "uint8_t", fixed.directions.reshape(-1).tolist())

    def _reader(self, name: str, kind: str) -> None:
        """How to read such a table; what AVR reads has no sign until it is cast."""
        self.macros[f"BEMI_READ_{name}(place)"] = f"(({kind})BEMI_READ{8 * BYTES[kind]}(place))"

    def _pieces(self) -> list[str]:
        """Names of the parts of the runtime that the ensemble needs, in their order."""
        transforms = {IntegerHog: ["integer_hog.c"], ConstantInput: ["constant_input.c"]}
        return [
            *transforms.get(type(self.transform), []),
            "sum_list.c" if self.weights.bits is None else "sum_packed.c",
            "vote_layers.c" if self.has_layers else "vote_table.c",
            "count.c",
            *(["evidence.c"] if self.by_margin else []),
            "pairs.c" if self.all_pairs else "sets.c",
        ]

    def _costs(self) -> Costs:
        arrays = len(self.networks) * BYTES[self.types["bemi_class_t"]]
        arrays += self.classes * (BYTES[self.types["bemi_class_t"]] if self.all_pairs else 2)
        arrays += 4 * len(self.networks) * self.keeps_sums
        pixels = channels = 0
        if self.transform is not None:
            arrays += len(self.inputs.value_low) * BYTES[self.inputs.value_type]
        if isinstance(self.transform, IntegerHog):
            fixed, channels = self.transform.constants, self.transform.shape_[2]
            arrays += 9 * channels * fixed.width + 8 * fixed.columns * self.transform.orientations
            # Every 4 x 4 pixels, whole or not, have a region of their own.
            pixels = 16 * fixed.rows * fixed.columns
        if self.has_layers:
            arrays += 2 * max(self.networks[0].network.layers[1:])
        voting: list[int] = []
        again: list[int] = []
        for n, own, start in zip(
            self.networks, self.neurons, np.cumsum([0, *map(len, self.neurons[:-1])]), strict=True
        ):
            voting += range(start, start + len(n.neurons))
            kept = n.neurons[:1].tolist() if self.keeps_sums else []
            again += [start + own.index(i) for i in n.split.tolist() if self.by_margin and i not in kept]
        if self.weights.has_common:
            voting.append(len(self.weights.neurons) - 1)
        above = self.networks[0].network.weights[1:] if self.has_layers else ()
        further = [n.network.layers[1] if n.table is None else len(n.neurons) for n in self.networks]
        work = Work(
            bits=self.weights.bits,
            networks=len(self.networks),
            additions=sum(self.weights.additions[i] for i in voting),
            groups=sum(self.weights.groups[i] for i in voting),
            neurons=sum(max(0, count - 1) for count in further) + len(self.networks) * sum(w.shape[1] for w in above),
            tie_additions=sum(self.weights.additions[i] for i in again),
            tie_groups=sum(self.weights.groups[i] for i in again),
            tie_neurons=len(again),
            classes=self.classes,
            upper=len(self.networks) * sum(w.size for w in above),
            pixels=pixels,
            channels=channels,
            copied=self.classifier.n_features_in_ if isinstance(self.transform, ConstantInput) else 0,
        )
        return costs(self._pieces(), self.tables.bytes, arrays, work)

    def header(self) -> str:
        """Text of ``bemi_model.h``."""
        layers = " x ".join(map(str, self.networks[0].network.layers))
        about = f"{len(self.networks)} networks of {layers} neurons, weights in -{self.bound}..{self.bound}."
        return Template(_runtime("bemi_model.h")).substitute(
            version=bemi.__version__,
            about=_comment([about, *self.costs.in_words(), *self._scaling()]),
            flash=self.costs.flash,
            stack=self.costs.stack,
            inputs=self.classifier.n_features_in_,
            input_type=self.inputs.type,
            # The smallest integer has no literal: its digits alone are too large before the sign.
            low=f"({self.inputs.low + 1}L - 1)" if self.inputs.low < 0 else "0",
            high=f"{self.inputs.high}" if self.inputs.high < 2**15 else f"{self.inputs.high}L",
            classes=self.classes,
            labels=", ".join(_c_string(str(label)) for label in self.classifier.classes_.tolist()),
        )

    def _scaling(self) -> list[str]:
        """What the inputs are, in words; one line per feature where they are scaled."""
        classifier = self.classifier
        factors = classifier.input_scaling_.factors
        if factors is None:
            return ["Inputs are the features as they are."]
        names = getattr(classifier, "feature_names_in_", [f"feature {i}" for i in range(len(factors))])
        features = enumerate(zip(names, factors.tolist(), strict=True))
        return [
            "Inputs are features times a factor, rounded to the nearest integer, halves to the even one:",
            *(f"  x[{i}] = {name} * {factor!r}" for i, (name, factor) in features),
        ]

    def source(self) -> str:
        """Text of ``bemi_model.c``."""
        prepare = ["    state.z = x;", "    state.common = 0;"]
        if self.transform is not None:
            values = f"    bemi_value_t z[{len(self.inputs.value_low)}];"
            prepare = [values, "    bemi_transform(x, z);", "    state.z = z;", "    state.common = 0;"]
        if self.weights.has_common:
            prepare.append(f"    state.common = bemi_sum(&state, {len(self.weights.neurons) - 1});")
        ties = _runtime("ties.c").rstrip() if self.by_margin else "    return -1;"
        *pieces, decision = self._pieces()
        return "\n".join(
            [
                '/* See bemi_model.h. */\n#include "bemi_model.h"\n',
                _runtime("memory.c"),
                "".join(f"#define {name} {value}\n" for name, value in self.macros.items()),
                "".join(f"typedef {kind} {name};\n" for name, kind in self.types.items()),
                _runtime("state.c"),
                *self.tables.text,
                *map(_runtime, pieces),
                Template(_runtime(decision)).substitute(prepare="\n".join(prepare), ties=ties),
            ]
        )


def _runtime(name: str) -> str:
    return (files("bemi.export") / "runtime" / name).read_text()


def _comment(lines: Sequence[str]) -> str:
    """Lines for the inside of a comment, which nothing in them can end."""
    plain = ("".join(c if " " <= c <= "~" and c != "\\" else "?" for c in line) for line in lines)
    return "\n".join("   " + line.replace("*/", "* /").replace("/*", "/ *") for line in plain)


def _c_string(text: str) -> str:
    """A string literal for any text, in UTF-8."""
    plain = b" !#$%&'()*+,-./:;<=>@[]^_`{|}~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    # An octal escape has at most three digits, so that what follows cannot become part of it.
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in text.encode()) + '"'
