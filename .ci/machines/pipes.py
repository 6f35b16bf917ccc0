"""The inner loops of neon, neon_dot and i8mm in llvm-mca's models of processors: what they take, and what bounds them.

    pipes.py [--all REGEX] [--write docs/performance.md]

Compiles the primitives by the cross compiler, as the build does, and finds the innermost loops of their functions. The
table has a row for each loop of LOOPS: its instructions, how many of them compute vectors for each multiply-add, and,
for each processor, the multiply-adds of a cycle and the share of its vector pipes that is busy, all data being at hand.
With --all, it has all loops whose "level/file/function" the expression matches. With --write, it takes the place of the
one in that file. Needs aarch64-linux-gnu-gcc, cmake, and an llvm-mca that models neoverse-v1 (Debian: llvm-19); where
one is missing, this is said, and the exit status is 2.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
BEGIN, END = "<!-- begin pipes -->\n", "<!-- end pipes -->"
LEVELS = ("neon", "neon_dot", "i8mm")
TURNS = 100
LEAST_PRODUCTS = 4

# What a loop is called, and the function that it is in. Among the loops of a function, that with most multiply-adds per
# instruction counts.
LOOPS = (
    ("matmul_f32: 5 rows", "neon/matmul_f32/tile_5x2"),
    ("matmul_f32: 2 rows", "neon/matmul_f32/tile_2x4"),
    ("matmul_f32: a row", "neon/matmul_f32/tile_1x4"),
    ("matmul_f32: 10 rows, 4 outputs", "neon/matmul_f32/half_10"),
    ("dot_rows_f32", "neon/.*/ml_dot_rows_f32_neon"),
    ("mix_rows_f32", "neon/.*/ml_mix_rows_f32_neon"),
    ("dot_blocks_f32", "neon/.*/ml_dot_blocks_f32_neon"),
    ("depthwise_f32: 3x3, 8 pixels", "neon/depthwise_f32/tiles_3_1_8"),
    ("depthwise_f32: 3x3 / 2, 8 pixels", "neon/depthwise_f32/tiles_3_2_8"),
    ("depthwise_f32: a pixel", "neon/depthwise_f32/pixels_alone"),
    ("product_s8: 2 rows", "neon/matmul_s8/signed_2"),
    ("product_s8: 2 rows, uint8", "neon/product_s8/flipped_2"),
    ("product_s8: a row", "neon/product_s8/multiply_row"),
    ("depthwise_narrow_s8: 3x3, 8 pixels", "neon/depthwise_narrow_s8/tiles_3_1_8"),
    ("depthwise_narrow_s8: 3x3 / 2, 8 pixels", "neon/depthwise_narrow_s8/tiles_3_2_8"),
    ("depthwise_narrow_s8: a pixel", "neon/depthwise_narrow_s8/multiply_pixel"),
    ("depthwise_product_s8: 3x3, 8 pixels", "neon/depthwise_product_s8/tiles_3_1_8"),
    ("depthwise_product_s8: 3x3 / 2, 8 pixels", "neon/depthwise_product_s8/tiles_3_2_8"),
    ("depthwise_product_s8: a pixel", "neon/depthwise_product_s8/signed_pixel"),
    ("depthwise_product_s8: 3x3, 8 pixels", "neon_dot/depthwise_product_s8/tiles_3_1_8"),
    ("depthwise_product_s8: 3x3 / 2, 8 pixels", "neon_dot/depthwise_product_s8/tiles_3_2_8"),
    ("depthwise_product_s8: a pixel", "neon_dot/depthwise_product_s8/signed_pixel"),
    ("product_s8: 5 rows", "neon_dot/product_s8/signed_5"),
    ("product_s8: 5 rows, uint8", "neon_dot/product_s8/flipped_5"),
    ("product_s8: 4 rows, uint8", "neon_dot/product_s8/flipped_4"),
    ("product_s8: 2 rows, uint8", "neon_dot/product_s8/flipped_2"),
    ("product_s8: a row", "neon_dot/product_s8/multiply_row"),
    ("product_s8: 6 rows", "i8mm/product_s8/signed_6"),
    ("product_s8: 4 rows", "i8mm/product_s8/signed_4"),
    ("product_s8: 2 rows", "i8mm/product_s8/signed_2"),
    ("product_s8: a row, multiplied twice", "i8mm/product_s8/multiply_row"),
)

# Of each processor: the units that compute vectors.
PROCESSORS = {
    "neoverse-n1": r"N1UnitV\d",
    "neoverse-v1": r"V1UnitV\d",
    "neoverse-n2": r"N2UnitV\d",
    "cortex-a53": r"A53UnitFP(ALU|MDS)",
}


class Instruction(NamedTuple):
    """One line of objdump."""

    address: int
    name: str
    operands: str


class Load(NamedTuple):
    """What a loop is to a processor."""

    cycles: float
    busy: float


def functions(listing: str) -> dict[str, list[Instruction]]:
    """The functions of an object, as `objdump -d --no-show-raw-insn` prints them."""
    found: dict[str, list[Instruction]] = {}
    of: list[Instruction] = []
    for line in listing.splitlines():
        if begin := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            of = found[begin[1]] = []
        elif one := re.match(r"\s+([0-9a-f]+):\s+(\S+)\s*([^/]*)", line):
            of.append(Instruction(int(one[1], 16), one[2], one[3].strip()))
    return found


def innermost(function: list[Instruction]) -> list[list[Instruction]]:
    """Its loops that have no other loop within them."""
    index = {one.address: i for i, one in enumerate(function)}
    loops = []
    for end, one in enumerate(function):
        to = re.search(r"\b([0-9a-f]+) <", one.operands)
        if to and re.fullmatch(r"b|b\..*|cbn?z|tbn?z", one.name):
            begin = index.get(int(to[1], 16), end + 1)
            if begin <= end:
                loops.append((begin, end))
    within = [(a, b) for a, b in loops if not any((c, d) != (a, b) and a <= c and d <= b for c, d in loops)]
    return [function[a : b + 1] for a, b in within]


def products_of(one: Instruction) -> int:
    """The multiply-adds of a vector instruction."""
    lanes = re.match(r"v\d+\.(\d+)[bhsd]", one.operands)
    if not lanes:
        return 0
    if one.name in ("sdot", "udot"):
        return 4 * int(lanes[1])
    if one.name in ("smmla", "usmmla"):
        return 8 * int(lanes[1])
    return int(lanes[1]) if re.fullmatch(r"fml[as]|ml[as]|[su]m(ull|lal)2?", one.name) else 0


def is_vector(one: Instruction) -> bool:
    """Whether it computes vectors: neither a load nor a store."""
    return re.match(r"[vq]\d", one.operands) is not None and not re.match(r"ld|st", one.name)


def described(loop: list[Instruction]) -> str:
    """What llvm-mca reads: branches go to the loop's begin, wherever they went."""
    lines = (f"{one.name} {re.sub(r'[0-9a-f]+ <.*>', 'again', one.operands)}\n" for one in loop)
    return "again:\n" + "".join(lines)


