"""The shape of the code: who may know whom, and what stands in one place only."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import bemi
from bemi.stages import STAGES

ROOT = Path(bemi.__file__).parent
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
    if path != ROOT / "__init__.py"
}

LAYERS = (
    ("files", "checks"),
    ("limits",),
    ("jit",),
    ("modelfile.container",),
    ("exact",),
    ("network",),
    ("problem",),
    ("programs",),
    ("stages",),
    ("solvers",),
    ("engines",),
    ("certificate",),
    ("inputs",),
    ("io", "augment"),
    ("ensemble",),
    ("settings",),
    ("report",),
    ("modelfile",),
    ("export",),
    ("training",),
    ("running",),
    ("estimators",),
    ("cli",),
    ("__main__",),
)
"""Low layers first.  A module may import its own package and those of lower layers."""

KNOW_NO_ENGINE = ("engines", "training", "running", "estimators")
"""What ensembles, inputs, rows, model files, exports and reports stand beside and never import."""

STANDARD_LIBRARY_ALONE = ("files", "certificate", "modelfile.container")


def level(module: str) -> int:
    """Layer of a module; the longest name that fits counts."""
    fitting = [
        (len(name), place)
        for place, names in enumerate(LAYERS)
        for name in names
        if f"{module}.".startswith(f"{name}.")
    ]
    return max(fitting)[1]


def type_only(tree: ast.Module) -> set[ast.AST]:
    """Nodes under ``if TYPE_CHECKING``, which never run."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            found |= {inner for statement in node.body for inner in ast.walk(statement)}
    return found


def imports(path: Path) -> list[tuple[str, str | None]]:
    """Every import of the module, inside functions too, as (module, name or None)."""
    tree = ast.parse(path.read_text())
    left_out = type_only(tree)
    found: list[tuple[str, str | None]] = []
    for node in ast.walk(tree):
        if node in left_out:
            continue
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: imports are absolute"
            found += [(node.module, alias.name) for alias in node.names]
    return found


def own_imports(path: Path) -> list[str]:
    """Modules of this package that a module imports."""
    found = []
    for module, name in imports(path):
        if module == "bemi" and name in {n.split(".")[0] for n in MODULES}:
            found.append(str(name))
        elif module.startswith("bemi."):
            inside = module.removeprefix("bemi.")
            found.append(f"{inside}.{name}" if f"{inside}.{name}" in MODULES else inside)
    return found


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_to_lower_layers(module):
    for other in own_imports(MODULES[module]):
        if other.split(".")[0] != module.split(".")[0]:
            assert level(other) < level(module), f"{module} imports {other}"


@pytest.mark.parametrize("package", ["ensemble", "inputs", "io", "augment", "modelfile", "export", "report"])
def test_what_reads_models_knows_no_engine(package):
    for module, path in MODULES.items():
        if module.split(".")[0] == package:
            assert not {name.split(".")[0] for name in own_imports(path)} & set(KNOW_NO_ENGINE), module


@pytest.mark.parametrize("module", [m for m in MODULES if m.startswith(STANDARD_LIBRARY_ALONE)])
def test_the_checker_needs_the_standard_library_alone(module):
    for name, _ in imports(MODULES[module]):
        top = name.split(".")[0]
        assert (
            top in sys.stdlib_module_names
            or name.removeprefix("bemi.").startswith(STANDARD_LIBRARY_ALONE)
            or (name == "bemi.modelfile")
        ), f"{module} imports {name}"


@pytest.mark.parametrize("module", MODULES)
def test_the_library_does_not_know_the_laboratory(module):
    assert not [name for name, _ in imports(MODULES[module]) if name.split(".")[0] == "bemi_lab"]


@pytest.mark.parametrize("module", MODULES)
def test_no_module_uses_private_names_of_another(module):
    tree = ast.parse(MODULES[module].read_text())
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bemi"):
            private = [alias.name for alias in node.names if alias.name.startswith("_") and alias.name != "__version__"]
            assert not private, f"{module} imports {private} from {node.module}"
            names |= {alias.asname or alias.name for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            assert not node.attr.startswith("_") or node.attr.startswith("__"), f"{module}: {ast.unparse(node)}"


STAGE_NAMES = set(STAGES)


def test_few_modules_name_a_stage():
    """A stage is an object: beside its entry in the registry, only the engines map its name to something."""
    naming = {
        module
        for module, path in MODULES.items()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in STAGE_NAMES and module.split(".")[0] != "certificate"
    }
    # Files know the old names of stages; "soft" is also what reports call the numbers of soft margins.
    files = {"modelfile.container", "modelfile.header", "stages.result"}
    assert naming - files == {"stages.registry", "engines.monolithic", "engines.start", "engines.decomposition.engine"}


def test_functions_fit_a_screen():
    """Compiled kernels may be longer, where splitting them costs speed."""
    long = []
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and not any("njit" in ast.unparse(d) for d in node.decorator_list):
                lines = node.end_lineno - node.lineno + 1
                long += [f"{module}.{node.name}: {lines} lines"] if lines > 80 else []
    assert not long


def test_the_package_has_few_entries():
    entries = {path.name for path in ROOT.iterdir() if path.name not in ("__pycache__", "py.typed", "__main__.py")}
    assert len(entries) <= 25, sorted(entries)


def test_tests_mirror_the_source():
    tests = Path(__file__).parent
    packages = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    folders = {path.name for path in tests.iterdir() if path.is_dir() and any(path.rglob("test_*.py"))}
    assert folders == packages


def test_the_command_line_and_the_checker_start_without_numpy():
    code = "import sys, bemi.cli, bemi.certificate; sys.exit(bool({'numpy', 'sklearn', 'numba'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
