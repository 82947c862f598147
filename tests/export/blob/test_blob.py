"""Models as data: the runtime gives Python's labels, and nothing that its bytes say leads out of them."""

import json
import struct
import subprocess
import zlib
from collections import Counter

import numpy as np
import pytest
from bemi_lab.benchmarks.boards import run, size
from compiled_c import SANITIZED, STRICT, answers, board, needs_gcc
from exported_models import expected, model, probes, waves
from mixed_tables import table_model, wild_readings
from soft_margins import soft_margins

from bemi import SignalCounts, save
from bemi.cli import main
from bemi.export import c
from bemi.export.blob import export, write
from bemi.export.c import input_types

NUMBERS = (
    *("digits", "digits, the paper's ties", "no hidden layer, P = 7", "many ties", "many ties, the paper's rule"),
    *("three classes per network", "a network for some pairs", "scaled signed features", "constant input"),
    *("probabilities of two classes", "probabilities of five classes", "strings for classes"),
)
IMAGES = (
    "histograms of doubled images",
    "histograms of a narrow image",
    "histograms and colours",
    "histograms of frames",
)
WINDOWS = ("counts of a signal", "counts of a wide signal", "counts for large weights")
TABLES = {
    "bits": {},
    "values": {"values": True},
    "rules": {"rules": 6, "thresholds": 3},
    "three classes": {"classes": 3, "values": True},
}

HOST = """
#include <stdio.h>
#include <stdlib.h>
#include "bemi_blob.h"
int main(int count, char **names)
{
    static uint8_t model[1000000];
    FILE *file = fopen(names[count - 1], "rb");
    uint32_t length = (uint32_t)fread(model + 1, 1, sizeof model - 1, file);
    bemi_blob_t blob;
    bemi_blob_input_t *x;
    void *work;
    char name[40];
    int i;
    if (fclose(file) != 0 || bemi_blob_open(&blob, model + 1, length) != BEMI_BLOB_OK)
        return 1;
    x = malloc((size_t)blob.inputs * sizeof *x);
    work = malloc(bemi_blob_work(&blob));
    while (fread(x, sizeof *x, (size_t)blob.inputs, stdin) == (size_t)blob.inputs)
        printf("%d\\n", bemi_blob_predict(&blob, x, work));
    for (i = 0; i < blob.classes; i++) {
        bemi_blob_label(&blob, i, name, sizeof name);
        fprintf(stderr, "%s\\n", name);
    }
    free(work);
    free(x);
    return 0;
}
"""


def built(folder, host=HOST, *flags):
    (folder / "host.c").write_text(host)
    subprocess.run(["gcc", *STRICT, *flags, "bemi_blob.c", "host.c", "-o", "host"], cwd=folder, check=True)
    return folder / "host"


def labels_of(program, folder, rows, kind="int32_t"):
    return answers([program, folder / "model.blob"], rows, kind)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    """The runtime of numbers and tables, compiled once."""
    folder = tmp_path_factory.mktemp("runtime")
    write(model("digits"), folder)
    return built(folder, HOST, *SANITIZED)


@needs_gcc
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_get_the_labels_of_python(name, runtime, tmp_path):
    classifier = model(name)
    made = write(classifier, tmp_path)
    assert made.source == export(model("digits")).source, "one runtime runs all of them"
    types = input_types(classifier.ensemble_)
    rows = probes(name, 300, types.low, types.high)
    if classifier.ensemble_.inputs.scaling.scale is not None:
        # The runtime scales readings itself.
        rng = np.random.default_rng(0)
        rows = rng.integers(-(2**31) + 1, 2**31, (300, classifier.n_features_in_)) >> rng.integers(0, 31, (300, 1))
        scaling = classifier.ensemble_.inputs.scaling
        integers = np.clip(scaling.scale.scaled(rows), types.low, types.high)
        if scaling.limit is not None:
            integers = np.clip(integers, -scaling.limit, scaling.limit)
        wanted = expected(classifier, integers)
    else:
        wanted = expected(classifier, rows)
    assert len(set(wanted)) > 1
    assert np.array_equal(labels_of(runtime, tmp_path, rows), wanted)


