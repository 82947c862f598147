"""Scorecards: models of bits as points that people can add up."""

from bemi.report.scorecard.scorecard import Scorecard, why_no_card

__all__ = ["Scorecard", "why_no_card"]
