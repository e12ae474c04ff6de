"""The step for stations: meters found, probed and asked, ranges proposed by a ranging run, a trial run.

Every meter is asked by a process of its own, while no run is at its station. A result is shown in the station's card.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from flask import Response

from referee.config import Station
from referee.errors import RefereeError
from referee.findings.meter_findings import TRIAL_S
from referee.seams import Finding
from referee.web.app_parts import part
from referee.web.setup.form_body import Form, present_form
from referee.web.setup.form_fields import WAS, Field, value_of
from referee.web.setup.meter_commands import (
    LONGEST_S,
    MARGIN_S,
    TRIAL_MARGIN_S,
    find_meters,
    look_at_station,
    probe_meter,
    range_meter,
    trial_at_station,
)
from referee.web.setup.settings_desk import SettingsDesk, settings_blueprint
from referee.web.setup.station_page import FIELDS, Asked, shown_stations

SECONDS = Field("seconds", "Seconds", "number")

blueprint = settings_blueprint("meters")


@blueprint.post("/stations/find")
def find() -> Response:
    """Search for meters, and list what answers; every meter is asked for its identity."""
    hall = part(SettingsDesk).hall
    idle = nullcontext() if hall is None else hall.idle_everywhere(MARGIN_S)
    try:
        with idle:
            return shown_stations(asked=Asked(found=find_meters()))
    except RefereeError as error:
        return shown_stations(error)


@blueprint.post("/stations/probe")
def probe() -> Response:
    """Show which meter answers at the address in a station's form, without changing it."""

    def ask(station: Station, form: Form) -> Asked:
        meter = form.text("meter") or station.meter
        with _idle(station.name, meter, MARGIN_S):
            return Asked(station.name, meter, probe=probe_meter(meter))

    return _answered(ask)


@blueprint.post("/stations/range")
def ranging() -> Response:
    """Watch the load of a station for some seconds, and propose fixed ranges."""

    def ask(station: Station, form: Form) -> Asked:
        seconds = _seconds(form.text("seconds"))
        _require_written(station, form)
        with _idle(station.name, station.meter, seconds + MARGIN_S, resets=True):
            ranges = range_meter(station, seconds)
        return Asked(station.name, station.meter, ranges=ranges)

    return _answered(ask)


@blueprint.post("/stations/trial")
def trial() -> Response:
    """Measure the idle board for some seconds, as `doctor --run` does; the readings are not kept.

    In a served contest only while no run is open or judged: a trial would share the machine with it.
    """
    desk = part(SettingsDesk)

    def ask(station: Station, form: Form) -> Asked:
        _require_written(station, form)
        _require_no_run(desk)
        longest_s = TRIAL_S + TRIAL_MARGIN_S
        with _idle(station.name, station.meter, longest_s, resets=True):
            with desk.act("trial-run", station=station.name):
                pass
            found = trial_at_station(desk.folder, station.name)
        return Asked(station.name, station.meter, trial=found, findings=found.findings)

    return _answered(ask)


@blueprint.post("/stations/ask")
def ask_all() -> Response:
    """Ask every meter, as doctor does, and show what is wrong."""
    desk = part(SettingsDesk)
    found: list[Finding] = []
    for station in desk.config().stations:
        try:
            with _idle(station.name, station.meter, MARGIN_S):
                found += look_at_station(desk.folder, station.name)
        except RefereeError as error:
            found.append(Finding(error.code, error.sentence))
    return shown_stations(asked=Asked(findings=found))


def _answered(ask: Callable[[Station, Form], Asked]) -> Response:
    """Answer with what a station's meter has said, or why it was not asked; the form keeps what was typed."""
    form = present_form()
    try:
        return shown_stations(form=form, asked=ask(_station(form), form))
    except RefereeError as error:
        return shown_stations(error, form)


def _require_no_run(desk: SettingsDesk) -> None:
    if desk.hall is not None and desk.hall.why_not_now() is not None:
        words = "A run is open or being judged"
        raise RefereeError("run-state", f"{words}; make the trial run when it is over.")


def _require_written(station: Station, form: Form) -> None:
    """Raise RefereeError `not-written` if the form has edits: the measurement would be made without them."""
    edited = [
        field.label
        for field in FIELDS
        if form.text(field.name) != form.text(WAS + field.name)
    ]
    if edited:
        what = f"{', '.join(edited)} of {station.name} is not written yet"
        raise RefereeError("not-written", f"{what}; press Write first, then measure.")


def _seconds(text: str) -> float:
    try:
        seconds = float(value_of(SECONDS, text))
    except ValueError as error:
        raise RefereeError("bad-request", f"Seconds: {error}.") from error
    if not 1 <= seconds <= LONGEST_S:
        words = f"A ranging run lasts 1 to {LONGEST_S:g} s, not {seconds:g}"
        raise RefereeError("bad-request", f"{words}; for a longer one: meter range.")
    return seconds


def _station(form: Form) -> Station:
    name = form.text("station")
    for one in part(SettingsDesk).config().stations:
        if one.name == name:
            return one
    raise RefereeError(
        "station-unknown", f"There is no station {name!r}; load the page again."
    )


def _idle(
    station: str, meter: str, longest_s: float, *, resets: bool = False
) -> AbstractContextManager[None]:
    hall = part(SettingsDesk).hall
    if hall is None:
        return nullcontext()
    return hall.idle_meter(station, meter, longest_s, resets=resets)
