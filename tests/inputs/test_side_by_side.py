"""Pieces of transforms can stand side by side: nothing in them claims a name, a tensor or a script for itself."""

import json
import re
import subprocess

import numpy as np
import pytest
from browsers import needs_node
from compiled_c import needs_gcc

from bemi import ConstantInput, IntegerHog, SignalCounts, TableBits
from bemi.inputs.export_hooks import SHARED_NAMES

ROWS = np.random.default_rng(0).integers(0, 17, (20, 64))
PARTS = (IntegerHog(orientations=8), ConstantInput(level=9), IntegerHog(straighten=False))
READERS = (TableBits(thresholds=2), TableBits(thresholds=3, values=True), SignalCounts(channels=2, rocket=84))

PROGRAM = """
#include <stdint.h>
#include <stdio.h>
#define BEMI_INPUTS 64
#define BEMI_READ8(place) (place)
#define BEMI_READ16(place) (place)
#define BEMI_READ32(place) (place)
typedef uint8_t bemi_input_t;
typedef int16_t bemi_value_t;
%s
int main(void)
{
    static bemi_input_t x[BEMI_INPUTS];
    static bemi_value_t z[%d];
    while (fread(x, sizeof x, 1, stdin) == 1) {
        %s
        fwrite(z, sizeof z, 1, stdout);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def fitted():
    return [part.fit(ROWS) for part in (*PARTS, *READERS)]


def expected(fitted):
    return np.concatenate([part.transform(ROWS) for part in fitted], axis=1)


def prefixed(text, prefix):
    """C with all of its own names under a prefix."""

    def renamed(found):
        name = found[0]
        return name if name in SHARED_NAMES else f"{name[:5]}{prefix}_{name[5:]}"

    return re.sub(r"\b(bemi|BEMI)_\w+", renamed, text)


@needs_gcc
def test_in_c(fitted, tmp_path):
    sources, calls, place = [], [], 0
    for prefix, part in zip("abcdef", fitted, strict=True):
        code = part.c_code(0, 255)
        text = "".join(f"#define {name} {value}\n" for name, value in code.macros.items())
        for table in code.tables:
            text += f"static const {table.kind} {table.name}[] = {{{', '.join(map(str, table.values))}}};\n"
        sources.append(prefixed(text + code.source, prefix))
        calls.append(f"{prefixed(code.function, prefix)}(x, z + {place});")
        place += part.n_outputs
    (tmp_path / "main.c").write_text(PROGRAM % ("\n".join(sources), place, " ".join(calls)))
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "main.c", "-o", "program"]
    subprocess.run(command, cwd=tmp_path, check=True)
    given = subprocess.run(
        [tmp_path / "program"], input=ROWS.astype(np.uint8).tobytes(), capture_output=True, check=True
    )
    assert np.array_equal(np.frombuffer(given.stdout, dtype=np.int16).reshape(len(ROWS), place), expected(fitted))


def test_in_onnx(fitted):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    from bemi.export.onnx.graph import Graph

    graph = Graph()
    x = graph.input("x", np.int32, ("N", 64))
    first, *others = [part.onnx(x) for part in fitted]
    made = graph.model({"z": (first.concatenated(*others, axis=1), ("N", None))})
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    assert np.array_equal(session.run(None, {"x": ROWS.astype(np.int32)})[0], expected(fitted))


@needs_node
def test_in_javascript(fitted):
    fitted = fitted[: len(PARTS)]
    made = [part.page_script() for part in fitted]
    scripts = "".join({page.script: None for page in made})
    data = json.dumps([[part.NAME, page.data] for part, page in zip(fitted, made, strict=True)])
    program = f"""(() => {{
    "use strict";
    const TRANSFORMS = {{}};
    {scripts}
    const parts = {data};
    const all = (row) => parts.flatMap(([name, data]) => TRANSFORMS[name].inputs(row, data));
    console.log(JSON.stringify({ROWS.tolist()}.map(all)));
    }})();"""
    printed = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True).stdout
    assert np.array_equal(json.loads(printed), expected(fitted))
