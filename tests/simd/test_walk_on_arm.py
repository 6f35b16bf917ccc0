"""walk/, in C, for aarch64 and armv7, where they are emulated: each primitive of each level against its scalar row."""

from __future__ import annotations

import pathlib
import re

import pytest
from test_walk import COMMON, CORE, HERE, run, tool, walked

pytestmark = pytest.mark.slow  # four minutes of emulation
LEVELS = ("neon", "neon_dot", "i8mm")


def made_for(folder: pathlib.Path, processor: str, compiler: str) -> pathlib.Path:
    """The walk as a program for another processor."""
    cmake = tool("cmake")
    cross = ["-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={processor}", f"-DCMAKE_C_COMPILER={compiler}"]
    run(cmake, "-S", HERE / "walk", "-B", folder, *cross, "-DML_WERROR=ON")
    run(cmake, "--build", folder, "--target", "walk", "--parallel", 2)
    return folder / "walk"


def test_on_aarch64(tmp_path: pathlib.Path) -> None:
    """A processor without dot products does not have the levels that need them, nor one without SMMLA its level."""
    compiler, emulator = tool("aarch64-linux-gnu-gcc"), tool("qemu-aarch64")
    program = made_for(tmp_path, "aarch64", compiler)
    every = walked(run(emulator, "-cpu", "max,sve=off,sme=off", program))
    assert list(every) == ["scalar", *LEVELS]
    assert all(every.values()), every
    for processor, levels in {"cortex-a72": 2, "cortex-a76": 3}.items():
        assert run(emulator, "-cpu", processor, program, "levels").split() == ["scalar", *LEVELS][:levels], processor


def test_on_armv7(tmp_path: pathlib.Path) -> None:
    """A processor without fused multiply-adds does not have the level that needs them."""
    compiler, emulator = tool("arm-linux-gnueabihf-gcc"), tool("qemu-arm")
    program = made_for(tmp_path, "armv7", compiler)
    every = walked(run(emulator, "-cpu", "cortex-a7", program))
    assert list(every) == ["scalar", "neon"]
    assert all(every.values()), every
    assert run(emulator, "-cpu", "cortex-a9", program, "levels").split() == ["scalar"]


def test_the_core_compiles_for_aarch64(tmp_path: pathlib.Path) -> None:
    """All files, except the primitives, which are compiled above, and those that only Windows can compile."""
    compiler = tool("aarch64-linux-gnu-gcc")
    files = [path for path in sorted(CORE.rglob("*.c")) if path.relative_to(CORE).parts[0] != "simd"]
    files.remove(CORE / "os" / "windows.c")
    tables = [name for path in files for name in re.findall(r"^ML_KERNELS\((\w+)\)", path.read_text(), re.MULTILINE)]
    (tmp_path / "families.def").write_text("".join(f"X({name}, {name})\n" for name in tables))
    (tmp_path / "build.def").write_text("0")
    run(compiler, *COMMON, f"-I{tmp_path}", "-fsyntax-only", *files)
