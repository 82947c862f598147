"""Bits of a table: thresholds of numbers, levels of categories, missing cells."""

from bemi.inputs.table.transform import TableBits

__all__ = ["TableBits"]
