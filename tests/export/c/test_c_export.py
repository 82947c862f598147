import json
import re
import shutil
import subprocess
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bemi_lab.benchmarks.boards import run, size
from compiled_c import (
    EXAMPLE,
    HOST_OF_PROBABILITIES,
    SANITIZED,
    STRICT,
    answers,
    board,
    compiled,
    needs_gcc,
    stack_used,
)
from exported_models import (
    MODELS,
    expected,
    expected_probabilities,
    model,
    probes,
    voted,
    with_probabilities,
    with_transform,
)
from mixed_tables import table_model
from sklearn.datasets import load_iris

from bemi import BeMiClassifier, ConstantInput, Smoothing, save
from bemi.cli import main
from bemi.export.c import TYPES, export, input_types, write

SIMPLER_THAN_THEY_LOOK = (
    *("one network for all classes", "no links", "no links, the paper's rule", "probabilities of two classes"),
)
"""Models of which a compiler leaves much out that others need."""

SMALL = ("histograms of doubled images", "counts of a signal", "counts of differences", "counts of a wide signal")
"""Models with a transform that fit on a device of eight bits."""


@needs_gcc
@pytest.mark.parametrize("optimize", ["speed", "size"])
@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_those_of_python(name, optimize, tmp_path):
    classifier = model(name)
    write(classifier, tmp_path, optimize=optimize)
    inputs = input_types(classifier.ensemble_)
    rows = probes(name, 700, inputs.low, inputs.high)
    outcome = voted(classifier, rows)
    labels = outcome.label
    if " ties" in name:
        assert outcome.unclassified.any(), "the paper's rule leaves some rows open"
    for flags in (("-O3",) if optimize == "speed" else ("-Os",), SANITIZED):
        assert np.array_equal(answers(compiled(tmp_path, *flags), rows, inputs.type), labels), flags


@needs_gcc
@pytest.mark.parametrize("optimize", ["speed", "size"])
@pytest.mark.parametrize("name", with_probabilities())
def test_chances_are_those_of_python(name, optimize, tmp_path):
    classifier = model(name)
    write(classifier, tmp_path, optimize=optimize)
    inputs = input_types(classifier.ensemble_)
    rows = probes(name, 700, inputs.low, inputs.high)
    wanted = np.column_stack([expected(classifier, rows), expected_probabilities(classifier, rows)])
    assert len(np.unique(wanted[:, 1])) > 20, "the rows are not all sure"
    for flags in (("-O3",), SANITIZED):
        program = compiled(tmp_path, *flags, host=HOST_OF_PROBABILITIES)
        assert np.array_equal(answers(program, rows, inputs.type).reshape(wanted.shape), wanted), flags


def test_only_models_with_probabilities_offer_chances():
    assert "bemi_predict_proba" in export(model("probabilities of two classes")).header
    plain = export(model("constant input"))
    assert "proba" not in plain.header + plain.source


@needs_gcc
@pytest.mark.parametrize("name", ["digits", "many ties", "scaled signed features"])
def test_without_the_early_out_the_answers_are_the_same(name, tmp_path):
    classifier = model(name)
    write(classifier, tmp_path)
    inputs = input_types(classifier.ensemble_)
    rows = probes(name, 500, inputs.low, inputs.high)
    program = compiled(tmp_path, "-O2", "-DBEMI_NO_EARLY_OUT")
    assert np.array_equal(answers(program, rows, inputs.type), expected(classifier, rows))


@needs_gcc
@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_million_predictions(name, tmp_path):
    classifier = model(name)
    write(classifier, tmp_path)
    inputs = input_types(classifier.ensemble_)
    program = compiled(tmp_path, "-O2")
    for seed in range(10):
        rows = probes(name, 7_000, inputs.low, inputs.high, seed)
        assert np.array_equal(answers(program, rows, inputs.type), expected(classifier, rows))


