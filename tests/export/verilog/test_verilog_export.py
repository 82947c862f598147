import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from exported_models import MODELS, expected, model, voted, with_transform
from mixed_tables import new_rows, table_model
from simulated_verilog import in_icarus, needs, ran, warnings

from bemi import BeMiClassifier, ConstantInput, save
from bemi.cli import main
from bemi.export.verilog import export, write
from bemi.export.verilog.circuit import Circuit, integer_bits
from bemi.export.verilog.writing import given_rows, random_rows

REFUSED = (
    "histograms",
    "counts",
    "probabilities of a signal",
    "probabilities of two signals",
    "unknown",
    "probabilities of unknown",
)
NAMES = [name for name in MODELS if not name.startswith(REFUSED)]
TABLES = {
    "bits": {},
    "bits of three classes": {"classes": 3},
    "values": {"values": True, "thresholds": 0, "classes": 3},
    "values and bits": {"values": True},
    "values and many bits": {"values": True, "thresholds": 32},  # whose control memory becomes block RAM
}
EVERY = [(name, way) for name in (*NAMES, *TABLES) for way in ("stream", "parallel")]

# Multipliers of a whole row at once, which Icarus Verilog simulates one adder after another.
LONGEST = [("large weights", "parallel"), ("large weights", "stream"), ("wide layers", "parallel")]


def found(name):
    return table_model(**TABLES[name]) if name in TABLES else model(name)


@needs("iverilog")
@pytest.mark.parametrize(
    ("name", "interface"),
    [pytest.param(*pair, marks=pytest.mark.slow if pair in LONGEST else []) for pair in EVERY],
)
def test_labels_are_those_of_python(name, interface, tmp_path):
    classifier = found(name)
    vectors = 40 if interface == "stream" else 20  # simulating a whole row at a time takes longer
    made = write(classifier, tmp_path, interface=interface, vectors=vectors)
    runs = in_icarus(tmp_path)
    assert [(run.predictions, run.differences) for run in runs] == [(vectors, 0)] * 2
    quick = runs[0]
    assert quick.fewest <= made.costs.interval
    assert quick.most <= made.costs.latency + made.costs.tie
    assert made.costs.latency <= quick.first <= made.costs.latency + made.costs.tie


@needs("verilator")
@pytest.mark.parametrize(("name", "interface"), EVERY)
def test_verilator_has_nothing_to_say(name, interface, tmp_path):
    write(found(name), tmp_path, interface=interface, vectors=1)
    assert warnings(tmp_path) == ""


@pytest.mark.parametrize("name", NAMES)
def test_vectors_are_those_of_the_networks(name):
    classifier = model(name)
    rows, labels = random_rows(Circuit(classifier.ensemble_), 300)
    scale = classifier.ensemble_.inputs.scaling.scale
    integers = rows if scale is None else scale.scaled(rows)
    if scale is not None and classifier.ensemble_.inputs.scaling.limit is not None:
        integers = np.clip(integers, -127, 127)
    assert np.array_equal(labels, expected(classifier, integers))
    if " ties" in name:
        assert voted(classifier, integers).unclassified.any(), "some vectors try the ties"


@pytest.mark.parametrize("name", TABLES)
def test_readings_saturate_without_changing_a_label(name):
    classifier = found(name)
    table, circuit = new_rows(200), Circuit(classifier.ensemble_)
    rows, labels = given_rows(circuit, table)
    assert np.array_equal(np.array(classifier.classes_)[labels], classifier.predict(table))
    assert (rows == circuit.format.missing).any()
    again = classifier.ensemble_.inputs.from_fixed_point_inputs(circuit.format.decoded(rows))
    assert np.array_equal(again, classifier.ensemble_.inputs.of(table))
    assert circuit.format.bits < 32


def test_sums_are_as_wide_as_they_can_get():
    classifier = model("no hidden layer, P = 7")
    circuit = Circuit(classifier.ensemble_)
    assert (circuit.format.bits, circuit.format.signed) == (5, False)
    for neuron in circuit.neurons:
        highest, lowest = 31 * neuron.weights.clip(0).sum(), 31 * neuron.weights.clip(None, 0).sum()
        assert (neuron.low, neuron.high) == (lowest, highest)
        assert -(2 ** (neuron.bits - 1)) <= lowest
        assert highest < 2 ** (neuron.bits - 1)
        assert neuron.bits == 1 or not (-(2 ** (neuron.bits - 2)) <= lowest and highest < 2 ** (neuron.bits - 2))
    assert [integer_bits(*ends) for ends in ((0, 1), (0, 16), (-1, 0), (-16, 15), (-16, 16), (-17, 3))] == [
        *(1, 5, 1, 5, 6, 6)
    ]


