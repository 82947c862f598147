"""Decision values: how strongly an ensemble leans towards each class, in the form that scikit-learn's tools expect.

They rank rows; they are no probabilities.  The label with the largest value is the one that ``predict`` gives, so the
values follow the vote: first the votes, then what the tie rule decides, then the evidence.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bemi.ensemble.folding import EVIDENCE_SCALE
from bemi.ensemble.subsets import memberships
from bemi.ensemble.voting import Votes, shares
from bemi.exact import Integers
from bemi.problem.problem import ABSTAIN

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
