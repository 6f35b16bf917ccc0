"""Settings of all tests."""

from __future__ import annotations

import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from minilite import _core

QUICK = ("unit",)
"""The folders of `pytest -m quick`: below two minutes of processor time, and most of what an edit breaks."""
LONG = {"test_endurance", "test_breakage_threads", "test_moving_memory"}
"""Their files that take longer."""

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
    """Runs of whole folders of tests use all cores by themselves; `-n 0` keeps them in one process."""
    if hasattr(config, "workerinput"):  # one of those processes, which must not start others
        return
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if whole and config.pluginmanager.hasplugin("xdist") and config.option.numprocesses is None:
        config.option.numprocesses = "auto"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skips collecting slow tests: collecting takes as long as running some of the quick ones."""
    if config.option.markexpr != "quick" or collection_path.parent != Path(__file__).parent:
        return None
    return (collection_path.is_dir() and collection_path.name not in QUICK) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the quick ones."""
    for item in items:
        if item.path.parent.name in QUICK and item.path.stem not in LONG and not item.get_closest_marker("slow"):
            item.add_marker("quick")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """Skips what imports LiteRT where it has no wheel."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "ai_edge_litert":
            pytest.skip("LiteRT is not installed")
        raise