def load_of(printed: str, units: str) -> Load:
    """What llvm-mca's JSON says of a loop."""
    parsed = json.loads(printed)
    region, names = parsed["CodeRegions"][0], parsed["TargetInfo"]["Resources"]
    pipes = {i for i, name in enumerate(names) if re.match(units, name)}
    usages = region["ResourcePressureView"]["ResourcePressureInfo"]
    of_all = max(usage["InstructionIndex"] for usage in usages)  # the sums come after the last instruction
    summed = sum(u["ResourceUsage"] for u in usages if u["InstructionIndex"] == of_all and u["ResourceIndex"] in pipes)
    cycles = region["SummaryView"]["TotalCycles"] / region["SummaryView"]["Iterations"]
    return Load(cycles, summed / len(pipes) / cycles)


def modelled(mca: str, loop: list[Instruction], processor: str) -> Load | None:
    """What a loop is to a processor, or None where that lacks its instructions."""
    command = [mca, "-mtriple=aarch64-linux-gnu", f"-mcpu={processor}", f"-iterations={TURNS}", "--json"]
    done = subprocess.run(command, input=described(loop), capture_output=True, text=True, check=False)
    if "instruction requires" in done.stderr:
        return None
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[:1000]}")
    return load_of(done.stdout, PROCESSORS[processor])


