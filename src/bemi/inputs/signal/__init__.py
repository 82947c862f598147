"""The transform :class:`SignalCounts`, for windows of a signal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from bemi.checks import check_choice, check_integer, is_integer
from bemi.exact import Integers
from bemi.inputs.export_hooks import CTransform, CWindow, PageScript
from bemi.inputs.signal import exports
from bemi.inputs.signal.responses import KERNELS, LARGEST, THRESHOLDS, Layout, counts, responses, usual_rocket
from bemi.inputs.signal.samples import BITS, LONGEST, SHORTEST, Samples, as_rows, as_windows, shape_of, shaped
from bemi.inputs.transform import Takes, own_parameters

if TYPE_CHECKING:
    from bemi.export.onnx.graph import Tensor

WINDOWS_AT_A_TIME = 256
"""Few enough to stay in the processor's cache; also the number of training windows that thresholds are chosen from."""

SPREAD = 32
MOST_DOUBLINGS = 5
"""The standard deviation of counts in training is brought near to this by powers of two up to ``2^MOST_DOUBLINGS``."""

TOTAL_SHARE = 0.1
"""Share of a count's whole variance in the variance that it is scaled by; the rest is that within the classes."""

MOST_CHANNELS = 1024
MOST_ROCKET = 20 * len(KERNELS)

GOLDEN = 40503
"""The golden section in units of 2^-16: its multiples, without the whole part, spread evenly."""


