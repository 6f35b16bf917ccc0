"""`minilite batch` on Parquet: columns of arrays and of images, what is written, and cells that cannot be read."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
from support.media import png

from minilite.cli import main
from minilite.format.builder import ModelBuilder

pyarrow = pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
parquet = pytest.importorskip("pyarrow.parquet")
Array = Any


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are not wrapped."""
    monkeypatch.setenv("COLUMNS", "1000")


def negating(path: pathlib.Path, shape: tuple[int, ...]) -> str:
    """-x of an input `image`."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.output(graph.node("NEG", [graph.input("image", shape)], out=("y", shape)))
    path.write_bytes(builder.build())
    return str(path)


def written(table: Any, folder: pathlib.Path, *arguments: Any, rows: int = 3) -> int:
    """Runs the command on a table whose groups have `rows` rows; returns the exit status."""
    parquet.write_table(table, folder / "in.parquet", row_group_size=rows)
    given = [folder / "in.parquet", "--format", "parquet", "--out", folder / "out", *arguments]
    return main(["batch", negating(folder / "m.tflite", (1, 4, 5, 3)), *map(str, given)])


def photos(count: int) -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (4, 5, 3)).astype(np.uint8) for _ in range(count)]


def test_arrays(tmp_path: pathlib.Path) -> None:
    """One list per cell, whatever the shape; groups of 7 rows, parts of 20."""
    images = np.random.default_rng(0).random((50, 60), np.float32)
    table = pyarrow.table({"image": list(images), "id": list(range(50))})
    assert written(table, tmp_path, "--keep", "id", "--part", 20, rows=7) == 0
    found = parquet.read_table(tmp_path / "out")
    assert found.column_names == ["file", "row", "id", "y"]
    assert found["row"].to_pylist() == found["id"].to_pylist() == list(range(50))
    assert np.array_equal(np.array(found["y"].to_pylist(), np.float32), -images.reshape(50, 4, 5, 3))


@pytest.mark.parametrize("nested", [False, True], ids=["bytes", "struct"])
def test_images_in_cells(tmp_path: pathlib.Path, nested: bool) -> None:
    """Cells with the bytes of image files, alone or beside their paths, give the results of the files themselves."""
    images = photos(7)
    files = [png(image) for image in images]
    cells = [{"bytes": file, "path": f"{n}.png"} for n, file in enumerate(files)] if nested else files
    assert written(pyarrow.table({"image": cells, "label": list("abcdefg")}), tmp_path, "--keep", "label") == 0
    found = parquet.read_table(tmp_path / "out")
    assert found["label"].to_pylist() == list("abcdefg")
    y = np.array(found["y"].to_pylist(), np.float32)
    assert np.array_equal(y, -(np.array(images, np.float32) / np.float32(255)))
    (tmp_path / "files").mkdir()
    for number, file in enumerate(files):
        (tmp_path / "files" / f"{number}.png").write_bytes(file)
    given = [str(tmp_path / "m.tflite"), str(tmp_path / "files"), "--out", str(tmp_path / "o.npz")]
    assert main(["batch", *given]) == 0
    assert np.array_equal(np.load(tmp_path / "o.npz")["y"], y)


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (b"\x89PNG\r\n\x1a\n no image", "in.parquet, row 4"),
        (b"", "in.parquet, row 4"),
        (None, "in.parquet, row 4"),
        (png(np.zeros((4, 5, 3), np.uint8))[:-30], "in.parquet, row 4"),
    ],
    ids=["no image", "empty", "missing", "cut off"],
)
@pytest.mark.parametrize("nested", [False, True], ids=["bytes", "struct"])
def test_bad_cells_are_named(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], nested: bool, cell: Any, words: str
) -> None:
    """The error names the file and the row. With --on-error skip it is the error of that row, and the other rows are
    written."""
    cells: list[Any] = [png(image) for image in photos(6)]
    cells[4] = cell
    if nested:
        cells = [{"bytes": each, "path": ""} for each in cells]
    table = pyarrow.table({"image": cells})
    assert written(table, tmp_path, "--part", 4) == 1
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert words in printed
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["_job.json", "part-00000.parquet"]
    given = [str(tmp_path / "m.tflite"), str(tmp_path / "in.parquet"), "--out", str(tmp_path / "skip.parquet")]
    assert main(["batch", *given, "--on-error", "skip"]) == 0
    errors = parquet.read_table(tmp_path / "skip.parquet")["error"].to_pylist()
    assert [error is not None for error in errors] == [False] * 4 + [True, False]
    assert words in errors[4]
