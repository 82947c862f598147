"""A browser, and pages in it."""

import pytest
from browsers import DESK, resize, started, wait_until


@pytest.fixture(scope="module")
def browser():
    made = started()
    yield made
    made.quit()


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a page from disk at a size; after the test its console must be empty."""

    def open_(text, size=DESK):
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        resize(browser, *size)
        browser.get(path.as_uri())
        wait_until(browser, "return document.documentElement.dataset.ready === 'yes'")
        return browser

    browser.get_log("browser")
    yield open_
    assert browser.get_log("browser") == []
    loaded = browser.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert [name for name in loaded if not name.startswith("data:")] == []