@needs_gcc
@pytest.mark.parametrize("name", TABLES)
def test_tables_get_the_labels_of_python(name, runtime, tmp_path):
    classifier = table_model(**TABLES[name])
    assert write(classifier, tmp_path).source == export(model("digits")).source
    rows = wild_readings(classifier.transform_, 1000)
    assert np.array_equal(labels_of(runtime, tmp_path, rows), expected(classifier, rows))


@needs_gcc
@pytest.mark.parametrize("name", [*IMAGES, *WINDOWS])
def test_images_and_windows_get_the_labels_of_python(name, tmp_path):
    classifier = model(name)
    write(classifier, tmp_path)
    types = input_types(classifier.ensemble_)
    rows = probes(name, 100, types.low, types.high)
    wanted = expected(classifier, rows)
    assert np.array_equal(labels_of(built(tmp_path, HOST, *SANITIZED), tmp_path, rows, types.type), wanted)


@needs_gcc
def test_names_inputs_out_of_range_and_other_images(runtime, tmp_path):
    write(model("strings for classes"), tmp_path)
    told = subprocess.run([runtime, tmp_path / "model.blob"], input=b"", capture_output=True, check=True).stderr
    assert told == b"".join(label.encode() + b"\n" for label in model("strings for classes").classes_)
    write(model("digits"), tmp_path)
    rows = np.zeros((3, 64), dtype=int)
    rows[1, 5], rows[2, 6] = 256, -1
    assert labels_of(runtime, tmp_path, rows).tolist()[1:] == [-2, -2]
    write(model("histograms of colours"), tmp_path)
    assert subprocess.run([runtime, tmp_path / "model.blob"], input=b"").returncode == 1


RING = """
#include <stdio.h>
#include <stdlib.h>
#include "bemi_blob.h"
int main(int count, char **names)
{
    static uint8_t model[100000];
    FILE *file = fopen(names[count - 1], "rb");
    uint32_t length = (uint32_t)fread(model, 1, sizeof model, file);
    bemi_blob_t blob;
    bemi_blob_input_t *x;
    void *work;
    uint16_t oldest;
    if (fclose(file) != 0 || bemi_blob_open(&blob, model, length) != BEMI_BLOB_OK)
        return 1;
    x = malloc((size_t)blob.inputs * sizeof *x);
    work = malloc(bemi_blob_work(&blob));
    if (fread(x, sizeof *x, (size_t)blob.inputs, stdin) != (size_t)blob.inputs)
        return 1;
    for (oldest = 0; oldest <= blob.inputs / blob.channels; oldest++)
        printf("%d\\n", bemi_blob_predict_window(&blob, x, oldest, work));
    free(work);
    free(x);
    return 0;
}
"""


@needs_gcc
def test_a_ring_of_samples_begins_anywhere(tmp_path):
    classifier = model("counts of a signal")
    write(classifier, tmp_path)
    time, channels = classifier.transform_.window_shape
    samples = probes("counts of a signal", 20, 0, 0)[15].reshape(time, channels)
    turned = np.stack([np.roll(samples, -oldest, axis=0).reshape(-1) for oldest in range(time)])
    found = labels_of(built(tmp_path, RING, *SANITIZED), tmp_path, samples, "int16_t")
    assert found.tolist() == [*expected(classifier, turned), -2]


@needs_gcc
def test_a_runtime_of_windows_runs_models_of_other_windows(tmp_path):
    """What windows learned is in the model."""
    first = model("counts of a signal")
    windows, y = waves(24, *first.transform_.window_shape, seed=3)
    other = soft_margins(time_limit=None, node_limit=20, weight_bound=7, inputs=SignalCounts()).fit(7 * windows + 90, y)
    program = built(tmp_path, HOST) if write(first, tmp_path) else None
    write(other, tmp_path)
    rows = np.clip(7 * probes("counts of a signal", 50, 0, 0, 4), -(2**15), 2**15 - 1)
    assert np.array_equal(labels_of(program, tmp_path, rows, "int16_t"), expected(other, rows))


