"""Compares arena bytes with LiteRT's, model by model. LiteRT's are the span of its tensors' addresses under
BUILTIN_REF, rounded up to 64.

usage: python -m asv_bench.arena_vs_litert DIR [--only FILE]

`ours` is the default plan, `freed` the one with preserve_inputs=False. Ratios are ours / LiteRT's: below 1 means a
smaller arena. Each model has a process of its own, for LiteRT can abort. The last line has the geometric means.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

from minilite import Interpreter, MiniliteError


def measure(path: Path) -> dict[str, int]:
    """Bytes of LiteRT's arena and of ours, for one model."""
    from ai_edge_litert.interpreter import Interpreter as Theirs
    from ai_edge_litert.interpreter import OpResolverType

    ours, freed = Interpreter(path), Interpreter(path, preserve_inputs=False)
    ours.allocate_tensors()
    freed.allocate_tensors()
    theirs = Theirs(model_path=str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    theirs.allocate_tensors()
    assert ours.plan is not None
    low, high = math.inf, 0
    for tensor in ours.model.subgraphs[0].tensors:
        entry = ours.plan.tensor(tensor.index)
        if entry.storage != "arena" or entry.dynamic or not entry.bytes:
            continue
        view = theirs.tensor(tensor.index)()
        address = view.__array_interface__["data"][0]
        low, high = min(low, address), max(high, address + view.nbytes)
        del view
    span = -(-int(high - low) // 64) * 64 if high else 0
    return {"litert": span, "ours": ours.arena_bytes, "freed": freed.arena_bytes}


def main() -> int:
    """Runs every model and prints the table; 1 if any arena of ours is larger than LiteRT's."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path)
    parser.add_argument("--only", type=Path, help="a file with one model file name per line")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.models)))
        return 0
    only = set(args.only.read_text().split()) if args.only else None
    rows: list[tuple[float, float]] = []
    above = 0
    for path in sorted(args.models.glob("*.tflite")):
        if only is not None and path.name not in only:
            continue
        command = [sys.executable, __file__, "--one", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        try:
            found = json.loads(done.stdout.strip().splitlines()[-1])
        except (IndexError, ValueError):
            continue
        if not found["litert"]:
            continue
        rows.append((found["ours"] / found["litert"], found["freed"] / found["litert"]))
        above += found["ours"] > found["litert"]
        print(
            f"{rows[-1][0]:6.3f} {rows[-1][1]:6.3f}  LiteRT {found['litert']:10} ours {found['ours']:10}  {path.name}"
        )
    if not rows:
        print("no model runs on both")
        return 1
    means = [math.exp(sum(math.log(row[k]) for row in rows) / len(rows)) for k in (0, 1)]
    print(f"{len(rows)} models: ours {means[0]:.3f}, inputs freed {means[1]:.3f} of LiteRT's arena; {above} above it")
    return 1 if above else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except MiniliteError as error:
        sys.exit(str(error))
