"""Recordings as loggers write them: jitter, lost samples, empty cells, other rates."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bemi

ROLES = {"id": "who", "time": "t", "target": "what"}
KINDS = (("rest", 0.2, 40), ("walk", 1.8, 400), ("run", 2.6, 900))


def recordings(people=6, samples=500, step=20, seed=0):
    """A long table of three activities, each of several people, in ms and whole units of a sensor."""
    rng, parts = np.random.default_rng(seed), []
    t = step * np.arange(samples)
    for who in range(people):
        for place, (what, steps, force) in enumerate(KINDS):
            beat = 2 * np.pi * steps * t / 1000 * rng.normal(1, 0.1) + rng.uniform(0, 6)
            values = force * np.stack([np.sin(beat), np.cos(2 * beat)], 1) + rng.normal(0, 30, (samples, 2))
            part = pd.DataFrame(values.round().astype(int), columns=["x", "y"])
            parts.append(part.assign(who=who, t=100_000 * place + t, what=what))
    return pd.concat(parts, ignore_index=True)


def cut(frame, **more):
    """Windows, and what was said."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = bemi.windows(frame, 64, 32, **ROLES, **more)
    return found, "; ".join(str(line.message) for line in caught)


def jittered(frame, rng):
    return frame.assign(t=frame.t + rng.uniform(-8, 8, len(frame)))


def out_of_order(frame, rng):
    return frame.assign(t=frame.t + rng.normal(0, 8, len(frame)))


def with_losses(frame, rng):
    return frame[rng.random(len(frame)) > 0.02]


def with_empty_cells(frame, rng):
    return frame.assign(x=frame.x.where(rng.random(len(frame)) > 0.01), y=frame.y.where(rng.random(len(frame)) > 0.01))


REMAIN = {jittered: 2, with_losses: 100, with_empty_cells: 102}
"""Windows without help."""


@pytest.fixture(scope="module")
def clean():
    """Windows of undisturbed recordings of other people, and a model of them."""
    found, _ = cut(recordings(seed=1))
    chosen = {"inputs": bemi.SignalCounts(rocket=0), "copies": None, "C": 1.0, "weight_bound": 3}
    return bemi.FewBitClassifier(**chosen, probabilities=False).fit(found.X, found.y)


