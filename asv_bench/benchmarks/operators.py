"""Single operators on tensors with the sizes of real layers: a run of a graph with one node."""

from __future__ import annotations

import functools
import platform
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from . import common

IMAGE = (1, 56, 56, 64)
WEIGHTS = 0.01
"""The scale of constants of bytes."""


class Single(NamedTuple):
    """A node: inputs are shapes, or arrays, which are constants."""

    op: str
    inputs: tuple[Any, ...]
    options: Mapping[str, Any] = {}
    kind: type = np.float32
    spread: float = 3.0
    positive: bool = False
    outputs: int = 1
    result: type | None = None
    version: int = 1
    scales: tuple[float, float] = (0.0, 0.0)
    """The scales of quantized inputs and of quantized outputs; 0: they are not quantized."""


def unary(op: str, **more: Any) -> Single:
    return Single(op, (IMAGE,), **more)


def axes(*values: int) -> Any:
    return np.array(values, np.int32)


POOL = {"filter_height": 3, "filter_width": 3, "stride_h": 2, "stride_w": 2, "padding": "SAME"}
DENSE_POOL = {**POOL, "stride_h": 1, "stride_w": 1}
WHOLE_POOL = {**POOL, "filter_height": 7, "filter_width": 7, "padding": "VALID"}
SIZES = {"align_corners": False, "half_pixel_centers": True}
CONTRACTED = (1, 28, 28, 64)


def both(op: str, *inputs: Any, options: Mapping[str, Any] = {}, tag: str = "") -> dict[str, Single]:
    """Two nodes: one of floats, and one of bytes with the same scale on both sides."""
    return {
        f"{op}{tag}": Single(op, inputs, options),
        f"{op}{tag} s8": Single(op, inputs, options, kind=np.int8, scales=(0.05, 0.05), version=2),
    }


def of_bytes(op: str, *inputs: Any, out: float = 0.07, **more: Any) -> Single:
    return Single(op, inputs, kind=np.int8, scales=(0.05, out), **more)


WIDE = (1, 112, 112, 64)
NEAR = {"L1": (1, 8, 8, 64), "L2": (1, 28, 28, 64)}
"""Tensors that stay in a nearer cache than those of IMAGE, which a second level of 1 MiB is too small for."""


def near(*ops: str) -> dict[str, Single]:
    """Functions of one float on tensors of these sizes."""
    options = {"GELU": {"approximate": False}}
    return {
        f"{op} {size}": Single(op, (shape,), options.get(op, {}), positive=op == "SQRT")
        for op in ops
        for size, shape in NEAR.items()
    }


