"""Inner loops over images and bytes by instruction set level: windows, pooling, blends, tables, sums and products of
bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import common
from .primitives import LEVELS, core, level, pointer

PANEL = 16


class Depthwise:
    """A line of output of 3 x 3 windows: width x channels, floats and bytes, and the interleaving of the bytes'
    lines."""

    params = [LEVELS, ["112 32", "14 512", "48 8"]]
    param_names = ["level", "width channels"]

    def setup(self, name: str, shape: str) -> None:
        self.simd = level(name)
        with common.if_there():
            assert self.simd.depthwise_f32
        width, n = map(int, shape.split())
        rng = np.random.default_rng(0)
        group = self.simd.depthwise_s8_group
        groups, panels = -(-3 // group), -(-n // PANEL)
        self.lines = [rng.uniform(0, 1, (width + 2, n)).astype(np.float32) for _ in range(3)]
        self.grouped = [rng.integers(0, 100, (width + 2, n, 4)).astype(np.uint8) for _ in range(groups)]
        self.bytes = [rng.integers(0, 256, (width + 2) * n).astype(np.uint8) for _ in range(group)]
        self.packed = rng.integers(0, 3, (panels, 3, 3, PANEL)).astype(np.int32)
        self.y = np.empty((width, n), np.float32)
        self.new = core().ffi.new
        self.floats = self.window(self.lines, width, n)
        self.integers = self.window(self.grouped, width, n)
        given = [pointer("uint8_t *", line) for line in self.bytes] + [core().ffi.NULL] * (4 - group)
        self.interleave = self.new(
            "ml_interleave_s8_args *",
            {"lines": given, "count": (width + 2) * n, "flip": 128, "y": pointer("void *", self.grouped[0])},
        )

    def window(self, lines: list[Any], width: int, n: int) -> Any:
        pointers = self.new("void *[]", [pointer("void *", line) for line in lines])
        height = len(lines)
        fields = {
            "lines": pointers,
            "height": height,
            "width": 3,
            "tap_step": n,
            "pixel_step": n,
            "pixels": width,
            "n": n,
        }
        fields |= {
            "packed": pointer("void *", self.packed),
            "packed_line": 3 * PANEL,
            "packed_panel": 3 * height * PANEL,
        }
        if "rows" in dict(core().ffi.typeof("ml_depthwise_args").fields):  # which old ones lack
            fields["rows"] = 1
        args = self.new(
            "ml_depthwise_args *", {**fields, "y": pointer("void *", self.y), "low": -np.inf, "high": np.inf}
        )
        return pointers, args

    def time_depthwise_f32(self, _: str, __: str) -> None:
        self.simd.depthwise_f32(self.floats[1])

    def time_depthwise_s8(self, _: str, __: str) -> None:
        self.simd.depthwise_s8(self.integers[1])

    def time_interleave_s8(self, _: str, __: str) -> None:
        self.simd.interleave_s8(self.interleave)


class Bytes:
    """So many bytes: a table, sums and products of two, to floats and back, rows summed, softmax in rows of 128."""

    params = [LEVELS, [1 << 10, 1 << 17]]
    param_names = ["level", "bytes"]

    def setup(self, name: str, n: int) -> None:
        self.simd = level(name)
        with common.if_there():
            assert self.simd.sum_rows_s8
        rng = np.random.default_rng(0)
        self.arrays = [rng.integers(0, 256, n).astype(np.uint8) for _ in range(3)]
        self.reals, self.sums = rng.normal(size=n).astype(np.float32), np.zeros(128, np.int32)
        self.exps = np.minimum(np.exp(-np.arange(256) * 0.05) * 2.0**31, 2.0**31 - 1).astype(np.int32)
        new, self.n = core().ffi.new, n
        self.a, self.b, self.y = (pointer("uint8_t *", array) for array in self.arrays)
        pair = {"a": self.a, "b": self.b, "y": self.y, "n": n, "a_step": 1, "b_step": 1, "is_signed": 1}
        limits = {"low": -128, "high": 127}
        sums = {"a_factor": 1 << 20, "b_factor": 1 << 20, "offset": 1 << 20, "negative": 1 << 20, "shift": 21}
        self.add = new("ml_add_s8_args *", {**pair, **limits, **sums})
        self.mul = new("ml_mul_s8_args *", {**pair, **limits, "mantissa": 0x5A827999, "shift": -6})
        if "real" in dict(core().ffi.typeof("ml_mul_s8_args").fields):  # which old ones lack
            self.mul.real, self.mul.nudge = 0x5A827999 / 2.0**37, 2.0**-7
        terms = {f"of_{name}": {"mantissa": 1 << 30, "shift": -14 * (name == "y")} for name in "aby"}
        words = {key: pointer("int16_t *", array) for key, array in zip("aby", self.arrays, strict=True)}
        ends = {"low": -32768, "high": 32767}
        self.words = new("ml_add_s16_args *", {**words, "n": n // 2, "a_step": 1, "b_step": 1, **terms, **ends})
        reals = {"x": pointer("float *", self.reals), "y": self.y, "n": n, "scale": 0.05, "is_signed": 1}
        self.real = new("ml_quantize_s8_args *", reals)
        rows = {"x": self.a, "rows": n // 128, "n": 128}
        self.softmax = new("ml_softmax_s8_args *", {**rows, "y": self.y, "exps": pointer("int32_t *", self.exps)})
        self.rows = new("ml_sum_rows_s8_args *", {**rows, "stride": 128, "sums": pointer("int32_t *", self.sums)})

    def time_lookup_u8(self, _: str, __: int) -> None:
        self.simd.lookup_u8(self.b, self.a, self.n, self.y)

    def time_add_s8(self, _: str, __: int) -> None:
        self.simd.add_s8(self.add)

    def time_add_s16(self, _: str, __: int) -> None:
        self.simd.add_s16(self.words)

    def time_mul_s8(self, _: str, __: int) -> None:
        self.simd.mul_s8(self.mul)

    def time_quantize_s8(self, _: str, __: int) -> None:
        self.simd.quantize_s8(self.real)

    def time_dequantize_s8(self, _: str, __: int) -> None:
        self.simd.dequantize_s8(self.real)

    def time_softmax_s8(self, _: str, __: int) -> None:
        self.simd.softmax_s8(self.softmax)

    def time_sum_rows_s8(self, _: str, __: int) -> None:
        self.simd.sum_rows_s8(self.rows)


class Pixels:
    """A line of 56 pixels of so many channels: the largest and the mean of 3 x 3, and blends of four."""

    params = [LEVELS, [3, 64]]
    param_names = ["level", "channels"]

    def setup(self, name: str, n: int) -> None:
        self.simd = level(name)
        with common.if_there():
            assert self.simd.blend_f32
        rng = np.random.default_rng(0)
        self.x, self.y = rng.uniform(0, 1, (3, 58, n)).astype(np.float32), np.empty((56, n), np.float32)
        at = {"x": pointer("void *", self.x), "y": pointer("void *", self.y)}
        window = {"height": 3, "width": 3, "line_step": 58 * n, "pixel_step": n, "pixels": 56, "n": n}
        ends = {"low": 0, "high": 255, "minimum": -np.inf, "maximum": np.inf}
        new = core().ffi.new
        self.pool = new("ml_pool_args *", {**at, **window, **ends})
        self.taps = new("ml_blend_tap[]", [{"first": i, "second": i + 1} for i in range(56)])
        lines = {"upper": at["x"], "lower": at["x"], "taps": self.taps, "pixels": 56, "n": n, "y": at["y"]}
        self.blend = new("ml_blend_args *", lines)

    def time_max_pool_f32(self, _: str, __: int) -> None:
        self.simd.max_pool_f32(self.pool)

    def time_max_pool_s8(self, _: str, __: int) -> None:
        self.simd.max_pool_s8(self.pool)

    def time_average_pool_f32(self, _: str, __: int) -> None:
        self.simd.average_pool_f32(self.pool)

    def time_average_pool_s8(self, _: str, __: int) -> None:
        self.simd.average_pool_s8(self.pool)

    def time_blend_f32(self, _: str, __: int) -> None:
        self.simd.blend_f32(self.blend)

    def time_blend_u8(self, _: str, __: int) -> None:
        self.simd.blend_u8(self.blend)

    def time_blend_s8(self, _: str, __: int) -> None:
        self.simd.blend_s8(self.blend)
