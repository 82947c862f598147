"""The page in headless Chromium: what it computes is Python's, and it can be used."""

import base64
import json
import shutil

import numpy as np
import pytest
from exported_models import MODELS, model, probes
from sklearn.datasets import load_digits, load_iris, load_wine

from bemi import BeMiClassifier, IntegerHog, datasets, save
from bemi.certificate import training_rows
from bemi.cli import main
from bemi.export.page import TestData, page, write
from bemi.network import Network
from bemi.transforms import ConstantInput

TestData.__test__ = False  # no test, whatever its name says

RANDOM_ROWS = 2000
MOST_BYTES = 1_500_000
PHONE, DESK = (390, 844), (1400, 1000)
EVIL = ("</script><script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "<b>&amp;\u2028'`${alert(3)}")

PREDICT_ALL = """
const found = [];
for (const [row, truth] of arguments[0]) {
  const said = bemi.predict(row, truth);
  found.push([said.label, said.index, said.votes, said.counts, said.dominant, said.unclassified, said.status]);
}
return found;
"""
THREE = [(0.3, 0.25), (0.45, 0.15), (0.65, 0.2), (0.68, 0.35), (0.5, 0.47), (0.68, 0.58), (0.7, 0.75), (0.5, 0.87)]


@pytest.fixture(scope="module")
def browser():
    selenium = pytest.importorskip("selenium", reason="selenium is not installed")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium or chromium-driver is not installed")
    from selenium import webdriver

    assert selenium
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
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


def resize(browser, width, height):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def wait_until(browser, script):
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(browser, 20, poll_frequency=0.05).until(lambda b: b.execute_script(script))


def said_by_page(browser, rows, truth):
    found = []
    # In pieces, since a message to the browser has its limits.
    for start in range(0, len(rows), 500):
        part = [[row.tolist(), int(t)] for row, t in zip(rows[start : start + 500], truth[start : start + 500])]
        found += browser.execute_script(PREDICT_ALL, part)
    return found


def check_predictions(browser, classifier, rows, truth):
    """Labels, votes, counts, dominant labels and statuses are Python's, for every row."""
    labels = np.append(classifier.classes_.astype(object), "no class at all")[truth]
    outcome = classifier.vote(rows, labels)
    votes = classifier._votes(np.asarray(rows))
    for i, said in enumerate(said_by_page(browser, rows, truth)):
        label, _, own_votes, counts, dominant, unclassified, status = said
        assert own_votes == votes[i].tolist()
        assert counts == outcome.counts[i].tolist()
        assert dominant == outcome.dominant[i].tolist()
        assert unclassified == outcome.unclassified[i]
        assert label == str(outcome.label[i])
        assert status == outcome.status[i]
    return outcome


def raw_rows(name, classifier, count):
    """Features: integers where the model takes them, else numbers on both sides of every rounding."""
    rng = np.random.default_rng(1)
    scaling = classifier.input_scaling_
    if isinstance(classifier.transform_, IntegerHog):
        return probes(name, count, 0, classifier.transform_.maximum_)
    reach = 40 * max(scaling.high, -scaling.low)
    integers = probes(name, count, -reach, reach)
    if scaling.factors is None:
        return integers
    factors = np.where(scaling.factors > 0, scaling.factors, 1.0)
    # Halves of the grid and their neighbours, beside anything.
    shift = rng.choice([0.0, 0.5, -0.5, 0.25], integers.shape) + rng.choice([0.0, 1e-16, -1e-16], integers.shape)
    return (integers + shift) / factors


@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_those_of_python(name, opened):
    classifier = model(name)
    rows = raw_rows(name, classifier, RANDOM_ROWS)
    truth = np.random.default_rng(2).integers(-1, len(classifier.classes_), len(rows))
    outcome = check_predictions(opened(page(classifier)), classifier, rows, truth)
    if "ties" in name:
        assert outcome.unclassified.any(), "the paper's rule leaves some rows open"


def test_halves_are_rounded_as_numpy_rounds_them(opened):
    browser = opened(page(model("scaled signed features")))
    factors = model("scaled signed features").input_scaling_.factors
    rng = np.random.default_rng(3)
    rows = (rng.integers(-300, 300, (2000, len(factors))) + 0.5) / factors
    halves = rows * factors
    assert (halves - np.floor(halves) == 0.5).mean() > 0.3
    inputs = browser.execute_script("return arguments[0].map((row) => bemi.inputs(row))", rows.tolist())
    assert np.array_equal(inputs, np.rint(halves))


def test_what_python_refuses_the_page_refuses(opened):
    browser = opened(page(model("digits")))
    refused = "try { bemi.predict(arguments[0]); return null; } catch (error) { return [error.name, error.message]; }"
    for row, match in (
        ([0.5] * 64, "integer"),
        ([2.0**31] * 64, "too large"),
        ([2.0**30] * 64, "too large"),
        ([1] * 63, "64 features"),
    ):
        name, message = browser.execute_script(refused, row)
        assert name == "RangeError"
        assert match in message
        with pytest.raises(ValueError, match=r"integer|too large|features"):
            model("digits").predict(np.array([row]))
    browser = opened(page(model("histograms of doubled images")))
    assert browser.execute_script(refused, [99] * 64)[0] == "RangeError"
    with pytest.raises(ValueError, match="maximum"):
        model("histograms of doubled images").predict(np.full((1, 64), 99))
