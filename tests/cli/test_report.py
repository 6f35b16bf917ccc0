"""minilite report: the file that it writes, its data, and its refusals. tests/browser shows the page in a browser."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import patience

import minilite
from minilite.cli import main
from minilite.errors import visible
from minilite.format.builder import ModelBuilder
from minilite.memory import UsageRecord, check

DIGITS = str(Path(__file__).resolve().parents[2] / "minilite" / "data" / "digits.tflite")


def data_of(text: str) -> dict[str, Any]:
    """The data that the page draws."""
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    data: dict[str, Any] = json.loads(found)
    return data


def written(path: Path, *arguments: str) -> str:
    assert main(["report", *arguments, "-o", str(path)]) == 0
    return path.read_text(encoding="utf-8")


def test_records_and_plans_are_those_of_the_engine(tmp_path: Path) -> None:
    data = data_of(written(tmp_path / "out.html", DIGITS, "--shape", "1,20,24,1", "--runs", "1"))
    interpreter = minilite.Interpreter(DIGITS)
    plan = interpreter.plan_for({"image": (1, 20, 24, 1)})
    assert data["plans"][0]["strategy"] == "in use"
    assert data["plans"][0]["arena"] == plan.arena_bytes
    assert data["lower_bound"] == plan.lower_bound == max(size for _, _, size in data["live"])
    found = [
        (data["tensors"][each["tensor"]]["name"], each["size"], each["first"], offset)
        for each, offset in zip(data["records"], data["plans"][0]["offsets"], strict=True)
    ]
    names = [tensor.name for tensor in interpreter.model.subgraphs[0].tensors]
    assert found == [(names[t] if t < len(names) else "scratch", s, f, o) for t, s, f, _, o in plan.records()]
    arenas = {each["strategy"]: each["arena"] for each in data["plans"][1:]}
    assert {"default", "tflite", "naive", "greedy_by_size"} < set(arenas)
    assert list(arenas.values()) == sorted(arenas.values())
    records = [UsageRecord(0, e["size"], e["first"], 99 if e["last"] is None else e["last"]) for e in data["records"]]
    assert [check(records, each["offsets"]) for each in data["plans"]] == [None] * len(data["plans"])


def test_nodes_have_what_the_model_says(tmp_path: Path) -> None:
    text = written(tmp_path / "out.html", DIGITS, "--runs", "3")
    data = data_of(text)
    names = [column["name"] for column in data["columns"]]
    rows = [dict(zip(names, row["cells"], strict=True)) for row in data["rows"]]
    assert [row["operator"] for row in rows] == ["CONV_2D"] * 6 + ["MEAN", "SOFTMAX"]
    assert rows[0]["output"] == "1x8x8x8"
    assert rows[0]["MMAC"] == 1 * 8 * 8 * 8 * 9 / 1e6
    assert abs(sum(row["%"] for row in rows) - 100) < 1e-6
    assert max(row["live KiB"] for row in rows) * 1024 == data["lower_bound"]
    assert [node["readers"] for node in data["nodes"]] == [[1], [2], [3], [4], [5], [6], [7], []]
    assert "3 runs, 1 thread" in text
    assert "<dt>parameters</dt><dd>12,484</dd>" in text


def test_tensors_that_share_memory_are_named(tmp_path: Path) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (64,))
    names = ["first", *(f"tanh{at}" for at in range(6))]
    for name in names:
        x = graph.node("TANH", [x], out=(name, (64,)))
    graph.output(x)
    (tmp_path / "chain.tflite").write_bytes(builder.build())
    data = data_of(written(tmp_path / "out.html", str(tmp_path / "chain.tflite"), "--runs", "0"))
    shared = {data["tensors"][each["tensor"]]["name"]: each.get("shared") for each in data["records"]}
    assert shared == {"first": "tanh0, tanh1, tanh2, tanh3 and 1 more", "tanh5": None}


def test_without_runs_nothing_is_timed(tmp_path: Path) -> None:
    text = written(tmp_path / "out.html", DIGITS, "--runs", "0")
    assert "Not timed" in text
    assert not {"us", "%"} & {column["name"] for column in data_of(text)["columns"]}


def test_tiles_and_memories_are_shown(tmp_path: Path) -> None:
    text = written(
        tmp_path / "out.html", DIGITS, "--shape", "1,64,64,1", "--max-arena", "100kB", "--memory", "fast=64K",
        "--memory", "slow=1M", "--runs", "0",
    )  # fmt: skip
    assert "nodes 0 to 1 in 2 x 2 patches" in text
    assert '"name": "patches"' in text.replace('"name":"patches"', '"name": "patches"')
    assert ", patch by patch" in text
    assert "Memories of a board" in text
    assert "memory &#x27;fast&#x27;, 65536 bytes: arena" in text


def test_sizes_around_the_present_one_or_a_sweep(tmp_path: Path) -> None:
    assert '<svg xmlns="http://www.w3.org/2000/svg" class="sizes"' in written(tmp_path / "a.html", DIGITS)
    text = written(tmp_path / "b.html", DIGITS, "--sweep", "1,33..35,33..35,1", "--runs", "0")
    assert re.findall(r"<td>image (\w+)</td>", text) == ["1x33x33x1", "1x34x34x1", "1x35x35x1"]


def test_names_do_not_leave_their_place(tmp_path: Path) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    name = "</script><!--<b>&'\"${x}\x00\u2028\U0001f600"
    x = graph.input(name, (2,))
    graph.output(graph.node("TANH", [x], out=(name * 2, (2,))))
    path = tmp_path / "trap.tflite"
    path.write_bytes(builder.build())
    text = written(tmp_path / "out.html", str(path), "--runs", "0")
    assert (text.count("<script"), text.count("</script>"), text.count("<!--"), text.count("<b>")) == (2, 2, 0, 0)
    assert data_of(text)["tensors"][0]["name"] in (visible(name), visible(name * 2))
    assert "\x00" not in text


def test_models_with_subgraphs_and_values_known_early(tmp_path: Path) -> None:
    builder = ModelBuilder()
    main_graph, body = builder.subgraph(), builder.subgraph("body")
    y = body.input("y", (3,))
    body.output(body.node("TANH", [y], out=("t", (3,))))
    x = main_graph.input("x", (3,))
    condition = main_graph.input("condition", (), minilite.format.dtypes.TensorType.BOOL)
    out = main_graph.node(
        "IF", [condition, x], out=("z", (3,)), options={"then_subgraph_index": 1, "else_subgraph_index": 1}
    )
    main_graph.node(
        "SHAPE", [out], out=("shape", (1,), minilite.format.dtypes.TensorType.INT32), options={"out_type": "INT32"}
    )
    main_graph.output(out, 3)
    path = tmp_path / "if.tflite"
    path.write_bytes(builder.build())
    data = data_of(written(tmp_path / "out.html", str(path), "--runs", "1"))
    rows = [row["cells"][:3] for row in data["rows"]]
    assert [0, 0, "IF"] in rows
    assert sum(row[2] == "TANH" for row in rows) == 2  # a frame for each branch
    assert [row["position"] for row in data["rows"] if row["cells"][0] != 0] == [None, None]
    assert data["nodes"][1] | {"readers": []} == {
        "node": 1, "op": "SHAPE", "name": "shape", "runs": False, "readers": [], "inputs": [2], "outputs": [3],
        "options": {"out_type": "INT32"}, "becomes": "known before the run",
    }  # fmt: skip
    assert data["operands"]["3"] == {"name": "shape", "kind": "int32 1"}


def test_the_head_tells_what_made_the_page(tmp_path: Path) -> None:
    text = written(tmp_path / "a.html", DIGITS, "--runs", "0", "--threads", "2")
    (head,) = re.findall(r'<p class="made">(.*)</p>', text)
    assert re.fullmatch(
        rf"minilite {re.escape(minilite.__version__)}, level \w+, 2 threads, .+, \d{{4}}-\d\d-\d\d \d\d:\d\d UTC", head
    )


def test_weights_have_shapes_and_ranges(tmp_path: Path) -> None:
    data = data_of(written(tmp_path / "a.html", DIGITS, "--runs", "0"))
    graph = minilite.Interpreter(DIGITS).model.subgraphs[0]
    for node in data["nodes"][:6]:
        tensor = graph.tensors[node["inputs"][1]]
        values = np.asarray(tensor.data)
        told = data["operands"][str(tensor.index)]
        assert told["kind"] == "float32 " + "x".join(map(str, tensor.shape))
        assert told["constant"].endswith(f": {values.min():.4g} to {values.max():.4g}")


# As a process ---------------------------------------------------------------------------------------------------------


def minilite_(*arguments: str, folder: Path, columns: int = 100) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "minilite", *arguments]
    environment = {**os.environ, "COLUMNS": str(columns)}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)


def test_report_names_the_file_it_wrote(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 9, 9, 1), np.float32))
    done = minilite_("report", DIGITS, "x.npy", "--runs", "1", folder=tmp_path, columns=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"wrote digits\.html \([\d.]+ KiB\): open it in a browser\n", done.stdout)
    assert "image 2x9x9x1 float32" in (tmp_path / "digits.html").read_text(encoding="utf-8")
    done = minilite_("report", DIGITS, "--runs", "0", "-o", "-", folder=tmp_path)
    assert done.stdout.startswith("<!doctype html>")
    assert done.stdout.endswith("</html>\n")


def test_report_refuses_wrong_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.tflite").write_bytes(Path(DIGITS).read_bytes()[:5000])
    for arguments, status, text in (
        (["broken.tflite"], 1, "broken.tflite"),
        (["nothing.tflite"], 1, "nothing.tflite"),
        ([DIGITS, "--shape", "1,8,8,3"], 1, "CONV_2D"),
        ([DIGITS, "--runs", "0", "-o", "no/out.html"], 1, "'no/out.html': no such file or directory"),
        ([DIGITS, "--runs", "-1"], 2, "--runs"),
        ([DIGITS, "--json", "-o", "-"], 2, "--json and -o - both write to standard output: choose one"),
        ([DIGITS, "--sweep", "1,8,8,1"], 2, "has no range"),
        ([], 2, "MODEL"),
    ):
        try:
            found: Any = main(["report", *arguments])
        except SystemExit as error:
            found = error.code
        shown = capsys.readouterr()
        assert (found, shown.out, shown.err.count("\n")) == (status, "", 1), shown.err
        assert text in shown.err
    assert [path.name for path in tmp_path.iterdir()] == ["broken.tflite"]


def test_a_model_that_cannot_run_on_random_values_is_shown_untimed(tmp_path: Path) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    int32 = minilite.format.dtypes.TensorType.INT32
    x, rows = graph.input("x", (1,), int32), graph.constant("rows", np.zeros((1, 2), np.float32))
    far = graph.node("ADD", [x, graph.constant("7", np.int32(7))], out=("far", (1,), int32))
    graph.output(graph.node("GATHER", [rows, far], out=("y", (1, 2))))
    (tmp_path / "gather.tflite").write_bytes(builder.build())
    done = minilite_("report", "gather.tflite", folder=tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith("minilite: not timed: ")
    assert "Not timed" in (tmp_path / "gather.html").read_text(encoding="utf-8")


def test_a_run_that_takes_long_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("minilite.cli.report._PATIENCE", 0.01)
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 1024, 1024))
    for at in range(60):
        x = graph.node("BATCH_MATMUL", [x, x], out=(f"y{at}", (1, 1024, 1024)))
    graph.output(x)
    (tmp_path / "slow.tflite").write_bytes(builder.build())
    text = written(tmp_path / "out.html", str(tmp_path / "slow.tflite"))
    assert capsys.readouterr().err == "minilite: not timed: a run takes more than 0.01 s; --runs 1 times one\n"
    assert "Not timed" in text
    assert len(data_of(text)["records"]) > 2


def test_closed_pipe(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "minilite", "report", DIGITS, "--runs", "0", "-o", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(patience(30)) == 0


SLOW = """
import sys, time
from minilite.cli import main
from minilite.report import html