def test_neurons_that_always_give_the_same_sign_are_left_out():
    circuit = Circuit(model("digits, the paper's ties").ensemble_)
    assert len(circuit.neurons) < 4 * len(circuit.voters)
    assert {len(voter.neurons) for voter in circuit.voters} >= {1}


def test_wider_inputs_can_be_asked_for():
    assert "integers of 5 bits, 0..31" in export(model("digits")).files["bemi_model.v"]
    assert "integers of 8 bits, 0..255" in export(model("digits"), input_bits=8).files["bemi_model.v"]
    with pytest.raises(ValueError, match=r"input_bits must be .*5"):
        export(model("digits"), input_bits=4)
    with pytest.raises(ValueError, match="may lead to sums beyond 32 bits"):
        export(model("digits"), input_bits=32)
    with pytest.raises(ValueError, match="whose width follows from the model; leave out input_bits"):
        export(model("constant input"), input_bits=8)


def test_rows_that_the_circuit_cannot_take_are_refused():
    classifier = model("digits")
    with pytest.raises(ValueError, match=r"outside the circuit's range, 0\.\.31"):
        export(classifier, rows=np.full((1, 64), 32))


def test_what_is_not_there_yet_is_refused_in_one_line():
    for name in ("histograms of doubled images", "counts of a signal"):
        with pytest.raises(ValueError, match=r"^(IntegerHog|SignalCounts) cannot .* yet; train .*inputs=None"):
            export(model(name))
    with pytest.raises(ValueError, match=r"^similarities to training rows cannot be exported to Verilog yet"):
        export(table_model(similarities=20))
    with pytest.raises(ValueError, match=r"^rules cannot be exported .*; train with TableBits\(rules=0\)$"):
        export(table_model(rules=20))

    class Derived(ConstantInput):
        pass

    derived = with_transform(model("constant input"), Derived(127).fit(np.ones((1, 13), dtype=int)))
    with pytest.raises(ValueError, match="Derived cannot be exported"):
        export(derived)
    with pytest.raises(ValueError, match="interface must be one of stream, parallel"):
        export(model("digits"), interface="serial")
    wide = BeMiClassifier((), stages=("sm",)).fit(np.eye(4, 600, dtype=int) * 200, [0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"4800 bits, too many for a parallel input; use interface='stream'"):
        export(wide, interface="parallel")


def test_the_header_tells_what_to_feed():
    text = export(table_model()).files["bemi_model.v"]
    head = text[: text.index("module bemi_model")]
    circuit = Circuit(table_model().ensemble_)
    assert f"signed integers of {circuit.format.bits} bits, {circuit.format.low}..{circuit.format.high}." in head
    assert f"A missing cell is {circuit.format.missing}." in head
    assert 'in units of 0.01, "dose"' in head
    assert re.search(r'a category, -1 for any other than these, "blood"\n//     0: "0"\n//     1: "A"', head)
    assert '0: "high"\n//   1: "low"' in head
    assert all(line.startswith("//") for line in head.splitlines())


@needs("yosys")
@pytest.mark.parametrize(
    ("name", "interface"),
    [pytest.param(*pair, marks=[] if pair[0] == "bits" else pytest.mark.slow) for pair in EVERY if pair[0] in TABLES],
)
def test_costs_are_about_what_yosys_finds(name, interface, tmp_path):
    made = write(found(name), tmp_path, interface=interface, vectors=1)
    cells = measured(tmp_path, "ice40.txt")
    flip_flops = sum(count for kind, count in cells.items() if "DFF" in kind)
    assert made.costs.luts == pytest.approx(cells["SB_LUT4"], rel=0.2)
    assert made.costs.flip_flops == pytest.approx(flip_flops, rel=0.02)
    assert made.costs.block_rams == cells.get("SB_RAM40_4K", 0)


def measured(folder, target):
    """Cells by kind in a report of Yosys."""
    subprocess.run(["make", "-s", target], cwd=folder, check=True, capture_output=True)
    text = (folder / target).read_text()
    return {kind: int(count) for kind, count in re.findall(r"^ +(\S+) +(\d+)$", text, re.MULTILINE)}


@needs("yosys")
def test_the_report_puts_what_yosys_measures_into_the_header(tmp_path):
    write(found("bits"), tmp_path, vectors=1)
    source = tmp_path / "bemi_model.v"
    before = source.read_text().splitlines()
    for _ in range(2):
        done = subprocess.run(["make", "-s", "report"], cwd=tmp_path, check=True, capture_output=True, text=True)
    after, cells = source.read_text().splitlines(), measured(tmp_path, "ice40.txt")
    luts, flip_flops = cells["SB_LUT4"], sum(count for kind, count in cells.items() if "DFF" in kind)
    (place,) = (n for n, line in enumerate(before) if line.startswith("// Measured by Yosys: nothing yet"))
    assert after[:place] + after[place + 2 :] == before[:place] + before[place + 1 :]
    assert re.fullmatch(
        rf"// Measured by Yosys [\d.]+, iCE40: {luts} lookup tables of 4 inputs, {flip_flops} flip-flops, "
        r"0 block RAMs, logic depth \d+\.",
        after[place],
    )
    luts = measured(tmp_path, "lut6.txt")["$lut"]
    assert re.match(rf"// Measured by Yosys [\d.]+, any FPGA: {luts} lookup tables of 6 inputs, ", after[place + 1])
    assert done.stdout.splitlines() == after[place - 2 : place + 2]


@needs("verilator")
@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, *TABLES])
def test_verilator_gives_the_same_labels(name, tmp_path):
    write(found(name), tmp_path, vectors=2_000)
    subprocess.run(["make", "-s", "verilator"], cwd=tmp_path, check=True, capture_output=True)
    lines = (tmp_path / "verilator.log").read_text().splitlines()
    # Verilator adds lines of its own.
    assert [ran(line).differences for line in lines if "predictions" in line] == [0, 0]


