"""Interpreters with packed weights in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minilite import Interpreter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    Array = Any


def ready(model: Path, folder: Path | str | None, **options: Any) -> Interpreter:
    interpreter = Interpreter(str(model), cache_dir=folder, **options)
    interpreter.allocate_tensors()
    return interpreter


def sizes(interpreter: Interpreter) -> tuple[int, int]:
    """The bytes that were packed here, and those that were taken from a file."""
    usage = interpreter.usage
    return usage.packed_bytes - usage.mapped_bytes, usage.mapped_bytes


def outputs(interpreter: Interpreter) -> list[Array]:
    """The outputs for random inputs, the same each time."""
    rng = np.random.default_rng(3)
    for detail in interpreter.get_input_details():
        shape, dtype = detail["shape"], detail["dtype"]
        values = rng.integers(-100, 100, shape) if dtype != np.float32 else rng.normal(size=shape)
        interpreter.set_tensor(detail["index"], values.astype(dtype))
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def same(one: Sequence[Array], other: Sequence[Array]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def kept(folder: Path) -> Path:
    """The only file in a folder."""
    (found,) = folder.iterdir()
    return found
