"""IntegerHog against a slow twin written from docs/transforms.md, and its manners as a transformer."""

from __future__ import annotations

import json
import os
import pickle
from itertools import product
from math import isqrt
from pathlib import Path

import numpy as np
import pytest
from bemi_lab import datasets
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numba import njit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from bemi import IntegerHog
from bemi.inputs.hog.constants import DIRECTIONS, GAIN, STEEPEST
from bemi.inputs.hog.kernel import _roots
from bemi.inputs.registry import from_parameters

# --- the twin: loops and plain integers, nothing of bemi --------------------------------------------------------------

QUADRANTS = {
    8: [(7, 0), (5, 5), (0, 7)],
    12: [(8, 0), (7, 4), (4, 7), (0, 8)],
    16: [(13, 0), (12, 5), (9, 9), (5, 12), (0, 13)],
}
WEIGHTS = (1, 3, 5, 7, 7, 5, 3, 1)


def fits(value: int) -> int:
    assert -(2**31) <= value < 2**31, "a 32-bit device would overflow"
    return value


def root_by_counting(value: int) -> int:
    r = 0
    while (r + 1) * (r + 1) <= value:
        r += 1
    return r


def cross(a: tuple[int, int], b: tuple[int, int]) -> int:
    return fits(a[0] * b[1] - a[1] * b[0])


