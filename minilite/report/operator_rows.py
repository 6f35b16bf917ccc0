"""csrc/graph/operator_rows.c, printed from the operators' rows: python -m minilite.report.operator_rows >
csrc/graph/operator_rows.c.

C lowers by it what a row says in so many words, so that the row's module is not imported: which types it takes, which
parameter is which option, which quantization its `check` lets through. What a function says is found by asking it:
about every class of quantization, and every value of an enum or bool, that a kind's key can tell apart
(csrc/graph/kinds.c). Where an answer hangs on anything else the row has no kernel there, and Python answers.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from minilite._native.kernels import FOLDS, FOLLOWS, TRAITS, find_kernel
from minilite.engine.answers import flags_of
from minilite.errors import UnsupportedOpError
from minilite.format._spec import Field, default_options, operator_names, options_table, table_spec
from minilite.format.dtypes import TensorType
from minilite.format.model import Tensor
from minilite.format.quantization import NOT_QUANTIZED, Quantization
from minilite.ops import operators
from minilite.ops_shared.checks import QUANTIZED
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.options import Numbers, Positive
from minilite.ops_shared.types import ABSENT, parse, types_of, written_out

TAME = 64
"""ML_TAME_RATIO."""
MOST_COMBINATIONS = 20_000
"""Of quantizations that are asked about for one signature."""
BUILT_IN = (1 / 128, 1 / 256, 1 / 32768, 1 / 65536)
ANY, BARE, WHOLE = 1, 2, 4
"""Any quantization is taken; none; one scale an operand whose type is quantized (ml_row_types.takes)."""
Types = tuple[int, ...]
Check = Callable[[OpNode], None]


class Read(dict[str, Any]):
    """Options that note which of them are read."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.names.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return super().get(name, default)


class Param(NamedTuple):
    """A field of the kernel's: how it comes of which slot of the options, and by which values."""

    how: str
    slot: int
    values: tuple[float, ...]


class Unsaid(Exception):  # noqa: N818 - it is no error
    """The row hangs on what the key of a kind does not tell, or what this table has no words for."""


@functools.cache
def classes(code: int) -> list[Quantization]:
    """A quantization of each class that kinds.c tells apart, of those that it does not call odd; two where they may be
    alike."""
    found = [NOT_QUANTIZED, Quantization((0.5, 0.25), (0, 0), 0)]
    zeros = {TensorType.INT8: (0, -128, 5), TensorType.UINT8: (0, 128, 5), TensorType.INT16: (0, -128, -32768, 5)}
    for zero in zeros.get(TensorType(code), (0,)):
        known = BUILT_IN if zero != 5 and code in QUANTIZED else ()
        found += [Quantization((scale,), (zero,)) for scale in (0.5, 0.375, *known)]
    return found


def is_tame(inputs: tuple[Tensor | None, ...], output: Tensor) -> bool:
    """As kinds.c has it."""
    limit = TAME * output.quantization.scale
    there = [t for t in inputs if t is not None]
    return all(
        t.quantization.scale <= limit and not (t.type == TensorType.INT16 and t.quantization.scales) for t in there
    )


def slots_of(op: str) -> dict[str, tuple[int, Field]]:
    """The slots of an operator's options by name."""
    table = options_table(op)
    fields = table_spec(table.table).fields if table is not None else ()
    return {field.name: (slot, field) for slot, field in enumerate(fields) if field.name}


def few_values(field: Field) -> tuple[Any, ...]:
    """The values of an enum or bool by code. Raises: Unsaid."""
    if field.form == "enum":
        return field.names
    if field.form == "scalar" and field.code == "?":
        return False, True
    raise Unsaid


def usual_options(op: str) -> dict[str, Any]:
    table = options_table(op)
    found = default_options(table.table) if table is not None else {}
    slots = slots_of(op)
    return {  # what counts something has to be positive
        name: 1 if slots[name][1].form == "scalar" and slots[name][1].code in "iI" else value
        for name, value in found.items()
    }


