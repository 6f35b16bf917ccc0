"""The constructor's options: what each takes, what it does, and how it is refused."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from built import custom_chain, floats, ready, relu_chain
from support.peer import interpreter as oracle

import minilite
from minilite import interpreter as ours
from minilite import options
from minilite._native.kernels import level_names
from minilite._native.memory import strategies
from minilite.cli import main
from minilite.engine.engine import engine_of
from minilite.errors import InputError
from minilite.format.builder import ModelBuilder
from minilite.format.quantization import Quantization


def test_literals_name_all_that_is_taken() -> None:
    assert get_args(options.Planner) == strategies()
    assert set(get_args(options.InPlace)) == set(options._IN_PLACE)


def test_literals_are_taken_by_the_constructor() -> None:
    for planner in get_args(options.Planner):
        for in_place in get_args(options.InPlace):
            for load in get_args(options.Load):
                minilite.Interpreter(model_content=relu_chain(), planner=planner, in_place=in_place, load=load)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"planner": "exakt"}, r"^planner is 'exakt', must be one of default, naive, "),
        ({"planner": None}, r"^planner is None, must be one of default, naive, "),
        ({"in_place": "nope"}, r"^in_place is 'nope', must be one of none, tflite, wide$"),
        ({"load": "nope"}, r"^load is 'nope', must be one of map, copy$"),
        ({"custom_ops": ["Foo"]}, r"^custom_ops is of type list, must map names of operators to functions$"),
        ({"custom_ops": {"Foo": 3}}, r"^custom_ops\['Foo'\] is of type int, must be a function or a kernel$"),
        ({"custom_ops": {"Foo": None}}, r"^custom_ops\['Foo'\] is of type NoneType, must be a function or a kernel$"),
        ({"custom_ops": {3: min}}, r"^custom_ops has the key 3, must be the name of an operator$"),
    ],
)
def test_options_are_refused_by_the_constructor(given: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        minilite.Interpreter(model_content=relu_chain(), **given)


def test_a_shape_function_is_checked_too() -> None:
    def function(node: Any, x: Any) -> Any:
        return x

    function.shape = (4,)  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=r"^custom_ops\['Foo'\]\.shape is of type tuple, must be a function$"):
        minilite.Interpreter(model_content=custom_chain("Foo"), custom_ops={"Foo": function})


def zero_points() -> bytes:
    builder = ModelBuilder()
    graph = builder.subgraph()
    scales = (0.5, 0.25, 0.125)
    for name, points in (("zeros", (0, 0, 0)), ("fives", (5, 5, 5)), ("mixed", (5, 6, 5))):
        graph.constant(name, np.zeros((3, 2), np.int8), quantization=Quantization(scales, points, 0))
    graph.constant("one", np.zeros((3, 2), np.int8), quantization=Quantization((0.5,), (5,)))
    graph.output(graph.node("RELU", [graph.input("x", (1,))], out=("y", (1,))))
    return builder.build()


@pytest.mark.parametrize("compress", [False, True])
def test_zero_points_are_compressed_as_in_litert(compress: bool) -> None:
    found = []
    for kind in (minilite.Interpreter, oracle.Interpreter):
        interpreter = kind(model_content=zero_points(), experimental_compress_quantization_zero_points=compress)
        assert interpreter.experimental_compress_quantization_zero_points is compress
        details = interpreter.get_tensor_details()
        points = {d["name"]: d["quantization_parameters"]["zero_points"] for d in details}
        found.append({name: (array.dtype, array.tolist()) for name, array in points.items()})
    assert found[0] == found[1]
    assert found[0]["fives"][1] == ([5] if compress else [5, 5, 5])


def test_interpreter_with_custom_ops_is_a_class_of_its_own() -> None:
    for module in (ours, oracle):
        interpreter: Any = module.InterpreterWithCustomOps([], model_content=relu_chain())
        assert isinstance(interpreter, module.Interpreter)
        assert isinstance(module.InterpreterWithCustomOps(model_content=relu_chain()), module.Interpreter)
    with pytest.raises(ValueError, match=r"^`model_path` or `model_content` must be specified\. "):
        ours.InterpreterWithCustomOps(None)
    library = "Loading library 'nowhere.so' failed with error 'nowhere.so: cannot open shared object file"
    for registerers, begins in (
        (["TF_Register"], "Looking up symbol 'TF_Register' failed: custom_op"),
        (["nowhere.Register"], library),
        (["malloc"], "custom_op"),
        ([print], "custom_op"),
    ):
        with pytest.raises(InputError, match=r"_registerers are C\+\+ .* custom_ops=\{'Name': function\}$") as raised:
            ours.InterpreterWithCustomOps(registerers, model_content=relu_chain())
        assert str(raised.value).startswith(begins)
    made = ours.InterpreterWithCustomOps(
        custom_op_registerers=None, model_content=custom_chain("Foo"), custom_ops={"Foo": lambda node, x: -x}
    )
    assert made.run(floats(-1, 2))["z"].tolist() == [1, 0]


def test_a_clone_is_of_the_same_class() -> None:
    class Mine(minilite.Interpreter):
        def first(self) -> Any:
            return self.get_tensor(self.get_output_details()[0])[0]

    one = Mine(model_content=relu_chain())
    other = one.clone()
    assert type(other) is Mine
    other.run(floats(3, 4))
    assert other.first() == 3
    assert type(ours.InterpreterWithCustomOps(model_content=relu_chain()).clone()) is ours.InterpreterWithCustomOps


def test_shapes_may_be_arrays() -> None:
    interpreter = ready(relu_chain())
    interpreter.resize_tensor_input(0, np.array([2, 3]))
    interpreter.allocate_tensors()
    assert interpreter.get_tensor(0).shape == (2, 3)
    assert interpreter.plan_for({"x": np.array([5], np.int64)}).shape(0) == (5,)


@pytest.mark.parametrize("level", level_names())
def test_two_levels_run_in_one_process(level: str) -> None:
    model = minilite.Interpreter(model_content=relu_chain()).model
    chosen, best = minilite.Interpreter(model, level=level), minilite.Interpreter(model)
    x = np.linspace(-2, 2, 4, dtype=np.float32)
    np.testing.assert_array_equal(chosen.run(x)["y2"], best.run(x)["y2"])
    assert chosen.plan is not None
    assert chosen.plan.level == level
    other = chosen.clone()
    other.allocate_tensors()
    assert other.plan is not None
    assert other.plan.level == level


def test_the_argument_is_stronger_than_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINILITE_ISA", "scalar")
    for level, expected in ((level_names()[-1], level_names()[-1]), (None, "scalar")):
        interpreter = minilite.Interpreter(model_content=relu_chain(), level=level)
        interpreter.allocate_tensors()
        assert interpreter.plan is not None
        assert interpreter.plan.level == expected


@pytest.mark.parametrize("wrong", ["best", "", 3])
def test_levels_that_are_not_there_are_refused(wrong: object, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=f"level is {wrong!r}, must be one of scalar"):
        minilite.Interpreter(model_content=relu_chain(), level=wrong)  # type: ignore[arg-type]
    with pytest.raises(SystemExit) as exit_:
        main(["run", "x.tflite", "--level", str(wrong)])
    assert exit_.value.code == 2
    assert f"this machine has no level '{wrong}': it has scalar" in capsys.readouterr().err


def test_switches_are_yes_or_no() -> None:
    """As in LiteRT: any value with a truth value is taken, except texts, because "no" would be true."""
    for name in (
        "experimental_preserve_all_tensors",
        "experimental_disable_delegate_node_fusion",
        "experimental_compress_quantization_zero_points",
    ):
        for module in (ours, oracle):
            for value in ("yes", [True]):
                with pytest.raises(
                    TypeError, match=f"{name} is .* must be True or False" if module is ours else "incompatible"
                ):
                    module.Interpreter(
                        None, relu_chain(), None, None, module.OpResolverType.BUILTIN_REF, **{name: value}
                    )
        for value in (True, 1, None, np.False_):
            ours.Interpreter(model_content=relu_chain(), **{name: value})
    with pytest.raises(InputError, match="preserve_inputs is 'no', must be True or False"):
        ours.Interpreter(model_content=relu_chain(), preserve_inputs="no")


def test_equal_arguments_share_checked_options_and_others_do_not() -> None:
    first, second = (ready(relu_chain(), num_threads=1) for _ in range(2))
    assert engine_of(first).options is engine_of(second).options
    assert engine_of(ready(relu_chain(), num_threads=2)).options.threads == 2
    with pytest.raises(InputError, match="num_threads"):
        ready(relu_chain(), num_threads=True)  # equal to 1, and not the same
    for planner in ("naive", "default"):
        assert engine_of(ready(relu_chain(), planner=planner)).options.strategy == planner
    with pytest.raises(InputError, match="planner is"):
        ready(relu_chain(), planner=["naive"])
    assert engine_of(ready(relu_chain(), custom_ops={})).options.custom_ops == {}
