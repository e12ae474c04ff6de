"""Streams that are closed or cannot encode a character."""

from __future__ import annotations

import subprocess
import sys

import pytest

SAY = "from lpirc_client.terminal import result, prepare; prepare(); result('\\u6a21')"


@pytest.mark.parametrize(
    ("streams", "told"), [("", b"\\u6a21\n"), (">&-", b""), ("<&- >&-", b""), ("2>&-", b"\\u6a21\n")]
)
def test_a_stream_that_is_closed_or_knows_no_such_character_ends_nothing(streams: str, told: bytes) -> None:
    shell = f'PYTHONIOENCODING=ascii "$0" -c "$1" {streams}'
    done = subprocess.run(["sh", "-c", shell, sys.executable, SAY], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, told, b"")
