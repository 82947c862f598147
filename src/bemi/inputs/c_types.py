"""Integer types of C: their sizes, their ranges, and how tables of them are read."""

from __future__ import annotations

SIGNED = ("int8_t", "int16_t", "int32_t")
UNSIGNED = ("uint8_t", "uint16_t", "uint32_t")


def bits_of(kind: str) -> int:
    """Bits of a type, such as 16 for ``int16_t``."""
    return int(kind.removeprefix("u").removeprefix("int").removesuffix("_t"))


def range_of(kind: str) -> tuple[int, int]:
    """Smallest and largest value of a type."""
    bits = bits_of(kind)
    return (0, 2**bits - 1) if kind in UNSIGNED else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def smallest_type(low: int, high: int, kinds: tuple[str, ...] = SIGNED) -> str:
    """The first of these types that holds ``low..high``, or else the last."""
    fitting = (kind for kind in kinds if range_of(kind)[0] <= low and high <= range_of(kind)[1])
    return next(fitting, kinds[-1])


def read_macro(name: str, kind: str) -> dict[str, object]:
    """The macro ``BEMI_READ_name(place)``, which reads a table of this type; on AVR, values are unsigned until cast."""
    return {f"BEMI_READ_{name}(place)": f"(({kind})BEMI_READ{bits_of(kind)}(place))"}
