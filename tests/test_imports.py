"""Imports point one way."""

import ast
from pathlib import Path

import bemi

ORDER = (
    *(
        "files",
        "container",
        "markdown",
        "conversion_kernel",
        "network",
        "histogram_kernel",
        "transforms",
        "softmargin",
        "problem",
        "programs",
        "solvers",
        "engines",
        "training",
        "certificate",
    ),
    *("lazy", "voting", "folding", "subsets", "selection", "scenarios", "robustness", "journal", "workers"),
    *(
        "parallel",
        "progress",
        "planning",
        "parameters",
        "classifier",
        "baselines",
        "presets",
        "modelheader",
        "modelfile",
        "report",
        "alternatives",
        "tables",
        "export",
    ),
    *("datasets", "experiments", "cli"),
)


def test_imports_point_one_way():
    root = Path(bemi.__file__).parent
    for path in root.rglob("*.py"):
        here = path.relative_to(root).with_suffix("").parts[0]
        if here == "__init__":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            names += [f"bemi.{a.name}" for a in node.names] if names == ["bemi"] else []
            for name in names:
                parts = name.split(".")
                if parts[0] == "bemi" and len(parts) > 1 and parts[1] in ORDER:
                    assert ORDER.index(parts[1]) <= ORDER.index(here), f"{path.name} imports {name}"
