from shared_fixtures import backend, looks

__all__ = ["backend", "looks"]
