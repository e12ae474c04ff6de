"""The last step: everything that is wrong at a glance, and the worker that starts with the new settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flask import Response, redirect, request

from lpirc_power.addresses.meter_address import MeterAddress
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.words import words_of
from lpirc_testsets import TestSetError, load_test_set
from referee.clock import Clock
from referee.config import read_config
from referee.config.contest_presets import PRESETS
from referee.contest import (
    open_contest,
    require_scorer,
    require_truth,
    require_unchanged,
)
from referee.errors import RefereeError
from referee.installed import require_tracks
from referee.judging.contest_status import program_version
from referee.runs.arming import images_of_a_run
from referee.seams import Finding
from referee.served import SETUP_NAME
from referee.store.held_stations import require_stations_kept
from referee.web.app_parts import part
from referee.web.html_pages import page
from referee.web.journal_watch import require_journal
from referee.web.setup.day_page import day_findings
from referee.web.setup.form_body import Form, present_form
from referee.web.setup.form_fields import YES, local_text
from referee.web.setup.hall_page import hall_findings
from referee.web.setup.operator_page import operator_findings
from referee.web.setup.page_words import in_page_words
from referee.web.setup.prize_page import prize_findings
from referee.web.setup.rule_page import SURE, rank_effects, rule_findings
from referee.web.setup.settings_desk import (
    SETTINGS_PATH,
    SettingsDesk,
    led_to,
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
    form = present_form()
    try:
        _require_settings(form.text("version"), desk)
        _require_idle(desk)
        _require_loadable(desk)
        _require_seen(desk, form)
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


@blueprint.post("/apply/discard")
def discard() -> Any:
    """Put the settings in use back into contest.toml."""
    desk = part(SettingsDesk)
    try:
        desk.discard(present_form().text("version"))
    except RefereeError as error:
        return _shown(error)
    return led_to("apply", "discarded")


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
    return page("setup/waiting.html", address=address)


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
    require_stations_kept(desk.store, [one.name for one in config.stations])
    for station in config.stations:
        MeterAddress(station.meter).close()
    require_tracks(config)
    with open_contest(desk.folder, only_looks=True) as contest:
        require_scorer(contest)
        require_truth(contest.test_set, contest.config.task)
        images_of_a_run(contest)
        require_journal(contest, program_version(), Clock().utc())
        if desk.access.is_setup:
            require_unchanged(contest.test_set)


def _require_seen(desk: SettingsDesk, form: Form) -> None:
    """Raise RefereeError `not-sure` if runs lose their rank by the new settings and the form does not say yes to it."""
    effects = rank_effects(desk, desk.config())
    if effects and form.text(SURE) != YES:
        raise RefereeError("not-sure", f"{' '.join(effects)} Tick that you want this.")


def all_findings(desk: SettingsDesk) -> Iterator[tuple[str, list[Finding]]]:
    """Yield the findings of each step."""
    for step, look_at in LOOKS:
        yield step, [in_page_words(one) for one in look_at(desk)]


def _shown(failure: Any = None) -> Response:
    desk = part(SettingsDesk)
    hall = desk.hall
    is_readable = True
    try:
        by_step = dict(all_findings(desk))
        effects = rank_effects(desk, desk.config())
        facts = _facts(desk)
    except RefereeError as error:  # a broken file can still be discarded
        failure = error
        is_readable = False
        by_step = {}
        effects = []
        facts = []
    return step_page(
        "apply",
        (),
        failure,
        is_readable=is_readable,
        by_step=by_step,
        differences=hall.differences() if hall else [],
        why_not=hall.why_not_now() if hall else None,
        effects=effects,
        can_discard=hall is not None and hall.text_in_use is not None,
        facts=facts,
    )


def _facts(desk: SettingsDesk) -> list[tuple[str, str, str]]:
    """Return what holds after the start at a glance: the step, its title, and what was set there."""
    config = desk.config()
    preset = next(
        (one.title for one in PRESETS if not one.settings(config)), "Rules of its own"
    )
    attempts = f"attempts of each team: {config.attempts or 'no limit'}"
    task = "metric" if config.task == BOXES else "task"
    figure = words_of(config.task).said(config.contest_rule.figure)
    ranked = f"ranked by {figure}"
    scored = f"{task} {config.scored_by}, {ranked}"
    rules = f"{preset}: {config.window_s} s, {scored}, {attempts}"
    try:
        images = f"{len(load_test_set(desk.folder / config.testset).images)} images"
    except TestSetError:
        images = "none yet"
    stations = "; ".join(f"{one.name} at {one.meter}" for one in config.stations)
    teams = len(desk.store.teams.all())
    operators = ", ".join(desk.store.operators.password_hashes()) or "none"
    return [
        ("rules", "Rules", rules),
        ("testset", "Test set", f"{images}, {config.testset}"),
        ("stations", "Stations", stations),
        ("teams", "Teams", str(teams)),
        ("operators", "Operators", operators),
        (
            "day",
            "Freeze",
            local_text(config.freeze_at).replace("T", " ")
            if config.freeze_at
            else "by hand",
        ),
        ("day", "Backups", config.backup.folder or "none"),
    ]
