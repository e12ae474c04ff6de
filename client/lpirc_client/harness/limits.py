"""Limits that the model's process sets for itself before it touches a model."""

from __future__ import annotations

import contextlib
import math
import os
import resource
from pathlib import Path

from lpirc_client.parent import die_with

LOG_BYTES = 1 << 20
CPU_SLACK_S = 5
LARGEST_LIMIT = (1 << 63) - 1
"""What the system call takes."""


def confine(parent: int, core: int | None) -> None:
    """Die with process `parent`, stay on `core`, leave no core dump, write no file longer than a log of 1 MB."""
    die_with(parent)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LOG_BYTES, LOG_BYTES))
    if core is not None:
        os.sched_setaffinity(0, {core})


def limit_memory(memory_mb: int) -> None:
    """Allow this much address space beyond what the process has now, which includes the runtime's mappings."""
    _set_soft(resource.RLIMIT_AS, _address_space_bytes() + (memory_mb << 20))


def unlimit_memory() -> None:
    """Allow any address space again, to read the next model."""
    _set_soft(resource.RLIMIT_AS, resource.RLIM_INFINITY)


def limit_cpu(seconds: float) -> None:
    """Allow this much more CPU time: the last resort if no one watches the clock from outside."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _set_soft(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime + seconds) + CPU_SLACK_S)


def _set_soft(limit: int, value: int) -> None:
    value = min(value, LARGEST_LIMIT)
    hard = resource.getrlimit(limit)[1]
    if hard != resource.RLIM_INFINITY:
        value = hard if value == resource.RLIM_INFINITY else min(value, hard)
    with contextlib.suppress(ValueError, OSError):  # macOS knows RLIMIT_AS but does not take it
        resource.setrlimit(limit, (value, hard))


def _address_space_bytes() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return 1 << 30
    return pages * os.sysconf("SC_PAGE_SIZE")
