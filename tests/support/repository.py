"""Runs git in a folder of a test's own, whatever the user's configuration says."""

from __future__ import annotations

import subprocess
from pathlib import Path

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str) -> str:
    """Runs git in the folder; returns the text that it prints. Raises: subprocess.CalledProcessError."""
    command = ["git", "-C", str(folder), *IDENTITY, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(folder: Path, path: str, text: str) -> None:
    """Writes a file, and commits all that has changed."""
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--message", path)
