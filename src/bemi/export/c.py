"""C99 for devices: one header, one source, integers only, nothing allocated, no library called.

The source is put together from the pieces in ``runtime`` that an ensemble needs, and from tables.  Networks are folded
over the whole range of the input type (:mod:`bemi.folding`), so that every input that can be passed gets the label that
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

import bemi
from bemi.classifier import BeMiClassifier
from bemi.export.inputs import Inputs, inputs_of
from bemi.export.weights import bits_of, encoded
from bemi.files import write_atomically
from bemi.folding import FoldedNetwork
from bemi.transforms import ConstantInput, IntegerHog
from bemi.voting import ABSTAIN, class_subsets, memberships

OPTIMIZE = ("speed", "size")
NO_EVIDENCE = 2**32 - 1
LAYERS_INSTEAD = 255
"""In place of the number of voting neurons: this network has no table."""

MOST = 2**16 - 1
"""Inputs, networks, neurons and places in tables are counted in 16 bits."""


@dataclass(frozen=True)
class CExport:
    """The files, and what they cost.

    Attributes
    ----------
    header, source, example
        Text of ``bemi_model.h``, ``bemi_model.c`` and ``main.c``.
    table_bytes
        Flash that the tables take.
    """

    header: str
    source: str
    example: str
    table_bytes: int


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
    if optimize not in OPTIMIZE:
        raise ValueError(f"optimize must be one of {', '.join(OPTIMIZE)}, got {optimize!r}")
    model = _Model(classifier, inputs_of(classifier, input_type), optimize)
    return CExport(model.header(), model.source(), _runtime("main.c"), model.tables.bytes)


class _Tables:
    """Constant arrays as C, and how many bytes they take."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.bytes = 0

    def add(self, name: str, kind: str, values: Iterable[int]) -> None:
        values = list(values)
        lines, line = [], "   "
        for value in values:
            if len(line) + len(str(value)) + 2 > 116:
                lines.append(line)
                line = "   "
            line += f" {value},"
        self.text.append(f"BEMI_TABLE {kind} {name}[] = {{\n" + "\n".join([*lines, line]) + "\n};\n")
        self.bytes += len(values) * BYTES[kind]


BYTES = {"uint8_t": 1, "int8_t": 1, "uint16_t": 2, "int16_t": 2, "uint32_t": 4, "int32_t": 4}
READ = {1: "BEMI_READ8", 2: "BEMI_READ16", 4: "BEMI_READ32"}


