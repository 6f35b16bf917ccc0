"""The memory that TensorFlow Lite Micro's reference kernels keep and request, by operator.

A kernel keeps the struct of its options, the struct of its state, and what it asks for while it is prepared; scratch
lies in the plan. Structs are given by their fields, so that their sizes follow from the size of a pointer.

Source: tflite-micro, tensorflow/lite/micro/kernels and lite/core/api/flatbuffer_conversions.cc, commit 90b983c2
(2026-08-20); held against the package tflite-micro 0.dev20261023. Kernels of CMSIS-NN, ESP-NN, HiFi and others differ.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from minilite.errors import InputError
from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.model import Model, Node, Tensor


class Build(NamedTuple):
    """The facts about a build of TFLM that decide the size of its structs."""

    pointer: int
    """Bytes of a pointer."""
    compression: bool = False
    """Built with USE_TFLM_COMPRESSION, as the package is."""
    recording: bool = False
    """The allocator counts what is allocated, as the package's does."""


_WIDTHS = {"b": 1, "h": 2, "i": 4, "c": 4, "q": 8}
_FIELD = re.compile(r"(\d*)(?:([bhicqP])|\{([^{}]*)\})")


def struct(fields: str, build: Build) -> tuple[int, int]:
    """The size and alignment of a struct. Fields are bytes and bools (b), of 16 bits (h), of 32 bits (i; c: only in
    builds with compression), of 64 bits (q), pointers and sizes (P), structs in braces; a number repeats a field."""
    size, widest = 0, 1
    for count, kind, inner in _FIELD.findall(fields):
        if kind == "c" and not build.compression:
            continue
        width, alignment = struct(inner, build) if inner else 2 * (_WIDTHS.get(kind, build.pointer),)
        size = up(size, alignment) + int(count or 1) * width
        widest = max(widest, alignment)
    return up(max(size, 1), widest), widest


def up(size: int, alignment: int) -> int:
    """`size` rounded up to the alignment."""
    return -(-size // alignment) * alignment


class Call(NamedTuple):
    """A node with its tensors, as a kernel sees it while it is prepared; operands that are left out are None."""

    subgraph: int
    node: Node
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]
    build: Build

    def input(self, position: int) -> Tensor:
        """The operand. Raises: IndexError if the node lacks it."""
        tensor = self.inputs[position]
        if tensor is None:
            message = f"operand {position} is left out"
            raise IndexError(message)
        return tensor


def call_of(model: Model, subgraph: int, node: Node, build: Build) -> Call:
    """The node with its tensors."""
    tensors = model.subgraphs[subgraph].tensors
    inputs = tuple(tensors[number] if number >= 0 else None for number in node.inputs)
    return Call(subgraph, node, inputs, tuple(tensors[number] for number in node.outputs if number >= 0), build)


def byte_size(tensor: Tensor) -> int:
    """The bytes of a tensor in TFLM's arena; those of four bits take one byte each."""
    return _elements(tensor) * np.dtype(numpy_type(tensor.type)).itemsize


def _elements(tensor: Tensor) -> int:
    return math.prod(tensor.shape)


def _dims(tensor: Tensor) -> int:
    return 4 + 4 * len(tensor.shape)


def _is_quantized(tensor: Tensor) -> bool:
    return tensor.type in (TensorType.INT8, TensorType.INT16)


Sizes = Callable[[Call], Sequence[int]]


def _nothing(_: Call) -> Sequence[int]:
    return ()


class Kernel(NamedTuple):
    """The memory of an operator's kernel."""

    options: str = ""
    """The struct made of the operator's options; empty if there is none."""
    state: str = ""
    """The struct made before anything is prepared."""
    keeps: Sizes = _nothing
    """The sizes of what is kept when the kernel is prepared."""
    scratch: Sizes = _nothing
    """The sizes of the scratch requested then."""
    looks: int = 2
    """The looks at each tensor while it is prepared, at most: each takes a temporary struct."""


def _copied_dims(call: Call) -> Sequence[int]:
    return [_dims(call.outputs[0])]


def _stretched_dims(call: Call) -> Sequence[int]:
    return _copied_dims(call) if -1 in call.outputs[0].shape else ()


def _unpacked_filter(call: Call) -> Sequence[int]:
    weights = call.input(1)
    return [_elements(weights)] if weights.type == TensorType.INT4 else ()


def _per_channel(dimension: int) -> Sizes:
    def keeps(call: Call) -> Sequence[int]:
        return [4 * call.input(1).shape[dimension]] * 2

    return keeps


def _per_channel_fully_connected(call: Call) -> Sequence[int]:
    scales = len(call.input(1).quantization.scales)
    return [4 * scales] * 2 if scales > 1 and call.input(0).type != TensorType.FLOAT32 else ()


def _softmax_tables(call: Call) -> Sequence[int]:
    return [2 * 513] * 2 if call.input(0).type == TensorType.INT16 else ()


