"""From an ensemble to a model as data, and the runtime that runs it."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import Template
from typing import Any

from bemi.ensemble.ensemble import ensemble_of
from bemi.ensemble.subsets import memberships
from bemi.export.blob.format import (
    FIELDS,
    HEADER,
    VERSION,
    bad_sizes,
    declared_sections,
    packed,
    read_fields,
    read_sections,
)
from bemi.export.c.inputs import input_types
from bemi.export.c.layout import Layout
from bemi.export.c.text import Tables, runtime
from bemi.export.c.weights import AS_WORDS
from bemi.files import write_files
from bemi.inputs.constant import ConstantInput
from bemi.inputs.export_hooks import CTransform, CWindow, file_of
from bemi.inputs.fixed_point import LARGEST_READING, FixedPoint
from bemi.inputs.hog import IntegerHog
from bemi.inputs.signal import SignalCounts
from bemi.inputs.table import TableBits
from bemi.inputs.table.columns import VALUE_GRID, AtLeast, Constant, IsLike, Output, Rule, Value
from bemi.inputs.table.exports import conditions_of

PLAIN, SCALED, TABLE, SHAPED = range(4)
"""Kinds of inputs; the last are images and windows, whose shape is compiled."""

NO_CLASS = 2**16 - 1
"""In tables of votes: none."""

NAMES = (
    *("weights_at", "weights", "word_steps", "word_weights", "neurons_at", "voting", "tables_at", "tables", "subsets"),
    "memberships",
)
TABLE_NAMES = (
    *("value_columns", "centres", "multipliers", "shifts", "columns", "readings"),
    *("rule_lengths", "condition_columns", "condition_readings", "condition_tests"),
)
WINDOW_NAMES = {
    "lowest": "lowest",
    "shifts": "sample_shifts",
    "limits": "limits",
    "means": "means",
    "factors": "factors",
}
"""Tables of the shared files that are sections: those of the vote, of tables and of windows."""

GIVEN_MODEL = r"\b(bemi_samples|bemi_give|bemi_rocket|bemi_window)\("
"""Functions of windows that read these."""

MACROS = {
    "BEMI_NETWORKS": "((uint_fast16_t)state->blob->networks)",
    "BEMI_CLASSES": "((uint_fast16_t)state->blob->classes)",
    "BEMI_SUBSET_SIZE": "((uint_fast16_t)state->blob->subset_size)",
    "BEMI_NETWORKS_OF(a)": "BEMI_READ16(bemi_memberships[a])",
    "BEMI_NONE": NO_CLASS,
    "BEMI_KEEP_SUMS": 0,
    "BEMI_NO_EVIDENCE": f"{2**32 - 1}UL",
    "BEMI_READ_PLACE(place)": "BEMI_READ32(place)",
    "BEMI_READ_NEURON(place)": "((uint_fast16_t)BEMI_READ32(place))",
    "BEMI_READ_CLASS(place)": "BEMI_READ16(place)",
    "bemi_scales": "(state->blob->evidence_scales)",
    **{f"bemi_{name}": f"(state->blob->{name})" for name in NAMES},
}
"""What the shared files of the vote are compiled with: the state knows the model."""


EVERY_READING = {"low": -LARGEST_READING, "high": LARGEST_READING}


TABLE_MACROS = {
    **{f"bemi_{name}": f"(state->blob->{name})" for name in TABLE_NAMES},
    "BEMI_HAS_REACHES": 0,
    "BEMI_MOST_BELOW": "((uint32_t)state->blob->most_below)",
    "BEMI_MOST_ABOVE": "((uint32_t)state->blob->most_above)",
    "BEMI_READ_CENTRE(place)": "bemi_i32((place).bytes)",
    "BEMI_READ_MULTIPLIER(place)": "BEMI_READ32(place)",
    "BEMI_VALUES": "((uint_fast16_t)state->blob->tests_values)",
    "BEMI_TESTS": "((uint_fast16_t)state->blob->tests)",
    "BEMI_RULES": "((uint_fast16_t)state->blob->rules)",
    "BEMI_LIKE": 0,
    "BEMI_CONSTANT": "(state->blob->constant)",
    "BEMI_LEVEL": "(state->blob->level)",
    "BEMI_MISSING_READING": f"(-{LARGEST_READING}L - 1)",
    "BEMI_SCALE_OF(place)": "(place)",
    "BEMI_READ_COLUMN(place)": "BEMI_READ16(place)",
    "BEMI_READ_READING(place)": "bemi_i32((place).bytes)",
    "BEMI_HOLDS(test, value, reading)": (
        "((value) >= (reading) && ((test) < (uint_fast16_t)state->blob->thresholds || (value) == (reading)))"
    ),
    "BEMI_READ_RULE_LENGTHS(place)": "BEMI_READ8(place)",
    "BEMI_READ_CONDITION_COLUMNS(place)": "BEMI_READ16(place)",
    "BEMI_READ_CONDITION_READINGS(place)": "bemi_i32((place).bytes)",
    "BEMI_READ_CONDITION_TESTS(place)": "BEMI_READ8(place)",
}
"""The same for scales and tests of readings."""


@dataclass(frozen=True)
class BlobExport:
    """The generated files.

    Attributes
    ----------
    blob
        The model, ``model.blob``.
    header, source
        Text of ``bemi_blob.h`` and ``bemi_blob.c``: the same for all models but those of images, where they are for one
        size and one setting of the histograms.

    Examples
    --------
    >>> import bemi
    >>> from bemi.export import blob
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> made = blob.export(clf)
    """

    blob: bytes
    header: str
    source: str

    @property
    def files(self) -> dict[str, str | bytes]:
        """Contents by the names of their files.

        Examples
        --------
        >>> list(made.files)
        ['model.blob', 'bemi_blob.h', 'bemi_blob.c']
        """
        return {"model.blob": self.blob, "bemi_blob.h": self.header, "bemi_blob.c": self.source}


def write(model: Any, folder: str | os.PathLike, *, input_type: str | None = None) -> BlobExport:
    """Write ``model.blob``, ``bemi_blob.h`` and ``bemi_blob.c`` to a folder, which is created if necessary.

    Parameters
    ----------
    model
        A fitted classifier or an :class:`bemi.ensemble.ensemble.Ensemble`.
    folder
        Where to write.
    input_type
        Type whose range inputs that enter as they are may have; None chooses the smallest that holds the training rows.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> import bemi
    >>> from bemi.export import blob
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> blob.write(clf, mkdtemp()).blob[:4]
    b'BEMI'
    """
    made = export(model, input_type=input_type)
    write_files(folder, made.files)
    return made


def export(model: Any, *, input_type: str | None = None) -> BlobExport:
    """The files that :func:`write` writes.

    Examples
    --------
    >>> import bemi
    >>> from bemi.export import blob
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> made = blob.export(clf)
    >>> len(made.blob) < 400
    True
    """
    ensemble = replace(ensemble_of(model), probabilities=None)
    transform = ensemble.inputs.transform
    instead = "export it with 'bemi export c'"
    if ensemble.known_ranges is not None:
        raise ValueError(f"models that reject unknown rows cannot be data yet; train without reject, or {instead}")
    if transform is not None and type(transform) not in (ConstantInput, TableBits, IntegerHog, SignalCounts):
        raise ValueError(f"models with the transform {type(transform).__name__} cannot be data")
    types = input_types(ensemble, input_type)
    layout = Layout(ensemble, types, AS_WORDS)
    if layout.has_layers:
        raise ValueError(f"networks with more than 8 first-layer neurons that matter cannot be data; {instead}")
    fields, sections = _vote(layout)
    own_fields, own_sections = _inputs_of(layout)
    header, source, inputs_id = _runtime(layout)
    made = packed(inputs_id, fields | own_fields, sections | own_sections)
    return BlobExport(made, header, source)


def _vote(layout: Layout) -> tuple[dict[str, int], dict[str, Sequence[int]]]:
    """Numbers and sections of weights and votes."""
    ensemble, tables = layout.ensemble, layout.tables.values
    none = layout.macros["BEMI_NONE"]
    names = b"".join(str(label).encode().replace(b"\0", b"") + b"\0" for label in ensemble.classes.tolist())
    sections: dict[str, Sequence[int]] = {
        name: tables[f"bemi_{name}"]
        for name in ("word_steps", "word_weights", "weights_at", "weights", "neurons_at", "voting", "tables_at")
    }
    sections |= {
        "tables": [NO_CLASS if vote == none else vote for vote in tables["bemi_tables"]],
        "subsets": ensemble.subsets.reshape(-1).tolist(),
        "memberships": memberships(ensemble.subsets, len(ensemble.classes)).tolist(),
        "evidence_scales": tables.get("bemi_scales", ()),
        "names": names,
    }
    count, size = ensemble.subsets.shape
    fields = {
        "values": len(layout.used),
        "classes": len(ensemble.classes),
        "networks": count,
        "subset_size": size,
        "neurons": len(sections["weights_at"]) - 1,
        "entries": len(sections["tables"]),
        "bytes": len(sections["weights"]),
        "names_bytes": len(names),
        "by_evidence": int(layout.by_evidence),
        "all_pairs": int(layout.all_pairs and NO_CLASS not in sections["tables"]),
    }
    return fields, sections


def _inputs_of(layout: Layout) -> tuple[dict[str, int], dict[str, Sequence[int]]]:
    """Numbers and sections of what the networks' inputs are made of."""
    ensemble, types = layout.ensemble, layout.input_types
    transform, scale = ensemble.inputs.transform, ensemble.inputs.scaling.scale
    fields = {"inputs": ensemble.inputs.features, "low": types.low, "high": types.high}
    if isinstance(transform, IntegerHog):
        return fields | {"kind": SHAPED}, {}
    if isinstance(transform, SignalCounts):
        assert layout.transform is not None
        tables = {table.name: table.values for table in layout.transform.tables}
        sections = {name: tables[f"bemi_{own}"] for own, name in WINDOW_NAMES.items()}
        return fields | {"kind": SHAPED} | _counts(sections), sections
    if isinstance(transform, TableBits):
        own, sections = _tests(transform, [transform.outputs_[place] for place in layout.used])
        return fields | {"kind": TABLE, "low": 0} | own, sections
    if isinstance(transform, ConstantInput):
        fields |= {"constant": transform.level_}
    if scale is None:
        return fields | {"kind": PLAIN} | (EVERY_READING if transform is not None else {}), {}
    limit = ensemble.inputs.scaling.limit
    low, high = (types.low, types.high) if limit is None else (max(types.low, -limit), min(types.high, limit))
    ends = {"most_below": min(-low, LARGEST_READING), "most_above": min(high, LARGEST_READING)}
    return fields | EVERY_READING | {"kind": SCALED, **ends, "scales": len(scale.centres)}, _scales(scale)


