"""Compiles exported C for this machine and runs it."""

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest
from bemi_lab.benchmarks.boards import BOARDS

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
SANITIZED = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Werror")

HOST = """
#include <stdio.h>
#include "bemi_model.h"
int main(void)
{
    static bemi_input_t x[BEMI_INPUTS];
    while (fread(x, sizeof x, 1, stdin) == 1)
        printf("%d\\n", bemi_predict(x));
    return 0;
}
"""
SCALING_HOST = """
#include <stdio.h>
#include "bemi_model.h"
int main(void)
{
    static int32_t reading[BEMI_INPUTS];
    static bemi_input_t x[BEMI_INPUTS];
    while (fread(reading, sizeof reading, 1, stdin) == 1) {
        bemi_scale(reading, x);
        printf("%d\\n", bemi_predict(x));
    }
    return 0;
}
"""
HOST_OF_PROBABILITIES = """
#include <stdio.h>
#include "bemi_model.h"
int main(void)
{
    static bemi_input_t x[BEMI_INPUTS];
    uint16_t p[BEMI_CLASSES];
    int a;
    while (fread(x, sizeof x, 1, stdin) == 1) {
        printf("%d", bemi_predict_proba(x, p));
        for (a = 0; a < BEMI_CLASSES; a++)
            printf(" %u", (unsigned)p[a]);
        puts("");
    }
    return 0;
}
"""


EXAMPLE = "example/main.c"


def compiled(folder, *flags, host=HOST, main="host.c"):
    """The program of an export with a ``main`` that reads rows of bytes and prints class indices."""
    (folder / "host.c").write_text(host)
    command = ["gcc", *STRICT, *flags, "-I.", "bemi_model.c", main, "-o", "host"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "host"


def answers(program, rows, kind):
    """Class indices that the program prints for rows of a type."""
    bytes_in = np.ascontiguousarray(rows).astype(np.dtype(kind.removesuffix("_t"))).tobytes()
    printed = subprocess.run(program, input=bytes_in, capture_output=True, check=True).stdout
    return np.array(printed.split(), dtype=np.int64)


def board(name):
    """A parameter of a test that is skipped where the board's tools are missing."""
    return pytest.param(
        BOARDS[name],
        marks=pytest.mark.skipif(not BOARDS[name].installed, reason=f"no toolchain or emulator for {name}"),
        id=name,
    )


def stack_used(device, folder):
    """Bytes of stack of the deepest chain of calls, as the compiler knows it."""
    flags = [flag for flag in device.flags if flag.startswith("-m")]
    command = [device.compiler, *flags, "-Os", "-fcallgraph-info=su", "-c", "bemi_model.c"]
    subprocess.run(command, cwd=folder, check=True)
    text = (folder / "bemi_model.ci").read_text()
    frames = {
        name: int(size) for name, size in re.findall(r'node: { title: "(.*?)" label: ".*?(\d+) bytes \(static\)', text)
    }
    assert "bemi_predict" in frames
    calls = re.findall(r'edge: { sourcename: "(.*?)" targetname: "(.*?)"', text)

    def depth(name):
        return frames.get(name, 0) + max((depth(called) for caller, called in calls if caller == name), default=0)

    return max(map(depth, frames))


LIBRARY = """
#include <stdint.h>
#define BEMI_READ8(place) (place)
#define BEMI_READ16(place) (place)
#define BEMI_READ32(place) (place)
typedef int32_t bemi_input_t;
typedef int32_t bemi_value_t;
typedef int32_t bemi_sum_t;
"""


def library(folder, code, function):
    """A piece of C alone as a library, with a ``function`` of the test around it."""
    text = LIBRARY + "".join(f"#define {name} {value}\n" for name, value in code.macros.items())
    for table in code.tables:
        text += f"static const {table.kind} {table.name}[] = {{{', '.join(map(str, table.values))}}};\n"
    # Every library has its own name, since loaded ones are remembered by name.
    source = folder / f"piece{len(list(folder.iterdir()))}.c"
    source.write_text(f"{text}{code.source}\n{function}")
    command = ["gcc", *STRICT, "-O2", "-shared", "-fPIC", source.name, "-o", source.with_suffix(".so").name]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(source.with_suffix(".so")))


def on_rows(function, rows, outputs):
    """What ``void function(const int32_t *x, int32_t *z)`` gives for each row."""
    rows = np.ascontiguousarray(rows, dtype=np.int32)
    found = np.empty((len(rows), outputs), dtype=np.int32)
    for row, z in zip(rows, found, strict=True):
        function(ctypes.c_void_p(row.ctypes.data), ctypes.c_void_p(z.ctypes.data))
    return found
