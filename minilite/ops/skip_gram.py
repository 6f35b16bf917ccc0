"""SKIP_GRAM: combinations of words of a text in their order, which may skip some words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference

_SPACES = b" \t\n\v\f\r"


def _words(text: bytes) -> list[bytes]:
    """Words between spaces, like TFLite: the first byte is never a separator, and a word that begins with it as a space
    is left out."""
    words, begin = [], 0
    for i in range(1, len(text)):
        if text[i] in _SPACES:
            if i > begin and text[begin] not in _SPACES:
                words.append(text[begin:i])
            begin = i + 1
    return [*words, text[begin:]] if begin < len(text) else words


def _grams(chosen: tuple[int, ...], words: int, size: int, skip: int) -> Iterator[tuple[int, ...]]:
    """Combinations that begin with the chosen words, longer ones first."""
    if len(chosen) < size:
        last = chosen[-1]
        for word in range(last + 1, min(last + 2 + skip, words)):
            yield from _grams((*chosen, word), words, size, skip)
    yield chosen


@reference("SKIP_GRAM")
def skip_gram(node: OpNode, texts: Array) -> Array:
    """Only for the first text; with include_all_ngrams shorter combinations too."""
    size, words = node.options["ngram_size"], _words(bytes(texts.ravel()[0]))
    grams = (
        gram
        for first in range(len(words) if len(words) >= size else 0)
        for gram in _grams((first,), len(words), size, node.options["max_skip_size"])
    )
    every = node.options["include_all_ngrams"]
    found = [b" ".join(words[i] for i in gram) for gram in grams if every or len(gram) == size]
    y = np.empty(len(found), object)
    y[:] = found
    return y
