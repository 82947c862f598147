"""A budget for all networks, parts of an ensemble on machines that share a folder, and classes that come later."""

import numpy as np
import pytest
from test_calls import SETTINGS, rows

from bemi import (
    BeMiClassifier,
    ConstantInput,
    FewBitClassifier,
    NoiseScenarios,
    SignalCounts,
    SignalScenarios,
    load,
    save,
    verify,
)
from bemi.ensemble import class_subsets
from bemi.stages import Outcome
from bemi.training import Task
from bemi.training.plan import LEAST_SECONDS, shortened

# A budget for all networks.


@pytest.fixture
def trained_for(monkeypatch):
    """Replaces the clock by one that moves only when a network is trained, by the seconds that a function gives.

    The function gets what the network was given; the fixture collects that.
    """
    now, original, given = [100.0], Task.run, []
    monkeypatch.setattr("bemi.limits.clock", lambda: now[0])

    def with_use(use):
        def run(task, seconds):
            given.append(seconds)
            if seconds < LEAST_SECONDS:
                return original(task, seconds)
            now[0] += use(seconds)
            # Searches that wait for this clock would wait forever, so nodes limit them.
            return original(task, None)

        monkeypatch.setattr(Task, "run", run)
        return given

    return with_use


def test_a_budget_is_shared_out_over_the_networks_that_are_left(trained_for):
    given = trained_for(lambda seconds: 2.0)
    BeMiClassifier(**SETTINGS, total_time_limit=200.0, n_jobs=1).fit(*rows(5))
    # What a network leaves is for those after it.
    assert given == pytest.approx([(200.0 - 2.0 * done) / (10 - done) for done in range(10)])


def test_a_budget_only_makes_time_limits_shorter():
    assert shortened(10.0, None) == 10.0
    assert shortened(10.0, 4.0) == 4.0
    assert shortened(3.0, 4.0) == 3.0
    assert shortened(None, 4.0) == 4.0
    assert shortened((2.0, 6.0), 4.0) == (1.0, 3.0)
    assert shortened(None, None) is None


def test_a_budget_holds(trained_for):
    """Networks that take all the time they get."""
    given = trained_for(lambda seconds: seconds)
    classifier = BeMiClassifier(**SETTINGS, total_time_limit=3.0, n_jobs=1).fit(*rows(6))
    assert len(classifier.networks_) == 15
    assert given == pytest.approx([0.2] * 15)


def test_a_budget_holds_for_more_networks_than_it_can_train(tmp_path, trained_for):
    """Trained for the shortest time there is, these 435 networks would take many times the budget."""
    X, y = rows(30)
    given = trained_for(lambda seconds: seconds)
    assert 435 * LEAST_SECONDS > 10 * 0.2
    classifier = BeMiClassifier(**SETTINGS, total_time_limit=0.2, n_jobs=1).fit(X, y)
    trained = [seconds for seconds in given if seconds >= LEAST_SECONDS]
    assert sum(trained) == pytest.approx(0.2)
    messages = [[report.message for report in reports.values()] for reports in classifier.reports_.values()]
    assert len(messages) == 435
    late = [text for text in messages if Outcome.NO_TIME.sentence in text]
    assert len(late) == 435 - len(trained)
    assert all(text == [Outcome.NO_TIME.sentence] * 3 for text in late)
    assert classifier.score(X, y) > 0.2, "by chance it would be 1 in 30"
    save(classifier, tmp_path / "m")
    assert np.array_equal(load(tmp_path / "m").predict(X), classifier.predict(X))
    assert verify(tmp_path / "m").networks == 435


def test_networks_that_a_budget_left_untrained_are_not_finished(tmp_path, monkeypatch):
    """A folder holds what was trained; the next run finds that and trains the others."""
    X, y = rows(5)
    original, calls = Task.run, []

    def run(task, seconds):
        calls.append(task)
        return original(task, 0.0 if len(calls) > 4 else seconds)

    monkeypatch.setattr(Task, "run", run)
    settings = SETTINGS | {"total_time_limit": 200.0, "n_jobs": 1, "run_dir": tmp_path}
    first = BeMiClassifier(**settings).fit(X, y)
    outcomes = [{report.outcome for report in reports.values()} for reports in first.reports_.values()]
    assert outcomes.count({Outcome.NO_TIME}) == 6
    assert len(list(tmp_path.glob("*.json.gz"))) == 4
    monkeypatch.setattr(Task, "run", lambda task, seconds: calls.append(task) or original(task, seconds))
    calls.clear()
    second = BeMiClassifier(**settings).fit(X, y)
    assert len(calls) == 6
    assert all(report.outcome is not Outcome.NO_TIME for r in second.reports_.values() for report in r.values())
    assert len(list(tmp_path.glob("*.json.gz"))) == 10


