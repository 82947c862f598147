"""Tables and figures of runs, against numbers worked out here."""

import csv
import io
import json
from xml.etree import ElementTree

import numpy as np
import pytest
from bemi_lab.experiments import figures, network_tables, report, results, same_images, spec
from bemi_lab.experiments.networks import REFERENCE
from scipy import stats

from bemi.ensemble import LabelStatus

matplotlib = pytest.importorskip("matplotlib")


def record(experiment, cell, sample, right, unclassified=0.0, classes=(4, 9)):
    """A result as a run writes it, with an accuracy of our choice."""
    systems = {results.OURS: right - 0.1, REFERENCE: 0.5, "RBF SVM": 0.6, "1-NN": 0.7}
    stages = {
        stage: {
            "objective": 100,
            "bound": 102 if stage == "mm" else 100,
            "proof": "certified",
            "links": 300,
            "rows": 20,
            "message": "",
            "seconds": 0.5,
        }
        for stage in cell.stages
    }
    wrong = 1 - right - unclassified
    side = len(classes)
    return {
        "cell": vars(cell),
        "sample": sample,
        "disjoint_samples": True,
        "classes": list(classes),
        "train_rows": 20,
        "rows": 1000,
        "accuracy": right + unclassified / 2,
        "paper_accuracy": right,
        "unclassified": unclassified,
        "ties": "margin",
        "statuses": {status.value: 0.0 for status in LabelStatus} | {"1C": right, "1I": wrong, "oI'": unclassified},
        "confusion": [[500 if i == j else 0 for j in range(side + 1)] for i in range(side)],
        "training": {
            "total_links": 3156,
            "layers": [784, *cell.hidden_layers, 1],
            "stages": {stage: {"mean_links": 315.6} for stage in cell.stages},
        },
        "noise": {
            kind: {name: [value] * len(levels) for name, value in systems.items()}
            for kind, levels in experiment.noise.items()
        },
        "radii": {norm: {"median": 2.0, "1": 0.8, "5": 0.2, "10": 0.1} for norm in ("linf", "l1")},
        "weights": {"w=-P": 0.1, "w=0": 0.7, "w=P": 0.2, "others": 0.0},
        "alternatives": {"linear SVM": 0.9, "RBF SVM": 0.91, "logistic regression": 0.92, "1-NN": 0.93}
        | {REFERENCE: 0.85},
        "networks": [{"classes": list(classes), "file": "none", "stages": stages}],
    }


def make_run(folder, name, accuracies, dataset="mnist", unclassified=0.0, images="paper", by_cell=None):
    """A run in which every cell has these accuracies, or those that ``by_cell`` gives."""
    experiment = spec.load(name)
    (folder / "results").mkdir(parents=True)
    settings = {"dataset": dataset, "engine": "decomposition", "time_limit": 10.0, "gap": 0.01, "seed": 0}
    if images is not None:
        settings["images"] = images
    visit = {"started": "2030-01-01T00:00:00+00:00", "seconds": 300.0, "networks": 1, "jobs": 2, "cores": 2}
    visit |= {"solver": "highs 1", "python": "3", "bemi": "0"}
    text = json.dumps({"experiment": name, "settings": settings, "visits": [visit]})
    (folder / "run.json").write_text(text)
    classes = tuple(range(10)) if experiment.cells[0].classes is None else (4, 9)
    for cell in experiment.cells:
        for sample, value in enumerate(accuracies if by_cell is None else by_cell(cell)):
            content = record(experiment, cell, sample, value, unclassified, classes)
            (folder / "results" / f"{cell.name}_{sample}.json").write_text(json.dumps(content))
    return results.read(folder)


def test_the_difference_to_the_paper(tmp_path):
    run = make_run(tmp_path, "exp3a", [0.70, 0.74], unclassified=0.02)
    table = network_tables.accuracy(run)
    rows = list(csv.DictReader(io.StringIO(table.csv())))
    assert [row["per class"] for row in rows] == ["10", "20", "30", "40"]
    first = rows[0]
    assert (float(first["ours"]), float(first["ours min"]), float(first["ours max"])) == (72.0, 70.0, 74.0)
    assert (first["paper"], first["paper min"], first["paper max"]) == ("70.12", "67.89", "74.54")
    assert float(first["difference"]) == pytest.approx(72 - 70.12)
    assert float(first["ours, ties by margin"]) == pytest.approx(73)
    assert float(first["1-NN"]) == 93
    assert "| 10 | 2 | 72.00 (70.00 to 74.00) | 70.12 (67.89 to 74.54) | 1.88 |" in table.markdown()


