"""Classes learned from a few rows: in C, in Python, and as their definition reads."""

import subprocess
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from bemi_lab.benchmarks.boards import run, size
from compiled_c import SANITIZED, answers, board, compiled, needs_gcc, stack_used
from exported_models import features_of, model, probes, rejecting, scores_of, strangeness, values_of, without_rejecting
from mixed_tables import new_rows, table_model

from bemi import save
from bemi.cli import main
from bemi.ensemble import LearnedClass, predict_learned
from bemi.export.c import export, input_types, write

EACH = 5
NAMES = rejecting()
TABLES = {
    "a table": lambda: table_model(values=True, classes=4, reject=0.3),
    "a card": lambda: table_model(probabilities=True, reject=0.3),
}

LEARNS = """
int bemi_predict(const bemi_input_t *x)
{
    static bemi_learned_t learned[3];
    static int seen;
    /* The second class has no rows. */
    if (seen < 10)
        return bemi_learn(x, &learned[seen++ < 5 ? 0 : 2]);
    return bemi_predict_learned(x, learned, 3);
}
"""
"""In place of ``bemi_predict``: the first rows are learned."""


def learning(folder):
    for file, more in (("bemi_model.h", ""), ("bemi_model.c", LEARNS)):
        text = (folder / file).read_text().replace("bemi_predict(", "bemi_plain(")
        (folder / file).write_text(text + more)
    with (folder / "bemi_model.h").open("a") as header:
        header.write("int bemi_predict(const bemi_input_t *x);\n")


