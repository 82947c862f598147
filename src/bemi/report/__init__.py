"""Reports on fitted models: contents and results as plain data, displays, HTML, scorecards."""

from bemi.report.displays import FrontierDisplay, MarginsDisplay, VotesDisplay, WeightsDisplay, input_names
from bemi.report.scorecard import Card, Line, Scorecard, why_no_card
from bemi.report.summary import confusion, contents, evaluation, fitted_html, stage_numbers, training_summary

__all__ = [
    "Card",
    "FrontierDisplay",
    "Line",
    "MarginsDisplay",
    "Scorecard",
    "VotesDisplay",
    "WeightsDisplay",
    "confusion",
    "contents",
    "evaluation",
    "fitted_html",
    "input_names",
    "stage_numbers",
    "training_summary",
    "why_no_card",
]