def _tests(table: TableBits, outputs: list[Output]) -> tuple[dict[str, int], dict[str, Sequence[int]]]:
    """Those of a table: scaled values, tests of readings and rules, in this order."""
    if any(isinstance(output, IsLike) for output in outputs):
        raise ValueError(
            "models with similarities to training rows cannot be data; train with TableBits(similarities=0), or export "
            "with 'bemi export c'"
        )
    values = [output for output in outputs if isinstance(output, Value)]
    rules = [output for output in outputs if isinstance(output, Rule)]
    tests = [output for output in outputs if not isinstance(output, (Value, Rule, Constant))]
    conditions = conditions_of(rules)
    fields = {
        "values": len(values) + len(tests) + len(rules) + 1,
        "level": table.level_,
        "constant": sum(output.reading for output in outputs if isinstance(output, Constant)),
        **{"most_below": VALUE_GRID, "most_above": VALUE_GRID, "scales": len(values), "tests_values": len(values)},
        **{"tests": len(tests), "thresholds": sum(isinstance(output, AtLeast) for output in tests)},
        **{"rules": len(rules), "conditions": len(conditions["condition_tests"])},
    }
    sections: dict[str, Sequence[int]] = {
        "value_columns": [value.column for value in values],
        "columns": [output.column for output in tests],
        "readings": [output.reading for output in tests],
        **conditions,
    }
    return fields, sections | (_scales(table.value_scale(values)) if values else {})


