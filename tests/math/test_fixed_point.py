"""Multipliers of integers, where sums and shifts are as large as files can make them: csrc/math/fixed_point.h.

A C program prints what the functions give, and ends at undefined behaviour. Python computes what they should give.
"""

from __future__ import annotations

import itertools
import pathlib
import shutil
import subprocess

import pytest

CORE = pathlib.Path(__file__).parents[2] / "csrc"
COMPILER = shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")
SUMS = [
    *(sign * (1 << bit) + more for bit in (0, 15, 46, 47, 62) for sign in (1, -1) for more in (-1, 0, 1)),
    -(1 << 63),
]
MANTISSAS = [0, 1 << 30, 1_500_000_001, 0x7FFEFFFF, 0x7FFF0000, 0x7FFFFFFF, -(1 << 30)]
SHIFTS = [-31, -16, -1, 0, 1, 14, 15, 16, 30]
PROGRAM = """
#include <inttypes.h>
#include <stdio.h>
#include "math/fixed_point.h"
int main(void) {
    int64_t x;
    int32_t mantissa, shift;
    while (scanf("%" SCNd64 "%" SCNd32 "%" SCNd32, &x, &mantissa, &shift) == 3)
        printf("%" PRId32 "\\n", ml_multiply_quantized_s64(x, mantissa, shift));
    return 0;
}
"""


def wrapped(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


def product(x: int, mantissa: int, shift: int) -> int:
    """x times the mantissa rounded to 16 bits, shifted; 64 bits of the product, and 32 of the result, are kept."""
    reduced = (mantissa + (1 << 15)) >> 16 if mantissa < 0x7FFF0000 else 0x7FFF
    total = 15 - shift
    if total <= 0:
        return wrapped(x * reduced << -total, 32)
    return wrapped(wrapped(x * reduced + (1 << (total - 1)), 64) >> total, 32)


@pytest.mark.skipif(COMPILER is None or not CORE.exists(), reason="needs a C compiler and the sources")
def test_products_of_64_bits_wrap(tmp_path: pathlib.Path) -> None:
    source, program = tmp_path / "products.c", tmp_path / "products"
    source.write_text(PROGRAM)
    flags = ["-std=gnu11", "-O1", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", f"-I{CORE}"]
    subprocess.run([str(COMPILER), *flags, "-o", str(program), str(source)], check=True)
    given = list(itertools.product(SUMS, MANTISSAS, SHIFTS))
    lines = "\n".join(f"{x} {mantissa} {shift}" for x, mantissa, shift in given)
    ran = subprocess.run([str(program)], input=lines, capture_output=True, text=True, check=False)
    assert ran.returncode == 0
    assert [int(line) for line in ran.stdout.split()] == [product(*each) for each in given]
