"""Mutants of certificates with repaired digests: none misbehaves, none is accepted that the second checker denies."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited in the way of Linux")


@pytest.mark.parametrize(
    ("count", "first"), [(10_000, 0), pytest.param(1_000_000, 10_000, marks=pytest.mark.slow)], ids=["few", "million"]
)
def test_mutants_are_refused_or_proved(count, first):
    script = Path(__file__).with_name("certificate_fuzz.py")
    command = [sys.executable, "-W", "error", str(script), str(count), str(first)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert sum(found["outcomes"].values()) == count
    assert found["outcomes"]["refused"] > count // 2
    assert found["outcomes"]["accepted by both"] > count // 20
    assert found["outcomes"].get("accepted, too large for the second checker", 0) == 0
    assert found["peak_mb"] < 200
    assert found["slowest"] < 10