@needs_gcc
def test_the_example_reads_numbers_and_prints_labels(tmp_path):
    classifier = model("strings for classes")
    write(classifier, tmp_path)
    program = compiled(tmp_path, "-O2", main=EXAMPLE)
    rows = load_iris().data
    text = "\n".join(" ".join(map(str, row)) for row in classifier.fixed_point_inputs(rows))
    printed = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout
    assert printed == "".join(f"{label}\n" for label in classifier.predict(rows))
    wrong = subprocess.run([program], input="1 2 -2147483649", capture_output=True, text=True)
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "-2147483649 is outside -2147483648..2147483647" in wrong.stderr
    assert subprocess.run([program], input="1 2", capture_output=True, text=True).returncode == 1


def test_what_labels_and_names_say_cannot_leave_their_place():
    made = export(model("strings for classes"))
    assert "BEMI_A = 0, " in made.header
    assert "BEMI_B_N = 1, " in made.header
    assert "BEMI_CLASS = 2, " in made.header
    assert r'"a\042*/"' in made.header
    assert r'"b\134n\012"' in made.header
    assert r'"\303\251\077\077/"' in made.header
    assert made.header.count("*/") == 10 + made.header.count(r'"a\042*/"')


LABELS_IN_FLASH = """
#include <stdio.h>
#include "bemi_model.h"
#ifdef __AVR__
#include <avr/pgmspace.h>
#else
#define PROGMEM
#define pgm_read_byte(place) (*(place))
#endif
static const char labels[BEMI_CLASSES][BEMI_LABEL_BYTES] PROGMEM = BEMI_CLASS_LABELS;
int main(void)
{
    int label;
    for (label = 0; label < BEMI_CLASSES; label++) {
        const char *at = labels[label];
        do
            putchar(pgm_read_byte(at));
        while (pgm_read_byte(at++));
    }
    return 0;
}
"""


@needs_gcc
def test_names_of_classes_fit_into_an_array(tmp_path):
    classifier = model("strings for classes")
    write(classifier, tmp_path)
    program = compiled(tmp_path, *SANITIZED, host=LABELS_IN_FLASH)
    printed = subprocess.run([program], capture_output=True, check=True).stdout
    assert printed == b"".join(label.encode() + b"\0" for label in classifier.classes_)


@pytest.mark.parametrize("device", [board("atmega328p")])
def test_names_of_classes_can_stay_in_flash(device, tmp_path):
    write(model("strings for classes"), tmp_path)
    source = tmp_path / "bemi_model.c"
    source.write_text(source.read_text() + LABELS_IN_FLASH)
    assert size(device, tmp_path).ram == 0


def test_the_range_of_the_input_type_is_stated():
    for name, kind in (("digits", "uint8_t"), ("strings for classes", "int16_t"), ("constant input", "int8_t")):
        made = export(model(name))
        assert f"typedef {kind} bemi_input_t;" in made.header
    wider = export(model("digits"), input_type="int16_t")
    assert "typedef int16_t bemi_input_t;" in wider.header
    with pytest.raises(ValueError, match="input_type must be one of uint8_t"):
        export(model("digits"), input_type="float")
    with pytest.raises(ValueError, match="optimize must be one of speed, size"):
        export(model("digits"), optimize="fast")


@needs_gcc
def test_negative_inputs_are_answered_too_if_the_type_has_them(tmp_path):
    classifier = model("digits")
    write(classifier, tmp_path, input_type="int8_t")
    rows = probes("digits", 500, *TYPES["int8_t"])
    assert (rows < 0).any()
    assert np.array_equal(answers(compiled(tmp_path, *SANITIZED), rows, "int8_t"), expected(classifier, rows))


@needs_gcc
def test_a_pixel_beyond_the_maximum_counts_as_the_maximum(tmp_path):
    name = "histograms of doubled images"
    classifier = model(name)
    write(classifier, tmp_path)
    rows = probes(name, 50, 0, classifier.transform_.maximum_)
    beyond = np.where(rows == classifier.transform_.maximum_, 255, rows)
    assert (beyond > rows).any()
    assert np.array_equal(answers(compiled(tmp_path, *SANITIZED), beyond, "uint8_t"), expected(classifier, rows))


