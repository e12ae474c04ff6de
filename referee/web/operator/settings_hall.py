"""The settings' pages of a served contest: operators may use them, and runs are left alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from flask import Response, request

from lpirc_testsets import load_test_set
from referee.config import CONFIG_NAME, ContestConfig, read_config
from referee.config.contest_values import is_simulated, plain_address
from referee.contest import require_metric, require_task
from referee.errors import RefereeError
from referee.judging.rank_changes import RankChanges, rank_changes
from referee.runs.run_window import remaining_s
from referee.web.callers import Callers
from referee.web.config_watch import differences, text_in_use
from referee.web.judge_process import Judging
from referee.web.listener import Listen
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
    text_in_use: str | None
    """contest.toml with the settings in use; None if it was changed while the server started."""

    @property
    def config(self) -> ContestConfig:
        """The settings in use."""
        return self.callers.contest.config

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

    def rank_changes(self, config: ContestConfig) -> RankChanges:
        """Return what other settings would change in the ranking. Raises RefereeError, TestSetError."""
        contest = self.callers.contest
        test_set = contest.test_set
        require_metric(config.metric, CONFIG_NAME)
        require_task(config.task, CONFIG_NAME)
        if config.testset != contest.config.testset:
            test_set = load_test_set(contest.folder / config.testset)
        return rank_changes(contest, replace(contest, config=config, test_set=test_set))

    @contextmanager
    def idle_meter(
        self, station: str, meter: str, longest_s: float, *, resets: bool
    ) -> Iterator[None]:
        """Keep runs away from the stations that may have this meter; see `IdleStations.kept`.

        A real meter that no station has may be one of theirs by another address, so all of them are kept free.
        """
        stations = self.callers.contest.config.stations
        if is_simulated(meter):
            names = [one.name for one in stations if one.name == station]
        else:
            asked = plain_address(meter)
            names = [one.name for one in stations if plain_address(one.meter) == asked]
            names = names or [one.name for one in stations]
        with ExitStack() as held:
            for name in names:
                idle = self.callers.control.idle
                held.enter_context(idle.kept(name, longest_s, resets=resets))
            yield

    @contextmanager
    def idle_everywhere(self, longest_s: float) -> Iterator[None]:
        """Keep runs away from all stations. Raises StationBusy if one of them has a run."""
        with ExitStack() as held:
            for station in self.callers.contest.config.stations:
                held.enter_context(
                    self.callers.control.idle.kept(station.name, longest_s)
                )
            yield


def settings_desk(
    callers: Callers, judging: Judging, listen: Listen | None
) -> SettingsDesk:
    """Return the desk of the settings' pages of a contest served at `listen`."""
    contest = callers.contest
    is_open = listen is None or not listen.is_of_this_machine
    has_proxy = bool(contest.config.trusted_proxy)
    hall = ServedHall(callers, judging, text_in_use(contest))
    return SettingsDesk(
        contest.folder,
        contest.store,
        callers.clock,
        OperatorsSettings(),
        hall,
        is_open_network=is_open or has_proxy,
        url=contest.server_url or "",
    )
