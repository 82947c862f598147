"""Every example of the gallery is complete, uses what bemi offers, and runs alone."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


def names_of_bemi(tree: ast.Module) -> list[tuple[str, str]]:
    """Every name that a script takes from bemi, as module and name: imports, and attributes of ``bemi`` itself."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "bemi":
            found += [(str(node.module), alias.name) for alias in node.names]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "bemi":
            found.append(("bemi", node.attr))
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_compiles_and_names_what_bemi_has(path):
    tree = ast.parse(path.read_text())
    compile(tree, str(path), "exec")
    used = names_of_bemi(tree)
    assert used
    for module, name in used:
        assert hasattr(import_module(module), name) or find_spec(f"{module}.{name}"), f"{module}.{name}"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_a_title_and_one_picture(path):
    text = path.read_text()
    _, title, line, blank, *_ = text.splitlines()
    assert line == "=" * len(title)
    assert not blank
    assert text.count("plt.subplots(") == text.count("plt.show()") == 1


def test_the_gallery_has_every_example():
    tree = ast.parse((ROOT / "docs" / "conf.py").read_text())
    (listed,) = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "GALLERY"
    ]
    assert sorted(listed) == [path.stem.removeprefix("plot_") for path in EXAMPLES]


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_alone_and_leaves_nothing_behind(path, tmp_path):
    sources = os.pathsep.join(str(ROOT / folder) for folder in ("src", "lab/src"))
    environment = os.environ | {"MPLBACKEND": "agg", "PYTHONPATH": sources}
    subprocess.run([sys.executable, str(path)], cwd=tmp_path, env=environment, check=True, timeout=600)
    assert not list(tmp_path.iterdir())