@pytest.mark.parametrize("images", ["random", None])
def test_on_other_images_there_is_no_difference_to_the_paper(tmp_path, images):
    """Runs from before there was a choice have random images."""
    run = make_run(tmp_path, "exp3a", [0.70, 0.74], images=images)
    table = network_tables.accuracy(run)
    assert "difference" not in table.headings
    first = dict(zip(table.headings, table.rows[0], strict=True))
    assert first["paper (other samples)"].mean == 70.12
    assert {row[1] for row in network_tables.stages(run).rows} == {"ours", "paper (other samples)"}
    assert "difference" not in network_tables.links(make_run(tmp_path / "1", "exp1", [0.7], images=images)).headings
    lines = figures.accuracy(run).axes[0].lines
    assert "the paper (other samples)" in {line.get_label() for line in lines}


def test_a_page_has_the_papers_images_and_then_random_ones(tmp_path):
    for name, images, accuracy in (("exp3a", "paper", 0.7), ("exp3a-random", "random", 0.8)):
        make_run(tmp_path / name, "exp3a", [accuracy, accuracy + 0.02], images=images)
    page = tmp_path / "page.md"
    report.write([tmp_path / "exp3a", tmp_path / "exp3a-random"], page)
    text = page.read_text()
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings == [
        "## On the paper's images and on random ones",
        "## Experiment 3a: more images, MNIST, layers [784, 4, 4, 1] (the paper's images)",
        "## Experiment 3a: more images, MNIST, layers [784, 4, 4, 1] (random images)",
    ]
    assert "2 samples with the paper's images" in text
    assert "2 disjoint random samples, seed 0" in text
    row = next(csv.DictReader(io.StringIO((tmp_path / "page" / "same-images.csv").read_text())))
    assert (row["experiment"], row["setting"], row["per class"]) == ("exp3a", "the paper's networks", "10")
    assert float(row["ours, the paper's images"]) == pytest.approx(71)
    assert float(row["difference"]) == pytest.approx(71 - 70.12)
    assert float(row["ours, random images"]) == pytest.approx(81)


def test_our_own_systems_are_paired_on_the_same_images(tmp_path):
    few, many = [0.70, 0.75, 0.72, 0.78, 0.74], [0.71, 0.77, 0.72, 0.80, 0.77]
    runs = [
        make_run(tmp_path / "5", "exp5", [], by_cell=lambda cell: many if cell.weight_bound == 3 else few),
        make_run(tmp_path / "3a", "exp3a", few, unclassified=0.02),
        make_run(tmp_path / "3b", "exp3b", many[:4], unclassified=0.02),
        make_run(tmp_path / "3b-random", "exp3b", many, images="random"),
        make_run(tmp_path / "2", "exp2", many),
    ]
    table = same_images.own_systems(runs)
    rows = [dict(zip(table.headings, row, strict=True)) for row in table.rows]
    # Three bounds at six sizes beside P = 1; 3b beside 3a at four.  Random images and those of exp2 are others.
    assert len(rows) == 3 * 6 + 4
    bounds = next(row for row in rows if row["setting"] == "P 3" and row["per class"] == 10)
    expected = stats.ttest_rel(np.multiply(100, many), np.multiply(100, few)).confidence_interval(0.95)
    found = bounds["difference"]
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert (bounds["both"], bounds["compared with"]) == ("classes 4/9", "P 1")
    assert bounds["difference, ties by margin"] is None
    layers = rows[-1]
    assert (layers["both"], layers["setting"]) == (None, "hidden layers 10, 3")
    assert layers["compared with"] == "hidden layers 4, 4"
    assert (layers["samples"], layers["images"]) == (4, "the paper's")
    assert layers["difference"].mean == pytest.approx(np.mean(np.subtract(many[:4], few[:4])) * 100)
    assert layers["difference, ties by margin"].mean == pytest.approx(layers["difference"].mean)


