"""Exports of trained ensembles for use outside Python: one package per target, see :mod:`bemi.export.registry`."""
