"""40 snippets that a new user would write, run on minilite and on LiteRT: the same results, or better ones that are
stated."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built import accumulator, floats, one_signature, relu_chain, run, signed
from conformance.test_mended_results import counters
from processes import comes_true
from support import peer
from support.first_models import classifier, memory, product, where
from support.peer import interpreter as oracle

import minilite
from minilite import interpreter as ours

DIGITS = str(Path(minilite.__file__).parent / "data" / "digits.tflite")
PICTURE = np.random.default_rng(1).random((1, 8, 8, 1), np.float32)


def ready(module: Any, model: bytes | str, **options: Any) -> Any:
    """An interpreter of either runtime, allocated."""
    source = {"model_path": model} if isinstance(model, str) else {"model_content": model}
    interpreter = module.Interpreter(**source, **options)
    interpreter.allocate_tensors()
    return interpreter


# Snippets that give the same ------------------------------------------------------------------------------------------


def quantized(module: Any) -> Any:
    interpreter = ready(module, classifier())
    (detail,), (out,) = interpreter.get_input_details(), interpreter.get_output_details()
    scale, zero_point = detail["quantization"]
    x = np.round(np.array([[1, -2, 3, 0.5]]) / scale + zero_point).astype(detail["dtype"])
    scale, zero_point = out["quantization"]
    return (run(interpreter, x)[0].astype(np.float32) - zero_point) * scale


def batches(module: Any) -> Any:
    interpreter = ready(module, DIGITS)
    interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], (3, 8, 8, 1))
    interpreter.allocate_tensors()
    return run(interpreter, np.concatenate([PICTURE, PICTURE * 0.5, 1 - PICTURE]))


def strict_sizes(module: Any) -> Any:
    interpreter, found = ready(module, DIGITS), []
    for side in (16, 24, 16, 40):
        interpreter.resize_tensor_input(0, [1, side, side, 1], strict=True)
        interpreter.allocate_tensors()
        found += run(interpreter, np.resize(PICTURE, (1, side, side, 1)))
    return found


def details_early(module: Any) -> Any:
    interpreter = module.Interpreter(DIGITS)
    return [interpreter.get_input_details(), interpreter.get_output_details()]


def op_details(module: Any) -> Any:
    return ready(module, relu_chain())._get_ops_details()[:3]  # LiteRT adds one for its delegate


def shared_state(module: Any) -> Any:
    interpreter = ready(module, counters(2))
    runners = [interpreter.get_signature_runner(key) for key in "abab"]
    return [runner(x=floats(number)) for number, runner in enumerate(runners, 1)]


def resized_signature(module: Any) -> Any:
    runner = ready(module, signed()).get_signature_runner("sum")
    return [runner(p=np.ones(size, np.float32), q=np.ones(size, np.float32)) for size in (2, 5, 2)]


def preserved(module: Any) -> Any:
    """With LiteRT's reference kernels, because it warns about memory with others."""
    interpreter = ready(
        module,
        DIGITS,
        experimental_preserve_all_tensors=True,
        experimental_op_resolver_type=module.OpResolverType.BUILTIN_REF,
    )
    run(interpreter, PICTURE)
    return [
        interpreter.get_tensor(op["outputs"][0]) for op in interpreter._get_ops_details() if op["op_name"] != "DELEGATE"
    ]


def views(module: Any) -> Any:
    interpreter = ready(module, relu_chain())
    x, y = interpreter.tensor(0), interpreter.tensor(3)
    for number in range(3):
        x()[:] = floats(-1, number, 2, 3)
        interpreter.invoke()
    return [y().copy(), y().shape, y().dtype, y().flags.writeable]


def in_place(module: Any) -> Any:
    interpreter, found = ready(module, relu_chain()), []
    x, y = interpreter.tensor(0), interpreter.tensor(3)
    for number in range(3):
        x().fill(number)
        interpreter.invoke()
        found.append(float(y()[0]))
    return found


def copies(module: Any) -> Any:
    interpreter = ready(module, relu_chain())
    first = run(interpreter, floats(1, 2, 3, 4))[0]
    second = run(interpreter, floats(5, 6, 7, 8))[0]
    first[0] = 99
    return [first, second, interpreter.get_tensor(3), first.flags.owndata, first.flags.writeable]


def inputs_after(module: Any) -> Any:
    interpreter = ready(module, relu_chain())
    run(interpreter, floats(-1, 2, -3, 4))
    return interpreter.get_tensor(0)


def by_position(module: Any) -> Any:
    kind = module.OpResolverType.BUILTIN
    interpreter = module.Interpreter(None, relu_chain(), None, 2, kind, False, False, False, True, False, False)
    return interpreter.experimental_compress_quantization_zero_points


def resolvers(module: Any) -> Any:
    found = [(kind.name, kind.value) for kind in module.OpResolverType]
    return found + [
        run(ready(module, relu_chain(), experimental_op_resolver_type=k), floats(-1, 1, 2, -2))
        for k in module.OpResolverType
    ]


