"""Labels and categories are found again, however a file writes them."""

from __future__ import annotations

import pytest

from bemi.io import Known


@pytest.mark.parametrize(
    ("values", "given", "found"),
    [
        (["1.0", "-1.0"], "1", "1.0"),
        (["1.0", "-1.0"], "-1", "-1.0"),
        ([1, -1], "1.0", 1),
        ([1, -1], "+1", 1),
        (["1", "x"], 1.0, "1"),
        ([1.5, 2.5], "1.50", 1.5),
        (["01", "1"], "1", "1"),
        (["01", "1"], "01", "01"),
        (["01", "1"], "1.0", None),
        (["a"], "A", None),
        (["nan"], "NaN", None),
        (["100000000000000000001"], "100000000000000000000", None),
        (["inf"], "Infinity", None),
    ],
)
def test_a_text_is_found_as_it_is_or_as_a_number(values, given, found):
    result = Known(values).find(given)
    assert result == found
    assert type(result) is type(found)
