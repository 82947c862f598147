"""Counts of a signal: Python beside a direct reading of the specification, and C, ONNX and JavaScript beside Python."""

import json
import subprocess
from dataclasses import replace
from itertools import combinations
from math import ceil, floor, gcd
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browsers import needs_node
from compiled_c import library, needs_gcc, on_rows
from exported_models import waves, wild_windows
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from soft_margins import choosing, soft_margins

from bemi import FewBitClassifier, SignalCounts, load, save
from bemi.export.page import TestData as WindowsToShow
from bemi.export.page import page
from bemi.inputs import Inputs, Takes
from bemi.inputs.export_hooks import file_of
from bemi.inputs.signal.responses import KERNELS, Layout, dilations, usual_rocket
from bemi.inputs.signal.samples import LARGE, SMALL, Samples
from bemi.training import Candidate

SHAPES = {
    "acceleration": (128, 3, 168, 12),
    "odd": (57, 2, 168, 12),
    "wide": (57, 2, 168, 15),
    "differences": (100, 4, 0, 12),
    "long": (300, 1, 84, 12),
    "many channels": (20, 12, 252, 12),
    "more ways than kernels": (29, 50, 84, 12),
    "shortest": (3, 2, 84, 12),
    "short and wide": (9, 1, 84, 15),
}
"""Samples, channels, outputs of kernels and bits."""

QUICK = {"weight_bound": 7, "time_limit": None, "node_limit": 2}
OUTPUTS = "void outputs(const int32_t *x, int32_t *z) { bemi_transform(x, z); }"


def fitted(shape, rows=24, seed=0):
    time, channels, rocket, bits = SHAPES[shape]
    X, _ = waves(rows, time, channels, seed=seed)
    return SignalCounts(rocket=rocket, bits=bits).fit(X * (8 if bits == 15 else 1))


def direct_dilations(top):
    """The different whole parts of top^(i/5)."""
    return sorted({floor(top ** (i / 5) + 1e-9) for i in range(6)}) if top > 0 else []