@needs("iverilog")
@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, *TABLES])
def test_ten_thousand_predictions(name, tmp_path):
    write(found(name), tmp_path, vectors=10_000)
    assert [run.differences for run in in_icarus(tmp_path)] == [0, 0]


@needs("iverilog")
@pytest.mark.parametrize("interface", ["stream", "parallel"])
def test_two_circuits_with_names_fit_into_one_design(interface, tmp_path):
    usual = export(found("bits"), interface=interface, vectors=5)
    for name in ("left", "right"):
        made = write(found("bits"), tmp_path, interface=interface, vectors=5, name=name)
        assert f"{name}_model.v" in made.files
        for own, other in zip(usual.files.values(), made.files.values(), strict=True):
            assert "bemi_" not in other
            assert other.replace(f"{name}_model", "bemi_model").replace(f"{name}_axis", "bemi_axis") == own
        # The test bench and the Makefile are those of the last.
        subprocess.run(["make", "-s", "test"], cwd=tmp_path, check=True, capture_output=True)
    design = ["iverilog", "-g2001", "-Wall", "-o", "both", "left_model.v", "right_model.v"]
    done = subprocess.run(design, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


PLACED = """Info: Packing..
Info: \t         ICESTORM_LC:   1063/  7680    13%
Info: \t        ICESTORM_RAM:      2/    32     6%
Info: \t               SB_IO:     18/   256     7%
Info: Max frequency for clock 'clk$SB_IO_IN_$glb_clk': 71.20 MHz (PASS at 12.00 MHz)
Info: Routing..
Info: Max frequency for clock 'clk$SB_IO_IN_$glb_clk': 68.43 MHz (PASS at 12.00 MHz)
Info: Max delay <async>                       -> posedge clk$SB_IO_IN_$glb_clk: 9.71 ns
"""


def test_placing_prints_cells_and_the_last_clock(tmp_path):
    """Tools that only write what the real ones would: the lines that people see come from the Makefile."""
    write(found("bits"), tmp_path, vectors=1)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tmp_path / "placed.txt").write_text(PLACED)
    for tool, does in (("yosys", "touch ice40.json"), ("nextpnr-ice40", "cp placed.txt place.log")):
        (tools / tool).write_text(f"#!/bin/sh\n{does}\n")
        (tools / tool).chmod(0o755)
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    command = ["make", "-s", "place"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    lines = PLACED.splitlines()
    assert done.stdout.splitlines() == [lines[1], lines[2], lines[6]]


@needs("nextpnr-ice40")
@needs("yosys")
def test_placing_with_the_real_tools(tmp_path):
    write(found("bits"), tmp_path, vectors=1)
    done = subprocess.run(["make", "-s", "place"], cwd=tmp_path, check=True, capture_output=True, text=True)
    cells, memories, clock = done.stdout.splitlines()
    assert re.search(r"ICESTORM_LC: +[1-9]\d*/ *7680", cells)
    assert "ICESTORM_RAM" in memories
    assert float(re.search(r"([\d.]+) MHz \(PASS", clock)[1]) > 12


def test_the_command_line_writes_a_folder_and_states_costs(tmp_path, capsys):
    save(model("digits"), tmp_path / "m.bemi")
    assert main(["export", "verilog", str(tmp_path / "m.bemi"), "-o", str(tmp_path / "out"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    names = ["Makefile", "bemi_axis.v", "bemi_model.v", "inputs.txt", "labels.txt", "test_bench.v"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
    assert told["interval"] == 67
    assert f"then a label every {told['interval']}" in (tmp_path / "out" / "bemi_model.v").read_text()
    assert main(["export", "verilog", str(tmp_path / "m.bemi"), "-o", str(tmp_path / "m.bemi")]) == 2
    assert "is a file" in capsys.readouterr().err


def test_own_rows_come_from_the_command_line(tmp_path, capsys):
    save(model("digits"), tmp_path / "m.bemi")
    command = ["export", "verilog", str(tmp_path / "m.bemi"), "-o", str(tmp_path / "out"), "--vectors", "3", "--rows"]
    rows = np.arange(5 * 64).reshape(5, 64) % 17
    np.savez(tmp_path / "rows.npz", X=rows, y=np.zeros(5))
    assert main([*command, str(tmp_path / "rows.npz")]) == 0
    own = np.loadtxt(tmp_path / "out" / "inputs.txt", dtype=int)[3:]
    labels = np.loadtxt(tmp_path / "out" / "labels.txt", dtype=int)[3:]
    assert np.array_equal(own, rows)
    assert np.array_equal(model("digits").classes_[labels], model("digits").predict(rows))
    capsys.readouterr()
    for wrong, about in ((rows[:, :63], "63"), (rows * 2, "outside the circuit's range, 0..31")):
        np.savez(tmp_path / "rows.npz", X=wrong)
        assert main([*command, str(tmp_path / "rows.npz")]) == 2
        told = capsys.readouterr().err.splitlines()
        assert len(told) == 1
        assert about in told[0]


@needs("iverilog")
@pytest.mark.parametrize("interface", ["stream", "parallel"])
def test_packets_of_a_wrong_length_are_answered_and_marked(interface, tmp_path):
    made = write(found("bits of three classes"), tmp_path, interface=interface, vectors=12)
    rows = np.loadtxt(tmp_path / "inputs.txt", dtype=int)
    labels = np.loadtxt(tmp_path / "labels.txt", dtype=int).tolist()
    bits = int(re.search(r"signed integers of (\d+) bits", made.files["bemi_model.v"])[1])
    words = rows.shape[1] if interface == "stream" else 1
    packets, wanted = [], []
    for number, (row, label) in enumerate(zip(rows.tolist(), labels, strict=True)):
        cells = [value % (1 << bits) for value in row]
        beats = cells if words > 1 else [sum(cell << place * bits for place, cell in enumerate(cells))]
        length = (words, words + 3, 1, words)[number % 4]
        packets.append([*beats, 0, 0, 0][:length])
        wanted.append((None, 1) if length != words else (label, 0))
    lines = [f"{beat:x} {int(place == len(packet) - 1)}\n" for packet in packets for place, beat in enumerate(packet)]
    (tmp_path / "beats.txt").write_text("".join(lines))
    width = -(-bits * rows.shape[1] // words // 8) * 8
    bench = str(Path(__file__).parent / "packets.v")
    command = ["iverilog", "-g2001", f"-DWIDTH={width}", "-o", "packets", "bemi_model.v", "bemi_axis.v", bench]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run(["vvp", "-n", "packets"], cwd=tmp_path, check=True, capture_output=True, text=True)
    answers = [tuple(map(int, line.split()[1:])) for line in done.stdout.splitlines() if line.startswith("answer")]
    assert [(None if user & 2 else label, user >> 1) for label, user, _ in answers] == wanted
    assert {last for *_, last in answers} == {1}
