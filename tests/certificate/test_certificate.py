"""Certificates: real ones are accepted, and no changed one gets a false claim through."""

from __future__ import annotations

import copy
import gzip
import hashlib
import json
import math
import random
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import nullcontext
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from both_checkers import unwatched
from sklearn.datasets import load_digits
from soft_margins import soft_margins

import bemi
from bemi import BeMiClassifier, ConstantInput, save, verify
from bemi.certificate import CertificateError, Rows, Work, certificate_path, training_record
from bemi.certificate.separators import _angle, _Sides, separation_bound
from bemi.cli import main

SETTINGS = {
    "images": {"hidden_layers": (4, 4)},
    "no hidden layer": {"hidden_layers": ()},
    "two bits": {"hidden_layers": (4,), "subset_size": 3},
    "larger weights": {"hidden_layers": (3,), "weight_bound": 3},
    "without margins": {"hidden_layers": (2,), "stages": ("sm", "mw")},
    "soft margins": {"soft": True, "weight_bound": 7, "mw_loss": 0.05},
    "weights and limits": {
        **{"soft": True, "weight_bound": 3, "class_weight": {0: 2.5, 1: 0.3}},
        **{"hinges": 2, "max_links": 4, "monotone": {20: 1, 21: -1}, "mw_loss": 0.5},
    },
    "soft margins, two bits": {"soft": True, "subset_size": 3},
    "without margins or a hidden layer": {"hidden_layers": (), "stages": ("sm", "mw"), "subset_size": 3},
    "two bits without margins": {"hidden_layers": (3,), "stages": ("sm", "mw"), "subset_size": 3, "weight_bound": 2},
}


def few_digits():
    X, y = load_digits(n_class=3, return_X_y=True)
    chosen = np.concatenate([np.flatnonzero(y == c)[:6] for c in range(3)])
    return X[chosen], y[chosen]


SOFT = [name for name in SETTINGS if "soft" in SETTINGS[name]]
SOFT_AND_FEW_LINKS = [name for name in SOFT if "mw_loss" in SETTINGS[name]]
WITH_SAT_MARGIN = [name for name in SETTINGS if name not in SOFT]
SEVERAL_STAGES = WITH_SAT_MARGIN + SOFT_AND_FEW_LINKS


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Callable[[str], Path]:
    """A model with these settings, trained once."""

    @cache
    def path_of(name: str) -> Path:
        path = tmp_path_factory.mktemp("certificate") / "model.bemi"
        settings = {"node_limit": 200, "time_limit": None} | SETTINGS[name]
        estimator = soft_margins if settings.pop("soft", False) else BeMiClassifier
        save(estimator(**settings).fit(*few_digits()), path)
        return path

    return path_of


@pytest.fixture(params=list(SETTINGS))
def model(request, saved) -> Path:
    return saved(request.param)


def claims_of(model: Path) -> dict:
    return json.loads(gzip.decompress(Path(certificate_path(model)).read_bytes()))


def refused(model: Path, claims: dict, tmp_path: Path) -> str | None:
    """Why a certificate is refused, or None if it is accepted; it names the model, as any forger would see to."""
    path = tmp_path / "changed.cert"
    claims = claims | {"model": model.read_bytes()[-32:].hex()}
    path.write_bytes(gzip.compress(json.dumps(claims).encode(), compresslevel=1))
    try:
        verify(model, path)
    except CertificateError as error:
        return str(error)
    return None


def test_real_certificates_are_accepted(model):
    checked = verify(model)
    assert checked.networks == len(bemi.load(model).networks_)
    assert sum(checked.certified.values()) > 0
    assert checked.bytes == Path(certificate_path(model)).stat().st_size


