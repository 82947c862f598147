"""How Sphinx builds the site: the pages of this folder, the API from docstrings, and the gallery from ``examples/``."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from docutils import nodes
from latex2mathml.converter import convert
from sphinx.domains.python import PyObject

import bemi
from bemi.export import page

project = html_title = "bemi"
version = release = bemi.__version__
extensions = ["myst_parser", "sphinx_gallery.gen_gallery"]
extensions += ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
exclude_patterns = ["sg_execution_times.rst", "gallery/sg_execution_times.rst", "templates"]

# Headings that other pages may link to.
myst_heading_anchors = 4

# Formulas become MathML when the site is built; browsers show it without a script or a font from the network.
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"

autodoc_default_options = {"members": True}
templates_path = ["templates"]
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Floats", "Indices", "Integers")}
python_use_unqualified_type_names = True
maximum_signature_line_length = 60
toc_object_entries_show_parents = "hide"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_attr_annotations = False  # they are in the signature
for field in PyObject.doc_field_types:
    if field.name == "variable":
        field.label = "Attributes"

# Pages open from disk, search included, and fetch nothing from the network.
html_theme = "pydata_sphinx_theme"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_use_index = html_domain_indices = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "external_links": [{"name": "Paper", "url": "https://doi.org/10.1287/ijoc.2023.0281"}],
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_end": [],
}
html_sidebars = {name: [] for name in ("index", "install", "first-steps", "idea")}

# The laboratory's reports are pages of the site; links to them work in the repository, too.
REPORTS = Path(__file__).parent.parent / "lab" / "reports"
shutil.copytree(REPORTS, Path(__file__).parent / "reports", dirs_exist_ok=True)

# A page to draw on, which the home page links to.
LIVE = Path(__file__).parent / "live"
live = bemi.load(LIVE / "mnist.bemi")
with np.load(LIVE / "mnist.npz") as rows:
    test = page.TestData(rows["test_X"], rows["test_y"], about="test images of MNIST, drawn at random")
    training = page.TrainingData(
        live.ensemble_.inputs.of(rows["train_X"]), live.ensemble_.class_indices(rows["train_y"])
    )
title = "MNIST, 100 training images per digit"
page.write(live, LIVE / "live.html", title=title, test=test, training=training, samples=100)
html_extra_path = ["live/live.html"]

GALLERY = {
    "digits": "All test digits that the classifier got wrong, each with its answer and the right one",
    "scorecard": "Share of malignant tumours by the total of points, close to the card's probabilities",
    "gestures": "Three axes of a wrist sensor; below, the true gesture, the label of each window, smoothed labels",
    "certificate": "How many networks have each sum of margins; beyond the bound there is none, as proved",
    "paper_figure": "Accuracy by training images, nearly the same for four weight bounds; shares of the weights",
    "device": "Bars of the flash that three models need, far below that of three common microcontrollers",
    "grid_search": "Cross-validated accuracy by weight bound and number of columns, best with all columns",
    "add_class": "First-layer weights of every pair of digits as small images; those of the new class are framed",
    "dask": "Two workers as rows of blocks over time, one block per network, with hardly a gap",
    "other_classifiers": "Accuracy and size in kilobytes by training rows, of bemi and of other classifiers",
}
"""The examples in the order in which the gallery shows them, and what there is to see in their pictures."""


def place(path: str) -> int:
    """Where an example stands in the gallery."""
    return list(GALLERY).index(Path(path).stem.removeprefix("plot_"))


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "ignore_pattern": r"(^|/)digits\.py$",  # a demo for the terminal
    "within_subsection_order": place,
    "copyfile_regex": "",
    "image_srcset": ["2x"],
    "thumbnail_size": (560, 392),
    "min_reported_time": 1,
    "show_signature": False,
}
# A function among the settings of the gallery only means that they are read anew each time.
suppress_warnings = ["config.cache"]


def adapt_links(app: Any, page: str, source: list[str]) -> None:
    """Links that work in the repository, to reports and to functions (``api.md#bemi.load``), work on the site, too."""
    source[0] = source[0].replace("](../lab/reports/", "](reports/")
    source[0] = re.sub(r"\]\(api(-inside)?\.md#bemi", "](#bemi", source[0])


def describe_pictures(app: Any, page: str, source: list[str]) -> None:
    """The gallery names pictures by their script; say what they show."""
    if page.startswith("gallery/plot_"):
        shown = GALLERY[page.removeprefix("gallery/plot_")]
        source[0] = re.sub(r"^(\s+:alt:) .*$", rf"\1 {shown}", source[0], flags=re.MULTILINE)


def name_first_columns(app: Any, doctree: nodes.document) -> None:
    """Give a heading without words, above the names of rows, a word for those who hear the page."""
    for head in doctree.findall(nodes.thead):
        for entry in head.findall(nodes.entry):
            if not entry.astext():
                entry += nodes.paragraph("", "", nodes.inline("", "row", classes=["visually-hidden"]))


def shorten_signature(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> Any:
    """Call an alias in a union by its name, where Sphinx shows the object that stands for it; leave out private fields
    and defaults that cannot be written down, which Sphinx cannot lay out."""
    shorter = [text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text) for text in (signature, returns)]
    if shorter[0]:
        without_private = re.sub(r", _\w+: [^=]*= <factory>", "", shorter[0])
        shorter[0] = re.sub(r"= TieRule\(.*?\.\"\)", "= ...", without_private)
    return shorter


def escape_attributes(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """``choice_`` among attributes is a name, not a reference."""
    lines[:] = [re.sub(r"_(?=[,:])", r"\\_", line) if line.startswith(":ivar ") else line for line in lines]


def list_parameters(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """A signature of several lines, which Sphinx writes as descriptions of nothing."""
    context["body"] = re.sub(
        r"<dl>\s*((?:<dd>(?:(?!</?d[ltd]>).)*</dd>\s*)+)</dl>",
        lambda match: '<span class="parameters">' + re.sub("<(/?)dd>", r"<\1span>", match[1]) + "</span>",
        context.get("body", ""),
        flags=re.DOTALL,
    )


def inline_formula(writer: Any, node: nodes.math) -> None:
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def displayed_formula(writer: Any, node: nodes.math_block) -> None:
    r"""A formula with its number in the paper, if it ends in ``\tag{2a}``."""
    formula, number = re.fullmatch(r"(.*?)(?:\\tag\{(\w+)\})?\s*", node.astext(), flags=re.DOTALL).groups()
    tag = f'<span class="eqno">({number})</span>' if number else ""
    # Where a box of this class scrolls, the theme lets keys scroll it, too.
    box = f'<div class="pst-scrollable-table-container">{convert(formula, display="block")}</div>'
    writer.body.append(f'<div class="formula">{box}{tag}</div>\n')
    raise nodes.SkipNode


def name_controls(app: Any, exception: Exception | None) -> None:
    """The theme's arrows, which open a part of the side bar, and its search button: names that say what is seen."""
    for file in Path(app.outdir).rglob("*.html"):
        text = file.read_text()
        named = text.replace("<summary><span", '<summary aria-label="Pages below"><span')
        named = re.sub(r'(<button [^>]*search-button-field[^>]*aria-label="Search)"', r'\1 Ctrl+K"', named)
        if named != text:
            file.write_text(named)


def setup(app: Any) -> None:
    app.add_html_math_renderer("mathml", (inline_formula, None), (displayed_formula, None))
    app.connect("source-read", adapt_links)
    app.connect("source-read", describe_pictures)
    app.connect("doctree-read", name_first_columns)
    app.connect("html-page-context", list_parameters)
    app.connect("build-finished", name_controls)
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("autodoc-process-docstring", escape_attributes, priority=600)  # after napoleon
