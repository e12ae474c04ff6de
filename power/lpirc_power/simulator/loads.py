"""Loads of the simulated meter: each returns its mean over any stretch of time.

With means instead of momentary values, the integral is right however rarely the meter asks.
"""

from __future__ import annotations

import csv
import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, Protocol

from lpirc_power import operating_system
from lpirc_power.errors import MeterError
from lpirc_power.meter import IntegratorState, Reading
from lpirc_power.simulator.meant_loads import FORMS, meant_loads, not_taken

CELL_S: Final = 0.1
"""Length of a cell of constant power: the shortest update interval, so even the fastest readings differ."""
CELLS: Final = 36000
"""Number of cells, one hour of them, after which the noise repeats."""
SHORTEST_S: Final = 0.05
"""Shortest interval for CPU time: the kernel counts it in ticks of 10 ms, so a shorter interval would show noise."""


@dataclass(frozen=True)
class Wave:
    """Waveform of a load: mains voltage, power factor, and crest factor (peak / rms) of the current."""

    voltage_v: float = 120.0
    power_factor: float = 1.0
    crest: float = math.sqrt(2.0)


@dataclass(frozen=True)
class Electrical:
    """Electrical means over a stretch of time; current is absolute, power negative if the load feeds back."""

    voltage_v: float
    current_a: float
    power_w: float
    crest: float = math.sqrt(2.0)


class Load(Protocol):
    """A load with averages over any stretch of time; its time begins when it is connected."""

    def mean(self, start_s: float, end_s: float) -> Electrical:
        """Return the means from `start_s` to a later `end_s`."""
        ...


@dataclass(frozen=True)
class Drawn:
    """A load whose power varies while its waveform is fixed; use it to simulate a load from a callable.

    `power_w` is any callable of two times in seconds since the load was connected: it returns the mean power
    in watts from the first to the second, which is later. It must give the same mean however a stretch is
    divided, or energy depends on when the meter looks; so return integrals over time divided by the time, not
    momentary values. It may be called from any thread, one call at a time. Negative power feeds back.

        Instrument(Drawn(lambda start_s, end_s: 5.0 + (start_s + end_s) / 2, Wave()), time.monotonic)

    is a load of 5 W that rises by 1 W a second.
    """

    power_w: Callable[[float, float], float]
    wave: Wave

    def mean(self, start_s: float, end_s: float) -> Electrical:
        """Return the means; the current follows from power, voltage and power factor."""
        power_w = self.power_w(start_s, end_s)
        current_a = abs(power_w) / (self.wave.voltage_v * self.wave.power_factor)
        return Electrical(self.wave.voltage_v, current_a, power_w, self.wave.crest)


class Replay:
    """Rows that each last for some time; after the last row the first follows. The integrals are exact for any step."""

    def __init__(
        self, edges_s: Sequence[float], rows: Sequence[tuple[float, float, float]]
    ) -> None:
        self._edges_s = list(edges_s)
        self._rows = list(rows)
        self._sums = [(0.0, 0.0, 0.0)]
        for (start_s, end_s), row in zip(
            pairwise(self._edges_s), self._rows, strict=True
        ):
            done = self._sums[-1]
            dt = end_s - start_s
            self._sums.append(
                (done[0] + row[0] * dt, done[1] + row[1] * dt, done[2] + row[2] * dt)
            )

    def mean(self, start_s: float, end_s: float) -> Electrical:
        """Return the means of voltage, current and power."""
        before = self._integral(start_s)
        after = self._integral(end_s)
        volts, amperes, watts = (
            (b - a) / (end_s - start_s) for a, b in zip(before, after, strict=True)
        )
        return Electrical(volts, amperes, watts)

    def _integral(self, t_s: float) -> tuple[float, float, float]:
        rounds, rest_s = divmod(t_s, self._edges_s[-1])
        index = min(bisect_right(self._edges_s, rest_s) - 1, len(self._rows) - 1)
        dt = rest_s - self._edges_s[index]
        whole = self._sums[-1]
        row = self._rows[index]
        done = self._sums[index]
        return (
            rounds * whole[0] + done[0] + row[0] * dt,
            rounds * whole[1] + done[1] + row[1] * dt,
            rounds * whole[2] + done[2] + row[2] * dt,
        )


def parse_load(spec: str, clock: Callable[[], float]) -> Load:
    """Return the load for a specification such as `constant:36W` or `steps:2W@5s,9W@10s`.

    `clock` is the monotonic clock for a load that follows a real process. Raises MeterError `simulator-load`, which
    lists the valid forms, and proposes a load if one is meant that is taken as it stands.
    """
    try:
        load = _read(spec, clock)
    except OSError as error:
        _, _, rest = spec.partition(":")
        why = f"{error.filename or rest}: {error.strerror or error}"
        raise MeterError(
            "simulator-load", f"The load {spec!r} cannot be used: {why}."
        ) from error
    except (ValueError, IndexError, csv.Error) as error:
        why = f"The load {spec!r} cannot be used: {error}"
        if why.endswith("?"):
            raise MeterError("simulator-load", f"{why} {FORMS}") from error
    else:
        if load is not None:
            return load
        why = f"There is no load {spec!r}"
    meant = next((one for one in meant_loads(spec) if _is_load(one, clock)), None)
    perhaps = f" Did you mean {meant}?" if meant else ""
    raise MeterError("simulator-load", f"{why}.{perhaps} {FORMS}")


