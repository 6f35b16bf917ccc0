"""Settings of all tests."""

from hypothesis import settings

# The same examples each time; and times depend on the machine, so that no test fails for being slow.
settings.register_profile("minilite", deadline=None, derandomize=True)
settings.load_profile("minilite")
