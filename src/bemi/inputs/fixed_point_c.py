"""Scaling in fixed point as C: the tables that ``fixed_point.c`` is compiled with."""

from __future__ import annotations

from bemi.inputs.c_types import SIGNED, UNSIGNED, range_of, read_macro, smallest_type
from bemi.inputs.export_hooks import CCode, CTable, file_of
from bemi.inputs.fixed_point import FixedPoint

NARROW_BYTES, WIDE_BYTES = 90, 140
"""Bytes of code with products of 32 and of 64 bits."""

VALUE = 45
"""Instructions for one value."""


def c_code(scale: FixedPoint, low: int, high: int) -> CCode:
    """The function ``int32_t bemi_fixed_point(int32_t reading, uint_fast16_t column)``, for integers in ``low..high``.

    It gives the same integers as :meth:`FixedPoint.scaled` clipped to this range, for all readings of 32 bits.  If the
    range is small, products need only 32 bits: distances beyond the ``reach`` at which an integer leaves the range
    count as that reach.
    """
    largest = range_of("int32_t")[1]
    below, above = min(-low, largest), min(high, largest)
    centres, multipliers, shifts = scale.centres.tolist(), scale.multipliers.tolist(), scale.shifts.tolist()
    factors = list(zip(multipliers, shifts, strict=True))
    reaches = [_reach(multiplier, shift, max(below, above)) for multiplier, shift in factors]
    products = zip(reaches, factors, strict=True)
    narrow = all(r < 2**32 and r * m + (1 << (s - 1)) < 2**32 for r, (m, s) in products)
    centre_kind = smallest_type(min(centres), max(centres), SIGNED[1:])
    multiplier_kind = smallest_type(0, max(multipliers), UNSIGNED[1:])
    return CCode(
        source=file_of(__package__, "fixed_point.c"),
        macros={
            "BEMI_MOST_BELOW": f"{below}UL",
            "BEMI_MOST_ABOVE": f"{above}UL",
            "BEMI_HAS_REACHES": int(narrow),
            "bemi_product_t": "uint32_t" if narrow else "uint64_t",
            **read_macro("CENTRE", centre_kind),
            **read_macro("MULTIPLIER", multiplier_kind),
        },
        tables=(
            CTable("bemi_centres", centre_kind, centres),
            CTable("bemi_multipliers", multiplier_kind, multipliers),
            CTable("bemi_shifts", "uint8_t", shifts),
            *([CTable("bemi_reaches", "uint32_t", reaches)] if narrow else []),
        ),
        code_bytes=NARROW_BYTES if narrow else WIDE_BYTES,
    )


def _reach(multiplier: int, shift: int, most: int) -> int:
    """The smallest distance from which on the integer is at least ``most``, above and below the centre."""
    # distance * multiplier + 2^(shift - 1) - 1 >= most << shift
    return -(-((most << shift) - (1 << (shift - 1)) + 1) // multiplier) if multiplier else 0
