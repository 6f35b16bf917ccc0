"""Subjects of commits: .ci/run warns of those that are long, join two changes, or begin with a name and a colon."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess

import pytest

LIBRARY = pathlib.Path(__file__).resolve().parents[2] / ".ci" / "lib.sh"
GOOD = ["Refuse slices whose nodes keep values", "Say 'a: b' in the README", "R" + "e" * 71]
BAD = ["R" + "e" * 72, "Refuse slices; mend the report", "neon: add up rows of eight bytes"]


@pytest.mark.skipif(
    not (shutil.which("bash") and shutil.which("git") and LIBRARY.exists()), reason="needs bash, git, and .ci"
)
def test_warnings_name_the_bad_subjects(tmp_path: pathlib.Path) -> None:
    (function,) = re.findall(r"^warn_of_subjects\(\) \{\n.*?^\}\n", LIBRARY.read_text(), re.DOTALL | re.MULTILINE)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    for subject in (*GOOD, *BAD):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", subject], check=True)
    script = f"set -euo pipefail\ncopy={tmp_path}\n{function}\nwarn_of_subjects"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    found = [re.sub(r"^warning: .*? characters: [0-9a-f]+ ", "", line) for line in done.stdout.splitlines()]
    assert sorted(found) == sorted(BAD)
