"""Ending with another process."""

from __future__ import annotations

import os
import signal
import subprocess
import threading

import pytest

from lpirc_client.errors import ClientError
from lpirc_client.parent import ParentWatch, ending_with

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")


def test_it_ends_with_its_parent_also_where_a_shell_made_it_ignore_interruptions() -> None:
    with subprocess.Popen(["true"]) as ended:
        pass
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    watch = ParentWatch(ended.pid)
    try:
        watch.start()
        with pytest.raises(KeyboardInterrupt):
            threading.Event().wait(10)
        assert watch.gone
    finally:
        watch.stop()
        signal.signal(signal.SIGINT, before)


def test_a_number_that_no_process_can_have_is_one_that_is_gone() -> None:
    with pytest.raises(ClientError, match="is gone, so this one ends too"), ending_with(10**20):
        threading.Event().wait(10)
