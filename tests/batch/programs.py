"""The programs of docs/engines.md, run as a reader would."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = re.compile(r"```py\n(.*?)^```\n\n```\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def check_program(engine: str, folder: pathlib.Path) -> None:
    """Runs the program below the heading of an engine, in a folder with its model: it prints what the page shows.

    Workers of engines import from the folder they run in: in the checkout's root they might find a minilite that was
    not built.
    """
    page = (ROOT / "docs" / "engines.md").read_text()
    (section,) = (part for part in page.split("\n## ") if part.startswith(f"{engine}\n"))
    found = PROGRAM.search(section)
    assert found, f"no program below '{engine}'"
    path = folder / "program.py"
    path.write_text(found[1])
    model = pathlib.Path("minilite", "data", "digits.tflite")
    (folder / model).parent.mkdir(parents=True)
    shutil.copy(ROOT / model, folder / model)
    command = [sys.executable, str(path)]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout == found[2]
