"""Histograms of oriented gradients, in integers alone; docs/transforms.md has the algorithm step by step."""
