"""LiteRT's private names give the same results as LiteRT's, and minilite can replace it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import floats, one_signature, ready, relu_chain
from support.peer import interpreter as oracle

import minilite
from minilite import StateError
from minilite.errors import InputError, InputTypeError

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
    with pytest.raises(RuntimeError, match="Invalid node index 9: the main subgraph has 3 nodes"):
        ours._get_op_details(9)
    assert ours._get_full_signature_list() == theirs._get_full_signature_list()
    with pytest.raises(InputTypeError, match="there is no tflite::Interpreter"):
        ours._native_handle()


def test_runners_of_signatures_have_litert_s_names() -> None:
    """ai-edge-quantizer asks a runner for its subgraph."""
    ours, theirs = (kind(model_content=one_signature()) for kind in (minilite.Interpreter, oracle.Interpreter))
    one, other = ours.get_signature_runner(), theirs.get_signature_runner()
    for name in ("_signature_key", "_subgraph_index", "_signature_def", "_inputs"):
        assert equal(getattr(one, name), getattr(other, name)), name
    assert list(one._outputs) == list(other._outputs)
    assert one._interpreter is ours
    assert one._interpreter_wrapper.NumTensors(0) == 2
    assert ours._signature_defs == theirs._signature_defs
    assert ours._delegates == theirs._delegates
    found = [made._interpreter.GetSubgraphIndexFromSignature("serving_default") for made in (ours, theirs)]
    assert found == [0, 0]
    with pytest.raises(InputError, match="delegates are not supported"):
        ours._interpreter.ModifyGraphWithDelegate("delegate")


def test_whether_views_are_held() -> None:
    interpreter = ready(relu_chain())
    interpreter._ensure_safe()
    view = interpreter.tensor(0)()
    assert not interpreter._safe_to_run()
    with pytest.raises(StateError, match="There is at least 1 reference to internal data"):
        interpreter._ensure_safe()
    del view
    assert interpreter._safe_to_run()


def test_attributes_that_litert_s_objects_have() -> None:
    ours, theirs = both()
    names = {name for name in vars(theirs) if name.startswith("_")}
    assert {"_metrics", "_custom_op_registerers", "_delegates", "_signature_defs", "_interpreter"} <= names
    assert {name for name in names if not hasattr(ours, name)} <= {
        "_model_content",  # a Model holds the bytes
        "_experimental_compress_quantization_zero_points",  # the property has no underscore
    }
    assert (ours._custom_op_registerers, ours._delegates) == (theirs._custom_op_registerers, theirs._delegates)
    public = {name for name in dir(theirs._metrics) if not name.startswith("_")}
    assert public <= set(dir(ours._metrics))
    ours._metrics.increase_counter_interpreter_creation()
    assert {name for name in dir(theirs._interpreter) if not name.startswith("_")} <= set(dir(ours._interpreter))
    with pytest.raises(InputTypeError, match="no tflite::Interpreter to point at"):
        ours._interpreter.interpreter()
    assert {name for name in dir(oracle.Delegate) if not name.startswith("__")} <= set(
        dir(minilite.interpreter.Delegate)
    )


def test_a_node_that_does_not_exist_is_refused_in_litert_s_words() -> None:
    for interpreter in both():
        with pytest.raises(ValueError, match="Invalid node index"):
            interpreter._get_op_details(9)


def test_memory_that_is_short_is_a_runtime_error() -> None:
    """Programs catch RuntimeError around allocate_tensors, because LiteRT raises it."""
    interpreter = minilite.Interpreter(model_content=relu_chain(), max_bytes=64)
    interpreter.resize_tensor_input(0, [1 << 20])
    with pytest.raises(RuntimeError) as raised:
        interpreter.allocate_tensors()
    assert isinstance(raised.value, MemoryError)


def test_a_program_s_own_counter_of_interpreters_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    from minilite.litert import metrics

    calls: list[object] = []
    monkeypatch.setattr(metrics.TFLiteMetrics, "increase_counter_interpreter_creation", lambda self: calls.append(self))
    minilite.Interpreter(model_content=relu_chain())
    assert len(calls) == 1
