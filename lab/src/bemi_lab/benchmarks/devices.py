"""Ensembles on emulated devices, beside what emlearn makes of the same samples: flash, RAM, instructions, accuracy."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers
from bemi.export import c
from bemi.inputs.fixed_point import MISSING
from bemi_lab import classifiers, datasets
from bemi_lab.benchmarks import emlearn_models
from bemi_lab.benchmarks.boards import BOARDS, PUSH, Board, DoesNotFit, Run, Size, linked_size, run
from bemi_lab.benchmarks.frame import Benchmark, Column, Record, Settings, grouped, integer, share, table
from bemi_lab.benchmarks.problems import Cell, sample, unseen_images
from bemi_lab.classifiers import Classifier
from bemi_lab.datasets import Dataset, Split
from bemi_lab.experiments.table import Table

BOARD_ROWS = 500
"""Test rows that are predicted on the board, evenly spaced over all of them."""

SPARE_FLASH = 4096
"""For the program around a model."""

OPTIMIZE = "-Os"
NO_EARLY_OUT = "BEMI_NO_EARLY_OUT"
LIBRARIES = {"cortex_m3": ("-lm", "-lc", "-lnosys"), "atmega328p": ("-lm",)}
"""The same for all models; a model that calls nothing of them gets nothing."""


@dataclass(frozen=True)
class System:
    """C code in a folder, test rows as it takes them, and the class indices that it should give them."""

    name: str
    numbers: str
    folder: Path
    rows: Integers
    predictions: NDArray[np.int64]
    bytes_per_input: int
    includes: tuple[Path, ...] = ()
    has_early_out: bool = False
    window: int = 0
    """Samples of a window that is pushed sample by sample, 0 if rows are given whole."""
    wild: Integers | None = None
    """Further rows that are nothing like those of training."""
    wild_predictions: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class ImageTask:
    """A sample of images, the boards that its models are for, and the sizes of the forests."""

    cell: Cell
    boards: tuple[str, ...]
    trees: tuple[int, ...]

    @property
    def name(self) -> str:
        return self.cell.name

    def truth(self, seed: int) -> NDArray[np.int64]:
        """Class indices of the test rows."""
        return unseen_images(self.cell.data, self.cell.shots, seed)[1]

    def systems(self, settings: Settings, seed: int, place: str) -> Iterator[System]:
        X, y = sample(self.cell.data, self.cell.shots, seed)
        test_X, _ = unseen_images(self.cell.data, self.cell.shots, seed)
        models = {
            "default": classifiers.paper(**settings.limits),
            "recommended": classifiers.few_bit(X, **settings.limits),
            "recommended, P = 3": classifiers.few_bit(X, weight_bound=3, **settings.limits),
        }
        for name, classifier in models.items():
            yield from _ours(classifier.fit(X, y), name, test_X, test_X, 1, place)
        if emlearn_models.missing() is None:
            for model in emlearn_models.models(X, y, self.trees, seed):
                yield _theirs(model, test_X, place)


@dataclass(frozen=True)
class CardTask:
    """A card on one fold of a table, and a forest on the same readings."""

    table: str
    links: int
    boards: tuple[str, ...]
    trees: int

    @property
    def name(self) -> str:
        return f"{self.table} card of {self.links}"

    def truth(self, seed: int) -> NDArray[np.int64]:
        rows, _, test = self._rows(seed)
        return np.searchsorted(np.unique(rows.train_y), rows.train_y[test])

    def systems(self, settings: Settings, seed: int, place: str) -> Iterator[System]:
        rows, train, test = self._rows(seed)
        X, y = rows.table, rows.train_y
        fitted = classifiers.scorecard(self.links, **settings.limits).fit(X.iloc[train], y[train])
        readings = fitted.fixed_point_inputs(X)
        yield from _ours(fitted, f"card of {self.links} lines", X.iloc[test], readings[test], 4, place)
        if emlearn_models.missing() is None:
            # emlearn's integers have 16 bits; the forest splits off missing cells by a value below all others.
            small = np.where(readings == MISSING, NO_READING, readings)
            if np.abs(small).max() > -NO_READING:
                raise ValueError(f"readings of {self.table} do not fit into 16 bits")
            for model in emlearn_models.forests(small[train], y[train], self.trees, seed):
                yield _theirs(model, small[test], place)

    def _rows(self, seed: int) -> tuple[Dataset, NDArray[np.intp], NDArray[np.intp]]:
        rows = datasets.load(self.table)
        return rows, *Split.parse("fold").of_table(rows.train_y, seed)


NO_READING = -32768


@dataclass(frozen=True)
class SignalTask:
    """Windows of noisy waves, whose frequencies and heights tell the class: only what they cost matters."""

    time: int
    channels: int
    classes: int
    boards: tuple[str, ...]

    TRAINING = 10
    """Training windows per class."""

    @property
    def name(self) -> str:
        return f"signal of {self.channels} x {self.time}, {self.classes} classes"

    def truth(self, seed: int) -> NDArray[np.int64]:
        return self._windows(seed)[1][self.classes * self.TRAINING :]

    def systems(self, settings: Settings, seed: int, place: str) -> Iterator[System]:
        X, y = self._windows(seed)
        train, test = np.split(np.arange(len(y)), [self.classes * self.TRAINING])
        for name, inputs in (("counts", "counts"), ("counts of differences", "differences")):
            fitted = classifiers.few_bit(X, inputs=inputs, **settings.limits).fit(X[train], y[train])
            wild, readings = self._wild(seed), fitted.fixed_point_inputs
            expected = np.searchsorted(fitted.classes_, fitted.predict(wild))
            for system in _ours(fitted, name, X[test], readings(X[test]), 2, place):
                more = {"wild": readings(wild), "wild_predictions": expected}
                yield replace(system, window=self.time, has_early_out=False, **more)

    def _wild(self, seed: int) -> NDArray[np.int64]:
        """Noise over all of 16 bits, jumps between its ends, constants, and waves that are far too large."""
        rng = np.random.default_rng(seed + 1)
        shape = (BOARD_ROWS // 4, self.time, self.channels)
        constants = np.broadcast_to(rng.integers(-(2**15), 2**15, (shape[0], 1, self.channels)), shape)
        parts = [rng.integers(-(2**15), 2**15, shape), rng.choice([-(2**15), 2**15 - 1], shape), constants]
        return np.concatenate([*parts, np.clip(self._windows(seed)[0][: shape[0]] * 20, -(2**15), 2**15 - 1)])

    def _windows(self, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rng = np.random.default_rng(seed)
        rows = self.classes * self.TRAINING + BOARD_ROWS
        y = np.arange(rows) % self.classes
        frequencies = 1 + 1.5 * y[:, None, None] + 0.5 * np.arange(self.channels)
        turns = frequencies * np.arange(self.time)[:, None] / self.time + rng.random((rows, 1, self.channels))
        waves = 1500 * (1 + 0.3 * (y % 3))[:, None, None] * np.sin(2 * np.pi * turns)
        return np.rint(waves + rng.normal(0, 600, waves.shape)).astype(np.int64), y


@dataclass(frozen=True)
class RejectTask:
    """Models that leave unknown rows without a label, and the same ones that label every row: what that costs."""

    data: str
    boards: tuple[str, ...]

    SIGNAL = SignalTask(128, 3, 7, ())

    @property
    def name(self) -> str:
        return f"reject {self.data}"

    def truth(self, seed: int) -> NDArray[np.int64]:
        return self._rows(seed)[3]

    def systems(self, settings: Settings, seed: int, place: str) -> Iterator[System]:
        X, y, test_X, _ = self._rows(seed)
        windows = self.data == "signal"
        for reject in (None, 0.05):
            fitted = classifiers.few_bit(X, reject=reject, **settings.limits).fit(X, y)
            readings = fitted.fixed_point_inputs(test_X)
            title = f"{self.data}, reject={reject}"
            for system in _ours(fitted, title, test_X, readings, {"digits": 1, "signal": 2}.get(self.data, 4), place):
                yield replace(system, window=self.SIGNAL.time, has_early_out=False) if windows else system

    def _rows(self, seed: int) -> tuple[Any, NDArray[Any], Any, NDArray[np.int64]]:
        """Training rows and labels, and test rows and class indices."""
        if self.data == "signal":
            X, y = self.SIGNAL._windows(seed)
            train, test = np.split(np.arange(len(y)), [self.SIGNAL.classes * self.SIGNAL.TRAINING])
        elif self.data == "digits":
            X, y = sample("digits", 10, seed)
            return X, y, *unseen_images("digits", 10, seed)
        else:
            rows = datasets.load(self.data)
            table, labels = rows.table, rows.train_y
            train, test = Split.parse("fold").of_table(labels, seed)
            truth = np.searchsorted(np.unique(labels), labels[test])
            return table.iloc[train], labels[train], table.iloc[test], truth
        return X[train], y[train], X[test], y[test]


Task = ImageTask | CardTask | SignalTask | RejectTask

TASKS: tuple[Task, ...] = (
    # The models of the first draw of bemi-lab reproduce accuracy.
    ImageTask(Cell("mnist#0", (4, 4), 10), ("cortex_m3",), (10, 50, 200)),
    ImageTask(Cell("digits#0", (4, 4), 10), ("cortex_m3", "atmega328p"), (10, 50)),
    CardTask("heart920", 10, ("cortex_m3", "atmega328p"), 10),
    SignalTask(128, 3, 7, ("cortex_m3", "atmega328p")),
    *(RejectTask(data, ("cortex_m3", "atmega328p")) for data in ("digits", "wine", "signal")),
)


def _on_boards(task: Task, seed: int, settings: Settings) -> Iterator[Record]:
    """One record per model and board, or one that says what is ``missing``."""
    boards = []
    for board in (BOARDS[name] for name in task.boards):
        if not board.installed:
            missing = f"{board.compiler} or {board.emulator[0]} is not installed"
            yield {"board": board.name, "system": "all", "missing": missing}
            continue
        boards.append(board)
        if emlearn_models.missing() is not None and isinstance(task, (ImageTask, CardTask)):
            missing = f"{emlearn_models.missing()} is not installed"
            yield {"board": board.name, "system": "emlearn", "missing": missing}
    if not boards:
        return
    truth = task.truth(seed)
    with tempfile.TemporaryDirectory() as place:
        for system in task.systems(settings, seed, place):
            accuracy = float(np.mean(system.predictions == truth))
            for board in boards:
                head = {"board": board.name, "system": system.name, "numbers": system.numbers}
                yield head | {"test_rows": len(truth), "accuracy": accuracy} | _on_board(system, board)


def _ours(
    classifier: Classifier, name: str, test_X: Any, rows: Integers, bytes_per_input: int, place: str
) -> Iterator[System]:
    """Our C code for a fitted classifier; ``rows`` are the test rows as a device reads them."""
    predictions = classifier.vote(test_X).label
    sources = set()
    for optimize in c.OPTIMIZE:
        folder = _new_folder(place)
        source = c.write(classifier, folder, optimize=optimize).source
        # Both ways may come to the same code.
        if source not in sources:
            sources.add(source)
            title = f"bemi {name}, {optimize}"
            yield System(title, "integers", folder, rows, predictions, bytes_per_input, has_early_out=True)


def _theirs(model: emlearn_models.Model, rows: Integers, place: str) -> System:
    folder = _new_folder(place)
    model.write(folder)
    predictions = emlearn_models.predictions(folder, rows, model.inputs)
    return System(
        f"emlearn {model.name}",
        model.numbers,
        folder,
        rows,
        predictions,
        np.dtype(model.inputs).itemsize,
        tuple(emlearn_models.includes()),
    )


def _new_folder(place: str) -> Path:
    return Path(tempfile.mkdtemp(dir=place))


def _on_board(system: System, board: Board) -> Record:
    count = len(system.rows)
    rows = np.linspace(0, count - 1, min(BOARD_ROWS, count)).round().astype(int)
    given, expected = system.rows[rows], system.predictions[rows]
    defines = (PUSH,) if system.window else ()
    options: dict[str, Any] = {"includes": system.includes, "libraries": LIBRARIES[board.name], "defines": defines}
    try:
        size = linked_size(board, system.folder, OPTIMIZE, **options)
        runs = {"early_out": _run_in_parts(system, board, given, defines, size)}
        if system.has_early_out:
            runs["all_networks"] = _run_in_parts(system, board, given, (NO_EARLY_OUT,), size)
        if system.wild is not None:
            runs["wild"] = _run_in_parts(system, board, system.wild, defines, size)
    except DoesNotFit as error:
        return {"missing": str(error), "tools": _tools(board)}
    wanted = {"wild": system.wild_predictions}
    found: Record = {
        way: {
            "mean": float(run.instructions.mean()),
            "max": int(run.instructions.max()),
            "differences": int(np.sum(run.predictions != wanted.get(way, expected))),
        }
        for way, run in runs.items()
    }
    if system.window:
        found["push"] = float(runs["early_out"].pushes.mean()) / system.window
    taken = {"flash": size.flash, "ram": size.ram, "stack": max(int(run.stack.max()) for run in runs.values())}
    return {"board_rows": sum(len(run.predictions) for run in runs.values()), **taken, **found, "tools": _tools(board)}


def _run_in_parts(system: System, board: Board, rows: Integers, defines: tuple[str, ...], size: Size) -> Run:
    """Run a model on rows, as many at a time as the board's flash has room for."""
    at_a_time = len(rows)
    if board.flash is not None:
        row_size = rows.shape[1] * system.bytes_per_input
        at_a_time = min(len(rows), (board.flash - SPARE_FLASH - size.flash) // row_size)
    if at_a_time <= 0:
        raise DoesNotFit("needs more flash than there is")
    options = {"includes": system.includes, "libraries": LIBRARIES[board.name]}
    parts = [
        run(board, system.folder, rows[start : start + at_a_time], OPTIMIZE, defines=defines, **options)
        for start in range(0, len(rows), at_a_time)
    ]
    return Run(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Run)))


