"""The decode step: its composites run by kernels, its caches stay in place, and LiteRT gives the same results."""

from __future__ import annotations

import numpy as np
import pytest
from support.peer import interpreter as litert

from asv_bench.benchmarks import decode


@pytest.fixture(scope="module", params=decode.WEIGHTS)
def decoder(request: pytest.FixtureRequest) -> decode.Decoder:
    return decode.Decoder(request.param)


def test_composites_run_by_kernels(decoder: decode.Decoder) -> None:
    interpreter = decode.Step(decoder).interpreter
    assert len(interpreter.plan.frames()) == 1


def test_tokens(decoder: decode.Decoder) -> None:
    """LiteRT takes weights in blocks only by XNNPACK, which quantizes rows of floats, as for int8 weights."""
    kinds = litert.OpResolverType
    blocks = decoder.weights != "s8"
    resolver = kinds.AUTO if blocks else kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    theirs = litert.Interpreter(model_content=decoder.model, experimental_op_resolver_type=resolver)
    theirs.allocate_tensors()
    inputs = {detail["name"]: detail["index"] for detail in theirs.get_input_details()}
    outputs = [detail["index"] for detail in theirs.get_output_details()]
    step, caches = decode.Step(decoder), [np.zeros(decode.CACHE, np.float32) for _ in range(2 * decode.LAYERS)]
    rng = np.random.default_rng(2)
    for position in range(3):
        x = rng.normal(size=decode.TOKEN).astype(np.float32)
        y = step(x)
        given = {"x": x, "position": np.array([position], np.int32), "mask": step.mask}
        for name, array in {**given, **dict(zip(step.caches, caches, strict=True))}.items():
            theirs.set_tensor(inputs[name], array)
        theirs.invoke()
        expected, *caches = (theirs.get_tensor(index) for index in outputs)
        assert np.abs(y - expected).max() < (0.05 if blocks else 0.02) * np.abs(expected).max()
        for ours, other in zip(step.caches.values(), caches, strict=True):
            assert ours[:, : position + 1].any()
            assert not ours[:, position + 1 :].any()
            assert np.abs(ours - other).max() < 0.05 * np.abs(other).max()
