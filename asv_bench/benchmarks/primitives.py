"""The inner loops by instruction set level, on the shapes of real layers: divide the work in the name by the time."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import common

X86 = platform.machine().lower() in ("x86_64", "amd64")
LEVELS = ["scalar", *(["sse2", "avx2", "avx_vnni", "avx512", "amx"] if X86 else ["neon", "neon_dot", "i8mm"])]


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


class MatmulS8:
    """Rows x k x outputs of bytes, and the packing of their weights."""

    params = [LEVELS, ["196 256 256", "3136 64 128", "49 960 320", "1024 144 16", "32 768 3072", "1 1024 1000"]]
    param_names = ["level", "rows k outputs"]

    def setup(self, name: str, shape: str) -> None:
        self.simd = level(name)
        with common.if_there():
            assert self.simd.matmul_s8
        rows, k, n = map(int, shape.split())
        rng = np.random.default_rng(0)
        self.arrays = {
            "w": rng.integers(-128, 128, (n, k)).astype(np.int8),
            "packed": np.empty(-(-n // 16) * 16 * -(-k // 4) * 4, np.int8),
            "sums": np.empty(n, np.int32),
            "a": rng.integers(0, 256, (rows, k)).astype(np.uint8),
            "y": np.empty((rows, n), np.int32),
        }
        at = {key: pointer("void *", array) for key, array in self.arrays.items()}
        sizes = {"n": n, "k": k, "pieces": 1}
        steps = {"type": 9, "output_step": k, "period": n + 1, "input_step": 1}
        self.pack = core().ffi.new(
            "ml_pack_s8_args *", {**{key: at[key] for key in ("w", "packed", "sums")}, **sizes, **steps}
        )
        self.args = core().ffi.new(
            "ml_matmul_s8_args *",
            {"a": at["a"], "packed": at["packed"], "y": at["y"], "rows": rows, "a_stride": k, "y_stride": n, **sizes},
        )
        self.simd.pack_s8(self.pack)

    def time_matmul_s8(self, _: str, __: str) -> None:
        self.simd.matmul_s8(self.args)

    def time_pack_s8(self, _: str, __: str) -> None:
        self.simd.pack_s8(self.pack)


class Hybrid:
    """What comes before and after integer products of floats: their range, floats to bytes, sums to floats; and sums to
    bytes by doubles."""

    params = [LEVELS, ["1 1024", "196 256", "3136 64"]]
    param_names = ["level", "rows values"]

    def setup(self, name: str, shape: str) -> None:
        self.simd = level(name)
        with common.if_there():
            assert self.simd.quantize_u8
        rows, n = map(int, shape.split())
        rng = np.random.default_rng(0)
        self.arrays = {
            "x": rng.uniform(-1, 1, (rows, n)).astype(np.float32),
            "bytes": np.empty((rows, n), np.uint8),
            "sums": rng.integers(-10_000, 10_000, (rows, n)).astype(np.int32),
            "scales": np.full(rows, 0.01, np.float32),
            "weights": np.full(n, 0.01, np.float32),
            "reals": np.full(n, 0.01),
        }
        at = {key: pointer("void *", array) for key, array in self.arrays.items()}
        new, self.count, self.x = core().ffi.new, rows * n, pointer("float *", self.arrays["x"])
        self.ends = new("float *"), new("float *")
        self.quantize = new(
            "ml_quantize_u8_args *", {"x": at["x"], "n": rows * n, "inverse": 127, "low": -128, "y": at["bytes"]}
        )
        table = {"sums": at["sums"], "rows": rows, "sums_stride": n, "n": n, "y_stride": n}
        self.scale = new(
            "ml_scale_s32_args *",
            {**table, "scales": at["scales"], "weights": at["weights"], "y": at["x"], "low": -np.inf, "high": np.inf},
        )
        self.requantize = new(
            "ml_requantize_f64_args *", {**table, "reals": at["reals"], "y": at["bytes"], "low": -128, "high": 127}
        )

    def time_range_f32(self, _: str, __: str) -> None:
        self.simd.range_f32(self.x, self.count, *self.ends)

    def time_quantize_u8(self, _: str, __: str) -> None:
        self.simd.quantize_u8(self.quantize)

    def time_scale_s32(self, _: str, __: str) -> None:
        self.simd.scale_s32(self.scale)

    def time_requantize_f64(self, _: str, __: str) -> None:
        self.simd.requantize_f64(self.requantize)


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


class RequantizeSmall(Requantize):
    """The same with a limit that says that sums are small."""

    def setup(self, name: str, shape: str) -> None:
        super().setup(name, shape)
        with common.if_there():
            self.args.limit = 1 << 30