def test_without_time_the_variants_are_counted_that_the_network_violates():
    tasks = BeMiClassifier((3,), copies=NoiseScenarios(scale=2.0)).training_tasks(*rows(3))
    task = next(iter(tasks.values()))
    training = task.run(0.0)
    outputs = training.network.pre_activations(task.variants.data)[-1] * task.variants.codes
    assert training.violated == (outputs < 1).sum() > 0  # P = 1, three hidden neurons: confident from (3 + 1) / 4 on


@pytest.mark.parametrize("limit", [0, -1, "soon", np.inf, True])
def test_a_budget_must_be_positive_seconds(limit):
    with pytest.raises(ValueError, match="total_time_limit must be None or positive seconds"):
        BeMiClassifier(total_time_limit=limit).fit(*rows(5))


# Parts.


def test_parts_together_are_the_whole(tmp_path):
    classifier = BeMiClassifier(**SETTINGS, run_dir=tmp_path)
    trained = [classifier.fit_shard(*rows(5), shard, 3) for shard in (1, 2, 3)]
    assert trained == [4, 3, 3]
    assert not hasattr(classifier, "networks_")
    assert classifier.fit_shard(*rows(5), 2, 3) == 0, "nothing is left to do"
    classifier.fit(*rows(5))
    assert classifier.reused_networks_ == 10
    assert classifier.networks_ == BeMiClassifier(**SETTINGS).fit(*rows(5)).networks_


def test_a_part_needs_a_folder_and_must_be_one_of_them(tmp_path):
    with pytest.raises(ValueError, match="a shard needs run_dir"):
        BeMiClassifier(**SETTINGS).fit_shard(*rows(5), 1, 2)
    for shard, shards in ((0, 2), (3, 2), (1, 0)):
        with pytest.raises(ValueError, match=r"shards? must be an integer"):
            BeMiClassifier(**SETTINGS, run_dir=tmp_path).fit_shard(*rows(5), shard, shards)


# Classes that come later.


@pytest.mark.parametrize(
    ("new", "more"),
    [
        ((4,), {}),
        ((0, 3), {}),
        ((2,), {"subset_size": 3, "stages": ("sm", "mw")}),
        ((1,), {"inputs": ConstantInput(60), "input_scaling": None}),
    ],
)
def test_only_networks_of_the_new_classes_are_trained(new, more, monkeypatch, tmp_path):
    X, y = rows(5)
    later = np.isin(y, new)
    settings = SETTINGS | {"stages": ("sm", "mm", "mw")} | more
    classifier = BeMiClassifier(**settings).fit(X[~later], y[~later])
    before = dict(classifier.networks_)
    trained = []
    original = Task.run
    monkeypatch.setattr(Task, "run", lambda task, seconds: trained.append(task) or original(task, seconds))
    assert classifier.add_classes(X[later], y[later]) is classifier
    subsets = class_subsets(5, classifier.subset_size)
    assert list(classifier.networks_) == [tuple(subset) for subset in subsets.tolist()]
    assert len(trained) == len(subsets) - len(before)
    for key, network in before.items():
        assert classifier.networks_[key] is network, "bit for bit the same"
    # Nothing differs from a fit on all rows at once but the order of the rows.
    order = np.concatenate([np.flatnonzero(~later), np.flatnonzero(later)])
    whole = BeMiClassifier(**settings).fit(X[order], y[order])
    assert classifier.networks_ == whole.networks_
    assert all(np.array_equal(classifier.splitting_[key], whole.splitting_[key]) for key in whole.networks_)
    assert np.array_equal(classifier.predict(X), whole.predict(X))
    assert classifier.training_digest_ == whole.training_digest_
    save(classifier, tmp_path / "m.bemi")
    assert verify(tmp_path / "m.bemi").networks == len(subsets)


def test_strings_may_come_later_too():
    X, y = rows(5)
    names = np.array(["delta", "alpha", "echo", "bravo", "charlie"])[y]
    classifier = BeMiClassifier(**SETTINGS).fit(X[y < 4], names[y < 4])
    classifier.add_classes(X[y == 4], names[y == 4])
    assert classifier.classes_.tolist() == ["alpha", "bravo", "charlie", "delta", "echo"]
    assert (classifier.predict(X) == names).mean() == 1.0


