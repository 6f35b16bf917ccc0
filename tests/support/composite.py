"""Builds a composite with its decomposition, and compares everything that can run it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from flatbuffers import flexbuffers
from support import peer
from support.compare import BUILTIN, Array, compare, run_litert, run_minilite

import minilite
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType, numpy_type

Out = tuple[Sequence[int], TensorType]
"""The shape and the type of an output."""
Body = Callable[[Any, list[int]], Sequence[int]]
"""Adds the decomposition's nodes to its subgraph: from the inputs' tensors to the outputs'."""

TYPES = {
    np.dtype(numpy_type(kind)): kind
    for kind in (TensorType.FLOAT32, TensorType.INT32, TensorType.INT64, TensorType.INT8)
}
TYPES[np.dtype(bool)] = TensorType.BOOL


class OneComposite:
    """A model of one composite, and the arrays to run it on."""

    def __init__(
        self,
        name: str,
        arrays: Sequence[Array],
        outs: Sequence[Out],
        body: Body,
        attributes: Mapping[str, Any] | bytes | None = None,
        *,
        constants: Sequence[int] = (),
    ) -> None:
        """`constants` has the numbers of the inputs that are constant."""
        self.name, self.outs, self.body = name, outs, body
        self.given, self.constants = list(arrays), constants
        raw = isinstance(attributes, bytes)
        self.attributes = attributes if raw else bytes(flexbuffers.Dumps(dict(attributes))) if attributes else b""
        self.arrays = [array for i, array in enumerate(arrays) if i not in constants]

    def built(self, name: str) -> bytes:
        """The model, whose composite has this name."""
        builder = ModelBuilder()
        main, inner = builder.subgraph("main"), builder.subgraph("inner")
        tensors = []
        for i, array in enumerate(self.given):
            kind = TYPES[array.dtype]
            there = (
                main.constant(f"x{i}", array, kind) if i in self.constants else main.input(f"x{i}", array.shape, kind)
            )
            tensors.append(there)
        options = {"name": name, "decomposition_subgraph_index": 1}
        if self.attributes:
            options["composite_attributes"] = self.attributes
        made = [(f"y{i}", tuple(shape), kind) for i, (shape, kind) in enumerate(self.outs)]
        main.output(*main.node("STABLEHLO_COMPOSITE", tensors, out=made, options=options))
        inputs = [inner.input(f"x{i}", array.shape, TYPES[array.dtype]) for i, array in enumerate(self.given)]
        inner.output(*self.body(inner, inputs))
        return builder.build()

    @property
    def model(self) -> bytes:
        """The model."""
        return self.built(self.name)

    def runs_by_kernel(self) -> bool:
        """True if a kernel runs the composite, not its decomposition."""
        interpreter = minilite.Interpreter(model_content=self.model)
        interpreter.allocate_tensors()
        return len(interpreter.plan.frames()) == 1

    def check(self, *, tolerance: float | Array = 0.0, oracle: Any = BUILTIN) -> list[Array]:
        """The outputs, once the C kernel, the decomposition in numpy and in C, and LiteRT agree. LiteRT's XNNPACK may
        be the `oracle`, None for none."""
        found = run_minilite(self.model, self.arrays)
        compare(run_minilite(self.model, self.arrays, reference=True), found, tolerance, "kernel against numpy")
        compare(run_minilite(self.built("none"), self.arrays), found, tolerance, "kernel against decomposition")
        if oracle is not None and peer.HERE:
            compare(run_litert(self.model, self.arrays, oracle), found, tolerance, "kernel against LiteRT")
        return found

    def same_as_decomposition(self) -> None:
        """Checks that the decomposition runs, and gives the same results as under a name that minilite does not
        know."""
        assert not self.runs_by_kernel()
        pairs = zip(run_minilite(self.model, self.arrays), run_minilite(self.built("none"), self.arrays), strict=True)
        for ours, plain in pairs:
            np.testing.assert_array_equal(ours, plain)


def flex_of(**attributes: Any) -> bytes:
    """Attributes as a file has them."""
    return bytes(flexbuffers.Dumps(attributes))
