"""An interrupt (Ctrl-C, no memory) at any line of any call leaves an interpreter that can be used: nothing is given
back twice or never, and nothing is noted in Python that C does not know."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
from built import relu_chain
from support.interrupts import interrupted

import minilite

NATIVE = ("_native/", "engine/session.py")


def used(interpreter: minilite.Interpreter, size: int) -> None:
    """Resizes, fills, runs and reads, with right answers, and no view is left."""
    x = np.arange(size, dtype=np.float32) - 1
    interpreter.resize_tensor_input(0, [size])
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, x)
    interpreter.invoke()
    output = interpreter.get_output_details()[0]["index"]
    assert interpreter.get_tensor(output).tolist() == np.maximum(x, 0).tolist()
    assert interpreter.usage.views == 0


def test_a_view_is_pinned_once_or_not_at_all() -> None:
    """Twice given back, the memory would be freed while it is in use; never, it would stay for ever."""
    interpreter = minilite.Interpreter(model_content=relu_chain())
    used(interpreter, 4)
    seen = set()
    for turn, place in enumerate(interrupted(lambda: interpreter.tensor(0)()[0], NATIVE)):
        seen.add(place.partition(":")[0])
        interpreter._safe_to_run()  # gives up what the session keeps for the next view
        used(interpreter, 3 + turn % 3)
    assert any("pinned_buffer" in place for place in seen)


def test_destructors_run_no_line_of_python() -> None:
    """An interrupt in such a line would be swallowed, and what was to be given back would stay."""
    interpreter = minilite.Interpreter(model_content=relu_chain())
    used(interpreter, 4)
    lines: list[str] = []

    def ends(action: Callable[[], object]) -> Any:
        return list(interrupted(action, ("",), opcodes=False))

    views = [interpreter.tensor(0)()]
    interpreter._main._owners.clear()  # type: ignore[union-attr]
    lines += ends(views.clear)
    assert interpreter.usage.views == 0
    held: list[Any] = [interpreter, interpreter.plan, interpreter.get_state()]
    del interpreter
    lines += ends(held.clear)
    lines += ends(gc.collect)
    assert lines == []