@needs_gcc
@pytest.mark.parametrize("kind", ["int8_t", "int16_t", "int32_t"])
def test_negative_pixels_count_as_zero(kind, tmp_path):
    name = "histograms of a narrow image"
    classifier = model(name)
    write(classifier, tmp_path, input_type=kind)
    inputs = input_types(classifier.ensemble_, kind)
    assert (inputs.low, inputs.high) == (0, min(1000, TYPES[kind][1]))
    rows = probes(name, 50, inputs.low, inputs.high)
    negative = np.where(rows == 0, TYPES[kind][0], rows)
    assert np.array_equal(answers(compiled(tmp_path, *SANITIZED), negative, kind), expected(classifier, rows))


def test_a_hundred_classes_can_have_16_bit_inputs():
    X = np.array([[0, 2**16 - 1], [1, 2], [2**16 - 1, 0], [3, 1]])
    one = BeMiClassifier(hidden_layers=(), stages=("sm",)).fit(X, [0, 0, 1, 1]).ensemble_
    pairs = np.array(list(combinations(range(100), 2)))
    of_each = (one.networks, one.reports, one.splitting)
    many = one.with_networks(pairs, *(part * len(pairs) for part in of_each), classes=np.arange(100))
    assert "typedef uint16_t bemi_input_t;" in export(many).header


