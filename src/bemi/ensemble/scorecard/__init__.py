"""Scorecards: models of bits as points that people can add up."""

from bemi.ensemble.scorecard.scorecard import Scorecard

__all__ = ["Scorecard"]
