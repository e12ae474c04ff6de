"""The step for stations: meters found and probed, ranges proposed by a ranging run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

from flask import Response

from lpirc_power.meter import CREST_FACTORS, ELEMENTS, MODES, SYNCHRONIZE
from lpirc_power.meter_address import MeterAddress
from lpirc_testsets import TestSetError
from referee.config import Station
from referee.config.toml_edits import Edit, NewRow, NoRow, Setting
from referee.contest import open_contest
from referee.errors import RefereeError
from referee.findings.meter_findings import (
    TRIAL_S,
    look_at_meter,
    look_at_ranges,
    trial_run,
)
from referee.seams import Finding
from referee.web.app_parts import part
from referee.web.setup.form_body import Form, present_form
from referee.web.setup.form_fields import (
    Field,
    Shown,
    fields_shown,
    value_of,
)
from referee.web.setup.meter_commands import (
    LONGEST_S,
    find_meters,
    probe_meter,
    range_meter,
)
from referee.web.setup.row_edits import row_edits, written_elsewhere
from referee.web.setup.settings_desk import (
    SettingsDesk,
    settings_blueprint,
    step_page,
    write,
)

TABLE = "stations"
UPDATES_S = ("0.1", "0.25", "0.5", "1", "2", "5")
RANGES_MISSING = (
    "The meter of {0} chooses a range by itself, so the energy is less certain. Press 'Ranging run of {0}' while its "
    "board works: it proposes the ranges to fix."
)
SECONDS = Field("seconds", "Seconds", "number")


def _choices(values: Sequence[object]) -> tuple[tuple[str, str], ...]:
    return tuple((str(one), str(one)) for one in values)


FIELDS = (
    Field("name", "Name"),
    Field("meter", "Meter", "text", "TCPIP::192.168.1.20::INSTR, or sim:"),
    Field(
        "voltage_range_v",
        "Voltage range, V",
        "number",
        "blank: automatic",
        may_be_blank=True,
    ),
    Field(
        "current_range_a",
        "Current range, A",
        "number",
        "blank: automatic",
        may_be_blank=True,
    ),
    Field(
        "update_interval_s",
        "Update interval, s",
        "number",
        choices=_choices(UPDATES_S),
    ),
    Field("mode", "Mode", choices=_choices(MODES)),
    Field("crest_factor", "Crest factor", "whole", choices=_choices(CREST_FACTORS)),
    Field("synchronize", "Synchronized by", choices=_choices(SYNCHRONIZE)),
    Field("element", "Element", choices=_choices(ELEMENTS)),
    Field("settle_s", "Seconds to settle", "number"),
    Field("zero_max_age_min", "Zero level at most, minutes", "number", "0: never"),
    Field("ambient_change_c", "Hall may warm or cool by, °C", "number"),
    Field(
        "clients",
        "Addresses of its board",
        "list",
        "192.168.1.30, 192.168.1.0/24; blank: any",
        may_be_blank=True,
    ),
    Field("line_filter", "Line filter", "flag"),
    Field("frequency_filter", "Frequency filter", "flag"),
    Field("loopback_meter", "A real meter behind a tunnel at 127.0.0.1", "flag"),
)

blueprint = settings_blueprint("stations")


@blueprint.get("/stations")
def stations() -> Response:
    """Answer with the stations as they are; no meter is asked."""
    return _shown()


@blueprint.post("/stations")
def change_station() -> Any:
    """Write what was changed of a station."""
    return write(TABLE, _edits, _shown)


@blueprint.post("/stations/add")
def add_station() -> Any:
    """Add a station with a name and a meter."""

    def row(form: Form) -> list[Edit]:
        MeterAddress(form.text("meter")).close()
        values = {"name": form.text("name"), "meter": form.text("meter")}
        return [NewRow(TABLE, values)]

    return write(TABLE, row, lambda error, _: _shown(error))


@blueprint.post("/stations/remove")
def remove_station() -> Any:
    """Take a station away; its lines stay as comments."""

    def row(form: Form) -> list[Edit]:
        return [NoRow(TABLE, form.text("station"))]

    return write(TABLE, row, lambda error, _: _shown(error))


@blueprint.post("/stations/find")
def find() -> Response:
    """Search for meters, and list what answers."""
    try:
        return _shown(found=find_meters())
    except RefereeError as error:
        return _shown(error)


@blueprint.post("/stations/probe")
def probe() -> Response:
    """Show which meter answers at a station, without changing it."""
    station = _station()
    try:
        with _idle(station):
            return _shown(probed={station.name: probe_meter(station.meter)})
    except RefereeError as error:
        return _shown(error)


@blueprint.post("/stations/range")
def ranging() -> Response:
    """Watch the load of a station for some seconds, and propose fixed ranges."""
    station = _station()
    try:
        seconds = _seconds(present_form().text("seconds"))
        with _idle(station):
            ranges = range_meter(station, seconds)
        return _shown(ranged={station.name: ranges})
    except RefereeError as error:
        return _shown(error)


@blueprint.post("/stations/ask")
def ask() -> Response:
    """Ask every meter, as doctor does, and show what is wrong."""
    desk = part(SettingsDesk)
    found: list[Finding] = []
    for station in desk.config().stations:
        try:
            with _idle(station):
                found += look_at_meter(desk.config(), desk.store, station)
        except RefereeError as error:
            found.append(Finding(error.code, error.sentence))
    return _shown(asked=found)


@blueprint.post("/stations/trial")
def trial() -> Response:
    """Measure the idle board for some seconds, as `doctor --run` does; the readings are not kept.

    In a served contest only while no run is open or judged: a trial would share the machine with it.
    """
    desk = part(SettingsDesk)
    station = _station()
    try:
        _require_no_run(desk)
        with (
            _idle(station),
            open_contest(desk.folder, only_looks=True) as contest,
        ):
            with desk.act("trial-run", station=station.name):
                pass
            found = list(trial_run(contest, station))
    except (RefereeError, TestSetError) as error:
        return _shown(error)
    return _shown(asked=found, tried=station.name)


def _require_no_run(desk: SettingsDesk) -> None:
    if desk.hall is not None and desk.hall.why_not_now() is not None:
        words = "A run is open or being judged"
        raise RefereeError("run-state", f"{words}; make the trial run when it is over.")


def _edits(form: Form) -> list[Edit]:
    found = row_edits(TABLE, form.text("station"), FIELDS, form)
    for one in found:
        if isinstance(one, Setting) and one.key == "meter":
            MeterAddress(str(one.value)).close()
    return found


def _seconds(text: str) -> float:
    try:
        seconds = float(value_of(SECONDS, text))
    except ValueError as error:
        raise RefereeError("bad-request", f"Seconds: {error}.") from error
    if not 1 <= seconds <= LONGEST_S:
        words = f"A ranging run lasts 1 to {LONGEST_S:g} s, not {seconds:g}"
        raise RefereeError("bad-request", f"{words}; for a longer one: meter range.")
    return seconds


def _station() -> Station:
    name = present_form().text("station")
    for one in part(SettingsDesk).config().stations:
        if one.name == name:
            return one
    raise RefereeError(
        "station-unknown", f"There is no station {name!r}; load the page again."
    )


def _idle(station: Station) -> Any:
    hall = part(SettingsDesk).hall
    return nullcontext() if hall is None else hall.idle_meter(station.meter)


def station_findings(desk: SettingsDesk) -> Iterator[Finding]:
    """Yield what is wrong with the stations, as far as no meter need be asked."""
    config = desk.config()
    for station in config.stations:
        if station.is_simulated:
            words = f"Station {station.name} has a simulated meter: its energies are for rehearsals and never official."
            yield Finding("meter-simulated", words, is_advice=True)
        else:
            for one in look_at_ranges(station):
                yield one._replace(sentence=RANGES_MISSING.format(station.name))


def _shown(
    failure: Any = None,
    form: Form | None = None,
    *,
    found: Sequence[Any] | None = None,
    probed: Any = None,
    ranged: Any = None,
    asked: Sequence[Finding] | None = None,
    tried: str = "",
) -> Response:
    desk = part(SettingsDesk)
    config = desk.config()
    forms = [(one.name, _fields(one, form)) for one in config.stations]
    return step_page(
        TABLE,
        [*station_findings(desk), *(asked or ())],
        failure,
        stations=forms,
        found=found,
        probed=probed or {},
        ranged=ranged or {},
        is_asked=asked is not None,
        used=[one.meter for one in config.stations],
        next_name=f"station-{len(config.stations) + 1}",
        trial_s=TRIAL_S,
        tried=tried,
        elsewhere=written_elsewhere(desk.file().text, TABLE, config.stations),
    )


def _fields(station: Station, form: Form | None) -> list[Shown]:
    own = form if form is not None and form.text("station") == station.name else None
    values = {one.name: getattr(station, one.key) for one in FIELDS}
    return fields_shown(FIELDS, values, own)
