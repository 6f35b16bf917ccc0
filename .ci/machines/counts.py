"""Counted instructions of minilite and of LiteRT with XNNPACK on an emulated Arm, one thread each.

    counts.py MACHINE --shared ../shared [--write docs/performance.md] [--where 12] [MODEL...]
    counts.py MACHINE --shared ../shared --tiles [--write docs/primitives.md] [MODEL...]

MACHINE is a folder that .ci/emulated made. Counted are: a steady run; going back to a size that was used, with
its run; a new size, with its run; reading the model and its first run. CPU in the environment names the processor:
cortex-a76, whose dot products both use, which is the default; cortex-a72, which has none; max,sve=off,sme=off, which
says that it is a Neoverse N2 and has SMMLA; or cortex-a7, of 32 bits. There LiteRT is tflite_runtime 2.14, the last one
for it. The table is printed; with --write it also replaces this processor's table in that file.
With --where, a steady run is printed by function, the largest first: instructions, how many of them compute vectors,
multiply-adds, and vector instructions per multiply-add. That needs a core with symbols (pip: -C install.strip=false).
With --tiles, a steady run of minilite by Winograd's tiles is beside one with winograd=False: of the whole model, and of
each node that tiles compute, in a model of its own.
"""

from __future__ import annotations

import argparse
import bisect
import collections
import json
import math
import os
import pathlib
import re
import subprocess
import sys
from typing import Any

MODELS = (
    "mlperftiny_vww_96_float", "mlperftiny_pretrainedResnet", "tfsupport_mobilenet_v1_0.25_224_1_default_1",
    "dtln_model_1", "mlperftiny_kws_ref_model", "mlperftiny_vww_96_int8", "mlperftiny_pretrainedResnet_quant",
    "mlperftiny_ad01_int8", "microwakeword_v2_hey_jarvis", "coral_mobilenet_v1_0.25_128_quant",
    "mlperftiny_kws_ref_model_float32", "dtln_model_quant_1", "mediapipe_face_detection_short_range",
)  # fmt: skip
PHASES = ("a run", "a size that was used", "a new size", "load")
PROCESSORS = {
    "cortex-a76": (
        "qemu-aarch64",
        "8",
        "0xd0b",
        "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp",
    ),
    "cortex-a72": ("qemu-aarch64", "8", "0xd08", "fp asimd evtstrm aes pmull sha1 sha2 crc32 cpuid"),
    "max,sve=off,sme=off": (
        "qemu-aarch64",
        "8",
        "0xd49",
        "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp i8mm",
    ),
    "cortex-a7": (
        "qemu-arm",
        "7",
        "0xc07",
        "half thumb fastmult vfp edsp neon vfpv3 tls vfpv4 idiva idivt vfpd32 lpae evtstrm",
    ),
}
"""By name, the emulator, and the architecture, part number and features in its /proc/cpuinfo, by which LiteRT chooses
its kernels."""

TILED = ("mlperftiny_pretrainedResnet_quant", "mlperftiny_pretrainedResnet_large_int8")
"""The int8 models of ../shared with at least 40 % of their multiply-adds in 3 x 3 convolutions of stride 1."""

