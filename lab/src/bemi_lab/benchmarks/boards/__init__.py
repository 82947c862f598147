"""C code on emulated devices: build it, run it on rows, get the predictions and what they cost.

A folder holds ``bemi_model.h`` and ``bemi_model.c`` as the export writes them, or any other model under these names: an
input type, the number of inputs, and ``bemi_predict``.

Toolchains and emulators are Debian packages: ``gcc-arm-none-eabi``, ``libnewlib-arm-none-eabi``, ``qemu-system-arm``;
``gcc-riscv64-unknown-elf``, ``qemu-system-misc``; ``gcc-avr``, ``avr-libc``, ``simavr``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

HERE = Path(__file__).parent
ARM = ("-mcpu=cortex-m3", "-mthumb", "-nostartfiles", "-nostdlib", "-lgcc")
RISCV = ("-march=rv32imac_zicsr", "-mabi=ilp32", "-nostartfiles", "-nostdlib", "-ffreestanding", "-lgcc")
QEMU = ("-nographic", "-semihosting-config", "enable=on,target=native", "-icount", "shift=0")
WITHOUT_UNUSED = ("-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections")
PUSH = "BOARD_PUSH"
"""To define for windows that are pushed sample by sample."""
NO_STREAM = "BOARD_NO_STREAM"
"""To define for a model that does not remember them."""
EMPTY_WINDOW = """#include "bemi_model.h"
void bemi_stream_init(bemi_stream_t *stream) { (void)stream; }
void bemi_push(bemi_stream_t *stream, const bemi_input_t *x) { (void)stream, (void)x; }
int bemi_predict_window(const bemi_stream_t *stream) { (void)stream; return 0; }
"""
EMPTY_MODEL = '#include "bemi_model.h"\nint bemi_predict(const bemi_input_t *x) { return (int)x[0]; }\n'


class DoesNotFit(RuntimeError):
    """A program needs more memory than the device has."""


@dataclass(frozen=True)
class Board:
    """A device, how programs for it are built, and how they are run."""

    name: str  # of the folder of its board.h
    compiler: str
    flags: tuple[str, ...]
    sources: tuple[str, ...]  # of the board, after the program's
    emulator: tuple[str, ...]  # the command before the name of the program
    flash: int | None = None  # bytes that the real device has, None where the emulator has plenty
    ram: int | None = None

    @property
    def installed(self) -> bool:
        """Whether toolchain and emulator are there."""
        return shutil.which(self.compiler) is not None and shutil.which(self.emulator[0]) is not None

    @property
    def prefix(self) -> str:
        """What the names of the toolchain's programs start with."""
        return self.compiler.removesuffix("gcc")


BOARDS = {
    board.name: board
    for board in (
        Board(
            "cortex_m3",
            "arm-none-eabi-gcc",
            (*ARM, "-T", "link.ld"),
            ("start.c",),
            ("qemu-system-arm", "-machine", "mps2-an385", *QEMU, "-kernel"),
        ),
        Board(
            "riscv32",
            "riscv64-unknown-elf-gcc",
            (*RISCV, "-T", "link.ld"),
            ("start.S",),
            ("qemu-system-riscv32", "-machine", "virt", "-bios", "none", *QEMU, "-kernel"),
        ),
        Board(
            "atmega328p",
            "avr-gcc",
            ("-mmcu=atmega328p",),
            (),
            ("simavr", "-m", "atmega328p", "-f", "16000000"),
            flash=32 * 1024,
            ram=2 * 1024,
        ),
    )
}


@dataclass(frozen=True)
class Run:
    """Predictions on a board, and what each took.

    Instructions (cycles on the atmega328p), bytes of stack, and the instructions for pushing all samples of its window,
    0 if rows are not pushed.
    """

    predictions: NDArray[np.int64]
    instructions: NDArray[np.int64]
    stack: NDArray[np.int64]
    pushes: NDArray[np.int64]


@dataclass(frozen=True)
class Size:
    """Flash and static RAM of code, and the names that an object file leaves for others to define."""

    flash: int
    ram: int
    undefined: tuple[str, ...] = field(default=())


def size(board: Board, folder: Path, optimize: str = "-Os") -> Size:
    """Compile ``bemi_model.c`` in a folder for a board, and tell what it takes."""
    flags = [flag for flag in board.flags if flag.startswith(("-m", "-f"))]
    _run([board.compiler, *flags, "-std=c99", optimize, "-c", "bemi_model.c", "-o", "model.o"], folder)
    taken = _size_of(board, folder / "model.o")
    return Size(taken.flash, taken.ram, tuple(_run([f"{board.prefix}nm", "-u", "model.o"], folder).split()[1::2]))


