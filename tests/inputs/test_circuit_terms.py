"""Terms compute what the transforms compute."""

import numpy as np
import pytest
from mixed_tables import table_model, wild_readings

from bemi import ConstantInput
from bemi.inputs.circuit_terms import BitTerm, ConstantTerm
from bemi.inputs.fixed_point import MISSING


def value(term, row):
    if isinstance(term, ConstantTerm):
        return term.value
    reading = int(row[term.feature])
    if isinstance(term, BitTerm):
        on = reading == term.reading if term.equal else reading >= term.reading
        return term.level if on else -term.level
    return 0 if term.missing_is_zero and reading == MISSING else term.value(reading)


@pytest.mark.parametrize("settings", [{}, {"values": True}])
def test_those_of_a_table(settings):
    bits = table_model(**settings).transform_
    rows = wild_readings(bits, 60)
    terms = bits.circuit_terms()
    assert np.array_equal([[value(term, row) for term in terms] for row in rows], bits.from_fixed_point_inputs(rows))
    assert [term.bounds for term in terms] == list(zip(*(e.tolist() for e in bits.output_bounds(0, 0)), strict=True))


def test_those_of_a_constant_input():
    constant = ConstantInput(9).fit(np.ones((1, 3), dtype=int))
    rows = np.array([[-20, -9, 8], [9, 10, 0]])
    assert np.array_equal(
        [[value(term, row) for term in constant.circuit_terms()] for row in rows], constant.transform(rows)
    )
