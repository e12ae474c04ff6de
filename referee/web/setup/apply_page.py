"""The last step: everything that is wrong at a glance, and the worker that starts with the new settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flask import Response, redirect, request

from lpirc_power.meter_address import MeterAddress
from lpirc_testsets import TestSetError
from referee.clock import Clock
from referee.config import read_config
from referee.contest import open_contest, require_detection, require_unchanged
from referee.errors import RefereeError
from referee.installed import require_tracks
from referee.judging.contest_status import program_version
from referee.seams import Finding
from referee.served import SETUP_NAME
from referee.web.app_parts import part
from referee.web.html_pages import page
from referee.web.journal_watch import require_journal
from referee.web.setup.day_page import day_findings
from referee.web.setup.form_body import present_form
from referee.web.setup.hall_page import hall_findings
from referee.web.setup.operator_page import operator_findings
from referee.web.setup.prize_page import prize_findings
from referee.web.setup.rule_page import rule_findings
from referee.web.setup.settings_desk import (
    SETTINGS_PATH,
    SettingsDesk,
    settings_blueprint,
    step_page,
)
from referee.web.setup.station_page import station_findings
from referee.web.setup.team_page import team_findings
from referee.web.setup.testset_page import testset_findings
from referee.web.setup.track_page import track_findings
from referee.web.worker_end import end_worker_soon

CONSOLE = "console"
NEXT = {CONSOLE: "/operator/", "settings": f"{SETTINGS_PATH}/apply"}
LOOKS = (
    ("rules", rule_findings),
    ("testset", testset_findings),
    ("stations", station_findings),
    ("teams", team_findings),
    ("operators", operator_findings),
    ("prizes", prize_findings),
    ("tracks", track_findings),
    ("hall", hall_findings),
    ("day", day_findings),
)

blueprint = settings_blueprint("apply")


@blueprint.get("/")
def first() -> Any:
    """Lead to the first step."""
    return redirect(f"{SETTINGS_PATH}/rules", 303)


@blueprint.get("/apply")
def look() -> Response:
    """Answer with all findings, and with what would hold after a start."""
    return _shown()


@blueprint.post("/apply")
def apply() -> Response:
    """End the worker if the next one can load the contest and no run is open."""
    desk = part(SettingsDesk)
    try:
        _require_settings(present_form().text("version"), desk)
        _require_idle(desk)
        _require_loadable(desk)
        with desk.act("settings-applied"):
            pass
    except (RefereeError, TestSetError) as error:
        return _shown(error)
    response = _waiting(CONSOLE if desk.access.is_setup else "settings", desk.worker)
    desk.access.hand_over(response)
    if desk.access.is_setup:
        (desk.folder / SETUP_NAME).unlink(missing_ok=True)
    end_worker_soon()
    return response


@blueprint.get("/waiting")
def waiting() -> Any:
    """Lead on once another worker answers."""
    of = request.args.get("of", "")
    to = request.args.get("to", "")
    if of == part(SettingsDesk).worker:
        return _waiting(to, of)
    return redirect(NEXT.get(to, NEXT["settings"]), 303)


def _waiting(to: str, worker: str) -> Response:
    address = f"{SETTINGS_PATH}/waiting?to={to}&of={worker}"
    response = page("setup/waiting.html", address=address)
    response.headers["Refresh"] = f"4; url={address}"
    return response


def _require_settings(version: str, desk: SettingsDesk) -> None:
    if version != desk.file().version:
        sentence = "contest.toml was changed since this page was made; look at what is below, and press again."
        raise RefereeError("settings-changed", sentence)


def _require_idle(desk: SettingsDesk) -> None:
    """Raise RefereeError `run-state` while a run is open or judged."""
    why_not = None if desk.hall is None else desk.hall.why_not_now()
    if why_not is not None:
        raise RefereeError("run-state", why_not)


def _require_loadable(desk: SettingsDesk) -> None:
    """Raise RefereeError or TestSetError for what would keep the next worker from starting."""
    config = read_config(desk.folder)
    for station in config.stations:
        MeterAddress(station.meter).close()
    require_tracks(config)
    with open_contest(desk.folder, only_looks=True) as contest:
        require_detection(contest.test_set)
        require_journal(contest, program_version(), Clock().utc())
        if desk.access.is_setup:
            require_unchanged(contest.test_set)


def all_findings(desk: SettingsDesk) -> Iterator[tuple[str, list[Finding]]]:
    """Yield the findings of each step."""
    for step, look_at in LOOKS:
        yield step, list(look_at(desk))


def _shown(failure: Any = None) -> Response:
    desk = part(SettingsDesk)
    hall = desk.hall
    return step_page(
        "apply",
        (),
        failure,
        by_step=dict(all_findings(desk)),
        differences=hall.differences() if hall else [],
        why_not=hall.why_not_now() if hall else None,
    )