def direct_counts(window, transform):
    """The specification read aloud: numbers, loops and nothing else."""
    time, channels = len(window), len(window[0])
    samples = transform.samples_
    half = 2730 * 2 ** (samples.bits - 12)
    u = [
        [max(-half, min(half, (row[c] - samples.offsets[c]) // 2 ** samples.shifts[c])) for row in window]
        for c in range(channels)
    ]
    found = []

    def count(responses):
        threshold = transform.thresholds_[len(found)]
        found.append(sum(1 for response in responses if response > threshold))

    for c in range(channels):
        s = u[c]
        for _ in range(8):
            count(s)
        for d in direct_dilations((time - 1) // 2):
            for _ in range(8):
                count([s[t + d] - s[t] for t in range(time - d)])
        for d in direct_dilations((time - 1) // 4):
            for _ in range(8):
                count([s[t] - 2 * s[t + d] + s[t + 2 * d] for t in range(time - 2 * d)])
    rocket = transform.layout_.rocket
    ways = [(d, c) for d in direct_dilations(max(1, (time - 1) // 8)) for c in range(channels)]
    step = max(1, round(0.618 * len(ways)))
    while gcd(step, len(ways)) != 1:
        step += 1
    kernels = list(combinations(range(9), 3))
    for z in range(rocket):
        d, c = ways[z * step % len(ways)]
        taps = [[u[c][t + k * d] if 0 <= t + k * d < time else 0 for k in range(-4, 5)] for t in range(time)]
        count([sum(seen[k] for k in kernels[z // (rocket // 84)]) - floor(sum(seen) / 3) for seen in taps])
    shift = max(0, time.bit_length() - 8)
    scaled = [
        (n // 2**shift - mean) * 2**e for n, mean, e in zip(found, transform.means_, transform.doublings_, strict=True)
    ]
    return [max(-127, min(127, value)) for value in scaled] + [127] * (8 * ceil(len(found) / 128))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_specification(shape):
    transform = fitted(shape)
    readings = wild_windows(transform, 12)
    windows = readings.reshape(12, transform.layout_.time, transform.layout_.channels)
    expected = [direct_counts(window, transform) for window in windows.tolist()]
    assert np.array_equal(transform.transform(readings), expected)
    assert np.array_equal(transform.transform(windows), expected)


def test_what_is_learned():
    X, _ = waves(30, 50, 2)
    transform = SignalCounts(rocket=84).fit(X)
    low, high = X.min(axis=(0, 1)), X.max(axis=(0, 1))
    assert transform.samples_.offsets == tuple((low + high) >> 1)
    half = np.maximum(high - transform.samples_.offsets, transform.samples_.offsets - low)
    assert [int(h) >> s < 2048 for h, s in zip(half, transform.samples_.shifts, strict=True)] == [True, True]
    u = np.clip((X - transform.samples_.offsets) >> np.array(transform.samples_.shifts), -2730, 2730)
    levels, rises = np.sort(u[:, :, 1], axis=None), np.sort(u[:, 1:, 0] - u[:, :-1, 0], axis=None)
    first = transform.layout_.counts - 84 >> 1
    for pooled, outputs in ((levels, range(first, first + 8)), (rises, range(8, 16))):
        for q in outputs:
            assert transform.thresholds_[q] == pooled[((q * 40503) & 65535) * (len(pooled) - 1) >> 16]
    counts = (u[:, :, 1, None] > transform.thresholds_[first : first + 8]).sum(axis=1)
    assert np.array_equal(transform.means_[first : first + 8], np.floor(counts.mean(axis=0) + 0.5))


@pytest.mark.parametrize("labelled", [True, False])
def test_counts_that_differ_little_within_a_class_are_scaled_up(labelled):
    X, y = waves(30, 50, 2)
    y = y if labelled else np.zeros(30)
    transform = SignalCounts(rocket=84).fit(X, y if labelled else None)
    plain = SignalCounts.from_parameters(
        transform.parameters() | {"means": [0] * transform.layout_.counts, "doublings": [0] * transform.layout_.counts}
    )
    counts = np.array(plain.transform(X)[:, : transform.layout_.counts], dtype=float)
    own = [counts[y == label] for label in np.unique(y)]
    within = sum(((rows - rows.mean(axis=0)) ** 2).sum(axis=0) for rows in own) / (30 - len(own))
    tau = np.sqrt(np.maximum(0.25, 0.9 * within + 0.1 * counts.var(axis=0)))
    whole = np.sqrt(np.mean((np.maximum(0.5, counts.std(axis=0)) / tau) ** 2))
    assert np.array_equal(transform.doublings_, np.clip(np.round(np.log2(32 / (tau * whole))), 0, 5))


def test_one_window_of_each_class_tells_nothing_about_classes():
    X, _ = waves(4, 50, 1)
    counts = SignalCounts(rocket=84).fit(X, list("abcd"))
    bare = {"means": [0] * counts.layout_.counts, "doublings": [0] * counts.layout_.counts}
    found = SignalCounts.from_parameters(counts.parameters() | bare).transform(X)[:, : counts.layout_.counts]
    # The variance is the common one, so the factor is 32 divided by the deviation.
    wanted = np.log2(32 / np.maximum(0.5, found.std(axis=0)))
    assert np.array_equal(counts.doublings_, np.clip(np.round(wanted), 0, 5))


def test_a_classifier_scales_by_its_labels():
    X, y = waves(24, 30, 2)
    classifier = soft_margins(**QUICK, inputs=SignalCounts(rocket=0)).fit(X, y)
    labelled, plain = SignalCounts(rocket=0).fit(X, y), SignalCounts(rocket=0).fit(X)
    assert classifier.transform_.parameters() == labelled.parameters() != plain.parameters()


def test_constant_outputs():
    transform = fitted("odd")
    low, high = transform.output_bounds(*transform.reading_range)
    constant = list(transform.constant_inputs)
    assert constant == list(range(transform.layout_.counts, transform.n_outputs))
    assert (low[constant] == 127).all()
    assert (high[constant] == 127).all()
    assert (transform.transform(wild_windows(transform, 5))[:, constant] == 127).all()
    assert (low[: transform.layout_.counts] < high[: transform.layout_.counts]).all()


def test_short_windows_have_more_kernels():
    assert [usual_rocket(time) // 84 for time in (3, 24, 29, 64, 100, 103, 128, 1000)] == [10, 10, 9, 4, 3, 2, 2, 2]
    X, _ = waves(8, 40, 1)
    assert SignalCounts().fit(X).parameters() == SignalCounts(rocket=504).fit(X).parameters()


def test_the_model_of_the_measurements_has_488_outputs():
    layout, differences = Layout(128, 3, usual_rocket(128)), Layout(128, 3, 0)
    assert (layout.outputs, layout.counts, layout.constants, layout.first_rocket) == (488, 456, 32, 288)
    assert (differences.outputs, differences.counts, differences.constants) == (312, 288, 24)
    assert dilations(63) == (1, 2, 5, 12, 27, 63)
    assert dilations(31) == (1, 3, 7, 15, 31)
    assert layout.kernel_dilations == (1, 2, 5, 8, 15)
    assert dilations(32) == (1, 2, 4, 8, 16, 32), "the fifth root of 32 is 2, not a bit less"
    assert dilations(0) == ()
    assert len(KERNELS) == 84
    names = fitted("acceleration").get_feature_names_out()
    assert len(set(names)) == 488


def test_the_checksums_of_the_documentation():
    i = np.arange(8 * 64 * 2)
    X = (100 * ((i * i * 7 + i * 3) % 251)).reshape(8, 64, 2)
    text = (Path(__file__).parents[3] / "docs" / "transforms.md").read_text()
    for name, parameters in (("SignalCounts()", {}), ("rocket=0", {"rocket": 0}), ("bits=15", {"bits": 15})):
        y = SignalCounts(**parameters).fit(X).transform(X).reshape(-1)
        checksum = int(np.arange(1, len(y) + 1) @ y) % 65521
        assert f"| `{name}` | {len(y)} | {y.sum()} | {checksum} |" in text


@given(st.integers(3, 400), st.integers(1, 20), st.integers(0, 3))
def test_every_output_of_the_kernels_has_one_way(time, channels, copies):
    layout = Layout(time, channels, 84 * copies)
    if copies:
        found = [output for way in range(layout.ways) for output in layout.rocket_of(way)]
        assert sorted(found) == list(range(84 * copies))
        assert all(
            output * layout.step % layout.ways == way for way in range(layout.ways) for output in layout.rocket_of(way)
        )
    assert len(layout.names()) == layout.outputs == len(layout.reaches) + layout.constants
    assert layout.constants >= layout.counts / 16 > layout.constants - 8
    assert min(difference.positions(time) for difference in layout.differences) >= 1


@st.composite
def windows(draw):
    time, channels = draw(st.integers(3, 40)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    reach = draw(st.sampled_from([1, 5, 100, 3000, 32767]))
    return rng.integers(-reach, reach + 1, (draw(st.integers(2, 9)), time, channels))


@given(windows(), st.sampled_from([0, 84, 168]), st.sampled_from([12, 15]), st.data())
def test_laws(X, rocket, bits, data):
    transform = SignalCounts(rocket=rocket, bits=bits).fit(X)
    outputs = transform.transform(X)
    low, high = transform.output_bounds(*transform.reading_range)
    assert (low <= outputs).all()
    assert (outputs <= high).all()
    # The mean of the training windows is near 0, as far as rounding and saturation allow.
    counts = outputs[:, : transform.layout_.counts]
    inside = (np.abs(counts) < 127).all(axis=0)
    assert (np.abs(counts.mean(axis=0))[inside] <= 0.5 * 2.0 ** transform.doublings_[inside]).all()
    # A constant added to a channel changes nothing, nor does a power of two, while there is room.
    shift = data.draw(st.integers(-1000, 1000))
    moved = X // 2 + shift
    assert np.array_equal(
        SignalCounts(rocket=rocket, bits=bits).fit(moved).transform(moved),
        SignalCounts(rocket=rocket, bits=bits).fit(X // 2).transform(X // 2),
    )
    # Channels are alike but for their thresholds: levels of a channel depend on this channel alone.
    other = X.copy()
    other[:, :, -1] = 0
    own = transform.layout_.first_rocket // X.shape[2] * (X.shape[2] - 1)
    assert np.array_equal(transform.transform(other)[:, :own], outputs[:, :own])
    again = SignalCounts.from_parameters(json.loads(json.dumps(transform.parameters())))
    assert np.array_equal(again.transform(X), outputs)
    assert again.parameters() == transform.parameters()


@given(windows(), st.floats(1e-6, 1e6), st.floats(-1e3, 1e3))
def test_values_in_any_unit(X, unit, start):
    """Whatever the unit, samples fill their bits and follow the values."""
    values = (X + start) * unit
    samples = Samples.fit(values, 12)
    found = samples(samples.fixed_point_inputs(values))
    for channel in range(X.shape[2]):
        own, given_values = found[:, :, channel].reshape(-1), values[:, :, channel].reshape(-1)
        order = np.argsort(given_values, kind="stable")
        assert (np.diff(own[order]) >= 0).all()
        spread = given_values.max() - given_values.min()
        distinct = min(len(np.unique(X[:, :, channel])), 200)
        if spread > 1e-9 * np.abs(given_values).max():
            assert len(np.unique(own)) >= min(distinct, 2)
    low, high = samples.reading_range
    assert (low, high) in (SMALL, LARGE)


def test_units_of_values():
    X, _ = waves(10, 30, 1)
    cases = (
        (X, 0, True),
        (X / 1000, 3, True),
        (X * 30000, 0, False),
        (X / 7, 1, True),
        (X + 10**6, 0, False),
        (np.where(X > 0, X, 0) * 20 + 40000, 0, False),
        (X * 0 + 3.25, 2, True),
        (X * 1e8, -4, False),
    )
    for values, decimals, small in cases:
        samples = Samples.fit(values, 12)
        assert samples.small == small, values
        assert samples.decimals == (decimals,)
        if decimals != 1:
            assert np.array_equal(samples.fixed_point_inputs(values), np.rint(values * 10.0**decimals))
    # Sixteen bits of a sensor stay as they are, the smallest number included.
    ends = np.array([[[-32768], [32767], [0]]])
    assert Samples.fit(ends, 12).fixed_point_inputs(ends).reshape(-1).tolist() == [-32768, 32767, 0]


def test_beyond_the_range_values_saturate():
    X, _ = waves(10, 30, 1)
    transform = SignalCounts().fit(X)
    assert np.array_equal(transform.transform(X * 1e9), transform.transform(np.clip(X * 1e9, -32768, 32767)))


def test_constant_channels_are_harmless():
    X, y = waves(24, 30, 2)
    X[:, :, 1] = 7
    classifier = soft_margins(**QUICK, inputs=SignalCounts(rocket=84)).fit(X, y)
    assert classifier.transform_.samples_.shifts[1] == 0
    assert classifier.score(X, y) == 1.0
    constant = [place for place, name in enumerate(classifier.transform_.get_feature_names_out()) if "channel1" in name]
    assert not classifier.transform_.transform(X)[:, constant].any()


@needs_gcc
@pytest.mark.parametrize("pairs", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_in_c(shape, pairs, tmp_path):
    transform = fitted(shape)
    rows = wild_windows(transform, 1500)
    code = transform.c_code(*transform.reading_range)
    # One position or two per word, whatever this machine prefers.
    code = replace(code, macros={**code.macros, "BEMI_PAIRS": pairs})
    found = on_rows(library(tmp_path, code, OUTPUTS).outputs, rows, transform.n_outputs)
    assert np.array_equal(found, transform.from_fixed_point_inputs(rows))


def in_onnx(transform, rows):
    onnxruntime = pytest.importorskip("onnxruntime")
    from bemi.export.onnx.graph import Graph

    graph = Graph()
    x = graph.input("x", np.int32, ("N", transform.n_features_in_))
    made = graph.model({"z": (transform.onnx(x), ("N", transform.n_outputs))})
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    batches = [rows[start : start + 200].astype(np.int32) for start in range(0, len(rows), 200)]
    return np.concatenate([session.run(None, {"x": batch})[0] for batch in batches]), len(made.graph.node)


@pytest.mark.parametrize("shape", SHAPES)
def test_in_onnx(shape):
    pytest.importorskip("onnx")
    transform = fitted(shape)
    rows = wild_windows(transform, 1000)
    found, nodes = in_onnx(transform, rows)
    assert np.array_equal(found, transform.from_fixed_point_inputs(rows))
    assert nodes < 400, "one group of nodes per response, not per output"


def in_javascript(transform, rows, folder):
    (folder / "rows.json").write_text(json.dumps(rows.tolist()))
    made = transform.page_script()
    program = f"""(() => {{
    "use strict";
    {file_of("bemi.export.page", "files/scaling.js")}
    {made.script}
    const data = {json.dumps(made.data)};
    const rows = JSON.parse(require("fs").readFileSync("rows.json", "utf8"));
    console.log(JSON.stringify(rows.map((row) => TRANSFORMS["{transform.NAME}"].inputs(row, data))));
    }})();"""
    (folder / "program.js").write_text(program)
    command = ["node", "program.js"]
    return json.loads(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout)


@needs_node
@pytest.mark.parametrize("shape", SHAPES)
def test_in_javascript(shape, tmp_path):
    transform = fitted(shape)
    rows = wild_windows(transform, 200)
    assert np.array_equal(in_javascript(transform, rows, tmp_path), transform.from_fixed_point_inputs(rows))


@needs_node
def test_javascript_reads_values_as_python_does(tmp_path):
    X, _ = waves(40, 30, 2)
    values = X / np.array([1000.0, 7.0])
    transform = SignalCounts(rocket=84).fit(values[:20])
    found = in_javascript(transform, values.reshape(40, -1), tmp_path)
    assert np.array_equal(found, transform.transform(values))


@pytest.mark.slow
@needs_gcc
@pytest.mark.parametrize("shape", ["acceleration", "odd", "wide", "differences"])
def test_a_hundred_thousand_windows(shape, tmp_path):
    pytest.importorskip("onnx")
    transform = fitted(shape)
    run = library(tmp_path, transform.c_code(*transform.reading_range), OUTPUTS).outputs
    for seed in range(50):
        rows = wild_windows(transform, 2000, seed)
        expected = transform.from_fixed_point_inputs(rows)
        assert np.array_equal(on_rows(run, rows, transform.n_outputs), expected)
        assert np.array_equal(in_onnx(transform, rows)[0], expected)


@pytest.mark.slow
@needs_node
def test_ten_thousand_windows_in_javascript(tmp_path):
    transform = fitted("acceleration")
    for seed in range(10):
        rows = wild_windows(transform, 1000, seed)
        assert np.array_equal(in_javascript(transform, rows, tmp_path), transform.from_fixed_point_inputs(rows))


def test_windows_in_two_dimensions_and_in_three(tmp_path):
    X, y = waves(32, 30, 2)
    deep = soft_margins(**QUICK, inputs=SignalCounts()).fit(X, y)
    flat = soft_margins(**QUICK, inputs=SignalCounts(channels=2)).fit(X.reshape(32, -1), y)
    named = pd.DataFrame(X.reshape(32, -1)).add_prefix("x")
    framed = soft_margins(**QUICK, inputs=SignalCounts(channels=2)).fit(named, y)
    assert deep.n_features_in_ == flat.n_features_in_ == framed.n_features_in_ == 60
    new = waves(40, 30, 2, seed=5)[0]
    labels = deep.predict(new)
    assert np.array_equal(flat.predict(new), labels)
    assert np.array_equal(deep.predict(new.reshape(40, -1)), labels)
    assert np.array_equal(framed.predict(pd.DataFrame(new.reshape(40, -1)).add_prefix("x")), labels)
    save(deep, tmp_path / "signal.bemi")
    again = load(tmp_path / "signal.bemi")
    assert np.array_equal(again.predict(new), labels)
    assert np.array_equal(again.predict(new.reshape(40, -1)), labels)
    assert again.predict(new[:0]).shape == (0,)


def test_three_dimensions_are_a_signal():
    X, y = waves(32, 30, 2)
    classifier = FewBitClassifier(time_limit=None, node_limit=2).fit(X, y)
    assert classifier.choice_.kind == "signal"
    assert isinstance(classifier.transform_, SignalCounts)
    assert classifier.ensemble_.weight_bound == 7
    assert classifier.score(X, y) == 1.0
    with pytest.raises(ValueError, match="three dimensions are a signal"):
        FewBitClassifier(kind=(30, 2)).fit(X, y)


def test_candidates_are_compared_on_readings():
    X, _ = waves(40, 30, 1)
    inputs = Inputs.fit(X / 1000, "auto", SignalCounts(rocket=84))
    assert Takes.by(inputs.transform) is Takes.WINDOWS
    rows = inputs.checked(X / 1000)
    part = inputs.refitted(rows[:20], "auto")
    assert np.array_equal(part(rows), SignalCounts(rocket=84).fit(X[:20] / 1000).transform(X / 1000))
    with pytest.raises(ValueError, match="leave out input_scaling='common'"):
        Inputs.fit(X, "common", SignalCounts())


@pytest.mark.parametrize(
    ("parameters", "X", "message"),
    [
        ({"rocket": 100}, np.zeros((2, 30)), r"rocket must be a multiple of 84 in 0..1680, got 100"),
        ({"rocket": True}, np.zeros((2, 30)), "rocket must be a multiple of 84"),
        ({"bits": 16}, np.zeros((2, 30)), "bits must be one of 12, 15, got 16"),
        ({"channels": 0}, np.zeros((2, 30)), "channels must be None or an integer in 1..1024, got 0"),
        ({"channels": 4}, np.zeros((2, 30)), "30 features are not a whole number of samples of 4 channels"),
        ({"channels": 2}, np.zeros((2, 30, 3)), "channels is 2, but the windows have 3"),
        ({}, np.zeros((2, 2)), "windows must have 3 to 32767 samples, these have 2"),
        ({}, np.zeros(30), r"windows must have shape \(windows, time, channels\)"),
        ({}, np.full((2, 30), np.nan), "X contains NaN at row 0, column 0"),
        ({}, np.full((2, 30, 1), np.inf), "X contains infinity"),
        ({}, np.zeros((0, 30)), "at least one window"),
        ({}, np.full((2, 30), "a"), "windows must hold numbers"),
    ],
)
def test_bad_input(parameters, X, message):
    with pytest.raises(ValueError, match=message):
        SignalCounts(**parameters).fit(X)


def test_other_windows_than_those_of_training():
    X, y = waves(24, 30, 2)
    classifier = soft_margins(**QUICK, inputs=SignalCounts(rocket=0)).fit(X, y)
    with pytest.raises(ValueError, match=r"these are 2 of 30; swap the axes, np.swapaxes\(X, 1, 2\)"):
        classifier.predict(X.swapaxes(1, 2))
    with pytest.raises(ValueError, match="30 samples of 2 channels, these are 30 of 1"):
        classifier.predict(X[:, :, :1])
    with pytest.raises(ValueError, match="X has 58 features, but FewBitClassifier is expecting 60"):
        classifier.predict(X.reshape(24, -1)[:, :58])
    with pytest.raises(ValueError, match=r"windows must have 60 features \(30 samples of 2 channels\), these have 58"):
        classifier.transform_.transform(X.reshape(24, -1)[:, :58])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"time": 2}, "time must be"),
        ({"rocket": 83}, "rocket must be"),
        ({"bits": 13}, "bits must be"),
        ({"small": 1}, "small must be"),
        ({"decimals": 3}, "decimals must be a list"),
        ({"decimals": [0]}, "one entry per channel"),
        ({"offsets": [0, 40000]}, "offset must be"),
        ({"shifts": [0, 40]}, "shift must be"),
        ({"thresholds": [0]}, "thresholds must be"),
        ({"means": [300] * 176}, "means must be"),
        ({"doublings": [6] * 176}, "doublings must be"),
        ({"more": 1}, "has the parameters"),
        ({"version": 2}, "cannot read version 2"),
        ({"rocket": None}, "rocket must be"),
    ],
)
def test_damaged_parameters(changed, message):
    X, _ = waves(24, 30, 2)
    good = SignalCounts(rocket=0).fit(X).parameters()
    assert len(good["means"]) == 176
    with pytest.raises(ValueError, match=message):
        SignalCounts.from_parameters(good | changed)


def test_a_threshold_that_no_response_reaches_is_refused():
    transform = fitted("odd")
    good = transform.parameters()
    for place, reach in ((0, 1), (8, 2), (transform.layout_.first_rocket, 4)):
        for value, fine in ((reach * 2730, True), (reach * 2730 + 1, False), (-reach * 2730 - 1, False)):
            thresholds = list(good["thresholds"])
            thresholds[place] = value
            if fine:
                SignalCounts.from_parameters(good | {"thresholds": thresholds})
            else:
                with pytest.raises(ValueError, match="thresholds must be"):
                    SignalCounts.from_parameters(good | {"thresholds": thresholds})


def test_scikit_learn_copies_it():
    assert clone(SignalCounts(channels=3, rocket=0, bits=15)).get_params() == {"channels": 3, "rocket": 0, "bits": 15}
    with pytest.raises(ValueError, match="not fitted"):
        SignalCounts().transform(np.zeros((1, 30)))


def test_a_classifier_chooses_among_counts_and_shows_windows_in_a_page():
    X, y = waves(40, 30, 2)
    candidates = tuple(Candidate(f"rocket={n}", {"inputs": SignalCounts(rocket=n)}) for n in (0, 84))
    classifier = choosing(*candidates, kind="signal", **QUICK).fit(X / 7, y)
    assert classifier.choice_.name in [candidate.name for candidate in candidates]
    assert classifier.score(X / 7, y) == 1.0
    text = page(classifier, test=WindowsToShow(X / 7, y))
    assert '"name":"channel 1"' in text
