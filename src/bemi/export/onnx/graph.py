"""An ONNX graph written down as arithmetic on integer tensors.

onnxruntime 1.31 compares the wrong bits of 64-bit integers in Max, Min, Clip, Relu, ReduceMax and ReduceMin on some
processors (a bug in Eigen, whose vectors it uses), and adds them in double precision in ReduceSum.  So maximum and
minimum are restricted to 32 bits here; comparisons, Where, MatMul and ScatterElements are exact for 64.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import ArrayLike, DTypeLike
from onnx import helper, numpy_helper

OPERATORS = 18
"""Operator set version: the first in which reductions take their axes as an input."""

FILE_FORMAT = 8
"""Version of the file format that came with these operators; older runtimes reject newer ones."""


class Graph:
    """Nodes in the order of creation, and the constants that they use."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._constants: dict[tuple, onnx.TensorProto] = {}

    def input(self, name: str, dtype: DTypeLike, shape: Sequence[int | str]) -> Tensor:
        """An input; a size given by name is variable."""
        self._inputs.append(helper.make_tensor_value_info(name, _onnx_type(dtype), shape))
        return Tensor(self, name, dtype)

    def constant(self, values: ArrayLike, dtype: DTypeLike) -> Tensor:
        """A constant; equal ones are stored once."""
        array = np.asarray(values, dtype=dtype, order="C")
        key = (array.dtype, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = numpy_helper.from_array(array, f"constant_{len(self._constants)}")
        return Tensor(self, self._constants[key].name, dtype)

    def node(self, operator: str, *inputs: Tensor, dtype: DTypeLike, **attributes: Any) -> Tensor:
        """The output of an operator applied to tensors."""
        name = f"{operator.lower()}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, [i.name for i in inputs], [name], name, **attributes))
        return Tensor(self, name, dtype)

    def model(self, outputs: Mapping[str, tuple[Tensor, Sequence[int | str]]], **properties: Any) -> onnx.ModelProto:
        """The checked model, with these outputs and their shapes."""
        declared = []
        for name, (tensor, shape) in outputs.items():
            self._nodes.append(helper.make_node("Identity", [tensor.name], [name], name))
            declared.append(helper.make_tensor_value_info(name, _onnx_type(tensor.dtype), shape))
        graph = helper.make_graph(self._nodes, "bemi", self._inputs, declared, list(self._constants.values()))
        made = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPERATORS)], ir_version=FILE_FORMAT, **properties
        )
        onnx.checker.check_model(made, full_check=True)
        return made


