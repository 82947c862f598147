"""The page of a signal: a recording to slide through, what is read from text, and what spoke for a decision."""

import json
import re
import subprocess
from functools import cache

import numpy as np
import pandas as pd
import pytest
from browsers import needs_node, wait_until
from exported_models import expected, model, waves, wild_windows
from soft_margins import soft_margins

from bemi import SignalCounts, save
from bemi.cli import main
from bemi.export.page import TestData as WindowsToShow
from bemi.export.page import page, page_file

WIDE, NARROW = (1280, 1000), (400, 900)
TIME, CHANNELS = 40, 2
CLASSES = np.array(["walking", "running", "resting", "cycling"])


@cache
def classifier():
    X, y = waves(32, TIME, CHANNELS)
    settings = {"weight_bound": 7, "time_limit": None, "node_limit": 5}
    return soft_margins(**settings, inputs=SignalCounts(rocket=84)).fit(X, CLASSES[y])


@cache
def signal_page(with_samples=True):
    X, y = waves(20, TIME, CHANNELS, seed=7)
    return page(classifier(), test=WindowsToShow(X, CLASSES[y]) if with_samples else None)


@cache
def recording():
    """Readings of several activities, shape (time, channels)."""
    return np.concatenate([waves(4, 90, CHANNELS, seed=seed)[0][seed % 4] for seed in range(6)])


def label(browser):
    return browser.execute_script("return document.querySelector('.votes .label').textContent")


def slide(browser, start):
    browser.execute_script(
        "const slider = document.querySelector('.recording input[type=range]');"
        "slider.value = arguments[0]; slider.dispatchEvent(new Event('input'));"
        "return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));",
        start,
    )


def paste(browser, text):
    browser.execute_script(
        "document.querySelector('.recording details').open = true;"
        "document.querySelector('.recording textarea').value = arguments[0];"
        "document.querySelector('.recording details button').click();",
        text,
    )


def as_text(readings, *, time=True, separator=",", heading=True):
    names = (["time"] if time else []) + [f"axis{c}" for c in range(readings.shape[1])]
    lines = [separator.join(names)] if heading else []
    lines += [separator.join(map(str, ([20 * t] if time else []) + row)) for t, row in enumerate(readings.tolist())]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "form",
    [{}, {"time": False}, {"separator": ";"}, {"separator": "\t", "heading": False}, {"heading": False, "time": False}],
)
def test_sliding_through_readings_gives_the_labels_of_python(form, opened):
    browser = opened(signal_page(), WIDE)
    paste(browser, as_text(recording(), **form))
    starts = [0, 1, 17, 90, 200, len(recording()) - TIME]
    wanted = classifier().predict(np.array([recording()[start : start + TIME] for start in starts]))
    found = []
    for start in starts:
        slide(browser, start)
        found.append(label(browser))
    assert found == wanted.tolist()
    assert len(set(found)) > 1
    place = browser.execute_script("return document.querySelector('.recording .tools .hint').textContent")
    last = len(recording()) - TIME
    assert place == f"Samples {last} to {last + TIME - 1} of {len(recording())}."


def test_test_samples_lie_one_after_the_other(opened):
    browser = opened(signal_page(), WIDE)
    rows = np.array(browser.execute_script("return bemi.samples"))
    joined = rows.reshape(-1, CHANNELS)
    for start in (0, TIME // 2, 5 * TIME, 5 * TIME + 3):
        slide(browser, start)
        assert label(browser) == classifier().predict(joined[None, start : start + TIME])[0]
    pressed = "return document.querySelectorAll('.sample[aria-pressed]').length"
    assert browser.execute_script(pressed) == 0
    browser.execute_script("document.querySelectorAll('.sample')[3].click()")
    assert browser.execute_script(pressed) == 1
    assert browser.execute_script("return document.querySelector('.recording input').valueAsNumber") == 3 * TIME
    assert label(browser) == classifier().predict(rows[3:4].reshape(1, TIME, CHANNELS))[0]


def test_playing_moves_on_and_stops_at_the_end(opened):
    browser = opened(signal_page(), WIDE)
    paste(browser, as_text(recording()[: TIME + 12]))
    press = "[...document.querySelectorAll('.recording button')].find((b) => b.textContent.includes('Play')).click()"
    browser.execute_script(press)
    wait_until(browser, "return document.querySelector('.recording input').valueAsNumber === 12")
    wait_until(browser, "return document.querySelector('.recording').textContent.includes('Play')")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there are no readings in it"),
        ("time,x,y\n", "there are no readings in it"),
        ("1\n2", "2 columns of numbers are needed, or one more with the time first; line 1 has 1"),
        ("t,a,b\n1,2,3,4", "2 columns of numbers are needed, or one more with the time first; line 2 has 4"),
        ("1,2\n3,4\n\n5", "line 4 has 1 cell instead of 2"),
        ("1,2\n3,x", "line 2 has \u201cx\u201d instead of a number"),
        ("1,2\n3,nan", "line 2 has \u201cnan\u201d instead of a number"),
        ("1,2\n3,4", "2 samples are fewer than the 40 of a window"),
    ],
)
def test_what_cannot_be_read_is_named(text, message, opened):
    browser = opened(signal_page(), WIDE)
    before = label(browser)
    paste(browser, text)
    assert browser.execute_script("return document.querySelector('.problem').textContent") == f"Not read: {message}."
    assert label(browser) == before


