"""Asks the package tflite-micro for the arenas of models: what its allocator prints as head and as persistent part.

python -m tools.measure_tflm FOLDER... > tests/memory/tflm_measured.txt
"""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ARENA = 1 << 29
ASK = """
import sys
from tflite_micro import runtime
for path in sys.argv[2:]:
    with open(path, "rb") as file:
        model = file.read()
    for out in (sys.stdout, sys.stderr):
        print("MODEL", path, file=out, flush=True)
    try:
        runtime.Interpreter.from_bytes(model, arena_size=int(sys.argv[1])).print_allocations()
    except Exception:
        pass
"""
"""Models are named on both streams: TFLM prints on one of them, Python on the other."""
_PRINTED = re.compile(r"MODEL (.*)|\[RecordingMicroAllocator\] Arena allocation (head|tail) (\d+) bytes")


def measured(paths: Iterable[Path], arena: int = ARENA) -> Iterator[tuple[Path, int, int]]:
    """Yields the head and the persistent part of each model that TFLM runs. It may crash at a model; the next ones are
    asked for in another process."""
    left = [str(path) for path in paths]
    while left:
        command = [sys.executable, "-c", ASK, str(arena), *left]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        found: dict[str, dict[str, int]] = {}
        for stream in (done.stdout, done.stderr):
            path = ""
            for name, part, size in _PRINTED.findall(stream):
                path = name or path
                found.setdefault(path, {}).update({part: int(size)} if part else {})
        for path, parts in found.items():
            if len(parts) == 2:
                yield Path(path), parts["head"], parts["tail"]
        begun = [path for path in left if path in found]
        left = left[left.index(begun[-1]) + 1 :] if begun else []


def main() -> None:
    """Prints a line for each model in the folders."""
    paths = sorted(path for folder in sys.argv[1:] for path in Path(folder).glob("*.tflite"))
    print(
        f"# tflite-micro {importlib.metadata.version('tflite-micro')}, x86-64: model, head, persistent part, in bytes."
    )
    print("# python -m tools.measure_tflm FOLDER... prints these lines.")
    for path, head, persistent in measured(paths):
        print(path.stem, head, persistent)


if __name__ == "__main__":
    main()
