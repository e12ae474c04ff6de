"""The settings' pages of a served contest: operators may use them, and runs are left alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from flask import Response, request

from referee.config import read_config
from referee.errors import RefereeError
from referee.runs.run_window import remaining_s
from referee.web.callers import Callers
from referee.web.config_watch import differences
from referee.web.judge_process import Judging
from referee.web.operator.operator_access import acting, csrf_token, led_to_log_in, who
from referee.web.setup.settings_desk import SettingsDesk


@dataclass(frozen=True)
class OperatorsSettings:
    """Access for whoever is logged in as an operator."""

    is_setup: bool = False

    def require(self) -> Any:
        """Return None for an operator, else lead a page to the log-in. Raises SessionRefused `bad-token`."""
        elsewhere = led_to_log_in() if request.method == "GET" else None
        if elsewhere is None:
            acting()
        return elsewhere

    def who(self) -> dict[str, object]:
        """Return the operator, for the record."""
        return who()

    def csrf(self) -> str:
        """Return the token that a form of this session must bear."""
        return csrf_token()

    def hand_over(self, response: Response) -> None:
        """Do nothing: the session goes on at the next worker."""


@dataclass(frozen=True)
class ServedHall:
    """The runs of the contest that is served, and the settings in use."""

    callers: Callers
    judging: Judging

    def differences(self) -> list[str]:
        """Return the settings in contest.toml that differ from those in use."""
        contest = self.callers.contest
        try:
            return differences(contest.config, read_config(contest.folder))
        except RefereeError as error:
            return [error.sentence]

    def why_not_now(self) -> str | None:
        """Return why the worker cannot be started again now, and until when; None if it can."""
        clock = self.callers.clock
        live = self.callers.control.live_runs()
        if live:
            left_s = max(
                remaining_s(one.window, clock.monotonic_s()) for one in live.values()
            )
            end = clock.utc() + timedelta(seconds=left_s)
            names = ", ".join(f"{run} of {one.run.team}" for run, one in live.items())
            return (
                f"Open: run {names}. The new settings can hold once it is over, at {end:%H:%M:%S} UTC at the latest; "
                "press Apply now then."
            )
        if self.judging.runs:
            names = ", ".join(map(str, sorted(self.judging.runs)))
            return f"Run {names} is being judged; press Apply now in a moment."
        return None

    @contextmanager
    def idle_meter(self, meter: str) -> Iterator[None]:
        """Keep runs away from the station of a meter. Raises StationBusy if it has a run."""
        with ExitStack() as held:
            for station in self.callers.contest.config.stations:
                if station.meter == meter:
                    held.enter_context(self.callers.control.idle_station(station.name))
            yield


def settings_desk(callers: Callers, judging: Judging) -> SettingsDesk:
    """Return the desk of the settings' pages of a served contest."""
    contest = callers.contest
    hall = ServedHall(callers, judging)
    return SettingsDesk(
        contest.folder,
        contest.store,
        callers.clock,
        OperatorsSettings(),
        hall,
        is_open_network=True,
        url=contest.server_url or "",
    )
