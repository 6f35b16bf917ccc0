"""LiteRT's private names give what LiteRT's give, and minilite stands in for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import interpreter as oracle
from built import floats, ready, relu_chain

import minilite
from minilite import InputError, StateError
from minilite.errors import InputTypeError
from minilite.stand_in import install_as

FACTS = ["NumTensors", "NumNodes", "NumSubgraphs", "InputIndices", "OutputIndices", "GetSignatureDefs"]
OF_TENSORS = [
    "TensorName",
    "TensorType",
    "TensorSize",
    "TensorSizeSignature",
    "TensorQuantization",
    "TensorSparsityParameters",
]


def both() -> tuple[Any, Any]:
    made = [kind(model_content=relu_chain()) for kind in (minilite.Interpreter, oracle.Interpreter)]
    for interpreter in made:
        interpreter.allocate_tensors()
    return made[0], made[1]


def equal(ours: Any, theirs: Any) -> bool:
    return bool(np.all(np.asarray(ours) == np.asarray(theirs))) and type(ours) is type(theirs)


def test_the_wrapper_knows_what_litert_s_knows() -> None:
    ours, theirs = both()
    for name in FACTS:
        arguments = (0,) if name == "NumTensors" else ()
        if name == "NumNodes":
            assert ours._interpreter.NumNodes() == 3  # LiteRT adds one for its delegate
            continue
        assert equal(getattr(ours._interpreter, name)(*arguments), getattr(theirs._interpreter, name)(*arguments)), name
    for name in OF_TENSORS:
        for tensor in range(4):
            assert equal(getattr(ours._interpreter, name)(tensor, 0), getattr(theirs._interpreter, name)(tensor, 0)), (
                name
            )
    for name in ("NodeName", "NodeInputs", "NodeOutputs"):
        assert equal(getattr(ours._interpreter, name)(1), getattr(theirs._interpreter, name)(1)), name
    for one, other in zip(
        ours._interpreter.TensorQuantizationParameters(0, 0),
        theirs._interpreter.TensorQuantizationParameters(0, 0),
        strict=False,
    ):
        assert np.array_equal(one, other)


def test_the_wrapper_s_calls_are_the_interpreter_s() -> None:
    interpreter = ready(relu_chain())
    wrapper = interpreter._interpreter
    wrapper.ResizeInputTensor(0, (2,), False)
    wrapper.AllocateTensors()
    wrapper.SetTensor(0, floats(-1, 2))
    wrapper.SetNumThreads(2)
    wrapper.Invoke()
    assert wrapper.GetTensor(3, 0).tolist() == [0, 2]
    assert wrapper.tensor(wrapper, 3).tolist() == [0, 2]


def test_details_of_nodes() -> None:
    ours, theirs = both()
    for index in range(3):
        one, other = ours._get_op_details(index), theirs._get_op_details(index)
        assert list(one) == list(other)
        assert one["op_name"] == other["op_name"]
        assert np.array_equal(one["inputs"], other["inputs"])
    assert len(ours._get_ops_details()) == 3
    with pytest.raises(RuntimeError, match="node 9 does not exist"):
        ours._get_op_details(9)
    assert ours._get_full_signature_list() == theirs._get_full_signature_list()
    with pytest.raises(InputTypeError, match="there is no tflite::Interpreter"):
        ours._native_handle()


def test_whether_views_are_held() -> None:
    interpreter = ready(relu_chain())
    interpreter._ensure_safe()
    view = interpreter.tensor(0)()
    assert not interpreter._safe_to_run()
    with pytest.raises(StateError, match="There is at least 1 reference to internal data"):
        interpreter._ensure_safe()
    del view
    assert interpreter._safe_to_run()


PROGRAM = """
import sys
import numpy as np
{imports}
interpreter = Interpreter(model_path=sys.argv[1])
interpreter.allocate_tensors()
interpreter.set_tensor(0, np.float32([-1, 2, -3, 4]))
interpreter.invoke()
print(type(interpreter).__module__, interpreter.get_tensor(3).tolist(), *sys.argv[2:])
"""
IMPORTS = {
    "ai_edge_litert": "from ai_edge_litert.interpreter import Interpreter, load_delegate, OpResolverType",
    "tflite_runtime": "import tflite_runtime.interpreter as tflite; Interpreter = tflite.Interpreter",
    "tensorflow.lite": "import tensorflow as tf; Interpreter = tf.lite.Interpreter; tf.lite.experimental.load_delegate",
}


@pytest.mark.parametrize("package", IMPORTS)
def test_programs_run_unchanged(package: str, tmp_path: Path) -> None:
    program, model = tmp_path / "program.py", tmp_path / "m.tflite"
    program.write_text(PROGRAM.format(imports=IMPORTS[package]))
    model.write_bytes(relu_chain())
    command = [sys.executable, "-m", "minilite", "as", package, str(program), str(model), "--flag"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout == "minilite.interpreter [0.0, 2.0, 0.0, 4.0] --flag\n"


def test_programs_that_look_before_they_import_find_it() -> None:
    """Many ask `find_spec` which of the packages is there."""
    code = """
import importlib.util, minilite
minilite.install_as()
for name in ("ai_edge_litert", "tflite_runtime", "tflite_runtime.interpreter", "tensorflow", "tensorflow.lite", "tensorflow.lite.python"):
    assert importlib.util.find_spec(name) is not None, name
from tensorflow.lite.python.interpreter import Interpreter
assert Interpreter is minilite.Interpreter
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_program_s_own_errors_are_shown_as_python_shows_them(tmp_path: Path) -> None:
    """Those of files too, which the command would put in a line; and modules run as with python -m."""
    program = tmp_path / "program.py"
    program.write_text("import sys\n\n\ndef read():\n    return open(sys.argv[1])\n\n\nread()\n")
    command = [sys.executable, "-m", "minilite", "as", "all"]
    for how in ([str(program)], ["-m", "program"]):
        found = subprocess.run([*command, *how, "/nope"], capture_output=True, text=True, check=False, cwd=tmp_path)
        assert found.returncode == 1
        assert found.stderr.startswith("Traceback (most recent call last):\n")
        assert found.stderr.endswith("FileNotFoundError: [Errno 2] No such file or directory: '/nope'\n")
        assert "stand_in.py" not in found.stderr
        assert "runpy" not in found.stderr
        assert "in read\n" in found.stderr


def test_only_for_packages_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot stand in for 'onnxruntime', only for ai_edge_litert, tflite_runtime"):
        install_as("onnxruntime")
    command = [sys.executable, "-m", "minilite", "as", "all", str(tmp_path / "none.py")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert found.stderr.endswith("none.py is not a file: takes a Python program\n")