def test_soft_margins_are_compared_with_the_papers_networks(tmp_path):
    table = same_images.own_systems([make_run(tmp_path, "noise-mnist", [0.8, 0.9], images="random")])
    columns = [table.headings.index(name) for name in ("both", "setting", "compared with")]
    soft, paper = "hidden layers none, P {}, SOFT", "hidden layers 4, 4, P 1, SM+MM+MW"
    assert {tuple(row[column] for column in columns) for row in table.rows} == {
        ("hidden layers none, SOFT", "P 7", "P 1"),
        ("hidden layers none, P 7, SOFT", "transform hog", "transform none"),
        (None, soft.format(7), paper),
        (None, "hidden layers none, SOFT", "hidden layers 4, 4, SM+MM+MW"),
        (None, f"transform hog, {soft.format(7)}", f"transform none, {paper}"),
    }


def test_a_figure_of_networks_that_are_gone_stays(tmp_path):
    make_run(tmp_path / "exp3a", "exp3a", [0.8])
    page = tmp_path / "page.md"
    report.write([tmp_path / "exp3a"], page)
    assert "first-layer" not in page.read_text()
    (tmp_path / "page" / "exp3a-first-layer.svg").write_text("<svg/>")
    written = report.write([tmp_path / "exp3a"], page)
    assert "(page/exp3a-first-layer.svg)" in page.read_text()
    assert tmp_path / "page" / "exp3a-first-layer.svg" not in written


def test_stage_table_gives_gaps_and_links(tmp_path):
    rows = list(
        csv.DictReader(io.StringIO(network_tables.stages(make_run(tmp_path, "exp4b", [0.7], "fashion-mnist")).csv()))
    )
    assert [row["whose"] for row in rows[:2]] == ["ours", "paper"]
    ours, paper = rows[:2]
    assert (float(ours["MM gap mean"]), float(ours["links after MW"]), float(ours["active links"])) == (
        2.0,
        10.0,
        315.6,
    )
    assert ours["bounds certified"] == "3 of 3"
    assert (paper["MM gap mean"], paper["max"], paper["links after MW"]) == ("4.87", "9.14", "51.57")


def test_confusion_matrix_beside_the_papers(tmp_path):
    table = network_tables.confusion(make_run(tmp_path, "exp3a", [0.7, 0.8]))
    assert [row[:2] for row in table.rows[:3]] == [[0, "ours"], [0, "paper"], [1, "ours"]]
    assert table.rows[0][2:] == [100.0, *[0.0] * 10]
    assert table.rows[1][2:] == [89.6, 0, 0, 0.4, 0.2, 3.4, 1.2, 0, 1, 0.2, 4]


def test_paired_differences_to_the_reference(tmp_path):
    rows = list(
        csv.DictReader(io.StringIO(network_tables.reference(make_run(tmp_path, "accuracy-mnist", [0.8, 0.9])).csv()))
    )
    first = rows[0]
    assert (float(first["ours"]), float(first[REFERENCE])) == (85.0, 85.0)
    assert float(first["paired difference"]) == pytest.approx(0)
    assert float(first["standard error"]) == pytest.approx(5.0)
    assert [int(row["bits"]) / int(row["weights"]) for row in rows[::5]] == [2, 4, 2, 4]


def test_what_bits_buy(tmp_path):
    rows = list(
        csv.DictReader(io.StringIO(network_tables.frontier(make_run(tmp_path, "frontier-mnist", [0.8, 0.9])).csv()))
    )
    ours = [row for row in rows if row["per class"] == "10" and "HOG" in row["system"]]
    # One network of 3156 weights, a tenth of them links; the machine in its place has one weight per input.
    assert [(row["links"], int(row["bits"])) for row in ours] == [
        *(("316", 3156 * bits) for bits in (2, 3, 4, 5)),
        ("", 784 * 32),
    ]
    assert rows[0]["system"] == "SM+MM+MW (the paper)"