def linked_size(
    board: Board, folder: Path, optimize: str = "-Os", *, libraries: Sequence[str] = (), **options: Any
) -> Size:
    """What the model in a folder adds to a program, with all that it needs of libraries.

    The difference between a program with the model and the same program with a model that does nothing, streams and
    their memory included; options as for
    :func:`build`.
    """
    row, defines = [[0]], options.get("defines", ())
    whole = _size_of(board, build(board, folder, row, optimize, libraries=libraries, **options))
    with tempfile.TemporaryDirectory() as other:
        empty = Path(other)
        shutil.copy(folder / "bemi_model.h", empty)
        (empty / "bemi_model.c").write_text(EMPTY_WINDOW if PUSH in defines else EMPTY_MODEL)
        without = (*defines, NO_STREAM)
        rest = _size_of(board, build(board, empty, row, optimize, libraries=libraries, defines=without))
    return Size(whole.flash - rest.flash, whole.ram - rest.ram)


def run(board: Board, folder: Path, rows: ArrayLike, optimize: str = "-Os", **options: Any) -> Run:
    """Build the model in a folder with rows, and run it on the board; options as for :func:`build`."""
    rows = np.asarray(rows)
    program = build(board, folder, rows, optimize, **options)
    printed = _run([*board.emulator, program.name], folder)
    # Semihosting prints to standard error, simavr colours its lines and ends them with dots.
    answers = re.findall(r"(-?\d+) (\d+) (-?\d+) (\d+)\.*\s*(?:\x1b\[0m)?$", printed, flags=re.MULTILINE)
    if len(answers) != len(rows):
        raise RuntimeError(f"{len(answers)} of {len(rows)} rows were answered:\n{printed[-500:]}")
    found = Run(*np.array(answers, dtype=np.int64).reshape(-1, 4).T)
    if found.stack.min(initial=0) < 0:
        raise DoesNotFit("needs more RAM than there is: the stack left its room")
    return found


def build(
    board: Board,
    folder: Path,
    rows: ArrayLike,
    optimize: str = "-Os",
    *,
    defines: Sequence[str] = (),
    includes: Sequence[Path] = (),
    libraries: Sequence[str] = (),
) -> Path:
    """Build the model in a folder, ``bemi_model.h`` and ``bemi_model.c``, with rows for a board; returns the program.

    Of a row that is too short the rest is 0.  ``includes`` and ``libraries`` are for models that need more than
    themselves: folders of headers, and options of the linker such as ``-lm``.
    """
    rows = np.asarray(rows)
    flash = "BOARD_FLASH" if board.name == "atmega328p" else ""
    values = ",".join(map(str, rows.reshape(-1).tolist()))
    text = f"#define ROWS {len(rows)}L\nstatic const bemi_input_t rows[ROWS * BEMI_INPUTS] {flash} = {{{values}}};\n"
    (folder / "rows.h").write_text(text)
    here = HERE / board.name
    sources = [str(HERE / "driver.c"), *(str(here / name) for name in board.sources)]
    flags = [str(here / flag) if flag == "link.ld" else flag for flag in board.flags]
    # Libraries stand after what needs them.
    last = [*libraries, *(flag for flag in flags if flag.startswith("-l"))]
    flags = [*(flag for flag in flags if not flag.startswith("-l")), *WITHOUT_UNUSED]
    options = [*(f"-D{name}" for name in defines), "-I.", f"-I{here}", *(f"-I{path}" for path in includes)]
    command = [board.compiler, "-std=gnu99", optimize, *options, *flags, "bemi_model.c", *sources, *last]
    _run([*command, "-o", "program.elf"], folder)
    return folder / "program.elf"


def _size_of(board: Board, file: Path) -> Size:
    text, data, bss = map(int, _run([f"{board.prefix}size", file.name], file.parent).splitlines()[1].split()[:3])
    return Size(text + data, data + bss)


def _run(command: list[str], folder: Path) -> str:
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    if result.returncode not in (0, 1) or (result.returncode and "qemu" not in command[0]):
        overflow = re.search(r"region `(\w+)'", result.stderr)
        if overflow is not None:
            raise DoesNotFit(f"needs more {'flash' if overflow[1] in ('text', 'flash') else 'RAM'} than there is")
        raise RuntimeError(f"{' '.join(command)} failed:\n{result.stderr}")
    return result.stdout + result.stderr