# What runs there. A mark is a system call that the plugin sees.
COMMON = """
import os, sys, numpy as np
if sys.argv[1] == "minilite":
    from minilite import Interpreter
else:
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError:
        from tflite_runtime.interpreter import Interpreter
if sys.argv[1] == "minilite":
    for line in open("/proc/self/maps"):
        if "/_core." in line:
            sys.stderr.write("\\n@map " + line)
def mark(tag):
    try:
        os.getpriority(0, 77770000 + tag)
    except OSError:
        pass
def fill(one):
    dice = np.random.default_rng(0)
    for d in one.get_input_details():
        if d["dtype"] == np.float32:
            one.set_tensor(d["index"], dice.uniform(-1, 1, d["shape"]).astype(np.float32))
        else:
            one.set_tensor(d["index"], dice.integers(0, 100, d["shape"]).astype(d["dtype"]))
"""
GUEST = """
def go_to(one, shapes):
    for d, shape in zip(one.get_input_details(), shapes):
        one.resize_tensor_input(d["index"], shape)
    one.allocate_tensors()
    fill(one)
    one.invoke()
def first(path):
    one = Interpreter(path, num_threads=1)
    one.allocate_tensors()
    fill(one)
    one.invoke()
    return one
def measure(path, sizes):
    mark(0), mark(1)
    one = first(path)
    mark(2)
    one.invoke()
    mark(3)
    one.invoke()
    mark(4)
    if len(sizes) == 2:
        stored, other = map(eval, sizes)
        mark(5)
        go_to(one, other)
        mark(6)
        go_to(one, stored)
        mark(7)
        go_to(one, other)
        mark(8)
for number, line in enumerate(sys.stdin):
    path, *sizes = line.rstrip("\\n").split("\\t")
    if number == 0:
        first(path)  # what is imported late, is
    sys.stderr.write(f"\\n@model {path}\\n")
    sys.stderr.flush()
    try:
        measure(path, sizes)
    except Exception as error:
        sys.stderr.write(f"\\n@error {error}\\n")
"""
GUEST_OF_TILES = """
def run(what, model, winograd):
    one = Interpreter(model, num_threads=1, winograd=winograd)
    one.allocate_tensors()
    fill(one)
    one.invoke()
    one.invoke()
    sys.stderr.write(f"\\n@model {what}\\n")
    sys.stderr.flush()
    mark(1), mark(2)
    one.invoke()
    mark(3)
    return one
def alone(model, number):
    graph = model.subgraphs[0]
    node = graph.nodes[number]
    graph = graph._replace(nodes=(node,), inputs=node.inputs[:1], outputs=node.outputs)
    return model._replace(subgraphs=(graph,), signatures=())
for line in sys.stdin:
    path = line.rstrip("\\n").split("\\t")[0]
    for winograd in (False, True):
        one = run(os.path.basename(path).removesuffix(".tflite"), path, winograd)
    for number in range(len(one.model.subgraphs[0].nodes)):
        if one.plan.way(number):
            tensors = one.model.subgraphs[0].tensors
            node = one.model.subgraphs[0].nodes[number]
            x, w = (tensors[i].shape for i in node.inputs[:2])
            what = f"node {number}, {x[1]} x {x[2]} x {x[3]} -> {w[0]}"
            for winograd in (False, True):
                run(what, alone(one.model, number), winograd)
"""


PROCESSOR = os.environ.get("CPU", "cortex-a76")
RUN = 4
"""The mark at which a steady run ends."""


def root_of(machine: pathlib.Path, processor: str) -> pathlib.Path:
    """A folder that stands for the machine's root, and has that processor's /proc/cpuinfo."""
    _, architecture, part, features = PROCESSORS[processor]
    root = machine / f"root-{processor}"
    (root / "proc").mkdir(parents=True, exist_ok=True)
    for path in (machine / "root").iterdir():
        if path.name != "proc" and not (root / path.name).is_symlink():
            (root / path.name).symlink_to(pathlib.Path("..", "root", path.name))
    of_one = f"Features\t: {features}\nCPU implementer\t: 0x41\nCPU architecture: {architecture}\nCPU variant\t: 0x0\n"
    (root / "proc" / "cpuinfo").write_text(f"processor\t: 0\n{of_one}CPU part\t: {part}\nCPU revision\t: 1\n\n")
    return root


def printed(machine: pathlib.Path, runtime: str, lines: list[str], where: bool = False, guest: str = GUEST) -> str:
    """What the plugin and the guest print."""
    plugin = f"-L {root_of(machine, PROCESSOR)} -plugin {machine / 'count.so'}" + (f",where={RUN}" if where else "")
    # The machine's own emulator is linked statically and can load no plugin.
    emulator = {"QEMU": os.environ.get("QEMU", PROCESSORS[PROCESSOR][0]), "QEMU_ARGUMENTS": plugin, "CPU": PROCESSOR}
    environment = {**os.environ, **emulator, "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [str(machine / "python"), "-c", COMMON + guest, runtime],
        input="".join(f"{line}\n" for line in lines),
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env=environment,
    )
    return done.stderr