def test_the_command_line_verifies(model, capsys):
    assert main(["verify", str(model), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    checked = verify(model)
    assert said["networks"] == checked.networks
    assert tuple(said["stages"]) == bemi.load(model).ensemble_.stages, "every stage is listed"
    assert {stage: n["certified"] for stage, n in said["stages"].items()} == {
        s: checked.certified[s] for s in said["stages"]
    }


def test_the_command_line_says_why_not(model, tmp_path, capsys):
    copied = tmp_path / "model.bemi"
    copied.write_bytes(model.read_bytes())
    claims = claims_of(model)
    claims["labels"][0] = 1 - min(1, claims["labels"][0])
    Path(certificate_path(copied)).write_bytes(gzip.compress(json.dumps(claims).encode()))
    assert main(["verify", str(copied)]) == 1
    assert "training rows, labels or row weights" in capsys.readouterr().err


def test_checking_needs_the_standard_library_alone(model):
    script = (
        "import sys\n"
        "for name in ('numpy', 'scipy', 'sklearn', 'highspy', 'numba', 'rich', 'pandas'): sys.modules[name] = None\n"
        f"import bemi; print(bemi.verify({str(model)!r}).networks)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) == verify(model).networks


def stages_of(claims: dict, name: str):
    return [s for network in claims["networks"] for s in network if s["stage"] == name and s["objective"] is not None]


def every_list(node, found=None) -> list:
    """All lists inside a proof, so that one can be changed."""
    found = [] if found is None else found
    if isinstance(node, list):
        found.append(node)
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        every_list(child, found)
    return found


def every_cut(node) -> list:
    """Inputs and values that the trees of soft margins branch on."""
    if not isinstance(node, dict):
        return []
    found = [node["split"]] if "split" in node else []
    return found + [cut for part in ("outputs", "children") for tree in node.get(part, []) for cut in every_cut(tree)]


def test_swapped_labels_rows_and_counts_are_refused(model, tmp_path):
    for change in (
        lambda c: c["labels"].__setitem__(slice(None), c["labels"][::-1]),
        lambda c: c["rows"][0].__setitem__(20, c["rows"][0][20] + 1),
        lambda c: c["rows"].pop(),
        lambda c: c["networks"].pop(),
        lambda c: c["networks"][0].pop(),
    ):
        claims = claims_of(model)
        change(claims)
        assert refused(model, claims, tmp_path)


def moved(number: int | str, by: int) -> int | str:
    """A number as a certificate writes it, changed."""
    if isinstance(number, int):
        return number + by
    changed = Fraction(*(int(part, 16) for part in number.split("/"))) + by
    return f"{changed.numerator:x}/{changed.denominator:x}"


@pytest.mark.parametrize("model", WITH_SAT_MARGIN, indirect=True)
def test_a_changed_t_hat_is_refused(model, tmp_path):
    claims = claims_of(model)
    sm = stages_of(claims, "sm")[0]
    sm["weights"] = [0] * len(sm["weights"])
    sm["links"] = 0
    assert refused(model, claims, tmp_path)
    claims = claims_of(model)
    later = claims["networks"][0][1]
    later["rows"] -= 1
    assert "rows" in refused(model, claims, tmp_path)


@pytest.mark.parametrize("field", ["objective", "bound", "links"])
@pytest.mark.parametrize("step", [-1, 1])
def test_changed_numbers_are_refused(model, tmp_path, field, step):
    for number in range(len(claims_of(model)["networks"][0])):
        claims = claims_of(model)
        claims["networks"][0][number][field] = moved(claims["networks"][0][number][field], step)
        assert refused(model, claims, tmp_path)


def tightened(claims: dict, stage: str, by: int) -> list[dict]:
    """Certificates whose bound is better than what is proved, in both places that state it."""
    changed = []
    for number, network in enumerate(claims["networks"]):
        for position, claim in enumerate(network):
            if claim["stage"] == stage and claim["objective"] is not None and claim["proof"] == "certified":
                new = copy.deepcopy(claims)
                new["networks"][number][position]["bound"] = moved(claim["bound"], by)
                changed.append(new)
    return changed


def rewritten(model: Path, change, tmp_path: Path) -> Path:
    """The model with another header and a digest that fits it, so that only the certificate can object."""
    content = model.read_bytes()
    length = struct.unpack_from("<4sHI", content)[2]
    header = json.loads(content[10 : 10 + length])
    change(header)
    packed = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    body = content[:6] + struct.pack("<I", len(packed)) + packed + content[10 + length : -32]
    path = tmp_path / "rewritten.bemi"
    path.write_bytes(body + hashlib.sha256(body).digest())
    return path


def repaired_header(model: Path, claims: dict, tmp_path: Path) -> Path:
    """The model with its reports made equal to what the certificate says."""

    def change(header: dict) -> None:
        for entry, network in zip(header["networks"], claims["networks"], strict=True):
            for report, claim in zip(entry["reports"], network, strict=True):
                for name in ("objective", "bound", "rows", "links", "proof", "soft"):
                    if name in claim:
                        report[name] = claim[name]

    return rewritten(model, change, tmp_path)


def test_other_splitting_neurons_stages_and_sizes_are_refused(model, tmp_path):
    def flip(header):
        header["networks"][0]["splitting"][0] ^= 1

    def shorten(header):
        header["settings"]["stages"] = header["settings"]["stages"][:-1]

    def widen(header):
        header["settings"]["weight_bound"] = 2.0

    for change in (flip, shorten, widen):
        assert refused(rewritten(model, change, tmp_path), claims_of(model), tmp_path)


def test_a_training_set_cut_to_fit_the_digest_is_refused(model, tmp_path):
    # The same numbers in the same order, but one row swallows another one and two labels become values.
    claims = claims_of(model)
    claims["rows"][-1] += claims["labels"][:2]
    claims["labels"] = claims["labels"][2:]
    assert refused(model, claims, tmp_path)


@pytest.mark.parametrize("model", SEVERAL_STAGES, indirect=True)
def test_a_stage_that_did_not_run_claims_nothing(model, tmp_path):
    claims = claims_of(model)
    last = claims["networks"][0][-1]
    last["weights"] = claims["networks"][0][-2]["weights"]
    last |= {"objective": None, "links": claims["networks"][0][-2]["links"], "bound": 1}
    assert refused(repaired_header(model, claims, tmp_path), claims, tmp_path)


@pytest.mark.parametrize(("stage", "by"), [("sm", -1), ("mm", -1), ("soft", 1), ("mw", 1)])
def test_too_good_a_bound_is_refused_even_if_the_model_says_the_same(model, tmp_path, stage, by):
    for claims in tightened(claims_of(model), stage, by):
        reason = refused(repaired_header(model, claims, tmp_path), claims, tmp_path)
        # A proof may be stronger than what was claimed from it, but never beyond the best network there is.
        if reason is None:
            changed = [c for n in claims["networks"] for c in n if c["stage"] == stage and c["objective"] is not None]
            assert stage != "soft", "its bounds are claimed as they are proved"
            assert all((c["objective"] - c["bound"]) * by >= 0 for c in changed)


def test_negative_multipliers_missing_branches_and_false_merges_are_refused(model, tmp_path):
    kinds = dict.fromkeys(("negative", "branch", "merge"), 0)
    for name in ("mm", "soft", "mw"):
        original = claims_of(model)
        for number, stage in enumerate(stages_of(original, name)):
            if stage["certificate"] is None:
                continue
            cuts = every_cut(stage["certificate"])
            for position, part in enumerate(every_list(stage["certificate"])):
                change = None
                if any(part is cut for cut in cuts):
                    continue  # a tree that is cut elsewhere proves something, too
                if len(part) == 2 and all(isinstance(v, dict) for v in part):
                    kind, change = "branch", lambda p: p.pop()
                elif len(part) == 2 and all(type(v) is int for v in part):
                    kind, change = "negative", lambda p: p.__setitem__(1, -p[1] - 1)
                elif part and part[0] == "T" and len(part) == 4 and isinstance(part[3], list):
                    kind, change = "branch", lambda p: p.pop()
                elif part and part[0] == "S":
                    kind, change = "branch", lambda p: p[3].pop()
                elif part and part[0] == "M":
                    kind, change = "merge", lambda p: p.__setitem__(-1, ["L", [[p[-3], 1]]])
                if change is None or kinds[kind] >= 12:
                    continue
                kinds[kind] += 1
                claims = copy.deepcopy(original)
                change(every_list(stages_of(claims, name)[number]["certificate"])[position])
                reason = refused(model, claims, tmp_path)
                assert reason, f"{kind} change of {part[:3]} was accepted"
    proofs = [
        s for name in ("mm", "soft", "mw") for s in stages_of(claims_of(model), name) if every_list(s["certificate"])
    ]
    assert bool(kinds["negative"]) == bool(proofs)


@pytest.mark.parametrize("mutants", [12, pytest.param(150, marks=pytest.mark.slow)])
def test_random_mutations_are_refused_or_harmless(model, mutants, tmp_path):
    """An accepted mutant still proves nothing false: it never supports a bound that the network itself beats."""
    random_ = random.Random(0)
    original = claims_of(model)
    places = [
        (n, k)
        for n, network in enumerate(original["networks"])
        for k, stage in enumerate(network)
        if stage["certificate"]
    ]
    outcomes = {"refused": 0, "accepted": 0}
    for number in range(mutants if places else 0):
        claims = copy.deepcopy(original)
        n, k = random_.choice(places)
        stage = claims["networks"][n][k]
        lists = every_list(stage["certificate"])
        part = random_.choice(lists) if lists else []
        if lists and not part:
            continue
        position = random_.randrange(len(part)) if part else 0
        kind = random_.randrange(4)
        if not lists:  # without margins, all that a proof says is what to try out
            stage["certificate"]["support"] = random_.choice((0, 1, 2, 3, 4, -1, 2.0, True, None, [], "2"))
        elif kind == 0 and type(part[position]) is int:
            part[position] += random_.choice((-3, -1, 1, 5, 1000))
        elif kind == 1:
            part.pop(position)
        elif kind == 2:
            part.append(copy.deepcopy(part[position]))
        else:
            part[position] = random_.choice((None, 0, [], "L", ["C"], ["O"]))
        # The second checker is slow.
        with unwatched() if number % 10 else nullcontext():
            reason = refused(model, claims, tmp_path)
        if reason:
            outcomes["refused"] += 1
            continue
        outcomes["accepted"] += 1
        stage["bound"] = moved(stage["objective"], 1 if stage["stage"] in ("soft", "mw") else -1)
        assert refused(repaired_header(model, claims, tmp_path), claims, tmp_path)
    assert bool(outcomes["refused"]) == bool(places)


def first_leaf(stage):
    """Multipliers of the first leaf of the first output."""
    tree = stage["certificate"]["outputs"][0]
    while "split" in tree:
        tree = tree["children"][0]
    del tree["multipliers"][:]
    return tree["multipliers"]


@pytest.mark.parametrize("model", SOFT, indirect=True)
def test_other_soft_margins_are_refused(model, tmp_path):
    original = claims_of(model)
    for change, reason in (
        (lambda s: s["soft"].__setitem__("price", "b/1"), "its price is not the model's"),
        (lambda s: s["soft"]["resolutions"].__setitem__(0, "2/1"), "but its weights give"),
        (lambda s: s["soft"]["resolutions"].__setitem__(0, "-2/1"), "not positive"),
        (lambda s: s["soft"]["resolutions"].__setitem__(0, "4/2"), "lowest terms"),
        (lambda s: s["soft"]["resolutions"].pop(), "not one resolution per output"),
        (lambda s: s["soft"].__setitem__("hinges", 3 - s["soft"]["hinges"]), "its hinges are not the model's"),
        (lambda s: s["soft"].__setitem__("max_links", 100), "its max_links are not the model's"),
        (lambda s: first_leaf(s).append([0, 2**62]), "above its price"),
        (lambda s: first_leaf(s).extend([[0, 0], [0, 0]]), "two multipliers"),
        (lambda s: s["certificate"].__setitem__("denominator", 0), "denominator"),
        (lambda s: s["certificate"].__setitem__("denominator", 1), "above its price"),
    ):
        claims = copy.deepcopy(original)
        change(stages_of(claims, "soft")[0])
        assert reason in refused(repaired_header(model, claims, tmp_path), claims, tmp_path)


@pytest.fixture(scope="module")
def limited(tmp_path_factory) -> Path:
    """One network with row weights, signs and a limit on links, all of which matter."""
    path = tmp_path_factory.mktemp("limited") / "model.bemi"
    rng = np.random.default_rng(1)
    X = rng.integers(-9, 10, (40, 6))
    y = (X @ [3, -2, 2, 1, 1, 0] + rng.integers(-20, 21, 40) > 0).astype(int)
    settings = {"weight_bound": 3, "node_limit": 200, "time_limit": None}
    model = soft_margins(**settings, max_links=3, monotone={0: 1, 4: -1}, inputs=ConstantInput())
    save(model.fit(X, y, sample_weight=rng.integers(1, 4, 40)), path)
    assert verify(path).certified["soft"] == 1
    return path


def test_weights_are_part_of_the_training_digest(limited, tmp_path):
    original = claims_of(limited)
    assert training_record(limited).weights == original["weights"]
    for change in (
        lambda c: c.pop("weights"),
        lambda c: c["weights"].__setitem__(0, c["weights"][0] + 1),
        lambda c: c["weights"].reverse(),
    ):
        claims = copy.deepcopy(original)
        change(claims)
        assert "row weights are not those that" in refused(limited, claims, tmp_path)
    for weight in (0, -1, 1.0, True, 2**48):
        claims = copy.deepcopy(original)
        claims["weights"][0] = weight
        assert "bad row weight" in refused(limited, claims, tmp_path)
    claims["weights"] = original["weights"][1:]
    assert "not one weight per training row" in refused(limited, claims, tmp_path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda h: h.pop("signs"), "signs belong to monotone features"),
        (lambda h: h.update(signs=h["signs"][:-1]), "not one sign per input"),
        (lambda h: h.update(signs=[2] * 7), "bad sign"),
        (lambda h: h.update(signs=[-s for s in h["signs"]]), "a weight has the wrong sign"),
        (lambda h: h.update(signs=[0] * 7), "is proved"),
        (lambda h: h["settings"].update(monotone=None), "signs belong to monotone features"),
        (lambda h: h.pop("uncounted"), "uncounted inputs belong to a limit on links"),
        (lambda h: h.update(uncounted=[7]), "bad uncounted input"),
        (lambda h: h.update(uncounted=[]), "more links than allowed"),
        (lambda h: h.update(uncounted=list(range(7))), "is proved"),
        (lambda h: h["settings"].update(max_links=4), "its max_links are not the model's"),
        (lambda h: h["settings"].update(hinges=2), "its hinges are not the model's"),
    ],
)
def test_limits_are_those_of_the_model(limited, tmp_path, change, reason):
    assert reason in refused(rewritten(limited, change, tmp_path), claims_of(limited), tmp_path)


@pytest.mark.parametrize("model", SOFT_AND_FEW_LINKS, indirect=True)
def test_a_ceiling_that_is_not_kept_is_refused(model, tmp_path):
    claims = claims_of(model)

    def lower(header: dict) -> None:
        header["settings"]["mw_loss"] = 0.0

    assert "above the ceiling" in refused(rewritten(model, lower, tmp_path), claims, tmp_path)


def test_a_support_that_was_not_tried_out_proves_nothing():
    # The sign of x - y needs two inputs, and a third link with a hidden layer; equal signs everywhere need none.
    rows = [(1, 0), (2, 1), (0, 1), (1, 2)]
    for layers, codes, bounds in (
        ([2, 1], [(1,), (1,), (-1,), (-1,)], (1, 2, 2)),
        ([2, 3, 1], [(1,), (1,), (-1,), (-1,)], (2, 3, 3)),
        ([2, 3, 3, 1], [(1,), (-1,), (-1,), (1,)], (3, 4, 5)),
        ([2, 3, 3, 2], [(1, -1), (1, -1), (-1, 1), (-1, 1)], (4, 5, 5)),
        ([2, 3, 2], [(1, 1), (1, 1), (-1, 1), (1, -1)], (4, 5, 5)),
        # No pair of inputs gives the first output's classes, but with three codes pairs prove nothing more.
        ([2, 3, 2], [(1, 1), (-1, 1), (-1, 1), (1, -1)], (4, 6, 6)),
        ([2, 3, 1], [(1,)] * 4, (0, 0, 0)),
        ([2, 3, 1], [(-1,)] * 4, (1, 1, 1)),
    ):
        table = Rows(rows, codes, layers, 1)
        assert tuple(separation_bound(table, {"support": s}) for s in (1, 2, 3)) == bounds


@pytest.mark.parametrize("bound", [1, 2, 5])
def test_half_planes_are_exact(bound):
    sides = _Sides(bound, Work())
    values = range(-bound, bound + 1)
    for x in range(-7, 8):
        for y in range(-7, 8):
            positive = [(v, w) for v in values for w in values if math.gcd(v, w) == 1 and v * x + w * y >= 0]
            bits = sides.positive(x, y)
            assert bits.bit_count() == len(positive)
            angles = {_angle(v, w) for v, w in positive}
            assert {angle for k, angle in enumerate(sides.angles) if bits >> k & 1} == angles


def test_files_that_are_no_certificates(model, tmp_path):
    path = tmp_path / "x.cert"
    for content in (b"", b"hello", gzip.compress(b"[]"), gzip.compress(b"{}"), gzip.compress(b'{"format": 9}')):
        path.write_bytes(content)
        with pytest.raises(CertificateError):
            verify(model, path)


@pytest.mark.parametrize(
    ("unpacked", "reason"),
    [(b" " * (2**28 + 1), "is too large"), (b"[" + b"[]," * 2**24 + b"[]]", "has too many values")],
)
def test_a_small_file_that_unpacks_to_a_large_one_is_refused(tmp_path, unpacked, reason):
    save(BeMiClassifier(hidden_layers=(2,), node_limit=1, time_limit=5).fit(*few_digits()), tmp_path / "model.bemi")
    bomb = tmp_path / "bomb.cert"
    bomb.write_bytes(gzip.compress(unpacked, compresslevel=1))
    del unpacked
    tracemalloc.start()
    try:
        with pytest.raises(CertificateError, match=reason):
            verify(tmp_path / "model.bemi", bomb)
        # The text, once as it grows and once as it is; nothing of it is parsed.
        assert tracemalloc.get_traced_memory()[1] < 2 * 2**28 + 2**24
    finally:
        tracemalloc.stop()


def test_large_certificates_are_refused_before_they_are_read(model, tmp_path):
    path = tmp_path / "large.cert"
    with open(path, "wb") as file:
        file.truncate(2**30 + 1)
    with pytest.raises(CertificateError, match="too large"):
        verify(model, path)


def test_sets_of_classes_are_counted_before_they_are_listed(tmp_path):
    path = tmp_path / "model.bemi"
    save(BeMiClassifier(hidden_layers=(2,), node_limit=1, time_limit=5).fit(*few_digits()), path)

    def many(header: dict) -> None:
        header["classes"], header["settings"]["subset_size"] = list(range(4000)), 12

    assert "not one network per set of classes" in refused(rewritten(path, many, tmp_path), claims_of(path), tmp_path)


def test_same_seed_and_node_limit_give_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        save(BeMiClassifier(node_limit=100, time_limit=None, random_state=3).fit(*few_digits()), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert Path(certificate_path(tmp_path / "a")).read_bytes() == Path(certificate_path(tmp_path / "b")).read_bytes()
