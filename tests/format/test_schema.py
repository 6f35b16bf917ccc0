"""schema/tflite.fbs is the published schema, and regenerate.py gives exactly the committed tables of Python and C."""

from __future__ import annotations

import ast
import importlib.util
import pathlib
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from minilite.format import _schema
from minilite.format._spec import names_of, operator_names, options_table, table_spec
from minilite.format.dtypes import TensorType

if TYPE_CHECKING:
    import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "schema" / "regenerate.py"


@pytest.fixture(scope="module")
def regenerate() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("regenerate", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["regenerate"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def published() -> str:
    """The text of the schema module in LiteRT's wheel; it is read, not imported: that takes half a second."""
    spec = importlib.util.find_spec("ai_edge_litert")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("ai_edge_litert is not installed")
    return (pathlib.Path(spec.submodule_search_locations[0]) / "schema_py_generated.py").read_text()


def classes_of(text: str) -> dict[str, str]:
    parts = re.split(r"(?m)^class (\w+)\(object\):\n", text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def test_check_passes() -> None:
    assert subprocess.run([sys.executable, SCRIPT, "--check"], check=False).returncode == 0


@pytest.mark.parametrize(
    ("target", "message", "wrong"),
    [
        ("PYTHON", "stride_w:int=0", "stride_w:long=0"),
        ("C_NUMBERS", "ML_SLOT_Conv2DOptions_stride_w = 1", "ML_SLOT_Conv2DOptions_stride_w = 2"),
        ("C_TABLES", "{\"stride_w\", ML_FORM_SCALAR, 'i', -1, 0}", "{\"stride_w\", ML_FORM_SCALAR, 'q', -1, 0}"),
    ],
)
def test_check_fails_when_stale(
    regenerate: types.ModuleType,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    target: str,
    message: str,
    wrong: str,
) -> None:
    stale = tmp_path / "stale"
    text = getattr(regenerate, target).read_text()
    assert message in text
    stale.write_text(text.replace(message, wrong, 1))
    monkeypatch.setattr(regenerate, target, stale)
    assert regenerate.main(["--check"]) == 1
    assert regenerate.main([]) == 0
    assert regenerate.main(["--check"]) == 0


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("table A { b:Nothing; }", "nothing declares Nothing"),
        ("enum A : byte { X = 0, Y = 2 }", "dense"),
        ("struct A { b:int; }", "not understood"),
        ("table A { b int; }", "not understood"),
        ("union U { Missing }", "nothing declares table Missing"),
        ('enum A : byte { X = 0 (options: "Missing") }', "nothing declares table Missing"),
    ],
)
def test_contradictions_are_refused(regenerate: types.ModuleType, text: str, complaint: str) -> None:
    with pytest.raises(regenerate.SchemaError, match=complaint):
        regenerate.parse(text)


def test_enums_and_unions_are_the_published_ones(published: str) -> None:
    ours = {name: names_of(name) for name in [*_schema.ENUMS, *_schema.UNIONS]}
    theirs = {}
    for name, body in classes_of(published).items():
        values = re.findall(r"(?m)^    (\w+) = (-?\d+)$", re.split(r"\n\n?def |\n    def ", body)[0])
        if values:
            assert [int(number) for _, number in values] == list(range(len(values))), name
            theirs[name] = tuple(value for value, _ in values)
    assert ours == theirs


def test_slots_are_the_published_ones(published: str) -> None:
    """Every field accessor reads the slot, and every builder function has the type and default, that we state."""
    accessor = re.compile(r"    def (\w+)\(self(?:, j)?\):\n        o = .*?\.Offset\((\d+)\)\)\n")
    for name, body in classes_of(published).items():
        if "GetRootAs" not in body:
            continue
        fields: dict[int, str] = {}
        for method, offset in accessor.findall(body):
            fields.setdefault((int(offset) - 4) // 2, snake(method))
        ours = {field.slot: field.name for field in table_spec(name).fields if field.name}
        assert {slot: text.replace("_", "") for slot, text in ours.items()} == {
            slot: text.replace("_", "") for slot, text in fields.items()
        }, name
    assert {name for name, body in classes_of(published).items() if "GetRootAs" in body} == set(_schema.TABLES)


def test_types_and_defaults_are_the_published_ones(published: str) -> None:
    codes = {"Bool": "?", "Int8": "b", "Uint8": "B", "Int32": "i", "Uint32": "I", "Int64": "q", "Uint64": "Q"}
    codes |= {"Float32": "f", "UOffsetTRelative": "I"}
    adder = re.compile(r"def (\w+?)Add(\w+)\(builder, \w+\):\n    builder\.Prepend(\w+)Slot\((\d+), .*, (\S+)\)\n")
    seen = 0
    for table, _, kind, slot, default in adder.findall(published):
        spec = table_spec(table)
        assert spec.inline[int(slot)] == codes[kind], (table, slot)
        assert spec.defaults[int(slot)] == ast.literal_eval(default), (table, slot)
        seen += 1
    assert seen > 250


def test_element_types_agree_with_dtypes() -> None:
    assert names_of("TensorType") == tuple(kind.name for kind in TensorType)


def test_every_options_table_belongs_to_an_operator() -> None:
    of_operators = {found.table for op in operator_names() if (found := options_table(op))}
    in_unions = {*names_of("BuiltinOptions"), *names_of("BuiltinOptions2")} - {"NONE"}
    assert of_operators == in_unions


def test_some_operators_have_the_options_they_should() -> None:
    assert options_table("MAX_POOL_2D") == ("Pool2DOptions", "BuiltinOptions", 5)
    assert options_table("REDUCE_ALL") == ("ReducerOptions", "BuiltinOptions", 27)
    assert options_table("STABLEHLO_COMPOSITE") == ("StableHLOCompositeOptions", "BuiltinOptions2", 21)
    assert options_table("RELU") is None


def test_import_is_quick() -> None:
    """The module is unmarshalled data: no code runs except the making of five dicts."""
    tree = ast.parse((ROOT / "minilite" / "format" / "_schema.py").read_text())
    assert all(isinstance(statement, ast.Expr | ast.Assign) for statement in tree.body)
    assert not any(isinstance(node, ast.Call) for node in ast.walk(tree))
