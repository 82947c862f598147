"""Clocks."""

from __future__ import annotations

import threading
import time

import pytest

from bemi import limits as module
from bemi.limits import Deadline, Limits


@pytest.fixture(autouse=True)
def nothing_compiled(monkeypatch):
    """A clock that has never stood still, whatever other tests compiled."""
    monkeypatch.setattr(module, "_of_thread", threading.local())


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved."""
    now = [100.0]
    monkeypatch.setattr(module, "clock", lambda: now[0])

    def move(seconds: float) -> None:
        now[0] += seconds

    return move


def test_without_a_deadline_time_never_ends(clock):
    deadline = Deadline.after(None)
    clock(1e9)
    assert deadline.left is None
    assert not deadline.passed
    assert deadline.elapsed == 1e9
    for other in (deadline.share(0.5), deadline.later(3.0), deadline.at_least(3.0)):
        assert other.moment is None


def test_a_deadline_passes(clock):
    deadline = Deadline.after(8.0)
    assert (deadline.left, deadline.elapsed, deadline.passed) == (8.0, 0.0, False)
    clock(6.0)
    assert (deadline.left, deadline.elapsed, deadline.passed) == (2.0, 6.0, False)
    clock(2.0)
    assert (deadline.left, deadline.elapsed, deadline.passed) == (0.0, 8.0, True)
    clock(1.0)
    assert (deadline.left, deadline.passed) == (0.0, True)
    assert Deadline.after(0.0).passed


def test_a_share_is_of_the_time_that_is_left(clock):
    deadline = Deadline.after(10.0)
    clock(2.0)
    share = deadline.share(0.25)
    assert (share.left, share.elapsed) == (2.0, 0.0)
    assert deadline.share(0.25, at_least=5.0).left == 5.0
    assert deadline.share(0.25, at_least=50.0).left == 8.0
    clock(20.0)
    assert deadline.share(0.25).left == 0.0


def test_a_deadline_can_be_moved(clock):
    deadline = Deadline.after(3.0)
    clock(1.0)
    later = deadline.later(4.0)
    assert (later.left, later.elapsed) == (6.0, 1.0)
    assert deadline.later(None).left is None
    assert deadline.at_least(1.0).left == 2.0
    assert deadline.at_least(9.0).left == 9.0


def test_limits_start_a_clock_and_follow_it(clock):
    limits = Limits(seconds=5.0, nodes=7, gap=0.5, seed=3)
    deadline = limits.deadline()
    clock(2.0)
    assert limits.until(deadline) == Limits(seconds=3.0, nodes=7, gap=0.5, seed=3)
    assert Limits(seconds=5.0).until(Deadline()).seconds is None
    assert Limits().deadline().moment is None


def test_the_clock_is_that_of_perf_counter():
    before = time.perf_counter()
    assert before <= Deadline().began <= time.perf_counter()
