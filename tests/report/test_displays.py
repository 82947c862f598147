"""What notebooks show: displays and HTML."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import ConfusionMatrixDisplay
from soft_margins import soft_margins

import bemi
from bemi import BeMiClassifier, FrontierDisplay, MarginsDisplay, VotesDisplay, WeightsDisplay
from bemi.report import fitted_html

SOFT = {"node_limit": 1, "time_limit": None}


@pytest.fixture(autouse=True)
def without_windows():
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=3, return_X_y=True)
    X = X.astype(int)
    return soft_margins(weight_bound=3, **SOFT).fit(X[:30], y[:30]), X, y


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["<b>one</b>", "two", "three"], dtype=object)
    return soft_margins(weight_bound=2, **SOFT).fit(X, names[y]), X, names[y]


def test_weights_as_an_image_or_as_bars(digits, flowers):
    classifier, _, _ = digits
    drawn = WeightsDisplay.from_estimator(classifier, (0, 2))
    shown = drawn.ax_.images[0].get_array()
    assert np.array_equal(shown, classifier.networks_[(0, 2)].weights[0].reshape(8, 8))
    assert drawn.ax_.get_title() == "0 / 2"
    classifier, X, _ = flowers
    drawn = WeightsDisplay.from_estimator(classifier)
    weights = next(iter(classifier.networks_.values())).weights[0][:, 0]
    expected = {name: weight for name, weight in zip(X.columns, weights.tolist(), strict=True) if weight}
    names = [text.get_text() for text in drawn.ax_.get_yticklabels()]
    assert dict(zip(names, [bar.get_width() for bar in drawn.ax_.patches], strict=True)) == expected
    with pytest.raises(ValueError, match=r"there is no network for \(7, 8\)"):
        WeightsDisplay.from_estimator(classifier, (7, 8))
    with pytest.raises(ValueError, match="has 1 neurons, there is no neuron 4"):
        WeightsDisplay.from_estimator(classifier, neuron=4)


def test_votes_on_one_row(digits):
    classifier, X, _ = digits
    drawn = VotesDisplay.from_estimator(classifier, X[50])
    assert drawn.votes.tolist() == classifier.vote(X[50:51]).counts[0].tolist()
    assert drawn.matches.tolist() == [2, 2, 2]
    assert drawn.ax_.get_title() == f"prediction: {classifier.predict(X[50:51])[0]}"
    with pytest.raises(ValueError, match="one row, got 2"):
        VotesDisplay.from_estimator(classifier, X[:2])


def test_margins_are_positive_where_labels_are_right(digits):
    classifier, X, y = digits
    drawn = MarginsDisplay.from_estimator(classifier, X, y)
    assert np.array_equal(drawn.margins > 0, classifier.predict(X) == y)
    two = soft_margins(weight_bound=3, **SOFT).fit(X[:30], y[:30] == 0)
    right = MarginsDisplay.from_estimator(two, X, y == 0).margins
    assert np.array_equal(right[right != 0] > 0, (two.predict(X) == (y == 0))[right != 0])
    with pytest.raises(ValueError, match="not among the classes"):
        MarginsDisplay.from_estimator(classifier, X[:1], [9])


def test_the_frontier_has_what_no_smaller_model_reaches(digits):
    classifier, X, y = digits
    drawn = FrontierDisplay(list("abcd"), np.array([10, 20, 30, 20]), np.array([0.7, 0.8, 0.75, 0.9])).plot()
    assert drawn.frontier.tolist() == [0, 3]
    one = FrontierDisplay.from_estimator(classifier, X, y)
    assert one.links.tolist() == [sum(network.links for network in classifier.networks_.values())]
    assert one.accuracies.tolist() == [classifier.score(X, y)]
    again = one.plot(ax=drawn.ax_)
    assert again.figure_ is drawn.figure_


def test_scikit_learns_confusion_matrix(digits):
    classifier, X, y = digits
    drawn = ConfusionMatrixDisplay.from_estimator(classifier, X, y)
    assert drawn.confusion_matrix.trace() == (classifier.predict(X) == y).sum()


def test_a_notebook_shows_the_diagram_and_the_networks(digits, flowers):
    classifier, _, _ = digits
    bundle = classifier._repr_mimebundle_()
    assert "FewBitClassifier" in bundle["text/plain"]
    assert 'class="bemi"' in classifier._repr_html_()
    html = fitted_html(classifier.ensemble_)
    assert html in bundle["text/html"]
    assert "3 networks [64, 1], weights &minus;3..3" in html
    gaps = [f"{100 * report['soft'].gap:.1f}" for report in classifier.reports_.values()]
    assert re.findall(r"\)\">([\d.]+)</td>", html) == gaps
    unfitted = BeMiClassifier()._repr_mimebundle_()["text/html"]
    assert 'class="bemi"' not in unfitted
    other, _, _ = flowers
    assert "&lt;b&gt;one&lt;/b&gt;" in fitted_html(other.ensemble_)
    assert "<b>one</b>" not in fitted_html(other.ensemble_)


def test_a_frame_comes_back_as_a_frame(flowers):
    classifier, X, _ = flowers
    rows = X.iloc[[3, 70, 120]]
    votes = classifier.votes_by_network(rows)
    assert isinstance(votes, pd.DataFrame)
    assert votes.index.tolist() == [3, 70, 120]
    assert votes.columns.tolist() == ["/".join(key) for key in classifier.networks_]
    plain = soft_margins(weight_bound=2, **SOFT).fit(X.to_numpy(), classifier.predict(X))
    assert np.array_equal(plain.votes_by_network(rows.to_numpy()), votes)


def test_displays_are_public():
    assert {"WeightsDisplay", "VotesDisplay", "MarginsDisplay", "FrontierDisplay"} <= set(bemi.__all__)