def test_what_spoke_for_the_decision(opened):
    """Contributions add up to the sum of the network, and counts are those of Python."""
    browser = opened(signal_page(), WIDE)
    ensemble, transform = classifier().ensemble_, classifier().transform_
    for row in browser.execute_script("return bemi.samples.slice(0, 6)"):
        said = browser.execute_script("return bemi.reasons(arguments[0])", row)
        inputs = transform.transform(np.array([row]))[0]
        pair = sorted([said["winner"], said["other"]])
        place = ensemble.subsets.tolist().index(pair)
        total = int(inputs @ ensemble.networks[place].weights[0][:, 0])
        side = 1 if pair[0] == said["winner"] else -1
        assert sum(group["total"] for group in said["groups"]) == side * total
        assert classifier().predict(np.array([row]))[0] == classifier().classes_[said["winner"]]
    browser.execute_script("document.querySelectorAll('.sample')[0].click()")
    row = np.array([browser.execute_script("return bemi.samples[0]")])
    outputs = transform.transform(row)[0]
    said = browser.execute_script("return bemi.reasons(bemi.samples[0])")
    shown = browser.execute_script(
        "return [...document.querySelectorAll('.reason-row .hint')].map((e) => e.textContent)"
    )
    assert len(shown) == min(8, len(said["groups"]))
    for text, group in zip(shown, said["groups"], strict=False):
        above, usual = map(int, re.search(r"at (\d+) of \d+ places, usually (\d+)$", text).groups())
        input_ = group["input"]
        scaled = (above - usual) * 2 ** int(transform.doublings_[input_])
        assert max(-127, min(127, scaled)) == outputs[input_]
        assert usual == transform.means_[input_]


def test_a_chosen_threshold_is_marked_in_the_window(opened):
    browser = opened(signal_page(), WIDE)
    picture = "return document.querySelector('.plot').toDataURL()"
    before = browser.execute_script(picture)
    browser.execute_script("document.querySelector('.reason-row').click()")
    assert browser.execute_script("return document.querySelector('.reason-row').getAttribute('aria-pressed')") == "true"
    assert browser.execute_script(picture) != before
    browser.execute_script("document.querySelector('.reason-row').click()")
    assert browser.execute_script(picture) == before


def test_weights_are_drawn_by_response_and_threshold(opened):
    """The square of a threshold has the colour of its weight."""
    browser = opened(signal_page(), WIDE)
    transform, network = classifier().transform_, classifier().ensemble_.networks[0]
    weights = np.asarray(network.weights[0])[:, 0]
    rows = [np.argsort(transform.thresholds_[start : start + 8], kind="stable") + start for start in range(0, 24, 8)]
    colours = browser.execute_script(
        "const canvas = document.querySelector('.detail .neuron canvas');"
        "const { data, width } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);"
        "return [0, 1, 2].map((row) => [...Array(8).keys()].map((place) => {"
        "  const x = Math.floor(420 + (place + 0.4) * (width - 420) / arguments[0]);"
        "  const start = 4 * ((row * 34 + 10) * width + x);"
        "  return [...data.slice(start, start + 3)]; }));",
        max(8, max(len(transform.layout_.rocket_of(way)) for way in range(transform.layout_.ways))),
    )
    seen = {}
    for row, inputs in zip(colours, rows, strict=True):
        for colour, weight in zip(row, weights[inputs].tolist(), strict=True):
            seen.setdefault(weight, set()).add(tuple(colour))
    assert all(len(found) == 1 for found in seen.values()), "one colour for each weight"
    assert len({next(iter(found)) for found in seen.values()}) == len(seen) > 2


def test_without_samples_the_page_waits_for_readings(opened):
    browser = opened(signal_page(False), WIDE)
    assert label(browser) in CLASSES
    paste(browser, as_text(recording()))
    slide(browser, 30)
    assert label(browser) == classifier().predict(recording()[None, 30 : 30 + TIME])[0]