@needs_gcc
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("level", ["-O3", pytest.param("-Os", marks=pytest.mark.slow)])
def test_no_library_is_called_and_no_memory_is_static(name, level, tmp_path):
    made = write(model(name), tmp_path, smoothing=Smoothing(200, 150))
    stream = "sizeof(bemi_stream_t) + " if made.costs.state > 202 else ""
    with (tmp_path / "bemi_model.c").open("a") as source:
        source.write(f"typedef char what_is_stated[{stream}sizeof(bemi_smoother_t) == {made.costs.state} ? 1 : -1];\n")
    subprocess.run(["gcc", *STRICT, level, "-c", "bemi_model.c"], cwd=tmp_path, check=True)
    undefined = subprocess.run(["nm", "-u", "bemi_model.o"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert undefined.split() in ([], ["U", "_GLOBAL_OFFSET_TABLE_"])
    sections = subprocess.run(["size", "bemi_model.o"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert sections.splitlines()[1].split()[1:3] == ["0", "0"]


@pytest.mark.parametrize("device", [board("cortex_m3"), board("atmega328p")])
@pytest.mark.parametrize("optimize", ["speed", "size"])
def test_no_conversion_is_silent_where_int_is_small(device, optimize, tmp_path):
    """Models that together have every file of the runtime and every transform."""
    names = ("digits", "large weights", "wide layers", "probabilities of five classes", "strings for classes", *SMALL)
    kinds = [model(name) for name in (*names, "histograms of frames", "unknown windows", "counts for large weights")]
    kinds += [table_model(values=True, similarities=9), table_model(rules=6), table_model(max_links=10)]
    flags = [flag for flag in device.flags if flag.startswith("-m")]
    for kind in kinds:
        learn = kind.ensemble_.known_ranges is not None
        write(kind, tmp_path, optimize=optimize, smoothing=Smoothing(5, 3), learn=learn)
        subprocess.run([device.compiler, *flags, *STRICT, "-fsyntax-only", "bemi_model.c"], cwd=tmp_path, check=True)


EXPORT_PAGE = Path(__file__).parents[3] / "docs" / "export.md"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cppcheck") is None, reason="cppcheck is not installed")
def test_the_deviations_from_misra_are_listed(tmp_path):
    (section,) = re.findall(r"^### MISRA C:2012$(.*?)^## ", EXPORT_PAGE.read_text(), re.DOTALL | re.MULTILINE)
    listed = {*re.findall(r"\d+\.\d+", section), "2.4"}
    found = set()
    names = ("digits", "large weights", "wide layers", "probabilities of five classes", "histograms of frames")
    kinds = [model(name) for name in (*names, "counts of a signal", "unknown windows")]
    for kind in (*kinds, table_model(values=True, similarities=9), table_model(max_links=10)):
        learn = kind.ensemble_.known_ranges is not None
        write(kind, tmp_path, optimize="size", smoothing=Smoothing(5, 3), learn=learn)
        command = ["cppcheck", "--addon=misra", "--std=c99", "--platform=unix32", "--quiet", "bemi_model.c"]
        told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stderr
        found |= set(re.findall(r"misra-c2012-(\d+\.\d+)", told))
    assert {"15.6", "10.4"} <= found <= listed


@pytest.mark.parametrize("device", [board("cortex_m3"), board("riscv32")])
@pytest.mark.parametrize("name", MODELS)
def test_emulated_devices_agree(device, name, tmp_path):
    classifier = model(name)
    made = write(classifier, tmp_path)
    inputs = input_types(classifier.ensemble_)
    rows = probes(name, 60, inputs.low, inputs.high)
    found = run(device, tmp_path, rows)
    assert np.array_equal(found.predictions, expected(classifier, rows))
    built = size(device, tmp_path)
    assert built.undefined == ()
    assert built.ram == 0
    if device.name == "cortex_m3":
        # What is stated before anybody compiles is enough, and not far off.
        assert built.flash <= made.costs.flash
        assert made.costs.flash <= 1.3 * built.flash or name in SIMPLER_THAN_THEY_LOOK
        assert found.instructions.max() <= made.costs.instructions
        assert max(found.stack.max(), stack_used(device, tmp_path)) <= made.costs.stack
        slow = run(device, tmp_path, rows[:20], defines=("BEMI_NO_EARLY_OUT",))
        assert np.array_equal(slow.predictions, found.predictions[:20])
        assert slow.instructions.max() <= made.costs.instructions


@pytest.mark.parametrize("device", [board("atmega328p")])
@pytest.mark.parametrize("optimize", ["speed", "size"])
@pytest.mark.parametrize("name", ["digits", "many ties", "scaled signed features", *SMALL])
def test_an_eight_bit_device_agrees(device, name, optimize, tmp_path):
    classifier = model(name)
    write(classifier, tmp_path, optimize=optimize)
    inputs = input_types(classifier.ensemble_)
    rows = probes(name, 60, inputs.low, inputs.high)
    assert np.array_equal(run(device, tmp_path, rows).predictions, expected(classifier, rows))


CHANCE_AS_LABEL = """
int bemi_predict(const bemi_input_t *x)
{
    uint16_t p[BEMI_CLASSES];
    int label = bemi_predict_proba(x, p);
    return BEMI_CHANCE_OF < 0 ? label : (int)(int16_t)p[BEMI_CHANCE_OF < 0 ? 0 : BEMI_CHANCE_OF];
}
"""


@pytest.mark.parametrize("device", [board("cortex_m3"), board("atmega328p")])
@pytest.mark.parametrize("name", ["probabilities of two classes", "probabilities of five classes"])
def test_devices_give_the_same_chances(device, name, tmp_path):
    classifier = model(name)
    write(classifier, tmp_path)
    for file, more in (("bemi_model.h", ""), ("bemi_model.c", CHANCE_AS_LABEL)):
        text = (tmp_path / file).read_text().replace("bemi_predict(", "bemi_label(")
        (tmp_path / file).write_text(text + more)
    with (tmp_path / "bemi_model.h").open("a") as header:
        header.write("int bemi_predict(const bemi_input_t *x);\n")
    inputs = input_types(classifier.ensemble_)
    rows = probes(name, 40, inputs.low, inputs.high)
    wanted = np.column_stack([expected(classifier, rows), expected_probabilities(classifier, rows).astype(np.int16)])
    for column, values in enumerate(wanted.T):
        found = run(device, tmp_path, rows, defines=(f"BEMI_CHANCE_OF={column - 1}",)).predictions
        assert np.array_equal(found, values), column


def test_small_ensembles_are_small():
    digits = export(model("digits"), optimize="size").costs
    assert digits.flash < 4_000
    faster = export(model("digits"), optimize="speed").costs
    assert faster.without_tie < digits.without_tie
    assert faster.flash >= digits.flash


def test_the_header_states_what_it_takes():
    made = export(model("digits"))
    assert f"#define BEMI_FLASH_BYTES {made.costs.flash}" in made.header
    assert f"#define BEMI_STACK_BYTES {made.costs.stack}" in made.header
    assert re.search(rf"{made.costs.instructions} instructions \({made.costs.without_tie} without a tie\)", made.header)


def test_the_header_says_where_pixels_and_features_are():
    made = export(model("histograms of colours"), name="eye")
    for name, value in (("HEIGHT", 17), ("WIDTH", 20), ("CHANNELS", 3)):
        assert f"#define EYE_IMAGE_{name} {value}\n" in made.header
    assert "x[3 * (20 * r + c) + k] is channel k in line r, column c." in made.header
    table = pd.DataFrame({"dose": [1, 2, 3, 4], "bemi_size": [4, 3, 1, 1]})
    header = export(BeMiClassifier(time_limit=1).fit(table, [0, 0, 1, 1]), name="eye").header
    assert "  x[0] = dose\n     x[1] = bemi_size" in header, "names of the data stay as they are"


def test_the_command_writes_what_the_function_writes(tmp_path, capsys):
    save(model("digits"), tmp_path / "digits.bemi")
    assert (
        main(["export", "c", str(tmp_path / "digits.bemi"), "-o", str(tmp_path / "device"), "--optimize", "size"]) == 0
    )
    shown = capsys.readouterr().out
    made = export(model("digits"), optimize="size")
    assert f"{made.costs.flash:,}" in shown
    assert (tmp_path / "device" / "bemi_model.c").read_text() == made.source
    assert (tmp_path / "device" / "bemi_model.h").read_text() == made.header
    arguments = ["export", "c", str(tmp_path / "digits.bemi"), "-o", str(tmp_path / "device"), "--json"]
    assert main([*arguments, "--input-type", "int16_t"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["stack"] == export(model("digits"), input_type="int16_t").costs.stack
    assert "typedef int16_t" in (tmp_path / "device" / "bemi_model.h").read_text()


def test_a_file_in_place_of_the_folder_is_named(tmp_path, capsys):
    save(model("digits"), tmp_path / "digits.bemi")
    assert main(["export", "c", str(tmp_path / "digits.bemi"), "-o", str(tmp_path / "digits.bemi")]) == 2
    assert "digits.bemi is a file; give the name of a folder" in capsys.readouterr().err


def test_an_ensemble_is_exported_like_its_classifier():
    classifier = model("digits")
    assert export(classifier.ensemble_) == export(classifier)


def test_a_transform_without_c_is_refused_by_name():
    class Doubling(ConstantInput):
        """What it inherits need not be what it computes."""

    classifier = with_transform(model("constant input"), Doubling().fit(np.ones((1, 13))))
    with pytest.raises(
        ValueError, match=r"^the transform Doubling cannot be exported to C: it has no c_code of its own$"
    ):
        export(classifier)


@pytest.mark.parametrize("name", ["probabilities of two classes", "probabilities of five classes"])
def test_probabilities_can_be_left_out(name, tmp_path, capsys):
    classifier = model(name)
    whole, less = export(classifier), export(classifier, probabilities=False)
    assert "bemi_predict_proba" in whole.header
    assert "proba" not in less.header + less.source
    assert less.costs.flash < whole.costs.flash
    save(classifier, tmp_path / "m.bemi")
    assert main(["export", "c", str(tmp_path / "m.bemi"), "-o", str(tmp_path / "c"), "--no-probabilities"]) == 0
    assert (tmp_path / "c" / "bemi_model.c").read_text() == less.source
