"""SignalFramer, SignalOverlapAdd, SignalDelay, SignalStacker: keep a part of the stream from run to run, which only the
engine can do; custom operators of TensorFlow Lite Micro's front end for audio."""

from __future__ import annotations

from minilite.ops_shared.operator import reference

FRAMER = reference(
    "SignalFramer",
    rounding={
        "": "exact; frames before there are samples enough are zeros",
    },
)(None)
OVERLAP_ADD = reference(
    "SignalOverlapAdd",
    rounding={
        "f32": "one frame after the other, each sum rounded",
        "s16": "each sum saturates",
    },
)(None)
DELAY = reference(
    "SignalDelay",
    rounding={
        "": "exact",
    },
)(None)
STACKER = reference(
    "SignalStacker",
    rounding={
        "": "exact; zeros while there are too few frames",
    },
)(None)
