import both_checkers
import pytest
from shared_fixtures import backend, looks

__all__ = ["backend", "looks"]

both_checkers.watch()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """scikit-learn's longest check comes three times; two of them, on read-only rows, are for the slow run."""
    for item in items:
        if "readonly_memmap" in item.name and "hidden_layers=(2," in item.name:
            item.add_marker(pytest.mark.slow)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many certificates the second checker has seen."""
    if both_checkers.seen:
        counts = ", ".join(f"{count} {what}" for what, count in sorted(both_checkers.seen.items()))
        terminalreporter.write_line(f"second checker: {counts}")
