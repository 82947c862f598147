"""ConstantInput: a stand-in for the bias."""

import pandas as pd
import pytest

from bemi import ConstantInput


def test_inputs_saturate_at_the_constant():
    transform = ConstantInput(level=10).fit([[3, 4]])
    assert transform.transform([[3, -40], [11, 0]]).tolist() == [[3, -10, 10], [10, 0, 10]]
    assert [end.tolist() for end in transform.output_bounds(-30, 30)] == [[-10, -10, 10], [10, 10, 10]]
    assert [end.tolist() for end in transform.output_bounds(0, 7)] == [[0, 0, 10], [7, 7, 10]]
    assert transform.n_outputs == 3
    again = ConstantInput.from_parameters(transform.parameters())
    assert again.transform([[3, -40]]).tolist() == [[3, -10, 10]]
    assert ConstantInput().fit([[-7, 4]]).level_ == 7


@pytest.mark.parametrize(
    "parameters",
    [
        {"name": "constant-input", "version": 2, "inputs": 2, "level": 5},
        {"name": "constant-input", "version": 1, "inputs": 0, "level": 5},
        {"name": "constant-input", "version": 1, "inputs": 2, "level": 0},
        {"name": "constant-input", "version": 1, "inputs": 2},
        {"name": "constant-input", "version": 1, "inputs": 2, "level": None},
        {"name": "constant-input", "version": True, "inputs": 2, "level": 5},
    ],
)
def test_damaged_parameters_are_refused(parameters):
    with pytest.raises(ValueError, match=r"version|inputs|level"):
        ConstantInput.from_parameters(parameters)


def test_the_smallest_64_bit_integer_is_too_large_for_a_constant():
    with pytest.raises(ValueError, match="level must be an integer in"):
        ConstantInput().fit([[-(2**63)], [1]])


def test_frames_come_back_as_frames_with_names():
    frame = pd.DataFrame({"mass": [1, 2], "dose": [3, -4]}, index=[7, 9])
    out = ConstantInput().set_output(transform="pandas").fit(frame).transform(frame)
    assert (out.columns.tolist(), out.index.tolist()) == (["mass", "dose", "constant"], [7, 9])
    assert ConstantInput().fit([[1, 2]]).get_feature_names_out().tolist() == ["x0", "x1", "constant"]
