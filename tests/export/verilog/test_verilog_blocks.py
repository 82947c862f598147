import random
import re
import subprocess

import pytest
from simulated_verilog import needs

from bemi.export.verilog.blocks import Memory, address_bits, choice, constant

CLOCKED = "always @(posedge clk) if (reset) step <= 0; else if (take) step <= step == {last} ? 0 : step + 1;"


def test_equal_and_constant_columns_need_nothing():
    memory = Memory([0b0101, 0b0110, 0b0101, 0b0110], 4, rest=0)
    assert sorted(memory.lanes) == [(0, 1, 0, 1), (1, 0, 1, 0)]
    assert (memory.luts, memory.flip_flops, memory.registered, memory.block_rams) == (2, 2, 0, 0)
    assert Memory([3, 3, 3], 2, rest=3).luts == 0
    assert len(Memory([3, 3, 3], 2, rest=0).lanes) == 1, "the fourth word differs"


def test_large_memories_choose_between_tables():
    ramp = Memory(range(64), 6, rest=0)
    assert ramp.luts == 4 + 1 + 1, "a table for four lanes each, and a choice between constants for two"
    assert ramp.registered == 6


@needs("yosys")
@pytest.mark.parametrize(("words", "bits"), [(8, 6), (60, 12), (100, 20)])
def test_yosys_keeps_as_many_registers_and_memories(words, bits, tmp_path):
    rng = random.Random(0)
    memory = Memory([rng.getrandbits(bits) for _ in range(words)], bits, rest=0)
    step_bits = address_bits(words)
    case = choice("step", "word", [constant(word, bits) for word in memory.words], step_bits)
    (tmp_path / "memory.v").write_text(
        f"module memory(input clk, input reset, input take, output [{bits - 1}:0] given);\n"
        f"reg [{step_bits - 1}:0] step; reg [{bits - 1}:0] word; assign given = word;\n"
        f"{CLOCKED.format(last=words - 1)}\nalways @* begin\n{case}\nend\nendmodule\n"
    )
    command = ["yosys", "-p", "read_verilog memory.v; synth_ice40 -top memory"]
    told = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    cells = dict(re.findall(r"^ +(SB_\w+) +(\d+)$", told[told.rindex("Number of cells") :], re.MULTILINE))
    flip_flops = sum(int(count) for kind, count in cells.items() if "DFF" in kind)
    assert int(cells.get("SB_RAM40_4K", 0)) == memory.block_rams
    assert flip_flops == step_bits + memory.registered