def slow(*arguments):
    print("drawing", flush=True)
    for _ in range(3000):
        time.sleep(0.01)

html.page = slow
sys.exit(main())
"""


def test_ctrl_c_leaves_no_file(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SLOW, "report", DIGITS, "--runs", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "drawing\n"
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=patience(30))
    assert (process.returncode, error) == (130, "minilite: interrupted\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["page.html", "page.js"])
def test_the_page_stays_small(name: str) -> None:
    folder = Path(minilite.__file__).parent / "report"
    assert sum((folder / each).stat().st_size for each in ("page.html", "page.js")) <= 36 << 10
    assert "http" not in (folder / name).read_text(encoding="utf-8").replace("http-equiv", "")


def test_a_comparison_is_a_part_of_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = written(tmp_path / "out.html", DIGITS, "--runs", "0", "--against", "reference")
    (part,) = re.findall(
        r'<h2 id="part\d">Comparison</h2>\n(.*?)<',
        text.replace("<br>", "\n").replace('<div class="scroll plain"><p>', ""),
        re.DOTALL,
    )
    assert "9 tensors compared, 0 diverge" in part
    assert "numpy references" in part
    with pytest.raises(SystemExit) as wrong:
        main(["report", DIGITS, "--against", "nobody"])
    assert wrong.value.code == 2
    assert "there is no 'nobody' to compare with" in capsys.readouterr().err