SINGLES: dict[str, Single] = {
    **{op: unary(op) for op in ["RELU", "RELU6", "ABS", "NEG", "SQUARE", "SIN", "COS", "FLOOR", "CEIL", "ROUND", "EXP", "LOGISTIC", "TANH", "ELU", "HARD_SWISH"]},
    **{op: unary(op, positive=True) for op in ("LOG", "SQRT", "RSQRT")},
    "LEAKY_RELU": unary("LEAKY_RELU", options={"alpha": 0.1}),
    "GELU": unary("GELU", options={"approximate": False}),
    "GELU tanh": unary("GELU", options={"approximate": True}),
    **{op: Single(op, (IMAGE, IMAGE)) for op in ("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE")},
    "ADD channels": Single("ADD", (IMAGE, (64,))),
    "MUL scalar": Single("MUL", (IMAGE, ())),
    "PRELU": Single("PRELU", (IMAGE, (1, 1, 64))),
    "POW": Single("POW", (IMAGE, IMAGE), positive=True),
    **{op: Single(op, (IMAGE, IMAGE), result=np.bool_) for op in ("LESS", "EQUAL", "GREATER_EQUAL")},
    "SELECT_V2": Single("SELECT_V2", ("condition", IMAGE, IMAGE)),
    "SOFTMAX": Single("SOFTMAX", ((12, 128, 128),), {"beta": 1.0}),
    "SOFTMAX 1000": Single("SOFTMAX", ((1, 1000),), {"beta": 1.0}),
    "LOG_SOFTMAX": Single("LOG_SOFTMAX", ((12, 128, 128),)),
    "L2_NORMALIZATION": Single("L2_NORMALIZATION", ((128, 512),)),
    "MEAN HW": Single("MEAN", ((1, 7, 7, 1280), axes(1, 2)), {"keep_dims": False}),
    "MEAN last": Single("MEAN", ((128, 768), axes(1)), {"keep_dims": True}),
    "SUM last": Single("SUM", ((128, 768), axes(1)), {"keep_dims": True}),
    "SUM first": Single("SUM", ((128, 768), axes(0)), {"keep_dims": True}),
    "REDUCE_MAX last": Single("REDUCE_MAX", ((128, 768), axes(1)), {"keep_dims": True}),
    "REDUCE_MAX HW": Single("REDUCE_MAX", ((1, 28, 28, 256), axes(1, 2)), {"keep_dims": False}),
    "ARG_MAX": Single("ARG_MAX", ((256, 1000), axes(1)[0]), {"output_type": "INT32"}, result=np.int32),
    "CUMSUM last": Single("CUMSUM", ((128, 1024), axes(1)[0]), {"exclusive": False, "reverse": False}),
    "CUMSUM first": Single("CUMSUM", ((128, 1024), axes(0)[0]), {"exclusive": False, "reverse": False}),
    "TRANSPOSE NHWC to NCHW": Single("TRANSPOSE", (IMAGE, axes(0, 3, 1, 2))),
    "TRANSPOSE 512x512": Single("TRANSPOSE", ((512, 512), axes(1, 0))),
    "TRANSPOSE heads": Single("TRANSPOSE", ((1, 128, 12, 64), axes(0, 2, 1, 3))),
    "TRANSPOSE bytes": Single("TRANSPOSE", (IMAGE, axes(0, 3, 1, 2)), kind=np.int8),
    "CAST to s32": Single("CAST", (IMAGE,), result=np.int32),
    "CAST of s32": Single("CAST", (IMAGE,), kind=np.int32, result=np.float32),
    "PAD": Single("PAD", (IMAGE, axes(0, 0, 1, 1, 1, 1, 0, 0).reshape(4, 2))),
    "CONCATENATION": Single("CONCATENATION", (IMAGE, IMAGE), {"axis": 3, "fused_activation_function": "NONE"}),
    "STRIDED_SLICE": Single("STRIDED_SLICE", ((1, 112, 112, 32), axes(0, 0, 0, 0), axes(1, 112, 112, 32), axes(1, 2, 2, 1))),
    "GATHER": Single("GATHER", ((1000, 256), np.random.default_rng(1).integers(0, 1000, 512, np.int32)), {"axis": 0}),
    "TILE": Single("TILE", ((1, 56, 1, 64), axes(1, 1, 56, 1))),
    "BROADCAST_TO": Single("BROADCAST_TO", ((1, 56, 1, 64), axes(1, 56, 56, 64)), version=2),
    "ONE_HOT": Single("ONE_HOT", ("indices", axes(100)[0], np.float32(1), np.float32(0)), {"axis": -1}),
    "TOPK_V2": Single("TOPK_V2", ((64, 1000), axes(5)[0]), outputs=2),
    **both("MAX_POOL_2D", IMAGE, options=POOL),
    **both("AVERAGE_POOL_2D", IMAGE, options=POOL),
    **both("RESIZE_BILINEAR", CONTRACTED, axes(56, 56), options=SIZES),
    **both("RESIZE_NEAREST_NEIGHBOR", CONTRACTED, axes(56, 56), options=SIZES),
    **both("RESIZE_NEAREST_NEIGHBOR", (1, 112, 112, 3), axes(224, 224), options=SIZES, tag=" 3"),
    **{f"{op} s8": of_bytes(op, IMAGE, IMAGE, version=2) for op in ("ADD", "SUB", "MUL")},
    "ADD s8 channels": of_bytes("ADD", IMAGE, (64,), version=2),
    **{f"{op} s8": of_bytes(op, IMAGE, version=2) for op in ("RELU", "RELU6")},
    **{f"{op} s8": of_bytes(op, IMAGE) for op in ("ELU", "HARD_SWISH")},
    "LEAKY_RELU s8": of_bytes("LEAKY_RELU", IMAGE, options={"alpha": 0.1}, version=2),
    "LOGISTIC s8": of_bytes("LOGISTIC", IMAGE, out=1 / 256, version=2),
    "TANH s8": of_bytes("TANH", IMAGE, out=1 / 128, version=2),
    **{f"SOFTMAX s8 {rows} x {n}": of_bytes("SOFTMAX", (rows, n), out=1 / 256, options={"beta": 1.0}, version=2) for rows, n in ((1, 4), (500, 4), (128, 128), (1, 1000))},
    "MEAN HW s8": of_bytes("MEAN", (1, 7, 7, 1280), axes(1, 2), options={"keep_dims": False}, version=2),
    "MEAN last s8": of_bytes("MEAN", (128, 768), axes(1), options={"keep_dims": True}, version=2),
    "ARG_MAX s8": of_bytes("ARG_MAX", (256, 1000), axes(1)[0], options={"output_type": "INT32"}, result=np.int32, version=2),
    "CONCATENATION s8": of_bytes("CONCATENATION", IMAGE, IMAGE, out=0.05, options={"axis": 3, "fused_activation_function": "NONE"}, version=2),
    "PAD s8": of_bytes("PAD", IMAGE, axes(0, 0, 1, 1, 1, 1, 0, 0).reshape(4, 2), out=0.05, version=2),
    "QUANTIZE": Single("QUANTIZE", (IMAGE,), scales=(0.0, 0.05), result=np.int8),
    "QUANTIZE s8": of_bytes("QUANTIZE", IMAGE, version=2),
    "DEQUANTIZE": Single("DEQUANTIZE", (IMAGE,), kind=np.int8, scales=(0.05, 0.0), result=np.float32, version=2),
    "QUANTIZE s16": Single("QUANTIZE", (IMAGE,), scales=(0.0, 0.0005), result=np.int16),
    "GELU s8": of_bytes("GELU", IMAGE, options={"approximate": False}, version=2),
    "SOFTMAX s8 1536 x 128": of_bytes("SOFTMAX", (12, 128, 128), out=1 / 256, options={"beta": 1.0}, version=2),
    "SUB s8 channels": of_bytes("SUB", IMAGE, (64,), version=2),
    "SUB s8 pixels": of_bytes("SUB", IMAGE, (1, 56, 56, 1), version=2),
    **both("MAX_POOL_2D", WIDE, options=POOL, tag=" 112"),
    **both("MAX_POOL_2D", IMAGE, options=DENSE_POOL, tag=" dense"),
    **both("AVERAGE_POOL_2D", IMAGE, options=DENSE_POOL, tag=" dense"),
    **both("AVERAGE_POOL_2D", (1, 7, 7, 1280), options=WHOLE_POOL, tag=" 7 x 7"),
    "TRANSPOSE 3 channels": Single("TRANSPOSE", ((1, 224, 224, 3), axes(0, 3, 1, 2))),
    "TRANSPOSE NCHW to NHWC": Single("TRANSPOSE", ((1, 64, 56, 56), axes(0, 2, 3, 1))),
    "TRANSPOSE rows": Single("TRANSPOSE", ((56, 56, 64), axes(1, 0, 2))),
    "TRANSPOSE rows bytes": Single("TRANSPOSE", ((56, 56, 64), axes(1, 0, 2)), kind=np.int8),
    "MIRROR_PAD": Single("MIRROR_PAD", (IMAGE, axes(0, 0, 1, 1, 1, 1, 0, 0).reshape(4, 2)), {"mode": "REFLECT"}),
    "STRIDED_SLICE s32": Single("STRIDED_SLICE", ((1, 112, 112, 32), axes(0, 0, 0, 0), axes(1, 112, 112, 32), axes(1, 2, 2, 1)), kind=np.int32),
    "STABLEHLO_SHIFT_LEFT": Single("STABLEHLO_SHIFT_LEFT", (IMAGE, IMAGE), kind=np.int32, positive=True),
    **near("RELU", "LOGISTIC", "TANH", "GELU", "SQRT", "HARD_SWISH"),
    **{f"{name} {size}": single._replace(inputs=(shape,) * len(single.inputs)) for size, shape in NEAR.items() for name, single in (
        ("ADD", Single("ADD", (IMAGE, IMAGE))),
        ("ADD s8", of_bytes("ADD", IMAGE, IMAGE, version=2)),
        ("LOGISTIC s8", of_bytes("LOGISTIC", IMAGE, out=1 / 256, version=2)),
        ("QUANTIZE", Single("QUANTIZE", (IMAGE,), scales=(0.0, 0.05), result=np.int8)),
        ("DEQUANTIZE", Single("DEQUANTIZE", (IMAGE,), kind=np.int8, scales=(0.05, 0.0), result=np.float32, version=2)),
        ("MAX_POOL_2D", Single("MAX_POOL_2D", (IMAGE,), POOL)),
        ("AVERAGE_POOL_2D", Single("AVERAGE_POOL_2D", (IMAGE,), POOL)),
        ("MAX_POOL_2D s8", of_bytes("MAX_POOL_2D", IMAGE, out=0.05, options=POOL, version=2)),
    )},
    **{f"{op} last {size}": Single(op, (shape, axes(1)), {"keep_dims": True}) for op in ("MEAN", "SUM", "REDUCE_MAX") for size, shape in (("L1", (16, 256)), ("L3", (1024, 1024)))},
    **{f"TRANSPOSE {size}": Single("TRANSPOSE", (shape, axes(0, 3, 1, 2))) for size, shape in NEAR.items()},
}  # fmt: skip