def test_noise_starts_from_the_clean_accuracy(tmp_path):
    run = make_run(tmp_path, "noise-mnist", [0.8, 0.9])
    curves = network_tables.noise_curves(network_tables.by_size(run)[10], "shift")
    assert curves["soft margins, HOG, P = 7"] == pytest.approx([85, 75, 75])
    assert curves["linear SVM, HOG"] == pytest.approx([85, 50, 50])
    assert curves["1-NN, raw pixels"] == pytest.approx([93, 70, 70])
    rows = list(csv.DictReader(io.StringIO(network_tables.noise(run).csv())))
    assert [row["noise"] for row in rows].count("none") == 2
    assert len(rows) == 2 * (1 + 3 + 3 + 2 + 2)
    first = next(csv.DictReader(io.StringIO(network_tables.radii(run).csv())))
    assert [float(first[name]) for name in ("every input by", "at least 5", "all inputs together by")] == [2, 20, 2]


def test_a_noise_table_of_an_unfinished_run_keeps_its_columns_apart(tmp_path):
    make_run(tmp_path, "noise-mnist", [0.8])
    for path in (tmp_path / "results").glob("hog*n040_*"):
        path.unlink()
    table = network_tables.noise(results.read(tmp_path))
    assert {len(row) for row in table.rows} == {len(table.headings)}
    last = dict(zip(table.headings, table.rows[-1], strict=True))
    assert last["per class"] == 40
    assert last["linear SVM, HOG"] is None


def test_two_classes_leave_nothing_open(tmp_path):
    headings = network_tables.accuracy(make_run(tmp_path, "exp5", [0.8])).headings
    assert "unclassified" not in headings


def test_on_other_data_the_papers_numbers_are_not_shown(tmp_path):
    run = make_run(tmp_path, "exp5", [0.8], dataset="digits")
    assert not {"paper", "difference"} & set(network_tables.accuracy(run).headings)
    page = tmp_path / "page.md"
    report.write([tmp_path], page)
    assert "its numbers are not shown" in page.read_text()


def test_unfinished_cells_are_left_out(tmp_path):
    make_run(tmp_path, "exp3a", [0.7, 0.8])
    for path in (tmp_path / "results").glob("*n020_*"):
        path.unlink()
    run = results.read(tmp_path)
    assert [cell.cell.per_class for cell in run.cells] == [10, 30, 40]


@pytest.mark.parametrize("name", [name for name in spec.names() if spec.load(name).kind == spec.NETWORKS])
def test_a_page_has_every_table_and_figure(name, tmp_path):
    experiment = spec.load(name)
    images = "random" if experiment.paper.sizes is None else "paper"
    run = make_run(tmp_path / name, name, [0.7, 0.8, 0.75], dataset=experiment.dataset, images=images)
    page = tmp_path / "out" / "page.md"
    page.parent.mkdir()
    written = report.write([tmp_path / name], page)
    text = page.read_text()
    assert run.experiment.title in text
    # There are no network files and no other systems here.
    shown = run.experiment.tables
    drawn = [figure for figure in run.experiment.figures if figure != "first-layer"]
    compared = [path for path in written if path.stem in ("same-images", "own-systems")]
    assert len(written) == 1 + len(shown) + len(drawn) + len(compared)
    assert (page.with_suffix("") / "same-images.csv" in compared) == (run.experiment.paper.sizes is not None)
    for path in written[1:]:
        assert f"(page/{path.name})" in text
        if path.suffix == ".svg":
            ElementTree.parse(path)
    again = {path: path.read_bytes() for path in written}
    report.write([tmp_path / name], page)
    assert {path: path.read_bytes() for path in written} == again


def test_lines_pass_through_the_means(tmp_path):
    figure = figures.accuracy(make_run(tmp_path, "exp3a", [0.7, 0.8]))
    (axis,) = figure.axes
    lines = {line.get_label(): line.get_ydata() for line in axis.lines}
    assert np.allclose(lines["bemi"], 75)
    assert np.allclose(lines["the paper"], [70.12, 75.37, 80.90, 81.66])
    assert np.allclose(lines["linear SVM"], 90)
    (band,) = axis.collections
    assert band.get_paths()[0].vertices[:, 1].min() == pytest.approx(70)
    assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx(80)
    matplotlib.pyplot.close(figure)
