"""The picture at the top of README and of the site: a digit drawn on the live page.

``python docs/pictures/hero.py PAGE`` makes it of ``site/live.html`` or any other page of MNIST; it needs chromium,
chromium-driver and selenium.
"""

from __future__ import annotations

import sys
from math import cos, sin
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

UPPER = [(0.47 + 0.2 * cos(turn / 10), 0.31 + 0.17 * sin(turn / 10)) for turn in range(-28, 14)]
LOWER = [(0.47 + 0.24 * cos(turn / 10), 0.68 + 0.2 * sin(turn / 10)) for turn in range(-13, 28)]
THREE = UPPER + LOWER
"""Points of a 3, as fractions of the pad."""


def main(page: str) -> None:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--force-device-scale-factor=1.5",
    ):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    browser.set_window_size(1240, 1010)
    browser.get(Path(page).resolve().as_uri())
    browser.implicitly_wait(10)
    pad = browser.find_element(By.CSS_SELECTOR, ".pad")
    width, height = pad.size["width"], pad.size["height"]
    places = [(int((x - 0.5) * width), int((y - 0.5) * height)) for x, y in THREE]
    chain = ActionChains(browser, duration=2).move_to_element_with_offset(pad, *places[0]).click_and_hold()
    for (x, y), (before_x, before_y) in zip(places[1:], places, strict=False):
        chain.move_by_offset(x - before_x, y - before_y)
    chain.release().perform()
    browser.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
    browser.save_screenshot(str(Path(__file__).parent.parent / "images" / "hero.png"))
    browser.quit()


if __name__ == "__main__":
    main(sys.argv[1])
