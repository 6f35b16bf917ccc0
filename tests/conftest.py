"""Settings of all tests."""

from hypothesis import settings

# Times depend on the machine: no test fails for being slow.
settings.register_profile("minilite", deadline=None)
settings.load_profile("minilite")
