"""A table with a known energy in 200 random dialects: read exactly, or refused in a sentence, never read wrong."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Final

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.foreign.foreign_recording import Reader, read_foreign

DIALECTS: Final = 200
MICRO: Final = "\N{MICRO SIGN}W"
POWER_UNITS: Final = {"W": 1.0, "mW": 1e-3, MICRO: 1e-6, "kW": 1e3, "": 1.0}
ENERGY_UNITS: Final = {"Wh": 1.0, "J": 1 / 3600, "kWh": 1e3, "mWh": 1e-3}
REFUSALS: Final = {"recording-decimal", "recording-columns", "recording-value"}
BEGIN: Final = datetime(2026, 3, 1, 11, 59, 50, tzinfo=UTC)
CEST: Final = timezone(timedelta(hours=2))


def _at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def _milliseconds(found: datetime) -> str:
    return f"{found.microsecond // 1000:03}"


TIMES: Final[dict[str, Callable[[float], str | float]]] = {
    "elapsed_s": lambda s: s,
    "elapsed_ms": lambda s: 1000 * s,
    "time (us)": lambda s: 1e6 * s,
    "t": lambda s: s,
    "Zeit [min]": lambda s: s / 60,
    "unix time": lambda s: _at(s).timestamp(),
    "timestamp": lambda s: 1000 * _at(s).timestamp(),
    "utc": lambda s: _at(s).isoformat(),
    "time": lambda s: _at(s).astimezone(CEST).isoformat(sep=" "),
    "Zeitstempel": lambda s: f"{_at(s):%d.%m.%Y %H:%M:%S},{_milliseconds(_at(s))}",
    "Uhrzeit": lambda s: f"{_at(s):%H:%M:%S}.{_milliseconds(_at(s))}",
    "Time": lambda s: f"{_at(s):%I:%M:%S}.{_milliseconds(_at(s))} {_at(s):%p}",
    "Datum;Uhrzeit": lambda s: (
        f"{_at(s):%d.%m.%Y};{_at(s):%H:%M:%S},{_milliseconds(_at(s))}"
    ),
    "Date;Time": lambda s: f"{_at(s):%m/%d/%Y};{_at(s):%I:%M:%S %p}",
    "local time": lambda s: f"{_at(s):%m/%d/%Y %H:%M:%S}",
}
"""Times by the head; a semicolon parts two columns."""


@dataclass(frozen=True)
class Written:
    """A file, and the energy of what is written in it."""

    raw: bytes
    energy_wh: float
    what: str


class Dialect:
    """One way to write a table, drawn at random."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)  # noqa: S311
        pick = self.draw.choice
        self.separator = pick(";,\t|")
        self.comma = pick((True, False))
        self.groups = pick((True, False, False))
        if self.separator == "," and self.comma:
            self.groups = (
                False  # 3.923 for 3923 between commas: no program is known to write it
            )
        self.places = pick((0, 1, 2, 3, 3, 4, 6))
        self.time = pick(list(TIMES))
        self.unit = pick(list(POWER_UNITS))
        self.unit_stands = pick(("head", "head", "cell", "row", "preamble"))
        self.energy = pick(("", "", *ENERGY_UNITS))
        self.encoding = pick(("utf-8", "utf-8-sig", "utf-16", "cp1252"))
        self.preamble = pick((True, False))
        self.name = pick(("P", "Power", "Leistung", "Active Power", "power.draw"))

    def number(self, value: float) -> tuple[str, float]:
        """Return a number as it is written, and the value of what is written."""
        text = f"{value:,.{self.places}f}" if self.groups else f"{value:.{self.places}f}"  # fmt: skip
        truth = float(text.replace(",", ""))
        if self.comma:
            text = text.translate(str.maketrans(".,", ",."))
        return text, truth

    def written(self) -> Written:
        size = POWER_UNITS[self.unit]
        scale = 10 ** self.draw.uniform(-1, 3)
        seconds = [float(one) for one in range(24)]
        rows: list[list[str]] = []
        powers_w: list[float] = []
        energies_wh: list[float] = []
        counted_wh = 5.0
        for at_s in seconds:
            power_w = scale * self.draw.uniform(0.5, 1.5)
            counted_wh += power_w / 3600
            text, found = self.number(power_w / size)
            powers_w.append(found * size)
            if self.unit_stands == "cell" and self.unit:
                text += f" {self.unit}"
            cells = [*self._time(at_s), text]
            if self.energy:
                text, found = self.number(counted_wh / ENERGY_UNITS[self.energy])
                energies_wh.append(found * ENERGY_UNITS[self.energy])
                cells.append(text)
            rows.append(cells)
        if self.energy:
            truth_wh = energies_wh[-1] - energies_wh[0]
        else:
            truth_wh = (sum(powers_w) - (powers_w[0] + powers_w[-1]) / 2) / 3600
        return Written(self._raw(rows), truth_wh, self._what())

    def _time(self, at_s: float) -> list[str]:
        found = TIMES[self.time](at_s)
        if isinstance(found, str):
            return found.split(";")
        text = f"{found:.9f}".rstrip("0").rstrip(".")
        return [text.replace(".", ",") if self.comma else text]

    def _raw(self, rows: Sequence[Sequence[str]]) -> bytes:
        in_head = self.unit_stands == "head" and self.unit
        heads = [*self.time.split(";"), self.name + (f" [{self.unit}]" if in_head else "")]  # fmt: skip
        if self.energy:
            heads.append(f"energy ({self.energy})")
        stream = io.StringIO()
        writer = csv.writer(stream, delimiter=self.separator)
        if self.preamble:
            stream.write("Serial no.: 1234\nLogger of the lab, range 500 mW\n")
        if self.unit_stands == "preamble":
            stream.write(f"# unit: {self.unit}\n")
        writer.writerow(heads)
        if self.unit_stands == "row":
            blank = [""] * len(self.time.split(";"))
            last = [""] if self.energy else []
            writer.writerow([*blank, self.unit, *last])
        writer.writerows(rows)
        return stream.getvalue().encode(self.encoding)

    def _what(self) -> str:
        return f"{vars(self)}"


def test_a_known_energy_in_200_dialects_is_read_exactly_or_refused_never_wrong(
    tmp_path: Path,
) -> None:
    read = 0
    refusals: list[MeterError] = []
    for seed in range(DIALECTS):
        written = Dialect(seed).written()
        path = tmp_path / f"{seed}.csv"
        path.write_bytes(written.raw)
        try:
            found = read_foreign(path, Reader())
        except MeterError as error:
            refusals.append(error)
            continue
        assert len(found.readings) == 24, written.what
        energy_wh = found.readings[-1].energy_wh
        assert energy_wh == pytest.approx(written.energy_wh, rel=1e-6, abs=1e-9), written.what  # fmt: skip
        assert found.readings[-1].monotonic_s == pytest.approx(23, abs=1e-6)
        read += 1
    assert read > DIALECTS / 2
    assert not [one for one in refusals if "\n" in one.sentence]
    assert {one.code for one in refusals} <= REFUSALS
