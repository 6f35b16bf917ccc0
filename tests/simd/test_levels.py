"""The list of primitives and levels: which exist, how a level is chosen, and that each primitive is tested."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest
from primitives import PRIMITIVES, SIMD

from minilite._core import ffi, lib

HERE = pathlib.Path(__file__).parent
SOURCES = HERE.parents[1] / "csrc" / "simd"
NAMES = ["scalar", "sse2", "avx2", "avx_vnni", "avx512", "amx", "neon", "neon_dot", "i8mm"]


def choose(mask: str | None) -> tuple[int, str, str]:
    """(status, level, text of the error)."""
    simd, error = ffi.new("const ml_simd **"), ffi.new("ml_error *")
    status = lib.ml_simd_choose(ffi.NULL if mask is None else mask.encode(), simd, error)
    level = ffi.string(simd[0].level).decode() if simd[0] else ""
    return status, level, ffi.string(error.text).decode()


def test_levels_ascend_from_scalar() -> None:
    assert list(SIMD) == [name for name in NAMES if name in SIMD]
    assert next(iter(SIMD)) == "scalar"
    assert lib.ml_simd_at(-1) == ffi.NULL
    assert lib.ml_simd_at(len(SIMD)) == ffi.NULL


@pytest.mark.skipif(not pathlib.Path("/proc/cpuinfo").exists(), reason="the system does not say what the processor has")
def test_levels_are_those_of_the_processor() -> None:
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    flags = set(found[1].split()) if found else set()
    wide = {f"avx512{part}" for part in ("f", "bw", "vl", "dq", "_vnni", "vbmi")}
    needs = {
        "sse2": {"sse2"},
        "avx2": {"avx2", "fma", "f16c"},
        "avx_vnni": {"avx2", "fma", "f16c", "avx_vnni"},
        "avx512": wide,
        "amx": {*wide, "amx_tile", "amx_int8"},
        "neon": {"asimd"} if "asimd" in flags else {"neon", "vfpv4"},
        "neon_dot": {"asimd", "asimddp"},
        "i8mm": {"asimd", "asimddp", "i8mm"},
    }
    assert set(SIMD) - {"scalar"} == {level for level, wanted in needs.items() if wanted <= flags}


def test_the_best_level_serves_unless_one_is_named() -> None:
    assert choose(None) == choose("") == (lib.ML_OK, list(SIMD)[-1], "")
    for level in SIMD:
        assert choose(level) == (lib.ML_OK, level, "")


absent = [name for name in NAMES if name not in SIMD]


@pytest.mark.parametrize("mask", ["avx9", "AVX2", "scalar ", "sse2,avx2", "x" * 1000, *absent])
def test_a_level_that_is_not_there_is_refused_with_those_that_are(mask: str) -> None:
    status, level, text = choose(mask)
    assert status != lib.ML_OK
    assert level == ""
    assert f"'{mask[:32]}'" in text
    assert text.endswith(": " + ", ".join(SIMD))


def variants() -> set[tuple[str, str]]:
    """(primitive, level) of each variant that exists: what a file of the level defines, or a file of portable/ for each
    level that has words."""
    own = set()
    for path in (path for level in NAMES for path in (SOURCES / level).glob("*.c") if path.stem != "level"):
        level = path.parent.name
        defined = set(re.findall(rf"^void ml_(\w+)_{level}\(", path.read_text(), re.MULTILINE))
        assert path.stem in defined, path
        own |= {(name, level) for name in defined}
    words = [path.stem for path in (SOURCES / "words").glob("*.h")]
    return own | {(path.stem, level) for path in (SOURCES / "portable").glob("*.c") for level in words}


@pytest.mark.parametrize("level", NAMES)
def test_each_variant_is_listed(level: str) -> None:
    """Also where this machine cannot run the level: its file level.c lists what it has."""
    rows = re.findall(r"^(\w+)\((\w+),", (SOURCES / "primitives.def").read_text(), re.MULTILINE)
    assert {name for kind, name in rows if kind == "IN_WORDS"} == {path.stem for path in SOURCES.glob("portable/*.c")}
    text = (SOURCES / level / "level.c").read_text()
    listed = re.findall(r"\bOWN\((\w+)\),", text.replace("OWN(name)", ""))
    if '"simd/primitives.def"' in text:
        listed += [name for _, name in rows]
    if '"simd/loops.h"' in text:
        listed += [name for kind, name in rows if kind == "IN_WORDS"]
    assert sorted(listed) == sorted(name for name, of in variants() if of == level)


def test_each_folder_is_known() -> None:
    folders = {path.name for path in SOURCES.iterdir() if path.is_dir()}
    assert folders == {*NAMES, "portable", "tiles", "words"}
    assert {path.stem for path in (SOURCES / "words").glob("*.h")} <= set(NAMES)


def test_each_variant_serves_its_level() -> None:
    """A level without a variant of its own has that of the level below."""
    stated = variants()
    assert {name for name, level in stated if level == "scalar"} == set(PRIMITIVES)
    for name in PRIMITIVES:
        below = None
        for level, simd in SIMD.items():
            variant = getattr(simd, name)
            assert (variant != below) == ((name, level) in stated), f"{name} at {level}"
            below = variant


def test_each_primitive_is_tested() -> None:
    apart = {"test_ends_of_images", "test_levels", "test_walk", "test_walk_on_arm"}
    assert {path.stem for path in HERE.glob("test_*.py")} == apart | {f"test_{name}" for name in PRIMITIVES}


def test_a_read_past_a_guarded_array_ends_the_process() -> None:
    """The other tests here rely on this."""
    program = "import ctypes, numpy as np, guarded\na = guarded.{0}(np.zeros(3, np.float32))\nctypes.string_at(a.ctypes.data + {1}, 1)"
    quiet = {f"{name}_OPTIONS": "detect_leaks=0:handle_segv=0" for name in ("ASAN", "UBSAN")}  # this fault is meant
    for place, offset, dies in [
        ("at_end", 12, True),
        ("at_end", 11, False),
        ("at_start", -1, True),
        ("at_start", 0, False),
    ]:
        command = [sys.executable, "-c", program.format(place, offset)]
        ran = subprocess.run(command, env={**os.environ, **quiet, "PYTHONPATH": str(HERE)}, check=False)
        assert (ran.returncode != 0) == dies, f"{place} {offset}"
