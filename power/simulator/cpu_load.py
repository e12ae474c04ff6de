"""A load that follows the CPU time of a process, so that a rehearsal's energy means something."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

SHORTEST_S: Final = 0.05
"""The kernel counts CPU time in ticks of 10 ms; a shorter look would see noise."""


def cpu_power(
    pid: int, idle_w: float, busy_w: float, clock: Callable[[], float]
) -> Callable[[float, float], float]:
    """Return the mean power of a device whose processor is one core, kept busy by process `pid`.

    CPU time of all its threads counts; more than one core's worth is one core's worth. A process that is
    gone, or was never there, is idle. `clock` tells the real time, in which CPU time passes.
    """
    return _CpuPower(pid, idle_w, busy_w, clock).mean_w


class _CpuPower:
    """Remembers the CPU time at the last look."""

    def __init__(self, pid: int, idle_w: float, busy_w: float, clock: Callable[[], float]) -> None:
        self._stat = Path(f"/proc/{pid}/stat")
        self._idle_w = idle_w
        self._busy_w = busy_w
        self._clock = clock
        self._looked_s = clock()
        self._cpu_s = self._cpu_time_s()
        self._power_w = idle_w

    def mean_w(self, _start_s: float, _end_s: float) -> float:
        now_s = self._clock()
        wall_s = now_s - self._looked_s
        if wall_s < SHORTEST_S:
            return self._power_w
        cpu_s = self._cpu_time_s()
        usage = (
            0.0
            if cpu_s is None or self._cpu_s is None
            else min(max((cpu_s - self._cpu_s) / wall_s, 0.0), 1.0)
        )
        self._power_w = self._idle_w + usage * (self._busy_w - self._idle_w)
        self._looked_s, self._cpu_s = now_s, cpu_s
        return self._power_w

    def _cpu_time_s(self) -> float | None:
        try:
            text = self._stat.read_text()
        except OSError:
            return None
        # The second field is the program's name in brackets and may hold blanks: count from its end.
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
