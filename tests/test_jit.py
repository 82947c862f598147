"""Compilation: what it does to the clock, and what it tells people."""

from __future__ import annotations

import io
import sys

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


class Hours(loops.event.Listener):
    """A wall clock that moves when it is told to, and by an hour whenever a loop is compiled."""

    def __init__(self):
        self.now = 0.0

    def on_start(self, event):
        self.now += 3600.0

    def on_end(self, event):
        pass


@pytest.fixture
def wall(monkeypatch):
    clock = Hours()
    monkeypatch.setattr("bemi.limits.clock", lambda: clock.now)
    with loops.event.install_listener("numba:compile", clock):
        yield clock


def test_the_clock_stands_still_while_a_loop_is_compiled(wall):
    loop, clock = fresh(), Deadline.after(10.0)
    assert loop(5) == 10
    assert wall.now >= 3600.0
    assert (clock.elapsed, clock.left) == pytest.approx((0.0, 10.0))


def test_the_clock_runs_while_a_compiled_loop_does(wall):
    loop = fresh()
    loop(1)
    clock = Deadline.after(10.0)
    wall.now += 7.0
    loop(1)
    assert (clock.elapsed, clock.left) == pytest.approx((7.0, 3.0))


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
