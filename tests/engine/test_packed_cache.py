"""Packed weights kept in files: packed once, equal to those of no file, shared. Whatever is wrong with a file, a
model loads."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import apart, in_subprocess
from support.halves import any_halves
from support.packed import kept, outputs, ready, same, sizes
from support.system import needs_system

import minilite
from minilite import Interpreter
from minilite._native import packed
from minilite._native.kernels import level_names
from minilite.cli import main
from minilite.engine import packed_cache
from minilite.engine.engine import engine_of
from minilite.errors import InputError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.litert.compiled_model import CompiledModel, Environment

DIGITS = Path(minilite.__file__).parent / "data" / "digits.tflite"


needs_locks = pytest.mark.skipif(
    importlib.util.find_spec("fcntl") is None, reason="this system has no locks on folders"
)


@pytest.fixture(autouse=True)
def _without_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINILITE_CACHE_DIR", raising=False)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model with a convolution and a product."""
    return Path(shutil.copy(DIGITS, tmp_path / "model.tflite"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept"


# Kept -----------------------------------------------------------------------------------------------------------------


def test_weights_are_packed_once(model: Path, folder: Path) -> None:
    plain = ready(model, "")
    first, second = ready(model, folder), ready(model, folder)
    bytes_of_all = plain.usage.packed_bytes
    assert bytes_of_all > 0
    assert sizes(plain) == sizes(first) == (bytes_of_all, 0)
    assert sizes(second) == (0, bytes_of_all)
    assert same(outputs(plain), outputs(first))
    assert same(outputs(plain), outputs(second))
    assert sizes(second.clone()) == (0, 0)  # shares the store, has no plan
    file = kept(folder)
    assert file.name == packed.file_name(str(model))
    assert folder.stat().st_mode & 0o777 == 0o700
    written = file.stat()
    ready(model, folder)
    assert file.stat() == written or file.stat().st_mtime_ns == written.st_mtime_ns  # nobody wrote it again
    packed.check(file.read_bytes(), every_byte=True)


def layers(kind: str) -> bytes:
    """A model of a convolution with weights of a type; those of f16 are widened when it is lowered."""
    rng, builder = np.random.default_rng(1), ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 16, 16, 16))
    filters = any_halves(rng, (16, 3, 3, 16)) if kind == "f16" else rng.normal(size=(16, 3, 3, 16)).astype(np.float32)
    if kind == "f16":
        halves = graph.constant("halves", np.where(np.isfinite(filters), filters, 1).astype(np.float16) / 64)
        weights = graph.node("DEQUANTIZE", [halves], out=("weights", filters.shape))
    else:
        weights = graph.constant("weights", filters)
    y = graph.node(
        "CONV_2D",
        [x, weights, -1],
        out=("y", (1, 16, 16, 16)),
        options={"padding": "SAME", "stride_h": 1, "stride_w": 1},
    )
    graph.output(y)
    return builder.build()


