"""Tie rules: what an ensemble answers on rows to which the paper's vote gives no label.

A :class:`TieRule` says all that can differ between rules.  Another rule is an entry in :data:`TIES`, and for every
export that should know it a piece of code, which :attr:`TieRule.pieces` names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

# NumPy is imported where it is used: the command line reads the names of the rules at its start.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bemi.exact import Integers


@dataclass(frozen=True, eq=False)
class TiedRows:
    """Rows that have no clear winner.

    Attributes
    ----------
    votes
        The class index that each network votes for, :data:`bemi.problem.ABSTAIN` for none, shape (rows, networks).
    dominant
        The leaders, shape (rows, classes).
    networks
        Number of networks that each class takes part in.
    evidence
        Computes how far each row is from every network's nearest decision boundary, shape (rows, networks).
    """

    votes: Integers
    dominant: NDArray[np.bool_]
    networks: Integers
    evidence: Callable[[], Integers]


def most_evidence(tied: TiedRows) -> Integers:
    """The leader with the most evidence from the networks that voted for it, divided by the number of its networks.

    Among equals the lowest class wins.
    """
    import numpy as np

    worth, rows = tied.evidence(), len(tied.votes)
    # Sums over a common denominator stay integers, of arbitrary size.
    common = math.lcm(*(int(n) for n in tied.networks if n))
    weights = np.array([common // max(int(n), 1) for n in tied.networks], dtype=object)
    if int(worth.max()) * tied.votes.shape[1] * max(weights) <= np.iinfo(np.int64).max:
        weights = weights.astype(np.int64)
    sums = np.zeros((rows, len(tied.networks) + 1), dtype=weights.dtype)
    np.add.at(sums, (np.arange(rows)[:, None], tied.votes), worth.astype(weights.dtype))
    # ABSTAIN added to the last column.
    return np.where(tied.dominant, sums[:, :-1] * weights, -1).argmax(axis=1)


def no_label(tied: TiedRows) -> Integers:
    """No label for any row."""
    import numpy as np

    from bemi.problem import ABSTAIN

    return np.full(len(tied.votes), ABSTAIN)


@dataclass(frozen=True)
class TieRule:
    """What to do with rows that have no clear winner.

    Attributes
    ----------
    name
        Value of the parameter ``ties``.
    decide
        Their labels as class indices, :data:`bemi.problem.ABSTAIN` for a row that gets none.
    labels_every_row
        Whether no row stays without a label, so that no label is needed for unclassified ones.
    reads_evidence
        Whether a label may depend on the evidence of the networks, so that it may change although no vote does.
    pieces
        What each export calls its code for the rule: C a file of its runtime, ONNX a function, the page a method,
        Verilog what the circuit does in the end.
    words, sentence, reason
        Human-readable descriptions: a few words, a sentence about all such rows, and one about a single row.
    """

    name: str
    decide: Callable[[TiedRows], Integers]
    labels_every_row: bool
    reads_evidence: bool
    pieces: Mapping[str, str]
    words: str
    sentence: str
    reason: str

    def piece(self, export: str) -> str:
        """What an export calls its code for this rule; ValueError if it has none."""
        if export not in self.pieces:
            able = [f"ties={rule.name!r}" for rule in TIES.values() if export in rule.pieces]
            raise ValueError(f"the {export} export has no code for ties={self.name!r}; use {' or '.join(able)}")
        return self.pieces[export]


TIES = {
    rule.name: rule
    for rule in (
        TieRule(
            name="margin",
            decide=most_evidence,
            labels_every_row=True,
            reads_evidence=True,
            pieces={"C": "ties.c", "ONNX": "most_evidence", "page": "mostEvidence", "Verilog": "evidence"},
            words="every row gets a label",
            sentence="Ties that the paper's rule leaves open are decided by the margins.",
            reason="The paper's rule would give no label; the margins decide.",
        ),
        TieRule(
            name="abstain",
            decide=no_label,
            labels_every_row=False,
            reads_evidence=False,
            pieces={"C": "no_label.c", "ONNX": "no_label", "page": "noLabel", "Verilog": "unclassified"},
            words="the paper's rule",
            sentence="A row without a clear winner stays unclassified, as in the paper.",
            reason="No rule decides between them, so there is no label.",
        ),
    )
}
"""All tie rules, by name."""

PAPER_RULE = TIES["abstain"]
"""The rule of the paper."""