def defined(classifier, tests):
    """The definition read aloud, one row at a time; the first rows are also those of the learned classes."""
    ensemble, ranges = classifier.ensemble_, classifier.ensemble_.known_ranges

    def features(integers):
        return [features_of(ranges, row) for row in values_of(ensemble.inputs, integers).tolist()]

    centres = []
    for own in (tests[:EACH], tests[EACH : 2 * EACH]):
        sums = [sum(column) for column in zip(*features(own), strict=True)]
        centres.append([int(Fraction(total, len(own))) for total in sums])
    found = []
    rows = zip(values_of(ensemble.inputs, tests), features(tests), scores_of(classifier, tests), strict=True)
    for (values, row, scores), label in zip(rows, without_rejecting(classifier, tests), strict=True):
        known = [
            (start + low * 2**shift, start + high * 2**shift)
            for start, shift, (low, high) in zip(
                ranges.starts.tolist(), ranges.shifts.tolist(), ranges.steps[label].tolist(), strict=True
            )
        ]
        middle = [(low + high) // 2 for low, high in known]
        apart = [7 * sum((x - c) ** 2 for x, c in zip(row, middle, strict=True))]
        apart += [8 * sum((x - m) ** 2 for x, m in zip(row, centre, strict=True)) for centre in centres]
        nearest = apart.index(min(apart))
        if nearest:
            known = [
                (m - (high - low), m + (high - low)) for m, (low, high) in zip(centres[nearest - 1], known, strict=True)
            ]
        strange = 64 * sum(max(0, low - x, x - high) for x, (low, high) in zip(row, known, strict=True))
        if not nearest:
            strange = strangeness(ranges, values, label, scores)
        owner = label if not nearest else len(classifier.classes_) + nearest - 1
        found.append(-1 if strange > ranges.threshold or label < 0 else owner)
    return np.array(found)


def drawn(name):
    """A classifier, rows as Python takes them, and the same as integers; those of two classes to learn come first."""
    # Four are alike, so that the mean is near them; the ranges of tables are narrow, so there all five are.
    order = [0, 0, 0, 0, 1, 2, 2, 2, 2, 3, *range(50)]
    if name in TABLES:
        classifier = TABLES[name]()
        given = new_rows(50).iloc[[0] * EACH + [2] * EACH + order[2 * EACH :]]
        return classifier, given, classifier.fixed_point_inputs(given)
    classifier = model(name)
    inputs = input_types(classifier.ensemble_)
    rows = probes(name, 50, inputs.low, inputs.high)[::-1][order]
    layout = getattr(classifier.transform_, "layout_", None)
    return classifier, rows if layout is None else rows.reshape(len(rows), layout.time, layout.channels), rows


def learned_first(tests):
    """Rows to learn, and then all to label."""
    return np.concatenate([tests[: 2 * EACH], tests])


def in_c(labels, classifier):
    """As C numbers the learned classes, of which the second one has no rows."""
    return np.where(labels == len(classifier.classes_) + 1, labels + 1, labels)


@pytest.mark.parametrize("name", [*NAMES, *TABLES])
def test_python_does_what_is_defined(name):
    classifier, given, integers = drawn(name)
    learned = [LearnedClass.of(classifier, given[:EACH]), LearnedClass.of(classifier, given[EACH : 2 * EACH])]
    found = predict_learned(classifier, given, learned)
    assert np.array_equal(found, defined(classifier, integers))
    assert {len(classifier.classes_), len(classifier.classes_) + 1} <= set(found.tolist())
    plain = predict_learned(classifier, given, [])
    assert np.array_equal(plain, classifier.ensemble_.votes(given).label)


@needs_gcc
@pytest.mark.parametrize("name", [*NAMES, *TABLES])
def test_c_learns_the_same(name, tmp_path):
    classifier, _, tests = drawn(name)
    write(classifier, tmp_path, learn=True)
    learning(tmp_path)
    program = compiled(tmp_path, *SANITIZED)
    found = answers(program, learned_first(tests), input_types(classifier.ensemble_).type)
    assert found[: 2 * EACH].tolist() == [*range(1, EACH + 1)] * 2
    assert np.array_equal(found[2 * EACH :], in_c(defined(classifier, tests), classifier))


@pytest.mark.parametrize("device", [board("cortex_m3"), board("atmega328p")])
@pytest.mark.parametrize("name", ["unknown windows", "a table"])
def test_devices_learn(device, name, tmp_path):
    classifier, _, tests = drawn(name)
    made = write(classifier, tmp_path, learn=True)
    built = size(device, tmp_path)
    if device.name == "cortex_m3":
        assert built.undefined == ()
        assert built.flash <= made.costs.flash <= 1.35 * built.flash
        assert stack_used(device, tmp_path) <= made.costs.stack
    assert built.ram == 0
    learning(tmp_path)
    found = run(device, tmp_path, learned_first(tests[:20])).predictions[2 * EACH :]
    assert np.array_equal(found, in_c(defined(classifier, tests[:20]), classifier))


STREAM = """
#include <stdio.h>
#include "bemi_model.h"
int main(void)
{
    static bemi_input_t sample[BEMI_CHANNELS];
    static bemi_stream_t stream;
    static bemi_learned_t learned;
    long n;
    if (bemi_learn_window(&stream, &learned) != BEMI_NOT_READY || learned.rows)
        return 1;
    for (n = 1; fread(sample, sizeof sample, 1, stdin) == 1; n++) {
        bemi_push(&stream, sample);
        if (n % BEMI_WINDOW == 0 && n <= 5 * BEMI_WINDOW)
            bemi_learn_window(&stream, &learned);
        else if (n > 5 * BEMI_WINDOW)
            printf("%d\\n", bemi_predict_window_learned(&stream, &learned, 1));
    }
    return 0;
}
"""


@needs_gcc
@pytest.mark.parametrize("name", [name for name in NAMES if "windows" in name])
def test_windows_of_a_stream(name, tmp_path):
    """Five windows are learned; every later one is labelled, whichever sample of the ring is the oldest."""
    classifier, _, tests = drawn(name)
    time = classifier.transform_.layout_.time
    write(classifier, tmp_path, learn=True)
    samples = tests[:9].reshape(9 * time, -1)
    given = samples.astype(np.dtype(input_types(classifier.ensemble_).type.removesuffix("_t"))).tobytes()
    program = compiled(tmp_path, "-O2", host=STREAM)
    printed = subprocess.run([program], input=given, capture_output=True, check=True).stdout
    windows = np.stack([samples[end - time : end] for end in range(5 * time + 1, len(samples) + 1)])
    learned = LearnedClass.of(classifier, samples[: 5 * time].reshape(5, time, -1))
    assert list(map(int, printed.split())) == predict_learned(classifier, windows, [learned]).tolist()


def test_the_command_and_what_is_stated(tmp_path):
    classifier = model("unknown windows")
    plain, made = export(classifier), export(classifier, learn=True)
    features = len(classifier.ensemble_.known_ranges.starts)
    assert f"{2 * features + 2} bytes each" in made.header
    assert "learn" not in plain.header + plain.source
    save(classifier, tmp_path / "waves.bemi")
    command = ["export", "c", str(tmp_path / "waves.bemi"), "-o", str(tmp_path / "device"), "--learn"]
    assert main(command) == 0
    assert (tmp_path / "device" / "bemi_model.c").read_text() == made.source


def test_what_cannot_learn():
    trusting = replace(model("unknown windows").ensemble_, known_ranges=None)
    for refused in (lambda: export(trusting, learn=True), lambda: predict_learned(trusting, [[0]], [])):
        with pytest.raises(ValueError, match=r"train with reject=0\.05"):
            refused()
    windows = np.zeros((256, 33, 2))
    for few in (windows[:0], windows):
        with pytest.raises(ValueError, match=r"learned from 1 to 255 rows|0 sample"):
            LearnedClass.of(model("unknown windows"), few)
