"""Prints a hash of the machine code of each level of instructions, and with `--files` of each of its files.

usage: python -m asv_bench.object_code [--files] [BUILD]

BUILD is a folder of a build, the working tree's newest if it is left out. Two builds whose hashes are equal run the
same instructions at that level: so a change that is meant for one level is seen to leave the others as they were, also
those that this machine cannot run. Compared is what objdump disassembles, with the names of what it refers to.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
from pathlib import Path

from asv_bench import builds


def code(path: Path) -> bytes:
    """An object's instructions and references, without its file's name. Raises: subprocess.CalledProcessError."""
    command = ["objdump", "-dr", "--no-show-raw-insn", str(path)]
    lines = subprocess.run(command, capture_output=True, check=True).stdout.splitlines()
    return b"\n".join(line for line in lines if b"file format" not in line)


def newest() -> Path:
    """The folder of the working tree's newest build. Raises: SystemExit where there is none."""
    found = sorted((builds.ROOT / "build").glob("*/csrc/simd"), key=lambda folder: folder.stat().st_mtime)
    if not found:
        message = "the working tree was not built here: pip install -e ."
        raise SystemExit(message)
    return found[-1].parent.parent


def hashes(build: Path) -> dict[str, dict[str, str]]:
    """By level, by file."""
    found: dict[str, dict[str, str]] = {}
    for folder in sorted((build / "csrc" / "simd" / "CMakeFiles").glob("minilite_*.dir")):
        objects = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*.o"))}
        level = folder.name.removeprefix("minilite_").removesuffix(".dir")
        found[level] = {name: hashlib.sha256(code(path)).hexdigest()[:16] for name, path in objects.items()}
    return found


def main() -> None:
    """Prints them."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=Path, metavar="BUILD")
    parser.add_argument("--files", action="store_true", help="each file by itself")
    args = parser.parse_args()
    for level, files in hashes(args.build or newest()).items():
        print(hashlib.sha256(repr(files).encode()).hexdigest()[:16], level)
        for name, value in files.items() if args.files else ():
            print(f"  {value} {name}")


if __name__ == "__main__":
    main()
