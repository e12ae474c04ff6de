"""A meter connected to this device: checks that it answers, and makes the command that measures the harness's energy.

A program of lpirc_power does the work in a separate process: the client itself needs nothing but requests.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from typing import Sequence

from lpirc_client.errors import ClientError, ModelError

PROGRAM = (sys.executable, "-m", "lpirc_power")
PROBE_S = 60.0  # a meter behind a broken cable takes a while to be given up


class MeterFailed(ClientError):
    """The meter does not answer at the moment."""


def require_program() -> None:
    """Raise ModelError `missing-extra` unless the program that reads meters is installed."""
    if find_spec("lpirc_power") is None:
        sentence = "--meter needs lpirc_power, which is not installed; in the project's folder: pip install ./power"
        raise ModelError("missing-extra", sentence, missing="lpirc_power")


def identity_at(address: str) -> str:
    """Return the identity of the meter that answers at an address. Raises MeterFailed."""
    command = [*PROGRAM, "probe", "--json", "--", address]
    try:
        done = subprocess.run(  # noqa: S603 - our own
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise MeterFailed(
            "meter-timeout", f"The meter at {address} did not answer for {PROBE_S:g} s."
        ) from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").split("\n")
        said = next(
            (line for line in reversed(lines) if line.strip()),
            f"meter: exit code {done.returncode}",
        )
        raise MeterFailed(
            "meter-failed",
            said[len("meter: ") :] if said.startswith("meter: ") else said,
        )
    found = json.loads(done.stdout)["identity"]
    return " ".join(found[key] for key in ("maker", "model", "serial", "firmware"))


def measuring(address: str, command: Sequence[str]) -> list[str]:
    """Return the command that runs `command` and adds the energy to the result document that it prints."""
    return [*PROGRAM, "loop", "--take-over", "--", address, *command]
