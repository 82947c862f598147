"""``bemi info``: the model as its file has it."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from soft_margins import soft_margins

from bemi import TableBits, load, save
from bemi.cli import info, main
from bemi.cli.info import MOST_LINES
from bemi.report import contents

SETTINGS = {"mw_loss": 0.01, "time_limit": 1.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("info")
    generator = np.random.default_rng(1)
    X = pd.DataFrame({"age [years]": generator.normal(50, 9, 40).round(), "cp": generator.choice(["c1", "c2"], 40)})
    save(soft_margins(inputs=TableBits(), **SETTINGS).fit(X, ["ill", "well"] * 20), folder / "table.bemi")
    digits = generator.integers(0, 9, (36, 5))
    save(soft_margins(**SETTINGS).fit(digits, np.arange(36) % 9), folder / "nine.bemi")
    return folder


def run(capsys, *arguments):
    code = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    assert captured.err == ""
    return code, captured.out


def test_json_has_all_that_the_file_has(folder, capsys):
    code, out = run(capsys, "info", folder / "table.bemi", "--json")
    assert code == 0
    found = json.loads(out)
    expected = contents(load(folder / "table.bemi").ensemble_)
    assert {name: found[name] for name in expected} == expected
    assert found["bytes"] == (folder / "table.bemi").stat().st_size
    assert found["certificate"]["bytes"] == (folder / "table.bemi.cert").stat().st_size


def test_the_console_names_columns_settings_and_proofs(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "240")
    _, out = run(capsys, "info", folder / "table.bemi")
    for words in ("ill, well", "40 rows by highs", "stages soft,mw", "hidden_layers none", "age [years]", "c1, c2"):
        assert words in out
    for words in ("cut at", "0.00 %", "bemi verify checks it", "ill / well"):
        assert words in out


def test_long_lists_are_cut(folder, capsys):
    _, out = run(capsys, "info", folder / "nine.bemi")
    assert f"and {36 - MOST_LINES} more: --json lists all" in out
    assert "36 networks" in out
    assert "feature 0" not in out, "columns without a name and anything else to say"


def test_a_small_scorecard_is_shown(folder, capsys, monkeypatch):
    card = load(folder / "table.bemi").scorecard().text()
    assert card in run(capsys, "info", folder / "table.bemi")[1]
    assert json.loads(run(capsys, "info", folder / "table.bemi", "--json")[1])["scorecard"] == card
    monkeypatch.setattr(info, "MOST_CARD_LINES", 1)
    _, out = run(capsys, "info", folder / "table.bemi")
    assert card not in out
    assert f"its scorecard has {len(card.splitlines())} lines" in out
    assert "scorecard" not in run(capsys, "info", folder / "nine.bemi")[1]


def test_a_model_without_a_certificate(folder, tmp_path, capsys):
    (tmp_path / "m").write_bytes((folder / "table.bemi").read_bytes())
    assert "none beside the model" in run(capsys, "info", tmp_path / "m")[1]
    assert json.loads(run(capsys, "info", tmp_path / "m", "--json")[1])["certificate"] is None


def test_a_file_that_is_no_model(tmp_path, capsys):
    (tmp_path / "m").write_text("hello")
    assert main(["info", str(tmp_path / "m")]) == 2
    assert "is not a bemi model" in capsys.readouterr().err


def test_the_hash_is_whole_and_pixels_are_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    names = [f"pixel_{i // 8}_{i % 8}" for i in range(64)]
    X = pd.DataFrame(np.random.default_rng(1).integers(0, 17, (10, 64)), columns=names)
    save(soft_margins(**SETTINGS).fit(X, [0, 1] * 5), tmp_path / "pixels.bemi")
    _, said = run(capsys, "info", tmp_path / "pixels.bemi", "--json")
    _, out = run(capsys, "info", tmp_path / "pixels.bemi")
    assert json.loads(said)["sha256"] in "".join(character for character in out if character.isalnum())
    assert "64 numbers, pixel_0_0 to pixel_7_7" in " ".join(out.replace("│", " ").split())
    assert "pixel_3_3" not in out
    assert re.search(r"\b1 network\b", out)
    assert "1 networks" not in out


def test_without_a_command_there_is_help(capsys):
    assert main([]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("usage: bemi")
    assert "bemi train data.csv" in said.out
    assert said.err == ""
