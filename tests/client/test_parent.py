"""Ending with another process."""

from __future__ import annotations

import os
import signal
import subprocess
import threading

import pytest

from lpirc_client.errors import ClientError
from lpirc_client.parent import ending_with
from tests.timeouts import TIMEOUT_S

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")


def wait_with(pid: int) -> None:
    with (
        pytest.raises(
            ClientError,
            match=f"process {pid} has ended, so this process ends too",
        ),
        ending_with(pid),
    ):
        threading.Event().wait(TIMEOUT_S)


def test_it_ends_with_its_parent_also_where_a_shell_made_it_ignore_interruptions() -> (
    None
):
    with subprocess.Popen(["true"]) as ended:
        pass
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        wait_with(ended.pid)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_number_that_no_process_can_have_counts_as_gone() -> None:
    wait_with(10**20)