FUZZED = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bemi_blob.h"
int main(void)
{
    static uint8_t model[1000000];
    uint32_t length;
    while (fread(&length, sizeof length, 1, stdin) == 1 && fread(model, 1, length, stdin) == length) {
        /* Memory of exactly their sizes, so that a step beyond is found. */
        uint8_t *exact = malloc(length);
        bemi_blob_t blob;
        int opened;
        memcpy(exact, model, length);
        opened = bemi_blob_open(&blob, exact, length);
        printf("%d\\n", opened);
        if (opened == BEMI_BLOB_OK) {
            bemi_blob_input_t *x = malloc((size_t)blob.inputs * sizeof *x);
            void *work = malloc(bemi_blob_work(&blob));
            int i, turn;
            char name[8];
            for (turn = 0; turn < 4; turn++) {
                const int32_t ends[] = {0, INT32_MIN, INT32_MAX, blob.low};
                for (i = 0; i < blob.inputs; i++)
                    x[i] = (bemi_blob_input_t)(turn < 3 ? ends[turn] : i & 1 ? blob.low : blob.high);
                i = bemi_blob_predict(&blob, x, work);
                if (i >= 0)
                    bemi_blob_label(&blob, i, name, sizeof name);
                if (i < -2 || i >= blob.classes)
                    return 1;
            }
            free(work);
            free(x);
        }
        free(exact);
    }
    return 0;
}
"""
OK, BAD_CHECKSUM = 0, 4
EXTREME = (0, 1, -1, 2, 127, 255, 256, 65535, 65536, 2**31 - 1, -(2**31))


def checked(body):
    """A model with the checksum and length that belong to these bytes behind them."""
    return b"BEMI" + struct.pack("<III", 1, 16 + len(body), zlib.crc32(body)) + body


def mutated(blob, rng):
    """The same with a few bytes, or a number of its header, or its length changed; the checksum is right again."""
    body = bytearray(blob[16:])
    for _ in range(rng.integers(1, 4)):
        kind = rng.integers(4)
        if kind == 0:
            struct.pack_into("<i", body, 4 * int(rng.integers(1, 28)), int(rng.choice(EXTREME)))
        elif kind == 1:
            field = 4 * int(rng.integers(1, 28))
            (value,) = struct.unpack_from("<i", body, field)
            struct.pack_into("<i", body, field, max(-(2**31), min(2**31 - 1, value + int(rng.choice([-1, 1])))))
        elif kind == 2:
            body[int(rng.integers(112, len(body)))] = int(rng.integers(256))
        else:
            del body[len(body) - int(rng.integers(0, 3)) :]
            body += bytes(int(rng.integers(0, 3)))
    return checked(bytes(body))


def opened(program, blobs):
    given = b"".join(struct.pack("<I", len(blob)) + blob for blob in blobs)
    done = subprocess.run([program], input=given, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    results = done.stdout.split()
    assert len(results) == len(blobs)
    return Counter(map(int, results))


SEEDS = {
    "numbers and tables": lambda: [
        *map(model, ("many ties", "scaled signed features", "constant input", "three classes per network")),
        *(table_model(**TABLES[name]) for name in ("values", "rules")),
    ],
    "windows": lambda: [model("counts of a signal")],
    "images": lambda: [model("histograms and colours")],
}


@needs_gcc
@pytest.mark.parametrize("many", [100, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seeds", SEEDS)
def test_hostile_models_lead_nowhere(seeds, many, tmp_path):
    rng = np.random.default_rng(0)
    blobs = [write(kind, tmp_path).blob for kind in SEEDS[seeds]()]
    program = built(tmp_path, FUZZED, *SANITIZED)
    assert opened(program, blobs) == {OK: len(blobs)}
    found = opened(program, [mutated(blob, rng) for blob in blobs for _ in range(many)])
    assert found[OK] > many / 20, "some changes are harmless"
    assert sum(found.values()) - found[OK] > len(blobs) * many / 4
    shortened = [blob[: int(end)] for blob in blobs for end in rng.integers(0, len(blob), 50)]
    assert OK not in opened(program, shortened)


@needs_gcc
def test_damage_is_found(tmp_path):
    """The checksum finds every single byte that changes."""
    blob = write(table_model(values=True), tmp_path).blob
    damaged = [blob[:at] + bytes([blob[at] ^ 1 << at % 8]) + blob[at + 1 :] for at in range(len(blob))]
    found = opened(built(tmp_path, FUZZED, *SANITIZED), damaged)
    assert OK not in found
    assert found[BAD_CHECKSUM] > len(blob) - 16


@needs_gcc
def test_sums_that_may_overflow_are_refused(tmp_path):
    """Python's own limit: weights times the largest input must stay within 31 bits."""
    made = write(model("digits"), tmp_path)
    program = built(tmp_path, FUZZED, *SANITIZED)
    body = bytearray(made.blob[16:])
    results = []
    for high in (255, 2**15, 2**31 - 1):
        struct.pack_into("<i", body, 20, high)
        results += opened(program, [checked(bytes(body))])
    assert results == [0, 0, 6]


