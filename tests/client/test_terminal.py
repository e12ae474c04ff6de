"""Streams that are closed or cannot encode a character."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from lpirc_client import terminal

SAY = "from lpirc_client.terminal import result, prepare; prepare(); result('\\u6a21')"


@pytest.mark.parametrize(
    ("streams", "written"),
    [
        ("", b"\\u6a21\n"),
        (">&-", b""),
        ("<&- >&-", b""),
        ("2>&-", b"\\u6a21\n"),
    ],
)
def test_a_closed_stream_or_an_unknown_character_is_harmless(
    streams: str,
    written: bytes,
) -> None:
    shell = f'PYTHONIOENCODING=ascii "$0" -c "$1" {streams}'
    done = subprocess.run(
        ["sh", "-c", shell, sys.executable, SAY],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout == written
    assert done.stderr == b""


def test_a_full_disk_under_stderr_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    full = Path("/dev/full").open("w", buffering=1)  # noqa: SIM115 - closing it fails
    monkeypatch.setattr("sys.stderr", full)
    terminal.say("nothing of this is kept")
    with suppress(OSError):
        full.close()
