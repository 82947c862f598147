"""A fitted model: networks, how their inputs are made, what was proved, and how they vote.

Training produces an :class:`Ensemble`, which votes.  Files, certificates, exports, the page and reports only read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from bemi.checks import check_choice, counted
from bemi.ensemble.folding import FoldedEnsemble, FoldedNetwork
from bemi.ensemble.probabilities import Probabilities, shares_of
from bemi.ensemble.radius import Radii, certified_radii
from bemi.ensemble.ties import TIES, TieRule
from bemi.ensemble.unknown import KnownRanges, values_of
from bemi.ensemble.voting import Votes, class_decisions, pair_decision, vote
from bemi.exact import PRE_ACTIVATION_LIMIT, Integers, Rows, Weights
from bemi.inputs.inputs import Inputs
from bemi.network import Network
from bemi.problem.problem import ABSTAIN
from bemi.stages.result import StageResult

UNCLASSIFIED = "unclassified"
"""Label of a row that the paper's rule leaves unclassified if classes are strings; -1 if they are numbers."""

ROWS_AT_A_TIME = 512
"""Rows that the networks see together: few enough to stay in the processor's cache through all steps."""

ROWS_DECIDED_TOGETHER = 4 * ROWS_AT_A_TIME
"""Rows whose votes are counted together: fewer, larger steps, with the network inputs of all of them in memory."""

Reports = Mapping[str, StageResult]
"""Stage results of one network, by stage name."""


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """What networks were trained on: the given rows first, then variants of them.

    Attributes
    ----------
    rows, targets
        The integers that the networks saw, in the shortest type that holds them, and class indices.
    weights
        Row weights, as in :class:`bemi.problem.problem.Problem`; None if all rows count the same.

    Examples
    --------
    >>> import bemi
    >>> from bemi.export import page
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> training = page.TrainingData(clf.training_rows_, clf.training_targets_)
    >>> len(training.rows)
    4
    """

    rows: NDArray[np.integer]
    targets: Integers
    weights: Integers | None = None

    @property
    def integers(self) -> Integers:
        """The rows in 64 bits, so that sums of them do not overflow.

        Examples
        --------
        >>> clf.ensemble_.training.rows.integers.dtype
        dtype('int64')
        """
        return self.rows.astype(np.int64)

    def of(self, subset: Integers, given: int, added: Integers) -> Integers:
        """Positions of the rows that a network was trained on: the given ones of its classes, and added variants."""
        return np.concatenate([np.flatnonzero(np.isin(self.targets[:given], subset)), added])


