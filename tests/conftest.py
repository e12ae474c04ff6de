"""For all tests: machines are shared, so that no example of hypothesis fails for being slow."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("shared", deadline=None)
settings.load_profile("shared")
