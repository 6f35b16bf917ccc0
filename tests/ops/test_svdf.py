"""SVDF: C kernels, numpy reference and LiteRT agree over several invokes with state (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.compare import EPS, check_steps, compare
from support.micro import INSTALLED, run_micro
from support.node import Array, Given, OneNode, Out, const, dtype_of, values

import minilite
from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.quantization import NOT_QUANTIZED, Quantization

FLOAT, HYBRID, INTEGER = "f32 f32 f32 f32 f32", "f32 s8 s8 f32 f32", "s8 s8 s16 s32 s16"
UNSIGNED = "f32 u8 u8 f32 f32"
BYTES = "s8 s8 s8 s32 s8"
"""Only TensorFlow Lite Micro takes these: LiteRT mistakes the bytes for int16, and writes beyond them."""
TOLERANCE = {FLOAT: 100 * EPS, HYBRID: 100 * EPS, UNSIGNED: 100 * EPS, INTEGER: 0.0, BYTES: 0.0}


def one_scale(kind: str, scale: float, zero_point: int = 0) -> Quantization:
    return NOT_QUANTIZED if kind[0] == "f" else Quantization((float(np.float32(scale)),), (zero_point,))


class Svdf(OneNode):
    """A node of (batches, depth) inputs and units * rank filters with a memory, all at random."""

    def __init__(
        self,
        types: str = FLOAT,
        batches: int = 2,
        depth: int = 5,
        units: int = 3,
        memory: int = 4,
        rank: int = 2,
        *,
        bias: bool = True,
        seed: int = 0,
        state: Any = None,
        variable: bool = True,
        **options: Any,
    ) -> None:
        rng = np.random.default_rng(seed)
        kinds = types.split()
        filters = units * rank

        def drawn(kind: str, *shape: int) -> Array:
            array = values(rng, kind, shape, 1.0)
            if kind == "u8":  # another name for s8
                return np.maximum(array.view(np.int8), -127).view(np.uint8)
            return array if kind[0] == "f" else np.maximum(array, -np.iinfo(array.dtype).max)

        integer_bias = rng.integers(-3000, 3000, units).astype(dtype_of(kinds[3]))
        scale = one_scale("s32", 0.3 * 0.01) if kinds[4] == "s8" else NOT_QUANTIZED  # TFLM looks at it
        state_shape = (batches, filters * memory) if state is None else state
        inputs = [
            Given(drawn(kinds[0], batches, depth), quantization=one_scale(kinds[0], 0.02, 5)),
            const(drawn(kinds[1], filters, depth), dtype_of(kinds[1]), one_scale(kinds[1], 0.01)),
            const(
                drawn(kinds[2], filters, memory),
                dtype_of(kinds[2]),
                one_scale(kinds[2], 0.01 if kinds[2] == "s8" else 1e-4),
            ),
            const(drawn("f32", units) if kinds[3] == "f32" else integer_bias, dtype_of(kinds[3]), scale)
            if bias
            else None,
            Given(
                np.zeros(state_shape, dtype_of(kinds[4])),
                quantization=one_scale(kinds[4], 0.3, -50) if kinds[4] == "s8" else one_scale(kinds[4], 0.001),
                variable=variable,
            ),
        ]
        out = Out(kinds[0], one_scale(kinds[0], 0.5, -3), (batches, units))
        super().__init__("SVDF", inputs, {"rank": rank, **options}, outs=[out], version=4)
        self.rng, self.kind = rng, kinds[0]

    def steps(self, count: int) -> list[list[Array]]:
        """Inputs for so many invokes."""
        return [[values(self.rng, self.kind, self.arrays[0].shape, 1.0)] for _ in range(count)]


def every(rng: Any, inputs: Any, outputs: Any) -> Any:
    types = " ".join(inputs)
    judge: dict[str, Any] = {"oracle": None} if types == BYTES else {}
    return Svdf(types, fused_activation_function="RELU"), {"tolerance": TOLERANCE[types], **judge}


EVERY_TYPE = {"SVDF": every}


@pytest.mark.parametrize("types", [FLOAT, HYBRID, UNSIGNED, INTEGER])
def test_state_over_invokes(types: str) -> None:
    """More invokes than the memory has places; what each of them gives depends on the ones before."""
    rng = np.random.default_rng(3)
    for seed in range(12):
        batches, depth, units, memory, rank = (int(v) for v in rng.integers(1, (4, 40, 12, 9, 4)))
        options = {
            "asymmetric_quantize_inputs": seed % 2 == 1,
            "fused_activation_function": ("NONE", "RELU")[seed // 2 % 2],
        }
        if types == INTEGER:
            options = {"fused_activation_function": "RELU"}  # the only one that LiteRT takes
        node = Svdf(types, batches, depth, units, memory, rank, bias=seed % 3 > 0, seed=seed, **options)
        steps = node.steps(memory + 3)
        steps[1][0][...] = 0
        outputs = check_steps(node.model, steps, tolerance=TOLERANCE[types] * 10)
        if memory > 1 and types != INTEGER:
            alone = minilite.Interpreter(model_content=node.model)
            alone.allocate_tensors()
            alone.set_tensor(0, steps[-1][0])
            alone.invoke()
            found = alone.get_tensor(alone.get_output_details()[0]["index"])
            assert types == INTEGER or not np.array_equal(found, outputs[-1][0])


def test_state_of_bytes_over_invokes() -> None:
    """The state begins at its zero point, and sums beyond its range wrap by that."""
    rng = np.random.default_rng(5)
    for seed in range(12):
        _, depth, units, memory, rank = (int(v) for v in rng.integers(1, (2, 40, 12, 9, 4)))
        bias = seed % 3 > 0
        node = Svdf(BYTES, 1, depth, units, memory, rank, bias=bias, seed=seed, fused_activation_function="RELU")
        steps = node.steps(memory + 3)
        found = check_steps(node.model, steps, oracle=None)
        judged = INSTALLED and bias  # without one TensorFlow Lite Micro ends the process
        for number, expected in enumerate(run_micro(node.model, steps) if judged else []):
            compare(expected, found[number], 0.0, f"C kernel against TensorFlow Lite Micro, step {number}")


@pytest.mark.parametrize("types", [FLOAT, HYBRID, UNSIGNED, INTEGER])
@pytest.mark.parametrize("reference", [False, True])
def test_state_is_zeroed_and_read(types: str, reference: bool) -> None:
    """The state is a tensor like any other: filled from its end, zeroed when variables are reset."""
    node = Svdf(types, 1, 3, 2, 4, 1, bias=False)
    kinds = minilite.OpResolverType
    interpreter = minilite.Interpreter(
        model_content=node.model, experimental_op_resolver_type=kinds.BUILTIN_REF if reference else kinds.AUTO
    )
    interpreter.allocate_tensors()
    state = next(d["index"] for d in interpreter.get_tensor_details() if d["name"] == "v4")
    filled = []
    for (x,) in node.steps(2):
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
        filled.append(interpreter.get_tensor(state).reshape(2, 4))
    assert (filled[0][:, :3] == 0).all()
    assert (filled[0][:, 3] != 0).all()
    np.testing.assert_array_equal(filled[1][:, 2], filled[0][:, 3])
    interpreter.reset_all_variables()
    assert (interpreter.get_tensor(state) == 0).all()


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (Svdf(state=(2, 23)), r"state must be \(2, 24\), its shape is \(2, 23\)"),
        (Svdf(state=(1, 24)), r"state must be \(2, 24\)"),
    ],
)
def test_shapes_refused(node: Svdf, words: str) -> None:
    node.refused(ShapeError, words)


def test_refused() -> None:
    Svdf(variable=False).refused(
        UnsupportedOpError, r"input 4 \('x4'\) is written: it must be a variable", by_litert=False
    )
    Svdf(fused_activation_function="TANH").refused(UnsupportedOpError, "fused activation TANH", by_litert=False)
    Svdf("f32 s8 f32 f32 f32").refused(UnsupportedOpError, "types f32 s8 f32 f32 f32", by_litert=False)
