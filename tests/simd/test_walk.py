"""walk/, in C: each primitive of each level against its scalar row, on this machine, and for aarch64 where that is
emulated."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from primitives import SIMD

HERE = pathlib.Path(__file__).parent
CORE = HERE.parents[1] / "csrc"
CMAKE = (CORE / "CMakeLists.txt").read_text()


def arguments(call: str) -> list[str]:
    """What a call in CMakeLists.txt has behind `call`."""
    found = re.search(rf"\({re.escape(call)} ([^)]*)\)", CMAKE)
    assert found is not None, call
    return found[1].split()


FLAGS = {level.lower(): arguments(f"ML_FLAGS_{level}") for level in arguments("level")}
"""What each level is compiled with."""
COMMON = ["-std=gnu11", "-O3", "-Werror", f"-I{CORE}", *arguments("minilite_core PRIVATE -O3")]
LEVELS = ("neon", "neon_dot")

INFO = pathlib.Path("/proc/cpuinfo")
CPU = INFO.read_text() if INFO.exists() else ""

# This machine's levels are those of the installed core, which the walk is told.
NATIVE = """
import ctypes, sys
from minilite._core import ffi, lib
at = int(ffi.cast("uintptr_t", ffi.addressof(lib, "ml_simd_at")))
sys.exit(ctypes.CDLL(sys.argv[1])[sys.argv[2]](ctypes.c_void_p(at)))
"""


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def run(*command: object) -> str:
    """What a command prints; it fails with what it complains about."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}:\n{done.stderr[-4000:]}"
    return done.stdout


def level_of(source: pathlib.Path) -> str:
    """The level that a file of csrc/simd is of, or "" where it is for all."""
    return max((level for level in FLAGS if source.stem.endswith(f"_{level}")), key=len, default="")


def sources(folder: str) -> list[pathlib.Path]:
    """The C files of a folder of the core, without those of other processors' levels."""
    return [path for path in sorted((CORE / folder).rglob("*.c")) if level_of(path) in ("", "scalar", *LEVELS)]


def compiled(compiler: str, source: pathlib.Path, to: pathlib.Path) -> pathlib.Path:
    flags = FLAGS[level_of(source)] if level_of(source) else []
    if source.name == "levels.c":
        flags = [f"-DML_HAS_{level.upper()}=1" for level in LEVELS]
    made = to / f"{source.parent.name}_{source.stem}.o"
    run(compiler, *COMMON, *flags, "-c", source, "-o", made)
    return made


def walked(printed: str) -> dict[str, list[str]]:
    """The primitives that were compared, by level."""
    return {level: names.split() for level, names in (line.split(":") for line in printed.splitlines())}


def test_on_this_machine(tmp_path: pathlib.Path) -> None:
    library = tmp_path / "walk.so"
    files = [path for path in (HERE / "walk").glob("*.c") if path.name != "main.c"]
    run(tool("cc"), *COMMON, "-O1", "-shared", "-fPIC", *files, "-o", library, "-lm")
    found = walked(run(sys.executable, "-c", NATIVE, library, "walk_levels"))
    assert found["scalar"]
    assert all(found.values()), found


@pytest.mark.skipif("avx512" not in SIMD, reason="this machine has no AVX-512, which amx is above")
@pytest.mark.skipif("amx_" in CPU, reason="this machine has tiles, which the walk above works with")
@pytest.mark.parametrize("bounds", [[], ["-DLEAST_ROWS=1", "-DLEAST_OUTPUTS=1", "-DLEAST_GROUPS=1"]])
def test_amx_by_emulated_tiles(tmp_path: pathlib.Path, bounds: list[str]) -> None:
    """Its kernels as the build compiles them, for the shapes that they do and for all that they can take; at first use
    they have to agree with avx512, and do not if a bit of theirs differs."""
    compiler, library = tool("cc"), tmp_path / "walk_amx.so"
    made = [tmp_path / f"{name}.o" for name in ("matmul_s8_amx", "product_s8_amx")]
    empty = [compiler, *FLAGS["amx"], "-fsyntax-only", "-xc", "/dev/null"]
    if subprocess.run(empty, capture_output=True, check=False).returncode:
        pytest.skip("this compiler knows no tiles")
    for to in made:
        source = CORE / "simd" / f"{to.stem}.c"
        run(compiler, *COMMON, *FLAGS["amx"], *bounds, "-fPIC", "-c", source, "-o", to)
    below = ("matmul_s8_avx512", "product_s8_avx512", "requantize_avx512", "verify")
    files = [CORE / "simd" / f"{name}.c" for name in below]
    files += [path for path in (HERE / "walk").glob("*.c") if path.name != "main.c"]
    files += [*(HERE / "tiles").glob("*.c"), CORE / "math" / "fixed_point.c"]
    flags = [*COMMON, *FLAGS["avx512"], "-O1", f"-I{HERE}", "-shared", "-fPIC"]
    run(compiler, *flags, *files, *made, "-o", library, "-lm")
    found = walked(run(sys.executable, "-c", NATIVE, library, "walk_amx"))
    assert found["amx"] == ["matmul_s8", "product_s8"]


def test_on_aarch64(tmp_path: pathlib.Path) -> None:
    """A processor that has no dot products has no level of them."""
    compiler, emulator = tool("aarch64-linux-gnu-gcc"), tool("qemu-aarch64")
    files = [*sources("simd"), *(HERE / "walk").glob("*.c"), CORE / "core" / "error.c", CORE / "math" / "fixed_point.c"]
    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(lambda path: compiled(compiler, path, tmp_path), files))
    run(compiler, "-static", *objects, "-o", tmp_path / "walk", "-lm")
    every = walked(run(emulator, "-cpu", "max", tmp_path / "walk"))
    assert list(every) == ["scalar", *LEVELS]
    assert all(every.values()), every
    assert run(emulator, "-cpu", "cortex-a72", tmp_path / "walk", "levels").split() == ["scalar", "neon"]


def test_the_core_compiles_for_aarch64(tmp_path: pathlib.Path) -> None:
    compiler = tool("aarch64-linux-gnu-gcc")
    files = sources(".")
    tables = [name for path in files for name in re.findall(r"^ML_KERNELS\((\w+)\)", path.read_text(), re.MULTILINE)]
    (tmp_path / "families.def").write_text("".join(f"X({name}, {name})\n" for name in tables))
    plain = [path for path in files if path.parent.name != "simd"]  # the others are compiled above
    run(compiler, *COMMON, f"-I{tmp_path}", "-fsyntax-only", *plain)
