"""The step for operators: who may use the console, each with a password of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flask import Response

from referee.auth.passwords import generate_password, hash_password
from referee.errors import RefereeError
from referee.judging.jury_people import ADDED, SET_UP, people_of
from referee.registration.registered_names import (
    SHORTEST_PASSWORD,
    require_operator_name,
    require_password,
)
from referee.seams import Finding
from referee.web.app_parts import part
from referee.web.setup.form_body import present_form
from referee.web.setup.settings_desk import (
    SettingsDesk,
    led_to,
    settings_blueprint,
    step_page,
)

blueprint = settings_blueprint("operators")


@blueprint.get("/operators")
def operators() -> Response:
    """Answer with the operators."""
    return _shown()


@blueprint.post("/operators/add")
def add() -> Any:
    """Register an operator, and show the password if it was made here."""
    form = present_form()
    given = form.texts.get("password", "")
    password = given or generate_password()
    try:
        register_operator(part(SettingsDesk), form.text("name"), password)
    except RefereeError as error:
        return _shown(error)
    return led_to("operators", "registered") if given else _shown(made=password)


@blueprint.post("/operators/remove")
def remove() -> Any:
    """Remove an operator and end the sessions."""
    desk = part(SettingsDesk)
    name = present_form().text("name")
    with desk.act("operator-remove", name=name) as under_way:
        desk.store.operators.remove(name, under_way)
    return led_to("operators", "removed")


def register_operator(desk: SettingsDesk, name: str, password: str) -> None:
    """Register an operator. Raises RefereeError `operator-name`, `operator-exists`, `password-short`."""
    require_operator_name(name)
    require_password(password)
    hashed = hash_password(password)
    during = SET_UP if desk.access.is_setup else None
    with desk.act(ADDED, name=name, during=during) as under_way:
        desk.store.operators.add(name, hashed, desk.clock.utc(), under_way)


def operator_findings(desk: SettingsDesk) -> Iterator[Finding]:
    """Yield advice while too few people can log in."""
    names = desk.store.operators.password_hashes()
    needed = max(1, desk.config().publish_by)
    if len(names) < needed:
        registered = (
            "1 operator is" if len(names) == 1 else f"{len(names)} operators are"
        )
        words = f"{registered} registered, and {needed} are needed"
        why = ": another one publishes what one confirmed" if needed > 1 else ""
        yield Finding("operators-missing", f"{words}{why}.", is_advice=True)
        return
    people = people_of(desk.store)
    if len({people.get(name, name) for name in names}) < needed:
        sentence = (
            "All operators count as one person, because one has registered the others and set their passwords; "
            "publish_by = 2 needs another: log in by the operator key to register people, or use: "
            "referee operator add NAME"
        )
        yield Finding("operators-missing", sentence, is_advice=True)


def _shown(failure: RefereeError | None = None, made: str | None = None) -> Response:
    desk = part(SettingsDesk)
    form = present_form() if failure or made else None
    people = people_of(desk.store)
    names = desk.store.operators.password_hashes()
    return step_page(
        "operators",
        operator_findings(desk),
        failure,
        operators=[{"name": name, "person": people.get(name, name)} for name in names],
        made=made,
        name=form.text("name") if form else "",
        shortest=SHORTEST_PASSWORD,
    )