def _scales(scale: FixedPoint) -> dict[str, Sequence[int]]:
    return {name: getattr(scale, name).tolist() for name in ("centres", "multipliers", "shifts")}


def _runtime(layout: Layout) -> tuple[str, str, int]:
    """Header and source, and what tells inputs that the runtime is made for; 0 for all numbers and tables."""
    shaped = layout.transform if isinstance(layout.ensemble.inputs.transform, (IntegerHog, SignalCounts)) else None
    window = shaped if isinstance(shaped, CWindow) else None
    types: dict[str, str] = {"bemi_value_t": "int32_t", "bemi_sum_t": "int32_t", "bemi_class_t": "uint16_t"}
    own, inputs_id, inputs = [_table_code()], 0, "Inputs are numbers, or readings of a table's columns."
    sizes: dict[str, object] = dict.fromkeys(("INPUTS", "VALUES", "LARGEST", "CHANNELS", "OUTPUTS"), 0)
    if shaped is not None:
        own, types["bemi_value_t"] = _shaped_code(shaped), layout.input_types.value_type
        largest = int(max(layout.input_types.value_high.max(), -layout.input_types.value_low.min()))
        sizes |= {"INPUTS": layout.ensemble.inputs.features, "VALUES": len(layout.used), "LARGEST": largest}
        if window is not None:
            sizes |= {name.upper(): count for name, count in _counts(_inputs_of(layout)[1]).items()}
        inputs_id = zlib.crc32("\n".join([*own, str(sizes)]).encode()) or 1
        inputs = shaped.about_inputs[0]
    kind = "int32_t" if shaped is None else layout.input_types.type
    header = Template(_text("blob.h")).substitute(
        version=VERSION,
        inputs=inputs,
        input_type=kind,
        id=inputs_id,
        fields=", ".join(FIELDS),
        sections=declared_sections(),
        window="" if window is None else _text("predict_window.h"),
    )
    macros: dict[str, object] = {
        f"BEMI_BLOB_{name}": place for place, name in enumerate(("PLAIN", "SCALED", "TABLE", "SHAPED"))
    }
    macros |= {"BEMI_BLOB_HEADER": f"{HEADER}U", "BEMI_BLOB_VERSION": VERSION}
    macros |= {f"BEMI_BLOB_SHAPE_{name}": size for name, size in sizes.items()}
    parts = {"fields": read_fields(), "sizes": bad_sizes(), "sections": read_sections()}
    make = _text("plain.c") if shaped is None else f"    {shaped.function}(x, z);\n"
    if window is not None:
        make = f"    {window.function}(blob, x, oldest, z);\n"
    source = "\n".join(
        [
            '/* See bemi_blob.h. */\n#include "bemi_blob.h"\n',
            _text("memory.c"),
            _defined(macros),
            Template(_text("open.c")).substitute(
                {f"read_{n}" if n != "sizes" else n: text for n, text in parts.items()}
            ),
            "".join(f"typedef {own_kind} {name};\n" for name, own_kind in types.items()),
            f"typedef bemi_blob_input_t bemi_input_t;\n{_text('state.c')}",
            _text("work.c"),
            _defined(MACROS),
            *own,
            runtime("sum_words.c"),
            runtime("vote_table.c"),
            runtime("count.c"),
            runtime("evidence.c"),
            *_decision(make),
            *([] if window is None else [_text("predict_window.c")]),
        ]
    )
    return header, source, inputs_id


