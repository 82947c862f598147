"""Counts of a signal: how often its levels, differences and kernels exceed thresholds; docs/transforms.md has them."""

from bemi.inputs.signal.transform import SignalCounts

__all__ = ["SignalCounts"]