@pytest.mark.parametrize(
    ("logger", "how", "said"),
    [
        (jittered, {"resample": 50}, r"resampled from [\d.]+ to 50 Hz, times in ms: 9,000 samples become 8,9\d\d"),
        (out_of_order, {"resample": 50}, r"\d+ samples sorted by time"),
        (with_losses, {"fill": 3}, r"\d+ gaps in time, of up to 3 samples, filled; (\d+) samples filled in"),
        (with_losses, {"resample": 50, "fill": 3}, r"\d+ gaps in time, of up to 3 samples, filled"),
        (with_empty_cells, {"fill": 3}, r"(\d+) empty cells filled"),
        (with_empty_cells, {"resample": 50}, r"\d+ empty cells filled"),
    ],
)
def test_most_windows_stay_and_so_does_the_accuracy(clean, logger, how, said):
    frame = recordings()
    whole, _ = cut(frame)
    given = logger(frame, np.random.default_rng(0))
    found, lines = cut(given, **how)
    assert len(found.X) > 0.9 * len(whole.X)
    assert found.rate == 50
    match = re.search(said, lines)
    assert match is not None, lines
    if logger is with_losses and "resample" not in how:
        times = given.groupby(["who", "what"]).t
        assert int(match[1]) == ((times.max() - times.min()) // 20 + 1 - times.size()).sum()
    if logger is with_empty_cells and "fill" in how:
        assert int(match[1]) == int(given[["x", "y"]].isna().sum().sum())
    assert np.array_equal(found.X, np.rint(found.X))
    assert clean.score(found.X, found.y) > clean.score(whole.X, whole.y) - 0.02
    # The numbers of docs/signals.md.
    assert len(whole.X) == 252
    if logger in REMAIN:
        assert len(cut(given)[0].X) == REMAIN[logger]
        assert len(found.X) == (249 if logger is with_empty_cells and "fill" not in how else 252)


def test_regular_recordings_stay_as_they_are():
    frame = recordings(people=2)
    whole, _ = cut(frame)
    for how in ({"fill": 5}, {"resample": 50}, {"resample": 50, "fill": 5}):
        found, _ = cut(frame, **how)
        assert np.array_equal(found.X, whole.X)
        assert found.X.dtype == whole.X.dtype
        assert np.array_equal(found.starts, whole.starts)


def test_long_gaps_split_and_short_ones_do_not():
    frame = recordings(people=1)[:200].drop(index=[50, 51, 52, *range(120, 124)])
    # The gap of four samples is too long: 120 samples before it, 76 after it.
    found, lines = cut(frame, fill=3)
    assert found.starts.tolist() == [0, 640, 20 * 124]
    assert "1 gaps in time, of up to 3 samples, filled; 3 samples filled in" in lines
    assert "1 gap in time" in lines
    found, _ = cut(frame, resample=50, fill=3)
    assert found.starts.tolist() == [0, 640, 20 * 124]
    assert len(cut(frame, fill=4)[0].X) == 5


@settings(max_examples=50, deadline=None)
@given(
    kept=st.lists(st.booleans(), min_size=40, max_size=40),
    slope=st.integers(-50, 50),
    rate=st.sampled_from([20, 50, 80, 200]),
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_straight_line_stays_one_at_any_rate(kept, slope, rate):
    """Interpolation and means of straight lines are exact, wherever samples are lost."""
    t = 10 * np.flatnonzero([True, *kept, True])
    frame = pd.DataFrame({"ms": t, "x": slope * t.astype(float)})
    found = bemi.windows(frame, 3, 1, time="ms", channels=["x"], resample=rate, fill=50)
    step = 1000 / rate
    first = np.arange(len(found.X)) * step
    # At a lower rate the mean at either end is that of half a window.
    inner = found.X[1:-1, :, 0]
    assert len(found.X) == int(t[-1] / step + 1e-6) - 1
    assert np.allclose(inner, np.rint(slope * (first[1:-1, None] + step * np.arange(3))), atol=0.5)


def test_a_lower_rate_does_not_alias():
    """A tone above half of the new rate nearly vanishes, a slow one stays."""
    t = np.arange(4000)
    for hertz, least, most in ((95, 0, 100), (2, 950, 1000)):
        frame = pd.DataFrame({"ms": t, "x": (1000 * np.sin(2 * np.pi * hertz * t / 1000)).round()})
        with pytest.warns(UserWarning, match="resampled from 1000 to 50 Hz, times in ms"):
            found = bemi.windows(frame, 32, time="ms", channels=["x"], resample=50)
        assert least <= np.abs(found.X).max() <= most


@pytest.mark.parametrize(
    ("name", "times", "rate"),
    [
        ("time", 20 * np.arange(100), 50),  # ms, since 0.05 samples a second are rare
        ("t [s]", 20 * np.arange(100), 0.05),
        ("timestamp_us", 20 * np.arange(100), 50_000),
        ("time", 0.02 * np.arange(100), 50),
        ("time", pd.Timestamp("2024-05-01") + pd.to_timedelta(20 * np.arange(100), unit="s"), 0.05),
    ],
)
def test_the_rate_in_hertz(name, times, rate):
    frame = pd.DataFrame({name: times, "x": np.arange(100) % 7})
    assert bemi.windows(frame, 16, time=name).rate == rate
    assert bemi.windows(frame[["x"]], 16).rate is None


def test_recordings_of_two_rates_come_to_one():
    fast, slow = recordings(people=2, step=10), recordings(people=2).assign(who=lambda f: f.who + 10)
    with pytest.raises(ValueError, match=r"bring them to one rate: resample=HZ, or --resample HZ"):
        cut(pd.concat([fast, slow]))
    found, _ = cut(pd.concat([fast, slow]), resample=50)
    assert len(found.X) == 2 * 3 * 6 + 2 * 3 * 14


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"resample": 0}, "resample must be None or a positive number of samples per second, got 0"),
        ({"fill": -1}, "fill must be .*at least 0.*, got -1"),
        ({"resample": 50, "time": None}, "resampling needs times of samples; name the column that has them"),
    ],
)
def test_bad_values_are_refused(more, error):
    with pytest.raises(ValueError, match=error):
        bemi.windows(recordings(1), 64, **(ROLES | {"channels": ["x", "y"]} | more))
