"""The format of a model as data: a header of 32-bit numbers and the sections that it announces, all little-endian."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence

from bemi.inputs.export_hooks import range_of

MAGIC, VERSION = b"BEMI", 1

FIELDS = (
    *("kind", "inputs", "values", "low", "high", "classes", "networks", "subset_size", "neurons", "entries"),
    *("bytes", "names_bytes", "tests_values", "scales", "tests", "thresholds", "rules", "conditions"),
    *("constant", "level", "most_below", "most_above"),
    *("by_evidence", "all_pairs", "channels", "outputs"),
)
"""Numbers of the header, after magic, version, length, checksum and what tells the runtime's inputs."""

LARGE = ("low", "high", "bytes", "names_bytes", "constant", "level", "most_below", "most_above")
"""Those that may exceed 16 bits."""

SECTIONS = (
    ("word_steps", "uint8_t", "16"),
    ("word_weights", "int8_t", "16"),
    ("weights_at", "uint32_t", "neurons + 1"),
    ("weights", "uint8_t", "bytes"),
    ("neurons_at", "uint32_t", "networks + 1"),
    ("voting", "uint8_t", "networks"),
    ("tables_at", "uint16_t", "networks"),
    ("tables", "uint16_t", "entries"),
    ("subsets", "uint16_t", "networks * subset_size"),
    ("memberships", "uint16_t", "classes"),
    ("evidence_scales", "uint32_t", "by_evidence * neurons"),
    ("value_columns", "uint16_t", "tests_values"),
    ("centres", "int32_t", "scales"),
    ("multipliers", "uint32_t", "scales"),
    ("shifts", "uint8_t", "scales"),
    ("columns", "uint16_t", "tests"),
    ("readings", "int32_t", "tests"),
    ("rule_lengths", "uint8_t", "rules"),
    ("condition_columns", "uint16_t", "conditions"),
    ("condition_readings", "int32_t", "conditions"),
    ("condition_tests", "uint8_t", "conditions"),
    ("lowest", "int32_t", "channels"),
    ("sample_shifts", "uint8_t", "channels"),
    ("limits", "uint32_t", "outputs"),
    ("means", "uint8_t", "outputs"),
    ("factors", "uint8_t", "outputs"),
    ("names", "uint8_t", "names_bytes"),
)
"""Name, type and number of entries of each section; the number is C, of numbers of the header."""

WIDTHS = {"uint8_t": "B", "int8_t": "b", "uint16_t": "H", "int16_t": "h", "uint32_t": "I", "int32_t": "i"}
POINTERS = {1: "uint8_t", 2: "bemi_two_t", 4: "bemi_four_t"}

HEADER = 20 + 4 * len(FIELDS)
"""Bytes before the first section."""


def packed(inputs_id: int, fields: Mapping[str, int], sections: Mapping[str, Sequence[int]]) -> bytes:
    """The file with these numbers, 0 where none is given, and these sections, empty where none is given."""
    body = struct.pack(f"<I{len(FIELDS)}i", inputs_id, *(fields.get(name, 0) for name in FIELDS))
    for name, kind, _ in SECTIONS:
        values = sections.get(name, ())
        low, high = range_of(kind)
        if any(not low <= value <= high for value in values):
            raise ValueError(f"{name} of this model do not fit the format; export it with 'bemi export c'")
        body += struct.pack(f"<{len(values)}{WIDTHS[kind]}", *values)
    return MAGIC + struct.pack("<III", VERSION, 16 + len(body), zlib.crc32(body)) + body


def size_of(kind: str) -> int:
    """Bytes of an entry."""
    return struct.calcsize(f"<{WIDTHS[kind]}")


def declared_sections() -> str:
    """Members of the open model."""
    return "".join(f"    const {POINTERS[size_of(kind)]} *{name};\n" for name, kind, _ in SECTIONS)


def read_fields() -> str:
    """C that reads the header's numbers."""
    return "\n".join(f"    blob->{name} = bemi_i32(p);\n    p += 4;" for name in FIELDS)


def bad_sizes() -> str:
    """C for whether a number of the header cannot be right."""
    least = [f"blob->{name} < 0" for name in FIELDS if name not in ("low", "high")]
    most = [f"blob->{name} > 65535" for name in FIELDS if name not in LARGE]
    return " || ".join([*least, *most, "blob->by_evidence > 1", "blob->all_pairs > 1", "blob->inputs < 1"])


def read_sections() -> str:
    """C that finds the sections, none of which reaches beyond the end."""
    lines = []
    for name, kind, count in SECTIONS:
        words = [word if word in "+*" or word.isdigit() else f"(uint32_t)blob->{word}" for word in count.split()]
        size = size_of(kind)
        many = " ".join(words)
        cast = "p" if size == 1 else f"(const {POINTERS[size]} *)(const void *)p"
        lines += [
            f"    count = {many};",
            f"    if (count > left / {size})\n        return BEMI_BLOB_BAD_CONTENT;",
            f"    blob->{name} = {cast};",
            f"    p += {size} * count;\n    left -= {size} * count;",
        ]
    return "\n".join(lines)
