"""The step for the hall: where the board is reached, which proxies are trusted, whose meters count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from flask import Response

from referee.config.toml_edits import Setting
from referee.errors import RefereeError
from referee.findings.rule_findings import unguarded
from referee.seams import Finding
from referee.web.app_parts import part
from referee.web.setup.form_body import Form
from referee.web.setup.form_fields import Field, fields_shown, settings_of
from referee.web.setup.rule_page import value_of_config
from referee.web.setup.settings_desk import (
    SettingsDesk,
    settings_blueprint,
    step_page,
    write,
)

STEP = "hall"
OF_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")
FIELDS = (
    Field(
        "board_url",
        "Address of the board in the QR code",
        "text",
        "as phones reach it: https://lpirc.example/; blank: the one by which the projector has opened it",
        may_be_blank=True,
    ),
    Field(
        "trusted_proxy",
        "Trusted proxies",
        "list",
        "their addresses: 127.0.0.1; blank: none",
        may_be_blank=True,
    ),
    Field(
        "official_makers",
        "Makers whose meters are official",
        "list",
        "as the meter states its maker: YOKOGAWA; other makers need a driver",
    ),
)

blueprint = settings_blueprint(STEP)


@blueprint.get("/hall")
def hall() -> Response:
    """Answer with the addresses and makers as they are."""
    return _shown()


@blueprint.post("/hall")
def change_hall() -> Any:
    """Write what was changed."""

    def edits(form: Form) -> list[Setting]:
        return settings_of(FIELDS, form)

    return write(STEP, edits, _shown, fields=FIELDS)


def hall_findings(desk: SettingsDesk) -> Iterator[Finding]:
    """Yield what is wrong with the addresses."""
    config = desk.config()
    guard = unguarded(config) if desk.is_open_network else None
    if guard is not None:
        yield Finding("unguarded", guard, is_advice=True)
    if urlsplit(config.board_url).hostname in OF_THIS_MACHINE:
        words = (
            f"board_url = {config.board_url!r} is an address of this machine alone: no phone in the hall can open the "
            "QR code; write the address by which the hall reaches the board."
        )
        yield Finding("board-url-local", words, is_advice=True)


def _shown(failure: RefereeError | None = None, form: Form | None = None) -> Response:
    desk = part(SettingsDesk)
    config = desk.config()
    values = {one.name: value_of_config(config, one) for one in FIELDS}
    return step_page(
        STEP,
        hall_findings(desk),
        failure,
        fields=fields_shown(FIELDS, values, form),
    )