def names_of_module(module: Any) -> Any:
    names = (
        "Delegate",
        "Interpreter",
        "InterpreterWithCustomOps",
        "OpResolverType",
        "SignatureRunner",
        "load_delegate",
    )
    return [name for name in names if hasattr(module, name)]


def others_go_on(module: Any) -> Any:
    """True if this thread goes on while another one runs."""
    interpreter = ready(module, product())

    def goes_on() -> bool:
        begun, ended = threading.Event(), threading.Event()
        thread = threading.Thread(target=lambda: (begun.set(), interpreter.invoke(), ended.set()))
        thread.start()
        begun.wait()
        meanwhile = not ended.wait(0.02)
        thread.join()
        return meanwhile

    return comes_true(goes_on, seconds=30)


def views_stay(module: Any) -> Any:
    interpreter = ready(module, relu_chain())
    view = interpreter.tensor(0)()
    view[:] = 7
    del interpreter
    return view


def mirrored(module: Any) -> Any:
    interpreter = ready(module, relu_chain(size=6))
    interpreter.set_tensor(0, np.arange(12, dtype=np.float32)[::-2])
    return interpreter.get_tensor(0)


def dynamic(module: Any) -> Any:
    interpreter = ready(module, where())
    return [run(interpreter, np.array(bits, bool)) for bits in ([1, 0, 1, 1, 0], [0, 0, 0, 0, 1], [1] * 5)]


def kinds_of_details(module: Any) -> Any:
    detail = ready(module, classifier()).get_input_details()[0]
    message = {key: type(value) for key, value in detail.items()} | {
        key: type(value) for key, value in detail["quantization_parameters"].items()
    }
    return [
        list(detail),
        sorted(f"{key} {kind}" for key, kind in message.items()),
        *map(str, map(type, detail["quantization"])),
        detail["dtype"],
    ]


def reference_bits(module: Any) -> Any:
    interpreter = ready(
        module,
        classifier(),
        experimental_op_resolver_type=module.OpResolverType["BUILTIN_REF" if module is oracle else "AUTO"],
    )
    return [
        run(interpreter, np.array([row], np.int8)) for row in ([1, -2, 3, 4], [127, 127, -128, 0], [-128, 9, 9, 127])
    ]


def refused_resolver(module: Any, kind: Any) -> Any:
    with pytest.raises(ValueError, match=f"^Unrecognized passed in op resolver type: {kind}"):
        module.Interpreter(model_content=relu_chain(), experimental_op_resolver_type=kind)
    return "refused"


def compressed(module: Any) -> Any:
    interpreter = ready(module, classifier(), experimental_compress_quantization_zero_points=True)
    return interpreter.get_tensor_details()[1]["quantization_parameters"]


def wrapped(module: Any) -> Any:
    interpreter = ready(module, relu_chain())  # LiteRT's wrapper reads its bytes
    wrapper = interpreter._interpreter
    names = wrapper.NodeName(0), wrapper.TensorName(0, 0)
    return [wrapper.NumTensors(0) >= 4, *names, wrapper.InputIndices(), wrapper.OutputIndices()]


def is_safe(module: Any) -> Any:
    interpreter = ready(module, relu_chain())
    interpreter._ensure_safe()
    view = interpreter.tensor(0)()
    with pytest.raises(RuntimeError, match="There is at least 1 reference to internal data"):
        interpreter._ensure_safe()
    return view.shape


def streams(module: Any) -> Any:
    found = []
    for model, shape in ((memory(), (1, 3)), (accumulator(), (4,))):
        interpreter = ready(module, model)
        found += [run(interpreter, np.full(shape, number, np.float32)) for number in (1, 2, 3)]
    return found


def tensor_details(module: Any) -> Any:
    return ready(module, relu_chain()).get_tensor_details()[:4]  # LiteRT adds those of its kernels


def reset(module: Any) -> Any:
    found = []
    for model, shape in ((memory(), (1, 3)), (accumulator(), (4,))):
        interpreter = ready(module, model)
        for _ in range(2):
            found += [run(interpreter, np.full(shape, number, np.float32)) for number in (1, 2)]
            interpreter.reset_all_variables()
    return found


def wrong_type(module: Any) -> Any:
    with pytest.raises(ValueError, match="Cannot set tensor") as caught:
        ready(module, relu_chain()).set_tensor(0, np.zeros(4))
    return str(caught.value).partition(";")[0].rstrip()


