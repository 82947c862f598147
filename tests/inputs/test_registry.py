"""Every transform of the registry keeps the contract, and is found by all its names."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from bemi import ConstantInput, IntegerHog
from bemi.inputs import CTransform, PageScript, Takes, registry
from bemi.inputs.export_hooks import SHARED_NAMES, export_hook
from bemi.inputs.registry import TRANSFORMS, by_name, by_short_name, describe, from_parameters, make, short_names

ROWS = np.random.default_rng(0).integers(0, 17, (30, 64))


def test_names():
    assert list(by_name()) == ["integer-hog", "constant-input", "table-bits", "signal-counts"]
    assert short_names() == ("hog", "constant", "bits", "signal", "none")
    assert by_short_name("hog") is IntegerHog
    assert by_short_name("constant") is ConstantInput
    assert by_short_name("none") is None
    with pytest.raises(
        ValueError, match=r"^transform must be one of hog, constant, bits, signal, none, got 'wavelets'$"
    ):
        by_short_name("wavelets")
    known = "integer-hog, constant-input, table-bits, signal-counts"
    with pytest.raises(ValueError, match=rf"^transform must be one of {known}, got None$"):
        from_parameters({})


def test_transforms_by_their_short_name():
    assert make("hog", image_shape=(4, 16)).shape == (4, 16)
    assert make("hog").shape is None
    assert make("constant", image_shape=(4, 16)).level is None
    assert make("none") is None
    assert [registry.takes_images(t) for t in (IntegerHog, IntegerHog(), ConstantInput, None)] == [1, 1, 0, 0]


def test_words():
    assert [describe(make(name)) for name in short_names()] == [
        "gradient histograms",
        "features and a constant input",
        "bits at up to 8 thresholds per column, categories and missing cells as bits, and a constant input",
        "counts of levels, differences and kernels",
        "features as they are",
    ]
    titles = ["HOG", "constant input", "bits of a table", "counts of a signal"]
    assert [by_short_name(name).TITLE for name in TRANSFORMS] == titles


@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_contract(name):
    kind = by_short_name(name)
    transform = kind().fit(ROWS)
    assert kind.takes in Takes
    assert transform.n_features_in_ == 64
    outputs = transform.transform(ROWS)
    assert outputs.dtype == np.int64
    assert outputs.shape == (30, transform.n_outputs)
    low, high = transform.output_bounds(0, 16)
    assert (low <= outputs).all()
    assert (outputs <= high).all()
    if kind.takes is Takes.SCALED_INTEGERS:
        assert transform.input_range[0] <= 0
        assert transform.input_range[1] >= 16
    else:
        readings = transform.fixed_point_inputs(ROWS)
        assert transform.reading_range[0] <= readings.min()
        assert readings.max() <= transform.reading_range[1]
        assert len(transform.reading_units()) == 64
        assert np.array_equal(transform.from_fixed_point_inputs(readings), outputs)
    again = from_parameters(json.loads(json.dumps(transform.parameters())))
    assert np.array_equal(again.transform(ROWS), outputs)
    if getattr(kind, "keeps_features", False):
        assert np.array_equal(outputs[:, :64], ROWS)
    if registry.takes_images(kind):
        assert transform.image_shape == (8, 8, 1)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_hooks_for_exports(name):
    # With everything that it can compute, so that no code is left out.
    options = {"values": True, "similarities": 5, "rules": 3} if name == "bits" else {}
    above = np.median(ROWS, axis=0) < ROWS
    transform = by_short_name(name)(**options).fit(ROWS, above[:, 0] & above[:, 1])  # what takes a rule
    chosen = [range(transform.n_outputs)] if getattr(transform, "selects_outputs", False) else []
    code = export_hook(transform, "c_code", "C")(0, 255, *chosen)
    macros = {macro.split("(")[0] for macro in code.macros}
    tables = (transform.c_window(False, True) if hasattr(transform, "c_window") else code).tables
    assert isinstance(code, CTransform)
    assert f"static void {code.function}(const bemi_input_t *x, bemi_value_t *z)" in code.source
    assert all(macro in code.source for macro in macros)
    assert all(table.name in code.source for table in tables)
    own = {
        *macros,
        *(table.name for table in tables),
        *re.findall(r"^(?:static|BEMI_APART) .*?(\w+)\(", code.source, re.M),
        *re.findall(r"^#define (\w+)", code.source, re.M),
        *re.findall(r"^} (\w+);", code.source, re.M),
        *re.findall(r"^static const \w+ (\w+) =", code.source, re.M),
    }
    assert set(re.findall(r"\bbemi_\w+|\bBEMI_\w+", code.source)) <= own | set(SHARED_NAMES)
    shown = export_hook(transform, "page_script", "a page")()
    assert isinstance(shown, PageScript)
    assert f'TRANSFORMS["{transform.NAME}"] = {{' in shown.script
    json.dumps(shown.data)
    assert callable(export_hook(transform, "onnx", "ONNX"))


def test_naming_transforms_imports_nothing():
    code = "import sys, bemi.inputs.registry; sys.exit(bool({'bemi.export', 'numpy', 'sklearn'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
