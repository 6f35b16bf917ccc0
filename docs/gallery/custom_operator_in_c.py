"""The kernel of a custom operator in C: compiled by the program, checked against numpy, and run without Python."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import minilite
from minilite.format.builder import ModelBuilder

SOURCE = r"""
#include <kernel.h>

#define FIELDS(X, S) X(S, f32, factor)
ML_PARAMS(softshrink_params, FIELDS)

static ml_status prepare(const ml_call *c, ml_wish *wish) {
    return ml_set_output(c, 0, &ml_input(c, 0)->shape);
}

static ml_status softshrink(const ml_call *c) {
    const softshrink_params *p = c->params;
    const float *x = ml_in(c, 0);
    float *y = ml_out(c, 0);
    for (int64_t i = 0; i < ml_elements(&ml_in_tensor(c, 0)->shape); i++)
        y[i] = x[i] > p->factor ? x[i] - p->factor : x[i] < -p->factor ? x[i] + p->factor : 0;
    return ML_OK;
}

const ml_kernel softshrink_kernel = {.abi = ML_KERNEL_ABI, .name = "softshrink", ML_PARAMS_OF(softshrink_params),
                                     .prepare = prepare, .in_place = ML_INPUT(0),
                                     ML_TYPED({"f32 -> f32", NULL, NULL, softshrink})};
"""

with tempfile.TemporaryDirectory() as folder:
    source, library = Path(folder, "softshrink.c"), Path(folder, "softshrink.so")
    source.write_text(SOURCE)
    include = f"-I{minilite.get_include()}"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", include, "-o", library, source], check=True)
    row = ctypes.c_char.in_dll(ctypes.CDLL(str(library)), "softshrink_kernel")

builder = ModelBuilder()
graph = builder.subgraph()
x = graph.input("x", (5,), signature=(-1,))
graph.output(graph.node("Softshrink", [x], out=("y", (5,)), custom=True))

kernel = minilite.kernel(ctypes.addressof(row), {"factor": 0.5})
interpreter = minilite.Interpreter(builder.build(), custom_ops={"Softshrink": kernel})
print(interpreter.run(np.array([-2, -0.5, 0, 0.75, 3], np.float32))["y"])
many = np.random.default_rng(1).normal(0, 1, 1000).astype(np.float32)
by_numpy = np.sign(many) * np.maximum(np.abs(many) - np.float32(0.5), 0)
print("equal to numpy:", np.array_equal(interpreter.run(many)["y"], by_numpy))
