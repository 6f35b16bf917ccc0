"""Pages of a released arena, which the process keeps for its next ones: who gets them, how many, and until when."""

from __future__ import annotations

import gc
import mmap
import os
import random
import re
import threading
from collections.abc import Callable

import numpy as np
import pytest
from built import ready, relu_chain, resized, run
from processes import apart
from support.system import needs_reserved, needs_system

import minilite
from minilite import InputError
from minilite.engine.engine import engine_of

pytestmark = [needs_system, needs_reserved]
MIB = 1 << 20
MOST = 64 * MIB


def of_size(bytes_: int, **options: bool) -> minilite.Interpreter:
    """An interpreter with an input and an output of half as many bytes each, all of them written."""
    interpreter = ready(relu_chain(), **options)
    resized(interpreter, bytes_ // 8)
    run(interpreter, np.full(bytes_ // 8, 7, np.float32))
    return interpreter


def kept(interpreter: minilite.Interpreter) -> int:
    return interpreter.usage.kept_bytes


def the_next_arena_finds_the_pages() -> None:
    first = of_size(8 * MIB)
    held = first.usage
    assert held.kept_bytes == 0
    del first
    gc.collect()
    small = ready(relu_chain())
    assert kept(small) == held.arena_capacity
    taking = of_size(MIB)
    assert kept(small) == held.arena_capacity - taking.usage.arena_capacity
    resized(taking, MIB)
    now = taking.usage
    assert now.resident_bytes == now.arena_capacity == held.arena_capacity  # before anything is written there
    assert now.kept_bytes == 0
    assert taking.counters["arena_moves"] == 2  # its block, then the range


def an_arena_starts_with_zeros() -> None:
    del_me = of_size(8 * MIB)
    del del_me
    gc.collect()
    interpreter = minilite.Interpreter(model_content=relu_chain())
    resized(interpreter, MIB)
    for details in (*interpreter.get_input_details(), *interpreter.get_output_details()):
        assert not interpreter.get_tensor(details["index"]).any()
    assert kept(interpreter) == 0


def what_lies_there(interpreter: minilite.Interpreter, tensor: int) -> bytes:
    """The bytes of a tensor, without asking for its values."""
    state = engine_of(interpreter).session().state
    return bytes(state.buffer(state.place(tensor)))


def over_kept_pages(**options: bool) -> minilite.Interpreter:
    """An interpreter that has not run, whose arena has the values of another."""
    del_me = of_size(8 * MIB)
    del del_me
    gc.collect()
    interpreter = minilite.Interpreter(model_content=relu_chain(), **options)
    resized(interpreter, MIB)
    return interpreter


def no_memory_is_cleared_before_a_run() -> None:
    for count in (MIB, 64):  # inputs in arrays of the caller, and copied
        interpreter = over_kept_pages()
        resized(interpreter, count)
        output = interpreter.get_output_details()[0]["index"]
        interpreter.set_tensor(0, np.full(count, 3, np.float32))
        assert any(what_lies_there(interpreter, output))
        interpreter.invoke()
        assert (interpreter.get_tensor(output) == 3).all()  # and none after it
        del interpreter
        gc.collect()


def whoever_looks_first_finds_zeros() -> None:
    looks: list[Callable[[minilite.Interpreter, int], object]] = [
        lambda interpreter, output: interpreter.get_tensor(output),
        lambda interpreter, output: interpreter.tensor(output)(),
        lambda interpreter, output: interpreter.set_tensor(0, np.zeros(MIB, np.float32)),
    ]
    for look in looks:
        interpreter = over_kept_pages(preserve_inputs=False)
        output = interpreter.get_output_details()[0]["index"]
        assert any(what_lies_there(interpreter, output))
        look(interpreter, output)
        assert not any(what_lies_there(interpreter, output))
        del interpreter
        gc.collect()


def inputs_that_nobody_set_are_zeros() -> None:
    for options in ({}, {"preserve_inputs": False}):
        interpreter = over_kept_pages(**options)
        interpreter.invoke()
        assert not interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).any()
        del interpreter
        gc.collect()


def one_range_is_kept_the_one_with_most_pages() -> None:
    arenas = [of_size(size * MIB) for size in (4, 12, 8)]
    sizes = [interpreter.usage.arena_capacity for interpreter in arenas]
    watch, expected = ready(relu_chain()), 0
    for size in sizes:
        del arenas[0]
        gc.collect()
        expected = max(expected, size)
        assert kept(watch) == expected
    watch.trim()
    assert kept(watch) == 0


def no_more_than_the_limit_is_kept() -> None:
    watch = ready(relu_chain())
    large = of_size(MOST + 8 * MIB)
    del large
    gc.collect()
    assert kept(watch) == MOST
    small = of_size(MIB)  # takes all of them
    second = of_size(48 * MIB)
    assert kept(watch) == MOST - small.usage.arena_capacity
    del second
    gc.collect()
    assert kept(watch) == MOST - small.usage.arena_capacity  # no room for those of the second
    del small
    gc.collect()
    assert kept(watch) == MOST


def an_interpreter_that_stays_small_gives_them_back() -> None:
    large = of_size(8 * MIB)
    del large
    gc.collect()
    small = of_size(MIB)
    assert kept(small) > 6 * MIB
    for _ in range(200):
        small.invoke()
    assert kept(small) == 0
    assert small.counters["given_back"] == 1


def whoever_does_not_want_them() -> None:
    watch = ready(relu_chain())
    alone = of_size(8 * MIB, keep_pages=False)
    del alone
    gc.collect()
    assert kept(watch) == 0
    large = of_size(8 * MIB)
    del large
    gc.collect()
    before = kept(watch)
    alone = of_size(2 * MIB, keep_pages=False)
    assert kept(watch) == before > 0
    alone.trim()
    assert kept(watch) == 0


def a_trimmed_interpreter_keeps_what_it_needs() -> None:
    large = of_size(8 * MIB)
    del large
    gc.collect()
    small = of_size(MIB)
    small.trim()
    held = small.usage
    assert held.kept_bytes == 0
    assert held.resident_bytes <= held.arena_capacity
    run(small, np.full(MIB // 8, -1, np.float32))
    resized(small, MIB)
    assert not run(small, np.full(MIB, -1, np.float32))[0].any()


def children_of_a_fork_have_their_own() -> None:
    large = of_size(8 * MIB)
    del large
    gc.collect()
    watch = ready(relu_chain())
    before = kept(watch)
    child = os.fork()
    if child == 0:
        interpreter = of_size(4 * MIB)
        fine = kept(interpreter) == before - interpreter.usage.arena_capacity
        os._exit(0 if fine and run(interpreter, np.full(MIB // 2, 3, np.float32))[0][-1] == 3 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert kept(watch) == before > 0


def threads_make_and_drop_interpreters() -> None:
    wrong: list[object] = []

    def work(seed: int) -> None:
        dice = random.Random(seed)
        for _ in range(60):
            interpreter, value = ready(relu_chain()), dice.randrange(1, 1000)
            for _ in range(dice.randrange(1, 4)):
                count = dice.randrange(1, MIB // 2)
                resized(interpreter, count)
                (found,) = run(interpreter, np.full(count, value, np.float32))
                if not (found == value).all():
                    wrong.append((seed, count))
            if dice.random() < 0.2:
                interpreter.trim()
            if interpreter.usage.kept_bytes > 6 * MIB + mmap.PAGESIZE:  # the largest arena, of three tensors
                wrong.append(interpreter.usage)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    gc.collect()
    watch = ready(relu_chain())
    watch.trim()
    assert kept(watch) == 0  # what is counted was all in the range that was kept


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer takes all address space")
@pytest.mark.parametrize(
    "story",
    [
        the_next_arena_finds_the_pages,
        an_arena_starts_with_zeros,
        no_memory_is_cleared_before_a_run,
        whoever_looks_first_finds_zeros,
        inputs_that_nobody_set_are_zeros,
        one_range_is_kept_the_one_with_most_pages,
        no_more_than_the_limit_is_kept,
        an_interpreter_that_stays_small_gives_them_back,
        whoever_does_not_want_them,
        a_trimmed_interpreter_keeps_what_it_needs,
        threads_make_and_drop_interpreters,
    ],
)
def test_kept_pages(story: Callable[[], None]) -> None:
    """Each in a process of its own, because what is kept belongs to the process."""
    apart(story)


def test_kept_pages_after_a_fork() -> None:
    apart(children_of_a_fork_have_their_own)


def test_keep_pages_must_say_yes_or_no() -> None:
    with pytest.raises(InputError, match=re.escape("keep_pages is 'never', must be True or False")):
        minilite.Interpreter(model_content=relu_chain(), keep_pages="never")  # type: ignore[arg-type]
