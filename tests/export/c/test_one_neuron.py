"""Scorecards in C: one loop over the lines of the card."""

import copy

import numpy as np
import pytest
from bemi_lab.benchmarks.boards import run, size
from compiled_c import HOST_OF_PROBABILITIES, SANITIZED, answers, board, compiled, needs_gcc, stack_used
from exported_models import expected, expected_probabilities, with_networks
from mixed_tables import table_model, wild_readings

from bemi import Network
from bemi.export.c import export, write


def card(lines, *, seed=0, values=False, **settings):
    """A model of few lines: the largest weights of a trained one, the others set to 0."""
    classifier = copy.copy(table_model(values=values, **settings))
    network = classifier.ensemble_.networks[0]
    weights = np.random.default_rng(seed).permutation(7 + np.arange(len(network.weights[0]))) % 15 - 7
    kinds = [type(output).__name__ for output in classifier.transform_.outputs_]
    # A line of every kind but values, then others.
    places = [kinds.index(kind) for kind in dict.fromkeys(kinds) if kind != "Value"]
    others = [place for place, kind in enumerate(kinds) if kind != "Value" and place not in places]
    kept = [*places, *np.random.default_rng(seed).permutation(others)][:lines]
    cut = np.zeros_like(network.weights[0])
    cut[kept, 0] = np.where(weights[kept] == 0, 3, weights[kept])
    return with_networks(classifier, [Network((cut,), network.weight_bound)], classifier.ensemble_.splitting)


CARDS = {
    "4 lines": lambda: card(4),
    "10 lines": lambda: card(10, seed=1),
    "10 lines, no early answer": lambda: card(10, seed=1, ties="abstain"),
    "40 lines": lambda: card(40, seed=2),
    "10 lines, bits of 64": lambda: card(10, seed=3, values=True),
}


@needs_gcc
@pytest.mark.parametrize("name", CARDS)
def test_cards_agree_with_python(name, tmp_path):
    classifier = CARDS[name]()
    made = write(classifier, tmp_path)
    assert "bemi_neuron" in made.source
    assert "bemi_state_t" not in made.source
    rows = wild_readings(classifier.transform_, 2000)
    labels = expected(classifier, rows)
    assert len(set(labels)) == 2
    for flags in (("-O0",), ("-Os",), ("-O3",), SANITIZED):
        assert np.array_equal(answers(compiled(tmp_path, *flags), rows, "int32_t"), labels)


@needs_gcc
def test_chances_of_a_card(tmp_path):
    classifier = table_model(max_links=10, probabilities=True)
    assert "bemi_neuron" in write(classifier, tmp_path).source
    rows = wild_readings(classifier.transform_, 1000)
    wanted = np.column_stack([expected(classifier, rows), expected_probabilities(classifier, rows)])
    found = answers(compiled(tmp_path, *SANITIZED, host=HOST_OF_PROBABILITIES), rows, "int32_t")
    assert np.array_equal(found.reshape(-1, 3), wanted)


def test_other_models_are_laid_out_as_before():
    for classifier in (table_model(values=True), table_model(classes=3)):
        assert "bemi_state_t" in export(classifier).source
    assert "bemi_neuron" in export(table_model()).source


@pytest.mark.parametrize("device", [board("cortex_m3"), board("riscv32"), board("atmega328p")])
@pytest.mark.parametrize("name", CARDS)
def test_cards_on_devices(device, name, tmp_path):
    classifier = CARDS[name]()
    made = write(classifier, tmp_path)
    rows = wild_readings(classifier.transform_, 60)
    found = run(device, tmp_path, rows)
    assert np.array_equal(found.predictions, expected(classifier, rows))
    built = size(device, tmp_path)
    assert (built.ram, built.undefined) == (0, ())
    if device.name == "cortex_m3":
        assert built.flash <= made.costs.flash
        # Loops of four turns are unrolled, and little is left of them.
        assert made.costs.flash <= 1.3 * built.flash or name == "4 lines"
        assert found.instructions.max() <= made.costs.instructions
        assert stack_used(device, tmp_path) <= made.costs.stack
    if name == "10 lines":
        # With a table of chances it should stay below 260.
        assert built.flash <= 210
