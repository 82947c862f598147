"""From the networks' votes to a label: dominant labels, ties, label statuses, and decision values for scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi.ensemble.folding import EVIDENCE_SCALE
from bemi.ensemble.subsets import memberships
from bemi.ensemble.ties import PAPER_RULE, TiedRows, TieRule
from bemi.exact import Integers
from bemi.problem.problem import ABSTAIN


class LabelStatus(Enum):
    """The paper's label statuses: what the paper's rule makes of a row whose true label is known.

    The value is the paper's name: the number of dominant labels (1, m as many as a network has classes, or o for any
    other), then C for correct or I for incorrect; with more than one dominant label, ' if the true label is among them
    and '' if it is not.

    Attributes
    ----------
    leaders
        How many labels are dominant: ``"1"``, ``"m"`` or ``"o"``.
    correct
        Whether the row gets its true label.
    among
        Whether the true label is one of the dominant ones; None if that makes no difference.
    words
        Human-readable description.
    """

    leaders: str
    correct: bool
    among: bool | None
    words: str

    ONE_RIGHT = ("1C", "1", True, None, "one label leads, and it is right")
    ONE_WRONG = ("1I", "1", False, None, "one label leads, and it is wrong")
    SEVERAL_RIGHT = ("mC", "m", True, None, "leaders tie, and their network decides rightly")
    SEVERAL_AMONG = (
        *("mI'", "m", False, True),
        "leaders tie, the right label among them, but their network decides otherwise",
    )
    SEVERAL_WRONG = ("mI''", "m", False, False, "leaders tie, and the right label is not among them")
    OPEN_AMONG = ("oI'", "o", False, True, "too many leaders to decide, the right label among them")
    OPEN_WRONG = ("oI''", "o", False, False, "too many leaders to decide, and the right label is not among them")

    def __new__(cls, value: str, leaders: str, correct: bool, among: bool | None, words: str) -> LabelStatus:
        status = object.__new__(cls)
        status._value_ = value
        status.leaders, status.correct, status.among, status.words = leaders, correct, among, words
        return status


def shares(counts: Integers, networks: Integers) -> NDArray[np.float64]:
    """Votes for each class as shares of its networks, the numbers by which classes are compared.

    With a network for every set of classes, each class is in equally many networks, and shares are ordered like counts;
    with fewer networks they need not be.  Equal shares are equal floats, since division rounds to nearest, and
    different shares differ by more than a rounding error: ``|a/b - c/d| >= 1/(b d)``.
    """
    return counts / np.maximum(networks, 1)


@dataclass(frozen=True, eq=False)
class Votes:
    """The vote of an ensemble on each row.

    Attributes
    ----------
    counts
        Votes for each class, shape (rows, classes).
    dominant
        Which classes no other class beats: those with the largest share of votes among their own networks, same shape.
    label
        The label by the tie rule in force: class indices here, classes in a classifier's results.
    unclassified
        Rows that the paper's rule leaves without a label, regardless of the tie rule in force.
    status
        Label status by the paper's rule; only if the true labels were given.

    Examples
    --------
    >>> from bemi import BeMiClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> votes = BeMiClassifier(hidden_layers=()).fit(X[::5], y[::5]).vote(X[:2], y[:2])
    >>> votes.counts
    array([[2, 1, 0],
           [2, 1, 0]])
    >>> votes.status
    array(['1C', '1C'], dtype='<U4')
    """

    counts: Integers
    dominant: NDArray[np.bool_]
    label: NDArray
    unclassified: NDArray[np.bool_]
    status: NDArray[np.str_] | None = None

    @classmethod
    def joined(cls, parts: Sequence[Votes]) -> Votes:
        """The concatenated votes on several batches of rows."""
        columns = [[getattr(part, column.name) for part in parts] for column in fields(cls)]
        joined: list[Any] = [None if lots[0] is None else np.concatenate(lots) for lots in columns]
        return cls(*joined)


def count_votes(votes: Integers, n_classes: int) -> Integers:
    """Votes for each class, from one vote per row and network, shape (rows, networks), :data:`ABSTAIN` for none."""
    # Every row has a bin for each class, after one for ABSTAIN.
    bins = n_classes + 1
    counts = np.bincount((votes + (np.arange(len(votes))[:, None] * bins + 1)).ravel(), minlength=len(votes) * bins)
    return counts.reshape(len(votes), bins)[:, 1:]


def paper_labels(votes: Integers, dominant: NDArray[np.bool_], subsets: Integers) -> Integers:
    """The paper's rule (section 3.2, appendix A).

    One dominant label: that one.  Exactly m: the vote of the network trained on exactly these.  Otherwise, or if that
    network abstains or there is none: :data:`ABSTAIN`.
    """
    number = dominant.sum(axis=1)
    label = np.where(number == 1, dominant.argmax(axis=1), ABSTAIN)
    several = np.flatnonzero((number == subsets.shape[1]) & (number > 1))
    # As many classes are dominant as a network has, so the network is theirs if all of its classes are dominant.
    theirs = np.ones((len(several), len(subsets)), dtype=bool)
    for members in subsets.T:
        theirs &= dominant[several][:, members]
    found, network = theirs.any(axis=1), theirs.argmax(axis=1)
    label[several[found]] = votes[several, network][found]
    return label


def label_statuses(label: Integers, dominant: NDArray[np.bool_], truth: Integers, subset_size: int) -> NDArray[np.str_]:
    """Label status of each row from the paper's label (not a tie-broken one) and the true class index.

    A true label that is not one of the classes is given as :data:`ABSTAIN`.
    """
    number = dominant.sum(axis=1)
    leaders = np.where(number == 1, "1", np.where(number == subset_size, "m", "o"))
    known = truth >= 0
    among = np.zeros(len(truth), dtype=bool)
    among[known] = dominant[np.flatnonzero(known), truth[known]]
    correct = (label == truth) & known
    found = np.empty(len(truth), dtype=f"<U{max(len(status.value) for status in LabelStatus)}")
    for status in LabelStatus:
        fits = (leaders == status.leaders) & (correct == status.correct)
        found[fits if status.among is None else fits & (among == status.among)] = status.value
    return found


def vote(
    votes: Integers,
    subsets: Integers,
    n_classes: int,
    *,
    ties: TieRule = PAPER_RULE,
    evidence: Callable[[Integers], Integers] | None = None,
    truth: Integers | None = None,
) -> Votes:
    """Count votes, find the dominant labels and decide.

    Classes are compared by their share of votes among the networks that they take part in, see :func:`shares`.  With a
    network for every set of m classes, this is the paper's rule.

    Parameters
    ----------
    votes
        The class index that each network votes for on each row, shape (rows, networks).
    subsets
        Class indices that each network was trained on, shape (networks, m).
    n_classes
        Number of classes.
    ties
        Decides the rows that the paper's rule leaves unclassified.
    evidence
        Maps row indices to the evidence of every network on these rows; for tie rules that read it.
    truth
        True class indices.  If given, label statuses are computed.
    """
    counts = count_votes(votes, n_classes)
    networks = memberships(subsets, n_classes)
    standing = shares(counts, networks)
    dominant = standing == standing.max(axis=1, keepdims=True)
    label = paper_labels(votes, dominant, subsets)
    status = None if truth is None else label_statuses(label, dominant, truth, subsets.shape[1])
    unclassified = label == ABSTAIN
    rows = np.flatnonzero(unclassified)
    if len(rows):

        def evidence_of_rows() -> Integers:
            assert evidence is not None, f"ties={ties.name!r} needs evidence"
            return evidence(rows)

        label[rows] = ties.decide(TiedRows(votes[rows], dominant[rows], networks, evidence_of_rows))
    return Votes(counts, dominant, label, unclassified, status)


TIE_BONUS = 1 / 2
EVIDENCE_SHARE = 1 / 6
"""In units of the smallest difference between two shares of votes.  Evidence, which is in (-1, 1), cannot outweigh the
tie rule (2/6 < 1/2), and both together cannot outweigh a vote (1/2 + 2/6 < 1)."""


def pair_decision(votes: Integers, evidence: Integers) -> NDArray[np.float64]:
    """Decision value of the second of two classes, from one network's votes and evidence: positive if it is the vote.

    A row on a decision boundary has no evidence, but its vote still counts.
    """
    return np.where(votes == 1, evidence + 1, -evidence) / EVIDENCE_SCALE


def class_decisions(outcome: Votes, votes: Integers, evidence: Integers, subsets: Integers) -> NDArray[np.float64]:
    """Decision value of each class, shape (rows, classes): its largest entry is the label, if the row has one.

    The values rank rows, in the form that scikit-learn's tools expect; they are not probabilities.  They follow the
    vote: first the votes, then what the tie rule decides, then the evidence.

    In units of the smallest difference between two shares, class c of a row has

        share_c + 1/2 [several classes lead and the label is c] + 1/6 b(net_c),   b(e) = e / (1 + |e|),

    where net_c is the evidence of its networks that voted for it minus that of those that voted for another class.

    Parameters
    ----------
    outcome
        The vote of the ensemble.
    votes, evidence
        Vote and evidence of every network on every row, shape (rows, networks).
    subsets
        Class indices of each network, shape (networks, m).
    """
    classes = outcome.counts.shape[1]
    networks = memberships(subsets, classes)
    most = int(networks.max())
    # Shares a/b and c/d differ by at least 1/(b d); if all classes have equally many networks, by 1/b.
    step = 1.0 if networks.min() == most else 1 / most
    rows = np.arange(len(votes))
    leading = outcome.dominant.sum(axis=1) > 1
    tied = np.zeros(outcome.counts.shape)
    decided = leading & (outcome.label != ABSTAIN)
    tied[rows[decided], outcome.label[decided]] = TIE_BONUS
    net = _net_evidence(votes, evidence / EVIDENCE_SCALE, subsets, classes)
    return most * shares(outcome.counts, networks) + step * (tied + EVIDENCE_SHARE * net / (1 + np.abs(net)))


def _net_evidence(
    votes: Integers, evidence: NDArray[np.float64], subsets: Integers, classes: int
) -> NDArray[np.float64]:
    """Evidence of each class's networks for it, minus their evidence for other classes; abstentions do not count."""
    evidence = np.where(votes == ABSTAIN, 0.0, evidence)
    member = np.zeros((len(subsets), classes))
    np.put_along_axis(member, subsets, 1.0, axis=1)
    support = np.zeros((len(votes), classes + 1))
    np.add.at(support, (np.arange(len(votes))[:, None], votes), evidence)
    # ABSTAIN added nothing to the last column.
    return 2 * support[:, :-1] - evidence @ member