def _values(rng: np.random.Generator, single: Single, given: Any) -> Any:
    if given == "condition":
        return rng.random(IMAGE) < 0.5
    if given == "indices":
        return rng.integers(0, 100, 2000, np.int32)
    x = rng.normal(size=given) * single.spread / (single.scales[0] or 1.0)
    x = np.abs(x) + 1e-3 if single.positive else x
    return np.asarray(x.clip(-128, 127) if single.kind is np.int8 else x, single.kind)


def model(single: Single) -> tuple[bytes, list[Any]]:
    """The node's bytes, and values for its inputs."""
    rng = np.random.default_rng(1)
    builder = common.builder(single.op)
    g = builder.subgraph()
    tensors, arrays = [], []
    for i, given in enumerate(single.inputs):
        if isinstance(given, np.ndarray | np.generic):
            of_weights = _quantization(WEIGHTS if given.dtype == np.int8 else 0.0)
            tensors.append(g.constant(f"c{i}", np.asarray(given), quantization=of_weights))
            continue
        x = _values(rng, single, given)
        arrays.append(x)
        tensors.append(g.input(f"x{i}", x.shape, _kind(x.dtype), quantization=_quantization(single.scales[0])))
    types = [single.result or single.kind, np.int32][: single.outputs]
    scales = [single.scales[1] if kind in (np.int8, np.int16) else 0.0 for kind in types]
    outs = [
        (f"y{i}", (1,), _kind(kind), _quantization(scale))
        for i, (kind, scale) in enumerate(zip(types, scales, strict=True))
    ]
    made = g.node(single.op, tensors, out=outs, options=dict(single.options), version=single.version)
    g.output(*made)
    return builder.build(), arrays