def _tools(board: Board) -> str:
    """Versions of what the numbers depend on."""
    # Of these two options old compilers know only the second, and new ones listen to the first.
    command = [board.compiler, "-dumpfullversion", "-dumpversion"]
    tools = [f"{board.compiler} {subprocess.run(command, capture_output=True, text=True).stdout.strip()} {OPTIMIZE}"]
    tools += [f"emlearn {version('emlearn')}"] if emlearn_models.missing() is None else []
    return ", ".join([*tools, board.emulator[0]])


def _differences(records: list[Record]) -> int | None:
    ways = [records[0][way]["differences"] for way in ("early_out", "all_networks", "wild") if way in records[0]]
    return sum(ways) if ways else None


def _tables(records: Sequence[Record]) -> Iterator[Table]:
    columns: dict[str, Column] = {
        **{"model": "system", "numbers": "numbers", "accuracy %": share("accuracy"), "missing": "missing"},
        **{"flash B": "flash", "static RAM B": "ram", "stack B": "stack"},
        "RAM in all B": lambda rs: rs[0]["ram"] + rs[0]["stack"] if "ram" in rs[0] else None,
        **{"mean": integer("early_out.mean"), "max": "early_out.max"},
        **{"of all networks: mean": integer("all_networks.mean"), "of all networks: max": "all_networks.max"},
        **{"wild windows: max": "wild.max", "per pushed sample": integer("push"), "differences": _differences},
    }
    note = (
        "Flash and static RAM are what a model adds to a program that has an empty one, libraries included; the input "
        "array is not counted, the window that samples are pushed into is. Stack is the deepest that a prediction "
        f"reached. Mean and max are instructions (cycles on the atmega328p) on {BOARD_ROWS} test rows, on which the "
        "board's labels are compared with those of Python (emlearn: those of its C code on this machine). Accuracy is "
        "on all test rows. Of all networks: without the early exit."
    )
    for group in grouped(records, ["cell", "board", "seed"]):
        tools = next((r["tools"] for r in group if "tools" in r), "Nothing measured")
        caption = f"### {group[0]['cell']}, {group[0]['board']}, seed {group[0]['seed']}\n\n{tools}."
        yield table(group, ["system"], columns, "\n\n".join(filter(None, [note, caption])))
        note = ""


BENCHMARKS = {"devices": Benchmark(TASKS, _on_boards, _tables)}
