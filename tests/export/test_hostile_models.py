"""Labels and names from a stranger's model file stay text in everything that is exported."""

from __future__ import annotations

import json
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import onnx
import pandas as pd
import pytest
from compiled_c import EXAMPLE, SANITIZED, compiled, needs_gcc
from forgery import forged, opened
from simulated_verilog import in_icarus, needs, warnings
from soft_margins import soft_margins

import bemi
from bemi import BeMiClassifier, TableBits
from bemi.export.c import write
from bemi.export.onnx import model as onnx_model
from bemi.export.page import page
from bemi.export.verilog import write as write_verilog

HOSTILE = (
    '"); system("echo owned"); //',
    "*/ int main(void) { return 7; } /*",
    "/*/",
    "ends with a backslash \\",
    "a trigraph ??/",
    "??/\n*/ #error",
    "line one\nline two\r\u2028three\u2029",
    "%s%n%d %99999999d",
    "$title ${script} $$",
    "</script><script>alert(1)</script><!--",
    "<img src=x onerror=alert(1)>",
    "]]> &lt; &#x41; {{ x }}",
    "\u202e right to left, \U0001f600, caf\u00e9, \x7f\x1b[2K",
    "#include </etc/passwd>",
    "x[0] /* \\u000a",
    "' OR 1=1; `ls` $(ls)",
    "synopsys translate_off",
    "verilator lint_off WIDTH",
    '`include "/etc/passwd"',
    "\n$finish; endmodule\nmodule bemi_model;",
)
LABELS = sorted(HOSTILE[:6])
NAMES = list(HOSTILE[6:14])
ROWS = np.array([[9 if j == k else j % 3 for j in range(8)] for k in range(6)] * 2)


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    """A model that a stranger wrote: trained under plain names, which were then replaced in its file."""
    folder = tmp_path_factory.mktemp("hostile")
    plain = pd.DataFrame(ROWS, columns=list("abcdefgh"))
    classifier = soft_margins(node_limit=1, time_limit=None, weight_bound=3)
    bemi.save(classifier.fit(plain, list("uvwxyz") * 2), folder / "plain.bemi")
    header, weights, claims = opened(folder / "plain.bemi")
    header |= {"classes": LABELS, "classes_dtype": "|O", "feature_names": NAMES}
    return forged(folder / "m.bemi", header, weights, claims)


@pytest.fixture(scope="module")
def model(file) -> BeMiClassifier:
    return bemi.load(file)


def rows() -> pd.DataFrame:
    return pd.DataFrame(ROWS, columns=NAMES)


@needs_gcc
@pytest.mark.parametrize("flags", [("-O2",), SANITIZED, ("-std=c11", "-Wtrigraphs", "-Wcomment", "-Wformat=2")])
def test_c_compiles_without_a_warning_and_prints_the_labels(model, tmp_path, flags):
    write(model, tmp_path)
    program = compiled(tmp_path, *flags, main=EXAMPLE)
    text = "\n".join(" ".join(map(str, row)) for row in ROWS)
    printed = subprocess.run([program], input=text.encode(), capture_output=True, check=True).stdout
    assert printed == b"".join(f"{label}\n".encode() for label in model.predict(rows()))
    for path in tmp_path.rglob("*.[ch]"):
        assert path.read_bytes().isascii()


@needs("iverilog")
@needs("verilator")
def test_verilog_is_the_same_but_for_comments(file, tmp_path):
    header, weights, claims = opened(file)
    classes = sorted([*HOSTILE[-4:], *LABELS[:2]])
    made = bemi.load(forged(tmp_path / "v.bemi", header | {"classes": classes}, weights, claims))
    write_verilog(made, tmp_path, vectors=20)
    assert [run.differences for run in in_icarus(tmp_path)] == [0, 0]
    assert warnings(tmp_path) == ""
    text = (tmp_path / "bemi_model.v").read_text(encoding="ascii")
    code = [line for line in text.splitlines() if not line.lstrip().startswith("//")]
    plain = bemi.load(forged(tmp_path / "p.bemi", header | {"classes": list("uvwxyz")}, weights, claims))
    usual = write_verilog(plain, tmp_path, vectors=20).files["bemi_model.v"].splitlines()
    assert code == [line for line in usual if not line.lstrip().startswith("//")]
    assert not any(re.match(r"//\s*(synopsys|synthesis|pragma|verilator|altera)", line) for line in text.splitlines())


