"""The transform in C by itself, compiled for this machine, against Python: every output, not only labels."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from compiled_c import SANITIZED, STRICT, needs_gcc

from bemi import IntegerHog
from bemi.export.c.text import Tables

HEAD = """#include <stdint.h>
#include <stdio.h>
#define BEMI_TABLE static const
#define BEMI_READ8(place) (place)
typedef uint8_t bemi_value_t;
"""
MAIN = """
int main(void)
{
    static bemi_input_t x[INPUTS];
    static bemi_value_t z[OUTPUTS];
    while (fread(x, sizeof x, 1, stdin) == 1) {
        bemi_transform(x, z);
        fwrite(z, sizeof z, 1, stdout);
    }
    return 0;
}
"""


def images(rng, shape, maximum):
    """Noise, strokes on black, single pixels, corners, nothing, everything."""
    height, width = shape[:2]
    r, c = np.mgrid[:height, :width]
    found = [rng.integers(0, maximum + 1, shape) for _ in range(3)]
    for slope in (-1.5, -0.3, 0.2, 0.9):
        line = abs(c - width / 2 - slope * (r - height / 2)) < 1.5
        found.append(line[:, :, None] * rng.integers(0, maximum + 1, shape))
    for place in ((0, 0), (0, -1), (-1, 0), (-1, -1), (height // 2, width // 3)):
        single = np.zeros(shape, dtype=np.int64)
        single[place] = maximum
        found.append(single)
    found += [np.zeros(shape, dtype=np.int64), np.full(shape, maximum)]
    return np.array(found).reshape(len(found), -1)


@needs_gcc
@pytest.mark.parametrize(
    ("shape", "maximum", "orientations", "straighten"),
    [
        ((28, 28, 1), 255, 16, True),
        ((8, 8, 1), 16, 16, True),
        ((17, 21, 3), 255, 12, True),
        ((18, 30, 1), 255, 8, False),
        ((9, 7, 2), 100, 16, False),
        ((3, 300, 1), 4095, 12, True),
    ],
)
def test_all_outputs_are_those_of_python(shape, maximum, orientations, straighten, tmp_path):
    rows = images(np.random.default_rng(0), shape, maximum)
    hog = IntegerHog(shape, maximum, orientations, straighten).fit(rows)
    kind = "uint8_t" if maximum < 256 else "uint16_t"
    code, tables = hog.c_code(0, 255 if maximum < 256 else 65535), Tables()
    tables.add_all(code)
    sizes = {"INPUTS": rows.shape[1], "OUTPUTS": hog.n_outputs}
    defined = [f"#define {name} {value}\n" for name, value in {**code.macros, **sizes}.items()]
    parts = [HEAD, f"typedef {kind} bemi_input_t;\n", *defined, *tables.text, code.source, MAIN]
    (tmp_path / "hog.c").write_text("".join(parts))
    subprocess.run(["gcc", *STRICT, "-Wconversion", *SANITIZED, "hog.c", "-o", "hog"], cwd=tmp_path, check=True)
    given = rows.astype(kind.removesuffix("_t")).tobytes()
    printed = subprocess.run([tmp_path / "hog"], input=given, capture_output=True, check=True).stdout
    found = np.frombuffer(printed, dtype=np.uint8).reshape(len(rows), -1)
    assert np.array_equal(found, hog.transform(rows))
