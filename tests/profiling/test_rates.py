"""Peak rates of a core: loads and stores that are measured have addresses for which no load waits for a store."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minilite._core import ffi
from minilite._native import rates


@pytest.mark.parametrize("sizes", [(1, 1), (4096, 4096), (4097, 100, 3), (8192, 131072), (1 << 20, 1 << 20), (5,) * 4])
def test_arrays_are_evenly_spread_within_a_page(sizes: tuple[int, ...]) -> None:
    kept = []  # so that what is allocated lies elsewhere each time
    for _ in range(20):
        found = rates.arrays_apart(*(((size,), np.float32) for size in sizes))
        kept.append(found)
        places = [array.ctypes.data % 4096 for array in found]
        assert places == [4096 * i // len(sizes) // 64 * 64 for i in range(len(sizes))]
        ends = [(array.ctypes.data, array.ctypes.data + array.nbytes) for array in found]
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(ends))
        assert all(array.shape == (size,) and (array == 1).all() for array, size in zip(found, sizes, strict=True))


@pytest.mark.parametrize("nbytes", [1, 1 << 14, 1 << 15, 1 << 18, 3 << 17, 1 << 20])
def test_copies_are_half_a_page_apart(nbytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(rates.np, "copyto", lambda target, source: seen.append((target, source)))
    assert rates.copy_rate(nbytes) > 0
    for target, source in seen:
        assert (target.ctypes.data - source.ctypes.data) % 4096 == 2048
        assert target.nbytes == source.nbytes == max(nbytes // 2, 4096)


@pytest.mark.parametrize(("rate", "product"), [(rates.float_rate, "matmul_f32"), (rates.byte_rate, "matmul_s8")])
def test_operands_of_products_are_apart(rate: Any, product: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []

    def note(given: Any) -> None:
        seen.append([int(ffi.cast("intptr_t", address)) % 4096 for address in (given.a, given.packed, given.y)])

    monkeypatch.setattr(rates, "choose_level", lambda _: SimpleNamespace(matmul_f32_panel=16, **{product: note}))
    assert rate("any") > 0
    assert len(seen) == 20 * rates._TRIES
    for places in seen:
        assert [(place - places[0]) % 4096 for place in places] == [0, 1344, 2688]
