"""Compilation: what it does to the clock, and what it tells people."""

from __future__ import annotations

import io
import sys
import time

import pytest

from bemi import jit as loops
from bemi.jit import njit
from bemi.limits import Deadline


def fresh():
    """A function that no cache holds."""

    @njit
    def total(count):
        found = 0
        for k in range(count):
            found += k
        return found

    return total


def test_the_clock_stands_still_while_a_loop_is_compiled():
    loop, clock, began = fresh(), Deadline.after(10.0), time.perf_counter()
    assert loop(5) == 10
    wall = time.perf_counter() - began
    assert wall > 0.02
    assert clock.elapsed < wall / 2
    assert clock.left > 10.0 - wall / 2


def test_the_clock_runs_while_a_compiled_loop_does():
    loop = fresh()
    loop(1)
    clock = Deadline.after(10.0)
    time.sleep(0.05)
    loop(1)
    assert clock.elapsed >= 0.05


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("stream", "lines"), [(Terminal, 1), (io.StringIO, 0)], ids=["terminal", "file"])
def test_one_line_at_a_terminal(monkeypatch, stream, lines):
    written = stream()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setattr(loops, "_speaks_for_all", lambda: True)
    monkeypatch.delenv(loops.TOLD, raising=False)
    announcement = loops._Announcement()
    with loops.event.install_listener("numba:compile", announcement):
        fresh()(3)
        fresh()(3)
    assert written.getvalue().count(loops.MESSAGE) == lines
