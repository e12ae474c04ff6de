"""Servers under load, measured by turns: what else the machine does meets all of them alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from bench import wrk
from bench.house import House, processor_s

WARM_UP_S = 1.0  # until every file is in memory, and every thread started


@dataclass
class Loaded:
    """A server under one kind of load, measured in several rounds; its figures are their medians."""

    server: House | str
    sent: Sequence[bytes]
    connections: int
    rounds: list[tuple[wrk.Load, float]] = field(default_factory=list)

    def run(self, seconds: float) -> None:
        """Measure one more round."""
        url = self.server.url if isinstance(self.server, House) else self.server
        before_s = processor_s(self.server.server) if isinstance(self.server, House) else 0.0
        load = wrk.run(url, self.sent, self.connections, seconds)
        taken_s = processor_s(self.server.server) - before_s if isinstance(self.server, House) else 0.0
        self.rounds.append((load, taken_s / load.requests * 1e6))

    @property
    def requests(self) -> int:
        """Answers in all rounds."""
        return sum(load.requests for load, _ in self.rounds)

    @property
    def p50_ms(self) -> float:
        """Half of the answers came sooner."""
        return median(load.p50_ms for load, _ in self.rounds)

    @property
    def rate_per_s(self) -> float:
        """Answers per second."""
        return median(load.rate_per_s for load, _ in self.rounds)

    @property
    def bytes_per_s(self) -> float:
        """Bytes received per second."""
        return median(load.bytes_per_s for load, _ in self.rounds)

    @property
    def processor_us(self) -> float:
        """What an answer took of the processor, in the server's processes: it hardly depends on what else runs."""
        return median(taken_us for _, taken_us in self.rounds)


def run_in_turns(loads: Sequence[Loaded], rounds: int, seconds: float) -> None:
    """Measure each for `seconds`, one after the other, and all of that so many times."""
    for load in loads:
        load.run(WARM_UP_S)
        load.rounds.clear()
    for _ in range(rounds):
        for load in loads:
            load.run(seconds)