def _is_load(spec: str, clock: Callable[[], float]) -> bool:
    """Return True if a load is taken as it stands."""
    try:
        return _read(spec, clock) is not None
    except (OSError, ValueError, IndexError, csv.Error, MeterError):
        return False


def _read(spec: str, clock: Callable[[], float]) -> Load | None:
    """Return the load of a specification; None if there is no such kind."""
    kind, _, rest = spec.partition(":")
    if kind == "constant":
        word, wave, _ = _single(rest)
        watts = _quantity(word, "W", negative=True)
        return Drawn(lambda _start, _end: watts, wave)
    if kind == "steps":
        return _steps(rest)
    if kind == "noise":
        return _noise(rest)
    if kind == "cpu":
        return _cpu(rest, clock)
    if kind == "while":
        return _while(rest)
    return _recording(rest) if kind == "csv" else None


def _whole(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"the {name} {text!r} is not a whole number") from None


def _quantity(text: str, unit: str, negative: bool = False) -> float:
    try:
        value = float(text.strip().removesuffix(unit).removesuffix(unit.lower()))
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or (value < 0 and not negative):
        raise ValueError(
            f"{text!r} is not a number of {unit or 'units'}"
            + ("" if negative else " from zero up")
        )
    return value


def _single(
    rest: str, first: str = "power", **own: str
) -> tuple[str, Wave, dict[str, str]]:
    """Return a load's only word, its waveform, and its `own` options, each given or the default; `first` names it."""
    words = _words(rest, first)
    if len(words) > 1:
        raise ValueError(not_taken(rest, words[1], first, own))
    return words[0], *_wave(rest, **own)


def _wave(rest: str, **own: str) -> tuple[Wave, dict[str, str]]:
    options = _options(rest)
    own = {name: options.pop(name, usual) for name, usual in own.items()}
    voltage_v = _quantity(options.pop("volts", "120"), "V")
    power_factor = _quantity(options.pop("pf", "1"), "")
    crest = _quantity(options.pop("crest", "1.4142135"), "")
    if options:
        raise ValueError(f"{', '.join(options)} is not known")
    if not (voltage_v > 0 and 0 < power_factor <= 1 and crest >= 1):
        raise ValueError(
            "volts must be above 0, pf above 0 and at most 1, crest at least 1"
        )
    return Wave(voltage_v, power_factor, crest), own


def _words(rest: str, first: str) -> list[str]:
    words = [word for word in rest.split(",") if word.strip() and "=" not in word]
    if not words:
        raise ValueError(f"the {first} is missing")
    return words


