"""Recordings: their file is whole or absent however a recording ends, and the interpreter stays usable."""

from __future__ import annotations

import errno
import itertools
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from built import floats, relu_chain

import minilite
from minilite.engine.engine import engine_of
from minilite.errors import StateError
from minilite.recording.file import read_recording

FOLDER = str(Path(minilite.__file__).with_name("recording"))


def calls(path: Path) -> list[str]:
    return [call.call for call in read_recording(path).calls]


def test_recording_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "r.npz"
    path.write_bytes(b"before")
    interpreter = minilite.Interpreter(model_content=relu_chain())
    with pytest.raises(KeyboardInterrupt), interpreter.recording(path):  # noqa: PT012
        interpreter.run(floats(1, 2, 3, 4))
        assert path.read_bytes() == b"before"
        raise KeyboardInterrupt
    assert [each.name for each in tmp_path.iterdir()] == ["r.npz"]
    assert path.read_bytes() == b"before"
    with interpreter.recording(path):
        with pytest.raises(StateError, match="one at a time"), interpreter.recording(tmp_path / "second.npz"):
            pass
        interpreter.run(floats(1, 2, 3, 4))
    assert [each.name for each in tmp_path.iterdir()] == ["r.npz"]
    assert minilite.replay(path, interpreter.model).agrees
    with pytest.raises(FileNotFoundError), interpreter.recording(tmp_path / "no" / "r.npz"):
        pass


def interrupted(path: Path, after: int) -> bool:
    """Records a run, and interrupts it after that many lines of minilite/recording; returns True if that ended it.
    Lines of __exit__ are left out, because an interrupt between its call and its `try` cannot be caught."""
    lines = itertools.count()

    def trace(frame: Any, event: str, _: Any) -> Any:
        code = frame.f_code
        inside = code.co_filename.startswith(FOLDER) and code.co_name != "__exit__"
        if inside and event == "line" and next(lines) == after:
            raise KeyboardInterrupt
        return trace

    interpreter = minilite.Interpreter(model_content=relu_chain())
    interpreter.allocate_tensors()
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with interpreter.recording(path):
            interpreter.run(floats(1, 2, 3, 4))
    except KeyboardInterrupt:
        return True
    else:
        return False
    finally:
        sys.settrace(before)
        with interpreter.recording(path.with_name("next.npz")):
            interpreter.run(floats(1, 2, 3, 4))


def test_ctrl_c_at_any_line_leaves_nothing_half_written(tmp_path: Path) -> None:
    """Also if Ctrl-C comes between the file's first byte and the first call; the interpreter can record again."""
    path = tmp_path / "r.npz"
    path.write_bytes(b"before")
    ended = 0
    while interrupted(path, ended):
        assert sorted(each.name for each in tmp_path.iterdir()) == ["next.npz", "r.npz"], ended
        if path.read_bytes() != b"before":  # once its calls are written
            assert "invoke" in calls(path)
        ended += 1
    assert ended > 100


def test_a_recording_that_is_begun_twice_goes_on(tmp_path: Path) -> None:
    interpreter = minilite.Interpreter(model_content=relu_chain())
    with interpreter.recording(tmp_path / "r.npz") as recording:
        with pytest.raises(StateError, match="one at a time"), recording:
            pass
        interpreter.run(floats(1, 2, 3, 4))
    assert "invoke" in calls(tmp_path / "r.npz")


def test_names_may_be_as_long_as_the_system_takes(tmp_path: Path) -> None:
    interpreter = minilite.Interpreter(model_content=relu_chain())
    for path in (tmp_path / ("x" * 251 + ".npz"), tmp_path / ("\u5b57" * 80 + ".npz")):
        with interpreter.recording(path):
            interpreter.run(floats(1, 2, 3, 4))
        assert "invoke" in calls(path)


def test_calls_that_end_after_their_recording_go_well(tmp_path: Path) -> None:
    """One thread has begun a call that would be noted, and waits for its turn while another thread ends the
    recording."""
    interpreter = minilite.Interpreter(model_content=relu_chain())
    with interpreter.recording(tmp_path / "r.npz") as recording:
        interpreter.run(floats(1, 2, 3, 4))
        session = engine_of(interpreter).sessions[0]
        late_set, late_invoke = session.set, session.invoke_unchecked
        assert recording in (late_set.func.__self__, late_invoke.func.__self__)  # type: ignore[attr-defined]
    late_set(0, floats(-1, 2, -3, 4))
    late_invoke()
    assert interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).tolist() == [0, 2, 0, 4]
    assert calls(tmp_path / "r.npz").count("invoke") == 1


class FailingWrites:
    """Stands in for a ZIP's members; one write finds no space, all others are made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fails: int) -> None:
        self._plain = zipfile._ZipWriteFile.write  # type: ignore[attr-defined]
        self._left = fails
        monkeypatch.setattr(zipfile._ZipWriteFile, "write", lambda file, piece: self.write(file, piece))  # type: ignore[attr-defined]

    def write(self, file: Any, piece: Any) -> Any:
        self._left -= 1
        if self._left == -1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._plain(file, piece)


@pytest.mark.parametrize("caught", [False, True])
def test_a_recording_with_one_failed_write_replaces_nothing(tmp_path: Path, *, caught: bool) -> None:
    """Each write fails once, and the program ends or goes on after it."""
    path, failed = tmp_path / "r.npz", 0
    interpreter = minilite.Interpreter(model_content=relu_chain())
    interpreter.allocate_tensors()
    while True:
        path.write_bytes(b"before")
        with pytest.MonkeyPatch.context() as monkeypatch:
            FailingWrites(monkeypatch, failed)
            try:
                with interpreter.recording(path):
                    for n in range(2):
                        try:
                            interpreter.run(floats(n, 2, 3, 4))
                        except OSError:
                            if not caught:
                                raise
            except OSError:
                assert path.read_bytes() == b"before"
                failed += 1
                continue
        assert minilite.replay(path, interpreter.model).agrees
        break
    assert failed > 4
    assert [each.name for each in tmp_path.iterdir()] == ["r.npz"]
