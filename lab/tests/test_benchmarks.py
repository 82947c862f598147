"""Benchmarks: all of them can be found, measured ones leave lines from which their tables are made again."""

import json
from dataclasses import replace

import numpy as np
import pytest
from bemi_lab.benchmarks import BENCHMARKS, accuracy, devices, fitting, gaps, hardware, middle, neurons, sameness
from bemi_lab.benchmarks.frame import Benchmark, get, joined, known, largest, mean, table
from bemi_lab.cli import main


def test_every_benchmark_is_where_the_command_line_looks_for_it():
    assert all(isinstance(get(name), Benchmark) for name in BENCHMARKS)
    homes = (gaps, fitting, accuracy, devices, hardware, middle, neurons)
    assert sorted(name for home in homes for name in home.BENCHMARKS) == sorted(BENCHMARKS)


def test_columns_are_about_the_records_of_a_row():
    records = [
        {"cell": "a", "seed": 0, "mm": {"gap": 0.5}},
        {"cell": "b", "seed": 0, "mm": {"gap": None}},
        {"cell": "a", "seed": 1, "mm": {"gap": 0.25}},
    ]
    columns = {
        "cell": "cell",
        "n": len,
        "mean %": mean("mm.gap", 100),
        "max": largest("mm.gap"),
        "ran": known("mm.gap"),
    }
    made = table(records, ["cell"], columns | {"each": joined("mm.gap", ".1f", 100), "other": "mm.bound"}, "Gaps.", 3)
    assert made.rows == [["a", 2, 37.5, 0.5, 2, "50.0 / 25.0"], ["b", 1, None, None, 0, "-"]]
    assert made.headings == ["cell", "n", "mean %", "max", "ran", "each"], "no record has a bound"
    assert "| a | 2 | 37.500 | 0.500 | 2 | 50.0 / 25.0 |\n| b | 1 | - | - | 0 | - |" in made.markdown()


def test_from_measurements_to_a_table_and_from_their_lines_again(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(accuracy, "DRAWS", 2)
    asked = ["bench", "chances", "--only", "iris", "--seconds", "1", "--output", str(tmp_path)]
    assert main(asked) == 0
    text = (tmp_path / "chances.md").read_text()
    lines = [json.loads(line) for line in (tmp_path / "chances.jsonl").read_text().splitlines()]
    assert [(line["cell"], line["seed"]) for line in lines] == [("iris 75", 0), ("iris 75", 1)]
    assert "| iris 75 | 2 |" in text
    assert (tmp_path / "chances.csv").read_text().splitlines()[1].startswith("iris 75,2,")
    assert capsys.readouterr().out == f"{text}\n"
    assert main([*asked, "--read"]) == 0
    assert capsys.readouterr().out == f"{text}\n"


def test_tables_of_middle_size_are_drawn_by_their_name_and_seed():
    noisy = middle.Tables("M", "signed", "noisy", (4, 4), 3)
    data, codes = noisy.draw(2)
    assert data.shape == (30, 12)
    assert set(codes) == {-1, 1}
    assert np.abs(data).max() == 10
    again, same = noisy.draw(2)
    assert (data == again).all()
    assert (codes == same).all()
    assert (data != noisy.draw(1)[0]).any()
    pixels, _ = middle.Tables("L", "pixel", "plane", (2,), 1).draw(0)
    assert pixels.min() == 0
    assert pixels.max() <= 255
    assert 0.4 < (pixels == 0).mean() < 0.6


@pytest.mark.parametrize("signs", ["labels", "any"])
def test_the_largest_margins_of_neurons_are_proved(tmp_path, signs):
    asked = ["bench", "neurons", "--only", f"{signs}-signed-12x30-P3", "--output", str(tmp_path)]
    cells = [neurons.Neurons(signs, "signed", 12, 30, 3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(neurons.BENCHMARKS, "neurons", replace(neurons.BENCHMARKS["neurons"], cells=cells))
        assert main(asked) == 0
    (line,) = [json.loads(line) for line in (tmp_path / "neurons.jsonl").read_text().splitlines()]
    assert line["proved"]
    assert line["certified"]
    data, given = cells[0].draw(0)
    assert given.any() == (signs == "labels")
    # A sample of the 7^12 neurons has no larger margin.
    sums = data @ np.random.default_rng(0).integers(-3, 4, (12, 20_000))
    assert np.where(given[:, None] == 0, np.abs(sums), sums * given[:, None]).min(axis=0).max() <= line["margin"]


def test_tables_of_middle_size_beside_a_solver(tmp_path, capsys):
    cell = "S-pixel-plane-2-P1"
    asked = [
        "bench",
        "middle",
        "--only",
        cell,
        "--solvers",
        "highs",
        "--solver-seconds",
        "5",
        "--output",
        str(tmp_path),
    ]
    assert main(asked) == 0
    own, other = [json.loads(line) for line in (tmp_path / "middle.jsonl").read_text().splitlines()]
    assert (own["system"], other["system"]) == ("decomposition", "highs")
    for stage in ("sm", "mm", "mw"):
        assert own[stage]["proved"]
        assert other[stage]["proved"]
        assert own[stage]["objective"] == other[stage]["objective"]
    assert f"| {cell} | 0 | highs | mm |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["table", "--only", "nothing", "--output", "here"], "table: no cell's name begins with 'nothing'"),
        (["table", "--engine", "magic", "--output", "here"], "unknown engine 'magic'"),
    ],
)
def test_bad_choices_are_one_line(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["bench", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_sameness_tells_what_differs(tmp_path, capsys):
    only = "iris, noise"
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    assert main(["bench", "sameness", str(old), "--only", only]) == 0
    assert main(["bench", "sameness", str(new), "--against", str(old), "--only", only]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith(" same")
    content = json.loads(old.read_text())
    content[only] |= {"weights": "others", "C": "others"}
    old.write_text(json.dumps(content))
    assert main(["bench", "sameness", str(new), "--against", str(old), "--only", only]) == 1
    assert capsys.readouterr().out.splitlines()[-1].endswith("DIFFERENT: weights, C")
    assert len(sameness.CASES) == 24
