"""LSH_PROJECTION: a hash with a bit per seed that is similar for similar inputs."""

from __future__ import annotations

import struct

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference

_MASK = (1 << 64) - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _turn(x: int, by: int) -> int:
    x &= _MASK
    return x >> by | x << 64 - by & _MASK


def _fold(x: int) -> int:
    x &= _MASK
    return x ^ x >> 47


def _mix(u: int, v: int, by: int) -> int:
    first = _fold(((u ^ v) & _MASK) * by)
    return _fold(((v & _MASK) ^ first) * by) * by & _MASK


def _at(s: bytes, at: int) -> int:
    return int.from_bytes(s[at : at + 8], "little")


def _halves(s: bytes, a: int, b: int) -> tuple[int, int]:
    first, last = a + _at(s, 0), _at(s, 24)
    total = first + _at(s, 8) + _at(s, 16)
    return (total + last) & _MASK, (_turn(b + first + last, 21) + _turn(total, 44) + first) & _MASK


def _short(s: bytes) -> int:
    n = len(s)
    by = _K2 + 2 * n
    if n < 8:
        ends = (int.from_bytes(part, "little") for part in (s[:4], s[-4:]))
        return _mix(n + (next(ends) << 3), next(ends), by)
    if n <= 16:
        a, b = _at(s, 0) + _K2, _at(s, n - 8)
        return _mix(_turn(b, 37) * by + a, (_turn(a, 25) + b) * by, by)
    a, b = _at(s, 0) * (_K1 if n <= 32 else _K2), _at(s, 8)
    c, d = _at(s, n - 8) * by, _at(s, n - 16) * _K2
    y = _turn(a + b, 43) + _turn(c, 30) + d
    z = _mix(y, a + _turn(b + _K2, 18) + c, by)
    if n <= 32:
        return z
    e, f = _at(s, 16) * by, _at(s, 24)
    g, h = (y + _at(s, n - 32)) * by, (z + _at(s, n - 24)) * by
    return _mix(_turn(e + f, 43) + _turn(g, 30) + h, e + _turn(f + a, 18) + g, by)


def fingerprint(s: bytes) -> int:
    """FarmHash's 64-bit fingerprint of 4 or more bytes."""
    if len(s) <= 64:
        return _short(s)
    y = 81 * _K1 + 113
    x, y, z = 81 * _K2 + _at(s, 0) & _MASK, y & _MASK, _fold(y * _K2 + 113) * _K2 & _MASK
    v, w = (0, 0), (0, 0)
    whole = (len(s) - 1) // 64
    by, nine = _K1, 1
    for turn in range(whole + 1):
        block = s[64 * turn : 64 * turn + 64] if turn < whole else s[-64:]
        if turn == whole:
            by, nine = _K1 + ((z & 0xFF) << 1), 9
            w = (w[0] + (len(s) - 1 & 63), w[1])
            v = (v[0] + w[0], v[1])
            w = (w[0] + v[0], w[1])
        x = _turn(x + y + v[0] + _at(block, 8), 37) * by & _MASK
        y = _turn(y + v[1] + _at(block, 48), 42) * by & _MASK
        x ^= w[1] * nine & _MASK
        y = y + v[0] * nine + _at(block, 40) & _MASK
        z = _turn(z + w[0], 33) * by & _MASK
        v = _halves(block, v[1] * by, x + w[0])
        w = _halves(block[32:], z + w[1], y + _at(block, 16))
        z, x = x, z
    return _mix(_mix(v[0], w[0], by) + _fold(y) * _K0 + z, _mix(v[1], w[1], by) + x, by)


@reference(
    "LSH_PROJECTION",
    rounding={
        "": "FarmHash's 64-bit fingerprint of seed and element; sums in float64, one after the other",
    },
)
def projection(node: OpNode, seeds: Array, x: Array, weights: Array | None = None) -> Array:
    """The signs of sums, which are added element by element in float64."""
    if x.nbytes == 0 and weights is None:
        x = x[:1]  # the sums of equal hashes have one sign, however many there are
    items = [np.ascontiguousarray(item).tobytes() for item in x]
    bits = np.zeros(seeds.shape, np.int64)
    for at, seed in np.ndenumerate(seeds):
        score = 0.0
        for i, item in enumerate(items):
            print64 = fingerprint(struct.pack("<f", seed) + item)
            value = float(print64 - (print64 >> 63 << 64))
            score += value if weights is None else float(weights[i]) * value
        bits[at] = score > 0
    if _is_dense(node):
        return bits.astype(np.int32).reshape(-1)
    width = seeds.shape[-1]
    numbers = bits @ (np.int64(1) << np.arange(width)[::-1]) + (np.arange(len(bits)) << width)
    return np.asarray(numbers.astype(np.uint32).view(np.int32))


def _is_dense(node: OpNode) -> int:
    kind = node.options["type"]
    if kind not in ("DENSE", "SPARSE"):
        raise node.refuse(f"option type must be SPARSE or DENSE, it is {kind}")
    return int(kind == "DENSE")
