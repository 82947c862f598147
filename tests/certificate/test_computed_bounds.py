"""A bound that our own search computed without a proof says so everywhere; others keep their words."""

import json

import numpy as np
import pytest

from bemi import BeMiClassifier, load, save, verify
from bemi.cli import main
from bemi.export.page import page
from bemi.report import contents


def rows():
    """Eleven rows on which a neuron is right, and two on which it is not."""
    rng = np.random.default_rng(0)
    X = rng.integers(-9, 10, (14, 5))
    sums = X @ [1, -1, 1, 0, 1]
    X, y = X[sums != 0], (sums[sums != 0] < 0).astype(int)
    y[:2] ^= 1
    return X, y


@pytest.fixture(scope="module", params=["decomposition", "monolithic"])
def trained(request, tmp_path_factory):
    """A model, its file, and what is said of its bounds."""
    classifier = BeMiClassifier(hidden_layers=(2,), gap=0.0, time_limit=30.0, engine=request.param).fit(*rows())
    path = tmp_path_factory.mktemp("computed") / "model.bemi"
    save(classifier, path)
    words = {"sm": "computed", "mm": "none", "mw": "certified"}
    return classifier, path, words if request.param == "decomposition" else words | {"sm": "solver", "mw": "solver"}


def test_reports_files_and_summaries_use_one_word(trained, capsys):
    classifier, path, words = trained
    for ensemble in (classifier.ensemble_, load(path).ensemble_):
        (reports,) = ensemble.reports
        assert {stage: report.proof for stage, report in reports.items()} == words
        assert reports["sm"].objective == reports["sm"].bound < len(rows()[0])
        for stage, counts in contents(ensemble)["summary"]["stages"].items():
            assert (counts["certified"], counts["computed"]) == (
                words[stage] == "certified",
                words[stage] == "computed",
            )
    assert words["sm"] in repr(classifier.reports_[0, 1]["sm"])
    assert main(["info", str(path), "--json"]) == 0
    (network,) = json.loads(capsys.readouterr().out)["networks"]
    assert {stage: proved["proof"] for stage, proved in network["stages"].items()} == words
    assert f'"proof":"{words["sm"]}"' in page(classifier).replace('": ', '":')


def test_the_checker_counts_it_apart(trained, capsys):
    _, path, words = trained
    checked = verify(path)
    for word, counts in (("certified", checked.certified), ("computed", checked.computed), ("solver", checked.claimed)):
        assert +counts == {stage: 1 for stage in words if words[stage] == word}
    assert not checked.nothing_ran
    assert main(["verify", str(path), "--json"]) == 0
    stages = json.loads(capsys.readouterr().out)["stages"]
    for stage, counts in stages.items():
        told = [kind for kind in ("certified", "computed", "solver", "not_run") if counts[kind]]
        assert told == [words[stage].replace("none", "not_run")]
