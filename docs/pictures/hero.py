"""The picture at the top of README and of the site: a digit drawn on the live page.

``python docs/pictures/hero.py PAGE`` makes it of ``site/live.html`` or any other page of MNIST; it needs chromium,
chromium-driver and selenium.
"""

from __future__ import annotations

import sys
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

THREE = [(0.3, 0.25), (0.45, 0.14), (0.64, 0.16), (0.7, 0.3), (0.6, 0.43), (0.48, 0.48), (0.62, 0.52), (0.72, 0.66)]
THREE += [(0.66, 0.82), (0.48, 0.88), (0.3, 0.78)]
"""Points of a 3, as fractions of the pad."""


def main(page: str) -> None:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--force-device-scale-factor=1.5"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    browser.set_window_size(1120, 900)
    browser.get(Path(page).resolve().as_uri())
    browser.implicitly_wait(10)
    pad = browser.find_element(By.CSS_SELECTOR, ".pad")
    width, height = pad.size["width"], pad.size["height"]
    places = [(int((x - 0.5) * width), int((y - 0.5) * height)) for x, y in THREE]
    chain = ActionChains(browser, duration=20).move_to_element_with_offset(pad, *places[0]).click_and_hold()
    for (x, y), (before_x, before_y) in zip(places[1:], places, strict=False):
        chain.move_by_offset(x - before_x, y - before_y)
    chain.release().perform()
    browser.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
    cards = browser.find_element(By.ID, "try")
    cards.screenshot(str(Path(__file__).parent.parent / "images" / "hero.png"))
    browser.quit()


if __name__ == "__main__":
    main(sys.argv[1])
