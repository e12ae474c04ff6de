"""Streams that are closed or cannot encode a character."""

from __future__ import annotations

import subprocess
import sys

import pytest

SAY = "from lpirc_client.terminal import result, prepare; prepare(); result('\\u6a21')"


@pytest.mark.parametrize(
    ("streams", "written"), [("", b"\\u6a21\n"), (">&-", b""), ("<&- >&-", b""), ("2>&-", b"\\u6a21\n")]
)
def test_a_closed_stream_or_an_unknown_character_is_harmless(streams: str, written: bytes) -> None:
    shell = f'PYTHONIOENCODING=ascii "$0" -c "$1" {streams}'
    done = subprocess.run(["sh", "-c", shell, sys.executable, SAY], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, written, b"")
