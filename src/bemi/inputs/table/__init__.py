"""The transform :class:`TableBits`, for tables with numbers, text and missing cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from bemi.checks import check_integer
from bemi.exact import Integers
from bemi.inputs.circuit_terms import Term
from bemi.inputs.export_hooks import CTransform, PageScript
from bemi.inputs.fixed_point import LARGEST_READING, MISSING, FixedPoint
from bemi.inputs.table import exports
from bemi.inputs.table.cells import (
    UNIT_LEVEL,
    Similarities,
    as_table,
    check_names_differ,
    columns_of,
    names_of,
    remarks_on,
)
from bemi.inputs.table.columns import (
    VALUE_GRID,
    AtLeast,
    Column,
    Condition,
    Constant,
    IsLevel,
    IsLike,
    IsMissing,
    Output,
    Rule,
    Value,
    bits_of,
    outputs_of,
    units_of,
)
from bemi.inputs.table.rules import best_rules, evenly_spaced, holds
from bemi.inputs.table.text import listed
from bemi.inputs.transform import Takes, own_parameters

if TYPE_CHECKING:
    from bemi.export.onnx.graph import Tensor

MOST_SIMILARITIES = MOST_RULES = 4096

MOST_CONDITIONS = 16
"""Of a rule."""

MOST_ROWS = 10_000
"""Of more rows, so many may be landmarks, evenly spaced."""

BITS_CONSTANT = 2
"""The constant beside bits of -1 and 1 alone: as much as a bit changes by.

Few links need a bias larger than a bit's weight may be, and one that does not set the scale of all weights."""


