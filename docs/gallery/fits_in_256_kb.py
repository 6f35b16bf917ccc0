"""Finds out what fits in 256 KB: the largest picture, which option makes room for a larger one, and what is in the
way."""

from pathlib import Path

import minilite

model = minilite.load_model(Path(minilite.__file__).parent / "data" / "digits.tflite")

for title, options in (
    ("all tensors kept", {"experimental_preserve_all_tensors": True}),
    ("as it comes", {}),
    ("input may be overwritten", {"preserve_inputs": False}),
):
    best = minilite.Interpreter(model, **options).fit("256KB", "side").best
    print(f"{title:24}  {best.size} x {best.size} pixels, arena {best.arena_bytes}, lower bound {best.lower_bound}")

interpreter = minilite.Interpreter(model, max_bytes=256_000)  # a limit that no call exceeds
interpreter.resize_tensor_input("image", (1, 100, 100, 1))
try:
    interpreter.allocate_tensors()
except minilite.ArenaError as error:
    print("100 x 100 pixels:", error)

plan = interpreter.plan_for({"image": (1, 100, 100, 1)})
for advice in plan.advise_bind():
    name = model.subgraphs[0].tensors[advice.tensor].name
    print(f"{name!r} in a buffer elsewhere ({advice.bytes} bytes) leaves an arena of {advice.arena_bytes}")
Path("fits_in_256_kb.svg").write_text(plan.to_svg())
