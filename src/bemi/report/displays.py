"""Pictures of fitted ensembles, in the style of scikit-learn's displays: ``XDisplay.from_estimator(clf, ...)``.

A display keeps what it shows, draws it when it is made, and draws again with ``plot(ax=...)``.  Confusion matrices are
scikit-learn's own: ``ConfusionMatrixDisplay.from_estimator(clf, X, y)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bemi.ensemble.ensemble import Ensemble, ensemble_of
from bemi.report.scorecard_views import GREY, MINUS, PLUS

MOST_BARS = 20
"""Weights of a neuron that are drawn as bars: the largest ones."""

SMALLEST_IMAGE = 16
"""Fewest features that are drawn as an image if they are a square number."""


def _axes(ax: Any, width: float = 5.0, height: float = 4.0) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("matplotlib is not installed; install it with: pip install 'bemi[figures]'") from error
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


@dataclass(eq=False, repr=False)
class _Display:
    """What displays share: after ``plot``, ``ax_`` and ``figure_``."""

    ax_: Any = field(init=False, default=None)

    def __repr__(self) -> str:
        shapes = (f"{part.name} {np.shape(getattr(self, part.name))}" for part in fields(self) if part.init)
        return f"{type(self).__name__}({', '.join(shapes)})"

    @property
    def figure_(self) -> Any:
        """The figure that was drawn to last."""
        return None if self.ax_ is None else self.ax_.figure


@dataclass(eq=False, repr=False)
class WeightsDisplay(_Display):
    """Weights of one neuron: an image if inputs are pixels, otherwise bars of the largest weights.

    Attributes
    ----------
    weights
        The weights.
    names
        Names of the inputs.
    shape
        Height and width of the image; None for bars.
    title
        Which neuron of which network.
    bound
        Largest weight that there could be.

    Examples
    --------
    >>> from bemi import BeMiClassifier, WeightsDisplay
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BeMiClassifier(hidden_layers=()).fit(X[::5], y[::5])
    >>> display = WeightsDisplay.from_estimator(clf, classes=(0, 1))
    >>> display.title
    '0 / 1'
    """

    weights: NDArray[np.int64]
    names: Sequence[str]
    shape: tuple[int, int] | None
    title: str
    bound: int

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        classes: tuple | None = None,
        *,
        neuron: int = 0,
        shape: tuple[int, int] | None = None,
        ax: Any = None,
    ) -> WeightsDisplay:
        """Draw the weights of a neuron in the first layer of a network.

        Parameters
        ----------
        estimator
            A fitted :class:`bemi.BeMiClassifier`.
        classes
            Which network: a key of ``networks_``; the first one if None.
        neuron
            Which neuron of the first layer.
        shape
            Height and width if inputs are pixels; None to draw squares of numbers as an image if the features have no
            names and no transform.
        ax
            Where to draw.

        Examples
        --------
        >>> WeightsDisplay.from_estimator(clf, classes=(0, 1)).figure_ is not None
        True
        """
        ensemble = ensemble_of(estimator)
        place = 0 if classes is None else _place(ensemble, classes)
        first = ensemble.networks[place].weights[0]
        if not 0 <= neuron < first.shape[1]:
            raise ValueError(f"the first layer has {first.shape[1]} neurons, there is no neuron {neuron}")
        title = f"{' / '.join(map(str, ensemble.keys[place]))}" + (f", neuron {neuron}" if first.shape[1] > 1 else "")
        shape = shape or _square(ensemble)
        display = cls(first[:, neuron].astype(np.int64), input_names(ensemble), shape, title, ensemble.weight_bound)
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> WeightsDisplay:
        """Draw into ``ax``, or into a new figure.

        Examples
        --------
        >>> display.plot().ax_ is display.ax_
        True
        """
        self.ax_ = _axes(ax)
        self.ax_.set_title(self.title)
        return self._image() if self.shape is not None else self._bars()

    def _image(self) -> WeightsDisplay:
        assert self.shape is not None
        pixels = self.weights.reshape(self.shape)
        self.ax_.imshow(pixels, cmap="RdBu", vmin=-self.bound, vmax=self.bound)
        self.ax_.set(xticks=[], yticks=[])
        return self

    def _bars(self) -> WeightsDisplay:
        shown = np.argsort(-np.abs(self.weights), kind="stable")[:MOST_BARS]
        shown = shown[self.weights[shown] != 0]
        places = np.arange(len(shown))[::-1]
        self.ax_.barh(places, self.weights[shown], color=[PLUS if w > 0 else MINUS for w in self.weights[shown]])
        self.ax_.set_yticks(places, [self.names[i] for i in shown])
        self.ax_.axvline(0, color=GREY, linewidth=0.8)
        self.ax_.set_xlabel("weight")
        return self


@dataclass(eq=False, repr=False)
class VotesDisplay(_Display):
    """The votes on one row: how many of its networks each class wins.

    Attributes
    ----------
    labels
        The classes.
    votes, matches
        Votes for each class, and networks that it takes part in.
    prediction
        The resulting label.

    Examples
    --------
    >>> from bemi import BeMiClassifier, VotesDisplay
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BeMiClassifier(hidden_layers=()).fit(X[::5], y[::5])
    >>> display = VotesDisplay.from_estimator(clf, X[0])
    >>> display.prediction
    '0'
    """

    labels: Sequence[str]
    votes: NDArray[np.int64]
    matches: NDArray[np.int64]
    prediction: str

    @classmethod
    def from_estimator(cls, estimator: Any, row: ArrayLike, *, ax: Any = None) -> VotesDisplay:
        """Draw the votes on a row.

        Parameters
        ----------
        estimator
            A fitted :class:`bemi.BeMiClassifier`.
        row
            One row of features, or a table with one row.
        ax
            Where to draw.

        Examples
        --------
        >>> VotesDisplay.from_estimator(clf, X[0]).figure_ is not None
        True
        """
        ensemble = ensemble_of(estimator)
        X = row if np.ndim(row) > 1 else np.asarray(row)[None]
        if len(X) != 1:  # type: ignore[arg-type]
            raise ValueError(f"votes are drawn for one row, got {len(X)}")  # type: ignore[arg-type]
        counts = estimator.vote(X).counts[0]
        matches = np.bincount(np.ravel(ensemble.subsets), minlength=len(ensemble.classes))
        labels = [str(label) for label in ensemble.classes.tolist()]
        return cls(labels, counts, matches, str(estimator.predict(X)[0])).plot(ax=ax)

    def plot(self, ax: Any = None) -> VotesDisplay:
        """Draw into ``ax``, or into a new figure.

        Examples
        --------
        >>> display.plot().ax_ is display.ax_
        True
        """
        self.ax_ = _axes(ax)
        places = np.arange(len(self.labels))[::-1]
        self.ax_.barh(places, self.matches, color="#eeeeee")
        chosen = [PLUS if label == self.prediction else GREY for label in self.labels]
        self.ax_.barh(places, self.votes, color=chosen)
        self.ax_.set_yticks(places, self.labels)
        self.ax_.set(xlabel="votes, of the networks of each class", title=f"prediction: {self.prediction}")
        return self


@dataclass(eq=False, repr=False)
class MarginsDisplay(_Display):
    """Margins of labelled rows: the decision value of the true class minus the largest other.

    Attributes
    ----------
    margins
        One number per row; positive if the row is right.

    Examples
    --------
    >>> from bemi import BeMiClassifier, MarginsDisplay
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BeMiClassifier(hidden_layers=()).fit(X[::5], y[::5])
    >>> display = MarginsDisplay.from_estimator(clf, X, y)
    >>> display.margins.shape
    (150,)
    """

    margins: NDArray[np.float64]

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike, y: ArrayLike, *, ax: Any = None) -> MarginsDisplay:
        """Draw the margins of rows with known labels.

        Parameters
        ----------
        estimator
            A fitted :class:`bemi.BeMiClassifier`.
        X, y
            Rows and their labels, all of them classes of the estimator.
        ax
            Where to draw.

        Examples
        --------
        >>> MarginsDisplay.from_estimator(clf, X, y).figure_ is not None
        True
        """
        ensemble = ensemble_of(estimator)
        truth = ensemble.class_indices(y)
        if (truth < 0).any():
            raise ValueError("a label is not among the classes of the estimator")
        values = estimator.decision_function(X)
        if values.ndim == 1:
            return cls(np.where(truth == 1, values, -values).astype(float)).plot(ax=ax)
        own = np.take_along_axis(values, truth[:, None], axis=1)[:, 0]
        others = values.copy()
        np.put_along_axis(others, truth[:, None], -np.inf, axis=1)
        return cls(own - others.max(axis=1)).plot(ax=ax)

    def plot(self, ax: Any = None) -> MarginsDisplay:
        """Draw into ``ax``, or into a new figure.

        Examples
        --------
        >>> display.plot().ax_ is display.ax_
        True
        """
        self.ax_ = _axes(ax)
        edges = np.histogram_bin_edges(np.append(self.margins, 0.0), bins=30)
        self.ax_.hist(self.margins[self.margins > 0], bins=edges, color=PLUS, label="right")
        self.ax_.hist(self.margins[self.margins <= 0], bins=edges, color=MINUS, label="wrong or tied")
        self.ax_.axvline(0, color=GREY, linewidth=0.8)
        right = np.mean(self.margins > 0)
        self.ax_.set(xlabel="margin of the true class", ylabel="rows", title=f"{right:.1%} of rows are right")
        self.ax_.legend()
        return self


@dataclass(eq=False, repr=False)
class FrontierDisplay(_Display):
    """Accuracy against size of several classifiers, with the Pareto frontier as a line.

    Attributes
    ----------
    names
        Names of the classifiers.
    links
        Non-zero weights of all networks of each.
    accuracies
        Accuracy of each.

    Examples
    --------
    >>> from bemi import BeMiClassifier, FrontierDisplay
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BeMiClassifier(hidden_layers=()).fit(X[::5], y[::5])
    >>> display = FrontierDisplay.from_estimator(clf, X, y)
    >>> display.names
    ['BeMiClassifier']
    """

    names: Sequence[str]
    links: NDArray[np.int64]
    accuracies: NDArray[np.float64]

    @classmethod
    def from_estimators(
        cls, estimators: Mapping[str, Any], X: ArrayLike, y: ArrayLike, *, ax: Any = None
    ) -> FrontierDisplay:
        """Draw accuracy against links.

        Parameters
        ----------
        estimators
            Fitted classifiers of this package by name.
        X, y
            Rows and labels to measure the accuracy on.
        ax
            Where to draw.

        Examples
        --------
        >>> FrontierDisplay.from_estimators({"small": clf, "same": clf}, X, y).names
        ['small', 'same']
        """
        links = [sum(network.links for network in ensemble_of(each).networks) for each in estimators.values()]
        scores = [each.score(X, y) for each in estimators.values()]
        return cls(list(estimators), np.array(links), np.array(scores)).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike, y: ArrayLike, *, ax: Any = None) -> FrontierDisplay:
        """Draw one classifier; ``ax`` of another display adds it to that one.

        Examples
        --------
        >>> FrontierDisplay.from_estimator(clf, X, y).figure_ is not None
        True
        """
        return cls.from_estimators({type(estimator).__name__: estimator}, X, y, ax=ax)

    @property
    def frontier(self) -> NDArray[np.intp]:
        """Positions of the classifiers that are more accurate than all with fewer links, smallest first."""
        order = np.lexsort((-self.accuracies, self.links))
        best = np.maximum.accumulate(np.append(-np.inf, self.accuracies[order]))[:-1]
        return order[self.accuracies[order] > best]

    def plot(self, ax: Any = None) -> FrontierDisplay:
        """Draw into ``ax``, or into a new figure.

        Examples
        --------
        >>> display.plot().ax_ is display.ax_
        True
        """
        self.ax_ = _axes(ax)
        self.ax_.plot(self.links[self.frontier], self.accuracies[self.frontier], color=PLUS, linewidth=1)
        self.ax_.scatter(self.links, self.accuracies, color=PLUS)
        for name, x, y in zip(self.names, self.links, self.accuracies, strict=True):
            self.ax_.annotate(name, (x, y), xytext=(4, -10), textcoords="offset points", fontsize=9)
        self.ax_.margins(0.15)
        self.ax_.set(xlabel="links of all networks", ylabel="accuracy")
        return self


def input_names(ensemble: Ensemble) -> list[str]:
    """Names of what the networks see: of features, or of the outputs of a transform that names them."""
    inputs = ensemble.inputs
    features = list(inputs.names or (f"feature {i}" for i in range(inputs.features)))
    named = getattr(inputs.transform, "get_feature_names_out", None)
    names = features if named is None else named(inputs.names).tolist()
    return [*names, *(f"input {i}" for i in range(len(names), inputs.size))]


def _square(ensemble: Ensemble) -> tuple[int, int] | None:
    """Side lengths if the networks see pixels of square images."""
    features = ensemble.inputs.features
    side = isqrt(features)
    plain = ensemble.inputs.transform is None and ensemble.inputs.names is None
    return (side, side) if plain and features >= SMALLEST_IMAGE and side * side == features else None


def _place(ensemble: Ensemble, classes: tuple) -> int:
    try:
        return ensemble.keys.index(tuple(classes))
    except ValueError:
        raise ValueError(f"there is no network for {classes!r}; the first is for {ensemble.keys[0]!r}") from None
