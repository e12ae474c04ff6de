"""Runs a model in separate namespaces with bubblewrap (`bwrap`), where it is installed and the kernel allows it.

The model's process has no network, sees no other process and writes no file. Of the disk it sees Python, this program
and the system's libraries, but neither images nor model: both come through its pipe.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lpirc_client.harness.model_settings import (
    CPU_PROVIDER,
    DEFAULT_DELEGATE,
    NO_DELEGATE,
    XNNPACK,
)

TRIAL = """from importlib.util import find_spec as seen
assert seen("lpirc_client") and seen("numpy"), "Python does not see its packages"
"""
SYSTEM = (
    "/usr",
    "/bin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/alternatives",
)
PROCESSOR = "/sys/devices/system/cpu"  # from which the runtime selects its code
OWN_PARENT = 1  # the parent's number in the namespace


@dataclass(frozen=True)
class Confinement:
    """`prefix` begins the command line of a confined process; where it is empty, `reason` says why."""

    prefix: tuple[str, ...] = ()
    reason: str | None = None


def confinement_with(delegate: str) -> Confinement:
    """Return `confinement()` for a CPU delegate; others need their driver's files and devices, and run unconfined."""
    if delegate in (DEFAULT_DELEGATE, XNNPACK, NO_DELEGATE, CPU_PROVIDER):
        return confinement()
    return Confinement(reason=f"the delegate {delegate} needs its device's driver")


@cache
def confinement() -> Confinement:
    """Test once whether processes can be confined on this machine."""
    program = shutil.which("bwrap")
    if program is None:
        return Confinement(reason="bubblewrap (bwrap) is not installed")
    python = [
        Path(prefix, name)
        for prefix in (sys.prefix, sys.base_prefix)
        for name in ("bin", "lib", "lib64")
    ]
    own = [Path(sys.prefix, "pyvenv.cfg"), Path(__file__).parents[1]]
    prefix = (
        *(
            program,
            "--unshare-all",
            "--unshare-user",
            "--cap-drop",
            "ALL",
            "--die-with-parent",
        ),
        *(
            word
            for path in (*SYSTEM, PROCESSOR, *python, *own)
            for word in ("--ro-bind-try", str(path), str(path))
        ),
        *(
            "--proc",
            "/proc",
            "--dev",
            "/dev",
            "--remount-ro",
            "/dev",
            "--remount-ro",
            "/",
            "--chdir",
            "/",
        ),
    )
    trial = [*prefix, sys.executable, "-P", "-c", TRIAL]
    try:
        subprocess.run(  # noqa: S603
            trial,
            check=True,
            capture_output=True,
            text=True,
            env={},
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = str(getattr(error, "stderr", None) or error).split()
        return Confinement(reason=f"bwrap failed: {' '.join(said)[-200:]}")
    return Confinement(prefix)
