"""Every setting is declared once, and estimators, files, command line and documentation read the declaration."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.base import clone

from bemi import BeMiClassifier, FewBitClassifier, ScorecardClassifier, settings
from bemi.engines import ENGINES
from bemi.ensemble import TIES
from bemi.estimators import ESTIMATORS
from bemi.inputs import INPUT_SCALINGS
from bemi.settings import SETTINGS
from bemi.solvers import SOLVERS
from bemi.stages import PAPER_STAGES

DATA = np.array([[5.5, 1], [6.0, 0], [7.0, 1], [1.0, 0], [2.0, 1], [2.5, 0]])
LABELS = [1, 1, 1, 0, 0, 0]


@pytest.mark.parametrize("estimator", ESTIMATORS.values())
def test_parameters_are_declared_settings(estimator):
    parameters = inspect.signature(estimator).parameters
    assert set(parameters) <= set(SETTINGS)
    assert len(parameters) <= 20
    assert "transform" not in parameters
    for name, parameter in parameters.items():
        automatic = isinstance(parameter.default, str) and parameter.default == "auto"
        assert not automatic or name in (*estimator.AUTOMATIC, "input_scaling"), name
    settings.check(estimator().get_params(deep=False), estimator.AUTOMATIC)


@pytest.mark.parametrize("estimator", ESTIMATORS.values())
def test_the_docstring_describes_every_parameter(estimator):
    section = estimator.__doc__.split("Parameters\n")[1].split("Attributes\n")[0]
    for name in inspect.signature(estimator).parameters:
        assert f"\n    {name}\n        {SETTINGS[name].about[:20]}" in section


def test_every_setting_belongs_to_an_estimator():
    used = {name for estimator in ESTIMATORS.values() for name in inspect.signature(estimator).parameters}
    assert used == set(SETTINGS)


def test_estimators_are_no_transformers():
    """Tools take whatever has an attribute ``transform`` for a transformer."""
    for estimator in ESTIMATORS.values():
        assert not hasattr(estimator(), "transform")


@pytest.mark.parametrize(
    ("classifier", "words"),
    [
        (BeMiClassifier(hidden_layers=(0,)), "hidden_layers must be a tuple of integers of at least 1"),
        (BeMiClassifier(hidden_layers=4), "hidden_layers must be a tuple"),
        (BeMiClassifier(stages=("soft",)), "a stage must be one of sm, mm, mw, got 'soft'"),
        (BeMiClassifier(stages=("mw", "sm")), "stages must be one of these lists"),
        (BeMiClassifier(inputs="hog"), "inputs must be None or a transformer such as IntegerHog()"),
        (BeMiClassifier(time_limit=(1, 2)), "time_limit has 2 numbers for 3 stages"),
        (FewBitClassifier("picture"), "kind must be one of auto, image, table, signal, or the shape of images"),
        (FewBitClassifier((28,)), "kind must be one of"),
        (FewBitClassifier(C="high"), "C must be a positive number, got 'high'"),
        (FewBitClassifier(C=0), "C must be a positive number"),
        (FewBitClassifier(mw_loss=-1), "mw_loss must be None or a number of at least 0"),
        (FewBitClassifier(copies=3), "copies must be None or an object such as ImageScenarios()"),
        (FewBitClassifier(probabilities="yes"), "probabilities must be True or False, got 'yes'"),
        (FewBitClassifier(probabilities=True, subsets=1), "a network for every pair of classes; use subsets=None"),
        (FewBitClassifier(max_links=0), "max_links must be None or an integer of at least 1, got 0"),
        (FewBitClassifier(max_links=2.5), "max_links must be None or an integer"),
        (ScorecardClassifier(hinges=3), "hinges must be one of 1, 2, got 3"),
        (ScorecardClassifier(hinges=1.0), "hinges must be one of 1, 2"),
        (ScorecardClassifier(max_lines=0), "max_lines must be None or an integer of at least 1"),
        (
            ScorecardClassifier(monotone=[1, -1]),
            r"monotone must be None or directions by feature, such as \{'age': 1\}",
        ),
        (ScorecardClassifier(monotone={"age": 2}), "monotone must be 1 or -1 for feature 'age', got 2"),
        (ScorecardClassifier(monotone={"age": 0}), "monotone must be 1 or -1"),
        (ScorecardClassifier(monotone={0.5: 1}), "names or positions of features, got 0.5"),
        (ScorecardClassifier(monotone={-1: 1}), "names or positions of features, got -1"),
        (ScorecardClassifier(class_weight="even"), "class_weight must be None, 'balanced'"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_bad_parameters_are_refused_in_one_line(classifier, words):
    with pytest.raises(ValueError, match=words) as error:
        clone(classifier).fit(DATA, LABELS)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("weight_bound", 7, True),
        ("weight_bound", 1, 2**31),
        ("stages", ["sm", "mw"], ["mw", "sm"]),
        ("stages", ["soft"], "soft"),
        ("C", 0.5, 0),
        ("C", 3, "3"),
        ("gap", 0, -0.5),
        ("gap", None, "wide"),
        ("hinges", 2, True),
        ("hinges", 1, 1.0),
        ("max_links", None, 0),
        ("monotone", [["age", 1], [0, -1]], [["age", 1], ["age", -1]]),
        ("monotone", None, {"age": 1}),
        ("class_weight", "balanced", "even"),
        ("class_weight", [["ill", 2.5]], [["ill", -1]]),
        ("time_limit", [1, 2.5], [1, 0]),
        ("time_limit", None, "10"),
        ("random_state", -3, 2**300),
        ("input_scaling", None, "none"),
        ("subsets", [["a", "b"]], [["a", {}]]),
        ("ties", "abstain", "maybe"),
    ],
)
def test_what_a_file_may_say(name, good, bad):
    check = SETTINGS[name].values.check_stored
    check(name, good)
    with pytest.raises(ValueError, match=r"\w+ (must|is nested)|unknown stage"):
        check(name, bad)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("ties", TIES),
        ("engine", ENGINES),
        ("solver", SOLVERS),
        ("input_scaling", INPUT_SCALINGS),
        ("stages", PAPER_STAGES),
    ],
)
def test_help_names_every_value(name, known):
    for value in known:
        assert str(value).lower() in SETTINGS[name].option.about
        assert value is None or str(value) in SETTINGS[name].about
