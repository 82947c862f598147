"""Every page of the built site is accessible and fits a phone and a desk.

Slow: it builds the site without running the examples.  ``SITE=site`` checks a site that is built already, and
``SCREENSHOTS=folder`` keeps a picture of every page.
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from pathlib import Path

import pytest
from browsers import axe, resize, started

ROOT = Path(__file__).parent.parent
WIDTHS = (400, 1400)

pytestmark = pytest.mark.slow

# What axe finds, as rule and element; a page in a frame of its own is checked by itself.
FOUND = """
const done = arguments[arguments.length - 1];
const options = {iframes: false, resultTypes: ["violations"]};
axe.run(document, options).then((results) => done(results.violations.flatMap((violation) =>
  violation.nodes.map((node) => `${violation.id}: ${node.html.slice(0, 150)}`))));
"""

# Elements that a reader cannot read whole: beyond the page, or in a box of code that is too narrow on a desk.
CLIPPED = """
const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
const code = [...document.querySelectorAll("article pre")].filter((pre) => pre.scrollWidth > pre.clientWidth + 1);
const broken = [...document.querySelectorAll("article table :is(td, th) *, article table :is(td, th)")].filter(
  (cell) => getComputedStyle(cell).overflowWrap === "anywhere" || getComputedStyle(cell).wordBreak === "break-all");
return {wide, code: code.map((pre) => pre.textContent.slice(0, 80)), broken: broken.map((cell) => cell.textContent)};
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if given := os.environ.get("SITE"):
        return Path(given).resolve()
    pytest.importorskip("sphinx", reason="Sphinx is not installed")
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "-q", "-D", "plot_gallery=0", "-d", str(folder / "doctrees")]
    subprocess.run([*build, str(ROOT / "docs"), str(folder / "html")], check=True)
    return folder / "html"


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_is_accessible_and_fits(site, width):
    script = axe()
    browser = started()
    browser.set_script_timeout(500)  # seconds; the longest pages have thousands of elements
    browser.command_executor.client_config.timeout = 600
    problems = []
    try:
        pages = [page for page in sorted(site.rglob("*.html")) if "_static" not in page.parts]
        assert len(pages) > 40
        for page in pages:
            resize(browser, width, 900)
            browser.get(page.as_uri())
            name = str(page.relative_to(site))
            browser.execute_script(script)
            problems += [f"{name}: {found}" for found in browser.execute_async_script(FOUND)]
            clipped = browser.execute_script(CLIPPED)
            if clipped["wide"] > 0:
                problems.append(f"{name}: {clipped['wide']} pixels too wide")
            problems += [f"{name}: broken words: {text}" for text in clipped["broken"]]
            if width == max(WIDTHS):
                problems += [f"{name}: code is clipped: {text}" for text in clipped["code"]]
            if folder := os.environ.get("SCREENSHOTS"):
                whole = {"captureBeyondViewport": True, "format": "png"}
                picture = browser.execute_cdp_cmd("Page.captureScreenshot", whole)["data"]
                target = Path(folder) / f"{name.replace('/', '-').removesuffix('.html')}-{width}.png"
                target.write_bytes(base64.b64decode(picture))
    finally:
        browser.quit()
    assert not problems, "\n".join(problems)