GLUE = """
#include "bemi_model.h"
#include "bemi_blob.c"
BEMI_TABLE uint8_t model[] = {%s};
int bemi_predict(const bemi_input_t *x)
{
    static bemi_blob_t blob;
    static int32_t work[%d];
    static uint8_t ready;
    if (!ready && bemi_blob_open(&blob, model, sizeof model) != BEMI_BLOB_OK)
        return -9;
    ready = 1;
    return bemi_blob_predict(&blob, x, work);
}
"""
GLUE_HEADER = """
#ifndef BEMI_MODEL_H
#define BEMI_MODEL_H
#include "bemi_blob.h"
#define bemi_input_t bemi_blob_input_t
#define BEMI_INPUTS %d
int bemi_predict(const bemi_input_t *x);
#endif
"""


@pytest.mark.parametrize(
    ("name", "device"),
    [
        pytest.param(name, *board(device).values, marks=board(device).marks)
        for device, names in {
            "cortex_m3": ("many ties", "histograms of doubled images"),
            "atmega328p": ("table", "counts of differences"),
        }.items()
        for name in names
    ],
)
def test_devices_agree(name, device, tmp_path):
    """The model lies in flash."""
    classifier = table_model(values=True) if name == "table" else model(name)
    made = write(classifier, tmp_path)
    types = input_types(classifier.ensemble_)
    rows = wild_readings(classifier.transform_, 40) if name == "table" else probes(name, 40, types.low, types.high)
    fields = struct.unpack_from("<27i", made.blob, 20)
    work = fields[2] + (fields[5] + fields[6] + 1) // 2
    (tmp_path / "bemi_model.h").write_text(GLUE_HEADER % rows.shape[1])
    (tmp_path / "bemi_model.c").write_text(GLUE % (", ".join(map(str, made.blob)), work))
    found = run(device, tmp_path, rows)
    assert np.array_equal(found.predictions, expected(classifier, rows))
    built = size(device, tmp_path)
    if device.name == "cortex_m3":
        assert built.undefined == ()
    if name == "many ties":
        assert built.flash - len(made.blob) < 4000
        c.write(classifier, tmp_path / "c")
        assert found.instructions[1:].mean() < 2 * run(device, tmp_path / "c", rows).instructions[1:].mean()


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: model("unknown images"), "models that reject unknown rows cannot be data yet"),
        (lambda: model("wide layers"), "more than 8 first-layer neurons"),
        (lambda: model("large weights"), "only weights up to 63"),
        (lambda: table_model(values=True, similarities=9), r"similarities to training rows cannot be data"),
    ],
)
def test_what_cannot_be_data_is_refused_in_one_line(made, told):
    with pytest.raises(ValueError, match=told) as error:
        export(made())
    assert "\n" not in str(error.value)
    assert "bemi export c" in str(error.value)


def test_the_command_writes_what_the_function_writes(tmp_path, capsys):
    save(model("digits"), tmp_path / "digits.bemi")
    assert main(["export", "blob", str(tmp_path / "digits.bemi"), "-o", str(tmp_path / "device"), "--json"]) == 0
    made = export(model("digits"))
    assert json.loads(capsys.readouterr().out)["bytes"] == len(made.blob)
    for name, content in made.files.items():
        assert (tmp_path / "device" / name).read_bytes() == (content.encode() if isinstance(content, str) else content)
