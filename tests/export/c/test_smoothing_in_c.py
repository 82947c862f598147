"""Smoothing in C beside Smoothing in Python."""

import ctypes
import subprocess

import pytest
from bemi_lab.benchmarks.boards import size
from compiled_c import STRICT, board, needs_gcc
from exported_models import model
from hypothesis import given
from hypothesis import strategies as st

from bemi import Smoothing, save
from bemi.cli import main
from bemi.export.c import export, write

SETTINGS = ((1, 1), (2, 1), (5, 3), (5, 2), (9, 5), (255, 100))


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """A compiled model of ten classes for each of the settings."""
    found = {}
    for length, votes in SETTINGS:
        folder = tmp_path_factory.mktemp(f"smooth{length}_{votes}")
        write(model("digits"), folder, smoothing=Smoothing(length, votes))
        command = ["gcc", *STRICT, "-Wconversion", "-O1", "-shared", "-fPIC", "bemi_model.c", "-o", "model.so"]
        subprocess.run(command, cwd=folder, check=True)
        found[length, votes] = ctypes.CDLL(str(folder / "model.so"))
    return found


@needs_gcc
@given(st.sampled_from(SETTINGS), st.lists(st.integers(-2, 9), max_size=80), st.integers(1, 10))
def test_the_same_labels_as_python(libraries, settings, labels, kinds):
    labels = [label if label < 0 else label % kinds for label in labels]
    library, smoothing = libraries[settings], Smoothing(*settings, unsure=-1)
    # More than it takes, and not empty to begin with.
    smoother = ctypes.create_string_buffer(b"\x07" * 512)
    library.bemi_smoother_init(smoother)
    found = [library.bemi_smooth(smoother, label) for label in labels]
    # Both -1 and -2, not classified and not ready, are votes for no class.
    votes = [max(label, -1) for label in labels]
    assert found == [smoothing.push(label) for label in votes]
    assert found == smoothing(votes).tolist()


def test_the_header_has_what_was_chosen(tmp_path):
    made = export(model("digits"), smoothing=Smoothing(7, 4))
    assert "#define BEMI_SMOOTH_LENGTH 7\n#define BEMI_SMOOTH_VOTES 4\n" in made.header
    assert "int bemi_smooth(bemi_smoother_t *smoother, int label);" in made.header
    plain = export(model("digits"))
    assert "smooth" not in plain.header + plain.source
    assert made.costs.state == 7 + 2
    save(model("digits"), tmp_path / "digits.bemi")
    command = ["export", "c", str(tmp_path / "digits.bemi"), "-o", str(tmp_path / "device"), "--smooth"]
    assert main([*command, "7,4"]) == 0
    assert (tmp_path / "device" / "bemi_model.h").read_text() == made.header
    assert (tmp_path / "device" / "bemi_model.c").read_text() == made.source


@pytest.mark.parametrize(
    ("given_text", "message"), [("7", "needs two numbers such as 5,3, got '7'"), ("3,5", "votes must be")]
)
def test_bad_settings_are_one_line(given_text, message, tmp_path, capsys):
    save(model("digits"), tmp_path / "digits.bemi")
    command = ["export", "c", str(tmp_path / "digits.bemi"), "-o", str(tmp_path / "device"), "--smooth", given_text]
    try:
        code = main(command)
    except SystemExit as stopped:
        code = stopped.code
    assert code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("device", [board("cortex_m3")])
def test_what_it_takes(device, tmp_path):
    write(model("digits"), tmp_path)
    plain = size(device, tmp_path)
    write(model("digits"), tmp_path, smoothing=Smoothing(5, 3))
    smooth = size(device, tmp_path)
    assert smooth.flash - plain.flash <= 180
    assert smooth.ram == 0
