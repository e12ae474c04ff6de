"""Ending with another process."""

from __future__ import annotations

import os
import signal
import subprocess
import threading

import pytest

from lpirc_client.parent import ParentWatch

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
