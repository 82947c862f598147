"""What the documentation says is what the code does."""

from __future__ import annotations

import re
import runpy
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bemi_lab.cli import main as lab_main
from sklearn.datasets import load_breast_cancer, load_digits

from bemi import ConstantInput, FewBitClassifier
from bemi.cli import main
from bemi.export import onnx

DOCS = Path(__file__).parent.parent / "docs"
PRINTED = runpy.run_path(str(DOCS / "printed.py"))
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def blocks(page: str) -> list[tuple[str, str]]:
    """Kind and content of every code block of a page."""
    return PRINTED["BLOCK"].findall((DOCS / page).read_text())


RUN = ["../README.md", "first-steps.md", "images.md", "tables.md", "signals.md", "checking.md", "proofs.md"]
"""Pages whose code runs as it stands, in one session each."""


def words(text: str) -> str:
    """What a person reads, without numbers, blanks and the lines of tables."""
    return re.sub(r"[\s\u2500-\u257f]+", "", NUMBER.sub("", text))


def numbers(text: str) -> list[float]:
    """All numbers but those of seconds."""
    lasting = re.sub(r"^.*\bseconds\b.*$|[\d.]+ s\b|(?<=\d),(?=\d{3})", "", text, flags=re.MULTILINE)
    return [float(number) for number in NUMBER.findall(lasting)]


@pytest.mark.parametrize("page", RUN)
def test_what_a_page_shows_runs_as_it_stands(page, tmp_path, monkeypatch):
    """``python docs/printed.py`` writes what it prints into the page."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", PRINTED["COLUMNS"])
    for block, printed in PRINTED["outputs"]((DOCS / page).read_text()):
        kind, content = block.groups()
        assert words(content) == words(printed), content
        # Another version of a library may round a weight differently, which changes a few test rows.
        near = {"rel": 0.01} if kind == "text" else {"rel": 0.1, "abs": 5}
        assert numbers(content) == pytest.approx(numbers(printed), **near), content


def digits(*labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Eight images of each label."""
    X, y = load_digits(return_X_y=True)
    chosen = np.concatenate([np.flatnonzero(y == label)[:8] for label in labels])
    return X[chosen], y[chosen]


def fitted(X: np.ndarray, y: np.ndarray) -> FewBitClassifier:
    return FewBitClassifier("table", inputs=ConstantInput(), copies=None, C=1, probabilities=True).fit(X, y)


def pictured() -> dict[str, Any]:
    pytest.importorskip("matplotlib").use("agg")
    X, y = digits(4, 8, 9)
    clf = fitted(X, y)
    return {"clf": clf, "small": clf, "large": clf, "X_new": X, "X_test": X, "y_test": y}


