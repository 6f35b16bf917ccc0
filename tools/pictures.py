"""Draws pictures of the documents: the memory of the digits model at two sizes of its input, whole and in patches, in
two memories of a board, and a problem of hundreds of records.

python -m tools.pictures NAME > docs/pictures/NAME.svg
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import minilite
from minilite import memory
from minilite.format.reader import load_model
from minilite.memory import MemoryPlan, svg
from minilite.memory.boards import board_plan

MODEL = Path(minilite.__file__).parent / "data" / "digits.tflite"
WIDTH, HEIGHT, MARGIN = 450, 420, 80
"""Pixels of a plan and of the taller one, and what a plan has above and below its boxes."""
SIZES_TEXT = (
    "The same model, two sizes of its input.",
    "Each box is a tensor. Across: the nodes during",
    "which it is needed. Upwards: its place in the arena.",
    "No arena can be smaller than the dashed line,",
    "the most bytes that are needed at one node.",
)
TILES_TEXT = (
    "The same model and size, whole and with max_arena.",
    "Nodes 0 to 2, and 3 to 5, run in patches: the tensors",
    "between them no longer exist. The boxes 24 and 27 are",
    "the regions in which their patches lie in turn.",
)


def two_sizes() -> str:
    """The drawing of a small and a larger size as one standalone <svg>; its parts are those of `interpreter.plan`."""
    interpreter = minilite.Interpreter(MODEL)
    sides = (16, 40)
    plans = [interpreter.plan_for({"image": (1, side, side, 1)}).to_memory_plan() for side in sides]
    return _beside(plans, [f"{side} x {side} pixels" for side in sides], SIZES_TEXT)


def tiles() -> str:
    """The drawing of a plan without tiles, and of one with."""
    limits = ("40kB", None)
    plans = [
        minilite.Interpreter(MODEL, max_arena=limit).plan_for({"image": (1, 64, 64, 1)}).to_memory_plan()
        for limit in limits
    ]
    return _beside(plans, ['max_arena="40kB"', "without tiles"], TILES_TEXT)


def memories() -> str:
    """The drawing of the digits model in a fast memory of 2 KiB and a slow one."""
    model = load_model(str(MODEL))
    board = [memory.Memory("fast", 2 << 10), memory.Memory("slow", 64 << 10)]
    return board_plan(model, board).plan.to_svg() + "\n"


def many_records() -> str:
    """The drawing of 400 records, of the kind of which docs/planning.md plans a million."""
    draw = np.random.default_rng(1)
    first = np.arange(400)
    sizes, last = draw.lognormal(10, 1, 400).astype(np.int64), first + draw.exponential(20, 400).astype(np.int64)
    rows = zip(sizes.tolist(), first.tolist(), last.tolist(), strict=True)
    records = [memory.UsageRecord(number, *row) for number, row in enumerate(rows)]
    made = memory.plan(records, max_nodes=1)
    return replace(made, title="400 records, each live for 20 nodes on average").to_svg() + "\n"


def _beside(plans: Sequence[MemoryPlan], titles: Sequence[str], text: Sequence[str]) -> str:
    most = max(plan.arena_bytes for plan in plans)
    parts = []
    for column, (title, plan) in enumerate(zip(titles, plans, strict=True)):
        height = MARGIN + round((HEIGHT - MARGIN) * plan.arena_bytes / most)
        drawn = svg.to_svg(replace(plan, title=title), WIDTH, height)
        parts.append(drawn.replace("<svg ", f'<svg x="{column * WIDTH}" y="{HEIGHT - height}" ', 1))
    size = f'viewBox="0 0 {WIDTH * len(plans)} {HEIGHT}" width="{WIDTH * len(plans)}" height="{HEIGHT}"'
    lines = "".join(f'<tspan x="90" dy="20">{line}</tspan>' for line in text)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="plan" {size} role="img">',
            f"<style>{svg.STYLE}</style>",
            f'<rect class="card" width="{WIDTH * len(plans)}" height="{HEIGHT}"/>',
            f'<text class="text" y="14" font-size="13">{lines}</text>',
            *parts,
            "</svg>\n",
        ]
    )


PICTURES = {"two_sizes": two_sizes, "tiles": tiles, "memories": memories, "many_records": many_records}

if __name__ == "__main__":
    print(PICTURES[sys.argv[1]](), end="")