def _quantization(scale: float) -> Any:
    """With the zero points that operators with a fixed output ask for."""
    from minilite.format.model import Quantization

    return Quantization((scale,), (-128 if scale == 1 / 256 else 0,)) if scale else Quantization()


def _kind(dtype: Any) -> Any:
    from minilite.format.dtypes import TensorType

    names = {"float32": "FLOAT32", "int32": "INT32", "int16": "INT16", "int8": "INT8", "bool": "BOOL"}
    return TensorType[names[np.dtype(dtype).name]]


def ready(make: Callable[..., Any], content: bytes, arrays: list[Any], threads: int = 1) -> Callable[[], Any]:
    """An invoke of the model on these inputs, resized where the file says other shapes."""
    interpreter = make(model_content=content, num_threads=threads)
    details = interpreter.get_input_details()
    for detail, array in zip(details, arrays, strict=True):
        if tuple(detail["shape"]) != np.shape(array):
            interpreter.resize_tensor_input(detail["index"], np.shape(array))
    interpreter.allocate_tensors()
    for detail, array in zip(details, arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    invoke: Callable[[], Any] = interpreter.invoke
    return invoke


class Operators:
    """A run of each; n/a where a version has no such operator."""

    params = [list(SINGLES)]
    param_names = ["operator"]

    def setup(self, name: str) -> None:
        with common.since("0.4.0"):
            self.invoke = ready(common.interpreter, *model(SINGLES[name]))
            self.invoke()

    def time_invoke(self, _: str) -> None:
        self.invoke()


X86 = platform.machine().lower() in ("x86_64", "amd64")
LEVELS = ["scalar", *(["sse2", "avx2", "avx_vnni", "avx512", "amx"] if X86 else ["neon", "neon_dot", "i8mm"])]


def _products(op: str, weights: tuple[int, ...], x: tuple[int, ...]) -> dict[str, Single]:
    """Products of floats and of bytes by constant weights."""
    rng = np.random.default_rng(0)
    options = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "depth_multiplier": 1}
    used = {key: value for key, value in options.items() if op == "DEPTHWISE_CONV_2D"}
    name = f"{op} {'x'.join(map(str, x))}"
    floats, integers = rng.uniform(-1, 1, weights).astype(np.float32), rng.integers(-127, 128, weights).astype(np.int8)
    return {name: Single(op, (x, floats), used), f"{name} s8": of_bytes(op, x, integers, options=used, version=3)}


