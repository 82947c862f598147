"""Pages in headless Chromium, and their scripts in Node."""

import shutil
import subprocess
from pathlib import Path

import pytest

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def axe():
    """The script of axe-core, which finds what people with a screen reader or a keyboard would stumble over."""
    npm = shutil.which("npm")
    root = subprocess.run([npm, "root", "-g"], capture_output=True, text=True).stdout.strip() if npm else ""
    script = Path(root) / "axe-core" / "axe.min.js"
    if not script.is_file():
        pytest.skip("axe-core is not installed (npm install -g axe-core)")
    return script.read_text(encoding="utf-8")


PHONE, DESK = (390, 844), (1400, 1000)


def started():
    """A browser; the test is skipped without one."""
    pytest.importorskip("selenium", reason="selenium is not installed")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium or chromium-driver is not installed")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--force-prefers-reduced-motion",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))


def resize(browser, width, height):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def wait_until(browser, script):
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(browser, 20, poll_frequency=0.05).until(lambda b: b.execute_script(script))