@functools.cache
def tensor_of(code: int, said: Quantization) -> Tensor | None:
    return None if code == ABSENT else Tensor(0, "", TensorType(code), (2, 2), quantization=said)


def node_of(row: Operator, kinds: tuple[Types, Types], said: tuple[Quantization, ...], options: Any) -> OpNode:
    """A node of these types, and its operands' quantizations."""
    split = len(kinds[0])
    inputs = tuple([tensor_of(*each) for each in zip(kinds[0], said, strict=False)])
    outputs = [tensor_of(*each) for each in zip(kinds[1], said[split:], strict=True)]
    return OpNode(0, 0, row.name, row.versions[0], inputs, tuple(t for t in outputs if t is not None), options)


def _classes(kinds: tuple[Types, Types]) -> list[list[Quantization]]:
    return [[NOT_QUANTIZED] if code == ABSENT else classes(code) for side in kinds for code in side]


def combinations(row: Operator, kinds: tuple[Types, Types]) -> Iterator[tuple[Quantization, ...]]:
    """Quantizations of all operands that the key of a kind tells nothing more about."""
    for said in itertools.product(*_classes(kinds)):
        if row.asks_about == "scales" and any(q.scales for q in said):
            continue
        if row.asks_about == "ratio":
            node = node_of(row, kinds, said, {})
            if not is_tame(node.inputs, node.outputs[0]):
                continue
        yield said


def shape_of(kinds: tuple[Types, Types], said: tuple[Quantization, ...]) -> int:
    """BARE, WHOLE, or 0 where it is neither."""
    if not any(q.scales for q in said):
        return BARE
    every = [*kinds[0], *kinds[1]]
    whole = all(len(q.scales) == 1 for code, q in zip(every, said, strict=True) if code in QUANTIZED)
    return WHOLE if whole else 0


def apart(text: str) -> Iterator[str]:
    """A signature once for each of its alternatives: "s8 s8|s4 -> s8" is two."""
    words = [[part + word[len(word.rstrip("?.")) :] for part in word.rstrip("?.").split("|")] for word in text.split()]
    yield from map(" ".join, itertools.product(*words))


def variants(text: str) -> Iterator[tuple[Types, Types]]:
    """The codes of inputs and outputs in every combination, optional ones there and absent."""
    inputs, outputs = parse(text)
    every = [[*types_of(o.word), *([ABSENT] if o.optional else [])] for o in (*inputs, *outputs)]
    for kinds in itertools.product(*every):
        yield kinds[: len(inputs)], kinds[len(inputs) :]
    if any(o.repeats for o in inputs):
        yield from written_out(text)


def passes(check: Check, node: OpNode) -> bool:
    try:
        check(node)
    except UnsupportedOpError:
        return False
    return True


class Takes(NamedTuple):
    """What a signature lets through: a sum of ANY, BARE and WHOLE; WHOLE perhaps of one class of output 0 alone."""

    shapes: int
    zero: int = 0
    built_in: int = 0

    def both(self, other: Takes) -> Takes:
        """What both let through."""
        if ANY in (self.shapes, other.shapes):
            return other if self.shapes == ANY else self
        shapes = self.shapes & other.shapes
        return self._replace(shapes=shapes if self[1:] == other[1:] else shapes & ~WHOLE)


def taken(row: Operator, check: Check, text: str, options: Read) -> Takes:
    """Which quantizations of a signature the row's check lets through."""
    every = list(variants(text))
    if any(math.prod(map(len, _classes(kinds))) > MOST_COMBINATIONS for kinds in every):
        return Takes(0)
    let: dict[tuple[int, int, int], bool] = {}
    for kinds in every:
        for said in combinations(row, kinds):
            about = shape_of(kinds, said), *output_of(kinds, said)
            if let.get(about, True):
                let[about] = passes(check, node_of(row, kinds, said, options))
    if row.asks_about == "kind" and all(let.values()):
        return Takes(ANY)
    bare = BARE if all(each for about, each in let.items() if about[0] == BARE) else 0
    whole = {about: each for about, each in let.items() if about[0] == WHOLE}
    if whole and all(whole.values()):
        return Takes(bare | WHOLE)
    built_in = [about for about, each in whole.items() if each and about[2]]
    return Takes(bare | WHOLE, *built_in[0][1:]) if built_in else Takes(bare)


