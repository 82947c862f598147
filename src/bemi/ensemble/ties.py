"""Tie rules: what an ensemble answers if the paper's vote leaves a row unclassified."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TieRule:
    """What to do with rows that have no clear winner.

    Attributes
    ----------
    name
        Value of the parameter ``ties``.
    by_evidence
        Whether the evidence of the networks decides, so that every row gets a label; otherwise such rows get none.
    words
        The rule in a few words.
    """

    name: str
    by_evidence: bool
    words: str


TIES = {
    rule.name: rule
    for rule in (
        TieRule("margin", by_evidence=True, words="every row gets a label"),
        TieRule("abstain", by_evidence=False, words="the paper's rule"),
    )
}
"""All tie rules, by name."""
