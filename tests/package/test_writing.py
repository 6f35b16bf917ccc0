"""Files that are written whole: beside each other, beside files of others, and over files with a mode of their own."""

from __future__ import annotations

import os
import pathlib
import stat
import threading

import pytest

from minilite import writing


def test_threads_that_write_one_path_all_succeed(tmp_path: pathlib.Path) -> None:
    path, failed = tmp_path / "out.txt", []
    contents = [str(number) * 10_000 for number in range(4)]

    def write(content: str) -> None:
        try:
            for _ in range(25):
                writing.write_whole(path, content)
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert path.read_text() in contents
    assert [each.name for each in tmp_path.iterdir()] == ["out.txt"]


def test_no_file_of_others_is_touched(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary files have names that nobody can guess, and a file that exists already is not opened."""
    others = [tmp_path / name for name in (f".a.txt.{os.getpid()}", ".a.txt", ".a.txt.0")]
    for other in others:
        other.write_text("theirs")
    writing.write_whole(tmp_path / "a.txt", "ours")
    assert [other.read_text() for other in others] == ["theirs"] * 3
    made: list[bytes] = []

    def random(count: int) -> bytes:
        made.append(plain(count))
        return made[-1]

    plain = os.urandom
    monkeypatch.setattr(writing.os, "urandom", random)
    for _ in range(3):
        writing.write_whole(tmp_path / "a.txt", "ours")
    assert len(set(made)) == 3
    assert all(len(each) >= 8 for each in made)


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such modes")
def test_the_mode_stays(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.txt"
    before = os.umask(0o027)
    try:
        writing.write_whole(path, "a")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        for mode in (0o600, 0o666, 0o755):
            path.chmod(mode)
            writing.write_whole(path, "b")
            assert stat.S_IMODE(path.stat().st_mode) == mode
    finally:
        os.umask(before)
