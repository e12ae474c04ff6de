"""What the handlers work with, carried by the app."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import numpy as np
from flask import Flask, current_app
from numpy.typing import NDArray

from referee.clock import Clock
from referee.contest import Contest
from referee.passwords import FailureLimit
from referee.runs import RunControl
from referee.web.images import ImageFiles
from referee.web.known_tokens import KnownTokens
from referee.web.transfers import Transfers

EXTENSION = "referee"


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
