"""reproduce, report and data, run as a user runs them."""

import json
import shutil
import subprocess
import sys

import pytest
from bemi_lab.cli import build_parser, main
from bemi_lab.datasets import storage
from bemi_lab.experiments import run as runner
from bemi_lab.experiments.spec import Settings


@pytest.fixture(autouse=True)
def no_files(monkeypatch, tmp_path):
    """No data folder and an empty cache."""
    monkeypatch.delenv("BEMI_DATA", raising=False)
    monkeypatch.setattr(storage, "cache_folder", lambda: tmp_path / "cache")


def run(capsys, *arguments):
    code = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_from_experiment_to_page(capsys, tmp_path):
    arguments = ["exp5", "--quick", "--samples", "1", "--time-limit", "1", "--jobs", "1", "--run", tmp_path / "runs"]
    code, out, _ = run(capsys, "reproduce", *arguments)
    assert code == 0
    assert "Experiment 5" in out
    assert "random images" in " ".join(out.split())
    folder = tmp_path / "runs" / "exp5"
    assert f"bemi-lab report {folder}" in out
    assert json.loads((folder / "run.json").read_text())["settings"]["dataset"] == "digits"
    code, out, _ = run(capsys, "reproduce", *arguments, "--json")
    assert (code, json.loads(out)) == (0, {"runs": [str(folder)]})
    code, out, _ = run(capsys, "report", folder, "-o", tmp_path / "page.md", "--json")
    assert code == 0
    assert f"{tmp_path}/page/exp5-accuracy.csv" in json.loads(out)["files"]
    assert "Experiment 5" in (tmp_path / "page.md").read_text()
    code, out, _ = run(capsys, "reproduce", *arguments, "--pack", "--json")
    packed = tmp_path / "runs" / "exp5.jsonl.gz"
    assert (code, json.loads(out)) == (0, {"runs": [str(packed)]})
    shutil.rmtree(folder)
    code, out, _ = run(capsys, "report", packed)
    assert code == 0
    assert (tmp_path / "runs" / "report" / "exp5-accuracy.csv").read_text() == (
        tmp_path / "page" / "exp5-accuracy.csv"
    ).read_text()


def test_images_have_folders_of_their_own(capsys, monkeypatch, tmp_path):
    """Which images and which folder every way to ask for an experiment leads to."""
    asked = []
    monkeypatch.setattr(runner, "reproduce", lambda e, settings, folder, **_: asked.append((settings, folder)))

    def images(*arguments):
        code, *_ = run(capsys, "reproduce", *arguments, "--run", tmp_path, "--shard", "1/2")
        settings, folder = asked.pop()
        assert code == 0
        return settings.images, folder.name

    assert images("exp3a") == ("paper", "exp3a")
    assert images("exp3a", "--images", "paper") == ("paper", "exp3a")
    assert images("exp3a", "--images", "random") == ("random", "exp3a-random")
    assert images("exp3a", "--dataset", "digits") == ("random", "exp3a")
    assert images("exp5", "--quick") == ("random", "exp5")
    assert images("exp5", "--quick", "--images", "paper") == ("paper", "exp5-paper")
    assert images("exp1") == ("random", "exp1")
    assert images("tables") == ("random", "tables")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "exp7"], "unknown experiment 'exp7'"),
        (["reproduce", "exp5", "--samples", "0"], "--samples must be at least 1"),
        (["reproduce", "exp5", "--dataset", "nothing"], "unknown dataset 'nothing'"),
        (["reproduce", "exp5", "--dataset", "digits", "--engine", "magic"], "unknown engine 'magic'"),
        (["reproduce", "exp5", "--dataset", "digits", "--time-limit", "0"], "time_limit must be positive"),
        (["reproduce", "exp5", "--dataset", "iris", "--quick"], "4"),
        (["reproduce", "exp1", "--dataset", "digits", "--images", "paper"], "not known which rows the paper takes"),
        (["reproduce", "exp5", "--dataset", "digits", "--images", "paper"], "class 4 has only 181 rows"),
        (["reproduce", "exp3a", "--dataset", "digits", "--images", "paper", "--quick"], "30, 40 per class, got 5"),
        (["reproduce", "exp5", "--dataset", "digits", "--images", "paper", "--samples", "6"], "numbered 0 to 4, got 5"),
        (["report", "nowhere"], "nowhere is not a run"),
        (["data", "nothing"], "unknown dataset 'nothing'"),
    ],
)
def test_bad_input_is_one_line(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert not out
    assert err.count("\n") == 1
    assert message in err
    assert "Traceback" not in err
    assert not (tmp_path / "runs").exists(), "what cannot work leaves nothing behind"


def test_data_lists_what_there_is(capsys):
    code, out, _ = run(capsys, "data", "--json")
    listed = {entry["name"]: entry for entry in json.loads(out)["datasets"]}
    assert code == 0
    assert listed["mnist"]["place"] == "not here yet"
    assert listed["digits"]["place"] == "part of scikit-learn"
    code, out, _ = run(capsys, "data")
    assert "heart-disease" in out
    code, out, _ = run(capsys, "data", "digits")
    assert code == 0
    assert "digits is here: part of scikit-learn" in out


def test_defaults_are_those_of_an_experiment():
    parsed = build_parser().parse_args(["reproduce", "exp1"])
    assert (parsed.engine, parsed.solver, parsed.gap) == (Settings.engine, Settings.solver, Settings.gap)


@pytest.mark.parametrize("statement", ["main(['--help'])", "main(['bench', '--help'])", "main(['data', '--json'])"])
def test_help_and_the_list_of_data_sets_import_nothing_slow(statement):
    code = (
        "import sys\nfrom contextlib import suppress\nfrom bemi_lab.cli import main\n"
        f"with suppress(SystemExit): {statement}\n"
        "print('slow:', *sorted({'numpy', 'sklearn', 'scipy', 'pandas', 'numba'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "slow:"


def test_no_colours_in_a_pipe():
    done = subprocess.run([sys.executable, "-m", "bemi_lab.cli", "data"], capture_output=True, text=True, check=True)
    assert "mnist" in done.stdout
    assert "\x1b" not in done.stdout
