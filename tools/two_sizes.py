"""Draws the memory of the digits model at two sizes of its input, side by side, with one scale of bytes.

python -m tools.two_sizes > docs/pictures/two_sizes.svg
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import minilite
from minilite.memory import svg

MODEL = Path(minilite.__file__).parent / "data" / "digits.tflite"
SIDES = (16, 40)
WIDTH, HEIGHT, MARGIN = 450, 420, 80
"""Pixels of a plan and of the taller one, and what a plan has above and below its boxes."""
TEXT = (
    "The same model, two sizes of its input.",
    "Each box is a tensor. Across: the nodes during",
    "which it is needed. Upwards: its place in the arena.",
    "No arena can be smaller than the dashed line,",
    "the most bytes that are needed at one node.",
)


def picture() -> str:
    """The drawing as one standalone <svg>; its parts are those of `interpreter.plan`."""
    interpreter = minilite.Interpreter(MODEL)
    plans = [interpreter.plan_for({"image": (1, side, side, 1)}).to_memory_plan() for side in SIDES]
    most = max(plan.arena_bytes for plan in plans)
    parts = []
    for column, (side, plan) in enumerate(zip(SIDES, plans, strict=True)):
        height = MARGIN + round((HEIGHT - MARGIN) * plan.arena_bytes / most)
        drawn = svg.to_svg(replace(plan, title=f"{side} x {side} pixels"), WIDTH, height)
        parts.append(drawn.replace("<svg ", f'<svg x="{column * WIDTH}" y="{HEIGHT - height}" ', 1))
    size = f'viewBox="0 0 {WIDTH * len(SIDES)} {HEIGHT}" width="{WIDTH * len(SIDES)}" height="{HEIGHT}"'
    lines = "".join(f'<tspan x="90" dy="20">{line}</tspan>' for line in TEXT)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="plan" {size} role="img">',
            f"<style>{svg.STYLE}</style>",
            f'<rect class="card" width="{WIDTH * len(SIDES)}" height="{HEIGHT}"/>',
            f'<text class="text" y="14" font-size="13">{lines}</text>',
            *parts,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    print(picture(), end="")
