"""Files made to hang the checker, to fill its memory, to deceive its reader, or to claim what was not proved."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from forgery import bits, forged, made_up, opened
from soft_margins import soft_margins

import bemi
from bemi import BeMiClassifier, verify
from bemi.certificate import CertificateError, training_digest, training_record
from bemi.engines import observed
from bemi.modelfile import container, saving

SECONDS, MEGABYTES = 10, 500

CHECK = """
import json, resource, sys, time
from bemi.certificate import CertificateError, verify
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]) << 20,) * 2)
try:
    verify(sys.argv[1])
    said = None
except CertificateError as error:
    said = str(error)
print(json.dumps([said, time.process_time()]))
"""


def said_of(path) -> str | None:
    """Why a file is refused, None if it is not, by a process of its own with little memory and time."""
    command = [sys.executable, "-c", CHECK, str(path), str(MEGABYTES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10 * SECONDS)
    assert done.returncode == 0, done.stderr[-1000:]
    said, seconds = json.loads(done.stdout)
    assert seconds < SECONDS
    return said


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    with observed(without={"two neurons", "lists"}):  # proofs with members to forge
        bemi.save(BeMiClassifier(hidden_layers=(2,)).fit(X, y), folder / "tiny.bemi")
    bemi.save(soft_margins(mw_loss=0.01, weight_bound=3).fit(X, y), folder / "soft.bemi")
    return folder


@pytest.mark.parametrize("name", ["C", "mw_loss"])
@pytest.mark.parametrize("value", ["1e99999999999", "10", True, -1, float("1e301"), None])
def test_prices_are_numbers(models, tmp_path, name, value):
    header, weights, claims = opened(models / "soft.bemi")
    header["settings"][name] = value
    assert "is not a number" in said_of(forged(tmp_path / "m.bemi", header, weights, claims))


def line(rows: int) -> tuple[list[list[int]], list[int]]:
    """Rows of one feature, half of them negative, and their labels."""
    half = range(1, rows // 2 + 1)
    return [[k] for k in half] + [[-k] for k in half], [0] * len(half) + [1] * len(half)


def test_a_branching_with_many_children(tmp_path):
    rows, labels = line(20_000)
    size = 100
    proof = {
        "value": 0,
        "tiers": list(range(size)),
        "cap": [1, 10_000, ["L", [[10_000, 1]]]],
        "tree": [["S", 0, 19_999, [[["O"]]] * size]],
    }
    stages = {"sm": (20_000, None), "mm": (2 * size, proof)}
    path = made_up(tmp_path / "m.bemi", rows, labels, [size], 1, [1] * (2 * size), stages)
    assert "would take more than" in said_of(path)


def test_a_step_that_is_repeated(tmp_path):
    rows, labels = line(100_000)
    step = ["N", 0, 1, ["L", [[49_999, 1]]]]
    proof = {
        **{"value": 0, "tiers": [0, 0], "cap": [1, 50_000, ["L", [[50_000, 1]]]]},
        "tree": [*[step] * 10_000, ["O"]],
    }
    stages = {"sm": (100_000, None), "mm": (4, proof)}
    path = made_up(tmp_path / "m.bemi", rows, labels, [2], 1, [1] * 4, stages)
    assert "there is a list already" in said_of(path)


def test_tables_of_pairs(tmp_path):
    half = range(1000)
    rows = [[10**6 + 2 * k, k] for k in half] + [[k, 10**6 + 2 * k + 1] for k in half]
    stages = {"sm": (2000, None), "mw": (2, {"support": 3})}
    path = made_up(tmp_path / "m.bemi", rows, [0] * 1000 + [1] * 1000, [], 500, [1, -1], stages)
    assert "would take more than" in said_of(path)


@pytest.mark.parametrize(
    ("size", "refusal"),
    [(200_000, None), pytest.param(1_000_000, "would take more than", marks=pytest.mark.slow)],
)
def test_many_neurons(tmp_path, size, refusal):
    proof = {"value": 0, "tiers": [0] * size, "cap": [1, 0, ["L", [[0, 1]]]], "tree": [["O"]]}
    path = made_up(tmp_path / "m.bemi", [[1], [-1]], [0, 1], [size], 1, [1] * (2 * size), {"mm": (2 * size, proof)})
    said = said_of(path)
    assert said is None if refusal is None else refusal in said


def test_a_long_fraction(models, tmp_path):
    header, weights, claims = opened(models / "soft.bemi")
    claims["networks"][0][1]["certificate"]["theta"] = "f" * 500_000 + "/7" + "0" * 500_000
    assert "bad price of the objective" in said_of(forged(tmp_path / "m.bemi", header, weights, claims))


@pytest.mark.parametrize("value", ['{"a":1}', "[]", '"a"', "1234567"])
def test_values_that_take_much_memory(models, tmp_path, value):
    header, weights, _ = opened(models / "tiny.bemi")
    many = 1 << 24
    claims = b'{"format":3,"x":[' + f"{value},".encode() * many + b"0]}"
    assert "has too many values" in said_of(forged(tmp_path / "m.bemi", header, weights, claims))


def test_the_budget_ends_a_check(models):
    assert verify(models / "tiny.bemi").networks == 1
    with pytest.raises(CertificateError, match="allow more with --budget"):
        verify(models / "tiny.bemi", budget=0.0001)


@pytest.mark.parametrize(
    ("stage", "bound"), [(0, 0), (1, 8), (1, -5), (1, "optimal"), (1, None), (1, 9.0), (1, True), (2, 100)]
)
def test_a_solver_cannot_claim_what_the_network_refutes(models, tmp_path, stage, bound):
    header, weights, claims = opened(models / "tiny.bemi")
    for report in (header["networks"][0]["reports"][stage], claims["networks"][0][stage]):
        report |= {"bound": bound, "proof": "solver"}
    claims["networks"][0][stage]["certificate"] = None
    path = forged(tmp_path / "m.bemi", header, weights, claims)
    with pytest.raises(CertificateError, match=r"wrong side|bad bound"):
        verify(path)
    with pytest.raises(ValueError, match="damaged"):
        bemi.load(path)


def test_fewer_rows_than_the_digest_is_about(tmp_path):
    rng = np.random.default_rng(1)
    X = np.tile(rng.integers(0, 10, (20, 30)), (2, 1))
    y = np.r_[np.arange(20) % 2, 1 - np.arange(20) % 2]
    few = BeMiClassifier(hidden_layers=(2,), time_limit=5).fit(X[:20], y[:20])
    every = BeMiClassifier(hidden_layers=(2,), time_limit=5).fit(X, y)
    bemi.save(few, tmp_path / "few.bemi")
    header, weights, claims = opened(tmp_path / "few.bemi")
    claims |= {"rows": X.tolist(), "labels": y.tolist()}
    header |= {"training_digest": every.training_digest_, "given_rows": 20}
    for network in header["networks"]:
        network["added"] = []
    with pytest.raises(CertificateError, match="not those that the model was trained on"):
        verify(forged(tmp_path / "m.bemi", header, weights, claims))


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.update(classes=["dog", "eel"]),
        lambda header: header["input_scaling"].update(high=50),
        lambda header: header["settings"].update(ties="abstain"),
        lambda header: header.update(feature_names=["a", "b", "c"]),
    ],
)
def test_a_certificate_belongs_to_one_model(models, tmp_path, change):
    header, weights, claims = opened(models / "tiny.bemi")
    change(header)
    path = forged(tmp_path / "m.bemi", header, weights, claims)
    assert verify(path).digest != verify(models / "tiny.bemi").digest
    certificate = tmp_path / "m.bemi.cert"
    certificate.write_bytes((models / "tiny.bemi.cert").read_bytes())
    with pytest.raises(CertificateError, match="belongs to another model"):
        verify(path)
    with pytest.raises(CertificateError, match="not the given one"):
        verify(path, digest=verify(models / "tiny.bemi").digest)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda h, c: (h.update(subsets=[], networks=[]), c.update(networks=[])), "number of networks"),
        (lambda h, c: c.update(proved_by="me"), "does not belong: proved_by"),
        (lambda h, c: c["networks"][0][1]["certificate"].update(note="trust me"), "does not belong: note"),
        (lambda h, c: h.update(classes=list(range(5000))), "number of classes"),
        (
            lambda h, c: h["networks"][0]["reports"][1].update(message="proved by hand"),
            "its message is not the model's",
        ),
        (lambda h, c: c["networks"][0][1].update(note="proved by hand"), "does not belong: note"),
        (lambda h, c: c.update(seconds=[[1.0]]), "not a time for each stage"),
        (lambda h, c: c.update(seconds=[[1.0, 1.0, "2"]]), "not a time for each stage"),
        (lambda h, c: c.update(seconds=[[1.0] * 3] * 2), "not times for each network"),
        (lambda h, c: c["networks"][0][1]["certificate"].update(bound=8), "the proof claims 8, but only 9 is proved"),
        (lambda h, c: c["networks"][0][2]["certificate"].update(bound=7), "the proof claims 7, but only 6 is proved"),
        (lambda h, c: h["networks"][0].update(splitting=[1, False]), "mark of a splitting neuron is not an integer"),
    ],
)
def test_what_does_not_belong_is_refused(models, tmp_path, change, reason):
    header, weights, claims = opened(models / "tiny.bemi")
    change(header, claims)
    with pytest.raises(CertificateError, match=reason):
        verify(forged(tmp_path / "m.bemi", header, weights if header["networks"] else b"", claims))


@pytest.mark.parametrize("text", ['{"format": 3, "format": 3}', '{"format": NaN}', '{"format": [-Infinity]}'])
def test_text_that_readers_disagree_on(models, tmp_path, text):
    path = forged(tmp_path / "m.bemi", *opened(models / "tiny.bemi")[:2], text.encode())
    with pytest.raises(CertificateError, match=r"given twice|is not a number"):
        verify(path)


def test_a_shape_of_many_neurons(tmp_path):
    """A tree with forty labels would have 2^40 patterns."""
    rows, labels = [[9, 1], [1, 9]], [0, 1]
    merged = ["M", 1, 0, 1, ["L", [[0, 1], [1, 1]]]]
    tree = [[[0, 1]] + [[0, 0]] * 39, [[None] * 40, 0, []]]
    proof = {"value": 29, "tiers": [0, 1, 1], "cap": [10, 0, ["L", [[0, 1]]]], "bound": 33}
    proof["tree"] = [merged, ["Y", 0, [0, 1], [], [tree]], ["O"]]
    weights = [-1, 1, 1, 1, 1, 1, -1, 0, 0]
    path = made_up(tmp_path / "m.bemi", rows, labels, [3], 1, weights, {"mm": (29, proof)})
    assert "does not have a label per neuron" in said_of(path)


def test_bits_after_the_weights(models, tmp_path):
    rows, labels = [[3], [-3]], [0, 1]
    path = made_up(tmp_path / "m.bemi", rows, labels, [], 1, [1], {"sm": (2, None)})
    assert verify(path).certified["sm"] == 1
    header, weights, claims = opened(path)
    assert weights == bits([1], 1)
    with pytest.raises(CertificateError, match="bits after the weights"):
        verify(forged(path, header, bytes([weights[0] | 1]), claims))


def test_a_model_without_a_stage_that_ran_proves_nothing(tmp_path):
    path = made_up(tmp_path / "m.bemi", [[3], [-3]], [0, 1], [], 1, [1], {"sm": (2, None)})
    header, weights, claims = opened(path)
    for report in (header["networks"][0]["reports"][0], claims["networks"][0][0]):
        report |= {"objective": None, "bound": None, "proof": "none"}
    assert verify(forged(path, header, weights, claims)).nothing_ran
    for command in (["-m", "bemi.certificate"], ["-m", "bemi.cli", "verify"]):
        done = subprocess.run([sys.executable, *command, str(path)], capture_output=True, text=True)
        assert done.returncode == 1
        assert "nothing is proved" in done.stderr
        assert not done.stdout


def test_nothing_in_a_file_reaches_the_terminal_raw(models, tmp_path):
    header, weights, claims = opened(models / "tiny.bemi")
    painted = "\x1b[2K\r1 networks verified\n\x1b[8m[bold]"
    for report in (header["networks"][0]["reports"][1], claims["networks"][0][1]):
        report["objective"] = painted
    path = forged(tmp_path / "m.bemi", header, weights, claims)
    for command in (["-m", "bemi.certificate"], ["-m", "bemi.cli", "verify"], ["-m", "bemi.cli", "info"]):
        done = subprocess.run([sys.executable, *command, str(path)], capture_output=True, text=True)
        assert done.returncode != 0
        assert "\x1b" not in done.stdout + done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def test_labels_cannot_paint_either(tmp_path):
    path = tmp_path / "m.bemi"
    bemi.save(BeMiClassifier(hidden_layers=()).fit([[3, 1], [1, 3]], ["\x1b[2K[red]a", "b"]), path)
    done = subprocess.run([sys.executable, "-m", "bemi.cli", "info", str(path)], capture_output=True, text=True)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "[red]a" in done.stdout


def test_the_name_of_a_missing_file_cannot_paint_either(tmp_path):
    command = [sys.executable, "-m", "bemi.certificate", str(tmp_path / "\x1b[2K.bemi")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize(
    ("rows", "labels", "reason"),
    [
        (None, [0, 0, 1, 2], "bad label: 2"),
        (None, [0, 0, 1, -1], "bad label: -1"),
        (None, [0, 0, 1], "not one label per training row"),
        ([], [], "there are no training rows"),
        ([[1, 2, 3, 4]] * 4, None, "one value per model input"),
        ([[1, 2, 3], [1, 2], [3, 1, 2, 3], [1, 2, 3]], None, "one value per model input"),
        ([[1 << 31, 2, 3]] * 4, None, "a value is not in"),
    ],
)
def test_training_rows_of_a_stranger_are_rows_of_the_model(models, tmp_path, rows, labels, reason):
    """A page shows them without a check of the proofs."""
    header, weights, claims = opened(models / "tiny.bemi")
    claims |= {
        "rows": claims["rows"] if rows is None else rows,
        "labels": claims["labels"] if labels is None else labels,
    }
    header["training_digest"] = training_digest(claims["rows"], claims["labels"])
    path = forged(tmp_path / "m.bemi", header, weights, claims)
    with pytest.raises(CertificateError, match=reason):
        training_record(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
@pytest.mark.parametrize("piped", ["m.bemi", "m.bemi.cert"])
def test_nothing_waits_for_a_pipe(models, tmp_path, piped):
    for name in ("m.bemi", "m.bemi.cert"):
        if name == piped:
            os.mkfifo(tmp_path / name)
        else:
            (tmp_path / name).symlink_to(models / name.replace("m", "tiny", 1))
    assert "is not a file" in said_of(tmp_path / "m.bemi")


def test_a_model_that_changes_after_it_was_verified(models, tmp_path):
    path = forged(tmp_path / "m.bemi", *opened(models / "tiny.bemi"))
    digest = verify(path).digest
    saving.read(path, digest)
    training_record(path, digest)
    forged(path, *opened(models / "soft.bemi"))
    for read in (container.read, saving.read, training_record):
        with pytest.raises(ValueError, match="has changed since it was verified"):
            read(path, digest)


def test_a_certificate_that_is_cut_off(models, tmp_path):
    path = forged(tmp_path / "m.bemi", *opened(models / "tiny.bemi"))
    certificate = tmp_path / "m.bemi.cert"
    certificate.write_bytes(certificate.read_bytes()[:-10])
    assert "is cut off" in said_of(path)