def test_networks_with_hidden_layers_give_no_reasons(opened):
    X, y = waves(12, 20, 1, classes=2)
    settings = {"hidden_layers": (2,), "stages": ("sm",), "time_limit": None, "node_limit": 2}
    fitted = soft_margins(**settings, inputs=SignalCounts(rocket=0)).fit(X, y)
    browser = opened(page(fitted, test=WindowsToShow(X, y)), WIDE)
    assert browser.execute_script("return document.querySelector('#reasons').hidden")
    assert browser.execute_script("return bemi.reasons(bemi.samples[0])") is None
    browser.get("about:blank")
    opened(signal_page(), WIDE)
    assert not browser.execute_script("return document.querySelector('#reasons').hidden")


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_nothing_is_wider_than_the_window(size, opened):
    browser = opened(signal_page(), size)
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    for selector in (".plot", ".plot.map"):
        box = browser.execute_script(
            "const box = document.querySelector(arguments[0]).getBoundingClientRect(); return [box.left, box.right]",
            selector,
        )
        assert box[0] >= 0
        assert box[1] <= size[0]


def data_of(text):
    return json.loads(re.search(r'<script id="model" type="application/json">(.*?)</script>', text)[1])


def test_windows_of_64_samples_are_no_images(tmp_path, capsys):
    X, y = waves(16, 64, 1)
    settings = {"weight_bound": 7, "time_limit": None, "node_limit": 2}
    fitted = soft_margins(**settings, inputs=SignalCounts(rocket=0)).fit(X, y)
    assert data_of(page(fitted))["image"] is None
    with pytest.raises(ValueError, match="windows of a signal, not images"):
        page(fitted, image=(8, 8))
    save(fitted, tmp_path / "signal.bemi")
    np.savez(tmp_path / "windows.npz", X=X, y=y)
    command = ["export", "page", str(tmp_path / "signal.bemi"), "-o", str(tmp_path / "page.html")]
    assert main([*command, "--data", str(tmp_path / "windows.npz")]) == 0
    made = data_of((tmp_path / "page.html").read_text())
    assert made["image"] is None
    assert made["test"]["rows"] == 16
    assert main([*command, "--image", "8x8"]) == 2
    assert "windows of a signal, not images" in capsys.readouterr().err


LABELS = """
const data = JSON.parse(require("fs").readFileSync("data.json", "utf8"));
const ensemble = new Ensemble(data);
const rows = JSON.parse(require("fs").readFileSync("rows.json", "utf8"));
console.log(JSON.stringify(rows.map((row) => ensemble.outcome(row).decision)));
"""


def in_node(fitted, rows, folder):
    """Class indices that the scripts of the page give outside a browser."""
    text = page(fitted)
    (folder / "data.json").write_text(json.dumps(data_of(text)))
    (folder / "rows.json").write_text(json.dumps(rows.tolist()))
    script = fitted.transform_.page_script().script
    scripts = [
        *map(page_file, ("elements.js", "scaling.js")),
        script,
        *map(page_file, ("probabilities.js", "network.js")),
    ]
    (folder / "program.js").write_text(f'(() => {{\n"use strict";\n{"".join(scripts)}{LABELS}}})();')
    run = subprocess.run(["node", "program.js"], cwd=folder, capture_output=True, text=True, check=True)
    return np.array(json.loads(run.stdout))


@needs_node
@pytest.mark.parametrize("name", ["counts of a signal", "counts of a wide signal", "counts of a long signal"])
def test_labels_in_javascript(name, tmp_path):
    fitted = model(name)
    rows = wild_windows(fitted.transform_, 400, 3)
    assert np.array_equal(in_node(fitted, rows, tmp_path), expected(fitted, rows))


@pytest.mark.slow
@needs_node
def test_ten_thousand_labels_in_javascript(tmp_path):
    X, y = waves(42, 128, 3, classes=7)
    settings = {"weight_bound": 7, "time_limit": None, "node_limit": 5}
    fitted = soft_margins(**settings, inputs=SignalCounts()).fit(X, y)
    for seed in range(10):
        rows = wild_windows(fitted.transform_, 1000, seed)
        assert np.array_equal(in_node(fitted, rows, tmp_path), expected(fitted, rows))


def test_channels_have_their_names(opened):
    X, y = waves(12, 20, 2, classes=2)
    names = [f"{axis}_{t}" for t in range(20) for axis in ("gyro x", "speed")]
    rows = pd.DataFrame(X.reshape(len(X), -1), columns=names)
    fitted = soft_margins(weight_bound=7, time_limit=None, node_limit=2, inputs=SignalCounts(2, rocket=0)).fit(rows, y)
    text = page(fitted, test=WindowsToShow(rows, y))
    assert [field["name"] for field in data_of(text)["fields"]] == ["gyro x", "speed"]
    browser = opened(text, WIDE)
    reasons = browser.execute_script(
        "return [...document.querySelectorAll('.reason-row .name')].map((e) => e.textContent)"
    )
    assert reasons
    assert all(name.split(",")[0] in ("gyro x", "speed", "constant") for name in reasons)