def test_a_loaded_model_needs_all_rows(tmp_path):
    X, y = rows(5)
    old = y < 4
    classifier = BeMiClassifier(**SETTINGS).fit(X[old], y[old])
    save(classifier, tmp_path / "m.bemi")
    loaded = load(tmp_path / "m.bemi")
    with pytest.raises(ValueError, match="give rows of all classes; class 0 has none"):
        loaded.add_classes(X[~old], y[~old])
    loaded.add_classes(X, y)
    assert loaded.networks_ == classifier.add_classes(X[~old], y[~old]).networks_
    save(loaded, tmp_path / "n.bemi")
    assert load(tmp_path / "n.bemi").networks_ == loaded.networks_


def test_copies_are_made_of_rows_of_all_classes(tmp_path):
    """Known networks stay; new ones learn from copies of old and new rows; a file gives the same as the model."""
    rng = np.random.default_rng(0)
    time = np.arange(24)[:, None]
    y = np.repeat([0, 1, 2], 8)
    X = np.array([np.rint(300 * np.sin(time * (0.2 + 0.3 * label)) + rng.normal(0, 60, (24, 2))) for label in y])
    settings = {"copies": SignalScenarios(noise=(0.3,)), "C": 3.0, "probabilities": True, "time_limit": 5.0}
    model = FewBitClassifier("signal", inputs=SignalCounts(rocket=0), **settings).fit(X[y < 2], y[y < 2])
    with pytest.raises(ValueError, match="give rows of all classes; class 0 has none"):
        model.add_classes(X[y == 2], y[y == 2])
    known = model.networks_[0, 1]
    assert model.add_classes(X, y).networks_[0, 1] is known
    assert [len(added) > 0 for added in model.added_rows_.values()] == [False, True, True]
    assert model.given_rows_ == len(y)
    assert model.predict_proba(X).argmax(axis=1).tolist() == y.tolist()
    save(model, tmp_path / "m.bemi")
    loaded = load(tmp_path / "m.bemi")
    assert loaded.networks_ == model.networks_
    both = np.concatenate([X, -X[:8]]), np.concatenate([y, [3] * 8])
    assert loaded.add_classes(*both).networks_ == model.add_classes(*both).networks_


def test_what_cannot_be_added_is_refused_and_changes_nothing():
    X, y = rows(5)
    classifier = BeMiClassifier(**SETTINGS).fit(X[y < 4], y[y < 4])
    networks = dict(classifier.networks_)
    with pytest.raises(ValueError, match=r"^y has no new class$"):
        classifier.add_classes(X[y < 2], y[y < 2])
    with pytest.raises(ValueError, match="3 is a class already"):
        classifier.add_classes(X[y > 2], y[y > 2])
    with pytest.raises(ValueError, match="new classes must have the same type as the known ones"):
        classifier.add_classes(X[y == 4], np.array(["e"] * 4))
    with pytest.raises(ValueError, match="features"):
        classifier.add_classes(X[y == 4][:, :3], y[y == 4])
    some = BeMiClassifier(**SETTINGS, subsets=3).fit(X[y < 4], y[y < 4])
    with pytest.raises(ValueError, match="only if subsets is None"):
        some.add_classes(X[y == 4], y[y == 4])
    assert classifier.networks_ == networks
    assert classifier.classes_.tolist() == [0, 1, 2, 3]


def test_reports_are_small_and_say_everything():
    classifier = BeMiClassifier(**SETTINGS).fit(*rows(2))
    reports = classifier.reports_[0, 1]
    assert reports["mw"].network == classifier.networks_[0, 1]
    assert reports["mm"].gap >= 0
    assert {"network", "certificate"}.isdisjoint(vars(reports["mm"]))
    assert reports["mm"].certificate is None or reports["mm"].proof == "certified"


def test_networks_of_another_kind_are_not_added():
    X, y = rows(4)
    classifier = BeMiClassifier(**SETTINGS).fit(X[y < 3], y[y < 3])
    for other in ({"weight_bound": 7}, {"hidden_layers": (3, 3)}, {"stages": ("sm",)}, {"subset_size": 3}):
        before = {name: getattr(classifier, name) for name in other}
        with pytest.raises(ValueError, match=f"were trained with {next(iter(other))}=.*fit again instead"):
            classifier.set_params(**other).add_classes(X[y == 3], y[y == 3])
        classifier.set_params(**before)
    assert len(classifier.add_classes(X[y == 3], y[y == 3]).networks_) == 6


def test_rows_of_new_classes_count_as_seen():
    X, y = rows(3)
    classifier = BeMiClassifier(**SETTINGS).fit(X[y < 2], y[y < 2])
    new = X[y == 2] - 500
    classifier.add_classes(new, y[y == 2])
    assert classifier.input_scaling_.low == new.min()
    assert classifier.input_scaling_.high == X[y < 2].max()
