"""Exports of trained ensembles for use outside Python: a package per target, each with ``write(model, path, ...)``."""

PREFIX = "bemi"
"""What names in exported programs and circuits begin with, unless the caller chooses another name."""
