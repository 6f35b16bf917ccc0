"""The record of lowered nodes: hashes per case, which a test compares, and their full text, to look at differences.

    PYTHONPATH=tests python -m support.lowering_record                  compares all, and prints what differs
    PYTHONPATH=tests python -m support.lowering_record --full FOLDER    writes all in full, to be compared by `diff -r`
    PYTHONPATH=tests python -m support.lowering_record --write [PART]   makes the record anew: nodes, rows, messages
    PYTHONPATH=tests python -m support.lowering_record --takes          notes what operators take; cases are made of it

A line of the record is an operator, a hash of all its cases, and for each case one or two letters of a hash of its own,
so that a difference names the cases. Of each real model in ../shared/models it has a hash by part.
"""

from __future__ import annotations

import argparse
import base64
import functools
import pathlib
import sys
from collections.abc import Iterator
from typing import NamedTuple

from support.lowering_cases import TAKES, cases_of, groups
from support.lowering_text import Text, hash_of, text_of

FOLDER = pathlib.Path(__file__).parent / "lowering"
MODELS = pathlib.Path(__file__).resolve().parents[2].parent / "shared" / "models"
PARTS = Text._fields
LETTERS = {"nodes": 2, "rows": 1, "messages": 1}
"""Per case."""


class Found(NamedTuple):
    """A case and what its model lowers to."""

    name: str
    text: Text


class Line(NamedTuple):
    """An operator in a part of the record."""

    whole: str
    cases: str

    @classmethod
    def of(cls, part: str, found: list[Found]) -> Line:
        """The line for these cases."""
        texts = [str(getattr(case.text, part)) for case in found]
        return cls(hash_of("\n".join(texts)), "".join(_letters(text, LETTERS[part]) for text in texts))


def _letters(text: str, count: int) -> str:
    return base64.b32encode(bytes.fromhex(hash_of(text))).decode().lower()[:count]


def found_of(op: str) -> list[Found]:
    """What the cases of an operator lower to."""
    return [Found(case.name, text_of(case.data, case.custom_ops, case.references)) for case in cases_of(op)]


@functools.cache
def recorded(part: str) -> dict[str, Line]:
    """A part of the record by operator."""
    lines = (FOLDER / f"{part}.txt").read_text().splitlines()
    return {op: Line(whole, "".join(cases)) for op, whole, *cases in (line.split(" ") for line in lines)}


def differences(op: str) -> list[str]:
    """Where an operator's cases do not lower to what is recorded: part, case, and what it is now."""
    found = found_of(op)
    wrong: list[str] = []
    for part in PARTS:
        then, now = recorded(part).get(op), Line.of(part, found)
        if then is None:
            wrong.append(f"{part}: {op} is not recorded")
        elif now != then:
            wrong += _named(part, found, then, now) or [f"{part}: some case of {op}, whose letters are alike"]
    return wrong


def _named(part: str, found: list[Found], then: Line, now: Line) -> Iterator[str] | list[str]:
    if len(then.cases) != len(now.cases):
        return [f"{part}: {len(found)} cases, {len(then.cases) // LETTERS[part]} are recorded"]
    width = LETTERS[part]
    places = [i for i in range(len(found)) if then.cases[i * width :][:width] != now.cases[i * width :][:width]]
    return [f"{part} of {found[i].name}:\n{getattr(found[i].text, part)}" for i in places]


# Real models ----------------------------------------------------------------------------------------------------------


@functools.cache
def recorded_models() -> dict[str, list[str]]:
    """The hashes of the real models' parts by file name."""
    lines = (FOLDER / "models.txt").read_text().splitlines()
    return {name: hashes for name, *hashes in (line.split(" ") for line in lines)}


def text_of_model(name: str) -> Text:
    """What a real model lowers to."""
    return text_of((MODELS / name).read_bytes(), references=True)


def differences_of_model(name: str) -> list[str]:
    """The parts of a real model's lowering that differ from the record."""
    text = text_of_model(name)
    pairs = zip(PARTS, recorded_models()[name], strict=True)
    return [part for part, then in pairs if hash_of(getattr(text, part)) != then]


# Command --------------------------------------------------------------------------------------------------------------


def write_full(folder: pathlib.Path) -> None:
    """Every case's text: a file for each operator and real model."""
    (folder / "models").mkdir(parents=True, exist_ok=True)
    for op in groups():
        (folder / f"{op}.txt").write_text("".join(f"=== {name}\n{_shown(text)}" for name, text in found_of(op)))
    for path in sorted(MODELS.glob("*.tflite")):
        (folder / "models" / f"{path.stem}.txt").write_text(_shown(text_of_model(path.name)))


def _shown(text: Text) -> str:
    return "".join(f"{part}:\n{message}\n" for part, message in zip(PARTS, text, strict=True))


def write_record(parts: list[str]) -> None:
    """Makes these parts of the record anew."""
    found = {op: found_of(op) for op in groups()}
    for part in parts:
        lines = [" ".join((op, *Line.of(part, cases))).rstrip() for op, cases in found.items()]
        (FOLDER / f"{part}.txt").write_text("\n".join(lines) + "\n")
    if MODELS.exists():
        lines = []
        for name in sorted(path.name for path in MODELS.glob("*.tflite")):
            now = [hash_of(part) for part in text_of_model(name)]
            then = recorded_models().get(name, now) if (FOLDER / "models.txt").exists() else now
            kept = [new if part in parts else old for part, new, old in zip(PARTS, now, then, strict=True)]
            lines.append(" ".join((name, *kept)))
        (FOLDER / "models.txt").write_text("\n".join(lines) + "\n")


def write_takes() -> None:
    """Notes what every operator takes now."""
    from minilite.ops import operators

    rows = sorted(operators().items())
    lines = [f"{op} {row.versions[0]}-{row.versions[-1]} {'; '.join(row.types)}" for op, row in rows]
    TAKES.write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--write", nargs="*", choices=PARTS)
    parser.add_argument("--takes", action="store_true")
    given = parser.parse_args()
    if given.takes:
        write_takes()
    elif given.write is not None:
        write_record(given.write or list(PARTS))
    elif given.full is not None:
        write_full(given.full)
    else:
        wrong = [line for op in groups() for line in differences(op)]
        models = [name for name in recorded_models() if (MODELS / name).exists()]
        wrong += [f"{part} of {name}" for name in models for part in differences_of_model(name)]
        print("\n".join(wrong) or "all is as recorded")
        sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
