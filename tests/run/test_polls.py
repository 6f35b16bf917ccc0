"""Polls of a run: it reads the clock after a certain amount of work, so that small nodes need not read it each."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.own_clock import output_under_it

CHAINS = {
    "a thousand small ones": (1000, 4),
    "larger ones": (200, 2048),
    "large ones": (40, 1 << 20),
}
"""The number of nodes, and of elements."""


def main() -> None:
    """Prints the polls of a run of each chain: every look at the clock but the first, which begins the waiting."""
    from built import relu_chain
    from support.polls import Poll

    import minilite

    found = {}
    for name, (nodes, size) in CHAINS.items():
        interpreter = minilite.Interpreter(model_content=relu_chain(nodes, size))
        interpreter.allocate_tensors()
        interpreter.set_tensor(0, np.zeros(size, np.float32))
        Poll.count = 0
        interpreter.invoke()
        found[name] = Poll.count
    print(json.dumps(found))


@pytest.fixture(scope="module")
def polls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    result: dict[str, int] = json.loads(output_under_it(tmp_path_factory.mktemp("clock"), "test_polls", "run"))
    return result


@pytest.mark.parametrize(("chain", "count"), [("a thousand small ones", 14), ("larger ones", 14)])
def test_polls_of_small_nodes(polls: dict[str, int], chain: str, count: int) -> None:
    assert polls[chain] == count


def test_polls_of_large_nodes(polls: dict[str, int]) -> None:
    """The clock is read before each large node, and within it."""
    assert polls["large ones"] >= 39


if __name__ == "__main__":
    main()
