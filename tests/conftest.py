"""For all tests: machines are shared, so that no example of hypothesis fails for being slow, and there are 50 of each.

`--hypothesis-profile=thorough` looks for what so few examples do not find.

What is imported is compiled once, even where the environment says to keep no compiled code: each of the processes that
share the tests, and each command that they start, would else compile all of it anew.
"""

from __future__ import annotations

import os
import sys

from hypothesis import settings

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
settings.register_profile("shared", deadline=None, max_examples=50)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("shared")
