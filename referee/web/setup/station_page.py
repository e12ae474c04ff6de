"""The step for stations: their settings as forms. What asks their meters is in `meter_page`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flask import Response

from lpirc_power.addresses.meter_address import MeterAddress
from lpirc_power.meter import CREST_FACTORS, ELEMENTS, MODES, SYNCHRONIZE
from referee.config import Station
from referee.config.contest_values import plain_address
from referee.config.toml_edits import Edit, NewRow, NoRow, Setting
from referee.findings.meter_findings import (
    TRIAL_S,
    look_at_ranges,
)
from referee.seams import Finding
from referee.store.held_stations import require_not_needed
from referee.web.app_parts import part
from referee.web.setup.form_body import Form
from referee.web.setup.form_fields import (
    Field,
    Shown,
    fields_shown,
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
    Field(
        "zero_max_age_min",
        "Meter's zero level is renewed after, minutes",
        "number",
        "when a run is armed; 0: never",
    ),
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
    return shown_stations()


@blueprint.post("/stations")
def change_station() -> Any:
    """Write what was changed of a station."""
    return write(TABLE, _edits, shown_stations, fields=FIELDS)


@blueprint.post("/stations/add")
def add_station() -> Any:
    """Add a station with a name and a meter."""

    def row(form: Form) -> list[Edit]:
        MeterAddress(form.text("meter")).close()
        values = {"name": form.text("name"), "meter": form.text("meter")}
        return [NewRow(TABLE, values)]

    return write(
        TABLE, row, lambda error, form: shown_stations(error, form), fields=FIELDS
    )


@blueprint.post("/stations/remove")
def remove_station() -> Any:
    """Take a station away; its lines stay as comments."""

    def row(form: Form) -> list[Edit]:
        name = form.text("station")
        require_not_needed(part(SettingsDesk).store, name)
        return [NoRow(TABLE, name)]

    return write(
        TABLE, row, lambda error, form: shown_stations(error, form), fields=FIELDS
    )


def _edits(form: Form) -> list[Edit]:
    station = form.text("station")
    found = row_edits(TABLE, station, FIELDS, form)
    for one in found:
        if not isinstance(one, Setting):
            continue
        if one.key == "meter":
            MeterAddress(str(one.value)).close()
        if one.key == "name" and one.value != station:
            require_not_needed(part(SettingsDesk).store, station)
    return found


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


@dataclass(frozen=True)
class Asked:
    """What the meter of one station has answered, shown in the station's card: a probe, ranges or a trial run.

    `station` is blank if all meters were asked; then `findings` has what is wrong, `found` the meters of a search.
    """

    station: str = ""
    meter: str = ""
    probe: Any = None
    ranges: Any = None
    trial: Any = None
    findings: Sequence[Finding] = ()
    found: Sequence[Any] | None = None


def shown_stations(
    failure: Any = None, form: Form | None = None, asked: Asked | None = None
) -> Response:
    """Answer with the stations; a form that was refused, or from which a meter was asked, keeps what was typed."""
    desk = part(SettingsDesk)
    config = desk.config()
    forms = [(one.name, _fields(one, form)) for one in config.stations]
    names = [one.name for one in config.stations]
    return step_page(
        TABLE,
        [*station_findings(desk), *(asked.findings if asked else ())],
        failure,
        stations=forms,
        failed_at=form.text("station") if failure and form else "",
        asked=asked,
        used=[plain_address(one.meter) for one in config.stations],
        simulated=[one for one in config.stations if one.is_simulated],
        next_name=_free_name(names),
        trial_s=TRIAL_S,
        elsewhere=written_elsewhere(desk.file().text, TABLE, config.stations),
    )


def _free_name(names: Sequence[str]) -> str:
    number = len(names) + 1
    while f"station-{number}" in names:
        number += 1
    return f"station-{number}"


def _fields(station: Station, form: Form | None) -> list[Shown]:
    own = form if form is not None and form.text("station") == station.name else None
    has_fields = own is not None and "name" in own.texts
    values = {one.name: getattr(station, one.key) for one in FIELDS}
    return fields_shown(FIELDS, values, own if has_fields else None)
