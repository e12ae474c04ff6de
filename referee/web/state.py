"""What the handlers work with, carried by the app."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import numpy as np
from flask import Flask, current_app
from numpy.typing import NDArray

from referee.auth.passwords import FailureLimit
from referee.clock import Clock
from referee.contest import Contest
from referee.runs.control import RunControl
from referee.store.records import OVER, Run
from referee.web.contestant.archives import Layouts
from referee.web.image_files import ImageFiles
from referee.web.known_passwords import KnownPasswords
from referee.web.known_tokens import KnownTokens
from referee.web.large_bodies import TakingTurns
from referee.web.transfers import Transfers

EXTENSION = "referee"
REMEMBERED_RUNS = 1024


@dataclass(frozen=True)
class WebState:
    """The finished objects that the app was made with, and what it remembers between requests."""

    contest: Contest
    control: RunControl
    clock: Clock
    images: ImageFiles
    tokens: KnownTokens
    failures: FailureLimit = field(default_factory=FailureLimit)
    transfers: Transfers = field(default_factory=Transfers)
    large_turns: TakingTurns = field(default_factory=TakingTurns)
    middle_turns: TakingTurns = field(default_factory=TakingTurns)
    passwords: KnownPasswords = field(default_factory=KnownPasswords)
    layouts: Layouts = field(default_factory=Layouts)

    _handed_out: dict[int, int] = field(default_factory=dict)

    def images_served(self, run: Run) -> int:
        """How many different images a run that is not live was handed; of one that has ended it is counted once."""
        known = self._handed_out.get(run.id)
        if known is not None:
            return known
        count = len(self.contest.store.served_images(run.id))
        if run.state in OVER:
            if len(self._handed_out) >= REMEMBERED_RUNS:
                self._handed_out.clear()
            self._handed_out[run.id] = count
        return count

    @cached_property
    def entity_tags(self) -> hashlib.blake2b:
        """The keyed hash that entity tags are made with, to be copied: making one anew takes several times longer."""
        return hashlib.blake2b(digest_size=12, key=self.contest.secret, person=b"entity tag")

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