class TableBits(TransformerMixin, BaseEstimator):
    """Bits of a table: thresholds of numbers, levels of categories and missing cells, and a constant input.

    Takes data frames and arrays with numbers, text and missing cells.  All bits of a missing cell, or of a level that
    training did not see, are off.

    Parameters
    ----------
    thresholds
        Maximum thresholds per column of numbers: between all neighbouring values if these are few, else at quantiles.
        0 for none.
    values
        Whether to add the numbers themselves, centred at their median and scaled to -127..127; 0 if missing.
    similarities
        Add how alike a row is to each of at most this many training rows, by which a network sees columns together; 0
        for none.  The model then contains these rows.
    categorical, numeric
        Names or positions of columns that are categories, or numbers, whatever their cells are; by default text is
        a category.
    distinct
        Whether to leave out bits that tell the same as another one in all training rows, as those of a column that is
        there twice do.  Scorecards do.
    rules
        Add at most this many rules, such as ``age >= 54.5 and smoker = yes and dose < 2``, by which a network sees
        columns together; 0 for none.  They are the leaves of trees boosted on the labels.
    rule_length
        Most conditions of a rule.
    without
        Names of bits to leave out, such as ``"region = north"``.  A name that no bit has is ignored: thresholds, and so
        names, depend on the rows.

    Attributes
    ----------
    columns_
        The columns, each a :class:`bemi.inputs.table.column.Column`.
    outputs_
        What each output tells, see :mod:`bemi.inputs.table.columns`.
    level_
        Magnitude of a bit.
    constant_
        Value of the constant input.
    similarities_
        See :class:`bemi.inputs.table.cells.Similarities`; None without.
    n_features_in_
        Number of columns.
    remarks_
        What a user should know about the columns of the training rows, such as text that was read as numbers; lines
        of text.

    Examples
    --------
    >>> import pandas as pd
    >>> from bemi import TableBits
    >>> table = pd.DataFrame({"age": [31, 47, 58, 64], "smoker": ["no", "yes", "no", "yes"]})
    >>> bits = TableBits(thresholds=1).fit(table)
    >>> bits.transform(table)
    array([[-1, -1,  2],
           [-1,  1,  2],
           [ 1, -1,  2],
           [ 1,  1,  2]])
    """

    NAME = "table-bits"
    VERSION = 1
    TITLE = "bits of a table"
    takes = Takes.RAW_COLUMNS
    has_constant = True
    selects_outputs = True

    def __init__(
        self,
        thresholds: int = 8,
        values: bool = False,
        similarities: int = 0,
        categorical: Sequence[str | int] = (),
        numeric: Sequence[str | int] = (),
        distinct: bool = False,
        rules: int = 0,
        rule_length: int = 6,
        without: Sequence[str] = (),
    ) -> None:
        self.thresholds = thresholds
        self.values = values
        self.similarities = similarities
        self.categorical = categorical
        self.numeric = numeric
        self.distinct = distinct
        self.rules = rules
        self.rule_length = rule_length
        self.without = without

    def describe(self) -> str:
        """What the networks see, in a few words.

        Examples
        --------
        >>> bits.describe()
        'bits at up to 1 thresholds per column, categories and missing cells as bits, and a constant input'
        """
        parts = ["centred values"] if self.values else []
        parts += [f"bits at up to {self.thresholds} thresholds per column"] if self.thresholds else []
        parts += [f"up to {self.rules} rules"] if self.rules else []
        parts += [f"similarities to up to {self.similarities} training rows"] if self.similarities else []
        return ", ".join([*parts, "categories and missing cells as bits, and a constant input"])

    def fit(self, X: Any, y: ArrayLike | None = None) -> TableBits:
        """Choose thresholds and levels.

        Parameters
        ----------
        X
            Data frame, or array of shape (rows, columns).
        y
            Labels, for rules; otherwise ignored.

        Examples
        --------
        >>> bits.fit(table).n_outputs
        3
        """
        check_integer("thresholds", self.thresholds, 0, 1000)
        check_integer("similarities", self.similarities, 0, MOST_SIMILARITIES)
        check_integer("rules", self.rules, 0, MOST_RULES)
        check_integer("rule_length", self.rule_length, 2, MOST_CONDITIONS)
        table = as_table(X)
        check_names_differ(table)
        validate_data(self, table, skip_check_array=True)
        if not len(table):
            raise ValueError("training needs at least one row")
        names = names_of(table) or [f"feature {place}" for place in range(table.shape[1])]
        cells = columns_of(table, None)
        kinds = zip(names, cells, self._kinds(names), strict=True)
        columns = [Column.from_cells(name, own, categorical=kind) for name, own, kind in kinds]
        readings = _read(columns, cells)
        lost = [*filter(None, map(Column.what_rounding_loses, columns, cells, readings.T))]
        categories = [column.name for column in columns if column.levels is not None]
        self.remarks_ = [*remarks_on(names, cells, categories), *lost]
        self._fit_columns(columns, readings, y)
        if len(self.outputs_) < 2:
            raise ValueError("; ".join(["no column carries information: each is empty or constant", *lost]))
        return self

    def _fit_columns(self, columns: Sequence[Column], readings: Integers, y: ArrayLike | None) -> TableBits:
        """Choose thresholds, scales and rules for columns with these readings."""
        scaled = bool(self.values) or self.similarities > 0
        fitted = [
            column.fitted(own, thresholds=self.thresholds, values=scaled)
            for column, own in zip(columns, readings.T, strict=True)
        ]
        for bit in bits_of(fitted):
            if bit.name(fitted) in self.without:
                fitted[bit.column] = fitted[bit.column].without(bit)
        if self.distinct:
            fitted = self._without_repeats(fitted, readings)
        # A bit beside values is as long as several of them, the more so the fewer bits there are.
        level = 1 if not self.values else 32 if self.thresholds else 64
        constant = level if scaled else BITS_CONSTANT
        rules: list[Rule] = []
        if self.rules:
            if y is None:
                raise ValueError("rules are chosen by the labels: give them to fit, too")
            rules = best_rules(fitted, readings, y, self.rules, self.rule_length)
        self._with_columns(fitted, level, constant, None, rules)
        if self.similarities and units_of(fitted):
            some = evenly_spaced(len(readings), MOST_ROWS)
            units = self.units(readings[some])
            likeness = Similarities.fit(units, self.similarities)
            if self.values or self.thresholds:
                likeness = likeness.beside(self.from_fixed_point_inputs(readings[some]), units)
            self._with_columns(fitted, level, constant, likeness, rules)
        return self

    def _without_repeats(self, columns: list[Column], readings: Integers) -> list[Column]:
        """The columns without bits that equal an earlier one, or its opposite, in all rows."""
        bits = bits_of(columns)
        on = self._evaluated(bits, readings, 1)
        seen: set[bytes] = set()
        for output, cells in zip(bits, on.T, strict=True):
            # A bit and its opposite are one; that which is off in the first row stands for both.
            pattern = (cells * -cells[0]).tobytes()
            if pattern not in seen:
                seen.add(pattern)
            else:
                columns[output.column] = columns[output.column].without(output)
        return columns

    def refitted(self, readings: Integers, y: ArrayLike | None = None) -> TableBits:
        """The transform fitted on rows with these readings and labels; kinds, units and levels of columns stay."""
        return clone(self)._fit_columns(self.columns_, readings, y)

    def _kinds(self, names: list[str]) -> list[bool | None]:
        """Whether each column was said to be categorical; None if nothing was said."""
        kinds: list[bool | None] = [None] * len(names)
        for what, told, kind in (("categorical", self.categorical, True), ("numeric", self.numeric, False)):
            for given in told:
                place = names.index(given) if given in names else given
                if not isinstance(place, (int, np.integer)) or not 0 <= place < len(names):
                    raise ValueError(f"{what} names {given!r}, which is not a column; columns are {listed(names, 8)}")
                kinds[int(place)] = kind
        return kinds

    def _with_columns(
        self,
        columns: Sequence[Column],
        level: int,
        constant: int,
        likeness: Similarities | None,
        rules: Sequence[Rule],
    ) -> TableBits:
        self.columns_, self.level_, self.constant_, self.similarities_ = tuple(columns), level, constant, likeness
        self._rules = tuple(rules)
        self.n_features_in_ = len(self.columns_)
        landmarks = 0 if likeness is None else len(likeness.landmarks)
        self.outputs_ = outputs_of(
            self.columns_, values=bool(self.values), landmarks=landmarks, constant=self.constant_, rules=self._rules
        )
        return self

    def fixed_point_inputs(self, X: Any) -> Integers:
        """Readings of each row, shape (rows, columns); see :mod:`bemi.inputs.fixed_point`.

        Examples
        --------
        >>> bits.fixed_point_inputs(table[:2])
        array([[31,  0],
               [47,  1]])
        """
        check_is_fitted(self)
        table = as_table(X)
        unnamed = names_of(table) is None or self.column_names is None
        if unnamed and table.shape[1] != self.n_features_in_:
            expected = f"TableBits is expecting {self.n_features_in_} features as input"
            raise ValueError(f"X has {table.shape[1]} features, but {expected}")
        return _read(self.columns_, columns_of(table, self.column_names))

    @property
    def reading_range(self) -> tuple[int, int]:
        """Smallest and largest reading."""
        return MISSING, LARGEST_READING

    def reading_units(self) -> list[dict[str, Any]]:
        """Name of each column, and decimals of its numbers or its levels."""
        return [
            {"name": c.name} | ({"decimals": c.decimals} if c.levels is None else {"levels": list(c.levels)})
            for c in self.columns_
        ]

    @property
    def column_names(self) -> list[str] | None:
        """Names of the columns, None if they were numbered in training."""
        names = [column.name for column in self.columns_]
        return None if names == [f"feature {place}" for place in range(len(names))] else names

    def from_fixed_point_inputs(self, readings: Integers) -> Integers:
        """Outputs for readings, shape (rows, outputs).

        Examples
        --------
        >>> bits.from_fixed_point_inputs(bits.fixed_point_inputs(table[:2]))
        array([[-1, -1,  2],
               [-1,  1,  2]])
        """
        readings = np.asarray(readings)
        outputs = self._evaluated(self.outputs_, readings, self.level_)
        if self.similarities_ is not None:
            outputs[:, self.like_outputs] = self.similarities_.of(self.units(readings))
        return outputs

    def units(self, readings: Integers) -> Integers:
        """What rows with these readings are compared by: values, and bits of categories and missing cells."""
        return self._evaluated(units_of(self.columns_), readings, UNIT_LEVEL)

    def _evaluated(self, outputs: Sequence[Output], readings: Integers, level: int) -> Integers:
        """Outputs but for similarities, with bits of this level."""
        # Constants are the rest.
        values = np.tile(np.array([output.reading for output in outputs], dtype=np.int64), (len(readings), 1))
        for kind in (Value, AtLeast, IsLevel, IsMissing):
            places = [place for place, output in enumerate(outputs) if isinstance(output, kind)]
            own = [outputs[place] for place in places]
            cells = readings[:, [output.column for output in own]]
            if kind is Value:
                scaled = np.clip(self.value_scale(own).scaled(cells), -VALUE_GRID, VALUE_GRID)
                values[:, places] = np.where(cells == MISSING, 0, scaled)
            else:
                limits = np.array([output.reading for output in own], dtype=np.int64)
                on = cells >= limits if kind is AtLeast else cells == limits
                values[:, places] = np.where(on, level, -level)
        for place, output in enumerate(outputs):
            if isinstance(output, Rule):
                values[:, place] = np.where(holds(output, readings), level, -level)
        return values

    @property
    def rows_inside(self) -> int:
        """Number of training rows that the transform keeps."""
        return 0 if self.similarities_ is None else len(self.similarities_.landmarks)

    @property
    def like_outputs(self) -> slice:
        """Positions of the similarities."""
        places = [place for place, output in enumerate(self.outputs_) if isinstance(output, IsLike)]
        return slice(places[0], places[-1] + 1) if places else slice(0, 0)

    def value_scale(self, outputs: Sequence[Output]) -> FixedPoint:
        """How readings become the centred values of these outputs, before they saturate."""
        columns = [self.columns_[output.column] for output in outputs]
        parts = ("decimals", "centre", "multiplier", "shift")
        return FixedPoint(*(np.array([getattr(column, part) for column in columns], dtype=np.int64) for part in parts))

    def transform(self, X: Any) -> Integers:
        """Outputs of each row, shape (rows, outputs).

        Examples
        --------
        >>> bits.transform(table[:1])
        array([[-1, -1,  2]])
        """
        return self.from_fixed_point_inputs(self.fixed_point_inputs(X))

    def output_names(self) -> list[str]:
        """What each output tells, such as ``age >= 54.5`` or ``chol missing``.

        Examples
        --------
        >>> bits.output_names()
        ['age >= 50', 'smoker = yes', 'constant']
        """
        check_is_fitted(self)
        return [output.name(self.columns_) for output in self.outputs_]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """As :meth:`output_names`, for scikit-learn.

        Examples
        --------
        >>> bits.get_feature_names_out()[:2]
        array(['age >= 50', 'smoker = yes'], dtype=object)
        """
        return np.array(self.output_names(), dtype=object)

    @property
    def n_outputs(self) -> int:
        """How many integers a row gives."""
        check_is_fitted(self)
        return len(self.outputs_)

    @property
    def constant_inputs(self) -> tuple[int, ...]:
        """Positions of constant outputs."""
        return tuple(place for place, output in enumerate(self.outputs_) if isinstance(output, Constant))

    def monotone_inputs(self, feature: int) -> Integers:
        """+1 for each output that grows with a column of numbers, 0 for all others."""
        column = self.columns_[feature]
        if column.levels is not None and not column.thresholds:
            raise ValueError(f"column {column.name!r} holds categories, which have no order; only numbers are monotone")
        if self.similarities_ is not None:
            raise ValueError("similarities to training rows are not monotone in any column; use similarities=0")
        if self._rules:
            raise ValueError("rules are about several columns, so monotone cannot restrict one; use rules=0")
        grows = [isinstance(o, (Value, AtLeast)) and o.column == feature for o in self.outputs_]
        return np.array(grows, dtype=np.int64)

    def output_bounds(self, low: int, high: int) -> tuple[Integers, Integers]:
        """Smallest and largest value of each output; they do not depend on the readings' range.

        Examples
        --------
        >>> low, high = bits.output_bounds(-100, 100)
        >>> int(low[0]), int(high[0])
        (-1, 1)
        """
        check_is_fitted(self)
        high_ends = np.array([VALUE_GRID if isinstance(o, Value) else self.level_ for o in self.outputs_])
        low_ends = -high_ends
        low_ends[-1] = high_ends[-1] = self.constant_
        if self.similarities_ is not None:
            low_ends[self.like_outputs] = self.similarities_.table[-1]
            high_ends[self.like_outputs] = self.similarities_.peak
        return low_ends, high_ends

    def parameters(self) -> dict[str, Any]:
        """Everything the fitted transform depends on, for a model file.

        Examples
        --------
        >>> bits.parameters()["name"]
        'table-bits'
        """
        check_is_fitted(self)
        records = [column.record() for column in self.columns_]
        return {
            "name": self.NAME,
            "version": self.VERSION,
            "level": self.level_,
            "constant": self.constant_,
            "values": bool(self.values),
            "similarities": None if self.similarities_ is None else self.similarities_.record(),
            "columns": records,
            **({"rules": [[c.record() for c in rule.conditions] for rule in self._rules]} if self._rules else {}),
        }

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> TableBits:
        """The fitted transform that gave these parameters.

        Examples
        --------
        >>> copy = type(bits).from_parameters(bits.parameters())
        >>> copy.n_outputs == bits.n_outputs
        True
        """
        names = {"level", "constant", "values", "similarities", "columns"} | ({"rules"} & parameters.keys())
        own = own_parameters(cls, parameters, names)
        check_integer("level", own["level"], 1, VALUE_GRID)
        check_integer("constant", own["constant"], 1, VALUE_GRID)
        if not isinstance(own["values"], bool) or not isinstance(own["columns"], list) or not own["columns"]:
            raise ValueError("values must be true or false, and columns a list")
        columns = [Column.from_record(record) for record in own["columns"]]
        likeness = None
        if own["similarities"] is not None:
            ends = np.array([VALUE_GRID if isinstance(unit, Value) else UNIT_LEVEL for unit in units_of(columns)])
            likeness = Similarities.from_record(own["similarities"], -ends, ends)
        rules = _rules_from(own.get("rules", []), columns)
        transform = cls(
            thresholds=max(len(column.thresholds) for column in columns),
            values=own["values"],
            similarities=0 if likeness is None else len(likeness.landmarks),
            categorical=tuple(place for place, column in enumerate(columns) if column.levels is not None),
            distinct=any(column.left_out for column in columns),
            rules=len(rules),
            rule_length=max((len(rule.conditions) for rule in rules), default=2),
        )
        return transform._with_columns(columns, int(own["level"]), int(own["constant"]), likeness, rules)

    def onnx(self, x: Tensor) -> Tensor:
        """The transform as a part of an ONNX graph."""
        return exports.onnx(self, x)

    def c_code(self, low: int, high: int, used: Sequence[int] | None = None) -> CTransform:
        """The outputs at these positions in C, None for all."""
        return exports.c_code(self, range(self.n_outputs) if used is None else used)

    def c_neuron(self, weights: Integers) -> CTransform | None:
        """A neuron with these weights in C, if it is a card: points for tests of readings."""
        return exports.c_neuron(self, weights)

    def page_script(self) -> PageScript:
        """The transform in a page."""
        return exports.page_script(self)

    def page_rows(self, X: Any) -> list[list[Any]]:
        """Rows as plain cells for a page."""
        return exports.page_rows(self, X)

    def page_fields(self, rows: Sequence[Sequence[Any]] | None) -> list[dict[str, Any]]:
        """The fields of a page's form, for plain cells of some rows."""
        return exports.page_fields(self, rows)

    def circuit_terms(self) -> list[Term]:
        """What a circuit computes for each output."""
        return exports.circuit_terms(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "outputs_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def _rules_from(records: Any, columns: Sequence[Column]) -> list[Rule]:
    """The rules of a file; ValueError if they cannot be."""
    if not isinstance(records, (list, tuple)) or len(records) > MOST_RULES:
        raise ValueError(f"rules must be a list of at most {MOST_RULES}")
    for record in records:
        if not isinstance(record, (list, tuple)) or not 2 <= len(record) <= MOST_CONDITIONS:
            raise ValueError(f"a rule must have 2 to {MOST_CONDITIONS} conditions")
    return [Rule(0, 0, tuple(Condition.from_record(part, columns) for part in record)) for record in records]


def _read(columns: Sequence[Column], cells: Sequence[pd.Series]) -> Integers:
    """Readings of the cells of each column, shape (rows, columns)."""
    return np.stack([column.fixed_point_inputs(own) for column, own in zip(columns, cells, strict=True)], axis=1)
