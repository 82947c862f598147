"""What the tests of both distributions share: Hypothesis' profile, solvers, and a clock that counts looks."""

import os
from itertools import count

import pytest
from hypothesis import HealthCheck, settings

from bemi import solvers

# `make test` keeps every core busy: a test that does not ask for processes gets none, which spares their start.
os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")

settings.register_profile(
    "default",
    deadline=None,
    # The ordinary run tries the same instances every time; the slow run draws fresh ones.
    derandomize=os.environ.get("BEMI_FRESH_EXAMPLES") is None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("default")


@pytest.fixture(scope="session", params=solvers.names())
def backend(request: pytest.FixtureRequest) -> str:
    """Every solver in turn; one that is not installed skips visibly."""
    if request.param not in solvers.installed():
        pytest.skip(f"solver {request.param} is not installed")
    return request.param


@pytest.fixture
def looks(monkeypatch):
    """Searches see a clock that moves by a second whenever one looks at it: a limit of n seconds is one of n looks."""
    seconds = count()
    monkeypatch.setattr("bemi.limits.clock", lambda: float(next(seconds)))
