"""A steady invoke of an all-C model is one call into C, and that call asks no allocator for anything."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import types
from typing import Any

import numpy as np
import pytest
from built import ready, relu_chain

from minilite._core import lib

COUNTING = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <sys/types.h>

long counted_allocations;

#define COUNTED(result, name, declared, passed)                                                  \
    result name declared {                                                                       \
        static result (*real) declared;                                                          \
        if (!real) real = (result(*) declared)dlsym(RTLD_NEXT, #name);                           \
        counted_allocations++;                                                                   \
        return real passed;                                                                      \
    }
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);
void *malloc(size_t n) { counted_allocations++; return __libc_malloc(n); }
void *calloc(size_t m, size_t n) { counted_allocations++; return __libc_calloc(m, n); }
void *realloc(void *p, size_t n) { counted_allocations++; return __libc_realloc(p, n); }
void free(void *p) { counted_allocations += p != NULL; __libc_free(p); }
COUNTED(void *, aligned_alloc, (size_t a, size_t n), (a, n))
COUNTED(int, posix_memalign, (void **p, size_t a, size_t n), (p, a, n))
COUNTED(void *, mmap, (void *p, size_t n, int a, int b, int c, off_t d), (p, n, a, b, c, d))
COUNTED(int, munmap, (void *p, size_t n), (p, n))
"""

# The calls are counted from one read of the counter to the next, with nothing but ml_state_run between: made from C by
# a second small library, so that Python's own allocations stay out.
LOOP = r"""
typedef int (*run_fn)(void *, void *);
extern long counted_allocations;
long count_runs(run_fn run, void *state, void *error, int times) {
    long before = counted_allocations;
    for (int i = 0; i < times; i++)
        if (run(state, error)) return -1;
    return counted_allocations - before;
}
"""

PROGRAM = """
import ctypes, os, sys
sys.path[:0] = [{here!r}, {here!r} + "/_native"]
import numpy as np
from minilite._core import ffi, lib
from test_no_allocation import everything_in_c, relu_chain
from built import ready

loop = ctypes.CDLL({loop!r}).count_runs
loop.restype = ctypes.c_long
loop.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
address = lambda pointer: int(ffi.cast("uintptr_t", pointer))
run = address(ffi.addressof(lib, "ml_state_run"))
for model in (relu_chain(5), everything_in_c()):
    interpreter = ready(model)
    for _ in range(2):
        interpreter.invoke()
    state = interpreter._engine.session().state
    error = ffi.new("ml_error *", {{"node": -1}})
    print(loop(run, address(state.pointer), address(error), 1000))
    # The counter counts: preparing another size takes memory.
    before = ctypes.c_long.in_dll(ctypes.CDLL(None), "counted_allocations").value
    interpreter.resize_tensor_input(0, (9,))
    interpreter.allocate_tensors()
    print(ctypes.c_long.in_dll(ctypes.CDLL(None), "counted_allocations").value > before)
"""


def everything_in_c() -> bytes:
    """Returns a model with a loop, variables and a dynamic tensor, all of whose nodes run in C: x -> WHILE -> WHERE,
    and a running sum."""
    from built import COUNTER, below, next_count, variable

    from minilite.format.builder import ModelBuilder
    from minilite.format.dtypes import TensorType

    builder = ModelBuilder()
    main, test, body, init = (builder.subgraph(name) for name in ("main", "condition", "body", "init"))
    x = main.input("x", (4,), signature=(-1,))
    main.node("CALL_ONCE", [], options={"init_subgraph_index": 3})
    handle = variable(main)
    old = main.node("READ_VARIABLE", [handle], out=("old", ()))
    main.node("ASSIGN_VARIABLE", [handle, main.node("RELU", [old], out=("new", ()))])
    zero = main.constant("zero", np.array(0, np.int32))
    options = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    _, y = main.node("WHILE", [zero, x], out=[("n", (), TensorType.INT32), ("y", (4,))], options=options)
    mask = main.node("LESS", [y, main.node("ADD", [y, old], out=("sum", (4,)))], out=("mask", (4,), TensorType.BOOL))
    main.output(main.node("WHERE", [mask], out=("indices", (4, 1), TensorType.INT64)))
    for graph in (test, body):
        graph.input(*COUNTER)
        graph.input("x", (4,))
    test.output(below(3)(test, [0]))
    body.output(next_count(body, 0), body.node("ADD", [1, 1], out=("twice", (4,))))
    init.node("ASSIGN_VARIABLE", [variable(init), init.constant("one", np.array(1, np.float32))])
    return builder.build()


@pytest.mark.skipif(not shutil.which("gcc") or not sys.platform.startswith("linux"), reason="needs gcc on Linux")
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer interposes malloc itself")
def test_steady_invoke_calls_no_allocator(tmp_path: pathlib.Path) -> None:
    for name, source in (("counting", COUNTING), ("loop", LOOP)):
        (tmp_path / f"{name}.c").write_text(source)
        command = [
            "gcc",
            "-O1",
            "-fPIC",
            "-shared",
            "-fno-builtin",
            "-o",
            f"{tmp_path}/{name}.so",
            f"{tmp_path}/{name}.c",
            "-ldl",
        ]
        subprocess.run(command, check=True)
    program = PROGRAM.format(here=str(pathlib.Path(__file__).parents[1]), loop=f"{tmp_path}/loop.so")
    environment = {**os.environ, "LD_PRELOAD": f"{tmp_path}/counting.so"}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert result.stdout.split() == ["0", "True", "0", "True"], result.stderr


def test_steady_invoke_is_one_call_into_c(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    class Spy:
        def __getattr__(self, name: str) -> Any:
            found = getattr(lib, name)
            if not isinstance(found, types.BuiltinFunctionType):
                return found

            def counted(*arguments: Any) -> Any:
                calls.append(name)
                return found(*arguments)

            return counted

    for module in list(sys.modules.values()):
        if module.__name__.startswith("minilite._native") and getattr(module, "lib", None) is lib:
            monkeypatch.setattr(module, "lib", Spy())
    interpreter = ready(relu_chain())
    assert "ml_state_prepare" in calls
    calls.clear()
    for _ in range(3):
        interpreter.invoke()
    assert calls == ["ml_state_run"] * 3
