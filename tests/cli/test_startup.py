"""Help and usage errors answer at once: they import nothing slow."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from inspect import signature

import pytest

from bemi import BeMiClassifier, FewBitClassifier, ScorecardClassifier
from bemi.cli import build_parser, export, main, options, train, verify
from bemi.export import PREFIX

SLOW = (
    "numpy",
    "scipy",
    "sklearn",
    "numba",
    "pandas",
    "rich",
    "joblib",
    "highspy",
    "matplotlib",
    "distributed",
    "onnx",
)


def slow_imports(code: str) -> set[str]:
    """Slow packages that are loaded once this code has run in a new process."""
    report = f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()} & set(SLOW)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["export", "page", "--help"],
        ["train", "--help"],
        ["nonsense"],
        ["train"],
        ["train", "data.csv", "-o", "model", "--unknown"],
        ["train", "data.csv", "-o", "model", "--time-limit", "long"],
    ],
)
def test_help_and_usage_errors_import_nothing_slow(arguments):
    assert slow_imports(f"from bemi.cli import main; main({arguments!r})") == set()


def test_help_on_training_says_which_options_need_the_paper(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "usage: bemi train DATA -o FILE [options]"
    shared, paper = " ".join(" ".join(lines).split()).split("which need --paper:")
    assert "sm, most training rows confidently right; mm, largest margins; mw, fewest links" in paper
    assert "--hidden-layers N,N hidden layer sizes" in paper
    assert "--kind {image,table,signal} what rows are" in shared


def test_the_package_is_the_command():
    run = [sys.executable, "-m", "bemi", "--version"]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.startswith("bemi ")


def test_options_of_training_are_those_of_the_estimators():
    def offered(*estimators):
        return {name for estimator in estimators for name in signature(estimator).parameters} & set(train.OPTIONS)

    assert offered(BeMiClassifier, FewBitClassifier, ScorecardClassifier) == set(train.OPTIONS)
    assert set(train.ONLY_PAPER) == offered(BeMiClassifier) - offered(FewBitClassifier, ScorecardClassifier)


def test_the_package_imports_nothing_slow():
    assert slow_imports("import bemi; bemi.__version__") == set()


def test_the_measure_itself_can_fail():
    assert slow_imports("import numpy") == {"numpy"}


def test_choices_are_those_of_their_homes():
    from bemi.certificate import DEFAULT_BUDGET
    from bemi.export import c, page, verilog

    assert verify.BUDGET == DEFAULT_BUDGET
    assert tuple(c.OPTIMIZE) == export.C_GOALS
    assert tuple(c.LAYOUTS) == export.C_LAYOUTS
    assert PREFIX == export.PREFIX
    assert tuple(c.TYPES) == export.C_INPUT_TYPES
    assert export.PAGE_SAMPLES == page.SAMPLES
    assert (export.VERILOG_INTERFACES, export.VERILOG_VECTORS) == (verilog.INTERFACES, verilog.VECTORS)


def test_image_sizes_have_one_syntax():
    parse = build_parser().parse_args
    for text in ("32x24x3", "32,24,3"):
        assert parse(["train", "d", "-o", "m", "--image-shape", text]).image_shape == (32, 24, 3)
        assert parse(["export", "page", "m", "-o", "p", "--image", text]).image == (32, 24, 3)
    assert parse(["export", "page", "m", "-o", "p", "--image", "none"]).image is False
    assert options.image_shape("28x28") == (28, 28)


def commands(path, parser):
    """Every command, as a path, with its parser."""
    yield path, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield from commands([*path, name], command)


@pytest.mark.parametrize(("path", "parser"), list(commands(["bemi"], build_parser())), ids=lambda part: str(part)[:40])
def test_help_ends_with_an_example_that_parses(path, parser):
    example = parser.format_help().split("\nexample:\n")[1]
    calls = [words.split() for words in re.findall(r"^\W*(?:eval\W+)?(bemi [^#)\n]*)", example, flags=re.MULTILINE)]
    assert calls
    for words in calls:
        assert words[: len(path)] == path
        if words[-1] != "--help":
            build_parser().parse_args(words[1:])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("bemi tr", "train"),
        ("bemi train --wi", "--window"),
        ("bemi export pa", "page"),
        ("bemi export c model --opt", "--optimize"),
        ("bemi completion fi", "fish"),
    ],
)
def test_a_shell_completes(line, expected, tmp_path, capsys):
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    words = line.split()
    asked = f'COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _bemi; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, cwd=tmp_path)
    assert (done.stdout.strip(), done.stderr) == (expected, "")


def test_no_colours_in_a_pipe():
    done = subprocess.run([sys.executable, "-m", "bemi.cli", "solvers"], capture_output=True, text=True, check=True)
    assert "highs" in done.stdout
    assert "\x1b" not in done.stdout


def test_the_version(capsys):
    import bemi

    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"bemi {bemi.__version__}\n"
