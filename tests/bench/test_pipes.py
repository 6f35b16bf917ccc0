""".ci/machines/pipes.py: finds loops in the output of objdump, and reads the output of llvm-mca."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import re
import shutil
import sys
from types import ModuleType

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / ".ci" / "machines" / "pipes.py"

# Two loops within one, as objdump prints them.
LISTING = """
product_s8.c.o:     file format elf64-littleaarch64


Disassembly of section .text:

0000000000000000 <signed_2>:
   0:\tmov\tx3, #0x0                   \t// #0
   4:\tldr\tq8, [x1], #16
   8:\tsdot\tv0.4s, v4.16b, v8.4b[0]
   c:\tsdot\tv1.4s, v5.16b, v8.4b[1]
  10:\teor\tv8.16b, v8.16b, v31.16b
  14:\tsmlal2\tv2.4s, v4.8h, v5.8h
  18:\tfmla\tv3.4s, v4.4s, v5.s[2]
  1c:\tcmp\tx1, x2
  20:\tb.ne\t4 <signed_2+0x4>  // b.any
  24:\tld1\t{v4.16b-v7.16b}, [x4], #64
  28:\tcbz\tx5, 34 <signed_2+0x34>
  2c:\tsubs\tx5, x5, #0x1
  30:\tb.ne\t24 <signed_2+0x24>  // b.any
  34:\tb.ne\t0 <signed_2>  // b.any
  38:\tret
"""


@pytest.fixture(scope="module")
def pipes() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pipes", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_innermost_loops(pipes: ModuleType) -> None:
    (function,) = pipes.functions(LISTING).values()
    loops = pipes.innermost(function)
    assert [(loop[0].address, loop[-1].address) for loop in loops] == [(0x4, 0x20), (0x24, 0x30)]
    assert [sum(map(pipes.products_of, loop)) for loop in loops] == [16 + 16 + 4 + 4, 0]
    assert [sum(map(pipes.is_vector, loop)) for loop in loops] == [5, 0]


def test_branches_go_to_the_begin(pipes: ModuleType) -> None:
    loop = pipes.innermost(pipes.functions(LISTING)["signed_2"])[1]
    assert pipes.described(loop).splitlines() == [
        "again:", "ld1 {v4.16b-v7.16b}, [x4], #64", "cbz x5, again", "subs x5, x5, #0x1", "b.ne again",
    ]  # fmt: skip


def test_load_of_a_pipe_model_is_read_from_its_json(pipes: ModuleType) -> None:
    """Two instructions in 200 cycles of 100 turns; the sums, which count, are listed as a third one."""
    usages = [(0, 1, 1.0), (1, 2, 0.5), (2, 0, 3.0), (2, 1, 1.0), (2, 2, 0.5)]
    names = ("InstructionIndex", "ResourceIndex", "ResourceUsage")
    region = {
        "ResourcePressureView": {"ResourcePressureInfo": [dict(zip(names, usage, strict=True)) for usage in usages]},
        "SummaryView": {"Iterations": 100, "TotalCycles": 200},
    }
    printed = json.dumps({"CodeRegions": [region], "TargetInfo": {"Resources": ["N1UnitL.0", "N1UnitV0", "N1UnitV1"]}})
    assert pipes.load_of(printed, pipes.PROCESSORS["neoverse-n1"]) == (2.0, 0.375)


def test_an_installed_model(pipes: ModuleType) -> None:
    """A neoverse-n1 has two pipes that do these five; a cortex-a53 does not know the first."""
    mca = next(filter(None, map(shutil.which, pipes.MCA)), None)
    if mca is None:
        pytest.skip("llvm-mca is not installed")
    loop = pipes.innermost(pipes.functions(LISTING)["signed_2"])[0]
    load = pipes.modelled(mca, loop, "neoverse-n1")
    assert load.busy * load.cycles * 2 == pytest.approx(5)
    assert pipes.modelled(mca, loop, "cortex-a53") is None


def test_a_missing_program(
    pipes: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["pipes.py"])
    assert pipes.main() == 2
    assert re.match(r"not installed: llvm-mca-\d+", capsys.readouterr().err)
