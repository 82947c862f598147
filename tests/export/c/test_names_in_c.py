"""Programs with names of their own, several models in one program, and what build systems are given."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from compiled_c import SANITIZED, STRICT, needs_gcc
from exported_models import expected, model, probes
from sklearn.datasets import load_iris

from bemi import Smoothing, save
from bemi.cli import main
from bemi.export.c import LAYOUTS, export, input_types, write

KINDS = ("digits", "strings for classes", "counts of a signal", "probabilities of a signal")


@pytest.mark.parametrize("name", KINDS)
def test_another_name_changes_nothing_else(name):
    usual, named = (export(model(name), smoothing=Smoothing(5, 3), name=n) for n in ("bemi", "Gestures2"))
    assert usual == export(model(name), smoothing=Smoothing(5, 3))
    assert sorted(named.files) == ["Gestures2_model.c", "Gestures2_model.h", "example/main.c"]
    for own, other in zip(usual.files.values(), named.files.values(), strict=True):
        assert "bemi_" not in other.lower()
        back = re.sub(r"\bGESTURES2_", "BEMI_", re.sub(r"\bGestures2_", "bemi_", other))
        assert back == own
    assert named.costs == usual.costs


@needs_gcc
@pytest.mark.parametrize("name", KINDS)
def test_all_names_begin_with_it(name, tmp_path):
    made = write(model(name), tmp_path, smoothing=Smoothing(5, 3), name="gestures")
    defined = re.findall(r"# *define (\w+)", made.header + made.source)
    assert [macro for macro in defined if not macro.startswith(("GESTURES_", "gestures_"))] == []
    subprocess.run(["gcc", *STRICT, "-O0", "-c", "gestures_model.c"], cwd=tmp_path, check=True)
    told = subprocess.run(["nm", "gestures_model.o"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in told.splitlines()} - {"_GLOBAL_OFFSET_TABLE_"}
    assert len(names) > 5
    assert [symbol for symbol in names if not symbol.startswith("gestures_")] == []


TWO = """
#include <stdio.h>
#include "digits_model.h"
#include "waves_model.h"
int main(void)
{
    static digits_input_t x[DIGITS_INPUTS];
    static waves_stream_t left, right;
    static waves_input_t sample[2][WAVES_CHANNELS];
    static waves_smoother_t smoother;
    int t, round;
    waves_smoother_init(&smoother);
    for (round = 0; round < ROUNDS; round++) {
        int label, other;
        if (fread(x, sizeof x, 1, stdin) != 1)
            return 1;
        waves_stream_init(&left);
        waves_stream_init(&right);
        for (t = 0; t < WAVES_WINDOW; t++) {
            if (fread(sample, sizeof sample, 1, stdin) != 1)
                return 1;
            waves_push(&left, sample[0]);
            waves_push(&right, sample[1]);
        }
        label = waves_predict_window(&left);
        other = waves_predict_window(&right);
        printf("%d %d %d %d\\n", digits_predict(x), label, other, waves_smooth(&smoother, label));
    }
    return 0;
}
"""


@needs_gcc
@pytest.mark.parametrize("one_unit", [False, True], ids=["linked", "in one unit"])
def test_two_models_and_two_sensors_in_one_program(one_unit, tmp_path):
    """Each gives its own labels, even as one source, where macros, types and static functions meet, too."""
    digits, waves, smoothing = model("digits"), model("counts of a signal"), Smoothing(3, 2, unsure=-1)
    write(digits, tmp_path, name="digits")
    write(waves, tmp_path, name="waves", smoothing=smoothing)
    inputs = {name: input_types(found.ensemble_) for name, found in (("digits", digits), ("waves", waves))}
    images = probes("digits", 60, inputs["digits"].low, inputs["digits"].high)
    left, right = (probes("counts of a signal", 60, 0, 0, seed) for seed in (1, 2))
    time, channels = waves.transform_.window_shape
    given = b"".join(
        image.astype(inputs["digits"].type.removesuffix("_t")).tobytes()
        + np.stack([window.reshape(time, channels) for window in pair], axis=1).astype(np.int16).tobytes()
        for image, *pair in zip(images, left, right, strict=True)
    )
    models = ["digits_model.c", "waves_model.c"]
    (tmp_path / "both.c").write_text("".join(f'#include "{file}"\n' for file in models))
    (tmp_path / "two.c").write_text(TWO)
    command = ["gcc", *STRICT, *SANITIZED, "-DROUNDS=60", *(["both.c"] if one_unit else models), "two.c", "-o", "two"]
    subprocess.run(command, cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "two"], input=given, capture_output=True, check=True).stdout
    labels = expected(waves, left)
    wanted = [expected(digits, images), labels, expected(waves, right), smoothing(labels)]
    assert all(len(np.unique(column)) > 2 for column in wanted)
    assert (wanted[1] != wanted[2]).any()
    assert np.array_equal(np.array(printed.split(), dtype=int).reshape(-1, 4), np.stack(wanted, axis=1))


@pytest.mark.parametrize(
    "name", ["", "1st", "a b", "_a", "a_", "a__b", "a-b", "x" * 32, "\u00e9", "int", "while", "a\n", "a;b", "../a"]
)
@pytest.mark.parametrize("target", ["c", "verilog"])
def test_a_bad_name_is_refused_in_one_line(target, name, tmp_path, capsys):
    save(model("digits"), tmp_path / "digits.bemi")
    command = ["export", target, str(tmp_path / "digits.bemi"), "-o", str(tmp_path / "device"), f"--name={name}"]
    assert main(command) == 2
    told = capsys.readouterr().err
    assert told.startswith("bemi: name must ")
    assert told.count("\n") == 1
    assert not (tmp_path / "device").exists()


def test_the_command_takes_a_name(tmp_path, capsys):
    save(model("digits"), tmp_path / "digits.bemi")
    command = ["export", "c", str(tmp_path / "digits.bemi"), "-o", str(tmp_path / "device"), "--name", "gestures"]
    assert main(command) == 0
    assert "gestures_model.h" in capsys.readouterr().out
    for file, text in export(model("digits"), name="gestures").files.items():
        assert (tmp_path / "device" / file).read_text() == text


def iris(program):
    """What a program prints for the readings of all flowers."""
    rows = load_iris().data
    text = "\n".join(" ".join(map(str, row)) for row in model("strings for classes").fixed_point_inputs(rows))
    return subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout


def iris_labels():
    return "".join(f"{label}\n" for label in model("strings for classes").predict(load_iris().data))


@needs_gcc
@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_cmake_builds_the_example_and_two_models_in_a_project(tmp_path):
    for name in ("flowers", "others"):
        write(model("strings for classes"), tmp_path / name, name=name, layout="cmake")

    def built(folder):
        for command in (["cmake", "-B", "build"], ["cmake", "--build", "build"]):
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
        return folder / "build"

    assert iris(built(tmp_path / "flowers") / "flowers_example") == iris_labels()
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.10)\nproject(app C)\nadd_subdirectory(flowers)\nadd_subdirectory(others)\n"
        "add_executable(app flowers/example/main.c)\ntarget_link_libraries(app PRIVATE flowers_model others_model)\n"
    )
    assert iris(built(tmp_path) / "app") == iris_labels()


SKETCH = """
#include <flowers_model.h>
flowers_input_t x[FLOWERS_INPUTS];
volatile int label;
void setup() {}
void loop() { label = flowers_predict(x) == FLOWERS_A; }
"""


def test_an_arduino_library_has_what_the_specification_asks_for(tmp_path):
    write(model("strings for classes"), tmp_path, name="flowers", layout="arduino")
    assert sorted(path.name for path in (tmp_path / "src").iterdir()) == ["flowers_model.c", "flowers_model.h"]
    properties = dict(line.split("=", 1) for line in (tmp_path / "library.properties").read_text().splitlines())
    wanted = {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures"}
    assert wanted <= set(properties)
    assert (properties["name"], properties["includes"]) == ("flowers_model", "flowers_model.h")


@pytest.mark.skipif(shutil.which("avr-g++") is None, reason="avr-g++ is not installed")
def test_a_sketch_links_an_arduino_library(tmp_path):
    """As the IDE builds it: the sketch as C++, and all that is in ``src`` with its folder on the path of headers."""
    write(model("strings for classes"), tmp_path, name="flowers", layout="arduino")
    (tmp_path / "sketch.cpp").write_text(f"{SKETCH}\nint main() {{ setup(); for (;;) loop(); }}\n")
    flags = ["-mmcu=atmega328p", "-Os", "-Wall", "-Werror", "-Isrc"]
    subprocess.run(["avr-gcc", *flags, "-std=gnu11", "-c", "src/flowers_model.c"], cwd=tmp_path, check=True)
    command = ["avr-g++", *flags, "-std=gnu++11", "sketch.cpp", "flowers_model.o", "-o", "sketch.elf"]
    subprocess.run(command, cwd=tmp_path, check=True)


@pytest.mark.skipif(shutil.which("arduino-cli") is None, reason="arduino-cli is not installed")
def test_the_arduino_tools_build_the_library(tmp_path):
    write(model("strings for classes"), tmp_path / "flowers", name="flowers", layout="arduino")
    (tmp_path / "sketch").mkdir()
    (tmp_path / "sketch" / "sketch.ino").write_text(SKETCH)
    command = ["arduino-cli", "compile", "--fqbn", "arduino:avr:uno", "--library", "flowers", "sketch"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)


ESP_IDF = """
function(idf_component_register)
  cmake_parse_arguments(own "" "" "SRCS;INCLUDE_DIRS" ${ARGN})
  add_library(model STATIC ${own_SRCS})
  target_include_directories(model PUBLIC ${own_INCLUDE_DIRS})
