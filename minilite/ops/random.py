"""RANDOM_UNIFORM, RANDOM_STANDARD_NORMAL, MULTINOMIAL: random numbers; only the engine draws them, because it keeps the
position in the sequence. STABLEHLO_RNG_BIT_GENERATOR: random bits from a state that is an input and an output."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import numpy_type
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference

_MASK = 0xFFFFFFFF


def philox(key: tuple[int, int], counter: list[int]) -> list[int]:
    """Four random words: Philox4x32 of 10 rounds."""
    k, x = list(key), list(counter)
    for _ in range(10):
        a, b = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [b >> 32 ^ x[1] ^ k[0], b & _MASK, a >> 32 ^ x[3] ^ k[1], a & _MASK]
        k = [(word + step) & _MASK for word, step in zip(k, (0x9E3779B9, 0xBB67AE85), strict=True)]
    return x


def threefry(key: tuple[int, int], counter: list[int]) -> list[int]:
    """Two random words: Threefry2x32 of 20 rounds."""
    keys = (*key, key[0] ^ key[1] ^ 0x1BD11BDA)
    x, y = (counter[i] + keys[i] & _MASK for i in range(2))
    for turn in range(5):
        for by in ((13, 15, 26, 6), (17, 29, 16, 24))[turn % 2]:
            x = x + y & _MASK
            y = (y << by | y >> 32 - by) & _MASK ^ x
        x, y = x + keys[(turn + 1) % 3] & _MASK, y + keys[(turn + 2) % 3] + turn + 1 & _MASK
    return [x, y]


def _is_threefry(node: OpNode) -> int:
    return int(node.options["algorithm"] == "THREEFRY")


@reference(
    "STABLEHLO_RNG_BIT_GENERATOR",
    rounding={
        "": "Philox4x32-10 or Threefry2x32-20, words in order",
    },
)
def bits(node: OpNode, state: Array) -> tuple[Array, Array]:
    """Words 0 and 1 of the state are the key, 2 and 3 the counter; if words 4 and 5 are missing, the key is used for
    them."""
    words = state.view(np.uint32).tolist()
    key, count = (words[0], words[1]), words[2] | words[3] << 32
    output = node.outputs[1]
    dtype = np.dtype(numpy_type(output.type))
    needed = int(np.prod(output.shape)) * dtype.itemsize // 4
    made: list[int] = []
    while len(made) < needed:
        counter = [count & _MASK, count >> 32, *(words[4:] or key)]
        made += threefry(key, counter) if _is_threefry(node) else philox(key, counter)
        count = count + 1 & (1 << 64) - 1
    after = np.array([*key, count & _MASK, count >> 32, *words[4:]], np.uint32).view(np.uint64)
    return after, np.array(made[:needed], np.uint32).view(dtype).reshape(output.shape)


RANDOM_UNIFORM = reference(
    "RANDOM_UNIFORM",
    rounding={
        "": (
            "Philox4x32-10 with the seeds (32 bits of each); where both are 0, others, drawn when the model is "
            "lowered; 23 bits of each word"
        ),
    },
)(None)
RANDOM_STANDARD_NORMAL = reference(
    "RANDOM_STANDARD_NORMAL",
    rounding={
        "": (
            "Philox4x32-10 with the seeds (32 bits of each); where both are 0, others, drawn when the model is "
            "lowered; pairs by Box and Muller, in float32, libm's"
        ),
    },
)(None)
MULTINOMIAL = reference(
    "MULTINOMIAL",
    rounding={
        "": (
            "Philox4x32-10 with the seeds (32 bits of each); where both are 0, others, drawn when the model is "
            "lowered; sums of odds in float64; logits that are not finite have none"
        ),
    },
)(None)
