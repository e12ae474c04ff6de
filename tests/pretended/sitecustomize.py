"""Makes every Python that finds it on PYTHONPATH pretend to run on the system that the environment names."""

import os
import sys
import traceback
from pathlib import Path

try:
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.pretended_system import VARIABLE, pretend

    pretend(os.environ[VARIABLE])
    sys.path.pop(0)
except BaseException:  # noqa: BLE001 - Python would go on, on this system
    traceback.print_exc()
    os._exit(70)