endfunction()
"""
ZEPHYR = """
add_library(zephyr_interface INTERFACE)
macro(zephyr_library_named name)
  set(ZEPHYR_CURRENT_LIBRARY ${name})
  add_library(${name} STATIC)
  add_library(model ALIAS ${name})
  target_link_libraries(${name} PUBLIC zephyr_interface)
endmacro()
function(zephyr_library_sources)
  target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endfunction()
function(zephyr_include_directories)
  target_include_directories(zephyr_interface INTERFACE ${ARGN})
endfunction()
"""
"""Commands of these systems, as their manuals describe them."""


@needs_gcc
@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
@pytest.mark.parametrize(("layout", "commands"), [("esp-idf", ESP_IDF), ("zephyr", ZEPHYR)])
def test_cmake_builds_components_and_modules(layout, commands, tmp_path):
    write(model("strings for classes"), tmp_path / "flowers", name="flowers", layout=layout)
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.20)\nproject(app C)\n{commands}\nadd_subdirectory(flowers)\n"
        "add_executable(app flowers/example/main.c)\ntarget_link_libraries(app PRIVATE model)\n"
    )
    for command in (["cmake", "-B", "build"], ["cmake", "--build", "build"]):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert iris(tmp_path / "build" / "app") == iris_labels()


def test_a_module_of_zephyr_says_where_its_cmake_is(tmp_path):
    write(model("strings for classes"), tmp_path, name="flowers", layout="zephyr")
    lines = (tmp_path / "zephyr" / "module.yml").read_text().splitlines()
    assert lines == ["name: flowers_model", "build:", "  cmake: ."]
    assert (tmp_path / "CMakeLists.txt").exists()


def test_a_library_of_platformio_has_what_the_manual_asks_for(tmp_path):
    write(model("strings for classes"), tmp_path, name="flowers", layout="platformio")
    manifest = json.loads((tmp_path / "library.json").read_text())
    assert set(manifest) <= {"name", "version", "description", "headers", "frameworks", "platforms"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", manifest["version"])
    assert (manifest["name"], manifest["headers"]) == ("flowers_model", "flowers_model.h")
    assert (tmp_path / "src" / manifest["headers"]).exists()


@pytest.mark.skipif(shutil.which("pio") is None, reason="platformio is not installed")
def test_the_platformio_tools_accept_the_library(tmp_path):
    write(model("strings for classes"), tmp_path / "flowers", name="flowers", layout="platformio")
    subprocess.run(["pio", "pkg", "pack", "flowers"], cwd=tmp_path, check=True, capture_output=True)


@needs_gcc
def test_the_command_in_an_example_builds_it(tmp_path):
    for layout in LAYOUTS:
        made = write(model("strings for classes"), tmp_path / layout, layout=layout)
        (command,) = re.findall(r"^   (cc .*) && \./predict", made.example, re.MULTILINE)
        subprocess.run(command, cwd=tmp_path / layout / "example", shell=True, check=True)
        assert iris(tmp_path / layout / "example" / "predict") == iris_labels()
