"""The driver and the commands before a meter that is written from public logs, not from our simulator."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lpirc_power.cli import main
from lpirc_power.energy import Measurement
from lpirc_power.energy.measurement_checks import range_changed
from lpirc_power.errors import MeterRefused
from lpirc_power.meter import IntegratorState, Setup, Unconfirmed
from lpirc_power.sampling.sampler import Sampler
from lpirc_power.visa.link import Link
from tests.power.logged_box import DUMP, POWER_W, LoggedBox, served

SETUP = Setup(
    voltage_range_v=150.0,
    current_range_a=0.5,
    update_interval_s=0.1,
    integrator_timer_s=600,
)
FORMS = {
    "as the log has it": LoggedBox,
    "a header before every answer": lambda: LoggedBox(always=True),
    "settings said back as they were written": lambda: LoggedBox(as_set=True),
    "as awkward as boxes in public code": lambda: LoggedBox(
        values={"LAMB": "ERROR"},
        buffer=256,
        resets_once=True,
        identity="YOKOGAWA,WT310E,C3UB99999E,F1.04,extra",
        no_error='000,"No error"',
    ),
}


@pytest.fixture(params=FORMS.values(), ids=FORMS)
def box(request: Any) -> LoggedBox:
    made: LoggedBox = request.param()
    return made


def asked(
    address: str,
    *queries: str,
) -> list[str]:
    with contextlib.closing(Link(address)) as link:
        return [link.query(query) for query in queries]


@contextlib.contextmanager
def sampling(
    address: str,
    readings: list[Any],
) -> Iterator[Sampler]:
    sampler = Sampler(
        address,
        SETUP,
        readings.append,
        time.monotonic,
        lambda: datetime.now(UTC),
    )
    with contextlib.closing(sampler):
        yield sampler


def test_the_box_answers_what_the_log_shows() -> None:
    with served(LoggedBox()) as address:
        assert asked(address, ":NUM:NORM?", ":NUM:ITEM2?", ":INTEGRATE:STATE?", ":NUMERIC:NORMAL:ITEM1?;ITEM3?") == [
            DUMP, ":NUM:ITEM2 TIME", "RES", ":NUM:ITEM1 MATH;ITEM3 U,1",
        ]  # fmt: skip


def test_a_probe_reads_it_and_leaves_it_as_it_was(box: LoggedBox) -> None:
    before = dict(box.settings)
    with served(box) as address:
        ran = CliRunner().invoke(main, ["probe", address, "--json"])
        assert ran.exit_code == 0, ran.output
        facts = json.loads(ran.output)
        assert asked(address, ":NUM:NORM?") == [DUMP]
    assert facts["reading"]["power_w"] == POWER_W
    assert facts["integrator"] == "RESET"
    assert facts["errors"] == []
    assert facts["settings"]["voltage_range_v"] == 300.0
    assert facts["settings"]["mode"] == "rms"
    # What is new are the items of onlookers, from 201 on, behind those of the log.
    assert {
        header: value for header, value in box.settings.items() if header in before
    } == before


def test_a_run_is_armed_measured_and_its_settings_are_put_back(
    box: LoggedBox,
    until: Callable[..., None],
) -> None:
    before = dict(box.settings)
    readings: list[Any] = []
    with served(box) as address, sampling(address, readings) as run:
        run.arm()
        run.start()
        until(lambda: len(readings) >= 5)
        final = run.stop()
        assert run.changes == ()
        assert final.state is IntegratorState.STOP
        assert final.energy_wh * 3600 == pytest.approx(POWER_W * box.sums_s, rel=1e-4)
        assert {reading.power_w for reading in readings} == {POWER_W}
        run.close()
    assert box.settings["NUM:ITEM7"] == before["NUM:ITEM7"]
    assert {
        header: value for header, value in box.settings.items() if header in before
    } == before


def test_it_is_watched(box: LoggedBox) -> None:
    with served(box) as address:
        ran = CliRunner().invoke(main, ["watch", address, "--json", "--count", "2"])
    assert ran.exit_code == 0, ran.output
    assert [json.loads(line)["power_w"] for line in ran.stdout.splitlines()] == [
        POWER_W
    ] * 2


def test_a_recording_is_made(
    box: LoggedBox,
    tmp_path: Path,
) -> None:
    with served(box) as address:
        options = [
            "--duration",
            "1",
            "--voltage-range",
            "150",
            "--current-range",
            "0.5",
            "--update",
            "0.1",
        ]
        file = str(tmp_path / "run.csv")
        ran = CliRunner().invoke(
            main,
            ["record", address, "-o", file, *options, "--json"],
        )
    assert ran.exit_code == 0, ran.output
    facts = json.loads(ran.stdout)
    assert facts["energy_wh"] * 3600 == pytest.approx(
        POWER_W * facts["duration_s"],
        rel=0.02,
    )
    assert "range-changed" not in {
        check["code"] for check in facts["checks"] if not check["ok"]
    }


def test_answers_without_meaning_do_not_refuse_the_day_but_fail_a_check(
    until: Callable[..., None],
) -> None:
    box = LoggedBox(garbled={"INP:SYNC": "?#!", "INP:FILT:LINE": ""})
    readings: list[Any] = []
    with served(box) as address, sampling(address, readings) as run:
        run.arm()
        run.start()
        until(lambda: len(readings) >= 2)
        final = run.stop()
        changes = run.changes
    assert final.energy_wh > 0
    assert changes == (
        ":INPUT:FILTER:LINE OFF was set, but the meter answered ''",
        ":INPUT:SYNCHRONIZE VOLTAGE was set, but the meter answered '?#!'",
    )
    assert all(isinstance(change, Unconfirmed) for change in changes)
    check = range_changed(
        readings,
        Measurement(
            final.energy_wh,
            1.0,
            0.0,
            1.0,
            SETUP,
            "WT310E",
            None,
            True,
            changes,
        ),
    )
    assert check.code == "range-changed"
    assert check.ok is False
    assert "'?#!'" in check.sentence


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("INP:VOLT:RANG", "300.0E+00"),
        ("NUM:ITEM6", "AH,1"),
    ],
)
def test_another_setting_than_was_set_is_still_refused(
    header: str,
    said: str,
) -> None:
    refused = pytest.raises(MeterRefused, match=re.escape(said))
    with (
        served(LoggedBox(garbled={header: said})) as address,
        sampling(address, []) as run,
        refused,
    ):
        run.arm()
