"""Trained ensembles for other places than Python: one package per target, listed in :mod:`bemi.export.registry`."""
