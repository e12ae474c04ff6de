"""What a comparison says of the meters' addresses and of its recordings' notes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lpirc_power.comparison.attempts import Choice, Compared, side_of
from lpirc_power.comparison.comparing import compared
from lpirc_power.comparison.doubts import warnings_of
from lpirc_power.measurement_files.recorded_files import read_recorded
from lpirc_power.notebook.mean_energy import DoubtfulEnergy, mean_of
from lpirc_power.notebook.recording import Recording
from lpirc_power.record.document import Record
from lpirc_power.record.record_file import read_record, record_path, write_record
from lpirc_power.report.recording_report import Recorded
from lpirc_power.sampling.polling import Idle
from tests.power.made_recordings import Made, steady

FIRST = "TCPIP::1.2.3.4::INSTR"
OTHER = "TCPIP::1.2.3.5::INSTR"


def warnings(first: Recorded, second: Recorded) -> str:
    choice = Choice()
    sides = (side_of("A", [first], choice), side_of("B", [second], choice))
    return "\n".join(warnings_of(*sides))


def made(folder: Path, address: str = FIRST) -> tuple[Recorded, Recorded]:
    first = Made(folder).recording("a")
    second = Made(folder, address=address).recording(
        "b", load=steady(5.9), start_s=60.0
    )
    return read_recorded(first), read_recorded(second)


def test_one_serial_number_at_two_addresses_is_told(tmp_path: Path) -> None:
    said = warnings(*made(tmp_path, OTHER))
    assert f"at several addresses ({FIRST}, {OTHER}): it is taken as one" in said


def test_one_meter_at_one_address_is_no_doubt(tmp_path: Path) -> None:
    assert warnings(*made(tmp_path)) == ""


def test_a_clock_that_was_set_is_told(
    tmp_path: Path,
) -> None:
    first, second = made(tmp_path)
    path = record_path(Path(second.file))
    record = read_record(path)
    assert isinstance(record, Record)
    ended = record.ended
    assert ended is not None
    late = replace(ended.end, utc=ended.end.utc + timedelta(hours=1))
    write_record(path, replace(record, ended=replace(ended, end=late)))
    changed = read_recorded(path)
    assert len(changed.doubts) == 1
    assert f"{changed.file}: {changed.doubts[0]}" in warnings(first, changed)


def test_a_note_of_both_sides_is_told_once(tmp_path: Path) -> None:
    both = [replace(one, doubts=("It rained.",)) for one in made(tmp_path)]
    assert warnings(*both) == f"{both[0].file}, {both[1].file}: It rained."


def test_a_comparison_above_idle_tells_an_idle_time_that_is_too_short(
    tmp_path: Path,
) -> None:
    """In Python a mean says it, too."""
    idle = Idle(2.0, 5.0, 50, 0.02, 0.005, 9.0, 120.0, 2.0 / 120.0, 2.0, needed_s=41.0)
    slow = Made(tmp_path, idle=idle).recording("a")
    steadier = replace(idle, needed_s=5.0)
    second = Made(tmp_path, idle=steadier).recording("b", start_s=60.0)
    found = [read_recorded(one) for one in (slow, second)]
    for energies, lines in ((Compared(is_above_idle=True), 1), (Compared(), 0)):
        sides = [side_of("X", [one], Choice(energies)) for one in found]
        said = compared(*sides, 0.01, is_paired=False, energies=energies).warnings
        assert len([one for one in said if "Use --idle 50 or longer" in one]) == lines
    with pytest.warns(DoubtfulEnergy, match="Use --idle 50 or longer"):
        mean_of([Recording(one) for one in found], above_idle=True)
