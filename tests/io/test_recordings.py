"""Windows of recordings: what they hold, and what they never reach across."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bemi

ROLES = {"id": "who", "time": "t", "target": "what"}


def table(samples=40, people=("a", "b"), label="still", step=10, seed=0):
    """A long table: two channels of several people, one row per sample."""
    generator = np.random.default_rng(seed)
    parts = []
    for who in people:
        values = generator.integers(-500, 500, (samples, 2))
        parts.append(
            pd.DataFrame(
                {"who": who, "t": step * np.arange(samples), "x": values[:, 0], "y": values[:, 1], "what": label}
            )
        )
    return pd.concat(parts, ignore_index=True)


def by_hand(rows, window, hop):
    """Windows of a long table, sample by sample: the rows (who, t, x, y, what) of each, in order of people."""
    found = []
    for who in dict.fromkeys(row[0] for row in rows):
        stretches, last = [[]], None
        for row in [row for row in rows if row[0] == who]:
            usable = row[2] == row[2] and row[4] is not None
            if not usable or last is None or row[4] != last[4] or row[1] - last[1] > 15:
                stretches.append([])
            if usable:
                stretches[-1].append(row)
            last = row if usable else None
        for stretch in stretches:
            begins = range(0, len(stretch) - window + 1, hop)
            found += [stretch[begin : begin + window] for begin in begins]
    return found


EVENTS = [*[""] * 20, "gap", "label", "missing", "unlabelled"]


@settings(max_examples=200, deadline=None)
@given(
    events=st.lists(st.sampled_from(EVENTS), min_size=60, max_size=120),
    people=st.lists(st.integers(0, 2), min_size=120, max_size=120),
    window=st.integers(3, 8),
    hop=st.integers(1, 9),
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_windows_are_those_cut_by_hand(events, people, window, hop):
    assume(events.count("gap") < 0.1 * (len(events) - 3))
    clock, label, rows = dict.fromkeys(range(3), 0), "a", []
    values = np.random.default_rng(0).normal(size=(len(events), 2)).round(3)
    for event, who, (x, y) in zip(events, people, values.tolist(), strict=False):
        clock[who] += 40 if event == "gap" else 10
        label = {"a": "b", "b": "a"}[label] if event == "label" else label
        rows.append((who, clock[who], np.nan if event == "missing" else x, y, None if event == "unlabelled" else label))
    frame = pd.DataFrame(rows, columns=["who", "t", "x", "y", "what"])
    # Few samples of a person may have mostly gaps between them.
    assume((frame.groupby("who").t.diff().groupby(frame.who).median().fillna(10) == 10).all())
    expected = by_hand(rows, window, hop)
    if not expected:
        with pytest.raises(ValueError, match="no window of"):
            bemi.windows(frame, window, hop, **ROLES, channels=["x", "y"])
        return
    found = bemi.windows(frame, window, hop, **ROLES, channels=["x", "y"])
    assert found.X.tolist() == [[[row[2], row[3]] for row in own] for own in expected]
    assert found.y.tolist() == [own[0][4] for own in expected]
    assert found.groups.tolist() == [own[0][0] for own in expected]
    assert found.starts.tolist() == [own[0][1] for own in expected]


def test_a_table_an_array_and_half_a_window_as_hop():
    frame = table()
    found = bemi.windows(frame, 16, **ROLES)
    assert found.X.shape == (8, 16, 2)
    assert found.X.dtype.kind == "i"
    assert found.starts.tolist() == [0, 80, 160, 240] * 2
    assert (found.channels, set(found.groups), set(found.y)) == (("x", "y"), {"a", "b"}, {"still"})
    assert np.array_equal(found.X[1], frame[["x", "y"]][8:24])
    assert repr(found) == "<8 windows of 16 samples of 2 channels, 2 recordings, 1 classes>"
    array = frame.assign(who=frame.who == "b", what=1).to_numpy(dtype=float)
    same = bemi.windows(array, 16, id=0, time=1, target=4)
    assert np.array_equal(same.X, found.X)
    assert same.channels == (2, 3)
    bare = bemi.windows(array[:40, 2:4], 16)
    assert np.array_equal(bare.X, found.X[:4])
    assert bare.y is None
    assert bare.starts.tolist() == [0, 8, 16, 24]


def test_usual_names_need_not_be_given():
    frame = table().rename(columns={"who": "ID", "t": "timestamp", "what": "label"})
    found = bemi.windows(frame, 16)
    assert found.channels == ("x", "y")
    assert set(found.groups) == {"a", "b"}
    assert set(found.y) == {"still"}


def test_stretches_are_recordings_where_nothing_tells():
    frame = table(people=("a",))
    frame.loc[20:, "what"] = "moving"
    found = bemi.windows(frame.drop(columns="who"), 8, time="t", target="what")
    assert found.groups.tolist() == [0] * 4 + [1] * 4


def test_dates_are_times():
    frame = table()
    frame["t"] = (pd.Timestamp("2024-05-01 12:00") + pd.to_timedelta(frame.t, "ms")).astype(str)
    found = bemi.windows(frame, 16, **ROLES)
    assert len(found.X) == 8
    assert found.starts[1] == "2024-05-01 12:00:00.080"
    frame.loc[25:, "t"] = "soon"
    with pytest.raises(ValueError, match="must hold numbers or dates"):
        bemi.windows(frame, 16, **ROLES)


def test_rows_of_people_may_be_mixed_and_clocks_may_start_again():
    frame = table(people=("a", "b"))
    mixed = frame.sort_values("t", kind="stable").reset_index(drop=True)
    assert np.array_equal(bemi.windows(mixed, 16, **ROLES).X, bemi.windows(frame, 16, **ROLES).X)
    again = frame.assign(who="a")
    found = bemi.windows(again, 16, **ROLES)
    assert found.starts.tolist() == [0, 80, 160, 240] * 2, "no window across the second start of the clock"


def swapped(frame):
    frame.loc[[10, 11], "t"] = frame.loc[[11, 10], "t"].to_numpy()
    return frame


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (swapped, r"the table: who a, row 12: 100 is before the time above it; sort the rows by time"),
        (lambda f: f.assign(t=f.t.where(f.index != 11, 100)), "row 12: 100 is the same time again"),
        (lambda f: f.assign(t=f.t.where(f.who == "a", f.t * 2)), "has a sample every .* resample"),
        (lambda f: f.assign(t=f.t + 30 * (f.index // 8)), "sampling is uneven: 10 % of the steps"),
        (lambda f: f.assign(x="?"), "column 'x' holds no numbers"),
        (lambda f: f.assign(x=np.inf), "column 'x' is infinite in row 1"),
        (lambda f: f.assign(who=None), "column 'who' is empty in row 1"),
        (lambda f: f.assign(t=np.nan), "column 't' has no time in row 1"),
        (
            lambda f: f.assign(session=(f.who == "b") * 1),
            "'session' is constant within each window, probably an ID; name it as id",
        ),
        (lambda f: f.assign(clock=range(len(f))), "'clock' only increases, probably a timestamp; name it as time"),
        (lambda f: f.drop(columns=["x", "y"]), "needs at least one channel"),
        (lambda f: f.drop(columns="what"), "has no column 'what'; its columns are who, t, x, y"),
        (lambda f: f.assign(x=np.nan), "no window of 16 samples is left: 80 samples without a value in some channel"),
        (lambda f: f.groupby("who").head(9), "no window of 16 samples is left: 2 of 2 stretches .* shorter"),
    ],
)
def test_bad_tables_are_refused_in_one_line(change, error):
    with pytest.raises(ValueError, match=error) as caught:
        bemi.windows(change(table()), 16, **ROLES)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"window": 2}, "window must be an integer in 3..32767"),
        ({"window": 16.0}, "window must be an integer"),
        ({"hop": 0}, "hop must be None or an integer of at least 1"),
        ({"channels": ["x", "z"]}, "lacks the channel 'z'"),
        ({"channels": ["x", "t"]}, "column 't' is named twice"),
        ({"channels": ["x", "x"]}, "each of them once"),
        ({"time": "who"}, "must be different columns"),
    ],
)
def test_bad_arguments_are_refused(arguments, error):
    with pytest.raises(ValueError, match=error):
        bemi.windows(table(), **({"window": 16} | ROLES | arguments))


def clipped(frame):
    return pd.concat([table(1000).assign(x=lambda f: f.x.clip(-450, 450))], ignore_index=True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.assign(x=f.x.where(f.index != 5)), "1 sample without a value in some channel, in no window"),
        (lambda f: f.assign(what=f.what.where(f.index > 2)), "3 samples without a label, in no window"),
        (
            lambda f: f.assign(t=f.t + 6 * ((f.index >= 20) & (f.who == "a"))),
            "1 gap in time, longer than 1.5 times the usual step of 10; no window spans one",
        ),
        (lambda f: f.drop(index=range(50, 80)), "1 of 2 stretches of samples shorter than a window of 16, left out"),
        (lambda f: f.drop(index=range(50, 80)), "1 recording without any window: the table: who b"),
        (lambda f: f.assign(y=7), "channel 'y' constant in all windows, carrying no information"),
        (clipped, r"channel 'x' may be clipped: \d.\d % of its samples have the largest value 450"),
    ],
)
def test_what_is_left_out_or_doubtful_is_said(change, said):
    frame = change(table())
    with pytest.warns(UserWarning) as caught:  # noqa: PT030
        bemi.windows(frame, 16, **ROLES)
    assert any(re.fullmatch(said, str(line.message)) for line in caught), [str(line.message) for line in caught]


def test_windows_of_another_duration_are_left_out():
    frame = table(400, people=("a",))
    frame["t"] = np.where(frame.index < 360, frame.t, 3600 + 13 * (frame.index - 360))
    with pytest.warns(UserWarning, match="5 windows left out, more than 10 % longer or shorter in time than usual"):
        found = bemi.windows(frame, 16, **ROLES)
    assert found.starts.max() < 3600


def test_a_switch_or_a_current_that_rests_at_zero_is_not_clipped():
    frame = table(400).assign(x=lambda f: (f.x > 0) * 1, y=lambda f: f.y.clip(lower=0))
    assert len(bemi.windows(frame, 16, **ROLES).X)
