"""Forests and networks that emlearn turns into C, in the shape that the boards run: ``bemi_model.h`` and ``.c``.

emlearn is not needed to import this; ``pip install 'bemi-lab[bench]'`` installs it.
"""

from __future__ import annotations

import contextlib
import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier

from bemi.exact import Integers

HIDDEN = 32
HEADER = """#include <stdint.h>
#define BEMI_INPUTS {inputs}
typedef {kind} bemi_input_t;
int bemi_predict(const bemi_input_t x[BEMI_INPUTS]);
"""
PASSED_ON = """#include "bemi_model.h"
#include "emlearn_model.h"
int bemi_predict(const bemi_input_t x[BEMI_INPUTS])
{
    return (int)model_predict(x, BEMI_INPUTS);
}
"""
CONVERTED = """#include "bemi_model.h"
#include "emlearn_model.h"
int bemi_predict(const bemi_input_t x[BEMI_INPUTS])
{{
    static {kind} features[BEMI_INPUTS];
    int i;
    for (i = 0; i < BEMI_INPUTS; i++)
        features[i] = {feature};
    return (int)model_predict(features, BEMI_INPUTS);
}}
"""


@dataclass(frozen=True)
class Model:
    """A trained model: its name, what it computes with, how its C code is written to a folder, type of its inputs."""

    name: str
    numbers: str
    write: Callable[[Path], None]
    inputs: type[np.integer] = np.uint8


def missing() -> str | None:
    """What has to be installed before any of this works."""
    if find_spec("emlearn") is None:
        return "emlearn"
    return None if shutil.which("cc") else "a C compiler named cc"


def includes() -> list[Path]:
    """Folders with emlearn's headers."""
    import emlearn

    return [Path(emlearn.includedir)]


def forests(X: Integers, y: Integers, trees: int, seed: int) -> Iterator[Model]:
    """A forest on rows of 16-bit integers, in both of emlearn's ways."""
    forest = _forest(X, y, trees, seed)
    for method, write in (("inline", _write_inline), ("loadable", _write_loadable)):
        yield Model(f"forest of {trees}, {method}", "int16", partial(write, forest, inputs=np.int16), np.int16)


def models(X: Integers, y: Integers, trees: tuple[int, ...], seed: int) -> Iterator[Model]:
    """Forests of the given sizes and a network with one hidden layer, trained on rows of bytes."""
    for count in trees:
        forest = _forest(X, y, count, seed)
        yield Model(f"forest of {count}, inline", "uint8", partial(_write_inline, forest))
        # emlearn has no other way for more features than these.
        if X.shape[1] <= 127:
            yield Model(f"forest of {count}, loadable", "int16", partial(_write_loadable, forest))
    largest = int(X.max())
    network = MLPClassifier((HIDDEN,), max_iter=2000, random_state=seed).fit(X / largest, y)
    yield Model(f"network, {HIDDEN} hidden", "float", lambda folder: _write_network(network, largest, folder))


def predictions(folder: Path, rows: Integers, inputs: type[np.integer] = np.uint8) -> NDArray[np.int64]:
    """Class indices from the C code in a folder, compiled for the machine that this runs on."""
    library = folder / "model.so"
    command = ["cc", "-shared", "-fPIC", "-O2", "-I.", *(f"-I{path}" for path in includes())]
    subprocess.run([*command, "bemi_model.c", "-o", library.name, "-lm"], cwd=folder, check=True, capture_output=True)
    predict = ctypes.CDLL(str(library)).bemi_predict
    data = np.ascontiguousarray(rows, dtype=inputs)
    return np.array([predict(ctypes.c_void_p(row.ctypes.data)) for row in data], dtype=np.int64)


def _forest(X: Integers, y: Integers, trees: int, seed: int) -> RandomForestClassifier:
    forest = RandomForestClassifier(trees, random_state=seed).fit(X, y)
    for tree in forest.estimators_:
        # scikit-learn asks x <= 2.5, and emlearn makes x < 2 of it.  From x <= 3 it makes x < 3, which is the same as
        # the first for integers.
        tree.tree_.threshold[:] = np.floor(tree.tree_.threshold) + 1
    return forest


def _write_inline(forest: RandomForestClassifier, folder: Path, inputs: type[np.integer] = np.uint8) -> None:
    import emlearn

    model = emlearn.convert(forest, method="inline", dtype=_c_type(inputs))
    _write(folder, model.save(name="model", include_proba=False), PASSED_ON, forest.n_features_in_, inputs)


def _write_loadable(forest: RandomForestClassifier, folder: Path, inputs: type[np.integer] = np.uint8) -> None:
    import emlearn

    model = emlearn.convert(forest, method="loadable", dtype="int16_t")
    # It takes 16-bit integers.
    adapter = PASSED_ON if inputs is np.int16 else CONVERTED.format(kind="int16_t", feature="x[i]")
    _write(folder, model.save(name="model", include_proba=False), adapter, forest.n_features_in_, inputs)


def _write_network(network: MLPClassifier, largest: int, folder: Path) -> None:
    import emlearn

    # It compiles the network when it is converted, in a folder below the current one.
    with tempfile.TemporaryDirectory() as elsewhere, contextlib.chdir(elsewhere):
        code = emlearn.convert(network, method="loadable").save(name="model")
    adapter = CONVERTED.format(kind="float", feature=f"(float)x[i] * {1 / largest:.9g}f")
    _write(folder, code, adapter, network.n_features_in_, np.uint8)


def _c_type(inputs: type[np.integer]) -> str:
    return f"{np.dtype(inputs).name}_t"


def _write(folder: Path, code: str, adapter: str, features: int, inputs: type[np.integer]) -> None:
    (folder / "emlearn_model.h").write_text(code)
    (folder / "bemi_model.h").write_text(HEADER.format(inputs=features, kind=_c_type(inputs)))
    (folder / "bemi_model.c").write_text(adapter)