EQUAL: dict[str, Callable[[Any], Any]] = {
    "quantized classification": quantized,
    "float classification": lambda module: run(ready(module, DIGITS), PICTURE),
    "a batch": batches,
    "sizes in a loop, strict": strict_sizes,
    "details before allocation": details_early,
    "details of nodes": op_details,
    "one signature": lambda module: ready(module, one_signature()).get_signature_runner()(a=np.ones((1, 4), np.float32)),
    "two signatures": lambda module: [ready(module, signed()).get_signature_list(), ready(module, signed()).get_signature_runner("sum")(p=floats(1, 2), q=floats(3, 4))],
    "signatures that share a state": shared_state,
    "a signature, resized": resized_signature,
    "intermediates that are kept": preserved,
    "views": views,
    "the documents' way in place": in_place,
    "copies": copies,
    "inputs after a run": inputs_after,
    "arguments by position": by_position,
    "kinds of resolver": resolvers,
    "names of the module": names_of_module,
    "other threads go on": others_go_on,
    "views after del": views_stay,
    "an array backwards": mirrored,
    "a size that depends on values": dynamic,
    "types in details": kinds_of_details,
    "integers bit for bit": reference_bits,
    "a resolver by a strange name": lambda module: refused_resolver(module, "nonsense"),
    "a resolver by a strange number": lambda module: refused_resolver(module, 17),
    "zero points in short": compressed,
    "operators from C++, none": lambda module: type(module.InterpreterWithCustomOps([], model_content=relu_chain())).__name__,
    "the wrapper": wrapped,
    "details of a node": lambda module: ready(module, relu_chain())._get_op_details(1),
    "whether views are held": is_safe,
    "streams": streams,
    "details of all tensors": tensor_details,
    "variables, reset": reset,
    "a wrong type": wrong_type,
}  # fmt: skip
BETTER = ["intermediates", "a C++ object", "integers beside XNNPACK", "a view held", "what is shown"]


def same(one: Any, other: Any) -> bool:
    """Equal in values, kinds and dtypes; floats to two millionths of the largest: LiteRT's probabilities are 1.3 from
    float64's."""
    if isinstance(other, np.ndarray):
        close = (
            np.allclose(one, other, 0, 2e-6 * (1 + np.abs(other).max(initial=0)))
            if other.dtype.kind == "f"
            else np.array_equal(one, other)
        )
        return isinstance(one, np.ndarray) and one.dtype == other.dtype and one.shape == other.shape and close
    if isinstance(other, Mapping):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in other)
    if isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) and type(one) is type(other)


def test_first_use_has_40_snippets() -> None:
    assert len(EQUAL) + len(BETTER) == 40


@pytest.mark.parametrize("name", EQUAL)
def test_both_give_the_same(name: str) -> None:
    found, expected = EQUAL[name](ours), EQUAL[name](oracle)
    assert same(found, expected), (found, expected)


# Snippets that give more ----------------------------------------------------------------------------------------------


def test_intermediates_are_right_or_refused() -> None:
    """LiteRT returns the bytes of other tensors, or refuses to read tensors inside its delegate."""
    interpreter, kept = ready(ours, DIGITS), preserved(ours)
    run(interpreter, PICTURE)
    read, refused = 0, []
    for value, op in zip(kept, interpreter._get_ops_details(), strict=True):
        try:
            assert same(interpreter.get_tensor(op["outputs"][0]), value)
            read += 1
        except minilite.StateError as error:
            refused.append(str(error))
    assert read
    assert refused
    assert all("was overwritten by node" in text for text in refused)


def test_native_handle_is_refused() -> None:
    assert isinstance(ready(oracle, relu_chain())._native_handle(), int)
    with pytest.raises(TypeError, match=r"there is no tflite::Interpreter to point at: .*minilite\.kernel"):
        ready(ours, relu_chain())._native_handle()


def test_integers_are_a_step_from_those_of_the_delegate_at_most() -> None:
    for row in ([1, -2, 3, 4], [127, 127, -128, 0]):
        found, theirs = (run(ready(module, classifier()), np.array([row], np.int8))[0] for module in (ours, oracle))
        assert np.abs(found.astype(int) - theirs.astype(int)).max() <= 1


def test_runs_go_on_under_a_view() -> None:
    for module in (oracle, ours):
        interpreter = ready(module, relu_chain())
        view = interpreter.tensor(0)()
        view[:] = 5
        if module is oracle:
            with pytest.raises(RuntimeError, match="There is at least 1 reference"):
                interpreter.invoke()
            continue
        interpreter.invoke()
        interpreter.allocate_tensors()
        assert interpreter.get_tensor(3).tolist() == [5] * 4


@peer.needed
def test_public_names_include_those_of_litert() -> None:
    interpreter = ready(ours, relu_chain())
    assert "output       3  y2" in repr(interpreter)
    public = {name for name in dir(oracle.Interpreter) if not name.startswith("_")}
    assert public - set(dir(ours.Interpreter)) == set()
    for name in public | {"__init__"}:
        theirs = getattr(oracle.Interpreter, name)
        if callable(theirs):  # so arguments can be given by name
            names = [list(inspect.signature(each).parameters) for each in (theirs, getattr(ours.Interpreter, name))]
            assert names[1][: len(names[0])] == names[0], name
    private = {name for name in dir(oracle.Interpreter) if name.startswith("_") and not name.startswith("__")}
    assert private - set(dir(ours.Interpreter)) <= {"_abc_impl"}
