"""Records the acts of a command that changes a contest without the server: who ran it, on which host, and why."""

from __future__ import annotations

import os
import pwd
import socket
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING

import click

from referee.auth.operator_names import COMMAND
from referee.clock import Clock

if TYPE_CHECKING:
    from referee.store import Store
    from referee.store.acts import Act


def line_of_text(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> str | None:
    """Return the option's text if it is not blank and can be printed on one line, else raise click.BadParameter."""
    if value is not None and not (value.strip() and value.isprintable()):
        raise click.BadParameter(f"{value!r} is not a single line of text.", ctx, param)
    return value


_reason = partial(
    click.option,
    "--reason",
    callback=line_of_text,
    help="The reason, which the contest's log records.",
)
optional_reason = _reason()
required_reason = _reason(required=True)


def user() -> str:
    """Return the account that runs this command; under sudo, also the account that called sudo."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # in a container
        name = str(os.getuid())
    before = os.environ.get("SUDO_USER")
    return f"{name} (sudo by {before})" if before else name


def act(
    store: Store, action: str, run: int | None = None, **detail: object
) -> AbstractContextManager[Act]:
    """Return the context of an act of this command, with the same use as `EventTable.act`."""
    who = {
        "operator": COMMAND,
        "action": action,
        "user": user(),
        "address": socket.gethostname(),
    }
    return store.log.act(Clock().utc(), run, **who, **detail)
