"""Builds minilite as it was at some commit, in a folder of its own; the working tree counts as a commit."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORKING_TREE = "WORKING_TREE"
"""Stands for what is checked out, changes and new files included."""
CORE = ("csrc", "CMakeLists.txt", "pyproject.toml")
"""Files and folders of which the compiled part of the package is made."""


def git(*arguments: str, root: Path = ROOT) -> str:
    """Runs git; returns the text that it prints. Raises: subprocess.CalledProcessError."""
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def versions(root: Path = ROOT) -> dict[str, str]:
    """Commit by version, of versions.txt."""
    text = (root / "asv_bench" / "versions.txt").read_text()
    lines = (line.split("#")[0].split() for line in text.splitlines())
    return {line[0]: line[1] for line in lines if line}


def commit_of(name: str, root: Path = ROOT) -> str:
    """The full hash of a commit by any of its names, WORKING_TREE unchanged. Raises: SystemExit for an unknown name."""
    if name == WORKING_TREE:
        return name
    try:
        return git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", root=root)
    except subprocess.CalledProcessError:
        sys.exit(f"{name}: no such commit")


def named(name: str) -> str:
    """The full hash of a version's commit, or of a commit by any of its names. Raises: SystemExit for unknown ones."""
    return commit_of(versions().get(name, name))


def export(commit: str, folder: Path, root: Path = ROOT) -> None:
    """Writes the files of a commit into a folder, which it makes. Raises: subprocess.CalledProcessError."""
    folder.mkdir(parents=True)
    names = ""
    if commit == WORKING_TREE:
        listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", root=root).split("\0")
        names = "\0".join(name for name in listed if name and (root / name).is_file())
        command = ["tar", "-C", str(root), "-c", "--null", "-T", "-"]
    else:
        command = ["git", "-C", str(root), "archive", "--format=tar", commit]
    packed = subprocess.run(command, input=names.encode(), capture_output=True, check=True).stdout
    subprocess.run(["tar", "-C", str(folder), "-x"], input=packed, check=True)


def install(source: Path, target: Path, *, symbols: bool = False) -> None:
    """Builds the package of a source tree into `target`, with the build tools at hand if they are installed.

    `symbols` keeps the names of functions and source files, for profilers.

    Raises: subprocess.CalledProcessError, whose message went to stderr.
    """
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check"]
    if all(importlib.util.find_spec(name) for name in ("scikit_build_core", "cffi", "ninja", "cmake")):
        command.append("--no-build-isolation")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    if symbols:
        command += ["--config-settings=install.strip=false", "--config-settings=cmake.define.CMAKE_C_FLAGS=-g"]
    built = [*command, f"--config-settings=build-dir={source / 'built'}", "--target", str(target), str(source)]
    subprocess.run(built, check=True, env={**os.environ, "PATH": path})


def same_core(one: str, other: str, root: Path = ROOT) -> bool:
    """True if two commits make the same compiled part of the package. Raises: subprocess.CalledProcessError."""
    if one == other:
        return True
    commits = [name for name in (one, other) if name != WORKING_TREE]
    changed = git("diff", "--name-only", *commits, "--", *CORE, root=root)
    new_files = git("ls-files", "--others", "--exclude-standard", "--", *CORE, root=root)
    return not changed and (len(commits) == 2 or not new_files)


def assemble(source: Path, target: Path, wheel: Path) -> None:
    """Makes the package of a source tree in `target` as `install` does, but takes its compiled part from a wheel."""
    compiled = re.compile(r"minilite/(_core\.|include/)|(?!minilite/)")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(target, filter(compiled.match, packed.namelist()))
    shutil.copytree(source / "minilite", target / "minilite", dirs_exist_ok=True)


def environment(target: Path) -> dict[str, str]:
    """Variables under which `python -S` imports the package from `target` and all else from where this Python has
    it."""
    paths = [str(target), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    paths += [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]  # those of .pth files
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "PYTHONDONTWRITEBYTECODE": "1"}
