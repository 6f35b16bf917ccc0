"""Refusals of the build, in one sentence each: big-endian machines, and Microsoft's compiler."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def test_a_big_endian_machine() -> None:
    """The one error that its compiler reports."""
    command = [tool("s390x-linux-gnu-gcc"), "-std=gnu11", f"-I{ROOT / 'csrc'}", "-fsyntax-only"]
    ended = subprocess.run(
        [*command, str(ROOT / "csrc/format/flatbuffer.c")], capture_output=True, text=True, check=False
    )
    errors = [line.partition("error: ")[2] for line in ended.stderr.splitlines() if "error: " in line]
    assert ended.returncode != 0
    assert errors == ['#error "files are little-endian and are read as they lie: big-endian hosts are not supported"']


@pytest.mark.parametrize("compiler", ["MSVC", "Clang"])
def test_the_compiler_of_msvc(compiler: str, tmp_path: pathlib.Path) -> None:
    """CMake gets the name of this compiler. Clang goes on, and misses Python."""
    (tmp_path / "toolchain.cmake").write_text(
        f"set(CMAKE_C_COMPILER_ID {compiler})\nset(CMAKE_C_COMPILER_ID_RUN TRUE)\nset(CMAKE_C_COMPILER_FORCED TRUE)\n"
        f"set(CMAKE_C_COMPILER {tool('cc')})\nset(CMAKE_DISABLE_FIND_PACKAGE_Python TRUE)\n"
    )
    needed = re.search(r"VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
    version = re.search(r"version ([\d.]+)", subprocess.check_output([tool("cmake"), "--version"], text=True))
    assert needed is not None
    assert version is not None
    if [*map(int, version[1].split("."))] < [*map(int, needed[1].split("."))]:
        pytest.skip(f"cmake is {version[1]}, the build needs {needed[1]}")
    options = [f"-DCMAKE_TOOLCHAIN_FILE={tmp_path / 'toolchain.cmake'}", "-B", str(tmp_path / "build")]
    ended = subprocess.run(
        [tool("cmake"), "-S", str(ROOT), *options], capture_output=True, text=True, check=False, timeout=120
    )
    assert ended.returncode != 0
    printed = " ".join(ended.stderr.split())
    refused = "minilite is written in GNU C, which cl does not compile: name clang-cl or gcc of MinGW in CC"
    assert (refused in printed) is (compiler == "MSVC"), printed
