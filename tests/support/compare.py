"""Compares a model run by minilite's C kernels, by its numpy references and by LiteRT, which must agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support import peer
from support.peer import interpreter as litert

import minilite

Array = NDArray[Any]
EPS = float(np.finfo(np.float32).eps)
REFERENCE = litert.OpResolverType.BUILTIN_REF
"""LiteRT's reference kernels: the oracle, if not said otherwise."""
BUILTIN = litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
"""LiteRT's optimized kernels, for operators that have no reference kernel or a wrong one."""


def check(
    model: bytes, inputs: Sequence[Array], *, tolerance: float | Array = 0.0, oracle: Any = REFERENCE
) -> list[Array]:
    """Runs `model` on `inputs` all three ways and compares every output; returns those of the C kernels.

    Inputs are resized to the arrays' shapes where they differ from the file's. Types and shapes are equal, integers
    equal bit for bit, floats within `tolerance` (absolute, a number or an array). `oracle=None` is for models that
    LiteRT refuses or gets wrong: say why where you use it. Where LiteRT is not installed, it is left out.
    """
    results = run_minilite(model, inputs)
    compare(run_minilite(model, inputs, reference=True), results, tolerance, "C kernel against numpy reference")
    if oracle is not None and peer.HERE:
        compare(run_litert(model, inputs, oracle), results, tolerance, "C kernel against LiteRT")
    return results


def run_minilite(model: bytes, inputs: Sequence[Array], *, reference: bool = False) -> list[Array]:
    """The outputs of minilite; of its numpy references with `reference`."""
    kinds = minilite.OpResolverType
    resolver = kinds.BUILTIN_REF if reference else kinds.AUTO
    return _run(minilite.Interpreter(model_content=model, experimental_op_resolver_type=resolver), inputs)


def run_litert(model: bytes, inputs: Sequence[Array], oracle: Any = REFERENCE, **options: Any) -> list[Array]:
    """The outputs of LiteRT; the options are those of its Interpreter."""
    return _run(litert.Interpreter(model_content=model, experimental_op_resolver_type=oracle, **options), inputs)


def check_steps(
    model: bytes, steps: Sequence[Sequence[Array]], *, tolerance: float | Array = 0.0, oracle: Any = REFERENCE
) -> list[list[Array]]:
    """The same for a model with state: one interpreter of each kind, invoked once per step; returns the outputs by
    step."""
    kinds = minilite.OpResolverType
    resolvers = {"C": kinds.AUTO, "numpy": kinds.BUILTIN_REF}
    results: dict[str, list[list[Array]]] = {}
    for name, resolver in resolvers.items():
        interpreter = minilite.Interpreter(model_content=model, experimental_op_resolver_type=resolver)
        results[name] = [_run(interpreter, inputs, first=not i) for i, inputs in enumerate(steps)]
    if oracle is not None and peer.HERE:
        theirs = litert.Interpreter(model_content=model, experimental_op_resolver_type=oracle)
        results["LiteRT"] = [_run(theirs, inputs, first=not i) for i, inputs in enumerate(steps)]
    for name in list(results)[1:]:
        for step, (expected, found) in enumerate(zip(results[name], results["C"], strict=True)):
            compare(expected, found, tolerance, f"C kernel against {name}, step {step}")
    return results["C"]


def compare(expected: Sequence[Array], found: Sequence[Array], tolerance: float | Array, what: str) -> None:
    """Raises AssertionError with the first difference and how many there are."""
    assert len(expected) == len(found), what
    for number, (a, b) in enumerate(zip(expected, found, strict=True)):
        where = f"{what}, output {number}"
        assert a.dtype == b.dtype, f"{where}: {a.dtype} expected, found {b.dtype}"
        assert a.shape == b.shape, f"{where}: shape {a.shape} expected, found {b.shape}"
        if a.dtype.kind == "V":  # bfloat16
            a, b = a.astype(np.float32), b.astype(np.float32)
        if a.dtype.kind in "fc":
            np.testing.assert_array_equal(np.isnan(a), np.isnan(b), err_msg=where)
            with np.errstate(invalid="ignore"):
                different = ~((a == b) | np.isnan(a) | (np.abs(a - b) <= tolerance))
        else:
            different = a != b
        if different.any():
            at = tuple(int(i) for i in np.argwhere(different)[0])
            message = f"{where}: {different.sum()} of {a.size} differ, first {at}: {a[at]} expected, found {b[at]}"
            raise AssertionError(message)


def _run(interpreter: Any, inputs: Sequence[Array], *, first: bool = True) -> list[Array]:
    details = interpreter.get_input_details()
    assert len(details) == len(inputs), f"{len(details)} inputs wanted, {len(inputs)} given"
    for detail, array in zip(details, inputs, strict=True):
        if first and tuple(detail["shape"]) != array.shape:
            interpreter.resize_tensor_input(detail["index"], array.shape)
    if first:
        interpreter.allocate_tensors()
    for detail, array in zip(details, inputs, strict=True):
        bits = detail["dtype"].__name__ == "bfloat16" and array.dtype == np.uint16
        interpreter.set_tensor(detail["index"], array.view(detail["dtype"]) if bits else array)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