TABLE_NAMES = (
    *("endmodule", "module", "`define x", "(* keep *) reg", "caf\u00e9", "caf\u00fc", "", "\\"),
    *("/* verilator lint_off */ //", "x" * 100_000),
    *("// Measured by Yosys 1, iCE40: 0 lookup tables", "\n// Estimated for an iCE40: nothing"),
)


def hostile_table(texts) -> BeMiClassifier:
    """A classifier of a table whose columns, levels and labels are these texts, in this order."""
    rng = np.random.default_rng(0)
    numbers = {f"n{place}" if name == "" else name: rng.integers(0, 9, 48) for place, name in enumerate(texts)}
    table = pd.DataFrame(numbers | {"levels": np.array(texts, dtype=object)[np.arange(48) % len(texts)]})
    labels = np.array(texts[:4], dtype=object)[np.arange(48) % 4]
    transform = TableBits(thresholds=2)
    return soft_margins(node_limit=1, time_limit=None, inputs=transform).fit(table, labels)


@needs("iverilog")
@needs("verilator")
def test_verilog_of_a_table_is_the_same_but_for_comments(tmp_path):
    texts = sorted(TABLE_NAMES)
    write_verilog(hostile_table(texts), tmp_path, vectors=20)
    assert [run.differences for run in in_icarus(tmp_path)] == [0, 0]
    assert warnings(tmp_path) == ""
    lines = (tmp_path / "bemi_model.v").read_text(encoding="ascii").splitlines()
    plain = write_verilog(hostile_table([f"t{place:02}" for place in range(len(texts))]), tmp_path, vectors=20)
    code = [line for line in plain.files["bemi_model.v"].splitlines() if not line.startswith("//")]
    assert [line for line in lines if not line.startswith("//")] == code
    assert sum(bool(re.match("// (Measured|Estimated)", line)) for line in lines) == 2, "only its own"


class Reader(HTMLParser):
    """Elements of a page, and the content of its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.handlers += [name for name, _ in attributes if name.startswith("on")]
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.tags and self.tags[-1] == "script":
            self.scripts[-1] += data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


def test_a_page_has_the_elements_of_any_other(model):
    plain = soft_margins(node_limit=1, time_limit=None, weight_bound=3)
    usual = read(page(plain.fit(pd.DataFrame(ROWS, columns=list("abcdefgh")), list("uvwxyz") * 2), title="a"))
    hostile = read(page(model, title=HOSTILE[9]))
    assert hostile.tags == usual.tags
    assert hostile.handlers == usual.handlers == []
    assert len(hostile.scripts) == len(usual.scripts) == 2
    found = [json.loads(script) for script in hostile.scripts if script.lstrip().startswith("{")]
    assert len(found) == 1
    text = json.dumps(found)
    assert all(json.dumps(label) in text for label in LABELS)
    assert hostile.scripts[-1] == usual.scripts[-1], "no program depends on the model"


def test_onnx_is_well_formed_and_its_names_are_its_own(model):
    made = onnx_model(model)
    onnx.checker.check_model(made, full_check=True)
    names = {name for node in made.graph.node for name in (*node.input, *node.output, node.name)}
    names |= {value.name for value in (*made.graph.input, *made.graph.output, *made.graph.initializer)}
    assert all(name.isascii() and name.replace("_", "").isalnum() for name in names if name), names
    metadata = {entry.key: json.loads(entry.value) for entry in made.metadata_props}
    assert LABELS in metadata.values()


@pytest.mark.parametrize("text", ["\ud800", "x" * 20_000])
def test_text_that_no_export_could_write_is_not_loaded(file, tmp_path, text):
    header, weights, claims = opened(file)
    for change in ({"classes": sorted([text, *LABELS[1:]])}, {"feature_names": [text, *NAMES[1:]]}):
        with pytest.raises(ValueError, match="damaged"):
            bemi.load(forged(tmp_path / "f.bemi", header | change, weights, claims))