def screened() -> dict[str, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    labels = np.where(y == 1, "healthy", "ill")
    return {"X": X[:60, :3], "y": labels[:60], "X_new": X[60:70, :3]}


def scaled() -> dict[str, Any]:
    X, y = digits(0, 1, 2)
    return {"X": X[y < 2], "y": y[y < 2], "X_new": X[y == 2], "y_new": y[y == 2]}


def exported() -> dict[str, Any]:
    pytest.importorskip("onnxruntime")
    X, y = digits(0, 1)
    onnx.write(classifier := fitted(X, y), "model.onnx")
    return {"classifier": classifier, "X": X}


GIVEN: dict[str, Callable[[], dict[str, Any]]] = {
    "export.md": exported,
    "notebooks.md": pictured,
    "probabilities.md": screened,
    "scaling.md": scaled,
    "scenarios-and-selection.md": dict,
    "unknown.md": screened,
    "signals-device.md": lambda: {"label": 0, "labels": [0, 0, 1, 1, 1], "recordings": [0, 0, 1, 1, 1]},
}
"""Pages that speak of your rows and your classifier, and what these may be."""


@pytest.mark.parametrize("page", GIVEN)
def test_other_code_runs_with_rows_and_classifiers(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = GIVEN[page]()
    for kind, content in blocks(page):
        if kind == "python" and "tcp://" not in content:  # there is no cluster
            exec(compile(content, page, "exec"), names)


def test_every_page_with_python_is_run():
    written = {path.name for path in DOCS.glob("*.md") if "python" in [kind for kind, _ in blocks(path.name)]}
    assert written == {*RUN, *GIVEN} - {"../README.md"}


def test_options_has_the_table_of_parameters():
    """``python docs/parameters.py`` makes it from the declarations."""
    page, made = (DOCS / "options.md").read_text(), runpy.run_path(str(DOCS / "parameters.py"))
    assert made["updated"](page) == page
    assert set(made["ADVICE"]) <= set(made["SETTINGS"])


Main = Callable[[list[str]], int]


def help_of(capsys, program: Main, *command: str) -> str:
    with pytest.raises(SystemExit):
        program([*command, "--help"])
    return capsys.readouterr().out


def commands(capsys, program: Main, *command: str) -> list[tuple[str, ...]]:
    """All commands below this one, as help lists them."""
    listed = re.search(
        r"^positional arguments:\n  (?:command|target)\n((?:    .*\n)+)", help_of(capsys, program, *command), re.M
    )
    if listed is None:
        return [command]
    names = re.findall(r"^    (\w+)", listed.group(1), flags=re.MULTILINE)
    return [found for name in names for found in commands(capsys, program, *command, name)]


def help_texts(text: str) -> dict[str, str]:
    """Long options of a command, and what its help says about them."""
    parts = re.split(r"^  (?:-\w(?: \S+)?, )?(--[\w-]+)", text.split("\noptions:\n")[1], flags=re.MULTILINE)
    about = zip(parts[1::2], parts[2::2], strict=True)
    return {option: " ".join(words.split()) for option, words in about if option != "--help"}


def options(text: str) -> dict[str, list[str]]:
    """Long options of a command, and the defaults that its help names."""
    return {option: re.findall(r"default: ([^),]+)", about) for option, about in help_texts(text).items()}


def described(text: str) -> dict[str, str]:
    """The options in tables of a page, and what is said about them."""
    return dict(re.findall(r"^\| (?:`-\w`, )?`(--[\w-]+)` \|(.*)\|$", text, re.MULTILINE))


@pytest.mark.parametrize(
    ("name", "program", "file"), [("bemi", main, "options.md"), ("bemi-lab", lab_main, "../lab/README.md")]
)
def test_every_command_is_described_with_its_options(name, program, file, capsys, monkeypatch):
    """Options of several commands may stand before the first command, in a table that they share."""
    monkeypatch.setenv("COLUMNS", "200")
    page = (DOCS / file).read_text()
    shared = described(page.split("## Commands")[1].split("\n### ")[0])
    sections = dict(re.findall(rf"^### {name} (.*)\n((?:(?!###).*\n)*)", page, flags=re.MULTILINE))
    every = [command for command in commands(capsys, program) if command != ("bench",)]  # its help is enough
    assert sorted(sections) == sorted(" ".join(command) for command in every)
    for command in every:
        texts = help_texts(help_of(capsys, program, *command))
        assert len({re.sub(r"^[A-Z]+ ", "", words) for words in texts.values()}) == len(texts), "one text each"
        known = options(help_of(capsys, program, *command))
        common = {option: words for option, words in shared.items() if option in known}
        rows = common | described(sections[" ".join(command)])
        assert sorted(rows) == sorted(known), command
        for option, defaults in known.items():
            assert re.findall(r"default: ([^),]+)", rows[option]) == defaults, f"{command} {option}"


GUIDES = sorted(page.name for page in DOCS.glob("*.md") if page.name != "options.md")


@pytest.mark.parametrize("page", ["../README.md", *GUIDES])
def test_commands_of_a_page_have_options_that_exist(page, capsys, monkeypatch):
    """Where a page shows a command without its output; what follows ``|`` or ``#`` is no part of it."""
    monkeypatch.setenv("COLUMNS", "200")
    programs = {"bemi": main, "bemi-lab": lab_main}
    shells = "".join(content.replace("\\\n", " ") for kind, content in blocks(page) if kind in ("sh", "console"))
    for line in re.findall(r"^(?:\$ )?(bemi(?:-lab)? .*)$", shells, flags=re.MULTILINE):
        name, *words = shlex.split(re.split(r"\s[|<>#&]", line)[0])
        known = commands(capsys, programs[name])
        command = next((c for c in known if tuple(words[: len(c)]) == c), ())
        assert command or words[0].startswith("-") or (words[0],) in known, line
        if command:
            accepted = options(help_of(capsys, programs[name], *command))
            given = {word.split("=")[0] for word in words if word.startswith("--")}
            unknown = {option for option in given if not {option, option.replace("--no-", "--")} & set(accepted)}
            assert unknown <= {"--help"}, line


ROOT = DOCS.parent
PAGES = [*ROOT.glob("*.md"), *DOCS.glob("*.md"), *ROOT.glob("lab/*.md"), *ROOT.glob("lab/reports/*.md")]


def without_code(page: Path) -> str:
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Names that GitHub and the site give to the headings of a page."""
    titles = [re.sub(r"[^\w\- ]", "", title).lower() for title in re.findall(r"^#+ (.*)$", without_code(page), re.M)]
    return {title.replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    """Within the repository; the site's own are those of Sphinx, which warns."""
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page)):
        path, _, anchor = link.partition("#")
        if path.startswith("https://"):
            continue
        if path.startswith("gallery/"):
            path = f"../examples/{Path(path).stem}.py"
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor.startswith("bemi.") or anchor in anchors(target), link
