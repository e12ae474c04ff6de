"""What the handlers work with, carried by the app."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast
from weakref import WeakKeyDictionary

import numpy as np
from flask import Flask, current_app
from numpy.typing import NDArray

from lpirc_score.detections.plausibility import limits_by_number
from referee.auth.guessing import PasswordChecks
from referee.clock import Clock
from referee.contest import Contest
from referee.runs.camera_screens import Screens
from referee.runs.open_run import OpenRun
from referee.runs.run_control import RunControl
from referee.web.arriving_bodies import ArrivingBodies
from referee.web.config_watch import ConfigWatch
from referee.web.image_files import ImageFiles
from referee.web.journal_watch import JournalWatch
from referee.web.judge_process import Judging
from referee.web.live_status import LiveStatus
from referee.web.plugged_pages import PluggedPages
from referee.web.published_board import PublishedBoard
from referee.web.refused_requests import Refusals

EXTENSION = "referee"
OPERATORS_LOG_IN = "/operator/login"
UNAUTHENTICATED_AT_ONCE, OF_AN_ADDRESS = 128, 64
FORMS_AT_ONCE, FORMS_OF_AN_ADDRESS = 64, 16
LOG_INS_AT_ONCE, LOG_INS_OF_A_STATION, LOG_INS_OF_AN_ADDRESS = 128, 32, 16
OPERATORS_AT_ONCE = 8
UPLOADS_AT_ONCE = 512


class AddressSlots:
    """Slots of requests without a run; an address holds some of them at most: one host keeps no one else out."""

    def __init__(
        self, in_all: int = UNAUTHENTICATED_AT_ONCE, of_one: int = OF_AN_ADDRESS
    ) -> None:
        self._in_all, self._of_one = in_all, of_one
        self._lock = threading.Lock()
        self._held: Counter[str] = Counter()

    def acquire(self, address: str) -> bool:
        """Take a slot if one is free."""
        with self._lock:
            is_free = (
                self._held[address] < self._of_one and self._held.total() < self._in_all
            )
            self._held[address] += is_free
            return is_free

    def release(self, address: str) -> None:
        """Give one back."""
        with self._lock:
            self._held[address] -= 1
            self._held += Counter()  # without those that hold none


@dataclass(frozen=True)
class WebState:
    """The finished objects that the app was made with.

    An open run has its own slots for requests at the same time (`OpenRun.slots`), and others for old forms from the
    addresses of its log-ins (`OpenRun.form_slots`). The operator has some, and everyone else shares the rest: a run can
    only exhaust itself, and neither a run nor a single host can keep the operator out. `form_slots` are of old forms
    from other addresses; log-ins have slots of their own (referee.web.request_slots).
    """

    contest: Contest
    control: RunControl
    clock: Clock
    images: ImageFiles
    config_watch: ConfigWatch
    journal_watch: JournalWatch
    refusals: Refusals
    judging: Judging
    status: LiveStatus
    plugged: PluggedPages
    arriving: ArrivingBodies
    passwords: PasswordChecks = field(default_factory=PasswordChecks)
    operator_passwords: PasswordChecks = field(default_factory=PasswordChecks)
    operator_slots: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(OPERATORS_AT_ONCE)
    )
    other_slots: AddressSlots = field(default_factory=AddressSlots)
    form_slots: AddressSlots = field(
        default_factory=lambda: AddressSlots(FORMS_AT_ONCE, FORMS_OF_AN_ADDRESS)
    )
    upload_slots: AddressSlots = field(
        default_factory=lambda: AddressSlots(UPLOADS_AT_ONCE, 2)
    )  # by team
    _limits: WeakKeyDictionary[OpenRun, NDArray[np.float64]] = field(
        default_factory=WeakKeyDictionary
    )

    def limits_for(self, live: OpenRun) -> NDArray[np.float64]:
        """What is plausible by the image numbers that the run's team knows: see lpirc_score.detections.plausibility."""
        known = self._limits.get(live)
        if known is None:
            known = self._limits[live] = self.limits_by_number[
                np.concatenate([[0], live.order])
            ]
        return known

    @cached_property
    def limits_by_number(self) -> NDArray[np.float64]:
        """What is plausible by the test set's own image numbers. Made at the start: it takes a while."""
        return limits_by_number(self.contest.test_set)

    @cached_property
    def log_in_slots(self) -> dict[str, AddressSlots]:
        """The slots of log-ins: by the name of the station that names the address, and those of everyone else."""
        stations = (one.name for one in self.contest.config.stations if one.clients)
        of_stations = {
            name: AddressSlots(LOG_INS_OF_A_STATION, LOG_INS_OF_AN_ADDRESS)
            for name in (*stations, OPERATORS_LOG_IN)
        }
        return of_stations | {"": AddressSlots(LOG_INS_AT_ONCE, LOG_INS_OF_AN_ADDRESS)}

    @cached_property
    def board(self) -> PublishedBoard:
        """What the public sees."""
        return PublishedBoard(self.contest, self.clock)

    @cached_property
    def screens(self) -> Screens:
        """The screens of the stations, for the camera track."""
        return Screens(self.clock)

    @cached_property
    def category_ids(self) -> NDArray[np.int64]:
        """The ids of the test set's categories (K,), ascending."""
        return np.array(
            sorted(one.id for one in self.contest.test_set.categories), np.int64
        )


def state_of(app: Flask) -> WebState:
    """What the app was made with."""
    return cast(WebState, app.extensions[EXTENSION])


def web_state() -> WebState:
    """The state of the app that handles the present request."""
    return state_of(current_app)
