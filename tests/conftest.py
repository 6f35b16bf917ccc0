"""Settings of all tests."""

from hypothesis import settings

from minilite import _core

# The same examples each time; and times depend on the machine, so that no test fails for being slow.
settings.register_profile("minilite", deadline=None, derandomize=True)
settings.load_profile("minilite")


def pytest_report_header() -> str:
    """Which build of the core is tested."""
    return f"core: {_core.__file__}"