AT_LEVELS: dict[str, Single] = {
    **_products("FULLY_CONNECTED", (256, 256), (196, 256)),
    **_products("FULLY_CONNECTED", (1000, 1024), (1, 1024)),
    **_products("DEPTHWISE_CONV_2D", (1, 3, 3, 32), (1, 112, 112, 32)),
    **_products("DEPTHWISE_CONV_2D", (1, 3, 3, 512), (1, 14, 14, 512)),
    **{
        name: SINGLES[name]
        for name in (
            "ADD",
            "ADD s8",
            "MUL s8",
            "LOGISTIC",
            "LOGISTIC s8",
            "SOFTMAX",
            "SOFTMAX s8 128 x 128",
            "QUANTIZE",
            "DEQUANTIZE",
            "MEAN last s8",
            "MAX_POOL_2D",
            "MAX_POOL_2D s8",
            "AVERAGE_POOL_2D",
            "AVERAGE_POOL_2D s8",
            "RESIZE_BILINEAR",
            "RESIZE_BILINEAR s8",
        )
    },
}
"""Operators whose time is nearly all in one inner loop."""


class Levels:
    """A run by level of instructions."""

    params = [LEVELS, list(AT_LEVELS)]
    param_names = ["level", "operator"]

    def setup(self, level: str, name: str) -> None:
        with common.since("0.7.0"):
            from minilite import InputError

            common.interpreter(model_content=common.chain(1), level="scalar")
            try:
                common.interpreter(model_content=common.chain(1), level=level)
            except InputError as error:  # this machine has no such level
                raise NotImplementedError(str(error)) from error
            self.invoke = ready(functools.partial(common.interpreter, level=level), *model(AT_LEVELS[name]))
            self.invoke()

    def time_invoke(self, _: str, __: str) -> None:
        self.invoke()
