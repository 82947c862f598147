"""The transform :class:`ConstantInput`, for tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bemi.checks import check_integer
from bemi.exact import Integers
from bemi.inputs.circuit_terms import ConstantTerm, NumberTerm, Term
from bemi.inputs.export_hooks import CTransform, PageScript, file_of
from bemi.inputs.transform import Takes, own_parameters

if TYPE_CHECKING:
    from bemi.export.onnx.graph import Tensor

LARGEST_LEVEL = 2**31 - 1


class ConstantInput(TransformerMixin, BaseEstimator):
    """Appends a constant input: its weight serves as the bias that a neuron does not have.

    Inputs saturate at the constant, so they all lie in ``-level..level``.

    Parameters
    ----------
    level
        The constant; None uses the largest magnitude seen in ``fit``.

    Attributes
    ----------
    level_
        The constant.
    n_features_in_
        Inputs without the constant.

    Examples
    --------
    >>> from bemi import ConstantInput
    >>> constant = ConstantInput().fit([[3, -5], [2, 4]])
    >>> constant.transform([[3, -5], [9, 0]])
    array([[ 3, -5,  5],
           [ 5,  0,  5]])
    """

    NAME = "constant-input"
    VERSION = 1
    TITLE = "constant input"
    takes = Takes.SCALED_INTEGERS
    keeps_features = True
    has_constant = True

    def __init__(self, level: int | None = None) -> None:
        self.level = level

    def describe(self) -> str:
        """What the networks see, in a few words.

        Examples
        --------
        >>> constant.describe()
        'features and a constant input'
        """
        return "features and a constant input"

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> ConstantInput:
        """Choose the constant.

        Parameters
        ----------
        X
            Integers, shape (rows, features).
        y
            Ignored.

        Examples
        --------
        >>> constant.fit([[3, -5], [2, 4]]).n_outputs
        3
        """
        inputs: NDArray = validate_data(self, X)
        largest = max(1, int(inputs.max()), -int(inputs.min()))
        return self._with_level(largest if self.level is None else self.level)

    def _with_level(self, level: Any) -> ConstantInput:
        check_integer("level", level, 1, LARGEST_LEVEL)
        self.level_ = int(level)
        return self

    def transform(self, X: ArrayLike) -> Integers:
        """The inputs of each row, clipped at the constant, followed by the constant.

        Examples
        --------
        >>> constant.transform([[1, 1]])
        array([[1, 1, 5]])
        """
        check_is_fitted(self)
        inputs: NDArray = validate_data(self, X, reset=False)
        if not np.array_equal(inputs, np.rint(inputs)):
            raise ValueError("inputs must be integers; give other data an input_scaling")
        within = np.clip(inputs, -self.level_, self.level_).astype(np.int64)
        return np.concatenate([within, np.full((len(within), 1), self.level_)], axis=1)

    @property
    def input_range(self) -> tuple[int, int]:
        """Smallest and largest integer that a row may have; values beyond the constant saturate."""
        return -LARGEST_LEVEL, LARGEST_LEVEL

    @property
    def n_outputs(self) -> int:
        """How many integers a row gives."""
        check_is_fitted(self)
        return self.n_features_in_ + 1

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the features, and ``constant``.

        Examples
        --------
        >>> constant.get_feature_names_out()[:2]
        array(['x0', 'x1'], dtype=object)
        """
        check_is_fitted(self)
        own_names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        names = own_names if input_features is None else input_features
        return np.array([*names, "constant"], dtype=object)

    @property
    def constant_inputs(self) -> tuple[int, ...]:
        """Positions of constant outputs."""
        return (self.n_outputs - 1,)

    def monotone_inputs(self, feature: int) -> Integers:
        """+1 for the output that grows with a feature, 0 for all others."""
        return np.eye(1, self.n_outputs, feature, dtype=np.int64)[0]

    def output_bounds(self, low: int, high: int) -> tuple[Integers, Integers]:
        """Smallest and largest value of each output, for rows whose values are all in ``low..high``.

        Examples
        --------
        >>> low, high = constant.output_bounds(-2, 2)
        >>> int(low[0]), int(high[0])
        (-2, 2)
        """
        check_is_fitted(self)
        lowest, highest = (np.full(self.n_outputs, np.clip(end, -self.level_, self.level_)) for end in (low, high))
        lowest[-1] = highest[-1] = self.level_
        return lowest, highest

    def parameters(self) -> dict[str, Any]:
        """Everything the fitted transform depends on, for a model file.

        Examples
        --------
        >>> constant.parameters()["name"]
        'constant-input'
        """
        check_is_fitted(self)
        return {"name": self.NAME, "version": self.VERSION, "inputs": self.n_features_in_, "level": self.level_}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> ConstantInput:
        """The fitted transform that gave these parameters.

        Examples
        --------
        >>> copy = type(constant).from_parameters(constant.parameters())
        >>> copy.n_outputs == constant.n_outputs
        True
        """
        own = own_parameters(cls, parameters, {"inputs", "level"})
        check_integer("inputs", own["inputs"], 1)
        transform = cls(own["level"])
        transform.n_features_in_ = int(own["inputs"])
        return transform._with_level(own["level"])

    def c_code(self, low: int, high: int) -> CTransform:
        """The transform in C."""
        return CTransform(
            source=file_of(__package__, "constant_input.c"),
            macros={"BEMI_LEVEL": self.level_},
            tables=(),
            code_bytes=80,
            stack_bytes=0,
            instructions=14 * self.n_features_in_,
        )

    def onnx(self, x: Tensor) -> Tensor:
        """The transform as a part of an ONNX graph."""
        within = x.at_least(-self.level_).at_most(self.level_)
        # One more column, for any number of rows.
        return within.concatenated(within.slice(0, 1, axis=1) * 0 + self.level_, axis=1)

    def page_script(self) -> PageScript:
        """The transform in a page."""
        return PageScript(file_of(__package__, "constant_input.js"), {"level": self.level_})

    def circuit_terms(self) -> list[Term]:
        """What a circuit computes for each output."""
        numbers = [NumberTerm(place, -self.level_, self.level_) for place in range(self.n_features_in_)]
        return [*numbers, ConstantTerm(self.level_)]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "level_")
