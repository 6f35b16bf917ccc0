"""SignalFramer, SignalOverlapAdd, SignalDelay, SignalStacker: what keeps a piece of the stream from run to run, which
only the engine can; custom operators of TensorFlow Lite Micro's front end for audio."""

from __future__ import annotations

from minilite.format.flexbuffer import scalars
from minilite.ops_shared.custom_options import count, flag
from minilite.ops_shared.operator import Operator, OpNode, Param

_FRAMER: dict[str, Param] = {
    "size": count("frame_size", most=1 << 15),
    "step": count("frame_step", most=1 << 15),
    "prefill": flag("prefill"),
}
_STACKER: dict[str, Param] = {
    "channels": count("num_channels", most=1 << 15),
    "left": count("stacker_left_context", least=0, most=1 << 15),
    "right": count("stacker_right_context", least=0, most=1 << 15),
    "step": count("stacker_step", most=1 << 15),
}


def _check_framer(node: OpNode) -> None:
    size, step = (_FRAMER[name](node) for name in ("size", "step"))
    if step > size:
        raise node.refuse(f"frames of {size} samples, the step of {step} must be no longer")


def _check_stacker(node: OpNode) -> None:
    left, right, step = (_STACKER[name](node) for name in ("left", "right", "step"))
    if step > left + right + 1:
        raise node.refuse(f"{left + right + 1} frames side by side, the step of {step} must be no longer")


OPERATORS = (
    Operator(
        "SignalFramer",
        range(1, 2),
        takes="x -> y valid",
        types=("s16 -> s16 b8",),
        params=_FRAMER,
        check=_check_framer,
        kernel="signal_framer",
        custom=scalars,
        rule={"": "exact; frames before there are samples enough are zeros"},
    ),
    Operator(
        "SignalOverlapAdd",
        range(1, 2),
        takes="x -> y",
        types=("s16 -> s16", "f32 -> f32"),
        params={"step": count("frame_step")},
        kernel="signal_overlap_add",
        custom=scalars,
        rule={"f32": "one frame after the other, each sum rounded", "s16": "each sum saturates"},
    ),
    Operator(
        "SignalDelay",
        range(1, 2),
        takes="x -> y",
        types=("s16 -> s16",),
        params={"length": count("delay_length", least=0)},
        kernel="signal_delay",
        custom=scalars,
        rule={"": "exact"},
    ),
    Operator(
        "SignalStacker",
        range(1, 2),
        takes="x -> y valid",
        types=("s16 -> s16 b8",),
        params=_STACKER,
        check=_check_stacker,
        kernel="signal_stacker",
        custom=scalars,
        rule={"": "exact; zeros while there are too few frames"},
    ),
)