def output_of(kinds: tuple[Types, Types], said: tuple[Quantization, ...]) -> tuple[int, int]:
    """The class of output 0: which zero point, and which scale that arithmetic may build in."""
    q, code = said[len(kinds[0])], kinds[1][0]
    if len(q.scales) != 1 or code not in QUANTIZED:
        return 0, 0
    zeros = (0, -128, -32768 if code == TensorType.INT16 else 128)
    zero = zeros.index(q.zero_points[0]) if q.zero_points[0] in zeros else 3
    return zero, BUILT_IN.index(q.scales[0]) + 1 if q.scales[0] in BUILT_IN else 0


def checked(row: Operator) -> tuple[dict[int, int], list[tuple[str, Takes]]]:
    """What the check lets through: codes of options, a bit each, by slot; and by signature which quantizations. Raises:
    Unsaid."""
    check = row.check
    if check is None:
        return {}, [(text, Takes(ANY)) for text in row.types]
    slots, read = slots_of(row.name), Read(usual_options(row.name))
    types = [text for each in row.types for text in apart(each)]
    usual = [taken(row, check, text, read) for text in types]
    values = {name: few_values(slots[name][1]) for name in sorted(read.names)}
    let: dict[str, list[Any]] = {}
    for name, each in values.items():
        let[name] = [v for v in each if any(taken(row, check, t, Read({**read, name: v})).shapes for t in types)]
    for chosen in itertools.product(*let.values()):
        options = Read({**read, **dict(zip(let, chosen, strict=True))})
        usual = [takes.both(taken(row, check, t, options)) for takes, t in zip(usual, types, strict=True)]
        if not options.names <= values.keys():
            raise Unsaid
    codes = {slots[n][0]: sum(1 << values[n].index(v) for v in chosen) for n, chosen in let.items()}
    return codes, [(text, takes) for text, takes in zip(types, usual, strict=True) if takes.shapes]


def param(row: Operator, said: Any, text: str) -> Param:
    """How a field of the kernel's comes of the options. Raises: Unsaid."""
    slots, usual = slots_of(row.name), usual_options(row.name)
    if isinstance(said, str):
        slot, field = slots[said]
        if field.form != "scalar":
            raise Unsaid
        return Param("REAL" if field.code in "fd" else "INTEGER", slot, ())
    if isinstance(said, Positive):
        if said.option not in slots:
            return Param("CONSTANT", -1, (1,))
        return Param("POSITIVE", slots[said.option][0], ())
    if isinstance(said, Numbers):
        return Param("NUMBERS", slots[said.option][0], tuple(map(float, said.none)))
    kinds = next(iter(written_out(text)))
    plain = (NOT_QUANTIZED,) * (len(kinds[0]) + len(kinds[1]))
    read = Read(usual)
    with contextlib.suppress(UnsupportedOpError):
        value = said(node_of(row, kinds, plain, read))
    if not read.names:
        return constant(value)
    (name,) = read.names if len(read.names) == 1 else (None,)
    if name is None:
        raise Unsaid
    slot, field = slots[name]
    found = []
    for each in few_values(field):
        try:
            found.append(float(said(node_of(row, kinds, plain, {**usual, name: each}))))
        except UnsupportedOpError:
            found.append(math.nan)
    return Param("TABLE", slot, tuple(found))


def constant(value: Any) -> Param:
    """What a function says that reads no option. Raises: Unsaid."""
    if isinstance(value, (int, float)):
        return Param("CONSTANT", -1, (float(value),))
    if getattr(value, "size", 1) == 0:
        return Param("NOTHING", -1, ())
    raise Unsaid


