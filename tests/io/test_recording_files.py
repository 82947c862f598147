"""Recordings in files: long tables, folders, a row per window, arrays; and windows for a model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import bemi
from bemi.inputs import Inputs
from bemi.io import (
    Columns,
    ModelWindows,
    Reading,
    column_names,
    read_for_model,
    read_training,
    samples_in,
    training_rows,
)

LONG = Columns("who", "t", "what")


def long_table(samples=40):
    generator = np.random.default_rng(0)
    frames = []
    for who in (1, 2):
        for place, what in enumerate(("walk", "run")):
            values = generator.normal(0, 1 + place, (samples, 2)).round(2)
            clock = 20 * (samples * place + np.arange(samples))
            frames.append(pd.DataFrame({"who": who, "t": clock, "x": values[:, 0], "y": values[:, 1], "what": what}))
    return pd.concat(frames, ignore_index=True)


def read(path, tell=None, **reading):
    return read_training(path, Reading(**reading), tell or (lambda line: None))


def same(found, expected):
    assert np.array_equal(found.X, expected.X)
    assert found.y.tolist() == expected.y.tolist()


@pytest.fixture
def expected():
    return bemi.windows(long_table(), 16, id="who", time="t", target="what")


def test_a_long_file_is_what_the_table_is(tmp_path, expected):
    long_table().to_csv(tmp_path / "a.csv", index=False)
    found = bemi.windows(tmp_path / "a.csv", 16, id="who", time="t", target="what")
    same(found, expected)
    assert found.groups.tolist() == expected.groups.tolist()
    assert found.starts.tolist() == expected.starts.tolist()
    same(read(tmp_path / "a.csv", window=16, columns=LONG), expected)


def test_another_writing_of_the_same_file(tmp_path, expected):
    """An index, semicolons, decimal commas, an empty column to drop."""
    table = long_table().assign(note="free text")
    table.to_csv(tmp_path / "a.csv", sep=";", decimal=",")
    notes = []
    found = read(tmp_path / "a.csv", notes.append, window=16, columns=LONG, drop=("note",))
    same(found, expected)
    assert notes == ["column 'Unnamed: 0' looks like an index and is left out"] or notes == [
        "column '' looks like an index and is left out"
    ]


@pytest.mark.parametrize("kind", ["column", "names", "folders"])
def test_a_folder_has_a_recording_per_file(tmp_path, expected, kind):
    notes = []
    for (who, what), own in long_table().groupby(["who", "what"], sort=False):
        file = {"column": f"{who}_{what}", "names": f"{what}-{who:02d}", "folders": f"{what}/{who}"}[kind]
        (tmp_path / file).parent.mkdir(exist_ok=True)
        # Each file has its own clock.
        own = own.assign(t=own.t - own.t.min()).drop(columns=["who"] if kind == "column" else ["who", "what"])
        own.to_csv(tmp_path / f"{file}.csv", index=False)
    found = read(
        tmp_path, notes.append, window=16, columns=Columns(time="t", target="what" if kind == "column" else None)
    )
    assert sorted(map(bytes, found.X)) == sorted(map(bytes, expected.X))
    assert sorted(found.y) == sorted(expected.y)
    assert len(set(found.groups)) == 4
    names = {"column": [], "names": "starts of file names", "folders": "sub-folders"}[kind]
    assert notes == ([f"labels are the {names}: run, walk"] if names else [])
    if kind == "folders":
        assert set(found.groups) == {"walk/1", "walk/2", "run/1", "run/2"}


def folder_of(tmp_path, **files):
    for name, table in files.items():
        place = tmp_path / f"{name.replace('__', '/')}.csv"
        place.parent.mkdir(exist_ok=True)
        table.to_csv(place, index=False)
    return tmp_path


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({"walk_1": ["x", "y"], "walk_2": ["x"]}, r"walk_2.csv lacks the channel 'y'; its columns are x"),
        ({"walk_1": ["x"], "_2": ["x"]}, "_2.csv does not begin with a label, as walk_01.csv does"),
        ({"walk_1": ["x"], "run__1": ["x"]}, "files beside sub-folders"),
        ({}, "has no CSV files"),
    ],
)
def test_bad_folders_are_refused(tmp_path, files, error):
    tables = {name: long_table()[columns] for name, columns in files.items()}
    with pytest.raises(ValueError, match=error):
        read(folder_of(tmp_path, **tables), window=16)


def test_a_folder_needs_a_window(tmp_path):
    with pytest.raises(ValueError, match="say how many samples a window has, such as --window 128"):
        read(folder_of(tmp_path, walk=long_table()))


def test_text_in_a_channel_names_its_place(tmp_path):
    table = long_table().astype({"x": object})
    table.loc[3, "x"] = "high"
    table.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ValueError, match=r"a.csv, row 4 \(line 5\), column 'x' holds 'high'.*; name the channels"):
        read(tmp_path / "a.csv", window=16, columns=LONG)


def test_labels_may_be_missing_in_places(tmp_path, expected):
    table = long_table().assign(z=1.0)
    table.loc[:39, "what"] = None
    table.to_csv(tmp_path / "a.csv", index=False)
    notes = []
    found = read(tmp_path / "a.csv", notes.append, window=16, columns=Columns("who", "t", "what", ("x", "y")))
    assert found.y.tolist() == expected.y.tolist()[4:]
    assert notes == ["40 samples without a label, in no window"]
    with pytest.raises(ValueError, match="has no labels; name their column or array with --target"):
        read(tmp_path / "a.csv", window=16, columns=Columns("who", "t", None, ("x", "y")))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["x_0", "x_1", "y_0", "y_1"], (("x", "y"), [["x_0", "y_0"], ["x_1", "y_1"]])),
        (["acc x[1]", "acc x[2]"], (("acc x",), [["acc x[1]"], ["acc x[2]"]])),
        (["a1_10", "a1_0"], None),
        (["t0", "t1", "t2"], (("t",), [["t0"], ["t1"], ["t2"]])),
        (["x_0", "x_1", "y_0"], None),
        (["x_0", "x0"], None),
        (["x_2", "x_3"], None),
        (["x", "y"], None),
    ],
)
def test_names_of_samples(names, expected):
    assert samples_in(names) == expected


def row_table(found, names):
    flat = pd.DataFrame(found.X.reshape(len(found.X), -1), columns=column_names(("x", "y"), 16))
    return flat[names].assign(what=found.y, who=found.groups) if names else flat


def test_a_row_per_window_in_any_order_of_columns(tmp_path, expected):
    by_channel = [f"{channel}_{t}" for channel in "xy" for t in range(16)]
    row_table(expected, by_channel).to_csv(tmp_path / "a.csv", index=False)
    found = read(tmp_path / "a.csv", columns=Columns("who", None, "what"))
    same(found, expected)
    assert found.channels == ("x", "y")
    assert found.groups.tolist() == expected.groups.tolist()
    assert found.starts is None
    assert list(training_rows(found).columns)[:3] == ["x_0", "y_0", "x_1"]
    swapped = read(tmp_path / "a.csv", columns=Columns("who", None, "what", ("y", "x")))
    assert np.array_equal(swapped.X, expected.X[:, :, ::-1])


def test_a_row_per_window_with_a_number_of_channels(tmp_path, expected):
    flat = pd.DataFrame(expected.X.reshape(len(expected.X), -1)).rename(
        columns=lambda k: "abcdefgh"[k % 8] + "s" * (k // 8)
    )
    flat.assign(what=expected.y).to_csv(tmp_path / "a.csv", index=False)
    found = read(tmp_path / "a.csv", columns=Columns(target="what"), count=2)
    same(found, expected)
    assert found.groups is None
    with pytest.raises(ValueError, match="32 columns are not a whole number of samples of 3 channels"):
        read(tmp_path / "a.csv", columns=Columns(target="what"), count=3)
    with pytest.raises(ValueError, match="columns are not named as samples of channels"):
        read(tmp_path / "a.csv", columns=Columns(target="what", channels=("x",)))
    with pytest.raises(ValueError, match="hop, time, resample and fill are for rows that are samples"):
        read(tmp_path / "a.csv", columns=Columns(target="what", time="a"))
    with pytest.raises(ValueError, match="hop, time, resample and fill are for rows that are samples"):
        read(tmp_path / "a.csv", columns=Columns(target="what"), hop=3)


def test_arrays(tmp_path, expected):
    path = tmp_path / "a.npz"
    np.savez(path, X=expected.X, y=expected.y, groups=expected.groups, people=expected.groups + 5)
    found = read(path, window=16)
    same(found, expected)
    assert found.groups.tolist() == expected.groups.tolist()
    assert isinstance(training_rows(found), np.ndarray)
    assert read(path, columns=Columns("people")).groups.tolist() == (expected.groups + 5).tolist()
    assert read(path, columns=Columns(channels=("x", "y"))).channels == ("x", "y")
    for reading, error in (
        ({"window": 8}, "windows have 16 samples, not 8"),
        ({"count": 3}, "'X' has 2 channels, not 3"),
        ({"columns": Columns("nobody")}, "has no array 'nobody'; it has X, y, groups, people"),
        ({"columns": Columns(channels=("x",))}, "'X' has 2 channels, but 1 are named"),
    ):
        with pytest.raises(ValueError, match=error):
            read(path, **reading)
    np.savez(path, X=expected.X[:, :, :, None], y=expected.y)
    with pytest.raises(ValueError, match="must be numbers of shape"):
        read(path, window=16)
    np.savez(path, X=expected.X, y=expected.y, groups=expected.groups[1:])
    with pytest.raises(ValueError, match="'groups' must hold one value per window"):
        read(path, window=16)


@pytest.fixture(params=[True, False], ids=["named", "unnamed"])
def model(request, expected):
    rows = training_rows(expected) if request.param else expected.X
    names = list(rows.columns) if request.param else None
    inputs = Inputs.fit(rows, "auto", bemi.SignalCounts(2), names)
    found = ModelWindows.of(inputs)
    assert (found.time, found.count, found.channels) == (16, 2, ("x", "y") if request.param else None)
    return found


def for_model(path, model, **columns):
    return read_for_model(
        path, model, Reading(columns=Columns(**columns)), lambda line: None, labelled="target" in columns
    )


def test_a_model_finds_its_windows_in_every_kind_of_file(tmp_path, expected, model):
    long_table().to_csv(tmp_path / "long.csv", index=False)
    same(for_model(tmp_path / "long.csv", model, id="who", time="t", target="what"), expected)
    by_channel = [f"{channel}_{t}" for channel in "xy" for t in range(16)]
    row_table(expected, by_channel).to_csv(tmp_path / "rows.csv", index=False)
    same(for_model(tmp_path / "rows.csv", model, id="who", target="what"), expected)
    np.savez(tmp_path / "a.npz", X=expected.X, y=expected.y)
    same(for_model(tmp_path / "a.npz", model, target="y"), expected)
    folder = folder_of(tmp_path / "folder", **{"walk_1": long_table().drop(columns=["who", "what"])})
    assert np.array_equal(for_model(folder, model, time="t").X[:4], expected.X[:4])


def test_labels_do_not_end_windows_where_nobody_asks_for_them(tmp_path, model):
    table = long_table().rename(columns={"what": "label"})
    table.to_csv(tmp_path / "a.csv", index=False)
    found = for_model(tmp_path / "a.csv", model, id="who", time="t")
    assert found.y is None
    expected = bemi.windows(table.drop(columns="label"), 16, id="who", time="t")
    assert np.array_equal(found.X, expected.X)


def test_a_model_refuses_other_windows(tmp_path, model):
    long_table().drop(columns="y").to_csv(tmp_path / "a.csv", index=False)
    error = "lacks the channel 'y'" if model.channels else r"windows of 16 samples of 1 channels \(x\); the model takes"
    with pytest.raises(ValueError, match=error):
        for_model(tmp_path / "a.csv", model, id="who", time="t", target="what")
    long_table().drop(columns="what").to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ValueError, match="has no labels"):
        read_for_model(
            tmp_path / "a.csv", model, Reading(columns=Columns("who", "t")), lambda line: None, labelled=True
        )


def test_other_models_take_no_windows():
    assert ModelWindows.of(Inputs.fit(np.arange(6).reshape(3, 2), "auto", None)) is None