def _log_softmax_state(call: Call) -> Sequence[int]:
    return [struct("5i2P", call.build)[0]] if call.input(0).type == TensorType.INT8 else ()


def _cumsum_state(call: Call) -> Sequence[int]:
    return [36] if call.input(0).type == TensorType.INT8 else ()


def _add_n_state(call: Call) -> Sequence[int]:
    return [40] if call.outputs[0].type == TensorType.INT8 else ()


def _pointers(call: Call) -> Sequence[int]:
    return [call.build.pointer * len(call.inputs)]


def _transposed(call: Call) -> Sequence[int]:
    """BATCH_MATMUL keeps operands that it transposes, and its output's shape."""
    found = [28] if _is_quantized(call.input(0)) else []
    for position, moved in ((0, call.node.options.get("adj_x")), (1, not call.node.options.get("adj_y"))):
        if moved:
            operand = call.input(position)
            found += [struct(EVAL_TENSOR, call.build)[0], _dims(operand), byte_size(operand)]
    return [*found, _dims(call.outputs[0])]


def _reduced(call: Call) -> Sequence[int]:
    accumulators = [4 * _elements(call.outputs[0])] if _is_quantized(call.input(0)) else []
    return [*accumulators, *_extrema(call)]


def _extrema(call: Call) -> Sequence[int]:
    return [4 * len(call.input(0).shape), 4 * _elements(call.input(1))]


def _mirrored(call: Call) -> Sequence[int]:
    return [4 * len(call.input(0).shape)] * 2


def _filtered(call: Call) -> Sequence[int]:
    """SVDF's scratch: a number per filter, and for int8 also one per unit."""
    batch, filters = call.input(0).shape[0], call.input(1).shape[0]
    units = filters // call.node.options["rank"]
    per_unit = [4 * batch * units] if call.input(0).type == TensorType.INT8 else []
    return [4 * batch * filters, *per_unit]


def _gates(call: Call) -> Sequence[int]:
    hidden, cells = call.input(18), call.input(19)
    batch = call.input(0).shape[1 if call.node.options.get("time_major") else 0]
    return [batch * hidden.shape[1] * (4 if cells.type == TensorType.FLOAT32 else 2)] * 4


def _accumulators(call: Call) -> Sequence[int]:
    """TRANSPOSE_CONV's scratch: sums of 32 bits for int8, of 64 bits for int16, and a bias of 16 bits made wider."""
    kind = call.input(2).type
    if kind == TensorType.INT8:
        return [4 * _elements(call.outputs[0])]
    if kind != TensorType.INT16:
        return ()
    bias = call.inputs[3] if len(call.inputs) > 3 else None
    wider = [8 * _elements(bias)] if bias is not None and bias.type == TensorType.INT16 else []
    return [8 * _elements(call.outputs[0]), *wider]


