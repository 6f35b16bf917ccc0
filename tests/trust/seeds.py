"""Writes the seed corpora of the harnesses: python tests/trust seeds FOLDER, which gets a folder each."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from flatbuffers import flexbuffers  # type: ignore[import-untyped]
from support.drawn import made
from support.drawn_all import DRAWN
from trust.sequence_models import MODELS
from trust.test_found import empty_variables, scalar
from trust.test_reader_fuzz import SEEDS, seed

from minilite.format.reader import read_model

MOST_BYTES = 4096


def models() -> Iterator[tuple[str, bytes]]:
    """Small models: a node of each operator, and a few that have loops, strings, variables, signatures, and shapes
    without an address."""
    yield from (("scalar", scalar()), ("empty_variables", empty_variables(2, 5)))
    for name in SEEDS:
        yield name, seed(name, external=False)
    for name, make in MODELS.items():
        yield name, make().model
    for op in DRAWN:
        for number in range(2):
            model = made(op, 3, number).model
            if len(model) <= MOST_BYTES:
                yield f"{op}_{number}", model


def main(arguments: Sequence[str]) -> int:
    """The command. Returns its exit status."""
    (folder,) = arguments
    chance = random.Random(0)
    corpora: dict[str, dict[str, bytes]] = {name: {} for name in ("reader", "run", "records", "offline", "flexbuffer")}
    for name, model in models():
        corpora["reader"][name] = corpora["run"][name] = model
        read = read_model(model)
        count = min(len(read.subgraphs[0].tensors), 32)
        offsets = [64 * k if chance.random() < 0.8 else -1 for k in range(count)]
        corpora["offline"][name] = bytes([count]) + struct.pack(f"<{count}i", *offsets) + model
        for node in (node for graph in read.subgraphs for node in graph.nodes if node.custom_options):
            corpora["flexbuffer"][f"{name}_{node.index}"] = bytes(node.custom_options)
    for strategy in range(16):
        rows = [
            struct.pack("<IHHB", chance.randrange(1 << 20), chance.randrange(9), chance.randrange(9, 20), 0)
            for _ in range(12)
        ]
        corpora["records"][f"strategy_{strategy}"] = bytes([strategy]) + b"".join(r[:3] + r[4:] for r in rows)
    maps = (
        {},
        {"max_detections": 10, "max_classes_per_detection": 1, "nms_iou_threshold": 0.5, "use_regular_nms": True},
        {
            "numbers": [1, 2, 3],
            "reals": [0.5, 1.5],
            "text": "words",
            "none": None,
            "inner": {"a": 1},
            "mixed": [1, "a"],
        },
        {"big": 2**62, "small": -(2**40), "y_scale": 10.0, "": 0},
    )
    for number, values in enumerate(maps):
        corpora["flexbuffer"][f"map_{number}"] = bytes(flexbuffers.Dumps(values))
    for corpus, files in corpora.items():
        place = Path(folder, corpus)
        place.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (place / name).write_bytes(data)
    return 0