def _options(rest: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for word in rest.split(","):
        name, is_option, value = word.partition("=")
        if is_option and name in options:
            raise ValueError(f"{name} is given twice")
        if is_option:
            options[name] = value
    return options


def _steps(rest: str) -> Load:
    words = _words(rest, "power")
    wave, _ = _wave(rest)
    edges_s = [0.0]
    rows = []
    for word in words:
        watts, at, until = word.partition("@")
        if not at:
            raise ValueError(f"the step {word!r} has no end, such as @5s")
        rows.append((wave.voltage_v, 0.0, _quantity(watts, "W", negative=True)))
        edges_s.append(_quantity(until, "s"))
    if any(later <= earlier for earlier, later in pairwise(edges_s)):
        raise ValueError("the times must increase")
    return _drawn(Replay(edges_s, rows), wave)


def _drawn(powers: Replay, wave: Wave) -> Load:
    return Drawn(lambda start_s, end_s: powers.mean(start_s, end_s).power_w, wave)


def _noise(rest: str) -> Load:
    word, wave, own = _single(rest, sd="0.5W", seed="1")
    deviation_w = _quantity(own["sd"], "W")
    watts = _quantity(word, "W", negative=True)
    return _drawn(noise(watts, deviation_w, _whole(own["seed"], "seed")), wave)


def _cpu(rest: str, clock: Callable[[], float]) -> Load:
    pid, wave, own = _single(rest, "process id", idle="2W", busy="9W")
    idle_w = _quantity(own["idle"], "W")
    busy_w = _quantity(own["busy"], "W")
    number = _whole(pid, "process id")
    if number <= 0:
        raise ValueError(f"{pid!r} is not a process id")
    if not operating_system.TELLS_CPU_TIME:
        raise ValueError("the CPU time of a process is not read on Windows")
    power = CpuPower(number, idle_w, busy_w, clock)
    return Drawn(power.mean_w, wave)


def _while(rest: str) -> Load:
    file, wave, own = _single(rest, "file", idle="2W", busy="9W")
    idle_w, busy_w = (_quantity(own[name], "W") for name in ("idle", "busy"))
    path = Path(file).absolute()
    return Drawn(lambda _start, _end: busy_w if path.exists() else idle_w, wave)


def _recording(name: str) -> Load:
    from lpirc_power.recording import (  # not every simulator needs it: all start fast
        read_recording,
        require_file,
    )

    if not name:
        raise ValueError("the name of its file is missing")
    path = Path(name)
    require_file(path)
    with path.open(newline="", encoding="utf-8-sig") as lines:
        rows = [row for row in csv.reader(lines) if row]
    if rows and rows[0][0].strip() == "seconds":
        return _powers([(float(row[0]), float(row[1])) for row in rows[1:]])
    return _readings(read_recording(path))


def _readings(readings: Sequence[Reading]) -> Load:
    # Each reading is the mean since the one before it; in place of one without data the next one holds longer. What was
    # read once the integrator had ended is not part of the recorded run.
    edges_s = [readings[0].monotonic_s]
    rows = []
    integrated = [
        place
        for place, reading in enumerate(readings)
        if reading.state is IntegratorState.START
    ]
    for reading in readings[1 : integrated[-1] + 1 if integrated else None]:
        if math.isfinite(reading.power_w) and reading.monotonic_s > edges_s[-1]:
            edges_s.append(reading.monotonic_s)
            rows.append(_electrical(reading))
    if not rows:
        raise ValueError("the recording holds no power after its first reading")
    return Replay([edge_s - edges_s[0] for edge_s in edges_s], rows)


def _electrical(reading: Reading) -> tuple[float, float, float]:
    # A rehearsal meter at home may measure only the power.
    if math.isfinite(reading.voltage_v) and math.isfinite(reading.current_a):
        return reading.voltage_v, reading.current_a, reading.power_w
    volts = Wave().voltage_v
    return volts, abs(reading.power_w) / volts, reading.power_w


def _powers(points: Sequence[tuple[float, float]]) -> Load:
    # Each power holds until the next row's time, the last one for as long as the one before it.
    if not points:
        raise ValueError("the file holds no row after its heading")
    first_s, _ = points[0]
    times = [seconds - first_s for seconds, _ in points]
    last_s = 1.0
    if len(times) > 1:
        last_s = times[-1] - times[-2]
    times.append(times[-1] + last_s)
    if any(later <= earlier for earlier, later in pairwise(times)):
        raise ValueError("the column `seconds` must increase from row to row")
    volts = Wave().voltage_v
    rows = [(volts, abs(watts) / volts, watts) for _, watts in points]
    return Replay(times, rows)


def noise(power_w: float, deviation_w: float, seed: int) -> Replay:
    """Return random powers from a normal distribution, one per cell.

    The mean over one round is exactly `power_w`: the error of the random mean is spread over all cells.
    """
    import random  # not every simulator needs it, and all start fast

    draw = random.Random(seed).gauss  # noqa: S311  reproducible, and nothing is secret
    drawn_w = [draw(0.0, deviation_w) for _ in range(CELLS)]
    mean_w = power_w - math.fsum(drawn_w) / CELLS
    edges_s = [cell * CELL_S for cell in range(CELLS + 1)]
    return Replay(edges_s, [(0.0, 0.0, mean_w + value_w) for value_w in drawn_w])


class CpuPower:
    """Power of a device with a single-core processor, kept busy by process `pid`.

    CPU time of the process's threads and descendants is included, up to one core in total. A process that has ended or
    never existed is idle. `clock` must be the host's clock, since CPU time passes in real time.
    """

    def __init__(
        self, pid: int, idle_w: float, busy_w: float, clock: Callable[[], float]
    ) -> None:
        self._pid = pid
        self._idle_w = idle_w
        self._busy_w = busy_w
        self._clock = clock
        self._looked_s = clock()
        self._cpu_s = operating_system.cpu_time_s(self._pid)
        self._power_w = idle_w

    def mean_w(self, _start_s: float, _end_s: float) -> float:
        """Return the mean power since the last look."""
        now_s = self._clock()
        wall_s = now_s - self._looked_s
        if wall_s < SHORTEST_S:
            return self._power_w
        cpu_s = operating_system.cpu_time_s(self._pid)
        usage = min(max((cpu_s - self._cpu_s) / wall_s, 0.0), 1.0)
        self._power_w = self._idle_w + usage * (self._busy_w - self._idle_w)
        self._looked_s = now_s
        self._cpu_s = cpu_s
        return self._power_w