def printed_of_all(machine: pathlib.Path, runtime: str, lines: list[str]) -> str:
    """The same for all lines, also if a model ends the process."""
    text = ""
    while lines:
        some = printed(machine, runtime, lines)
        text += some
        lines = lines[max(1, some.count("@model ")) :]
    return text


def counts_of(text: str) -> dict[int, int]:
    """The instructions until each mark."""
    return {int(tag): int(count) for tag, count in re.findall(r"@count (\d+) (\d+)", text)}


def counted(runtime: str, text_of_all: str) -> dict[str, dict[str, int]]:
    """Instructions by model and phase."""
    found: dict[str, dict[str, int]] = {}
    for text in text_of_all.split("@model ")[1:]:
        at = counts_of(text)
        if 4 not in at:
            print(f"{runtime}: {text[:300]}", file=sys.stderr)
            continue
        if "@error" in text:
            print(f"{runtime}, a size: {text.split('@error')[1][:200]}", file=sys.stderr)
        mark = at[1] - at[0]

        def between(a: int, b: int, at: dict[int, int] = at, mark: int = mark) -> int:
            return at[b] - at[a] - mark

        row = {"a run": between(3, 4), "load": between(1, 2)}
        if 8 in at:
            row |= {"a new size": between(5, 6), "a size that was used": between(7, 8)}
        found[pathlib.Path(text.split("\n")[0]).stem] = row
    return found


