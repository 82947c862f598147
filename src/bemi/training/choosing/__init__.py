"""Choosing settings on the training rows alone: candidates, compared by cross-validation with a quick machine."""
