"""What tests of runs look at: a failure's code, a run's events, a meter's integrator; and a database that is busy."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.visa.link import Link
from referee.errors import RefereeError
from tests.referee.factories import House


def code_of(
    action: Callable[..., Any],
    *arguments: Any,
    **named: Any,
) -> str:
    with pytest.raises((RefereeError, MeterError)) as failure:
        action(*arguments, **named)
    return failure.value.code


def kinds(house: House, run: int) -> list[str]:
    return [event["kind"] for event in house.store.log.of_run(run)]


def missing(house: House) -> tuple[str, str]:
    """Why run 1 has no energy: the newest event's code and sentence."""
    events = [
        event
        for event in house.store.log.of_run(1)
        if event["kind"] == "energy-missing"
    ]
    return events[-1]["code"], events[-1]["reason"]


def integrates(address: str) -> bool:
    """Whether the meter at `address` says so to someone else who asks."""
    with contextlib.closing(Link(address)) as panel:
        # In full if the meter is verbose.
        return "STAR" in panel.query(":INTEGRATE:STATE?")


@contextmanager
def busy_database(house: House) -> Iterator[None]:
    """Another process is writing to the contest's database. See the fixture `short_lock_timeout`."""
    path = house.folder / "contest.db"
    with contextlib.closing(
        sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    ) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
