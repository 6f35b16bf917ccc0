"""SKIP_GRAM: C kernel, numpy reference and LiteRT agree; the number of combinations is known only in the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import texts
from support.node import Given, OneNode

import minilite
from minilite.errors import ArenaError, KernelError, ShapeError, UnsupportedOpError


def skip_gram(text: Any, size: int = 2, skip: int = 1, every: bool = False) -> OneNode:
    options = {"ngram_size": size, "max_skip_size": skip, "include_all_ngrams": every}
    given = Given(texts(*([text] if isinstance(text, str) else text)), kind="string")
    return OneNode("SKIP_GRAM", [given], options, kind="string")


def every_type(rng: Any, inputs: Any, outputs: Any) -> Any:
    return skip_gram("a b c d"), {}


EVERY_TYPE = {"SKIP_GRAM": every_type}
TEXT = "Hey! How do you do?"


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("skip", [0, 1, 2, 9])
def test_combinations(size: int, skip: int, every: bool) -> None:
    for text in (TEXT, "The quick\t brown  fox\njumps over", "a b c d e"):
        skip_gram(text, size, skip, every).check()


@pytest.mark.parametrize("text", [" a b", "a b ", "  a  b  ", "\ta b", "ab", "a", "\xfc\xf1 b"])
def test_spaces(text: str) -> None:
    skip_gram(text, 1).check()


def run_within(node: OneNode, max_bytes: int) -> int:
    """The number of combinations."""
    interpreter = minilite.Interpreter(model_content=node.model, max_bytes=max_bytes)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], node.arrays[0])
    interpreter.invoke()
    return int(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).size)


def test_memory_is_counted_before_it_is_taken() -> None:
    node = skip_gram("a " * 2000, 3, 20, every=True)
    with pytest.raises(ArenaError):
        run_within(node, 1 << 20)
    assert run_within(node, 1 << 30) > 900_000
    many = skip_gram(" ".join(["w" * 10000] * 300), 3, 20)
    with pytest.raises(KernelError, match="the combinations would take more than 2147483647 bytes"):
        run_within(many, 1 << 40)


def test_too_few_words() -> None:
    """LiteRT cannot return an empty output."""
    assert skip_gram("one two", 3).check(oracle=None).shape == (0,)
    assert skip_gram("", 1).check(oracle=None).shape == (0,)


def test_the_first_text_alone() -> None:
    assert skip_gram(["a b", "c d"], 2).check().tolist() == [b"a b"]


def test_refused() -> None:
    skip_gram("a b", 0).refused(UnsupportedOpError, "ngram_size is 0 and max_skip_size 1", by_litert=False)
    node = OneNode("SKIP_GRAM", [Given(np.zeros(0, object), kind="string")], {"ngram_size": 1}, kind="string")
    node.refused(ShapeError, "the input holds no words", by_litert=False)