def _shaped_code(shaped: CTransform) -> list[str]:
    """Code of a transform for one shape; what windows learned in training comes from the model."""
    tables, macros, source = Tables(), dict(shaped.macros), shaped.source
    tables.add_all(shaped)
    text = tables.text
    if isinstance(shaped, CWindow):
        learned = tuple(f" bemi_{name}[]" for name in WINDOW_NAMES)
        text = [table for table in text if not any(name in table for name in learned)]
        kind = next(table.kind for table in shaped.tables if table.name == "bemi_limits")
        macros |= {"BEMI_WINDOW": shaped.time, "BEMI_CHANNELS": shaped.channels}
        macros |= {"BEMI_READ_LIMIT(place)": f"(({kind})BEMI_READ32(place))"}
        macros |= {f"bemi_{own}": f"(blob->{name})" for own, name in WINDOW_NAMES.items()}
        source = source.replace("BEMI_READ32(bemi_lowest[channel])", "bemi_i32(bemi_lowest[channel].bytes)")
        source = re.sub(r"BEMI_READ16\((?=bemi_(distances|dilations|kernels)\b)", "BEMI_PLAIN16(", source)
        source = re.sub(GIVEN_MODEL + r"(?=const \w+ \*|bemi_to_t)", r"\1(const bemi_blob_t *blob, ", source)
        source = re.sub(GIVEN_MODEL + r"(?!const bemi_blob_t)", r"\1(blob, ", source)
    return [_defined(macros), *text, source]


