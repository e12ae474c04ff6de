"""Large bodies leave no memory behind, whichever threads they came through."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

BODY_BYTES = 20 * 2**20
PROGRAM = f"""
import os
import threading
from referee.web.memory import give_back_large_blocks

def resident_bytes():
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def take_bodies(barrier):
    for _ in range(3):
        body = b"x" * {BODY_BYTES}
        barrier.wait()  # all of them have one
        del body

give_back_large_blocks()
before = resident_bytes()
barrier = threading.Barrier(4)
threads = [threading.Thread(target=take_bodies, args=(barrier,)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(resident_bytes() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the setting is one of the GNU C library")
def test_what_bodies_took_on_several_threads_is_given_back() -> None:
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    assert int(told.stdout) < BODY_BYTES
