"""The inner loops by instruction set level, on the shapes of real layers: divide the work in the name by the time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import common

LEVELS = ["scalar", "sse2", "avx2", "avx512"]


def core() -> Any:
    """The core's module, with ffi and lib; n/a where it has no primitives to be called."""
    with common.if_there():
        from minilite import _core

        assert _core.lib.ml_simd_choose
        return _core


def level(name: str) -> Any:
    """The table of a level; a level that this machine lacks is skipped."""
    ffi, lib = core().ffi, core().lib
    simd, error = ffi.new("const ml_simd **"), ffi.new("ml_error *")
    if lib.ml_simd_choose(name.encode(), simd, error):
        raise NotImplementedError(ffi.string(error.text).decode())
    return simd[0]


def pointer(kind: str, array: NDArray[Any]) -> Any:
    return core().ffi.cast(kind, array.ctypes.data)


class MatmulF32:
    """Rows x k x outputs, and the packing of their weights."""

    params = [LEVELS, ["196 256 256", "3136 64 128", "49 960 320", "32 768 3072", "1 1024 1000", "1 256 64"]]
    param_names = ["level", "rows k outputs"]

    def setup(self, name: str, shape: str) -> None:
        self.simd = level(name)
        rows, self.k, self.n = map(int, shape.split())
        rng = np.random.default_rng(0)
        panels = -(-self.n // self.simd.matmul_f32_panel)
        self.w = rng.uniform(-1, 1, (self.n, self.k)).astype(np.float32)
        self.packed = np.empty((panels, self.k, self.simd.matmul_f32_panel), np.float32)
        self.arrays = [rng.uniform(-1, 1, (rows, self.k)).astype(np.float32), np.empty((rows, self.n), np.float32)]
        self.time_pack_f32(name, shape)
        a, y = (pointer("float *", array) for array in self.arrays)
        self.args = core().ffi.new(
            "ml_matmul_f32_args *",
            {
                "a": a,
                "rows": rows,
                "a_stride": self.k,
                "pieces": 1,
                "k": self.k,
                "n": self.n,
                "packed": pointer("float *", self.packed),
                "y": y,
                "y_stride": self.n,
                "low": -np.inf,
                "high": np.inf,
            },
        )

    def time_matmul_f32(self, _: str, __: str) -> None:
        self.simd.matmul_f32(self.args)

    def time_pack_f32(self, _: str, __: str) -> None:
        self.simd.pack_f32(pointer("float *", self.w), self.n, self.k, pointer("float *", self.packed))


class Requantize:
    """Rows x outputs of sums that land within a byte."""

    params = [LEVELS, ["32 256", "196 64", "1 1000", "1000 8"]]
    param_names = ["level", "rows outputs"]

    def setup(self, name: str, shape: str) -> None:
        self.simd = level(name)
        rows, n = map(int, shape.split())
        rng = np.random.default_rng(0)
        self.arrays = {
            "sums": rng.integers(-10_000, 10_000, (rows, n)).astype(np.int32),
            "bias": rng.integers(-1000, 1000, n).astype(np.int32),
            "mantissas": rng.integers(1 << 30, (1 << 31) - 1, n).astype(np.int32),
            "shifts": rng.integers(-8, -5, n).astype(np.int32),
            "y": np.empty((rows, n), np.int8),
        }
        fields = {key: pointer("void *", array) for key, array in self.arrays.items()}
        sizes = {"rows": rows, "n": n, "sums_stride": n, "y_stride": n, "low": -128, "high": 127}
        self.args = core().ffi.new("ml_requantize_args *", {**fields, **sizes})

    def time_requantize(self, _: str, __: str) -> None:
        self.simd.requantize(self.args)
