"""What the handlers work with, carried by the app."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from flask import current_app

from referee.clock import Clock
from referee.contest import Contest
from referee.passwords import FailureLimit
from referee.runs import RunControl
from referee.web.images import ImageFiles

EXTENSION = "referee"


@dataclass(frozen=True)
class WebState:
    """The finished objects that the app was made with."""

    contest: Contest
    control: RunControl
    clock: Clock
    failures: FailureLimit
    images: ImageFiles


def web_state() -> WebState:
    """The state of the app that handles the present request."""
    return cast(WebState, current_app.extensions[EXTENSION])