def _spectrum(call: Call) -> Sequence[int]:
    """SignalRfft works on as many samples as its output has numbers, less the two of the last frequency."""
    return [(call.outputs[0].shape[-1] - 2) * byte_size(call.outputs[0]) // max(1, _elements(call.outputs[0]))]


EVAL_TENSOR = "2Pi"
_CONV = "9i2P3i2c"
_ARITHMETIC = "b14i2q2h5i"
_REDUCER = Kernel("b", "11i", scratch=_reduced)
_EXTREMA = Kernel("b", "11i", scratch=_extrema)
_COMPARISON = Kernel("", "7ib")
_POOL = Kernel("10i", "8i")
_PLAIN = (
    "BATCH_TO_SPACE_ND BROADCAST_ARGS BROADCAST_TO CEIL COS DYNAMIC_UPDATE_SLICE EXP EXPAND_DIMS FILL FLOOR FLOOR_DIV "
    "FLOOR_MOD LOG LOGICAL_AND LOGICAL_NOT LOGICAL_OR MAXIMUM MINIMUM NEG READ_VARIABLE REVERSE_V2 ROUND SIN SLICE "
    "SQRT SQUARE TRANSPOSE ZEROS_LIKE"
)
KERNELS: dict[str, Kernel] = {
    **dict.fromkeys(_PLAIN.split(), Kernel()),
    **dict.fromkeys(("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"), _COMPARISON),
    **dict.fromkeys(("MEAN", "SUM"), _REDUCER),
    **dict.fromkeys(("REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL"), _EXTREMA),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), _POOL),
    **dict.fromkeys(("ARG_MAX", "ARG_MIN", "SHAPE", "SPLIT", "SPLIT_V"), Kernel("i")),
    **dict.fromkeys(("PACK", "UNPACK", "CAST"), Kernel("2i")),
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), Kernel("2b")),
    **dict.fromkeys(("PAD", "PADV2"), Kernel("", "b5ib5ibi")),
    **dict.fromkeys(("LOGISTIC", "TANH"), Kernel("", "4i")),
    **dict.fromkeys(("ABS", "RSQRT"), Kernel("", "4ib2i")),
    **dict.fromkeys(("SPACE_TO_DEPTH", "DEPTH_TO_SPACE"), Kernel("i", "", _copied_dims)),
    "ADD": Kernel("ib", "b14i"),
    "ADD_N": Kernel("", "", _add_n_state, _pointers),
    "ASSIGN_VARIABLE": Kernel("", "c"),
    "BATCH_MATMUL": Kernel("3b", "3P3b", _transposed),
    "CALL_ONCE": Kernel("i", "ib"),
    "CONCATENATION": Kernel("2i", "i2P3i10c"),
    "CONV_2D": Kernel("7i", _CONV, _per_channel(0), _unpacked_filter),
    "CUMSUM": Kernel("2b", "", _cumsum_state),
    "DEPTHWISE_CONV_2D": Kernel("7i", _CONV, _per_channel(3), _unpacked_filter),
    "DEQUANTIZE": Kernel("", "{qi}3i"),
    "DIV": Kernel("i", "7i"),
    "ELU": Kernel("", "256b"),
    "FULLY_CONNECTED": Kernel("2i2bi2P", "9i2Pb2c", _per_channel_fully_connected, _unpacked_filter),
    "GATHER": Kernel("2i", "", _copied_dims),
    "GATHER_ND": Kernel("", "", _copied_dims),
    "HARD_SWISH": Kernel("", "3hihi"),
    "IF": Kernel("2i", "2i"),
    "L2_NORMALIZATION": Kernel("i", "i"),
    "L2_POOL_2D": Kernel("10i", "", _copied_dims),
    "LEAKY_RELU": Kernel("i", "6i"),
    "LOG_SOFTMAX": Kernel("", "", _log_softmax_state),
    "MIRROR_PAD": Kernel("i", "5i", scratch=_mirrored),
    "MUL": Kernel("i", "9i"),
    "PRELU": Kernel("", "7i"),
    "QUANTIZE": Kernel("", "{iq}3i"),
    "RELU": Kernel("", "b6i"),
    "RELU6": Kernel("", "2i"),
    "RESHAPE": Kernel("9i", "", _stretched_dims),
    "SELECT_V2": Kernel("", "b"),
    "SOFTMAX": Kernel("i", "q7i5P", _softmax_tables),
    "SPACE_TO_BATCH_ND": Kernel("", "i"),
    "SQUARED_DIFFERENCE": Kernel("", f"b{{{_ARITHMETIC}}}"),
    "SQUEEZE": Kernel("9i"),
    "STRIDED_SLICE": Kernel("5ib", "b5ib5ib5i5hb"),
    "SUB": Kernel("ib", "b12i"),
    "SVDF": Kernel("2ib", "9i", scratch=_filtered),
    "TRANSPOSE_CONV": Kernel("5i", "b8h9ii2ci2P", _per_channel(0), _accumulators),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Kernel("3i3b", f"b4iihii8{{9i3b}}3{{{_ARITHMETIC}}}4i", scratch=_gates, looks=1),
    "VAR_HANDLE": Kernel("2P", "i"),
    "WHILE": Kernel("2i", "2i"),
}
"""The kernels whose memory is known, by operator."""

_SIGNALS = (
    "SignalWindow SignalFftAutoScale SignalEnergy SignalFilterBank SignalFilterBankSquareRoot "
    "SignalFilterBankSpectralSubtraction SignalPCAN SignalFilterBankLog"
)
SCRATCH_ONLY: dict[str, Sizes] = {**dict.fromkeys(_SIGNALS.split(), _nothing), "SignalRfft": _spectrum}
"""Custom operators of TFLM of which only the scratch is known."""


def sizes_for(sizes: Sizes, call: Call) -> Sequence[int]:
    """The sizes for a node. Raises: InputError if it lacks an operand, a dimension or an option that they depend on."""
    try:
        return sizes(call)
    except (AttributeError, IndexError, KeyError, ZeroDivisionError) as error:
        where = f"subgraph {call.subgraph}, node {call.node.index} ({call.node.op})"
        message = f"{where}: TFLM's kernel needs an operand, a dimension or an option that the node lacks"
        raise InputError(message, subgraph=call.subgraph, node=call.node.index, op=call.node.op) from error


def kernel_of(node: Node) -> Kernel | None:
    """The memory of a node's kernel; None if it is not known."""
    return None if node.custom else KERNELS.get(node.op)


def scratch_of(call: Call) -> Sequence[int] | None:
    """The sizes of the scratch that a node's kernel requests; None if they are not known."""
    kernel = kernel_of(call.node)
    sizes = kernel.scratch if kernel is not None else SCRATCH_ONLY.get(call.node.op) if call.node.custom else None
    return None if sizes is None else sizes_for(sizes, call)
