"""Trained ensembles for other places than Python."""
