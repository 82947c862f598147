"""Compiled loops, and the clock that stands still while they are compiled."""