def symbols_of(core: pathlib.Path) -> tuple[list[int], list[str]]:
    """Begins of functions, ascending, and their names."""
    listed = subprocess.run(["nm", "--defined-only", core], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = sorted((int(at, 16), name) for at, kind, name in map(str.split, listed.splitlines()) if kind in "tT")
    return [at for at, name in found if name[0] != "$"], [name for _, name in found if name[0] != "$"]


def by_function(text: str, most: int) -> str:
    """The functions of minilite's core in which most instructions of a steady run were."""
    maps = [line.split() for line in re.findall("@map (.*)", text)]
    base, core = int(maps[0][0].split("-")[0], 16), pathlib.Path(maps[0][-1])
    end = int(maps[-1][0].split("-")[1], 16)
    begins, names = symbols_of(core)
    lines = []
    for part in text.split("@model ")[1:]:
        of: collections.Counter[str] = collections.Counter()
        vectors, products = of.copy(), of.copy()
        for block in re.findall(r"@block (\d+) (\d+) (\d+) (\d+) (\d+)", part):
            at, instructions, computing, multiplied, times = map(int, block)
            name = names[bisect.bisect(begins, at - base) - 1] if base <= at < end else "elsewhere"
            of[name] += instructions * times
            vectors[name] += computing * times
            products[name] += multiplied * times
        all_of_it, done = of.total() or 1, products.total()
        lines.append(
            f"{pathlib.Path(part.split(chr(10))[0]).stem}: {all_of_it}, {vectors.total()} of vectors, {done} multiply-adds"
        )
        for name, count in of.most_common(most):
            ratio = f"{vectors[name] / products[name]:.3f}" if products[name] else ""
            lines.append(
                f"  {count:10} {count / all_of_it:6.1%} {vectors[name]:10} {products[name]:10} {ratio:>6}  {name}"
            )
    return "\n".join(lines) + "\n"


def line_of(path: pathlib.Path, entry: dict[str, Any]) -> str:
    """A model's path, and the stored shapes and others where LiteRT takes others."""
    worked = [w["inputs"] for w in entry["resize"]["worked"] or [] if w["kind"] != "batch_only"] or [
        w["inputs"] for w in entry["resize"]["worked"] or []
    ]
    return "\t".join([str(path), *([str([i["shape"] for i in entry["inputs"]]), str(worked[0])] if worked else [])])


def table(ours: dict[str, dict[str, int]], theirs: dict[str, dict[str, int]]) -> str:
    """Millions of instructions, and LiteRT's over ours."""
    head = "".join(f" {phase} |" for phase in PHASES)
    lines = [f"| model |{head}", "|---|" + "---|" * len(PHASES)]
    ratios: dict[str, list[float]] = {phase: [] for phase in PHASES}
    for name, row in ours.items():
        cells = []
        for phase in PHASES:
            if phase in row and phase in theirs.get(name, {}):
                ratio = theirs[name][phase] / row[phase]
                ratios[phase].append(ratio)
                cells.append(f"{row[phase] / 1e6:.3g} M, {theirs[name][phase] / 1e6:.3g} M, {ratio:.2f}")
            else:
                cells.append("")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    means = [f"{math.exp(sum(map(math.log, r)) / len(r)):.2f}, {len(r)} models" if r else "" for r in ratios.values()]
    lines.append("| geometric mean | " + " | ".join(means) + " |")
    return "\n".join(lines) + "\n"


def table_of_tiles(text_of_all: str) -> str:
    """Millions of instructions of a run by windows and by tiles, and their ratio, of each model and of its nodes."""
    lines = ["| model, node | windows | tiles | |", "|---|---:|---:|---:|"]
    runs = text_of_all.split("@model ")[1:]
    for pair in zip(runs[::2], runs[1::2], strict=True):
        windows, tiles = (at[3] - 2 * at[2] + at[1] for at in map(counts_of, pair))
        name = pair[0].split("\n")[0]
        lines.append(f"| {name} | {windows / 1e6:.3g} M | {tiles / 1e6:.3g} M | {windows / tiles:.2f} |")
    return "\n".join(lines) + "\n"


def stamp(more: str = "") -> str:
    """The line under the table's mark: the processor, the version, and the command."""
    root = pathlib.Path(__file__).resolve().parents[2]
    version = re.search(r'^version = "(.*)"$', (root / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    of_kinds = {"cortex-a76": ".ci/emulated aarch64 counts", "cortex-a7": ".ci/emulated armv7l counts"}
    command = "" if more else of_kinds.get(PROCESSOR, "")
    command = command or f"CPU={PROCESSOR} .ci/machines/counts.py{more}"
    return f"*Emulated {PROCESSOR}, minilite {version[1]}: `{command}`.*"


def show(made: str, to: pathlib.Path | None, mark: str) -> None:
    """Prints a table; in the file it takes the place of the one between the marks."""
    print(made)
    if to is not None:
        begin, end = f"<!-- begin {mark} -->\n", f"<!-- end {mark} -->"
        before, rest = to.read_text().split(begin)
        to.write_text(before + begin + made + end + rest.split(end)[1])


def main() -> int:
    """The command. Returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("machine", type=pathlib.Path)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--shared", type=pathlib.Path, required=True)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--where", type=int, default=0)
    parser.add_argument("--tiles", action="store_true")
    given = parser.parse_args()
    plugin = pathlib.Path(__file__).with_name("count.c")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", str(given.machine / "count.so"), str(plugin)], check=True)
    folder = given.shared / "models"
    entries = {entry["file"]: entry for entry in json.loads((folder / "MANIFEST.json").read_text())}
    lines = [
        line_of(folder / f"{name}.tflite", entries[f"{name}.tflite"])
        for name in given.models or (TILED if given.tiles else MODELS)
    ]
    if given.where:
        print(by_function(printed(given.machine, "minilite", lines, where=True), given.where))
        return 0
    if given.tiles:
        text = printed(given.machine, "minilite", lines, guest=GUEST_OF_TILES)
        show(f"{stamp(' --tiles')}\n\n{table_of_tiles(text)}", given.write, f"{PROCESSOR} tiles")
        return 0
    ours, theirs = (
        counted(runtime, printed_of_all(given.machine, runtime, lines)) for runtime in ("minilite", "litert")
    )
    show(f"{stamp()}\n\n{table(ours, theirs)}", given.write, PROCESSOR)
    return 0 if ours and len(ours) == len(lines) else 1


if __name__ == "__main__":
    sys.exit(main())
