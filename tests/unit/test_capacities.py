"""What dynamic tensors are planned with: the most of their last runs, and more once they have outgrown it."""

from __future__ import annotations

from built import count_since, custom_chain, head, ready, request, resized, run


def test_capacity_forgets_what_was_needed_long_ago() -> None:
    interpreter = ready(custom_chain("Head"), custom_ops={"Head": head})
    run(interpreter, request(100_000))
    once = interpreter.arena_bytes
    run(interpreter, request(10))
    resized(interpreter, 5)
    assert interpreter.arena_bytes > 0.4 * once > 160_000  # another size plans for what was needed lately
    resized(interpreter, 4)
    for _ in range(100):
        run(interpreter, request(10))
    resized(interpreter, 6)
    assert interpreter.arena_bytes < once / 10


def test_growth_ends_where_lengths_vary() -> None:
    """Lengths between n and 1.5 n, in an order without end: each maximum that comes may be new, but not for ever."""
    interpreter = ready(custom_chain("Head"), custom_ops={"Head": head})
    lengths = [1000 + 500 * (step * 377 % 610) // 610 for step in range(200)]
    grown = count_since(interpreter, lambda: [run(interpreter, request(length)) for length in lengths[:20]])
    assert 2 <= grown["capacity_misses"] <= 6  # of two tensors
    later = count_since(interpreter, lambda: [run(interpreter, request(length)) for length in lengths[20:]])
    assert (later["capacity_misses"], later["replans"]) == (0, 0)


def test_capacity_of_a_large_run_is_kept_for_another_size() -> None:
    interpreter = ready(custom_chain("Head"), custom_ops={"Head": head})
    run(interpreter, request(100_000))
    peak = interpreter.arena_bytes
    run(interpreter, request(10))
    resized(interpreter, 5)
    assert 0.4 * peak < interpreter.arena_bytes <= peak
