"""Runs exported Verilog in a simulator."""

import re
import shutil
import subprocess
from dataclasses import dataclass

import pytest


def needs(tool):
    """Skip a test visibly where a tool is missing."""
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"{tool} is not installed")


@dataclass(frozen=True)
class Ran:
    """What a test bench printed."""

    predictions: int
    differences: int
    first: int
    fewest: int
    most: int


def ran(printed):
    """The last line of a test bench."""
    pattern = r"(\d+) predictions, (\d+) differences, first after (\d+) cycles, then every (\d+) to (\d+)"
    match = re.search(pattern, printed)
    assert match is not None, printed
    return Ran(*map(int, match.groups()))


def in_icarus(folder):
    """The test bench of a folder in Icarus Verilog, at full speed and with pauses; nothing may cause a warning."""
    command = ["iverilog", "-g2001", "-Wall", "-o", "test.vvp", "bemi_model.v", "bemi_axis.v", "test_bench.v"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert (made.returncode, made.stdout + made.stderr) == (0, "")
    runs = []
    for option in ([], ["+gaps"]):
        done = subprocess.run(
            ["vvp", "-n", "test.vvp", *option], cwd=folder, check=True, capture_output=True, text=True
        )
        runs.append(ran(done.stdout))
    return runs


def warnings(folder):
    """What Verilator has to say about the style of the source."""
    command = ["verilator", "--lint-only", "-Wall", "--top-module", "bemi_axis", "bemi_model.v", "bemi_axis.v"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stderr
