"""Pictures of the exported page: the one at the top of README and of the site, and those of docs/page.md.

``python docs/pictures/pages.py PAGE`` makes them, with ``site/live.html`` or any other page of MNIST to draw on; it
needs chromium, chromium-driver, Pillow and selenium.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from math import cos, sin
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import bemi
from bemi.export import page

IMAGES = Path(__file__).parent.parent / "images"
UPPER = [(0.47 + 0.2 * cos(turn / 10), 0.31 + 0.17 * sin(turn / 10)) for turn in range(-28, 14)]
LOWER = [(0.47 + 0.24 * cos(turn / 10), 0.68 + 0.2 * sin(turn / 10)) for turn in range(-13, 28)]
THREE = UPPER + LOWER
"""Points of a 3, as fractions of the pad."""


@contextmanager
def opened(file: Path, width: int, height: int, scale: float = 1.5) -> Iterator[Any]:
    """A browser that shows the page."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    try:
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(file.resolve().as_uri())
        browser.implicitly_wait(10)
        yield browser
    finally:
        browser.quit()


def photograph(browser: Any, name: str) -> None:
    browser.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
    picture = Image.open(BytesIO(browser.get_screenshot_as_png()))
    picture.convert("RGB").quantize(64).save(IMAGES / f"{name}.png", optimize=True)


def draw(browser: Any) -> None:
    """Draw the 3."""
    pad = browser.find_element(By.CSS_SELECTOR, ".pad")
    width, height = pad.size["width"], pad.size["height"]
    places = [(int((x - 0.5) * width), int((y - 0.5) * height)) for x, y in THREE]
    chain = ActionChains(browser, duration=2).move_to_element_with_offset(pad, *places[0]).click_and_hold()
    for (x, y), (before_x, before_y) in zip(places[1:], places, strict=False):
        chain.move_by_offset(x - before_x, y - before_y)
    chain.release().perform()


def digits(live: Path) -> None:
    for name, width, height in (("hero", 1240, 895), ("page-wide", 1240, 1560), ("page-narrow", 390, 844)):
        with opened(live, width, height) as browser:
            draw(browser)
            photograph(browser, name)


def scorecard(folder: Path) -> None:
    """The card of docs/tables.md."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = y.map({0: "malignant", 1: "benign"})
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=100, stratify=y, random_state=0)
    card = bemi.ScorecardClassifier(max_lines=5).fit(X_train, y_train)
    page.write(card, folder / "card.html", test=page.TestData(X_test, y_test))
    with opened(folder / "card.html", 1240, 900) as browser:
        browser.execute_script("document.querySelector(arguments[0]).click()", ".sample.right[title=malignant]")
        photograph(browser, "page-card")


def signal(folder: Path) -> None:
    """Three activities, much as in docs/signals.md."""
    rng, t, windows, labels = np.random.default_rng(0), np.arange(64), [], []
    for _person in range(12):
        pace, strength = rng.normal(1, 0.15), rng.normal(1, 0.3)
        for activity, steps, force in (("rest", 0.2, 40), ("walk", 1.8, 400), ("run", 2.6, 900)):
            beat = 2 * np.pi * pace * steps * t / 25 + rng.uniform(0, 6)
            window = strength * force * np.stack([np.sin(beat), np.cos(2 * beat), 0.5 * np.sin(beat + 1)], axis=1)
            window += np.array([0, 0, 1000]) + rng.normal(0, 60 + 0.4 * force, (64, 3))
            windows.append(window.round())
            labels.append(activity)
    X, y = np.array(windows, dtype=int), np.array(labels)
    model = bemi.FewBitClassifier(random_state=0, copies=None).fit(X[:18], y[:18])
    page.write(model, folder / "signal.html", test=page.TestData(X[18:], y[18:]))
    with opened(folder / "signal.html", 1240, 1100) as browser:
        browser.execute_script("document.querySelector(arguments[0]).click()", ".sample.right")
        photograph(browser, "page-signal")


def main(live: str) -> None:
    digits(Path(live))
    with tempfile.TemporaryDirectory() as folder:
        scorecard(Path(folder))
        signal(Path(folder))


if __name__ == "__main__":
    main(sys.argv[1])