class _Model:
    """A classifier on its way to C."""

    def __init__(self, classifier: BeMiClassifier, inputs: Inputs, optimize: str) -> None:
        self.classifier, self.inputs = classifier, inputs
        self.networks = classifier.folded(inputs.value_low, inputs.value_high).networks
        self.classes = len(classifier.classes_)
        self.subsets = np.array([n.subset for n in self.networks])
        self.by_margin = classifier.ties == "margin"
        self.transform = classifier.transform_
        every = class_subsets(self.classes, 2)
        self.all_pairs = self.subsets.shape == every.shape and bool((self.subsets == every).all())
        self.has_layers = any(n.table is None for n in self.networks)
        #: First-layer neurons of each network: those that its vote depends on, then those that are only evidence.
        self.neurons = [self._neurons(n) for n in self.networks]
        self.bound = int(classifier.weight_bound)
        largest_input = int(np.abs([inputs.value_low, inputs.value_high]).max())
        #: No sum on the way to a neuron's is larger.  With a base weight, that of the common inputs and the rest add up.
        self.largest_sum = 3 * self.bound * len(inputs.value_low) * largest_input
        columns = [n.network.weights[0][:, own] for n, own in zip(self.networks, self.neurons, strict=True)]
        self.weights = encoded(np.concatenate(columns, axis=1), self.bound, optimize, self.largest_sum < 2**31)
        self.macros: dict[str, object] = {}
        self.types: dict[str, str] = {}
        self.tables = _Tables()
        self._check_sizes()
        self._lay_out()

    def _neurons(self, network: FoldedNetwork) -> list[int]:
        own = network.neurons.tolist()
        return own + [i for i in network.split.tolist() if self.by_margin and i not in own]

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
        if self.by_margin:
            # |w x| floor(2^24 / |w|_1) <= 2^24 max |x|, summed over networks and compared across shares.
            largest = 2**24 * int(np.abs([self.inputs.value_low, self.inputs.value_high]).max())
            if largest * len(self.networks) ** 2 >= 2**64:
                raise ValueError("evidence for ties may leave 64 bits; scale the data down or use ties='abstain'")

    def _lay_out(self) -> None:
        """Settle types, macros and tables."""
        tables, macros = self.tables, self.macros
        none = MOST if self.classes >= 255 else 255
        class_type = self._type("bemi_class_t", "uint16_t" if none == MOST else "uint8_t")
        self._reader("CLASS", class_type)
        self.types["bemi_sum_t"] = "int_fast16_t" if self.largest_sum < 2**15 else "int_fast32_t"
        macros |= {"BEMI_NETWORKS": len(self.networks), "BEMI_SUBSET_SIZE": self.subsets.shape[1], "BEMI_NONE": none}
        self._lay_out_weights()
        starts = np.cumsum([0, *map(len, self.neurons)]).tolist()
        kind = "uint8_t" if starts[-1] <= 255 else "uint16_t"
        self._reader("NEURON", kind)
        tables.add("bemi_neurons_at", kind, starts)
        voting = [LAYERS_INSTEAD if n.table is None else len(n.neurons) for n in self.networks]
        tables.add("bemi_voting", "uint8_t", voting)
        self._lay_out_votes(class_type, none)
        if self.has_layers or not self.all_pairs:
            tables.add("bemi_subsets", class_type, self.subsets.reshape(-1).tolist())
        members = memberships(self.subsets, self.classes)
        if members.min() == members.max():
            macros["BEMI_NETWORKS_OF(a)"] = 1
        else:
            tables.add("bemi_memberships", "uint16_t", members.tolist())
            macros["BEMI_NETWORKS_OF(a)"] = "BEMI_READ16(bemi_memberships[a])"
        if self.by_margin:
            scales = [
                dict(zip(n.split.tolist(), n.scales.tolist(), strict=True)).get(neuron, NO_EVIDENCE)
                for n, own in zip(self.networks, self.neurons, strict=True)
                for neuron in own
            ]
            macros["BEMI_NO_EVIDENCE"] = f"{NO_EVIDENCE}UL"
            tables.add("bemi_scales", "uint32_t", scales)
        self._lay_out_transform()

    def _lay_out_weights(self) -> None:
        places = np.cumsum([0, *map(len, self.weights.neurons)]).tolist()[:-1]
        kind = "uint16_t" if places[-1] <= MOST else "uint32_t"
        self._reader("PLACE", kind)
        self.tables.add("bemi_weights_at", kind, places)
        self.tables.add("bemi_weights", "uint8_t", b"".join(self.weights.neurons))
        if self.weights.form == "packed":
            bits = bits_of(self.bound)
            self.macros |= {"BEMI_BITS": bits, "BEMI_WEIGHT_BOUND": self.bound}
            self.types["bemi_bits_t"] = "uint_fast16_t" if bits <= 8 else "uint_fast32_t"

    def _lay_out_votes(self, class_type: str, none: int) -> None:
        """Tables of votes, or signs and weights for the upper layers, and where each network has its own."""
        places, votes, upper = [], [], []
        layered = 0
        for network in self.networks:
            if network.table is not None:
                places.append(len(votes))
                votes += [none if vote == ABSTAIN else vote for vote in network.table.tolist()]
                continue
            places.append(layered)
            layered += 1
            upper += network.fixed.tolist()
            for weights in network.network.weights[1:]:
                upper += weights.T.reshape(-1).tolist()
        self.tables.add("bemi_tables_at", "uint16_t", places)
        self.tables.add("bemi_tables", class_type, votes or [none])
        if self.has_layers:
            sizes = self.networks[0].network.layers[1:]
            kind = self._type(
                "bemi_upper_t",
                next(k for k in ("int8_t", "int16_t", "int32_t") if self.bound < 2 ** (8 * BYTES[k] - 1)),
            )
            self._reader("UPPER", kind, signed=True)
            self.tables.add("bemi_upper", kind, upper)
            self.tables.add("bemi_layers", "uint16_t", sizes)
            self.macros |= {
                "BEMI_LAYERS": len(sizes),
                "BEMI_WIDEST_LAYER": max(sizes),
                "BEMI_UPPER_SIZE": len(upper) // layered,
                "BEMI_LAYERS_INSTEAD": LAYERS_INSTEAD,
            }

    def _lay_out_transform(self) -> None:
        transform, macros = self.transform, self.macros
        if isinstance(transform, ConstantInput):
            macros["BEMI_LEVEL"] = transform.level_
        if isinstance(transform, IntegerHog):
            fixed = transform.constants
            shift = max(0, transform.maximum_.bit_length() - 8)
            macros |= {
                "BEMI_GIVEN_WIDTH": transform.shape_[1],
                "BEMI_CHANNELS": transform.shape_[2],
                "BEMI_HEIGHT": fixed.height,
                "BEMI_WIDTH": fixed.width,
                "BEMI_DOUBLED": int(fixed.doubled),
                "BEMI_ROWS": fixed.rows,
                "BEMI_COLUMNS": fixed.columns,
                "BEMI_MAXIMUM": transform.maximum_,
                "BEMI_LEVEL_SHIFT": shift,
                "BEMI_STRAIGHTEN": int(transform.straighten),
                "BEMI_MASS_SHIFT": fixed.mass_shift or 0,
                "BEMI_ORIENTATIONS": transform.orientations,
                "BEMI_SECTORS": transform.orientations // 4,
                "BEMI_OUTPUT_SHIFT": fixed.output_shift,
            }
            self.tables.add("bemi_levels", "uint8_t", fixed.levels.tolist()[:: 1 << shift])
            self.tables.add("bemi_directions", "uint8_t", fixed.directions.reshape(-1).tolist())

    def _type(self, name: str, kind: str) -> str:
        self.types[name] = kind
        return kind

    def _reader(self, name: str, kind: str, *, signed: bool = False) -> None:
        read = f"{READ[BYTES[kind]]}(place)"
        self.macros[f"BEMI_READ_{name}(place)"] = f"(({kind}){read})" if signed else read

    def header(self) -> str:
        """Text of ``bemi_model.h``."""
        classifier, inputs = self.classifier, self.inputs
        labels = ", ".join(_c_string(str(label)) for label in classifier.classes_.tolist())
        return Template(_runtime("bemi_model.h")).substitute(
            version=bemi.__version__,
            summary=_comment(self._summary()),
            scaling=_comment(self._scaling()),
            inputs=classifier.n_features_in_,
            input_type=inputs.type,
            low=inputs.low,
            high=inputs.high,
            classes=self.classes,
            labels=labels,
        )

    def source(self) -> str:
        """Text of ``bemi_model.c``."""
        parts = ['/* See bemi_model.h. */\n#include "bemi_model.h"\n', _runtime("memory.c")]
        parts.append("".join(f"#define {name} {value}\n" for name, value in self.macros.items()))
        values = {"bemi_value_t": self.inputs.value_type} if self.transform is not None else {}
        types = {"bemi_value_t": "bemi_input_t"} | values | self.types
        parts.append("".join(f"typedef {kind} {name};\n" for name, kind in types.items()))
        parts += self.tables.text
        names = {IntegerHog: "integer_hog.c", ConstantInput: "constant_input.c"}
        if self.transform is not None:
            parts.append(_runtime(names[type(self.transform)]))
        parts.append(_runtime(f"sum_{self.weights.form}.c"))
        parts.append(_runtime("vote_layers.c" if self.has_layers else "vote_table.c"))
        parts.append(_runtime("count.c"))
        if self.by_margin:
            parts.append(_runtime("evidence.c"))
        prepare = ["    const bemi_value_t *z = x;"]
        if self.transform is not None:
            prepare = [f"    bemi_value_t z[{len(self.inputs.value_low)}];"]
        prepare.append("    bemi_sum_t common = 0;")
        if self.transform is not None:
            prepare.append("    bemi_transform(x, z);")
        if self.weights.has_common:
            prepare.append(f"    common = bemi_sum(z, {len(self.weights.neurons) - 1}, 0);")
        ties = _runtime("ties.c").rstrip() if self.by_margin else "    return -1;"
        decide = Template(_runtime("pairs.c" if self.all_pairs else "sets.c"))
        parts.append(decide.substitute(prepare="\n".join(prepare), ties=ties))
        return "\n".join(parts)

    def _summary(self) -> list[str]:
        layers = " x ".join(map(str, next(iter(self.classifier.networks_.values())).layers))
        return [f"{len(self.networks)} networks of {layers} neurons, weights in -{self.bound}..{self.bound}."]

    def _scaling(self) -> list[str]:
        """What the inputs are, in words; one line per feature where they are scaled."""
        classifier = self.classifier
        names = getattr(classifier, "feature_names_in_", range(classifier.n_features_in_))
        factors = classifier.input_scaling_.factors
        if factors is None:
            return ["Inputs are the features as they are."]
        lines = ["Inputs are features times a factor, rounded to the nearest integer (halves to the even one):"]
        return lines + [
            f"  x[{i}] = {name} * {factor!r}"
            for i, (name, factor) in enumerate(zip(names, factors.tolist(), strict=True))
        ]


def _runtime(name: str) -> str:
    return (files("bemi.export") / "runtime" / name).read_text()


def _comment(lines: Sequence[str]) -> str:
    """Lines for the inside of a comment: whatever they hold cannot end it."""
    printable = ["".join(c if " " <= c <= "~" else "?" for c in line) for line in lines]
    return "\n".join("   " + line.replace("*/", "* /").replace("/*", "/ *") for line in printable)


def _c_string(text: str) -> str:
    """A string literal of any text, in UTF-8."""
    plain = {ord(c) for c in " !#$%&'()*+,-./:;<=>@[]^_`{|}~"} | {c for c in range(128) if chr(c).isalnum()}
    # Octal escapes have at most three digits, so that what follows cannot become part of one.
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in text.encode()) + '"'
