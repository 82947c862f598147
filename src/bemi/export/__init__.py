"""Exports of trained ensembles for use outside Python: a package per target, each with ``write(model, path, ...)``."""
