"""The findings at the stations: the meter's identity and settings, and a short trial run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from lpirc_power.addresses.meter_address import open_meter
from lpirc_power.clocks import real_clocks
from lpirc_power.errors import MeterError, MeterRangeError
from lpirc_power.meter import Identity
from referee.clock import Clock
from referee.config import ContestConfig, Images, Station
from referee.contest import Contest
from referee.errors import RefereeError
from referee.judging.judge import judge
from referee.runs.run_control import RunControl
from referee.runs.run_recovery import energy_may_be_held
from referee.seams import Finding
from referee.store import DATABASE_NAME, Store

TRIAL_S = 10
CLOSE_TIMEOUT_S = 60.0
TEAM = "doctor"


def look_at_meter(
    config: ContestConfig, store: Store, station: Station
) -> Iterator[Finding]:
    """Check that the station's meter answers and has the station's settings.

    Reading its identity changes nothing in the meter.
    """
    try:
        with open_meter(station.meter, real_clocks()) as meter:
            identity = meter.identity
            meter.require_possible(station.setup(config.window_s))
            has_ranges = bool(meter.choices().voltage_ranges_v)
    except MeterRangeError as error:
        yield Finding(
            error.code, f"Station {station.name} cannot be armed: {error.sentence}"
        )
        return
    except MeterError as error:
        yield Finding(error.code, f"Station {station.name}: {error.sentence}")
        return
    if station.is_simulated:
        return
    if has_ranges:
        yield from look_at_ranges(station)
    runs = store.runs.find(station=station.name)
    last = next((run for run in reversed(runs) if run.meter_identity), None)
    if last is None or last.meter_identity is None:
        return
    known = Identity.parse(last.meter_identity)
    if (known.model, known.serial) != (identity.model, identity.serial):
        yield Finding(
            "meter-changed",
            f"Station {station.name}: {identity} answers, but run {last.id} was measured by {known}.",
        )


def look_at_ranges(station: Station) -> Iterator[Finding]:
    """Advise to fix those ranges of the station's meter that its settings leave automatic."""
    missing = [
        key
        for key in ("voltage_range_v", "current_range_a")
        if getattr(station, key) is None
    ]
    if missing:
        what = " and ".join(missing)
        yield Finding(
            "range-automatic",
            f"Station {station.name}: {what} not fixed; to find the right ranges, run: meter range {station.meter}",
            is_advice=True,
        )


@dataclass(frozen=True)
class Trial:
    """What a trial run has found and measured; without a measurement the figures are None."""

    findings: tuple[Finding, ...]
    energy_wh: float | None = None
    mean_power_w: float | None = None


def trial_run(contest: Contest, station: Station) -> Trial:
    """Measure the idle board in a run of TRIAL_S seconds, in a temporary contest folder of its own.

    The meter must not hold an energy that is still to be read, because arming resets the meter.
    """
    if energy_may_be_held(contest, station):
        held = Finding(
            "energy-held",
            f"Station {station.name}: its meter may still hold the energy of its last run, so it was not asked; "
            "serve the contest, which reads that energy.",
        )
        return Trial((held,))
    clock = Clock()
    config = replace(
        contest.config,
        window_s=TRIAL_S,
        stations=(station,),
        images=Images(),
        attempts=0,
        auto_arm=False,
    )
    with (
        tempfile.TemporaryDirectory(prefix="referee-doctor-") as folder,
        closing(Store.open(Path(folder) / DATABASE_NAME, create=True)) as store,
    ):
        apart = replace(contest, folder=Path(folder), config=config, store=store)
        store.teams.add(TEAM, "", clock.utc())
        control = RunControl(apart, clock)
        try:
            run = control.arm(TEAM, station.name)
            live = control.login(TEAM)
            clock.wait(live.done, live.window.deadline_s + CLOSE_TIMEOUT_S)
            judged = judge(apart, run.id, clock)
        except (MeterError, RefereeError) as error:
            sentence = f"Station {station.name}, trial run: {error.sentence}"
            return Trial((Finding(error.code, sentence),))
        finally:
            control.shutdown()
            with suppress(RefereeError):
                store.served.flush()
    failed = tuple(
        Finding(one.code, f"Station {station.name}, trial run: {one.sentence}")
        for one in judged.checks
        if not one.ok and one.severity == "error"
    )
    return Trial(failed, judged.energy_wh, judged.mean_power_w)
