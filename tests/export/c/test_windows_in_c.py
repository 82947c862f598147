"""Samples pushed one by one: after every one of them, C gives what Python gives for the last window."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from bemi_lab.benchmarks.boards import run
from compiled_c import EXAMPLE, SANITIZED, STRICT, board, compiled, needs_gcc
from exported_models import expected, expected_probabilities, model, waves
from numpy.lib.stride_tricks import sliding_window_view
from soft_margins import soft_margins

from bemi import SignalCounts, Smoothing
from bemi.export.c import export, input_types, write

NAMES = (
    "counts of a signal",
    "counts of differences",
    "counts of a wide signal",
    "counts of a long signal",
    "counts for large weights",
    "probabilities of a signal",
    "probabilities of two signals",
)
NOT_READY = -2

HOST = """
#include <stdio.h>
#include "bemi_model.h"
int main(void)
{
    static bemi_input_t sample[BEMI_CHANNELS];
    bemi_stream_t stream;
    unsigned char forget;
    bemi_stream_init(&stream);
    while (fread(&forget, 1, 1, stdin) == 1 && fread(sample, sizeof sample, 1, stdin) == 1) {
        if (forget)
            bemi_stream_init(&stream);
        bemi_push(&stream, sample);
        printf("%d\\n", bemi_predict_window(&stream));
    }
    return 0;
}
"""
HOST_OF_PROBABILITIES = """
#include <stdio.h>
#include "bemi_model.h"
int main(void)
{
    static bemi_input_t sample[BEMI_CHANNELS];
    bemi_stream_t stream;
    uint16_t p[BEMI_CLASSES] = {0};
    int a;
    bemi_stream_init(&stream);
    while (fread(sample, sizeof sample, 1, stdin) == 1) {
        bemi_push(&stream, sample);
        printf("%d", bemi_predict_window_proba(&stream, p));
        for (a = 0; a < BEMI_CLASSES; a++)
            printf(" %u", (unsigned)p[a]);
        puts("");
    }
    return 0;
}
"""


def recording(classifier, total, seed=0):
    """Readings of shape (time, channels): waves, noise over the whole range, constants and jumps, in parts."""
    rng = np.random.default_rng(seed)
    transform = classifier.transform_
    layout, (low, high) = transform.layout_, transform.reading_range
    parts = []
    while sum(map(len, parts)) < total:
        length = int(rng.integers(5, 2 * layout.time))
        wave = waves(4, length, layout.channels, seed=int(rng.integers(1000)))[0][rng.integers(4)]
        kinds = (
            wave,
            wave * rng.choice([3, 60]),
            rng.integers(low, high + 1, wave.shape),
            np.full_like(wave, rng.choice([low, 0, high])),
            rng.choice([low, high], wave.shape),
        )
        parts.append(kinds[rng.choice(5, p=[0.6, 0.1, 0.1, 0.1, 0.1])])
    return np.clip(np.concatenate(parts)[:total], low, high)


def windows_of(readings, time):
    """All windows of a recording, as rows."""
    views = sliding_window_view(readings, time, axis=0)
    return views.transpose(0, 2, 1).reshape(len(views), -1)


def labels_after_each(classifier, readings, forget):
    """Class index after every sample, -2 before there are enough of them since the last time that all was forgotten."""
    time = classifier.transform_.layout_.time
    found = np.full(len(readings), NOT_READY)
    found[time - 1 :] = expected(classifier, windows_of(readings, time))
    for start in np.flatnonzero(forget):
        found[start : start + time - 1] = NOT_READY
    return found


def pushed(program, readings, kind, forget=None):
    samples = np.ascontiguousarray(readings).astype(kind.removesuffix("_t"))
    before = [b""] * len(samples) if forget is None else [bytes([int(f)]) for f in forget]
    given = b"".join(mark + sample.tobytes() for mark, sample in zip(before, samples, strict=True))
    return np.array(subprocess.run([program], input=given, capture_output=True, check=True).stdout.split(), dtype=int)


@needs_gcc
@pytest.mark.parametrize("name", NAMES)
def test_pushing_sample_by_sample(name, tmp_path):
    classifier = model(name)
    write(classifier, tmp_path)
    kind = input_types(classifier.ensemble_).type
    for seed, flags in enumerate((("-O2",), SANITIZED, ("-Os", "-DBEMI_PAIRS=0"))):
        readings = recording(classifier, max(1200, 8 * classifier.transform_.layout_.time), seed)
        forget = np.random.default_rng(seed).random(len(readings)) < 0.001
        wanted = labels_after_each(classifier, readings, forget)
        assert (wanted == NOT_READY).any()
        assert len(np.unique(wanted)) > 2
        program = compiled(tmp_path, *flags, host=HOST)
        assert np.array_equal(pushed(program, readings, kind, forget), wanted), flags


@needs_gcc
@pytest.mark.parametrize("name", ["probabilities of a signal", "probabilities of two signals"])
def test_chances_of_the_last_window(name, tmp_path):
    classifier = model(name)
    write(classifier, tmp_path)
    time, classes = classifier.transform_.layout_.time, len(classifier.classes_)
    readings = recording(classifier, 800)
    found = pushed(compiled(tmp_path, "-O2", host=HOST_OF_PROBABILITIES), readings, "int16_t")
    found = found.reshape(len(readings), 1 + classes)
    assert (found[: time - 1, 0] == NOT_READY).all()
    assert not found[: time - 1, 1:].any()
    rows = windows_of(readings, time)
    assert np.array_equal(found[time - 1 :, 0], expected(classifier, rows))
    assert np.array_equal(found[time - 1 :, 1:], expected_probabilities(classifier, rows))


@pytest.mark.parametrize("device", [board("cortex_m3"), board("riscv32"), board("atmega328p")])
@pytest.mark.parametrize("name", ["counts of a signal", "counts of differences", "counts for large weights"])
def test_devices_push_too(device, name, tmp_path):
    """A board is given windows one after the other, from a buffer that does not begin with the oldest sample."""
    classifier = model(name)
    write(classifier, tmp_path)
    time = classifier.transform_.layout_.time
    rows = windows_of(recording(classifier, 20 * time), time)[::time]
    found = run(device, tmp_path, rows, defines=("BOARD_PUSH",))
    assert np.array_equal(found.predictions, expected(classifier, rows))
    # The clocks of the emulators advance in steps longer than a push.
    assert found.pushes.sum() > 0


def test_sums_replace_inputs_where_that_takes_less_memory():
    batches, stored = export(model("counts of a signal")), export(model("counts for large weights"))
    assert "bemi_take" in batches.source
    assert "bemi_value_t z[" not in batches.source
    assert "bemi_take(" not in stored.source.replace("bemi_take(to->sums", "").replace("bemi_take(to.sums", "")
    assert "bemi_value_t z[" in stored.source
    outputs = model("counts of a signal").transform_.n_outputs
    assert batches.costs.stack < outputs + 600


def test_only_windows_have_a_buffer():
    made = export(model("counts of a signal"))
    for name in ("bemi_push", "bemi_predict_window", "bemi_stream_init", "BEMI_WINDOW 49", "BEMI_CHANNELS 3"):
        assert name in made.header
    assert made.costs.state == 2 * 49 * 3 + 4
    assert f"{made.costs.state} bytes for each stream" in made.header
    plain = export(model("digits"))
    assert plain.costs.state == 0
    assert "push" not in plain.header + plain.source


def factors(windows):
    """What the header says about the factors of windows, shape (windows, time, channels)."""
    transform = SignalCounts(rocket=0).fit(windows)
    code = transform.c_window(False, False)
    return transform, re.search(r"#define (BEMI_FACTORS?) (.*)", code.header).groups(), code.about_inputs


def test_the_header_says_what_values_are_multiplied_by():
    rng = np.random.default_rng(0)
    whole = rng.integers(-2000, 2000, (10, 30, 2))
    assert factors(whole)[1] == ("BEMI_FACTOR", "1")
    transform, found, about = factors(whole / 100)
    assert found == ("BEMI_FACTOR", "100")
    assert np.array_equal(transform.fixed_point_inputs(whole / 100), whole.reshape(10, -1))
    assert about[1].startswith("Values are multiplied by 10^2, rounded")
    assert len(about) == 2
    transform, found, about = factors(whole / [1, 1000])
    assert found == ("BEMI_FACTORS", "{1, 1000}")
    assert about[2:] == ("  channel 0 * 10^0", "  channel 1 * 10^3")


@needs_gcc
@pytest.mark.parametrize("smoothing", [None, Smoothing(3, 2)])
def test_the_example_pushes_samples(smoothing, tmp_path):
    """After every half window, the label of the last one."""
    classifier = model("counts of a signal")
    write(classifier, tmp_path, smoothing=smoothing)
    program = compiled(tmp_path, *SANITIZED, main=EXAMPLE)
    time, readings = classifier.transform_.layout_.time, recording(classifier, 3000, seed=5)
    text = "\n".join(" ".join(map(str, sample)) for sample in readings.tolist())
    printed = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout
    ends = np.arange((time + 1) // 2, len(readings) + 1, (time + 1) // 2)
    labels = classifier.predict(windows_of(readings, time)[ends[ends >= time] - time])
    if smoothing is not None:
        labels = ["unclassified" if label is None else label for label in smoothing(labels)]
    assert len(set(labels)) > 2
    assert printed.split() == list(map(str, labels))
    assert subprocess.run([program], input=b"1 2", capture_output=True).returncode == 1


FLOATS = """
#include <stdio.h>
#include "bemi_model.h"
int main(void)
{
    static bemi_stream_t stream;
    float values[BEMI_CHANNELS];
    int channel;
    bemi_stream_init(&stream);
    while (fread(values, sizeof values, 1, stdin) == 1) {
        const bemi_input_t *stored = stream.samples + (long)stream.oldest * BEMI_CHANNELS;
        bemi_push_float(&stream, values);
        for (channel = 0; channel < BEMI_CHANNELS; channel++)
            printf("%ld ", (long)stored[channel]);
    }
    return 0;
}
"""


@needs_gcc
@pytest.mark.parametrize("units", [1, 0.01, 1e7, 2.0**40, (1, 0.001, 2.0**36)])
def test_floats_become_the_readings_of_python(units, tmp_path):
    """Values in the units of training, halfway between two readings, beyond all, infinite; in C and in C++."""
    classifier = model("counts of a signal")
    windows, classes = waves(24, *classifier.transform_.window_shape)
    own = soft_margins(time_limit=None, node_limit=1, weight_bound=7, inputs=SignalCounts(rocket=0))
    own.fit(windows * np.array(units), classes)
    write(own, tmp_path)
    (tmp_path / "floats.c").write_text(FLOATS)
    subprocess.run(["gcc", *STRICT, "-c", "bemi_model.c"], cwd=tmp_path, check=True)
    time, channels = classifier.transform_.window_shape
    rng, step = np.random.default_rng(0), 10.0 ** -np.array(own.transform_.samples_.decimals)
    values = rng.integers(-3000, 3000, (20 * time, channels)) / 2 * step
    values[:99] = rng.choice([-np.inf, np.inf, 1e30, -1e30, 0.0, 32767.5, -32768.5], (99, channels)) * step
    values[99:499] = windows.reshape(-1, channels)[:400] * np.array(units)
    values = values.astype(np.float32)
    wanted = own.transform_.samples_.fixed_point_inputs(values.reshape(20, time, channels)).reshape(-1)
    missing = np.full(channels, np.nan, dtype=np.float32)
    given = values.tobytes() + missing.tobytes()
    wanted = [*wanted, *[own.transform_.reading_range[0]] * channels]
    for language in (["-std=c99"], ["-std=c++11", "-x", "c++"]):
        command = ["gcc", *language, *STRICT[1:], "floats.c", "-x", "none", "bemi_model.o", "-o", "floats"]
        subprocess.run(command, cwd=tmp_path, check=True)
        printed = subprocess.run([tmp_path / "floats"], input=given, capture_output=True, check=True).stdout
        assert np.array_equal(np.array(printed.split(), dtype=int), wanted)


PAGE = Path(__file__).parents[3] / "docs" / "signals-device.md"


@needs_gcc
def test_the_program_in_the_documentation(tmp_path):
    """The program in docs/signals-device.md compiles as it stands, and prints what Python finds."""
    (program,) = re.findall(r"^```c\n(.*?)^```$", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    hop = int(re.search(r"#define HOP (\d+)", program)[1])
    classifier = model("counts of a signal")
    write(classifier, tmp_path, smoothing=Smoothing(5, 3))
    (tmp_path / "main.c").write_text(program)
    command = ["gcc", *STRICT, *SANITIZED, "bemi_model.c", "main.c", "-o", "activity"]
    subprocess.run(command, cwd=tmp_path, check=True)
    readings = recording(classifier, 4000, seed=11)
    text = "\n".join(" ".join(map(str, sample)) for sample in readings.tolist())
    printed = subprocess.run([tmp_path / "activity"], input=text, capture_output=True, text=True, check=True).stdout
    time = classifier.transform_.layout_.time
    # A prediction after every hop, once there are enough samples.
    ends = np.arange(hop, len(readings) + 1, hop)
    labels = classifier.predict(windows_of(readings, time)[ends[ends >= time] - time])
    stable = [label for label in Smoothing(5, 3)(labels) if label is not None]
    changes = [label for place, label in enumerate(stable) if place == 0 or stable[place - 1] != label]
    assert len(changes) > 5
    assert printed.split() == list(map(str, changes))
    assert len(changes) < np.count_nonzero(np.diff(labels))