class Tensor:
    """A tensor of a graph.  Python's operators append nodes; numbers and arrays as operands become constants."""

    def __init__(self, graph: Graph, name: str, dtype: DTypeLike) -> None:
        self.graph, self.name, self.dtype = graph, name, np.dtype(dtype)

    def __add__(self, other: Operand) -> Tensor:
        return self._with("Add", other)

    def __sub__(self, other: Operand) -> Tensor:
        return self._with("Sub", other)

    def __rsub__(self, other: ArrayLike) -> Tensor:
        return self.graph.constant(other, self.dtype) - self

    def __mul__(self, other: Operand) -> Tensor:
        return self._with("Mul", other)

    def __floordiv__(self, other: Operand) -> Tensor:
        """The quotient of non-negative numbers; for others ONNX would truncate instead of taking the floor."""
        return self._with("Div", other)

    def __matmul__(self, other: Operand) -> Tensor:
        return self._with("MatMul", other)

    def __rmatmul__(self, other: ArrayLike) -> Tensor:
        return self.graph.constant(other, self.dtype) @ self

    # NumPy arrays leave ``array @ tensor`` to the tensor.
    __array_ufunc__ = None

    def __neg__(self) -> Tensor:
        return self.graph.node("Neg", self, dtype=self.dtype)

    def __ge__(self, other: Operand) -> Tensor:
        return self._with("GreaterOrEqual", other, dtype=bool)

    def __lt__(self, other: Operand) -> Tensor:
        return self._with("Less", other, dtype=bool)

    def __le__(self, other: Operand) -> Tensor:
        return self._with("LessOrEqual", other, dtype=bool)

    def __and__(self, other: Tensor) -> Tensor:
        return self._with("And", other)

    def __or__(self, other: Tensor) -> Tensor:
        return self._with("Or", other)

    def equals(self, other: Operand) -> Tensor:
        return self._with("Equal", other, dtype=bool)

    def at_least(self, other: Operand) -> Tensor:
        """The larger of two numbers."""
        return self._ordered()._with("Max", other)

    def at_most(self, other: Operand) -> Tensor:
        """The smaller of two numbers."""
        return self._ordered()._with("Min", other)

    def clipped(self, low: int, high: int) -> Tensor:
        """The nearest number in ``low..high``, for 64 bits."""
        return (self < low).choose(low, (self <= high).choose(self, high, self.dtype), self.dtype)

    def shifted(self, bits: ArrayLike) -> Tensor:
        """Floors of the quotients by ``2^bits``, for numbers of 64 bits below ``2^60`` and up to 60 bits."""
        # A division truncates, so the dividend is made positive first.
        return (self + 2**60) // (1 << np.asarray(bits)) - (2**60 >> np.asarray(bits))

    def magnitude(self) -> Tensor:
        return self.graph.node("Abs", self, dtype=self.dtype)

    def choose(self, yes: Operand, no: Operand, dtype: DTypeLike = np.int32) -> Tensor:
        """``yes`` where this is true, ``no`` where it is not."""
        chosen = [o if isinstance(o, Tensor) else self.graph.constant(o, dtype) for o in (yes, no)]
        assert all(c.dtype == np.dtype(dtype) for c in chosen)
        return self.graph.node("Where", self, *chosen, dtype=dtype)

    def cast(self, dtype: DTypeLike) -> Tensor:
        if np.dtype(dtype) == self.dtype:
            return self
        return self.graph.node("Cast", self, dtype=dtype, to=_onnx_type(dtype))

    def sum(self, *axes: int, keep: bool = False) -> Tensor:
        """Sums over axes; sums of 64-bit integers must stay below 2^53."""
        return self._reduced("ReduceSum", axes, keep)

    def max(self, *axes: int, keep: bool = False) -> Tensor:
        return self._ordered()._reduced("ReduceMax", axes, keep)

    def min(self, *axes: int, keep: bool = False) -> Tensor:
        return self._ordered()._reduced("ReduceMin", axes, keep)

    def first(self, axis: int, length: int) -> Tensor:
        """Index of the first true entry along an axis, counted from the end as -1, -2, ...; drops the axis."""
        along = np.arange(length).reshape(-1, *[1] * (-axis - 1))
        return self.choose(along, length).min(axis)

    def gather(self, indices: Operand, axis: int) -> Tensor:
        """Entries along an axis, which the indices' axes replace."""
        return self.graph.node("Gather", self, self._index(indices), dtype=self.dtype, axis=axis)

    def gather_elements(self, indices: Tensor, axis: int) -> Tensor:
        """For each index, the entry at that position along an axis."""
        return self.graph.node("GatherElements", self, indices, dtype=self.dtype, axis=axis)

    def scatter_add(self, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
        """This, with updates added at the indices."""
        tensors = (self, indices, updates)
        return self.graph.node("ScatterElements", *tensors, dtype=self.dtype, axis=axis, reduction="add")

    def slice(self, start: int, end: int, axis: int) -> Tensor:
        limits = [self._index([n]) for n in (start, end, axis)]
        return self.graph.node("Slice", self, *limits, dtype=self.dtype)

    def pad(self, before: Sequence[int], after: Sequence[int]) -> Tensor:
        """This padded with zeros, by the given numbers before and after along each axis."""
        return self.graph.node("Pad", self, self._index([*before, *after]), dtype=self.dtype)

    def reshape(self, *shape: int) -> Tensor:
        """0 keeps a size, -1 infers it."""
        return self.graph.node("Reshape", self, self._index(shape), dtype=self.dtype)

    def transpose(self, *order: int) -> Tensor:
        return self.graph.node("Transpose", self, dtype=self.dtype, perm=order)

    def concatenated(self, *others: Tensor, axis: int) -> Tensor:
        return self.graph.node("Concat", self, *others, dtype=self.dtype, axis=axis)

    def unsqueeze(self, *axes: int) -> Tensor:
        return self.graph.node("Unsqueeze", self, self._index(axes), dtype=self.dtype)

    def sizes(self, start: int, end: int) -> Tensor:
        """Lengths of the axes from ``start`` up to ``end``."""
        return self.graph.node("Shape", self, dtype=np.int64, start=start, end=end)

    def expand(self, shape: Tensor) -> Tensor:
        return self.graph.node("Expand", self, shape, dtype=self.dtype)

    def _ordered(self) -> Tensor:
        assert self.dtype == np.int32, "see above: largest and smallest are for 32 bits"
        return self

    def _with(self, operator: str, other: Operand, dtype: DTypeLike | None = None) -> Tensor:
        second = other if isinstance(other, Tensor) else self.graph.constant(other, self.dtype)
        assert second.dtype == self.dtype, f"{operator} of {self.dtype} and {second.dtype}"
        return self.graph.node(operator, self, second, dtype=self.dtype if dtype is None else dtype)

    def _reduced(self, operator: str, axes: Sequence[int], keep: bool) -> Tensor:
        return self.graph.node(operator, self, self._index(axes), dtype=self.dtype, keepdims=int(keep))

    def _index(self, values: Operand) -> Tensor:
        return values if isinstance(values, Tensor) else self.graph.constant(values, np.int64)


Operand = Tensor | ArrayLike


def _onnx_type(dtype: DTypeLike) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