def twin(row: list[int], shape: tuple[int, int, int], maximum: int, orientations: int, straighten: bool):
    """Outputs and their upper bound, step by step as the document has them."""
    height, width, channels = shape
    # 1
    e = 0
    while maximum >> e > 255:
        e += 1
    T = maximum >> e
    doubled = height < 16 or width < 16

    def brightness(x):
        return (x >> e) * (255 // T) if doubled else root_by_counting(fits((x >> e) * (65025 // T)))

    top = brightness(maximum)
    v = {}
    H, W = (2 * height, 2 * width) if doubled else (height, width)
    for r in range(H):
        for c in range(W):
            for k in range(channels):
                # 2
                y, x = (r // 2, c // 2) if doubled else (r, c)
                v[r, c, k] = brightness(row[(y * width + x) * channels + k])
    if straighten:
        v = straightened(v, H, W, channels, top)
    # 4
    B = {}
    for r in range(H):
        for c in range(W):
            for k in range(channels):
                total = 0
                for i in (-1, 0, 1):
                    for j in (-1, 0, 1):
                        total += (2 - abs(i)) * (2 - abs(j)) * v.get((r + i, c + j, k), 0)
                B[r, c, k] = total
    R, C = (H + 3) // 4, (W + 3) // 4
    S = {(i, j, o): 0 for i in range(R) for j in range(C) for o in range(orientations)}
    for r in range(H):
        for c in range(W):
            # 5
            best, g = -1, (0, 0)
            for k in range(channels):
                gx = B.get((r, c + 1, k), 0) - B.get((r, c - 1, k), 0)
                gy = B.get((r + 1, c, k), 0) - B.get((r - 1, c, k), 0)
                size = 2 * max(abs(gx), abs(gy)) + min(abs(gx), abs(gy))
                if size > best:
                    best, g = size, (gx, gy)
            shares = split(g, orientations)
            # 7, region by region
            for i in range(R):
                down = r - (4 * i - 2)
                if not 0 <= down < 8:
                    continue
                for j in range(C):
                    across = c - (4 * j - 2)
                    if 0 <= across < 8:
                        for o, share in shares:
                            S[i, j, o] = fits(S[i, j, o] + WEIGHTS[down] * WEIGHTS[across] * share)
    # 8
    L = 128 * {8: 7, 12: 6, 16: 7}[orientations] * min(52 * channels, 128) * top
    h = 0
    while fits(L) >> h >= 2**16:
        h += 1
    return [root_by_counting(S[key] >> h) for key in sorted(S)], root_by_counting(L >> h)


def split(g: tuple[int, int], orientations: int) -> list[tuple[int, int]]:
    if g == (0, 0):
        return []
    u = 0
    while not (g[0] > 0 and g[1] >= 0):
        g = (g[1], -g[0])
        u += orientations // 4
    d = QUADRANTS[orientations]
    j = max(j for j in range(orientations // 4) if cross(d[j], g) >= 0)
    first, second = cross(g, d[j + 1]), cross(d[j], g)
    assert first >= 0
    assert second >= 0
    return [(u + j, first), ((u + j + 1) % orientations, second)]


def straightened(v: dict, H: int, W: int, channels: int, top: int) -> dict:
    z = 0
    while (channels * top >> z) * H * W * max(H, W) ** 2 >= 2**31:
        z += 1
    m = s_x = s_y = 0
    p = {}
    for r in range(H):
        for c in range(W):
            p[r, c] = sum(v[r, c, k] for k in range(channels)) >> z
            m, s_x, s_y = fits(m + p[r, c]), fits(s_x + p[r, c] * c), fits(s_y + p[r, c] * r)
    if m == 0:
        return v
    C_x = C_y = 0
    while fits((2 * C_x + 1) * m) <= fits(4 * s_x):
        C_x += 1
    while fits((2 * C_y + 1) * m) <= fits(4 * s_y):
        C_y += 1
    a = b = 0
    for r in range(H):
        for c in range(W):
            a = fits(a + fits(p[r, c] * (2 * c - C_x) * (2 * r - C_y)))
            b = fits(b + fits(p[r, c] * (2 * r - C_y) ** 2))
    A, q = abs(a), 0
    if b <= 2 * A:
        q = 32
    else:
        for _ in range(6):
            A, q = 2 * A, 2 * q
            assert A < 2**32
            if b <= A:
                A, q = A - b, q + 1
    if a < 0:
        q = -q
    moved = {}
    for r in range(H):
        s = (q * (2 * r - C_y) + 4) // 8
        f, t = s // 16, s % 16
        for c in range(W):
            for k in range(channels):
                left, right = v.get((r, c + f, k), 0), v.get((r, c + f + 1, k), 0)
                moved[r, c, k] = ((16 - t) * left + t * right + 8) // 16
    return moved


def agrees(rows: np.ndarray, shape, maximum: int, orientations: int = 16, straighten: bool = True) -> None:
    hog = IntegerHog(shape=shape, maximum=maximum, orientations=orientations, straighten=straighten).fit(rows)
    given = hog.transform(rows)
    for row, outputs in zip(rows.tolist(), given.tolist(), strict=True):
        expected, high = twin(row, hog.shape_, maximum, orientations, straighten)
        assert outputs == expected
        assert bounds(hog) == (0, high)
        assert max(outputs) <= high <= 255


def bounds(hog: IntegerHog) -> tuple[int, int]:
    """Smallest and largest value of all outputs, which have the same bounds, whatever the pixels."""
    low, high = hog.output_bounds(*hog.input_range)
    assert len(low) == len(high) == hog.n_outputs
    assert (low == low[0]).all()
    assert (high == high[0]).all()
    assert [list(end) for end in hog.output_bounds(-5, 0)] == [list(low), list(high)]
    return int(low[0]), int(high[0])


@st.composite
def image_cases(draw):
    """An image of any small size; values of all kinds, with many extremes."""
    height, width = draw(st.integers(1, 21)), draw(st.integers(1, 21))
    channels = draw(st.sampled_from([1, 1, 1, 3, 2]))
    maximum = draw(st.sampled_from([1, 2, 15, 16, 100, 255, 255, 256, 4095, 65535]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = (height, width, channels)
    kind = draw(st.sampled_from(["any", "extremes", "sparse", "stroke", "constant"]))
    if kind == "any":
        image = rng.integers(0, maximum + 1, size)
    elif kind == "extremes":
        image = rng.integers(0, 2, size) * maximum
    elif kind == "sparse":
        image = np.where(rng.random(size) < 0.1, rng.integers(0, maximum + 1, size), 0)
    elif kind == "stroke":
        # A slanted line: something to straighten.
        r, c = np.mgrid[:height, :width]
        line = abs(c - width / 2 - rng.uniform(-1.5, 1.5) * (r - height / 2)) < 1.5
        image = np.repeat(line[:, :, None], channels, axis=2) * rng.integers(0, maximum + 1, size)
    else:
        image = np.full(size, draw(st.sampled_from([0, maximum])))
    return image, maximum, draw(st.sampled_from([8, 12, 16])), draw(st.booleans())


@settings(max_examples=100)
@given(image_cases())
@example((np.full((1, 1, 1), 255), 255, 16, True))
@example((np.eye(28, dtype=int)[:, :, None] * 255, 255, 16, True))
@example((np.eye(28, dtype=int)[::-1, :, None] * 255, 255, 12, True))
def test_it_does_what_the_document_says(case):
    image, maximum, orientations, straighten = case
    agrees(image.reshape(1, -1), image.shape, maximum, orientations, straighten)


def test_it_does_what_the_document_says_on_real_images():
    agrees(datasets.load("digits").train_X[::120], None, 16)


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_it_does_what_the_document_says_on_larger_real_images(name):
    if not (Path(os.environ.get("BEMI_DATA", "nowhere")) / name).is_dir():
        pytest.skip(f"BEMI_DATA has no {name}")
    agrees(datasets.load(name).train_X[:8], (28, 28), 255)


def test_large_masses_stay_within_32_bits():
    rng = np.random.default_rng(0)
    agrees(rng.integers(0, 65536, (1, 90 * 24 * 3)), (90, 24, 3), 65535)
    agrees(np.full((1, 64 * 64), 255), (64, 64), 255)


PATTERNS = [
    ({"shape": (28, 28)}, "28 x 28"),
    ({"shape": (8, 8)}, "8 x 8"),
    ({"shape": (17, 20, 3)}, "17 x 20 with 3 channels"),
    ({"shape": (17, 20, 3), "colours": True}, "the same with colours"),
    ({"shape": (17, 20, 3), "colours": True, "shrink": 2}, "the same with colours, shrunk by 2"),
]


@pytest.mark.parametrize(("settings", "row"), PATTERNS)
def test_the_documents_checksums(settings, row):
    i = np.arange(np.prod(settings["shape"]))
    outputs = IntegerHog(**settings, maximum=255).fit_transform(((i * i * 7 + i * 3) % 251)[None, :])[0]
    checksum = int((np.arange(1, len(outputs) + 1) * outputs).sum() % 65521)
    page = Path(__file__).parents[3] / "docs" / "transforms.md"
    assert f"| {row} | {outputs.sum()} | {checksum} |" in page.read_text()


# --- why the output range holds ---------------------------------------------------------------------------------------


def weighted_rises(line: tuple[int, ...], start: int) -> int:
    n = len(line)

    def blurred(c):
        if not 0 <= c < n:
            return 0
        return sum(k * line[c + j] for j, k in ((-1, 1), (0, 2), (1, 1)) if 0 <= c + j < n)

    steps = [(w, blurred(start + i + 1) - blurred(start + i - 1)) for i, w in enumerate(WEIGHTS) if 0 <= start + i < n]
    return max(sum(w * max(0, sign * d) for w, d in steps) for sign in (1, -1))


def test_no_line_rises_more_than_the_bound_says():
    """All lines of zeros and ones around a window, at the borders too; the bound is reached."""
    # A window reaches 2 pixels further by difference and blur, so 12 pixels say all about an inner window.
    inner = max(weighted_rises(line, 2) for line in product((0, 1), repeat=12))
    at_borders = max(
        weighted_rises(line, start)
        for n in range(1, 11)
        for line in product((0, 1), repeat=n)
        for start in range(-2, n, 4)
    )
    assert inner == at_borders == STEEPEST


@pytest.mark.parametrize("orientations", DIRECTIONS)
def test_shares_stay_below_a_linear_function(orientations):
    """For every orientation some p with |px| + |py| <= G is at least the share on the three directions around it."""
    quadrant = QUADRANTS[orientations]
    ring = list(quadrant[:-1])
    while len(ring) < orientations:
        x, y = ring[len(ring) - orientations // 4]
        ring.append((-y, x))
    for k, here in enumerate(ring):
        before, after = ring[k - 1], ring[(k + 1) % orientations]
        share = max(cross(before, here), cross(here, after))
        # p is perpendicular to after - before, and just large enough at the middle.
        px, py = after[1] - before[1], before[0] - after[0]
        scale = share / (px * here[0] + py * here[1])
        assert all(scale * (px * d[0] + py * d[1]) >= -1e-9 for d in (before, after))
        assert scale * (abs(px) + abs(py)) <= GAIN[orientations] + 1e-9


@pytest.mark.parametrize("orientations", DIRECTIONS)
def test_the_output_range_is_nearly_reached(orientations):
    r, c = np.mgrid[:28, :28]
    edges = np.array([c >= 13, c >= 14, r + c >= 27, r + c >= 28]).reshape(4, -1) * 255
    hog = IntegerHog(maximum=255, orientations=orientations, straighten=False).fit(edges)
    _, high = bounds(hog)
    assert 0.75 * high <= hog.transform(edges).max() <= high


# --- what it is good for ----------------------------------------------------------------------------------------------


def test_straightening_makes_slanted_strokes_alike():
    r, c = np.mgrid[:28, :28]
    upright, left, right = (
        (np.clip(3 - abs(c - 14 - slope * (r - 14)), 0, 2) * 127 * (abs(r - 14) < 9)).astype(int).reshape(-1)
        for slope in (0, -0.4, 0.4)
    )

    def distance(straighten, a, b):
        x, y = IntegerHog(straighten=straighten, maximum=255).fit_transform(np.array([a, b]))
        return np.abs(x - y).sum()

    for slanted in (left, right):
        assert 3 * distance(True, upright, slanted) < distance(False, upright, slanted)


def test_a_turned_image_gives_turned_orientations():
    rng = np.random.default_rng(1)
    image = rng.integers(0, 256, (20, 24))
    hog = IntegerHog(shape=(20, 24), maximum=255, straighten=False)
    there = hog.fit_transform(image.reshape(1, -1)).reshape(5, 6, 16)
    turned = clone(hog).set_params(shape=(24, 20)).fit_transform(np.rot90(image, -1).reshape(1, -1)).reshape(6, 5, 16)
    # A turn to the right sends "right" to "down", four orientations on.
    assert np.array_equal(turned, np.roll(np.rot90(there, -1), 4, axis=2))


def test_equal_channels_count_as_one_image():
    grey = np.random.default_rng(2).integers(0, 256, (3, 18 * 18))
    one = IntegerHog(maximum=255).fit(grey)
    three = IntegerHog(shape=(18, 18, 3), maximum=255).fit(grey.repeat(3, axis=1))
    assert bounds(three) == (0, 238), "the range of colour images is wider, so there is one shift more"
    a, b = one.transform(grey), three.transform(grey.repeat(3, axis=1))
    lowest = [isqrt(y * y >> 1) for y in a.ravel().tolist()]
    highest = [isqrt(y * (y + 2) >> 1) for y in a.ravel().tolist()]
    assert (b.ravel() >= lowest).all()
    assert (b.ravel() <= highest).all()


# --- manners ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits():
    return datasets.load("digits").train_X[:50]


def test_sizes_and_names(digits):
    hog = IntegerHog().fit(digits)
    assert hog.transform(digits).shape == (50, 256)
    assert hog.transform(digits).dtype == np.int64
    assert hog.n_features_in_ == 64
    names = hog.get_feature_names_out()
    assert len(set(names)) == 256
    assert names[17] == "region0_1_orientation1"
    assert IntegerHog(maximum=255).fit_transform(np.zeros((1, 784))).shape == (1, 784)
    assert IntegerHog(maximum=255, orientations=12).fit_transform(np.zeros((1, 784))).shape == (1, 588)


def test_rows_do_not_depend_on_each_other_nor_on_the_type(digits):
    many = np.tile(digits, (30, 1))
    hog = IntegerHog().fit(many)
    whole = hog.transform(many)
    assert np.array_equal(whole, np.tile(hog.transform(digits), (30, 1)))
    assert np.array_equal(whole, hog.transform(many.astype(np.float32)))
    assert np.array_equal(whole, hog.transform(many.astype(np.uint8)))
    assert np.array_equal(hog.transform(np.asfortranarray(digits)), hog.transform(digits))


def test_it_is_a_transformer(digits):
    hog = IntegerHog(orientations=8)
    pipeline = make_pipeline(FunctionTransformer(), clone(hog)).fit(digits)
    expected = hog.fit_transform(digits)
    assert np.array_equal(pipeline.transform(digits), expected)
    assert np.array_equal(pickle.loads(pickle.dumps(hog)).transform(digits), expected)
    table = clone(hog).set_output(transform="pandas").fit_transform(digits)
    assert table.columns.tolist() == hog.get_feature_names_out().tolist()
    assert clone(hog).get_params() == {
        "shape": None,
        "maximum": None,
        "orientations": 8,
        "straighten": True,
        "colours": False,
        "shrink": 1,
    }
    with pytest.raises(NotFittedError):
        clone(hog).transform(digits)
    with pytest.raises(ValueError, match="63 features"):
        hog.transform(digits[:, :63])


@pytest.mark.parametrize(
    ("largest", "maximum"), [(0, 1), (1, 1), (2, 2), (13, 15), (16, 16), (17, 31), (128, 128), (200, 255), (256, 256)]
)
def test_the_maximum_is_rounded_up_to_a_usual_one(largest, maximum):
    assert IntegerHog().fit([[0, 0, 0, largest]]).maximum_ == maximum


@pytest.mark.parametrize("settings", [{}, {"shape": (4, 16), "orientations": 12}, {"straighten": False, "maximum": 99}])
def test_parameters_pin_it_down(digits, settings):
    hog = IntegerHog(**settings).fit(digits)
    stored = json.loads(json.dumps(hog.parameters()))
    for again in (IntegerHog.from_parameters(stored), from_parameters(stored)):
        assert np.array_equal(again.transform(digits), hog.transform(digits))
        assert bounds(again) == bounds(hog)
        assert again.input_range == (0, hog.maximum_)
        assert again.n_outputs == hog.transform(digits).shape[1]
        assert again.parameters() == hog.parameters()
        assert again.image_shape == hog.shape_
        assert clone(again).fit(digits[:1]).parameters() == hog.parameters()


def test_parameters_that_cannot_be_read(digits):
    good = IntegerHog().fit(digits).parameters()
    with pytest.raises(ValueError, match=r"one of integer-hog, .*, signal-counts, got 'wavelets'"):
        from_parameters({**good, "name": "wavelets"})
    for version in (2, 1.0, True):
        with pytest.raises(ValueError, match=f"cannot read version {version}"):
            from_parameters({**good, "version": version})
    for wrong in (
        {"shape": [8, 8]},
        {"shape": [8, 8, 0]},
        {"maximum": None},
        {"orientations": 9},
        {"orientations": 8.0},
        {"more": 1},
    ):
        with pytest.raises(ValueError, match=r"shape|maximum|orientations"):
            from_parameters({**good, **wrong})


@pytest.mark.parametrize(
    ("settings", "X", "message"),
    [
        ({}, np.full((2, 16), 0.5), "pixels must be integers"),
        ({}, np.full((2, 16), -1), "must not be negative, got -1"),
        ({}, np.full((2, 16), np.nan), "NaN"),
        ({}, np.zeros((2, 15)), "15 features are not a square image"),
        ({"shape": (3, 6)}, np.zeros((2, 16)), "means 18 features, but X has 16"),
        ({"shape": (16,)}, np.zeros((2, 16)), "shape must be"),
        ({"shape": (4, 4, 0)}, np.zeros((2, 16)), "shape must be"),
        ({"shape": 4}, np.zeros((2, 16)), "shape must be"),
        ({}, np.full((2, 16), 70000), r"maximum must be an integer in 1..65535, got 131071"),
        ({"maximum": 0}, np.zeros((2, 16)), "maximum must be"),
        ({"maximum": 2.5}, np.zeros((2, 16)), "maximum must be"),
        ({"orientations": 9}, np.zeros((2, 16)), "orientations must be one of 8, 12, 16, got 9"),
        ({"straighten": "yes"}, np.zeros((2, 16)), "straighten must be"),
        ({}, np.zeros((1, 220 * 220)), "too large to straighten"),
    ],
)
def test_errors_say_what_was_wrong(settings, X, message):
    with pytest.raises(ValueError, match=message) as caught:
        IntegerHog(**settings).fit(X)
    assert "\n" not in str(caught.value) or "NaN" in message


def test_values_above_the_maximum_are_refused(digits):
    hog = IntegerHog(maximum=15).fit(digits)
    with pytest.raises(ValueError, match="pixel value 16 exceeds maximum=15; fit with a larger maximum"):
        hog.transform(digits)
    for wrong in (digits + 0.25, digits - 1):
        with pytest.raises(ValueError, match="pixels must"):
            IntegerHog(maximum=255).fit(digits).transform(wrong)


def test_large_images_without_straightening():
    image = np.random.default_rng(3).integers(0, 256, (1, 220 * 220))
    assert IntegerHog(straighten=False).fit_transform(image).shape == (1, 55 * 55 * 16)


@njit
def roots_of(sums, line, out):
    _roots(sums, 1, len(line) // 16, len(line) + 32, 16, 0, line, out)


def test_roots_are_those_of_the_standard_library():
    values = np.arange(1 << 16)
    sums = np.concatenate([np.zeros(len(values) + 32 + 16, dtype=np.int64), values, np.zeros(16, dtype=np.int64)])
    out = np.empty_like(values)
    roots_of(sums, np.empty(len(values), dtype=np.int32), out)
    assert out.tolist() == [isqrt(value) for value in range(1 << 16)]