class Rows:
    """The table as it is gathered."""

    def __init__(self) -> None:
        self.text: str = "\0"
        self.values: list[float] = []
        self.params: list[str] = []
        self.types: list[str] = []
        self.conditions: list[str] = []

    def place(self, text: str) -> int:
        """Where a string begins in the text."""
        at = self.text.find(f"\0{text}\0")
        if at < 0:
            at = len(self.text) - 1
            self.text += text + "\0"
        return at + 1

    def add_kernel(self, row: Operator) -> str:
        """The fields of a row that C can lower. Raises: Unsaid."""
        kernel = find_kernel(row.kernel_name)
        if kernel is None or row.writes or row.custom or row.calls or row.asks_about in ("node", "model"):
            raise Unsaid
        if set(row.params) != {field for field, _ in kernel.fields}:
            raise Unsaid
        params = [param(row, row.params[field], row.types[0]) for field, _ in kernel.fields]
        asked, types = checked(row)
        if sum(each.how == "NUMBERS" for each in params) > 1:
            raise Unsaid
        first = len(self.params), len(self.types), len(self.conditions)
        for each in params:
            self.params.append(
                f"{{ML_ROW_{each.how}, {each.slot}, {self.add_values(each.values)}, {len(each.values)}}}"
            )
        self.types += [
            f"{{{self.place(text)}, {takes.shapes}, {takes.zero}, {takes.built_in}}}" for text, takes in types
        ]
        self.conditions += [f"{{{slot}, {bits}u}}" for slot, bits in asked.items()]
        counts = len(self.params) - first[0], len(self.types) - first[1], len(self.conditions) - first[2]
        least = sum(not operand.optional for operand in parse(row.takes).inputs)
        most = 255 if any(o.repeats for o in parse(row.takes).inputs) else len(parse(row.takes).inputs)
        places = ", ".join(f"{start}, {count}" for start, count in zip(first, counts, strict=True))
        return f"{self.place(kernel.name)}, {flags_of(row)}, {least}, {most}, {places}"

    def add_values(self, values: tuple[float, ...]) -> int:
        start = len(self.values)
        self.values += values
        return start


def _number(value: float) -> str:
    return "NAN" if math.isnan(value) else f"{'-' if value < 0 else ''}INFINITY" if math.isinf(value) else f"{value:g}"


def _table(head: str, rows: list[str], a_line: int = 1) -> str:
    lines = [", ".join(rows[i : i + a_line]) for i in range(0, len(rows), a_line)]
    return head + " = {\n" + "".join(f"    {line},\n" for line in lines) + "};\n"


def operator_rows() -> str:
    """The text of csrc/graph/operator_rows.c."""
    made, table, rows = Rows(), [], operators()
    for op in operator_names():
        row = rows.get(op)
        if row is None or row.custom is not None:
            table.append("{0}")
            continue
        traits = TRAITS[row.asks_about] | (FOLDS if row.folds is not None else 0)
        traits |= FOLLOWS << row.output_follows if row.output_follows is not None else 0
        try:
            kernel = ", " + made.add_kernel(row)
        except Unsaid:
            kernel = ", 0" * 10
        table.append(f"/* {op} */ {{{row.versions[0]}, {row.versions[-1]}, {traits}{kernel}}}")
    words = made.text.split("\0")[:-1]
    return (
        "/* operator_rows.c -- what the rows of minilite/ops say in so many words. Printed from them by\n"
        " * `python -m minilite.report.operator_rows`: do not edit. */\n"
        '#include "graph/operator_rows.h"\n\n#include <math.h>\n\n/* clang-format off */\n'
        "const char ml_row_text[] =\n"
        + "\n".join(f'    "{word}\\0"' for word in words)
        + ";\n\n"
        + _table("const double ml_row_values[]", [_number(v) for v in made.values], 12)
        + _table("\nconst ml_row_param ml_row_params[]", made.params, 4)
        + _table("\nconst ml_row_types ml_row_signatures[]", made.types, 8)
        + _table("\nconst ml_row_condition ml_row_conditions[]", made.conditions, 8)
        + _table("\nconst ml_operator_says ml_operator_rows[]", table)
        + "\nconst int32_t ml_n_operator_rows = (int32_t)(sizeof ml_operator_rows / sizeof ml_operator_rows[0]);\n"
    )


if __name__ == "__main__":
    print(operator_rows(), end="")
