"""Settings of all tests."""

from hypothesis import settings

from minilite import _core

# The same examples each time; and times depend on the machine, so that no test fails for being slow.
settings.register_profile("minilite", deadline=None, derandomize=True)
# For `pytest --hypothesis-profile=long`: many more of them, and as reproducible.
settings.register_profile("long", settings.get_profile("minilite"), max_examples=6000)
settings.load_profile("minilite")


def pytest_report_header() -> str:
    """Which build of the core is tested."""
    return f"core: {_core.__file__}"
