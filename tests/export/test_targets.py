"""Every target of the registry writes a model, from a classifier and from its ensemble, and they are the same."""

import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest
from exported_models import model

from bemi import export
from bemi.cli import main
from bemi.cli.export import TARGETS


def written(path):
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    return {str(file.relative_to(path)): file.read_bytes() for file in files if file.is_file()}


@pytest.mark.parametrize("name", TARGETS)
def test_a_classifier_and_its_ensemble_give_the_same_files(name, tmp_path):
    if name == "onnx":
        pytest.importorskip("onnx")
    exported = []
    for number, given in enumerate((model("constant input"), model("constant input").ensemble_)):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / "out"
        import_module(f"bemi.export.{name}").write(given, path)
        exported.append(written(path))
    assert exported[0] == exported[1]


def test_every_package_is_a_target_of_the_command_line(capsys):
    assert {package.name for package in pkgutil.iter_modules(export.__path__)} == set(TARGETS)
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert all(f"{name} {target.description}" in text for name, target in TARGETS.items())


def test_exports_neither_train_nor_solve():
    code = (
        "import sys, bemi.export.blob, bemi.export.c, bemi.export.onnx, bemi.export.page, bemi.export.verilog\n"
        "layers = ('engines', 'training', 'running', 'estimators', 'cli')\n"
        "sys.exit(', '.join(n for n in sys.modules if n.startswith(tuple(f'bemi.{name}' for name in layers))) or None)"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr.strip()) == (0, "")
