"""Histograms of oriented gradients in integer arithmetic; docs/transforms.md describes the algorithm step by step."""
