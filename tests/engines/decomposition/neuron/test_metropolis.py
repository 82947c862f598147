"""What the Metropolis walks share."""

import numpy as np
import pytest

from bemi.engines.decomposition.neuron.metropolis import partner_columns, soft_terms


def test_partners_are_the_columns_with_the_shortest_sum_or_difference():
    rng = np.random.default_rng(0)
    columns = rng.integers(-9, 10, (7, 5))
    partners, signs = partner_columns(columns, 2)
    for i, column in enumerate(columns):
        lengths = {
            j: min(((column - other) ** 2).sum(), ((column + other) ** 2).sum())
            for j, other in enumerate(columns)
            if j != i
        }
        assert sorted(lengths[j] for j in partners[i]) == sorted(lengths.values())[:2]
        for j, sign in zip(partners[i], signs[i], strict=True):
            assert ((column + sign * columns[j]) ** 2).sum() == lengths[j]


def test_a_single_column_has_no_partner():
    partners, signs = partner_columns(np.array([[1, 2]]), 8)
    assert partners.shape == signs.shape == (1, 0)


def test_terms_and_their_sum():
    y, terms = np.array([3, 5, 8]), np.empty(3, np.float32)
    total = soft_terms(y, 6.0, 2.0, terms)
    assert terms == pytest.approx(np.exp((6.0 - y) / 2.0), rel=1e-6)
    assert total == pytest.approx(terms.sum(), rel=1e-6)