class SignalCounts(TransformerMixin, BaseEstimator):
    """Counts how often a signal, its differences and small kernels exceed thresholds, in integer arithmetic.

    A single sample says little: where in the window something happens is up to chance.  Counts tell what happens
    anywhere: how long the signal is high, how often it rises quickly, how often it has the shape of a kernel.
    Thresholds are taken from the training windows.  Counts that differ little within a class are scaled up.  Constant
    outputs follow the counts: they stand in for a bias, and they make the norms of all windows similar, by which soft
    margins divide.

    Parameters
    ----------
    channels
        Channels of windows that are given as rows, sample by sample with the channels of a sample together; None for
        one.  Windows of shape (time, channels) tell it themselves.
    rocket
        Number of outputs from kernels, a multiple of 84; 0 for levels and differences alone, which are cheaper and
        almost as accurate.  None for 168, and up to 840 in short windows.
    bits
        Bits of a sample: 12, or 15 for signals with rare peaks far above the rest.

    Attributes
    ----------
    layout_
        Which outputs there are, a :class:`bemi.inputs.signal.responses.Layout`.
    samples_
        How values become samples, a :class:`bemi.inputs.signal.samples.Samples`.
    thresholds_, means_, doublings_
        Of each count: the threshold, the mean count in training, and the power of two that its distance from the mean
        is multiplied with.
    n_features_in_
        Samples times channels.

    Examples
    --------
    >>> import numpy as np
    >>> from bemi import SignalCounts
    >>> X = np.random.default_rng(0).integers(-100, 100, (6, 50, 2))  # windows, time, channels
    >>> counts = SignalCounts().fit(X)
    >>> counts.transform(X).shape
    (6, 636)
    """

    NAME = "signal-counts"
    VERSION = 1
    TITLE = "counts of a signal"
    INSTEAD_OF_CIRCUIT = (
        "train on a table of statistics of each window, which are computed before the circuit (a forest on such "
        "statistics loses 11.6 points with five windows per class), or, if all windows begin at the same event, with "
        "inputs=None (--inputs none)"
    )
    takes = Takes.WINDOWS
    has_constant = True

    def __init__(self, channels: int | None = None, rocket: int | None = None, bits: int = BITS[0]) -> None:
        self.channels = channels
        self.rocket = rocket
        self.bits = bits

    def describe(self) -> str:
        """What the networks see, in a few words.

        Examples
        --------
        >>> counts.describe()
        'counts of levels, differences and kernels'
        """
        if self.rocket == 0:
            return "counts of levels and differences"
        return f"counts of levels, differences and {'' if self.rocket is None else f'{self.rocket} '}kernels"

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> SignalCounts:
        """Choose units, thresholds and scales.

        Parameters
        ----------
        X
            Windows, shape (windows, time, channels) or (windows, time x channels).
        y
            Labels, by which counts are scaled; None if they are not known.

        Examples
        --------
        >>> counts.fit(X).n_outputs
        636
        """
        self._check_parameters()
        rows = as_windows(X)
        time, channels = shape_of(rows, self.channels)
        windows = shaped(rows, time, channels)
        samples = Samples.fit(windows, int(self.bits))
        return self._fit(samples, samples.fixed_point_inputs(windows), y)

    def _check_parameters(self) -> None:
        check_integer("channels", self.channels, 1, MOST_CHANNELS, optional=True)
        if self.rocket is not None and (not is_integer(self.rocket, 0, MOST_ROCKET) or self.rocket % len(KERNELS)):
            raise ValueError(f"rocket must be a multiple of {len(KERNELS)} in 0..{MOST_ROCKET}, got {self.rocket!r}")
        check_choice("bits", int(self.bits) if is_integer(self.bits) else self.bits, BITS)

    def _fit(self, samples: Samples, read: Integers, y: ArrayLike | None) -> SignalCounts:
        """Choose thresholds and scales for readings of shape (windows, time, channels)."""
        self.samples_ = samples
        self._set_layout(read.shape[1], read.shape[2])
        chosen = np.linspace(0, len(read) - 1, min(len(read), WINDOWS_AT_A_TIME)).round().astype(np.int64)
        self.thresholds_ = self._chosen_thresholds(self._planes(read[chosen]))
        counted = self._counts(read)
        self.means_ = (2 * counted.sum(axis=0) + len(counted)) // (2 * len(counted))
        self.doublings_ = _doublings(counted, y)
        return self

    def _set_layout(self, time: int, channels: int) -> None:
        rocket = usual_rocket(int(time)) if self.rocket is None else int(self.rocket)
        self.layout_ = Layout(int(time), int(channels), rocket)
        self.n_features_in_ = self.layout_.time * self.layout_.channels

    def _chosen_thresholds(self, planes: NDArray[np.signedinteger]) -> Integers:
        """Quantiles of the responses: output q has the one at the fraction of q times the golden section."""
        chosen = np.empty(self.layout_.counts, dtype=np.int64)
        for outputs, response in responses(planes, self.layout_):
            pooled = np.sort(response, axis=None)
            for q in outputs:
                chosen[q] = pooled[((q * GOLDEN) % 65536) * (len(pooled) - 1) >> 16]
        return chosen

    def _planes(self, read: Integers) -> NDArray[np.signedinteger]:
        """Samples of shape (channels, time, windows), in a type that holds all responses."""
        kind = np.int16 if self.samples_.bits == BITS[0] else np.int32
        return np.ascontiguousarray(self.samples_(read).transpose(2, 1, 0), dtype=kind)

    def _counts(self, read: Integers) -> Integers:
        """Counts in their units, shape (windows, counts), for readings of shape (windows, time, channels)."""
        counted = np.empty((len(read), self.layout_.counts), dtype=np.int64)
        for start in range(0, len(read), WINDOWS_AT_A_TIME):
            batch = slice(start, start + WINDOWS_AT_A_TIME)
            counted[batch] = counts(self._planes(read[batch]), self.layout_, self.thresholds_).T
        return counted >> self.count_shift

    @property
    def higher(self) -> NDArray[np.bool_]:
        """Which outputs of a level or a difference have the higher half of its thresholds, shape (responses, 8)."""
        own = self.thresholds_[: self.layout_.first_rocket].reshape(-1, THRESHOLDS)
        return own.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable") >= THRESHOLDS // 2

    @property
    def summaries(self) -> Integers:
        """Signs of the outputs in sums that tell how wide and how high each level or difference is.

        Shape (outputs, sums).  The outputs of the higher half of the thresholds minus the others grow with the width,
        all outputs with the height.
        """
        signs = np.where(self.higher, 1, -1)
        responses = len(signs)
        own = np.zeros((responses, THRESHOLDS, responses, 2), dtype=np.int64)
        every = np.arange(responses)
        own[every, :, every] = np.stack([signs, np.ones_like(signs)], axis=2)
        made = own.reshape(responses * THRESHOLDS, 2 * responses)
        return np.concatenate([made, np.zeros((self.n_outputs - len(made), made.shape[1]), dtype=np.int64)])

    @property
    def level_summaries(self) -> list[int]:
        """Positions, in the sums, of how high each channel is."""
        return [2 * place + 1 for place, difference in enumerate(self.layout_.differences) if difference.order == 0]

    @property
    def count_shift(self) -> int:
        """Shift of a count, so that it fits eight bits."""
        return max(0, self.layout_.time.bit_length() - 8)

    def fixed_point_inputs(self, X: Any) -> Integers:
        """Readings of each window, shape (windows, time x channels); see :mod:`bemi.inputs.fixed_point`.

        Examples
        --------
        >>> counts.fixed_point_inputs(X).shape
        (6, 100)
        """
        check_is_fitted(self)
        rows = as_windows(X)
        windows = shaped(rows, self.layout_.time, self.layout_.channels)
        return as_rows(self.samples_.fixed_point_inputs(windows))

    def from_fixed_point_inputs(self, readings: Integers) -> Integers:
        """Outputs for readings, shape (windows, outputs).

        Examples
        --------
        >>> counts.from_fixed_point_inputs(counts.fixed_point_inputs(X)).shape
        (6, 636)
        """
        read = np.asarray(readings).reshape(-1, self.layout_.time, self.layout_.channels)
        outputs = np.full((len(read), self.layout_.outputs), LARGEST, dtype=np.int64)
        distances = self._counts(read) - self.means_
        np.clip(distances << self.doublings_, -LARGEST, LARGEST, out=outputs[:, : self.layout_.counts])
        return outputs

    def refitted(self, readings: Integers, y: ArrayLike | None = None) -> SignalCounts:
        """The transform fitted on windows with these readings and labels, in the same units."""
        read = np.asarray(readings).reshape(-1, self.layout_.time, self.layout_.channels)
        return clone(self)._fit(self.samples_.refitted(read), read, y)

    def transform(self, X: ArrayLike) -> Integers:
        """Outputs of each window, shape (windows, outputs).

        Examples
        --------
        >>> int(abs(counts.transform(X)).max())
        127
        """
        return self.from_fixed_point_inputs(self.fixed_point_inputs(X))

    @property
    def window_shape(self) -> tuple[int, int]:
        """Samples and channels of a window."""
        return self.layout_.time, self.layout_.channels

    @property
    def reading_range(self) -> tuple[int, int]:
        """Smallest and largest reading."""
        check_is_fitted(self)
        return self.samples_.reading_range

    @property
    def sample_quantiles(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Fractions of the training samples, and the values up to which these are; shape (channels, thresholds)."""
        per_channel = len(self.layout_.differences) // self.layout_.channels
        levels = THRESHOLDS * per_channel * np.arange(self.layout_.channels)[:, None] + np.arange(THRESHOLDS)
        samples = self.samples_
        shifts, offsets, decimals = (
            np.array(part)[:, None] for part in (samples.shifts, samples.offsets, samples.decimals)
        )
        return levels * GOLDEN % 65536 / 65536, ((self.thresholds_[levels] << shifts) + offsets) * 10.0**-decimals

    def reading_units(self) -> list[dict[str, Any]]:
        """Name and decimals of each reading."""
        check_is_fitted(self)
        return [
            {"name": f"sample {t} of channel {channel}", "decimals": decimals}
            for t in range(self.layout_.time)
            for channel, decimals in enumerate(self.samples_.decimals)
        ]

    @property
    def n_outputs(self) -> int:
        """How many integers a window gives."""
        check_is_fitted(self)
        return self.layout_.outputs

    def output_bounds(self, low: int, high: int) -> tuple[Integers, Integers]:
        """Smallest and largest value of each output; they do not depend on the readings' range.

        Examples
        --------
        >>> low, high = counts.output_bounds(-100, 100)
        >>> int(low[0]), int(high[0])
        (-127, 0)
        """
        check_is_fitted(self)
        most = self.layout_.time >> self.count_shift
        ends = [(end - self.means_) << self.doublings_ for end in (0, most)]
        constants = np.full(self.layout_.constants, LARGEST)
        lowest, highest = (np.concatenate([np.clip(end, -LARGEST, LARGEST), constants]) for end in ends)
        return lowest, highest

    @property
    def constant_inputs(self) -> tuple[int, ...]:
        """Positions of constant outputs."""
        check_is_fitted(self)
        return tuple(range(self.layout_.counts, self.layout_.outputs))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the outputs; ``input_features`` is ignored.

        Examples
        --------
        >>> counts.get_feature_names_out()[:2]
        array(['channel0_level_0', 'channel0_level_1'], dtype=object)
        """
        check_is_fitted(self)
        return np.array(self.layout_.names(), dtype=object)

    def parameters(self) -> dict[str, Any]:
        """Everything the fitted transform depends on, for a model file.

        Examples
        --------
        >>> counts.parameters()["name"]
        'signal-counts'
        """
        check_is_fitted(self)
        return {
            "name": self.NAME,
            "version": self.VERSION,
            "time": self.layout_.time,
            "rocket": self.layout_.rocket,
            **self.samples_.record(),
            "thresholds": self.thresholds_.tolist(),
            "means": self.means_.tolist(),
            "doublings": self.doublings_.tolist(),
        }

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> SignalCounts:
        """The fitted transform that gave these parameters.

        Examples
        --------
        >>> copy = type(counts).from_parameters(counts.parameters())
        >>> copy.n_outputs == counts.n_outputs
        True
        """
        names = {"time", "rocket", "thresholds", "means", "doublings"}
        own = own_parameters(cls, parameters, names | {field.name for field in fields(Samples)})
        samples = Samples.from_record({field.name: own[field.name] for field in fields(Samples)})
        check_integer("time", own["time"], SHORTEST, LONGEST)
        if own["rocket"] is None:
            raise ValueError("rocket must be a number")
        transform = cls(len(samples.decimals), own["rocket"], samples.bits)
        transform._check_parameters()
        transform._set_layout(own["time"], len(samples.decimals))
        transform.samples_ = samples
        outputs = transform.layout_.counts
        largest = samples.limit * transform.layout_.reaches
        ends = {
            "thresholds": (-largest, largest),
            "means": (np.zeros(outputs), np.full(outputs, transform.layout_.time >> transform.count_shift)),
            "doublings": (np.zeros(outputs), np.full(outputs, MOST_DOUBLINGS)),
        }
        for name, limits in ends.items():
            values = own[name]
            if not isinstance(values, Sequence) or len(values) != outputs:
                raise ValueError(f"{name} must be {outputs} integers")
            for value, low, high in zip(values, *limits, strict=True):
                check_integer(name, value, int(low), int(high))
            setattr(transform, f"{name}_", np.array(values, dtype=np.int64))
        return transform

    def c_code(self, low: int, high: int) -> CTransform:
        """The transform in C."""
        return exports.c_code(self)

    def c_window(self, in_batches: bool, summed: bool) -> CWindow:
        """The transform in C, for a window in a ring buffer."""
        return exports.c_window(self, in_batches, summed)

    def onnx(self, x: Tensor) -> Tensor:
        """The transform as a part of an ONNX graph."""
        return exports.onnx(self, x)

    def page_script(self) -> PageScript:
        """The transform in a page."""
        return exports.page_script(self)

    def page_rows(self, X: Any) -> list[list[float]]:
        """Windows as rows of numbers for a page."""
        rows = as_windows(X)
        return as_rows(shaped(rows, self.layout_.time, self.layout_.channels)).tolist()

    def page_fields(self, rows: Sequence[Sequence[Any]] | None) -> list[dict[str, Any]]:
        """The fields of a page's form, for some windows."""
        return exports.page_fields(self, rows)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "doublings_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


def _doublings(counts: Integers, y: ArrayLike | None) -> Integers:
    """By which power of two each count, shape (windows, counts), is multiplied.

    With the standard deviation sigma of a count and its deviation within the classes ``tau^2 = (1 - TOTAL_SHARE)
    within + TOTAL_SHARE sigma^2``, the factor is near ``SPREAD / (r tau)``, where r is the root of the mean of
    ``(sigma / tau)^2`` over all counts: so SPREAD remains the deviation of the outputs as a whole.
    """
    deviations = np.maximum(0.5, counts.std(axis=0))
    within = _variances_within(counts, y)
    tau = np.sqrt(np.maximum(0.25, (1 - TOTAL_SHARE) * within + TOTAL_SHARE * counts.var(axis=0)))
    kept = np.sqrt(np.mean((deviations / tau) ** 2))
    return np.clip(np.rint(np.log2(SPREAD / (tau * kept))), 0, MOST_DOUBLINGS).astype(np.int64)


def _variances_within(counts: Integers, y: ArrayLike | None) -> NDArray[np.float64]:
    """Variance of each count around the means of the classes; around the common one if there are no labels to tell."""
    classes, place = (np.zeros(1), np.zeros(len(counts), np.intp)) if y is None else np.unique(y, return_inverse=True)
    freedom = len(counts) - len(classes)
    if freedom <= 0:
        return counts.var(axis=0)
    sums = np.zeros((len(classes), counts.shape[1]))
    np.add.at(sums, place, counts)
    apart = counts - (sums / np.bincount(place)[:, None])[place]
    return (apart**2).sum(axis=0) / freedom