@pytest.mark.parametrize("kind", ["f32", "f16"])
@pytest.mark.parametrize("options", [{}, {"fast_convolutions": True}, {"winograd": False}], ids=str)
def test_each_form_is_kept(kind: str, options: dict[str, Any], tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "made.tflite"
    path.write_bytes(layers(kind))
    wanted = outputs(ready(path, "", **options))
    other = ready(path, folder, fast_convolutions=not options.get("fast_convolutions", False))
    first = ready(path, folder, **options)
    second, third = ready(path, folder, **options), ready(path, folder)
    assert first.usage.packed_bytes > 0
    assert same(outputs(first), wanted)
    assert same(outputs(second), wanted)
    assert sizes(second) == (0, first.usage.packed_bytes)
    assert sizes(other)[1] == 0
    assert same(outputs(third), outputs(ready(path, "")))


def test_levels_lie_side_by_side(model: Path, folder: Path) -> None:
    levels = [*dict.fromkeys([level_names()[0], level_names()[-1]])]
    wanted = {level: outputs(ready(model, "", level=level)) for level in levels}
    for level in levels:
        assert sizes(ready(model, folder, level=level))[1] == 0
    for level in levels:
        interpreter = ready(model, folder, level=level)
        assert sizes(interpreter)[0] == 0
        assert same(outputs(interpreter), wanted[level])


def test_sizes_that_need_another_layout_are_added(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "made.tflite"
    path.write_bytes(layers("f32"))

    def grown() -> list[tuple[int, int]]:
        interpreter, found = Interpreter(str(path), cache_dir=folder, fast_convolutions=True), []
        for side in (2, 64, 2):
            interpreter.resize_tensor_input(0, (1, side, side, 16))
            interpreter.allocate_tensors()
            found.append(sizes(interpreter))
        return found

    small, both, _ = (packed_here for packed_here, _ in grown())
    assert 0 < small < both
    assert grown() == [(0, small), (0, both), (0, both)]


def test_weights_that_runs_pack(tmp_path: Path, folder: Path) -> None:
    """The size of the convolution's input is a value."""
    path, builder = tmp_path / "made.tflite", ModelBuilder()
    graph = builder.subgraph()
    x, size = graph.input("x", (1, 4, 4, 16)), graph.input("size", (2,), TensorType.INT32)
    resized = graph.node("RESIZE_NEAREST_NEIGHBOR", [x, size], out=("resized", None))
    weights = graph.constant("w", np.random.default_rng(2).normal(size=(32, 3, 3, 16)).astype(np.float32))
    options = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    graph.output(graph.node("CONV_2D", [resized, weights, -1], out=("y", None), options=options))
    path.write_bytes(builder.build())

    def ran(where: Path | str) -> tuple[Interpreter, Any]:
        interpreter = ready(path, where)
        given = {"x": np.ones((1, 4, 4, 16), np.float32), "size": np.array([8, 8], np.int32)}
        return interpreter, interpreter.run(given)["y"]

    _, wanted = ran("")
    first = ready(path, folder)
    assert first.usage.packed_bytes == 0
    assert not list(folder.iterdir())
    first, made = ran(folder)
    assert first.usage.packed_bytes > 0
    second, taken = ran(folder)
    assert sizes(second) == (0, first.usage.packed_bytes)
    assert same([made, taken], [wanted, wanted])


def test_two_that_start_together_keep_what_both_packed(model: Path, folder: Path) -> None:
    """Both begin without a file; the second one adds to the first one's."""
    levels = level_names()
    if len(levels) < 2:
        pytest.skip("this machine has one level")
    one, other = (Interpreter(str(model), cache_dir=folder, level=level) for level in (levels[0], levels[-1]))
    one.allocate_tensors()
    other.allocate_tensors()
    assert sizes(one)[1] == sizes(other)[1] == 0
    for level in (levels[0], levels[-1]):
        assert sizes(ready(model, folder, level=level))[0] == 0


def test_what_another_process_wrote_meanwhile_is_not_written_again(model: Path, folder: Path) -> None:
    one, other = (Interpreter(str(model), cache_dir=folder) for _ in range(2))
    one.allocate_tensors()
    inode = kept(folder).stat().st_ino
    other.allocate_tensors()
    assert sizes(other)[0] > 0
    assert kept(folder).stat().st_ino == inode


def crowd_member(model: str, folder: str, start: str, answer: str) -> None:
    """Waits for the others, then loads and runs."""
    while not Path(start).exists():
        pass
    np.savez(answer, *outputs(ready(Path(model), folder)))


def test_processes_at_once_all_win(model: Path, folder: Path, tmp_path: Path) -> None:
    start, wanted = tmp_path / "start", outputs(ready(model, ""))
    code = "from engine.test_packed_cache import crowd_member; import sys; crowd_member(*sys.argv[1:])"
    path = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    answers = [tmp_path / f"{i}.npz" for i in range(4)]
    members = [
        subprocess.Popen(
            [sys.executable, "-c", code, model, folder, start, answer], env={**os.environ, "PYTHONPATH": path}
        )
        for answer in answers
    ]
    start.touch()
    assert [member.wait(300) for member in members] == [0] * 4
    for answer in answers:
        with np.load(answer) as found:
            assert same([found[name] for name in found.files], wanted)
    packed.check(kept(folder).read_bytes(), every_byte=True)  # and no part of a file is left
    assert sizes(ready(model, folder))[0] == 0


@needs_system
def test_those_that_begin_together_take_turns(model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one waits for its turn, another one writes what both have packed."""
    turn, inodes = packed_cache._turn, []

    def later(where: str) -> int | None:
        apart(ready_in, str(model), str(folder))
        inodes.append(kept(folder).stat().st_ino)
        return turn(where)

    monkeypatch.setattr(packed_cache, "_turn", later)
    interpreter = ready(model, folder)
    assert [kept(folder).stat().st_ino] == inodes
    assert same(outputs(interpreter), outputs(ready(model, "")))


def ready_in(model: str, folder: str) -> None:
    ready(Path(model), folder)


@needs_locks
def test_a_turn_ends_with_its_descriptor_or_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held, slept = [packed_cache._turn(str(tmp_path))], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        os.close(held.pop())

    monkeypatch.setattr(packed_cache.time, "sleep", sleep)
    second = packed_cache._turn(str(tmp_path))
    assert len(slept) == 1
    assert second is not None
    monkeypatch.setattr(packed_cache, "_LONGEST_TURN", 0.0)
    third = packed_cache._turn(str(tmp_path))  # who holds it may have been stopped for good
    assert third not in (None, second)
    assert packed_cache._turn(str(tmp_path / "missing")) is None
    os.close(second)
    os.close(third)


@needs_locks
def test_a_wait_for_a_turn_can_be_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(packed_cache.time, "sleep", interrupted)
    held = packed_cache._turn(str(tmp_path))
    fds = Path("/proc/self/fd")
    before = len([*fds.iterdir()]) if fds.exists() else 0
    with pytest.raises(KeyboardInterrupt):
        packed_cache._turn(str(tmp_path))
    assert (len([*fds.iterdir()]) if before else 0) == before
    assert held is not None
    os.close(held)


def test_weights_outlive_the_file(model: Path, folder: Path) -> None:
    ready(model, folder)
    interpreter = ready(model, folder)
    wanted = outputs(interpreter)
    shutil.rmtree(folder)
    assert same(outputs(interpreter), wanted)
    interpreter.resize_tensor_input(0, (1, 40, 40, 1))
    interpreter.allocate_tensors()
    interpreter.invoke()


# Not kept -------------------------------------------------------------------------------------------------------------


def test_models_without_a_file_keep_nothing(model: Path, folder: Path) -> None:
    content = model.read_bytes()
    for given in ({"model_content": content}, {"model_path": minilite.load_model(content)}):
        interpreter = Interpreter(**given, cache_dir=folder)
        interpreter.allocate_tensors()
        assert sizes(interpreter)[0] > 0
    assert not folder.exists()


def test_variable_and_option(model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINILITE_CACHE_DIR", str(folder))
    assert sizes(ready(model, ""))[1] == 0
    assert not folder.exists()
    ready(model, None)
    assert sizes(ready(model, None))[0] == 0
    other = folder.with_name("other")
    assert sizes(ready(model, other))[1] == 0
    assert kept(other).name == kept(folder).name


@pytest.mark.parametrize("load", ["map", "copy"])
def test_ways_of_loading(load: Any, model: Path, folder: Path) -> None:
    ready(model, folder, load=load)
    assert sizes(ready(model, folder, load=load))[0] == 0


def test_models_in_bundles(model: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path leads into the bundle."""
    bundle = model.with_name("two.task")
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.write(model, "digits.tflite")
        archive.writestr("other.tflite", layers("f32"))
    sections = [Path(f"{bundle}:{name}") for name in ("digits.tflite", "other.tflite")]
    for section in sections:
        assert sizes(ready(section, folder))[1] == 0
    for section in sections:
        interpreter = ready(section, folder)
        assert sizes(interpreter)[0] == 0
        assert same(outputs(interpreter), outputs(ready(section, "")))
    assert main(["cache", "--dir", str(folder), "--verify"]) == 0
    assert [line.split()[-2:] for line in capsys.readouterr().out.splitlines()[2:]] == [
        [section.name, "serves"] for section in sorted(sections, key=lambda s: packed.file_name(str(s)))
    ]
    os.utime(bundle, ns=(1, 1))
    assert sizes(ready(sections[0], folder))[1] == 0


def test_compiled_models_keep_theirs(model: Path, folder: Path) -> None:
    environment = Environment.create(compiler_cache_dir=str(folder))
    for _ in range(2):
        compiled = CompiledModel.from_file(str(model), environment=environment)
        compiled.run_by_index(0, compiled.create_input_buffers(0), compiled.create_output_buffers(0))
    assert sizes(ready(model, folder))[0] == 0


# Another model --------------------------------------------------------------------------------------------------------


def changed_time(path: Path) -> None:
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))


def changed_weights(path: Path) -> None:
    """The same size, time and structure; one weight differs."""
    data, time = bytearray(path.read_bytes()), path.stat().st_mtime_ns
    tensors = minilite.load_model(bytes(data)).subgraphs[0].tensors
    values = next(t.data for t in tensors if t.data is not None and t.data.size > 100 and t.data.dtype == np.float32)
    at = bytes(data).find(values.tobytes())
    data[at : at + 4] = np.float32(values.ravel()[0] + 1).tobytes()
    path.write_bytes(data)
    os.utime(path, ns=(1, time))


@pytest.mark.parametrize("change", [changed_time, changed_weights])
def test_a_changed_model_is_packed_again(change: Any, model: Path, folder: Path) -> None:
    before = ready(model, folder).usage.packed_bytes
    change(model)
    interpreter, wanted = ready(model, folder), outputs(ready(model, ""))
    assert sizes(interpreter)[0] > 0
    assert same(outputs(interpreter), wanted)
    again = ready(model, folder)
    assert sizes(again) == (0, before)
    assert same(outputs(again), wanted)


def test_a_larger_model_at_the_same_path(model: Path, folder: Path) -> None:
    ready(model, folder)
    time = model.stat().st_mtime_ns
    model.write_bytes(model.read_bytes() + bytes(64))
    os.utime(model, ns=(1, time))
    assert sizes(ready(model, folder))[1] == 0


# Folders --------------------------------------------------------------------------------------------------------------


def test_folders_that_are_refused(model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in (model, model / "below"):
        with pytest.raises(
            InputError, match=r"^cache_dir is '.*', which is not a folder: packed weights are kept in one$"
        ):
            ready(model, wrong)
    with pytest.raises(InputError, match="null"):
        ready(model, "a\0b")
    with pytest.raises(InputError, match="cache_dir is of type int, must be the path of a folder"):
        ready(model, 3)  # type: ignore[arg-type]
    folder.mkdir()
    for mode in (0o770, 0o707, 0o1777):
        folder.chmod(mode)
        with pytest.raises(
            InputError,
            match=rf"of mode {mode:04o}, in which others may write: must be {mode & 0o755 | mode & 0o7000:04o}, or 0700",
        ):
            ready(model, folder)
    folder.chmod(0o755)
    ready(model, folder)
    owner = folder.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(InputError, match=f"belongs to user {owner}: must belong to user {owner + 1}"):
        ready(model, folder)
    monkeypatch.setenv("MINILITE_CACHE_DIR", str(folder))
    with pytest.raises(InputError, match="MINILITE_CACHE_DIR is "):
        ready(model, None)


def test_a_model_has_one_folder(model: Path, folder: Path) -> None:
    loaded = minilite.load_model(model)
    first = Interpreter(loaded, cache_dir=folder)
    other = folder.with_name("other")
    with pytest.raises(InputError, match=r"cache_dir is '.*other', but '.*kept' has this Model's packed weights"):
        Interpreter(loaded, cache_dir=other)
    second = Interpreter(loaded, cache_dir=folder)
    for interpreter in (first, second, Interpreter(loaded)):
        interpreter.allocate_tensors()
    assert len(list(folder.iterdir())) == 1


def test_a_folder_that_cannot_be_made(model: Path) -> None:
    interpreter = ready(model, "/proc/1/none/such")
    assert sizes(interpreter)[0] > 0
    outputs(interpreter)


def test_a_folder_that_cannot_be_written(model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files there are read; writing one is tried once."""
    ready(model, folder, level=level_names()[0])
    tried = []

    def no_room(*_: Any, **__: Any) -> None:
        tried.append(1)
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("minilite.writing.write_whole", no_room)
    assert sizes(ready(model, folder, level=level_names()[0]))[0] == 0
    assert not tried
    interpreter = Interpreter(str(model), cache_dir=folder, level=level_names()[-1])
    for side in (16, 24, 32):
        interpreter.resize_tensor_input(0, (1, side, side, 1))
        interpreter.allocate_tensors()
    outputs(interpreter)
    assert len(tried) == (len(level_names()) > 1)


def on_a_full_disk(model: str, folder: str) -> None:
    import resource
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    wanted = outputs(ready(Path(model), ""))
    resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
    interpreter = ready(Path(model), folder)
    assert sizes(interpreter)[0] > 20000
    assert same(outputs(interpreter), wanted)
    assert not list(Path(folder).iterdir())


@needs_system
def test_a_full_disk(model: Path, folder: Path) -> None:
    apart(on_a_full_disk, str(model), str(folder))


def test_an_interrupted_write_leaves_nothing(model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = packed.pieces

    def interrupted(*given: Any) -> Any:
        for number, piece in enumerate(pieces(*given)):
            if number == 3:
                raise KeyboardInterrupt
            yield piece

    monkeypatch.setattr(packed, "pieces", interrupted)
    interpreter = Interpreter(str(model), cache_dir=folder)
    with pytest.raises(KeyboardInterrupt):
        interpreter.allocate_tensors()
    assert not list(folder.iterdir())
    assert same(outputs(interpreter), outputs(ready(model, "")))


def test_other_things_of_that_name(model: Path, folder: Path, tmp_path: Path) -> None:
    folder.mkdir()
    path = folder / packed.file_name(str(model))
    path.mkdir()
    assert sizes(ready(model, folder))[0] > 0
    path.rmdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(path)  # nobody writes to it: who opened it to read would wait
        assert sizes(ready(model, folder))[0] > 0
        path.unlink()
    assert sizes(ready(model, folder))[1] == 0
    assert sizes(ready(model, folder))[0] == 0


# Below ----------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes cannot be mapped, and there are none")
def test_what_cannot_be_mapped_is_read(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "made.tflite"
    path.write_bytes(layers("f32"))
    ready(path, folder, level="scalar")
    data = kept(folder).read_bytes()
    assert len(data) < 65536  # which a pipe holds
    end, start = os.pipe()
    os.write(start, data)
    os.close(start)
    loaded = minilite.load_model(path)
    assert loaded.file is not None
    assert loaded.file.origin is not None
    packed.keep(loaded.file.store, loaded.file, loaded.file.origin)
    packed.take(loaded.file.store, end, len(data))
    os.close(end)
    interpreter = Interpreter(loaded, level="scalar")
    interpreter.allocate_tensors()
    assert sizes(interpreter)[0] == 0
    assert same(outputs(interpreter), outputs(ready(path, "", level="scalar")))


def test_without_a_folder_nothing_is_imported(model: Path) -> None:
    code = f"""
import sys
from minilite import Interpreter
interpreter = Interpreter({str(model)!r})
interpreter.allocate_tensors()
assert "minilite.engine.packed_cache" not in sys.modules
interpreter = Interpreter({str(model)!r}, cache_dir={str(model.with_name("kept"))!r})
interpreter.allocate_tensors()
"""
    status, output = in_subprocess(code)
    assert status == 0, output
    read = in_subprocess(f"{code}assert 'pathlib' not in sys.modules and 'minilite.writing' not in sys.modules")
    assert read.status == 0, read.output  # who finds a file does not wait for what writes one


def test_interpreters_of_a_model_share_what_was_taken(model: Path, folder: Path) -> None:
    ready(model, folder)
    loaded = minilite.load_model(model)
    one, other = Interpreter(loaded, cache_dir=folder), Interpreter(loaded, cache_dir=folder)
    for interpreter in (one, other):
        interpreter.allocate_tensors()
    assert engine_of(one).program().store is engine_of(other).program().store
    assert sizes(one) == sizes(other)
    assert sizes(one)[0] == 0
