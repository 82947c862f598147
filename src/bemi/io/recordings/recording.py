"""One recording: samples in the order of time, with all that is known about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Recording:
    """Samples of a sensor.

    Attributes
    ----------
    name
        What messages call it.
    group
        What it shares with other recordings, such as the person who wore the sensor; None if nothing is known.
    rows
        Position of each sample in the table that it comes from, from 0.
    values
        Shape (samples, channels), NaN where missing.
    times
        When each sample was taken, as numbers; None if nobody knows.
    starts
        The same as it was given; the number of the sample without times.
    labels
        Label of each sample, None where there is none; None if no sample has one.
    """

    name: str
    group: Any
    rows: NDArray[np.intp]
    values: NDArray
    times: NDArray[np.float64] | None
    starts: NDArray
    labels: NDArray | None

    def sample(self, position: int) -> str:
        """Which sample it is, in words."""
        return f"{self.name}, row {self.rows[position] + 1}"


def recordings_of(
    table: pd.DataFrame, channels: Sequence[Any], *, id: Any, time: Any, target: Any, name: str, group: Any = None
) -> Iterator[Recording]:
    """The recordings of a long table: one for each value of the column ``id``, or one if that is None.

    Parameters
    ----------
    table
        One row per sample.
    channels, id, time, target
        Columns; None for none.
    name
        What messages call the table.
    group
        Group of the recording if there is no ``id``.
    """
    values = _numbers(table, channels, name)
    times = None if time is None else as_numbers(table[time], f"{name}: column {time!r}")
    labels = None if target is None else _labels(table[target])
    for own, rows in _rows_by_id(table, id, name):
        yield Recording(
            name=name if id is None else f"{name}: {id} {own}",
            group=group if id is None else own,
            rows=rows,
            values=values[rows],
            times=None if times is None else times[rows],
            starts=np.arange(len(rows)) if time is None else table[time].to_numpy()[rows],
            labels=None if labels is None else labels[rows],
        )


def as_numbers(column: pd.Series, place: str) -> NDArray[np.float64]:
    """Times as numbers; dates in seconds."""
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        found = column.to_numpy(dtype=np.float64)
    else:
        try:
            dates = pd.to_datetime(column, format="ISO8601", utc=True)
        except (ValueError, TypeError):
            raise ValueError(f"{place} must hold numbers or dates such as 2024-05-01 12:00:00.25") from None
        found = dates.astype("datetime64[ns, UTC]").astype(np.int64).to_numpy() / 1e9
        found[dates.isna().to_numpy()] = np.nan
    bad = np.flatnonzero(~np.isfinite(found))
    if len(bad):
        raise ValueError(f"{place} has no time in row {bad[0] + 1}")
    return found


def _numbers(table: pd.DataFrame, channels: Sequence[Any], name: str) -> NDArray:
    for channel in channels:
        if not pd.api.types.is_numeric_dtype(table[channel]):
            raise ValueError(f"{name}: column {channel!r} holds no numbers; name the channels of the signal")
    values = table[list(channels)].to_numpy()
    values = values if values.dtype.kind in "iuf" else values.astype(np.float64)
    if values.dtype.kind == "f" and np.isinf(values).any():
        row, channel = np.argwhere(np.isinf(values))[0]
        raise ValueError(f"{name}: column {channels[channel]!r} is infinite in row {row + 1}")
    return values


def _labels(column: pd.Series) -> NDArray:
    found = column.to_numpy(dtype=object, copy=True)
    found[column.isna().to_numpy()] = None
    return found


def _rows_by_id(table: pd.DataFrame, id: Any, name: str) -> Iterator[tuple[Any, NDArray[np.intp]]]:
    """Rows of each recording, in their order; recordings in the order in which they begin."""
    if id is None:
        yield None, np.arange(len(table))
        return
    codes, ids = pd.factorize(table[id])
    if (codes < 0).any():
        raise ValueError(f"{name}: column {id!r} is empty in row {int(np.argmax(codes < 0)) + 1}")
    order = np.argsort(codes, kind="stable")
    yield from zip(ids.tolist(), np.split(order, np.cumsum(np.bincount(codes))[:-1]), strict=True)
