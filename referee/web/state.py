"""What the handlers work with, carried by the app."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import numpy as np
from flask import Flask, current_app
from numpy.typing import NDArray

from referee.auth.guessing import PasswordChecks
from referee.clock import Clock
from referee.contest import Contest
from referee.runs.control import RunControl
from referee.web.config_watch import ConfigWatch
from referee.web.image_files import ImageFiles
from referee.web.judge_process import Judging
from referee.web.live_status import LiveStatus
from referee.web.refusals import Refusals

EXTENSION = "referee"
UNAUTHENTICATED_AT_ONCE = 128
OPERATORS_AT_ONCE = 8


@dataclass(frozen=True)
class WebState:
    """The finished objects that the app was made with.

    An open run has its own slots for requests at the same time (`OpenRun.slots`), the operator has some, and everyone
    else shares the rest: a run can only exhaust itself, and no one can keep the operator out.
    """

    contest: Contest
    control: RunControl
    clock: Clock
    images: ImageFiles
    config_watch: ConfigWatch
    refusals: Refusals
    judging: Judging
    status: LiveStatus
    passwords: PasswordChecks = field(default_factory=PasswordChecks)
    operator_passwords: PasswordChecks = field(default_factory=PasswordChecks)
    operator_slots: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(OPERATORS_AT_ONCE)
    )
    other_slots: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(UNAUTHENTICATED_AT_ONCE)
    )

    @cached_property
    def category_ids(self) -> NDArray[np.int64]:
        """The ids of the test set's categories (K,), ascending."""
        return np.array(sorted(one.id for one in self.contest.test_set.categories), np.int64)


def state_of(app: Flask) -> WebState:
    """What the app was made with."""
    return cast(WebState, app.extensions[EXTENSION])


def web_state() -> WebState:
    """The state of the app that handles the present request."""
    return state_of(current_app)
