"""Public names have types that a user's type checker sees."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bemi

pytest.importorskip("mypy", reason="mypy is not installed")

SCRIPT = """\
from bemi import BeMiClassifier, FewBitClassifier, ScorecardClassifier, TableBits, load, save, verify

clf = FewBitClassifier(kind="table", C=1.0).fit([[1.0], [2.0]], [0, 1])
labels = clf.predict([[1.0]])
BeMiClassifier(hidden_layers=(2,), weight_bound=3)
ScorecardClassifier(max_lines=5, inputs=TableBits())
save(clf, "model.bemi")
load("model.bemi").predict_proba([[1.0]])
print(verify("model.bemi").certified)
"""

README = Path(__file__).parent.parent / "README.md"

MISTAKES = {
    "FewBitClassifier(weigth_bound=7)": 'Unexpected keyword argument "weigth_bound" for "FewBitClassifier"',
    "BeMiClassifier(C=1.0)": 'Unexpected keyword argument "C" for "BeMiClassifier"',
    "BeMiClassifier(hidden_layers=4)": 'Argument "hidden_layers" to "BeMiClassifier" has incompatible type "int"',
    "clf.predcit([[1.0]])": '"FewBitClassifier" has no attribute "predcit"',
    "bemi.recommended": 'Module has no attribute "recommended"',
}


def test_a_users_type_checker_sees_every_public_name_and_finds_mistakes(tmp_path):
    script = tmp_path / "script.py"
    snippets = "".join(re.findall(r"^```python\n(.*?)^```$", README.read_text(), flags=re.DOTALL | re.MULTILINE))
    assert "bemi.FewBitClassifier" in snippets
    names = "".join(f"reveal_type(bemi.{name})\n" for name in bemi.__all__)
    mistakes = "".join(f"{mistake}\n" for mistake in MISTAKES)
    script.write_text(f"import bemi\n{SCRIPT}{mistakes}{names}{snippets}")
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--follow-imports=silent",
            "--cache-dir",
            str(tmp_path),
            str(script),
        ],
        env={**os.environ, "MYPYPATH": str(Path(bemi.__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = run.stdout.splitlines()
    errors = [line for line in lines if ": error: " in line]
    assert len(errors) == len(MISTAKES), run.stdout
    for error, expected in zip(errors, MISTAKES.values(), strict=True):
        assert expected in error
    revealed = [line for line in lines if "Revealed type" in line]
    assert len(revealed) == len(bemi.__all__)
    assert not [line for line in revealed if line.endswith('is "Any"')]
