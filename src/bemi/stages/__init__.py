"""The stages of training: what each asks for, in :mod:`bemi.stages.registry`, and its results."""

from bemi.stages.registry import PAPER_STAGES, SOFT_STAGES, SPARSE_STAGES, STAGES, Stage, check_stages, get, list_title
from bemi.stages.result import ClaimMismatch, Outcome, StageResult

__all__ = [
    "PAPER_STAGES",
    "SOFT_STAGES",
    "SPARSE_STAGES",
    "STAGES",
    "ClaimMismatch",
    "Outcome",
    "Stage",
    "StageResult",
    "check_stages",
    "get",
    "list_title",
]
