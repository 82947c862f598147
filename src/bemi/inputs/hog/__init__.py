"""Histograms of oriented gradients in integer arithmetic; docs/transforms.md describes the algorithm step by step."""

from bemi.inputs.hog.transform import IntegerHog

__all__ = ["IntegerHog"]
