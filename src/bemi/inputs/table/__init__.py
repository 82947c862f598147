"""Bits of a table: thresholds of numbers, levels of categories, missing cells."""
