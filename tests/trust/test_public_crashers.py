"""Files that ended processes of LiteRT, from public reports of 2026: each is refused with an error, or runs."""

from __future__ import annotations

import numpy as np
import pytest
from built import S32, graph_with

import minilite
from minilite.errors import ArenaError, MiniliteError, ModelFormatError
from minilite.format.builder import ModelBuilder


def use(model: bytes) -> None:
    """Loads, allocates and runs."""
    interpreter = minilite.Interpreter(model_content=model)
    interpreter.allocate_tensors()
    interpreter.invoke()


def test_tensorflow_115308_root_past_the_end() -> None:
    """Eight bytes, whose first four say where the root table is."""
    for root in (0x18, 0x7FFFFFFF, 0xFFFFFFFF):
        with pytest.raises(ModelFormatError):
            use(root.to_bytes(4, "little") + b"TFL3")


@pytest.mark.parametrize("shape", [(2**31 - 1,), (1, 2**31 - 1, 3), (2**31 - 1,) * 4], ids=str)
def test_tensorflow_111458_largest_dimension(shape: tuple[int, ...]) -> None:
    """A dimension of 2**31 - 1, at the input alone and at the input and output of a node."""

    def build(g: ModelBuilder) -> list[int]:
        x = g.input("x", shape)  # type: ignore[attr-defined]
        return [g.node("RELU", [x], out=("y", shape))]  # type: ignore[attr-defined]

    with pytest.raises((ArenaError, ModelFormatError, minilite.ShapeError)):
        use(graph_with(build))


@pytest.mark.parametrize(("size", "times"), [(65537, 65536), (65536, 65536), (3, 2**31 - 1)])
def test_tensorflow_111637_tile_beyond_32_bits(size: int, times: int) -> None:
    """TILE whose product of sizes wraps to a small number in 32 bits."""

    def build(g: ModelBuilder) -> list[int]:
        x = g.input("x", (size,))  # type: ignore[attr-defined]
        multiples = g.constant("times", np.array([times], np.int32))  # type: ignore[attr-defined]
        return [g.node("TILE", [x, multiples], out=("y", (1,)))]  # type: ignore[attr-defined]

    with pytest.raises(MiniliteError):
        use(graph_with(build))


@pytest.mark.parametrize("constant", [True, False], ids=["operand", "option"])
def test_tensorflow_124982_reshape_to_more_dimensions(constant: bool) -> None:
    """RESHAPE whose output has fewer dimensions in the file than its new shape has numbers."""
    shape = (1,) * 7 + (4,)

    def build(g: ModelBuilder) -> list[int]:
        x = g.input("x", (4,))  # type: ignore[attr-defined]
        operands = [x, g.constant("shape", np.array(shape, np.int32), S32)] if constant else [x]  # type: ignore[attr-defined]
        return [g.node("RESHAPE", operands, out=("y", (1,)), options={"new_shape": shape})]  # type: ignore[attr-defined]

    interpreter = minilite.Interpreter(model_content=graph_with(build))
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.arange(4, dtype=np.float32))
    interpreter.invoke()
    found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    assert found.shape == shape
    assert found.ravel().tolist() == [0, 1, 2, 3]
