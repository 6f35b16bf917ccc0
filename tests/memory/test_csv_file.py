"""Both readers of planning problems give the same: numpy's, for plain integers, and the one that reads row by row."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from minilite.errors import InputError
from minilite.memory import UsageRecord, csv_file, plan, plan_arrays, read_csv, read_csv_arrays

HEAD = "id,lower,upper,size\n"
TEXTS = {
    "one row": HEAD + "1,0,2,8\n",
    "no end of the last line": HEAD + "1,0,2,8\n2,0,3,9",
    "ends of lines of Windows": "id,lower,upper,size\r\n1,0,2,8\r\n2,1,2,8\r\n",
    "old ends of lines": "id,lower,upper,size\r1,0,2,8\r",
    "other columns first": "size,offset,upper,lower,id\n8,64,2,0,7\n16,0,9,3,-4\n",
    "empty lines": HEAD + "\n1,0,2,8\n\n\n2,0,2,8\n\n",
    "spaces": HEAD + " 1, 0 ,2,8\n",
    "quotes": HEAD + '"1","0",2,8\n',
    "a sign": HEAD + "+1,0,2,8\n",
    "digits in groups": HEAD + "1_0,0,2,8\n",
    "empty offsets": "id,lower,upper,size,offset\n1,0,2,8,\n2,0,2,8,64\n3,0,2,8,\n",
    "offsets": "id,lower,upper,size,offset\n1,0,2,8,0\n2,0,2,8,64\n",
    "the largest": HEAD + f"2147483647,0,2147483648,{(1 << 62) - 1}\n-2147483647,2147483647,2147483648,0\n",
    "a size beyond": HEAD + f"1,0,2,{1 << 63}\n",
    "nothing": "",
    "a head alone": HEAD,
    "a head without an end": HEAD.strip(),
    "no such column": "id,lower,upper,bytes\n1,0,2,8\n",
    "a fraction": HEAD + "1,0,2,8\n1,0,2,8.0\n",
    "an exponent": HEAD + "1,0,2,8e3\n",
    "two signs": HEAD + "1,0,2,--8\n",
    "a sign alone": HEAD + "1,0,2,-\n",
    "a column too few": HEAD + "1,0,2,8\n1,0,2\n",
    "a column too many": HEAD + "1,0,2,8\n1,0,2,8,9\n",
    "a column too many everywhere": HEAD + "1,0,2,8,9\n1,0,2,8,9\n",
    "a column too few, then too many": HEAD + "1,0,2\n1,0,2,8,9\n",
    "a comma at the end": HEAD + "1,0,2,8,\n",
    "an empty cell": HEAD + "1,,2,8\n",
    "an id beyond": HEAD + "2147483648,0,2,8\n",
    "the least id": HEAD + f"{-(1 << 63)},0,2,8\n",
    "backwards": HEAD + "1,0,2,8\n2,3,3,8\n",
    "a node below 0": HEAD + "1,-1,2,8\n",
    "a node beyond": HEAD + "1,0,2147483649,8\n",
    "the least node": HEAD + f"1,0,{-(1 << 63)},8\n",
    "a negative size": HEAD + "1,0,2,-8\n",
    "a negative offset": "id,lower,upper,size,offset\n1,0,2,8,-64\n",
    "an offset beyond": f"id,lower,upper,size,offset\n1,0,2,8,{(1 << 62) - 4}\n",
    "bytes of no text": HEAD + "1,0,2,\udcff\n",
}


def outcome(read: Any, path: Path) -> Any:
    try:
        return read(path)
    except InputError as error:
        return str(error)


def written(text: str, folder: Path) -> Path:
    path = folder / "problem.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return path


@pytest.mark.parametrize("name", TEXTS)
def test_both_readers_give_the_same(name: str, tmp_path: Path) -> None:
    path = written(TEXTS[name], tmp_path)
    expected = outcome(csv_file._read_any, path)
    assert outcome(read_csv, path) == expected
    columns = outcome(read_csv_arrays, path)
    if isinstance(expected, str):
        assert columns == expected
    elif name == "a size beyond":
        assert columns == f"{path}: record 0, tensor 1: {1 << 63} bytes, must be {(1 << 62) - 1} or less"
    else:
        offsets = [-1] * len(expected) if columns.offsets is None else columns.offsets.tolist()
        rows = zip(*(column.tolist() for column in columns[:4]), offsets, strict=True)
        found = [UsageRecord(t, size, a, b, None if place < 0 else place) for t, size, a, b, place in rows]
        assert found == expected


def test_plain_tables_are_read_by_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(1)
    rows = [(i, first, first + rng.randrange(1, 50), rng.randrange(1 << 20)) for i, first in enumerate(range(2000))]
    path = written(HEAD + "".join(",".join(map(str, row)) + "\n" for row in rows), tmp_path)
    monkeypatch.delattr(csv_file, "_read_any")
    records = read_csv(path)
    assert records == [UsageRecord(i, size, lower, upper - 1) for i, lower, upper, size in rows]
    assert {type(number) for record in records for number in record} == {int, type(None)}
    columns = read_csv_arrays(path)
    made = plan_arrays(columns.sizes, columns.first, columns.last, offsets=columns.offsets)
    assert made.offsets.tolist() == list(plan(records).offsets)
