"""The folder of a run: ``run.json`` says what was asked for, on which machine, and how long it took."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import bemi
from bemi import solvers
from bemi.files import write_atomically
from bemi_lab.experiments.spec import RANDOM_IMAGES, Settings


class OtherRun(ValueError):
    """The run folder holds results of other settings."""


class NoResults(ValueError):
    """A folder is not a run, or has no finished result."""


def open_run(folder: Path, experiment: str, settings: Settings) -> dict[str, Any]:
    """The content of ``run.json``, new or from an earlier run; raises OtherRun if its settings differ."""
    folder.mkdir(parents=True, exist_ok=True)
    asked: dict[str, Any] = {"experiment": experiment, "settings": asdict(settings), "visits": []}
    path = folder / "run.json"
    if not path.exists():
        write_json(path, asked)
        return asked
    run = read_run(folder)
    if run["experiment"] != experiment:
        raise OtherRun(f"{folder} holds a run of {run['experiment']}; choose another folder for {experiment}")
    for key, value in asked["settings"].items():
        if run["settings"].get(key) != value:
            raise OtherRun(
                f"{folder} holds a run with {key} {run['settings'].get(key)!r}, not {value!r}; choose another folder "
                "or the same settings"
            )
    return run


def read_run(folder: Path) -> dict[str, Any]:
    """The content of ``run.json``; raises NoResults if there is none."""
    run = read_json(folder, folder / "run.json")
    # Runs from before there was a choice have random images.
    run["settings"].setdefault("images", RANDOM_IMAGES)
    return run


def read_json(folder: Path, path: Path) -> dict[str, Any]:
    """A file of a run; raises NoResults if the folder is no run, or the file is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NoResults(f"{folder} is not a run: it has no {path.name}; make one with: bemi-lab reproduce") from None
    except ValueError as error:
        raise NoResults(f"{folder} has a damaged file: {error}") from None


def machine(solver: str) -> dict[str, Any]:
    """Where and with what a run is made."""
    return {
        "cores": os.cpu_count(),
        "processor": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "bemi": bemi.__version__,
        "solver": f"{solver} {solvers.get(solver).version()}",
    }


def write_json(path: Path, content: dict[str, Any]) -> None:
    write_atomically({path: (json.dumps(content, allow_nan=False) + "\n").encode()})