def row(name: str, loop: list[Instruction], loads: list[Load | None]) -> str:
    """A line of the table."""
    products, vectors = sum(map(products_of, loop)), sum(map(is_vector, loop))
    cells = [f"{products / one.cycles:.1f}, {one.busy:.0%}" if one else "" for one in loads]
    return f"| {name} | {len(loop)} | {products} | {vectors / products:.3f} | {' | '.join(cells)} |\n"


def compiled(to: pathlib.Path) -> dict[str, list[list[Instruction]]]:
    """The innermost loops that multiply, by level/file/function."""
    core = HERE.parents[1] / "tests" / "simd" / "walk"
    cross = [f"-DCMAKE_TOOLCHAIN_FILE={HERE / 'toolchain.cmake'}", "-DCMAKE_BUILD_TYPE=Release"]
    environment = {**os.environ, "ML_TARGET": "aarch64-linux-gnu"}
    targets = [part for level in LEVELS for part in ("--target", f"minilite_{level}")]
    for command in (["cmake", "-S", core, "-B", to, *cross], ["cmake", "--build", to, "--parallel", "2", *targets]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    found = {}
    for level in LEVELS:
        for path in sorted(to.rglob(f"minilite_{level}.dir/**/*.o")):
            command = ["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", path]
            listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            for name, function in functions(listing).items():
                loops = [
                    loop for loop in innermost(function) if sum(map(bool, map(products_of, loop))) >= LEAST_PRODUCTS
                ]
                found[f"{level}/{path.name.split('.')[0]}/{name}"] = loops
    return found


def chosen(found: dict[str, list[list[Instruction]]], every: str | None) -> list[tuple[str, list[Instruction]]]:
    """The loops of the table and their names."""
    if every is not None:
        return [(name, loop) for name, loops in found.items() if re.search(every, name) for loop in loops]
    rows = []
    for name, place in LOOPS:
        loops = [loop for where, loops in found.items() if re.fullmatch(place, where) for loop in loops]
        if not loops:
            raise RuntimeError(f"{place}: no such function has a loop that multiplies")
        best = max(loops, key=lambda loop: sum(map(products_of, loop)) / len(loop))
        rows.append((f"{place.split('/')[0]}, {name}", best))
    return rows


def missing() -> str | None:
    """Which program is not installed."""
    if not any(map(shutil.which, MCA)):
        return f"{' or '.join(MCA)} (Debian: llvm-19)"
    needed = ("cmake", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump")
    return next((name for name in needed if shutil.which(name) is None), None)


MCA = tuple(f"llvm-mca-{version}" for version in (21, 20, 19))


def main() -> int:
    """The command. Returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--all", metavar="REGEX")
    parser.add_argument("--write", type=pathlib.Path)
    given = parser.parse_args()
    if lacks := missing():
        print(f"not installed: {lacks}", file=sys.stderr)
        return 2
    mca = next(filter(None, map(shutil.which, MCA)))
    with tempfile.TemporaryDirectory() as folder:
        loops = chosen(compiled(pathlib.Path(folder)), given.all)
    head = " | ".join(f"{processor}: multiply-adds per cycle, pipes busy" for processor in PROCESSORS)
    root = HERE.parents[1]
    version = re.search(r'^version = "(.*)"$', (root / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    made = f"*llvm-mca, minilite {version[1]}: `.ci/machines/pipes.py`.*\n\n"
    made += f"| loop | instructions | multiply-adds | vector instructions per multiply-add | {head} |\n"
    made += "|---|" + "---:|" * (3 + len(PROCESSORS)) + "\n"
    for name, loop in loops:
        made += row(name, loop, [modelled(mca, loop, processor) for processor in PROCESSORS])
    print(made, end="")
    if given.write:
        text = given.write.read_text()
        before, rest = text.split(BEGIN)
        given.write.write_text(before + BEGIN + made + END + rest.split(END)[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