def _counts(sections: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Numbers of the header for what windows learned."""
    return {"channels": len(sections["lowest"]), "outputs": len(sections["limits"])}


def _table_code() -> str:
    """Scales and tests of readings, for functions that are given the state."""
    code = f"{file_of('bemi.inputs', 'fixed_point.c')}\n{file_of('bemi.inputs.table', 'table_bits.c')}"
    code = re.sub(r"\b(bemi_fixed_point|bemi_transform)\((?=const|int32_t)", r"\1(const bemi_state_t *state, ", code)
    code = re.sub(r"\bbemi_fixed_point\((?!const)", "bemi_fixed_point(state, ", code)
    # What is left out of other programs here depends on the model.
    code = re.sub(r"^#if BEMI_(VALUES|TESTS|RULES|CONSTANT)\b.*$", "#if 1", code, flags=re.MULTILINE)
    code = re.sub(r"^#if !BEMI_VALUES.*$", "#if 0", code, flags=re.MULTILINE)
    return f"typedef uint64_t bemi_product_t;\n{_defined(TABLE_MACROS)}\n{code}"


def _decision(make: str) -> list[str]:
    """The decisions of sets and of pairs, with their memory in the state instead of on the stack."""
    ties = f"    if (!state->blob->by_evidence)\n    {runtime('no_label.c')}{runtime('ties.c').rstrip()}"
    head, none = "static int bemi_decide_by_{}(bemi_state_t *state)", {"prepare": "", "ties": ties}
    code = [runtime(name) for name in ("pair.c", "elected_sets.c", "sets.c", "pairs.c")]
    heads = ["", "", head.format("sets"), head.format("pairs")]
    made = [Template(text).substitute(none, head=own) for text, own in zip(code, heads, strict=True)]
    text = "\n".join(made)
    for array, memory in (
        ("uint16_t counts", "uint16_t *const counts"),
        ("bemi_class_t met", "bemi_class_t *const met"),
    ):
        text, times = re.subn(rf"\b{array}\[BEMI_CLASSES\];", f"{memory} = state->counts;", text)
        assert times == 1
    text = text.replace("bemi_pair(uint_fast16_t low", "bemi_pair(const bemi_state_t *state, uint_fast16_t low")
    return [
        re.sub(r"\bbemi_pair\((?!const)", "bemi_pair(state, ", text),
        Template(_text("predict.c")).substitute(make=make),
    ]


def _defined(macros: Mapping[str, object]) -> str:
    return "".join(f"#define {name} {value}\n" for name, value in macros.items())


def _text(name: str) -> str:
    return file_of("bemi.export.blob", f"runtime/{name}")
