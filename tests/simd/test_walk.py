"""walk/, in C: each primitive of each level of this machine against its scalar row."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from primitives import SIMD

HERE = pathlib.Path(__file__).parent
CORE = HERE.parents[1] / "csrc"


def arguments(path: str, call: str) -> list[str]:
    """The arguments of a call in a CMakeLists.txt of the core; `call` is its name and first argument."""
    found = re.search(rf"\({re.escape(call)} ([^)]*)\)", (CORE / path / "CMakeLists.txt").read_text())
    assert found is not None, call
    return found[1].split()


def flags_of(level: str) -> list[str]:
    """The flags of a level: ml_level(level below flag...), on top of the flags of the level below."""
    below, *flags = arguments("simd", level)
    return [*(flags_of(below) if below != '""' else []), *flags]


def at(level: str) -> list[str]:
    """The options that a file of a level is compiled with."""
    return [*flags_of(level), f"-DML_LEVEL={level}", f'-DML_WORDS="simd/words/{level}.h"']


SYSTEM = [CORE / "os" / f"{name}.c" for name in ("posix", "linux" if sys.platform == "linux" else "macos")]
COMMON = ["-std=gnu11", "-O3", "-Werror", f"-I{CORE}", *arguments(".", "minilite_options INTERFACE -O3")]

INFO = pathlib.Path("/proc/cpuinfo")
CPU = INFO.read_text() if INFO.exists() else ""

# This machine's levels are those of the installed core, which the walk gets as arguments.
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
    """Returns the output of a command; if it fails, the test fails with its error output."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}:\n{done.stderr[-4000:]}"
    return done.stdout


def walked(printed: str) -> dict[str, list[str]]:
    """The primitives that were compared, by level."""
    return {level: names.split() for level, names in (line.split(":") for line in printed.splitlines())}


def test_on_this_machine(tmp_path: pathlib.Path) -> None:
    library = tmp_path / "walk.so"
    files = [path for path in (HERE / "walk").glob("*.c") if path.name != "main.c"]
    run(tool("cc"), *COMMON, "-O1", "-shared", "-fPIC", *files, *SYSTEM, "-o", library, "-lm")
    found = walked(run(sys.executable, "-c", NATIVE, library, "walk_levels"))
    assert found["scalar"]
    assert all(found.values()), found


@pytest.mark.skipif("avx512" not in SIMD, reason="this machine has no AVX-512, which amx is above")
@pytest.mark.skipif("amx_" in CPU, reason="this machine has tiles, which the walk above works with")
@pytest.mark.parametrize("bounds", [[], ["-DLEAST_ROWS=1", "-DLEAST_OUTPUTS=1", "-DLEAST_GROUPS=1"]])
def test_amx_by_emulated_tiles(tmp_path: pathlib.Path, bounds: list[str]) -> None:
    """Runs the kernels of amx as the build compiles them, for the shapes that they are used for and for all that they
    can compute. At first use they have to agree with avx512; one different bit is noticed."""
    compiler, library = tool("cc"), tmp_path / "walk_amx.so"
    empty = [compiler, *flags_of("amx"), "-fsyntax-only", "-xc", "/dev/null"]
    if subprocess.run(empty, capture_output=True, check=False).returncode:
        pytest.skip("this compiler knows no tiles")
    names = ("matmul_s8", "product_s8", "product_f32")
    made = [tmp_path / f"{name}.o" for name in names]
    common = [compiler, *COMMON]
    for to in made:
        run(*common, *at("amx"), *bounds, "-fPIC", "-c", CORE / "simd" / "amx" / f"{to.stem}.c", "-o", to)
    files = [CORE / "simd" / "avx512" / f"{name}.c" for name in ("matmul_s8", "product_s8", "requantize")]
    files += [path for path in (HERE / "walk").glob("*.c") if path.name != "main.c"]
    files += [*(HERE / "tiles").glob("*.c"), CORE / "simd" / "verify.c", CORE / "math" / "fixed_point.c", *SYSTEM]
    run(*common, *at("avx512"), "-O1", f"-I{HERE}", "-shared", "-fPIC", *files, *made, "-o", library, "-lm")
    found = walked(run(sys.executable, "-c", NATIVE, library, "walk_amx"))
    assert found["amx"] == [*names, "depthwise_product_s8"], "the last is scalar's, compared because it calls others"
