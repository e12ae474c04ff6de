"""The step for teams: by hand, or from a list as CSV. Each gets a password, which is shown once, on a sheet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

from flask import Response, request

from referee.auth.passwords import generate_password, hash_password
from referee.errors import RefereeError
from referee.operating_system import lower_priority
from referee.registration.registered_names import require_new_team
from referee.registration.team_list import OtherEncoding, teams_in, text_of_list
from referee.registration.team_sheet import strips_of
from referee.seams import Finding
from referee.web.app_parts import part
from referee.web.setup.form_body import Form, present_form
from referee.web.setup.settings_desk import (
    SettingsDesk,
    led_to,
    settings_blueprint,
    step_page,
)

NICENESS = 5
MOST_TEAMS = 500

blueprint = settings_blueprint("teams")


@blueprint.get("/teams")
def teams() -> Response:
    """Answer with the teams."""
    return _shown()


@blueprint.post("/teams/add")
def add_team() -> Response:
    """Register a team, and show its sheet."""
    form = present_form()
    name = form.text("team")
    affiliation = form.text("affiliation")
    try:
        require_new_team(name, affiliation, part(SettingsDesk).store.teams.all())
        return _registered(
            {name: affiliation or None},
            "team-add",
            {"team": name},
        )
    except RefereeError as error:
        return _shown(error, form)


@blueprint.post("/teams/import")
def import_list() -> Any:
    """Register the teams of a list, all or none, and show their sheet."""
    form = present_form()
    try:
        present = part(SettingsDesk).store.teams.all()
        listed = teams_in(
            _text(form),
            "The list",
            present,
        )
        new = {team: text for team, text in listed.items() if team not in present}
        _require_few(new)
        if not new:
            return led_to("teams", "listed")
        return _registered(
            new,
            "team-import",
            {"teams": [*new]},
        )
    except RefereeError as error:
        return _shown(error, form)


@blueprint.post("/teams/password")
def new_password() -> Response:
    """Give a team a new password, and show its sheet; the old one ends at once."""
    desk = part(SettingsDesk)
    team = present_form().text("team")
    password = generate_password()
    (hashed,) = _hashed([password])
    with desk.act("team-password", team=team) as under_way:
        desk.store.teams.set_password(
            team,
            hashed,
            under_way,
        )
    return _sheet({team: password}, {team: None})


@blueprint.post("/teams/<any(disable,enable):action>")
def switch(action: str) -> Any:
    """Disable or enable a team."""
    desk = part(SettingsDesk)
    team = present_form().text("team")
    with desk.act(f"team-{action}", team=team) as under_way:
        desk.store.teams.set_disabled(
            team,
            action == "disable",
            under_way,
        )
    return led_to("teams", "recorded")


def _require_few(new: Mapping[str, str | None]) -> None:
    if len(new) > MOST_TEAMS:
        words = f"The list has {len(new)} new teams; a page takes {MOST_TEAMS}"
        raise RefereeError("bad-team-list", f"{words}: referee team import.")


def _text(form: Form) -> str:
    file = form.files.get("file", b"")
    return text_of_list(file, "The list") if file else form.texts.get("list", "")


def _list_to_show(form: Form, failure: RefereeError | None) -> str:
    """Return the list that was refused, also of a file, so that a line can be corrected on the page."""
    if isinstance(failure, OtherEncoding):
        return failure.guess
    try:
        return _text(form)
    except OtherEncoding as error:
        return error.guess


def _registered(
    new: Mapping[str, str | None], action: str, detail: Mapping[str, object]
) -> Response:
    desk = part(SettingsDesk)
    passwords = {team: generate_password() for team in new}
    hashes = _hashed(list(passwords.values()))
    hashed = {
        team: (made, affiliation)
        for (team, affiliation), made in zip(
            new.items(),
            hashes,
            strict=True,
        )
    }
    with desk.act(action, **detail) as under_way:
        desk.store.teams.add_all(
            hashed,
            desk.clock.utc(),
            under_way,
        )
    return _sheet(passwords, new)


def _hashed(passwords: list[str]) -> list[str]:
    """Return the hashes of passwords, computed at low priority: runs may be open."""
    with ThreadPoolExecutor(
        1,
        "hashes",
        lower_priority,
        (NICENESS,),
    ) as thread:
        return list(thread.map(hash_password, passwords))


def _sheet(
    passwords: Mapping[str, str], affiliations: Mapping[str, str | None]
) -> Response:
    desk = part(SettingsDesk)
    url = (present_form().text("url") or _address()).rstrip("/")
    return step_page(
        "sheet",
        strips=strips_of(
            url,
            passwords,
            affiliations,
        ),
        url=url,
        key=desk.store.identity.public_key(),
        back="teams",
    )


def _address() -> str:
    """Return the address that teams probably use: the one of this browser, unless that is on this machine."""
    own = request.host_url.rstrip("/")
    is_local = urlsplit(own).hostname in ("127.0.0.1", "::1", "localhost")
    return part(SettingsDesk).url or own if is_local else own


def team_findings(desk: SettingsDesk) -> Iterator[Finding]:
    """Yield a finding while there is no team."""
    if not desk.store.teams.all():
        sentence = "No team is registered yet; without one no run can be armed."
        yield Finding(
            "teams-missing",
            sentence,
            is_advice=True,
        )


def _shown(failure: RefereeError | None = None, form: Form | None = None) -> Response:
    desk = part(SettingsDesk)
    given = dict.fromkeys(("team", "affiliation", "url", "list"), "")
    if form is not None:
        given = {name: form.text(name) for name in given}
        given["list"] = _list_to_show(form, failure)
    return step_page(
        "teams",
        team_findings(desk),
        failure,
        teams=desk.store.teams.all(),
        url=given["url"] or _address(),
        given=given,
    )
