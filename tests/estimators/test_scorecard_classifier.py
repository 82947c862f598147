"""Scorecards that choose their settings, and what all classifiers say about proofs and progress."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from mixed_tables import patients
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from soft_margins import soft_margins

from bemi import FewBitClassifier, ScorecardClassifier, TableBits, load, save
from bemi.estimators.kinds import CARD_PENALTIES, CARD_THRESHOLDS, USUAL_PENALTY
from bemi.report import summary
from bemi.running.schedule import Journal

FAST = {"node_limit": 5, "time_limit": None}


def risky(rows, seed=0):
    X, risk = patients(rows, seed)
    return X, np.where(risk > 0, "high", "low").astype(object)


def test_a_card_needs_no_settings(tmp_path):
    X, y = risky(260)
    clf = ScorecardClassifier(4, weight_bound=3, **FAST).fit(X, y)
    assert len(clf.choice_.accuracies) == len(CARD_PENALTIES) * (len(CARD_THRESHOLDS) + 1), "and rules"
    assert clf.ensemble_.training.settings["C"] == clf.choice_.candidate.settings["C"]
    assert clf.transform_.thresholds == clf.choice_.candidate.settings["inputs"].thresholds
    assert clf.get_params()["C"] == "auto"
    shown = clf.scorecard()
    (card,) = shown.cards
    assert 0 < len(card.lines) <= 4
    assert all(abs(line.points) <= 3 for line in card.lines)
    new, _ = risky(300, seed=1)
    totals = clf.decision_function(new)
    assert np.array_equal(totals, shown.score(new))
    assert np.array_equal(np.where(totals > 0, *clf.classes_[::-1]), clf.predict(new))
    assert "Trained on 260 rows; expected accuracy on new rows" in shown.text()
    assert f"{100 * clf.choice_.expected:.1f} %" in shown.html()
    assert "Proved: no other card of at most 4 lines" in shown.text()
    save(clf, tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.scorecard().text() == shown.text()
    assert np.array_equal(again.decision_function(new), totals)


def test_what_is_given_is_not_chosen_and_few_rows_leave_the_usual_settings():
    X, y = risky(30)
    few = ScorecardClassifier(3, **FAST).choose(X, y)
    assert few.candidate.settings["C"] == USUAL_PENALTY
    assert few.reason
    given = ScorecardClassifier(3, C=1.0, **FAST).choose(X, y)
    assert len(given.accuracies) == len(CARD_THRESHOLDS) + 1
    assert "C" not in given.candidate.settings
    assert given.name == "up to 8 thresholds per column"
    assert ScorecardClassifier(3, inputs=TableBits(2), **FAST).choose(X, y).name == f"C = {USUAL_PENALTY:g}"
    both = ScorecardClassifier(3, C=1.0, inputs=TableBits(2), **FAST).fit(X, y)
    assert both.choice_.name == "settings as given"
    assert f"expected accuracy on new rows {100 * both.choice_.expected:.1f} %" in both.scorecard().text()


def test_large_gaps_are_named():
    X, _ = risky(40)
    labels = np.array(["a", "b", "c"], dtype=object)[np.arange(40) % 3]
    three = soft_margins(inputs=TableBits(), **FAST).fit(X, labels).ensemble_
    with_gaps = []
    for reports, share in zip(three.reports, (0.0, 0.5, 0.25), strict=True):
        (report,) = reports.values()
        with_gaps.append({"soft": replace(report, bound=report.objective * (1 - share))})
    words = summary.large_gaps(replace(three, reports=tuple(with_gaps)))
    where = "over 10 %: 2 of 3 networks (a/c, b/c); give more time (time_limit), or prove less: "
    assert words.startswith(f"the proof of stage soft leaves a gap of 50 % at most; {where}")
    close = tuple({"soft": replace(r["soft"], bound=r["soft"].objective)} for r in three.reports)
    assert summary.large_gaps(replace(three, reports=close)) == ""


def test_fitting_warns_of_a_large_gap(monkeypatch):
    monkeypatch.setattr(summary, "LARGE_GAP", -1.0)
    X, y = risky(40)
    with pytest.warns(ConvergenceWarning, match="^the proof of stage soft leaves a gap of "):
        soft_margins(inputs=TableBits(), **FAST).fit(X, y)


@pytest.mark.parametrize("verbose", [0, 1])
def test_progress_says_what_is_being_done(verbose, capsys):
    X, y = risky(40)
    FewBitClassifier(inputs=TableBits(), verbose=verbose, probabilities=True, **FAST).fit(X, y)
    shown = capsys.readouterr().err
    steps = ("choosing settings", "preparing the rows", "training", "fitting probabilities")
    places = [shown.find(step) for step in steps]
    assert places == sorted(places)
    assert [place >= 0 for place in places] == [bool(verbose)] * 4


def one_level_against_the_rest():
    """Rows, the chance of being ill, and a card of which levels share their points when it is trained first."""
    rng = np.random.default_rng(1)
    level = rng.choice(["low", "mid", "high", "top"], 400)
    chance = np.where(level == "high", 0.9, 0.2)
    X = pd.DataFrame({"level": level, "noise": rng.normal(size=400)})
    return rng, X, chance, ScorecardClassifier(5, C=3.0, inputs=TableBits(2, distinct=True), **FAST)


@pytest.mark.parametrize("gaps", [False, True])
def test_one_level_against_the_rest_takes_one_line(gaps):
    rng, X, chance, clf = one_level_against_the_rest()
    level = X["level"].to_numpy()
    if gaps:
        X.loc[::9, "level"] = None
        chance[::9] = 0.2
    y = np.where(rng.random(400) < chance, "ill", "well")
    clf.fit(X, y)
    (card,) = clf.scorecard().cards
    assert [line.name for line in card.lines if line.column == "level"] == ["level = high"]
    assert np.array_equal(clf.decision_function(X), clf.scorecard().score(X))
    assert set(clf.predict(X[level == "high"])) == {"ill"} or gaps
    assert set(clf.predict(X[(level != "high")])) == {"well"}


def test_a_card_that_is_trained_again_is_trained_by_tasks_and_shards_too(tmp_path):
    rng, X, chance, clf = one_level_against_the_rest()
    y = rng.random(400) < chance
    alone = clf.fit(X, y).networks_
    by_tasks, by_shards = (clone(clf).set_params(run_dir=tmp_path / name) for name in ("tasks", "shards"))
    journal = Journal(tmp_path / "tasks")
    for _ in range(2):
        (task,) = by_tasks.training_tasks(X, y).values()
        assert journal.read(task.key()) is None
        journal.write(task.key(), task.run())
    (task,) = by_tasks.training_tasks(X, y).values()
    assert journal.read(task.key()) is not None
    assert [by_shards.fit_shard(X, y, shard, 2) for shard in (1, 2)] == [2, 0]
    for done in (by_tasks, by_shards):
        assert done.fit(X, y).networks_ == alone
        assert done.reused_networks_ == 1
        assert len(list(done.run_dir.iterdir())) == 2


def test_lines_that_are_needed_stay():
    rng = np.random.default_rng(2)
    level = rng.choice(["a", "b", "c", "d"], 400)
    y = rng.random(400) < pd.Series(level).map({"a": 0.9, "b": 0.6, "c": 0.3, "d": 0.05})
    clf = ScorecardClassifier(5, C=3.0, inputs=TableBits(), **FAST).fit(pd.DataFrame({"level": level}), y)
    (card,) = clf.scorecard().cards
    assert len(card.lines) >= 3
    assert len(np.unique(clf.decision_function(pd.DataFrame({"level": list("abcd")})))) == 4
