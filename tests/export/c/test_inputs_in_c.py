"""What the header says about readings, and that nothing in a table can leave its place in it."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from compiled_c import STRICT, needs_gcc
from mixed_tables import table_model
from soft_margins import soft_margins

from bemi import ConstantInput, TableBits
from bemi.export.c import export
from bemi.export.c.inputs import class_names, declarations, units
from bemi.inputs.export_hooks import CReading

NASTY = (
    *("*/ int x;", "/* ", "a\nb", "\\", 'say "hi"', "", "  ", "é", "ü", "??/"),
    *("a-b", "a b", "A B", "x" * 200, "x" * 201),
)


def compiles(text, folder, *command):
    (folder / "test.c").write_text(text)
    done = subprocess.run([*command, "test.c"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def enumerators(text):
    return dict(line.strip().split(",")[0].split(" = ") for line in text.splitlines() if line.startswith("    BEMI_"))


@needs_gcc
def test_every_level_gets_a_name_of_its_own(tmp_path):
    readings = [
        CReading("*/ nasty\n", levels=NASTY),
        CReading("inputs", levels=("", "min")),
        CReading("input", levels=("s", "min")),
    ]
    readings.append(CReading("missing", levels=("", "1")))
    text = declarations(readings, "#define BEMI_INPUTS 4\n#define BEMI_INPUT_MIN 0\n")
    names = enumerators(text)
    assert len(names) == len(NASTY) + 6
    assert not {"BEMI_INPUTS", "BEMI_INPUT_MIN", "BEMI_MISSING"} & set(names)
    assert len({name[:63] for name in names}) == len(names)
    values = "".join(
        f"typedef char check{i}[{name} == {value} ? 1 : -1];\n" for i, (name, value) in enumerate(names.items())
    )
    program = f"#define BEMI_INPUTS 4\n#define BEMI_INPUT_MIN 0\n{text}{values}"
    compiles(program, tmp_path, "gcc", *STRICT, "-fsyntax-only", "-trigraphs")


def test_levels_have_readable_names():
    text = declarations([CReading("age", 1), CReading("chest pain", levels=("typical", "none at all"))], "")
    assert enumerators(text) == {"BEMI_CHEST_PAIN_TYPICAL": "0", "BEMI_CHEST_PAIN_NONE_AT_ALL": "1"}
    assert "/* Levels of x[1], chest pain; -1 is any other. */" in text
    many = CReading("id", levels=tuple(map(str, range(1001))))
    assert "enum" not in declarations([many], "")


@needs_gcc
def test_classes_are_constants(tmp_path):
    labels = ["walk", "run fast", "walk!", -1, 1, -2.5, "inputs", "int", "", "\u00e9", "x" * 80, "*/ int y;"]
    program = "#define BEMI_INPUTS 3\nenum { BEMI_WALK_2 = 70 };\n"
    text = class_names(labels, program)
    names = enumerators(text)
    assert list(names.values()) == [str(number) for number in range(len(labels))]
    assert list(names)[:7] == [
        *("BEMI_WALK", "BEMI_RUN_FAST", "BEMI_WALK_3", "BEMI_MINUS_1", "BEMI_1", "BEMI_MINUS_2_5", "BEMI_INPUTS_2"),
    ]
    assert len({name[:63] for name in names}) == len(labels)
    compiles(f"{program}{text}int y = BEMI_MINUS_1;\n", tmp_path, "gcc", *STRICT, "-fsyntax-only", "-trigraphs")
    assert "    GESTURES_WALK = 0, /* walk */\n" in class_names(["walk"], "", "gestures")
    assert class_names(range(1001), "") == ""


def test_units_of_readings():
    readings = [CReading("age"), CReading("dose", 2), CReading("stars", -3, used=False), CReading("cp", levels=("a",))]
    assert units(readings, "x")[-4:] == [
        "  x[0] = age",
        "  x[1] = dose * 10^2",
        "  x[2] = stars * 10^-3 (not used)",
        "  x[3] = cp: one of its levels, -1 for any other",
    ]


@needs_gcc
def test_a_table_cannot_inject_code(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.choice(NASTY, 60).astype(object) for name in ("*/ int y; /*", "a\n#error", "c\\")})
    labels = np.where(table["c\\"] < "a", '"; int z; //', "*/")
    bits = TableBits(categorical=list(table))
    made = export(soft_margins(C=1.0, inputs=bits, time_limit=2).fit(table, labels))
    (tmp_path / "bemi_model.h").write_text(made.header)
    names = enumerators(made.header)
    assert len(names) == 3 * len(NASTY) + 2, "levels and classes"
    compiles(made.source, tmp_path, "gcc", *STRICT, "-fsyntax-only")
    undefined = "".join(f"int {name};\n" for name in "xyz")
    compiles(f'#include "bemi_model.h"\n{undefined}', tmp_path, "gcc", *STRICT, "-fsyntax-only", "-trigraphs")
    if shutil.which("g++"):
        compiles('#include "bemi_model.h"\n', tmp_path, "g++", "-x", "c++", "-Wall", "-Werror", "-fsyntax-only")


def test_readings_have_32_bits():
    with pytest.raises(
        ValueError, match=r"inputs of this model are readings of 32 bits, int32_t; leave out input_type='int16_t'"
    ):
        export(table_model(), input_type="int16_t")
    assert export(table_model(), input_type="int32_t") == export(table_model())


def test_scaled_inputs_need_room_for_both_signs():
    rows = np.random.default_rng(0).normal(2048.0, 40.0, (40, 3))
    classifier = soft_margins(C=1.0, inputs=ConstantInput(), time_limit=2)
    classifier.fit(rows, rows[:, 0] > 2048)
    assert "typedef int8_t bemi_input_t;" in export(classifier).header
    message = r"input_type='uint8_t' does not hold -127\.\.127, which scaled features fill; leave it out for int8_t"
    with pytest.raises(ValueError, match=message):
        export(classifier, input_type="uint8_t")
