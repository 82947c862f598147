"""Every public name has a page with an example that works; the examples of methods continue that of their class."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bemi_lab import baselines, datasets

import bemi
from bemi.export import blob, c, onnx, page, verilog

DOCS = Path(__file__).parent.parent / "docs"
LISTED = re.findall(r"^   (bemi[.\w]+)$", (DOCS / "api.md").read_text(), flags=re.MULTILINE)
LEFT_OUT = re.findall(r":exclude-members: (.*)", (DOCS / "templates" / "autosummary" / "class.rst").read_text())[0]


def named(name: str) -> Any:
    """What a dotted name stands for; a package may have the name of its own function."""
    package, _, last = name.rpartition(".")
    try:
        return getattr(importlib.import_module(package), last)
    except ModuleNotFoundError:
        return getattr(named(package), last)


def methods(kind: type) -> Iterator[tuple[str, Any]]:
    """Name and docstring of each method that the page of a class shows."""
    for name in dir(kind):
        raw = inspect.getattr_static(kind, name)
        method = getattr(raw, "__func__", getattr(raw, "fn", raw))  # class methods, and those that are not always there
        ours = inspect.isfunction(method) and method.__module__.startswith("bemi")
        if ours and not name.startswith("_") and name not in LEFT_OUT.split(", "):
            yield name, inspect.getdoc(method)


def run(name: str, text: str | None, names: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(text or "", names, name, None, None)
    assert test.examples, f"{name} has no example"
    failures: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=failures.append, clear_globs=False)
    assert not failures, "".join(failures)
    names.update(test.globs)


def test_the_api_lists_every_public_name():
    public = {f"{module.__name__}.{name}" for module in (bemi, datasets, baselines) for name in module.__all__}
    for package in (blob, c, onnx, page, verilog):
        public |= {f"{package.__name__}.{name}" for name in package.__all__ if name in ("write", "export", "model")}
        public |= {f"{package.__name__}.{name}" for name in package.__all__ if inspect.isclass(vars(package)[name])}
    values = re.findall(r"^\.\. py:data:: (\S+)$", (DOCS / "api.md").read_text(), flags=re.MULTILINE)
    assert public - {"bemi.export.onnx.OnnxNotInstalled"} <= {*LISTED, *values}


@pytest.mark.parametrize("name", LISTED)
def test_examples(name, tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    public = named(name)
    if inspect.isclass(public) and issubclass(public, Exception):
        return
    names: dict[str, Any] = {}
    run(name, inspect.getdoc(public), names)
    if inspect.isclass(public):
        for method, text in methods(public):
            # A classifier without probabilities has no methods for them.
            if not isinstance(names.get("clf"), public) or hasattr(names["clf"], method):
                run(f"{name}.{method}", text, names)
    pyplot.close("all")