@dataclass(frozen=True, eq=False)
class TrainingRecord:
    """How an ensemble was trained.

    Attributes
    ----------
    settings
        The estimator's name and the recorded settings (:mod:`bemi.settings`), as they were in training.
    digest
        Digest of the training rows, their class indices and their weights.
    solver
        The solver and its version.
    rows
        The training rows; None if the ensemble was read from a file.
    given_rows
        Number of given rows; the others are variants.  None without scenarios.
    added_rows
        For each network, the training rows that it was trained on in addition to the given rows of its classes.
    expected
        Accuracy to expect on new rows, and its 95 % range; None if it was not estimated.
    """

    settings: Mapping[str, Any]
    digest: str
    solver: str
    rows: TrainingRows | None = None
    given_rows: int | None = None
    added_rows: tuple[Integers, ...] = ()
    expected: tuple[float, float, float] | None = None


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Networks that vote, each trained on some of the classes.

    Attributes
    ----------
    classes
        The labels, in order.
    subsets
        Indices of the classes that each network was trained on, shape (networks, m).
    networks
        The networks.
    reports
        For each network, the results of its stages.
    splitting
        For each network, which first-layer neurons give both signs on its training rows.
    inputs
        How features become the inputs of the networks.
    training
        How the networks were trained.
    ties
        What to do with rows that have no clear winner.
    probabilities
        How scores become probabilities of the classes; None if the ensemble was trained without.
    known_ranges
        By which rows are unknown, which then get no label; None if every row is labelled.
    score_counts
        For each network, how many training rows of its classes have each score; None if that is not known.

    Examples
    --------
    >>> from bemi import FewBitClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> X = 10 * X  # tenths of a centimetre are integers
    >>> ensemble = FewBitClassifier(inputs=None, C=3.0).fit(X[::5], y[::5]).ensemble_
    >>> ensemble.keys
    ((0, 1), (0, 2), (1, 2))
    """

    classes: NDArray
    subsets: Integers
    networks: tuple[Network, ...]
    reports: tuple[Reports, ...]
    splitting: tuple[NDArray[np.bool_], ...]
    inputs: Inputs
    training: TrainingRecord
    ties: TieRule = TIES["margin"]
    probabilities: Probabilities | None = None
    known_ranges: KnownRanges | None = None
    score_counts: tuple[Mapping[int, int], ...] | None = None
    _folded: dict[bool, FoldedEnsemble] = field(default_factory=dict, repr=False)
    """Folded ensembles for prediction, by whether all inputs are at least 0; created on first use."""

    def __repr__(self) -> str:
        inside = f", {self.inputs.rows_inside} training rows inside" if self.inputs.rows_inside else ""
        about = f"{counted(len(self.networks), 'network')} of layers {list(self.layers)}"
        return (
            f"Ensemble({len(self.classes)} classes, {about}, weights -{self.weight_bound}..{self.weight_bound}{inside})"
        )

    @cached_property
    def keys(self) -> tuple[tuple, ...]:
        """Labels of the classes of each network."""
        return tuple(keys_of(self.classes, self.subsets))

    @property
    def layers(self) -> tuple[int, ...]:
        """Layer sizes of the networks, inputs first."""
        return self.networks[0].layers

    @property
    def weight_bound(self) -> int:
        """The paper's P."""
        return self.networks[0].weight_bound

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of the stages that the networks were trained with."""
        return tuple(self.reports[0])

    def parts(self) -> Iterator[tuple[Network, Reports, NDArray[np.bool_]]]:
        """Network, reports and splitting mask of each network."""
        return zip(self.networks, self.reports, self.splitting, strict=True)

    def with_networks(
        self,
        subsets: Integers,
        networks: Sequence[Network],
        reports: Sequence[Reports],
        splitting: Sequence[NDArray[np.bool_]],
        **changes: Any,
    ) -> Ensemble:
        """An ensemble with other networks; ``changes`` replaces further fields.

        Probabilities, known ranges and counts of scores belong to the networks that they were made for, so they are
        dropped.
        """
        changes = {"probabilities": None, "known_ranges": None, "score_counts": None} | changes
        return replace(
            self,
            subsets=subsets,
            networks=tuple(networks),
            reports=tuple(reports),
            splitting=tuple(splitting),
            _folded={},
            **changes,
        )

    def with_score_counts(self) -> Ensemble:
        """The same ensemble, with the counts of the scores of its given training rows; only without hidden layers.

        Examples
        --------
        >>> sum(ensemble.with_score_counts().score_counts[0].values()) > 0
        True
        """
        known = self.training.rows
        assert known is not None
        given = len(known.targets) if self.training.given_rows is None else self.training.given_rows
        counts = []
        for network, subset in zip(self.networks, self.subsets, strict=True):
            own = known.rows[:given][np.isin(known.targets[:given], subset)]
            scores, rows = np.unique(network.pre_activations(own)[-1][:, 0], return_counts=True)
            counts.append(dict(zip(scores.tolist(), rows.tolist(), strict=True)))
        return replace(self, score_counts=tuple(counts))

    def with_ties(self, name: str) -> Ensemble:
        """The same ensemble under another tie rule.

        Examples
        --------
        >>> ensemble.with_ties("abstain").ties.name
        'abstain'
        """
        check_choice("ties", name, TIES)
        return self if self.ties.name == name else replace(self, ties=TIES[name])

    def folded(self, low: ArrayLike = -PRE_ACTIVATION_LIMIT, high: ArrayLike = PRE_ACTIVATION_LIMIT) -> FoldedEnsemble:
        """The ensemble simplified for network inputs between ``low`` and ``high`` (scalars, or one value per input).

        Examples
        --------
        >>> len(ensemble.folded(0, 80).networks)
        3
        """
        parts = zip(self.networks, self.subsets, self.splitting, strict=True)
        return FoldedEnsemble(FoldedNetwork.of(*part, low, high) for part in parts)

    def votes(self, X: ArrayLike, truth: Integers | None = None) -> Votes:
        """The vote of the ensemble on each row, as class indices.

        Parameters
        ----------
        X
            Features, shape (rows, features).
        truth
            True class indices, :data:`ABSTAIN` for an unknown label.  If given, label statuses are computed.

        Examples
        --------
        >>> ensemble.votes(X[:2]).counts
        array([[2, 1, 0],
               [2, 1, 0]])
        """
        rows = self.inputs.checked(X)
        lots = _pieces(len(rows), ROWS_DECIDED_TOGETHER)
        return Votes.joined([self._decided(rows[lot], None if truth is None else truth[lot]) for lot in lots])

    def _decided(self, rows: NDArray, truth: Integers | None) -> Votes:
        """The vote on one lot of rows; their network inputs are kept for ties, so that each row is transformed once."""
        pieces: list[Integers] = []
        votes: list[Integers] = []
        for part in _pieces(len(rows)):
            pieces.append(self.inputs(rows[part]))
            votes.append(self._votes_on(pieces[-1]))

        def evidence(chosen: Integers) -> Integers:
            piece, place = np.divmod(chosen, ROWS_AT_A_TIME)
            inputs = np.concatenate([part[place[piece == number]] for number, part in enumerate(pieces)])
            return self._prediction(not_negative=False).evidence(Rows(inputs))

        outcome = vote(
            np.concatenate(votes),
            self.subsets,
            len(self.classes),
            ties=self.ties,
            evidence=evidence,
            truth=truth,
        )
        if self.known_ranges is None:
            return outcome
        strange = self._strangeness(rows, np.concatenate(pieces), outcome.label) > self.known_ranges.threshold
        return replace(outcome, label=np.where(strange, ABSTAIN, outcome.label))

    def _strangeness(self, rows: NDArray, inputs: Integers, labels: Integers) -> Integers:
        assert self.known_ranges is not None
        scores = self._scores_of(Rows(inputs)) if self.known_ranges.needs_scores else None
        return self.known_ranges.strangeness(values_of(self.inputs, rows, inputs), labels, scores)

    def strangeness(self, X: ArrayLike) -> Integers:
        """How unlike the class that the networks give it each row is (:mod:`bemi.ensemble.unknown`).

        Rows above ``known_ranges.threshold`` are unknown.  ValueError for an ensemble that labels every row.

        Examples
        --------
        >>> from bemi import FewBitClassifier
        >>> careful = FewBitClassifier(reject=0.05).fit(X[::5], y[::5]).ensemble_
        >>> careful.strangeness(X[:2])
        array([0, 0])
        """
        if self.known_ranges is None:
            raise ValueError("this model labels every row; train it with reject=0.05")
        labels = replace(self, known_ranges=None).votes(X).label
        rows = self.inputs.checked(X)
        return np.concatenate([self._strangeness(rows[p], self.inputs(rows[p]), labels[p]) for p in _pieces(len(rows))])

    def votes_by_network(self, X: ArrayLike) -> Integers:
        """The class index that each network votes for on each row, shape (rows, networks).

        Examples
        --------
        >>> ensemble.votes_by_network(X[:1])[:, :2]
        array([[0, 0]])
        """
        rows = self.inputs.checked(X)
        return np.concatenate([self._votes_on(self.inputs(rows[part])) for part in _pieces(len(rows))])

    def network_votes(self, inputs: Integers) -> Integers:
        """The class index that each network votes for on each row of network inputs, shape (rows, networks)."""
        return np.concatenate([self._votes_on(inputs[part]) for part in _pieces(len(inputs))])

    def _votes_on(self, inputs: Integers) -> Integers:
        rows = Rows(inputs)
        return self._prediction(not_negative=rows.low >= 0).votes(rows)

    def evidence(self, X: ArrayLike) -> Integers:
        """How far each row is from every network's nearest decision boundary, shape (rows, networks).

        Examples
        --------
        >>> ensemble.evidence(X[:2]).shape
        (2, 3)
        """
        rows, prediction = self.inputs.checked(X), self._prediction(not_negative=False)
        return np.concatenate([prediction.evidence(Rows(self.inputs(rows[p]))) for p in _pieces(len(rows))])

    @cached_property
    def _first_layers(self) -> Weights:
        """First-layer weights of all networks side by side."""
        return Weights(np.concatenate([network.weights[0] for network in self.networks], axis=1))

    def scores(self, X: ArrayLike) -> Integers:
        """The sums that enter the outputs of all networks, shape (rows, outputs); only without hidden layers.

        Examples
        --------
        >>> ensemble.scores(X[:2]).shape
        (2, 3)
        """
        if len(self.layers) > 2:
            raise ValueError("only networks without a hidden layer have scores")
        rows = self.inputs.checked(X)
        return np.concatenate([self._scores_of(Rows(self.inputs(rows[part]))) for part in _pieces(len(rows))])

    def _scores_of(self, rows: Rows) -> Integers:
        return rows.times(self._first_layers).astype(np.int64)

    def decisions(self, X: ArrayLike) -> NDArray[np.float64]:
        """How strongly each row leans towards each class: shape (rows,) for two classes, else (rows, classes).

        Of two classes the second is the label if and only if the value is positive, and without a hidden layer the
        value is the negative score.  Of more the label is the one with the largest value, see
        :func:`bemi.ensemble.voting.class_decisions`.

        Examples
        --------
        >>> ensemble.decisions(X[:2]).argmax(axis=1)
        array([0, 0])
        """
        rows = self.inputs.checked(X)
        return np.concatenate([self._decisions_on(Rows(self.inputs(rows[part]))) for part in _pieces(len(rows))])

    def _decisions_on(self, rows: Rows) -> NDArray[np.float64]:
        if len(self.classes) == 2 and len(self.layers) == 2:
            return -self._scores_of(rows)[:, 0].astype(np.float64)
        prediction = self._prediction(not_negative=False)
        votes, evidence = prediction.votes(rows), prediction.evidence(rows)
        if len(self.classes) == 2:
            return pair_decision(votes[:, 0], evidence[:, 0])
        outcome = vote(votes, self.subsets, len(self.classes), ties=self.ties, evidence=evidence.__getitem__)
        return class_decisions(outcome, votes, evidence, self.subsets)

    def class_probabilities(self, X: ArrayLike) -> Integers:
        """Probabilities of the classes in 65536ths, shape (rows, classes); ValueError if trained without them.

        Examples
        --------
        >>> ensemble.class_probabilities(X[:2]).argmax(axis=1)
        array([0, 0])
        """
        return self._probabilities().of_scores(self.scores(X))

    def with_prior(self, shares: Mapping[Any, float]) -> Ensemble:
        """The same ensemble with probabilities for rows among which the classes have these shares.

        Parameters
        ----------
        shares
            Share of every class, by label; positive numbers, which are divided by their sum.

        Examples
        --------
        >>> ensemble.with_prior({0: 1, 1: 1, 2: 2}).keys == ensemble.keys
        True
        """
        found = self._probabilities()
        wanted = shares_of(shares, self.classes.tolist())
        return replace(self, probabilities=found.with_prior(wanted, self.networks, self.inputs))

    def _probabilities(self) -> Probabilities:
        if self.probabilities is None:
            raise ValueError("this model has no probabilities; train it with probabilities=True")
        return self.probabilities

    def radius(
        self, X: ArrayLike, *, exact: bool = False, time_limit: float | None = 60.0, solver: str = "highs"
    ) -> Radii:
        """How far the network input of each row may move with the label provably unchanged.

        Examples
        --------
        >>> ensemble.radius(X[:2]).l1.shape
        (2,)
        """
        inputs = self.inputs(self.inputs.checked(X))
        votes = self.network_votes(inputs)
        outcome = vote(votes, self.subsets, len(self.classes))
        return certified_radii(
            self.networks,
            self.subsets,
            inputs,
            votes,
            outcome,
            ties=self.ties,
            exact=exact,
            time_limit=time_limit,
            solver=solver,
        )

    def __getstate__(self) -> dict[str, Any]:
        # Folded ensembles are recreated on demand.
        return {**vars(self), "_folded": {}}

    def _prediction(self, *, not_negative: bool) -> FoldedEnsemble:
        if not_negative not in self._folded:
            self._folded[not_negative] = self.folded(low=0 if not_negative else -PRE_ACTIVATION_LIMIT)
        return self._folded[not_negative]

    @property
    def unclassified_label(self) -> int | str:
        """Label of unclassified rows."""
        return unclassified_label(self.classes)

    def labels(self, indices: Integers) -> NDArray:
        """Labels of class indices, :data:`ABSTAIN` standing for none.

        Examples
        --------
        >>> ensemble.labels(ensemble.class_indices([2, 0]))
        array([2, 0])
        """
        classes = self.classes
        if (indices != ABSTAIN).all():
            return classes[indices]
        if classes.dtype.kind in "OUS":
            table = np.append(classes.astype(object), UNCLASSIFIED)
            return table[indices].astype(object if classes.dtype.kind == "O" else str)
        signed = np.result_type(classes.dtype, np.int8)
        if signed.kind == "f" and classes.dtype.kind == "u":
            signed = np.dtype(object)  # no integer type holds both -1 and all of these
        return np.append(classes.astype(signed), ABSTAIN)[indices]

    def class_indices(self, y: ArrayLike) -> Integers:
        """Class indices of labels, :data:`ABSTAIN` for an unknown label.

        Examples
        --------
        >>> ensemble.class_indices([2, 0])
        array([2, 0])
        """
        index_of = {label: index for index, label in enumerate(self.classes.tolist())}
        return np.array([index_of.get(label, ABSTAIN) for label in np.asarray(y).tolist()], dtype=np.int64)


def ensemble_of(model: Any) -> Ensemble:
    """The ensemble of a fitted classifier; an ensemble is returned as it is."""
    if isinstance(model, Ensemble):
        return model
    if isinstance(model, Pipeline):
        raise ValueError(
            "a Pipeline cannot be saved or exported, because its earlier steps are not part of the model: fit the "
            "classifier on the raw rows, which it scales itself, or pass the last step alone, pipeline[-1]"
        )
    check_is_fitted(model)
    if not hasattr(model, "ensemble_"):
        raise ValueError(f"a {type(model).__name__} is not a bemi model; pass the fitted classifier itself")
    return model.ensemble_


def check_open_label(classes: NDArray, ties: TieRule, *, rejects: bool = False) -> None:
    """Raise ValueError if a class has the label of rows that the tie rule leaves open, or of unknown rows."""
    label = unclassified_label(classes)
    if label not in classes.tolist():
        return
    if rejects:
        raise ValueError(f"{label!r} is a class, but reject needs that label for unknown rows; rename the class")
    if not ties.labels_every_row:
        able = " or ".join(f"ties={rule.name!r}" for rule in TIES.values() if rule.labels_every_row)
        raise ValueError(
            f"{label!r} is a class, but ties={ties.name!r} needs that label for unclassified rows; rename the class or "
            f"use {able}"
        )


def unclassified_label(classes: NDArray) -> int | str:
    """Label of unclassified rows, for classes of this type."""
    return UNCLASSIFIED if classes.dtype.kind in "OUS" else ABSTAIN


def keys_of(classes: NDArray, subsets: Integers) -> list[tuple]:
    """Labels of the classes of each subset."""
    return [tuple(classes[subset].tolist()) for subset in subsets]


def _pieces(rows: int, size: int = ROWS_AT_A_TIME) -> list[slice]:
    return [slice(start, start + size) for start in range(0, max(1, rows), size)]
