"""What the documentation says is what the code does."""

from __future__ import annotations

import re
import runpy
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from bemi_lab.cli import main as lab_main

from bemi.cli import main

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


@pytest.mark.parametrize("page", RUN)
def test_what_a_page_shows_runs_as_it_stands(page, tmp_path, monkeypatch):
    """``python docs/printed.py`` writes what it prints into the page."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", PRINTED["COLUMNS"])
    for block, printed in PRINTED["outputs"]((DOCS / page).read_text()):
        kind, content = block.groups()
        assert words(content) == words(printed), content
        if kind == "text":  # the numbers of commands are seconds too
            # Another version of a library may round a weight differently, which changes a few test rows.
            assert [float(n) for n in NUMBER.findall(content)] == pytest.approx(
                [float(n) for n in NUMBER.findall(printed)], rel=0.1
            )


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


def options(text: str) -> dict[str, list[str]]:
    """Long options of a command, and the defaults that its help names."""
    parts = re.split(r"^  (?:-\w(?: \S+)?, )?(--[\w-]+)", text.split("\noptions:\n")[1], flags=re.MULTILINE)
    return {
        option: re.findall(r"default: ([^),]+)", " ".join(about.split()))
        for option, about in zip(parts[1::2], parts[2::2], strict=True)
        if option != "--help"
    }


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
