"""Which parameters go with which stages."""

from __future__ import annotations

import numpy as np
import pytest

from bemi import BeMiClassifier
from bemi.training.parameters import check_parameters, usable_weights, without_effect

DEFAULTS = BeMiClassifier().get_params(deep=False)
SOFT = {"hidden_layers": (), "stages": ("soft",)}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"hinges": 3}, "hinges must be one of 1, 2, got 3"),
        ({"hinges": 1.0}, "hinges must be one of 1, 2"),
        ({"max_links": 0}, "max_links must be None or an integer of at least 1, got 0"),
        ({"max_links": 2.5}, "max_links must be None or an integer"),
        ({"monotone": [1, -1]}, r"monotone must be None or directions by feature, such as \{'age': 1\}"),
        ({"monotone": {"age": 2}}, "monotone must be 1 or -1 for feature 'age', got 2"),
        ({"monotone": {"age": 0}}, "monotone must be 1 or -1"),
        ({"monotone": {0.5: 1}}, "names or positions of features, got 0.5"),
        ({"monotone": {-1: 1}}, "names or positions of features, got -1"),
        ({"monotone": {"age": 1}, "subset_size": 3}, "networks on two classes; use subset_size=2"),
        ({"class_weight": "even"}, "class_weight must be None, 'balanced'"),
    ],
)
def test_bad_parameters_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        check_parameters(DEFAULTS | SOFT | given)


@pytest.mark.parametrize("stages", [("sm",), ("sm", "mm", "mw"), ("mw",)])
@pytest.mark.parametrize(
    "given",
    [{"hinges": 2}, {"max_links": 5}, {"monotone": {0: 1}}, {"class_weight": "balanced"}],
    ids=lambda given: next(iter(given)),
)
def test_what_a_stage_cannot_give_is_refused(stages, given):
    (name,) = given
    with pytest.raises(ValueError, match=rf"{name} needs stages=\('soft',\) and hidden_layers=\(\); it has no meaning"):
        check_parameters(DEFAULTS | {"stages": stages} | given)
    check_parameters(DEFAULTS | SOFT | given)
    check_parameters(DEFAULTS | SOFT | {"stages": ("soft", "mw")} | given)


def test_weights_need_a_stage_that_weighs():
    weights = np.array([1.0, 2.0, 1.0])
    assert usable_weights(weights, ("soft", "mw")) is weights
    with pytest.raises(
        ValueError, match=r"sample_weight needs stages=\('soft',\) .* count rows, whatever their weight"
    ):
        usable_weights(weights, ("sm", "mm"))
    assert usable_weights(np.full(3, 2.0), ("sm",)) is None


@pytest.mark.parametrize(
    ("stages", "given", "unused"),
    [
        (("sm", "mm", "mw"), {"C": 3.0, "mw_loss": 0.2}, ["C", "mw_loss"]),
        (("sm", "mm", "mw"), {"C": 10.0, "mw_loss": 0.01, "gap": 0.5}, []),
        (("soft",), {"C": 3.0, "mw_loss": 0.2}, ["mw_loss"]),
        (("soft", "mw"), {"C": 3.0, "mw_loss": 0.2}, []),
        (("sm",), {"gap": 0.5}, ["gap"]),
        (("sm", "mw"), {"mw_loss": 0.2}, ["mw_loss"]),
    ],
)
def test_parameters_without_effect(stages, given, unused):
    assert without_effect(DEFAULTS | {"stages": stages} | given, DEFAULTS) == unused
