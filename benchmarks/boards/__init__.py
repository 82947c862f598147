"""Exported C on emulated devices: build it, run it on rows, get the predictions and what they cost.

Toolchains and emulators are Debian packages: ``gcc-arm-none-eabi``, ``libnewlib-arm-none-eabi``, ``qemu-system-arm``;
``gcc-riscv64-unknown-elf``, ``qemu-system-misc``; ``gcc-avr``, ``avr-libc``, ``simavr``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

HERE = Path(__file__).parent
ARM = ("-mcpu=cortex-m3", "-mthumb", "-nostartfiles", "-nostdlib", "-lgcc")
RISCV = ("-march=rv32imac_zicsr", "-mabi=ilp32", "-nostartfiles", "-nostdlib", "-ffreestanding", "-lgcc")
QEMU = ("-nographic", "-semihosting-config", "enable=on,target=native", "-icount", "shift=0")


@dataclass(frozen=True)
class Board:
    """A device, how programs for it are built, and how they are run.

    Attributes
    ----------
    name
        Folder of its ``board.h``.
    compiler, flags
        To build with; the sources of the board come after the program's.
    sources
        Sources of the board and its linker script.
    emulator
        Command before the name of the program.
    flash, ram
        Bytes that the real device has, None where the emulator has plenty.
    """

    name: str
    compiler: str
    flags: tuple[str, ...]
    sources: tuple[str, ...]
    emulator: tuple[str, ...]
    flash: int | None = None
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
    """Predictions on a board, and instructions of each (0 where the board cannot count)."""

    predictions: NDArray[np.int64]
    instructions: NDArray[np.int64]


@dataclass(frozen=True)
class Size:
    """Flash and static RAM of an object file, and the names that it leaves for others to define."""

    flash: int
    ram: int
    undefined: tuple[str, ...] = field(default=())


def size(board: Board, folder: Path, optimize: str = "-Os") -> Size:
    """Compile ``bemi_model.c`` in a folder for a board, and tell what it takes."""
    flags = [flag for flag in board.flags if flag.startswith(("-m", "-f"))]
    _run([board.compiler, *flags, "-std=c99", optimize, "-c", "bemi_model.c", "-o", "model.o"], folder)
    text, data, bss = map(int, _run([f"{board.prefix}size", "model.o"], folder).splitlines()[1].split()[:3])
    return Size(text + data, data + bss, tuple(_run([f"{board.prefix}nm", "-u", "model.o"], folder).split()[1::2]))


def run(board: Board, folder: Path, rows: ArrayLike, optimize: str = "-Os", defines: tuple[str, ...] = ()) -> Run:
    """Build the export in a folder with rows, and run it on the board."""
    rows = np.asarray(rows)
    flash = "BOARD_FLASH" if board.name == "atmega328p" else ""
    values = ",".join(map(str, rows.reshape(-1).tolist()))
    text = f"#define ROWS {len(rows)}L\nstatic const bemi_input_t rows[] {flash} = {{{values}}};\n"
    (folder / "rows.h").write_text(text)
    here = HERE / board.name
    sources = [str(HERE / "driver.c"), *(str(here / name) for name in board.sources)]
    flags = [str(here / flag) if flag == "link.ld" else flag for flag in board.flags]
    libraries = [flag for flag in flags if flag.startswith("-l")]
    flags = [flag for flag in flags if not flag.startswith("-l")]
    command = [board.compiler, "-std=gnu99", optimize, *(f"-D{name}" for name in defines), "-I.", f"-I{here}", *flags]
    _run([*command, "bemi_model.c", *sources, *libraries, "-o", "program.elf"], folder)
    printed = _run([*board.emulator, "program.elf"], folder)
    # Semihosting prints to standard error, simavr colours its lines and ends them with dots.
    pairs = re.findall(r"(-?\d+) (\d+)\.*\s*(?:\x1b\[0m)?$", printed, flags=re.MULTILINE)
    if len(pairs) != len(rows):
        raise RuntimeError(f"{len(pairs)} of {len(rows)} rows were answered:\n{printed[-500:]}")
    numbers = np.array(pairs, dtype=np.int64)
    return Run(numbers[:, 0], numbers[:, 1])


def _run(command: list[str], folder: Path) -> str:
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    if result.returncode not in (0, 1) or (result.returncode and "qemu" not in command[0]):
        raise RuntimeError(f"{' '.join(command)} failed:\n{result.stderr}")
    return result.stdout + result.stderr
