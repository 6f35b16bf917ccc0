"""Settings of all tests."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest
from hypothesis import settings

from minilite import _core

ROOT = Path(__file__).parent
QUICK = (
    "_native", "control", "documents", "engine", "format", "graph", "inputs", "interpreter", "litert", "math", "package",
    "plan", "profiling", "rules", "run", "state",
)  # fmt: skip
"""The folders of `pytest -m quick`: a minute of processor time, and most of what an edit breaks."""
THOROUGH = (
    "_native/test_interrupts", *(f"batch/test_{name}" for name in ("beam", "check", "dask", "dask_command", "ray")),
    "bench", "browser", *(f"cli/test_{name}" for name in ("document", "every_command", "hostile_names", "shell")),
    "clients", "comparison/test_bench", "conformance/test_drawn", "interpreter/test_calls_in_threads",
    "interpreter/test_endurance", "litert/test_stand_in", "memory/test_exact", "memory/test_page_size",
    "memory/test_strategies", "run/test_moving_memory",
    *(f"ops/test_every_{name}" for name in ("block", "bool", "empty", "memory", "refusal", "size", "source", "tie")),
    "simd", "test_circles", "test_layout", "test_recursions", "test_words", "trust", "typing",
)  # fmt: skip
"""The folders and files of `pytest -m thorough`: they check at length, by chance, in processes of their own or by other
programs, or check the sources. The default set has each operator, room and command without them."""
SHORT = ("simd/test_levels", "simd/test_walk")
"""Files of those folders that belong to the default set."""

# The same examples each time; and times depend on the machine, so that no test fails for being slow.
settings.register_profile("minilite", deadline=None, derandomize=True)
# For `pytest --hypothesis-profile=long`: many more of them, and as reproducible.
settings.register_profile("long", settings.get_profile("minilite"), max_examples=6000)
settings.load_profile("minilite")

# A shell's background job ignores Ctrl-C, and so would the commands that it starts: tests interrupt those.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    """Names the tested build of the core."""
    return f"core: {_core.__file__}"


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Runs of all tests use the cores that this process may use; `-n 0` keeps them in one process. Of several processes
    each begins with a part of the list, and takes over tests of another when it has none left: so few files of tests
    are prepared in more than one."""
    if hasattr(config, "workerinput"):  # one of those processes, which must not start others
        return
    if not config.pluginmanager.hasplugin("xdist"):
        return
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and config.option.numprocesses is None:
        config.option.numprocesses = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else "auto"
    if config.option.numprocesses and config.option.dist == "no":
        config.option.dist = "worksteal"


def mark_of(path: Path) -> str:
    """The mark of a file of tests, or an empty text. That of a test that takes minutes is `slow`, whatever its file."""
    name = path.relative_to(ROOT).with_suffix("").as_posix()

    def is_in(names: Sequence[str]) -> bool:
        return any(name == each or name.startswith(f"{each}/") for each in names)

    if is_in(THOROUGH) and not is_in(SHORT):
        return "thorough"
    return "quick" if is_in(QUICK) else ""


def by_default(config: pytest.Config) -> bool:
    """True if the marks are those of pyproject.toml."""
    return config.option.markexpr in config.getini("addopts")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skips files of which no test will run, because importing them takes as long as some of the tests."""
    chosen = {"quick": ("quick",), "thorough": ("thorough",)}.get(config.option.markexpr)
    if chosen is None and by_default(config):
        chosen = ("quick", "")
    if chosen is None or not collection_path.is_file():
        return None
    return mark_of(collection_path) not in chosen or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Gives each test the mark of its file; by default a file that is named runs whole."""
    named = {config.invocation_params.dir / arg.split("::")[0] for arg in config.args if by_default(config)}
    for item in items:
        mark = mark_of(item.path)
        if mark and not item.get_closest_marker("slow") and not (mark == "thorough" and item.path in named):
            item.add_marker(mark)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Freezes the collected tests, so that the garbage collector need not go through them each time a test calls it."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """Skips tests that import LiteRT if it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "ai_edge_litert":
            pytest.skip("LiteRT is not installed")
        raise
