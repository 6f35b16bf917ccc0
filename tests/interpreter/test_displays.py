"""Displays of interpreters, models and plans in terminals and notebooks."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from built import ready, relu_chain
from support.metadata import labelled, metadata, passing, with_files

from minilite import Interpreter, compare
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization
from minilite.format.reader import read_model
from minilite.memory import MemoryPlan, UsageRecord
from minilite.profiling.profile import Profile

ABOUT = metadata([{0: "x"}], [labelled("labels.txt")], name="seer of <b>")
SEER = with_files(passing((1, 4), TensorType.INT8, Quantization((0.5,), (3,)), (-1, 4), ABOUT), {"labels.txt": "a\nb"})


def test_an_interpreter_shows_inputs_and_outputs() -> None:
    interpreter = Interpreter(SEER)
    interpreter.resize_tensor_input(0, (2, 4))
    interpreter.allocate_tensors()
    head, *rows = repr(interpreter).splitlines()
    assert head == f"<Interpreter: 1 nodes, 2 tensors, arena {interpreter.arena_bytes} bytes>"
    assert [row.split() for row in rows] == [
        ["tensor", "name", "shape", "type", "scale,", "zero", "point"],
        ["input", "0", "x", "2x4", "int8", "0.5,", "3"],
        ["output", "1", "y", "1x8", "int8", "0.5,", "3"],
    ]
    assert repr(interpreter) == str(interpreter)
    html = interpreter._repr_html_()
    assert "<tr><td>input</td><td>0</td><td>x</td><td>2x4</td><td>int8</td><td>0.5, 3</td></tr>" in html
    assert re.search(r"1 node, 2 tensors; arena \d+ bytes, lower bound \d+", html)
    assert "not allocated" in Interpreter(SEER)._repr_html_()


def test_a_model_shows_its_parts() -> None:
    text = repr(read_model(SEER))
    assert text.splitlines()[0] == "<Model 'seer of <b>': 1 node, 2 tensors, 1 subgraph>"
    assert text.splitlines()[2].split()[:5] == ["input", "0", "x", "?x4", "int8"]
    assert text.splitlines()[3].split()[:3] == ["output", "1", "y"]
    assert text.splitlines()[-3:] == [
        "  operators: RESHAPE",
        "  metadata: TFLITE_METADATA",
        "  files: labels.txt (3 bytes)",
    ]
    html = read_model(SEER)._repr_html_()
    assert "seer of &lt;b&gt;" in html
    assert "files: labels.txt (3 bytes)" in html
    assert repr(ModelBuilder().model()).startswith("<Model: 0 nodes, 0 tensors, 0 subgraphs>")
    assert "leads out of the archive" in repr(read_model(with_files(relu_chain(), {"../x": "y"})))
    assert "<Model: 1 node" in repr(read_model(passing((1,), about=bytes(30))))


def test_many_inputs_are_counted() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    inputs = [graph.input(f"x{i}", (1,)) for i in range(12)]
    graph.output(*[graph.node("RELU", [x], out=(f"y{x}", (1,))) for x in inputs])
    text = repr(Interpreter(builder.build()))
    assert text.count("... and 4 more") == 2
    assert "x7" in text
    assert "x8" not in text
    assert max(map(len, text.splitlines())) <= 100


def wide_net() -> Interpreter:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (64,))
    parts = [graph.node("EXP", [x], out=(f"part {i}", (64,))) for i in range(20)]
    y = parts[0]
    for i, part in enumerate(parts[1:]):
        y = graph.node("ADD", [y, part], out=(f"sum {i}", (64,)))
    graph.output(y)
    return ready(builder.build())


def test_a_plan_shows_its_largest_tensors_and_draws_itself() -> None:
    interpreter = wide_net()
    for plan in (interpreter.plan, interpreter.memory, interpreter.plan_for({"x": (64,)})):
        assert plan is not None
        head, columns, *rows = repr(plan).splitlines()
        assert (
            head
            == f"<Plan: arena {plan.arena_bytes} bytes, lower bound {plan.lower_bound}, inputs 256 bytes, 40 tensors>"
        )
        assert columns.split() == ["tensor", "name", "shape", "bytes", "offset", "lives"]
        assert len(rows) == 11
        assert rows[-1] == f"  and {len(plan.records()) - 10} records that are not larger"
        root = ET.fromstring(plan._repr_svg_())
        titles = [title.text or "" for title in root.iter("{http://www.w3.org/2000/svg}title")]
        assert any(title.startswith("part 3: 256 bytes at ") for title in titles)
        made = plan.to_memory_plan()
        assert (made.arena_bytes, made.lower_bound) == (plan.arena_bytes, plan.lower_bound)
        assert made.check() is None


def test_a_plan_shows_offsets_and_lives() -> None:
    plan = ready(relu_chain()).plan
    assert plan is not None
    (record,) = [row for row in plan.records() if row[0] == 1]
    row = next(line for line in repr(plan).splitlines() if line.split()[0] == "1")
    last = "end" if record[3] == 2**31 - 1 else str(record[3])
    assert row.split() == ["1", "y0", "4", str(record[1]), str(record[4]), f"{record[2]}-{last}"]
    assert plan.tensor(1).offset == record[4]


@pytest.mark.parametrize("count", [0, 1])
def test_small_models_have_plans_too(count: int) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    constant = graph.constant("c", np.zeros(3, np.float32))
    graph.output(graph.node("RELU", [constant], out=("y", (3,))) if count else constant)
    interpreter = ready(builder.build())
    assert "<Plan: arena" in repr(interpreter.plan)
    assert interpreter.plan is not None
    ET.fromstring(interpreter.plan.to_svg())


def test_usage_and_counters_are_tables_in_notebooks() -> None:
    """Large numbers of bytes are in KiB; counters that are 0 are left out."""
    interpreter = Interpreter(model_content=relu_chain())
    interpreter.resize_tensor_input(0, [1 << 16])
    interpreter.allocate_tensors()
    interpreter.invoke()
    usage, counters = interpreter.usage._repr_html_(), interpreter.counters._repr_html_()  # type: ignore[attr-defined]
    assert '<td style="text-align:left">arena</td><td>512 KiB</td>' in usage
    assert "stays mapped" not in usage
    assert '<td style="text-align:left">invokes</td><td>1</td>' in counters
    assert "plan hits" not in counters
    assert interpreter.counters == dict(interpreter.counters)


def test_a_plan_s_picture_says_of_what_it_is() -> None:
    interpreter = Interpreter(model_content=relu_chain())
    interpreter.allocate_tensors()
    assert interpreter.plan is not None
    small, large = interpreter.plan.to_svg(), interpreter.plan_for({"x": (1 << 16,)}).to_svg()
    assert "plan for x 4: " in small
    assert "plan for x 65536: " in large
    assert (">bytes<" in small, ">KiB<" in small, ">bytes<" in large, ">KiB<" in large) == (True, False, False, True)
    assert ">lower bound, 512 KiB: no plan is smaller. " in large
    assert interpreter.plan_for({"x": (1 << 16,)}).to_memory_plan().to_svg() == large
    assert interpreter.plan.to_memory_plan().strategy == "in use"


def test_a_plan_s_picture_has_even_ticks_and_names_where_they_fit() -> None:
    """Across, upwards, or above a box that is too low; shortened names have at least 12 letters."""
    names = {0: "wide", 1: "a_name_that_stands_upright", 2: "low", 3: "x" * 40, 77: "y" * 70}
    records = [
        UsageRecord(0, 64, 0, 3),
        UsageRecord(1, 640, 4, 4),
        UsageRecord(2, 1, 5, 9),
        UsageRecord(3, 8, 10, 10),
        UsageRecord(77, 64, 10, 10),
    ]
    drawing = MemoryPlan(
        tuple(records), (0, 0, 0, 0, 64), 640, 640, True, "by hand", 0, names=names, title="<t>"
    ).to_svg()
    texts = ET.fromstring(drawing).findall("{http://www.w3.org/2000/svg}text")
    found = {text.text: text.get("transform") for text in texts}
    assert found["wide"] is None
    assert str(found["a_name_that_stands_upright"]).startswith("rotate(-90 ")
    assert found["low"] is None
    assert not any(str(text).startswith("xx") for text in found)
    assert "<title>" + "x" * 40 in drawing
    assert "<t>: arena 640 bytes, reuse factor 1.40" in found
    assert [text for text in found if str(text).isdecimal()] == [
        "77",
        *(str(place) for place in range(0, 641, 128)),
        *(str(node) for node in range(1, 11)),
    ]
    assert "prefers-color-scheme:dark" in drawing


def test_profiles_and_comparisons_are_tables_in_notebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile's does not measure the machine's peaks, which takes time; names are escaped."""
    monkeypatch.setattr(Profile, "peaks", property(lambda _: pytest.fail("measured")))
    html = ready(relu_chain()).profile(2)._repr_html_()
    assert html.startswith("<p>Profile: 2 runs, 1 thread, level ")
    assert "<tr><th>operator</th><th>nodes</th><th>%</th><th>kernel</th></tr><tr><td>RELU</td>" in html
    assert "% of peak" not in html
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.output(graph.node("RELU", [graph.input("<x>", (4,))], out=("y\1", (4,))))
    html = compare(builder.model(), against="scalar")._repr_html_()
    assert "all of them are equal" in html
    assert "<td>&lt;x&gt;</td>" in html
    assert "<td>y\\u0001</td>" in html
    assert "<th>run</th>" not in html
