"""Fits the sigmoids that turn the scores of trained networks into chances.

A network's scores on its own training rows are too good.  So every row is scored by a continuous support vector machine
that was trained without it, which is as good as the few-bit network and much quicker to train.  Platt's sigmoid is
fitted to these scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.model_selection import StratifiedKFold

from bemi.engines.decomposition.soft.resolution import continuous_svm
from bemi.ensemble.ensemble import Ensemble
from bemi.ensemble.probabilities import MOST_CLASSES, UNIT, Probabilities, Sigmoid
from bemi.exact import Integers, in_pieces
from bemi.network import Network
from bemi.problem.problem import Problem
from bemi.problem.soft_margin import ROW_WEIGHT_UNIT
from bemi.training.plan import Plan
from bemi.training.training_set import class_in_one_group, group_folds

FOLDS = 5

Floats = NDArray[np.float64]


def calibrated(plan: Plan, ensemble: Ensemble, known: Ensemble | None = None) -> Ensemble:
    """The ensemble with probabilities.

    Parameters
    ----------
    plan
        What the networks were trained on.
    ensemble
        The trained networks, one for every pair of classes.
    known
        An ensemble whose networks keep the sigmoids that they have there.
    """
    if len(ensemble.classes) > MOST_CLASSES:
        raise ValueError(f"probabilities=True is for at most {MOST_CLASSES} classes, got {len(ensemble.classes)}")
    earlier: Mapping[tuple, Sigmoid] = {}
    if known is not None and known.probabilities is not None:
        earlier = dict(zip(known.keys, known.probabilities.sigmoids, strict=True))
    # Coupling adds up the odds against a class in all its pairs, so each pair is smoothed less, and all together as
    # much as the only pair of two classes.
    smoothing = 1 / (len(ensemble.classes) - 1)
    sigmoids = []
    totals = np.zeros(len(ensemble.classes))
    for index, (key, network) in enumerate(zip(ensemble.keys, ensemble.networks, strict=True)):
        task = plan[index]
        weights = row_weights(task.problem)
        totals[ensemble.subsets[index]] = [weights[task.problem.codes[:, 0] == code].sum() for code in (1, -1)]
        sigmoid = earlier.get(key)
        if sigmoid is None:
            soft = next((report.soft for report in ensemble.reports[index].values() if report.soft is not None), None)
            groups = plan.groups_of(index)
            sigmoid = fitted_sigmoid(replace(task.problem, soft=soft), network, task.limits.seed, smoothing, groups)
        sigmoids.append(sigmoid)
    prior = [max(1, round(float(share) * UNIT)) for share in totals / max(totals.sum(), 1e-300)]
    return replace(ensemble, probabilities=Probabilities.of(sigmoids, prior, ensemble.networks, ensemble.inputs))


def fitted_sigmoid(
    problem: Problem, network: Network, seed: int, smoothing: float = 1.0, groups: Integers | None = None
) -> Sigmoid:
    """The sigmoid of a network with one output, trained on this problem of soft margins; ``smoothing`` as in Platt's.

    If a class has a single row, no SVM can be trained without it, and the network's own scores must do.  Rows of a
    group are scored together, unless a class has no other rows.
    """
    codes, weights = problem.codes[:, 0], row_weights(problem)
    folds = min(FOLDS, int((codes > 0).sum()), int((codes < 0).sum()))
    if folds < 2 or problem.soft is None:
        scores = network.pre_activations(problem.data)[0][:, 0].astype(np.float64)
    else:
        scores = held_out_scores(problem, network, folds, seed, groups)
        if np.ptp(scores) < 1:
            # The network's scores are integers: differences below a unit are the SVMs' tolerance and tell nothing.
            scores = np.zeros(len(scores))
    return Sigmoid.of(*platt(scores, codes, weights, smoothing))


def held_out_scores(
    problem: Problem, network: Network, folds: int, seed: int, groups: Integers | None = None
) -> Floats:
    """Score of every row by an SVM trained without its fold, in the units of the network's scores.

    Machines are trained on rows of length 1, and their weights are not stretched to integers.  The factor between the
    units is that which brings the scores of the SVM of all rows closest to the network's.  Limits on links and
    signs hold for the SVMs, too.
    """
    own = network.pre_activations(problem.data)[0][:, 0].astype(np.float64)
    every = _scores(problem.data, _svm(problem))
    factor = float(own @ every) / max(float(every @ every), 1e-300)
    scores = np.empty(len(own))
    for left in _left_out(problem.codes[:, 0], folds, seed, groups):
        scores[left] = factor * _scores(problem.data[left], _svm(problem.rows(~left)))
    return scores


def _scores(rows: NDArray[np.integer], weights: Floats) -> Floats:
    return np.concatenate([part @ weights for part in in_pieces(rows)])


def _left_out(codes: Integers, folds: int, seed: int, groups: Integers | None) -> Iterator[NDArray[np.bool_]]:
    """The rows of each fold."""
    targets = (codes > 0).astype(np.int64)
    if groups is not None and class_in_one_group(targets, groups) is None:
        own = np.unique(groups, return_inverse=True)[1]
        parts = group_folds(targets, own, folds, np.random.default_rng(seed))
        yield from (parts == part for part in np.unique(parts))
        return
    for _, left in StratifiedKFold(folds, shuffle=True, random_state=seed).split(codes, codes):
        mask = np.zeros(len(codes), dtype=bool)
        mask[left] = True
        yield mask


def _svm(problem: Problem) -> Floats:
    soft = problem.soft
    assert soft is not None
    return continuous_svm(problem, 0, float(soft.price), soft.hinges, soft.max_links)


def platt(scores: Floats, codes: Integers, weights: Floats, smoothing: float = 1.0) -> tuple[float, float]:
    """Slope a >= 0 and intercept b of ``P(code = 1) = 1 / (1 + exp(-a score - b))``, by maximum likelihood.

    The targets are ``(n_+ + c) / (n_+ + 2 c)`` and ``c / (n_- + 2 c)`` instead of 1 and 0, where n is the weight of a
    class, so that separable scores have a finite slope.  The smoothing c is 1 in Platt (1999).
    """
    positive, negative = weights[codes > 0].sum(), weights[codes < 0].sum()
    above, below = (positive + smoothing) / (positive + 2 * smoothing), smoothing / (negative + 2 * smoothing)
    targets = np.where(codes > 0, above, below)
    # Scores of any unit become numbers around 1.
    unit = float(np.abs(scores).mean()) or 1.0
    scaled = scores / unit

    def loss(line: Floats) -> tuple[float, Floats]:
        log_odds = line[0] * scaled + line[1]
        error = weights * (expit(log_odds) - targets)
        value = weights @ (np.logaddexp(0, log_odds) - targets * log_odds)
        return float(value), np.array([error @ scaled, error.sum()])

    start = [0.0, float(np.log((positive + 1) / (negative + 1)))]
    bounds = [(0, None), (None, None)]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-13, "gtol": 1e-9})
    return float(found.x[0]) / unit, float(found.x[1])


def row_weights(problem: Problem) -> Floats:
    """Weights of the rows of a problem."""
    if problem.row_weights is None:
        return np.ones(len(problem.data))
    return problem.row_weights / ROW_WEIGHT_UNIT
