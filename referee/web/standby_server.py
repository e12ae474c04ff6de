"""Standby for a host that serves a contest: follows its journal and serves the contest once that host is dead.

The order of steps ensures that nothing acknowledged is lost: the standby claims the next epoch, and only then reads the
journal to its end. The first host checks, after each write and before it acknowledges, that its epoch is still the
newest.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lpirc_testsets import load_test_set
from referee.clock import Clock
from referee.config import ContestConfig, read_config
from referee.contest import contest_id, require_own_key, require_unchanged
from referee.errors import EpochTaken, RefereeError
from referee.journal.epochs import Claim, claim_epoch, claim_of, has_epoch, newest_epoch
from referee.journal.first_host import Address, FirstHost
from referee.journal.place import is_shared, journal_folder
from referee.judging.contest_status import program_version
from referee.runs.start_checks import StartChecks
from referee.store.following import Follower
from referee.web.announcing import health_status
from referee.web.gateway import App
from referee.web.http_answers import STATUS_LINES, Answer, Environ, StartResponse
from referee.web.listener import Listen
from referee.web.problem_documents import problem
from referee.web.server import run_server
from referee.web.server_worker import load_app
from referee.web.start_look import LookedAt, StartLook, looked_at, start_look

logger = logging.getLogger(__name__)
LOOK_S = 0.2
RETRY_AFTER_S = 2


@dataclass(frozen=True)
class Watch:
    """The host that a standby watches, at the address `first`; after `after_s` seconds of silence it counts as dead.

    If `first` is None, no host is watched, and this one takes over at once.
    """

    first: Address | None
    after_s: float


class Door:
    """The WSGI app of a standby host: answers every request with 503 until `open` gives it the contest's app."""

    def __init__(self, contest: str) -> None:
        self._contest = contest
        self._answer = self._standing_by(
            "this host follows the host that serves the contest"
        )
        self._app: App | None = None

    def say(self, state: str) -> None:
        """Set the text about this host's state that every 503 answer contains."""
        self._answer = self._standing_by(state)

    def open(self, app: App) -> None:
        """Pass all requests to `app` from now on."""
        self._app = app

    def __call__(
        self, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Answer one request."""
        if self._app is not None:
            return self._app(environ, start_response)
        answer = self._answer
        start_response(STATUS_LINES[answer.status], answer.headers)
        is_head = environ["REQUEST_METHOD"] == "HEAD"
        return [] if is_head or not isinstance(answer.body, bytes) else [answer.body]

    def _standing_by(self, state: str) -> Answer:
        sentence = (
            f"This host stands by for the contest {self._contest}: {state}. Send the request again in some "
            "seconds."
        )
        return problem(503, "stands-by", sentence, {"retry_after_s": RETRY_AFTER_S})


def stand_by(
    folder: Path,
    listen: Listen,
    on_ready: Callable[[str], None],
    watch: Watch,
    parent: int | None = None,
) -> None:
    """Stand by, then serve once the first host is dead, until SIGINT or SIGTERM.

    `on_ready` is called with a sentence when the standby is ready and again when the contest is served. Raises
    RefereeError: `journal-not-shared`, `journal-not-required`, `journal-empty`, `contest-mixed`, `standby-version`, and
    the errors of `run_server`, `Follower` and `require_unchanged`.
    """
    config = read_config(folder)
    journal = _shared_journal(folder, config)
    look: Callable[[], AbstractContextManager[StartLook | LookedAt]] = partial(
        start_look, folder
    )
    if not has_epoch(journal, folder):
        look = looked_at  # checked now; all later changes come from the journal
        _require_match(folder, journal)
        require_unchanged(load_test_set(folder / config.testset))
        with closing(Follower(folder, journal)) as follower:
            follower.read_on()
            require_own_key(folder, follower.public_key())
    run_server(
        folder, listen, partial(_load, on_ready=on_ready, watch=watch), look, parent
    )


def _shared_journal(folder: Path, config: ContestConfig) -> Path:
    """Return the journal that both hosts reach.

    Raises RefereeError unless the journal is required, so that nothing is acknowledged without it.
    """
    if not is_shared(config):
        raise RefereeError(
            "journal-not-shared",
            f"{folder}/contest.toml names no journal that both hosts reach; set [journal] path there, or give "
            "--journal PATH here",
        )
    if not config.journal.required:
        raise RefereeError(
            "journal-not-required",
            f"{folder}/contest.toml has [journal] required = false: the first host would go on without the journal, "
            "and data that it acknowledges then would be missing here. Set required = true on both hosts.",
        )
    return journal_folder(folder, config)


def _require_match(folder: Path, journal: Path) -> Claim:
    """Return the newest claim. Raises RefereeError unless its contest and its program version are this host's."""
    found = [claim_of(journal, epoch) for epoch in range(newest_epoch(journal), 0, -1)]
    newest = next((one for one in found if one), None)
    if newest is None:
        sentence = f"{journal} is not a journal to which a host writes; first serve the contest on the other host."
        raise RefereeError("journal-empty", sentence)
    own = contest_id(folder)
    if newest.contest != own:
        raise RefereeError(
            "contest-mixed",
            f"The journal {journal} belongs to contest {newest.contest}, but the secrets in {folder} belong to {own}; "
            "copy the first host's secrets: referee backup --with-keys, referee restore.",
        )
    if newest.version != program_version():
        raise RefereeError(
            "standby-version",
            f"The first host runs version {newest.version} of this program, this one {program_version()}; install the "
            "same on both.",
        )
    return newest


def _load(
    folder: Path,
    listen: Listen,
    checks: StartChecks,
    on_ready: Callable[[str], None],
    watch: Watch,
) -> App:
    """Return, in the worker process, the contest's app if this host has already taken over, else the standby `Door`."""
    config = read_config(folder)
    journal = journal_folder(folder, config)
    serve = partial(load_app, folder, listen, checks, on_ready)
    if has_epoch(journal, folder):
        return serve()
    door = Door(config.name)
    following = partial(_follow, folder, journal, watch, door, serve)
    threading.Thread(target=following, name="stand-by", daemon=True).start()
    says = partial(
        on_ready,
        f"Standing by for {config.name} at {listen.url(listen.local_host)}; journal {journal}",
    )
    threading.Thread(
        target=_announce, args=(listen, says), name="announce", daemon=True
    ).start()
    return door


def _announce(listen: Listen, says: Callable[[], None]) -> None:
    clock = Clock()
    never = threading.Event()
    while health_status(listen) is None:
        clock.wait(never, clock.monotonic_s() + 0.02)
    says()


def _follow(
    folder: Path, journal: Path, watch: Watch, door: Door, serve: Callable[[], App]
) -> None:
    """Follow the journal until the first host is dead, then take over and serve. A step that fails is retried."""
    clock = Clock()
    never = threading.Event()
    while True:
        try:
            if not has_epoch(journal, folder):  # otherwise only serving had failed
                with closing(Follower(folder, journal)) as follower:
                    _until_dead(folder, journal, watch, follower, clock)
                    door.say("it takes over")
                    _take_over(folder, journal, follower, clock)
            door.open(serve())
        except EpochTaken as error:
            logger.warning("%s", error.sentence)
            door.say("this host follows the host that has taken over")
        except (RefereeError, OSError) as error:
            logger.error(  # noqa: TRY400
                "this host cannot follow or take over, and tries again: %s", error
            )
            door.say("it cannot follow the first host at present; its log says why")
            clock.wait(never, clock.monotonic_s() + RETRY_AFTER_S)
        else:
            return


def _until_dead(
    folder: Path, journal: Path, watch: Watch, follower: Follower, clock: Clock
) -> None:
    """Follow the journal, and return when this host must take over."""
    never = threading.Event()
    first = None
    while watch.first is not None:
        follower.read_on()
        epoch = newest_epoch(journal)
        if first is None or first.epoch != epoch:
            _require_match(folder, journal)
            first = FirstHost(journal, epoch, watch.first, watch.after_s, clock)
        if first.is_dead():
            logger.warning(
                "the first host is dead: no sign of life for %g s, and no answer",
                watch.after_s,
            )
            return
        clock.wait(never, clock.monotonic_s() + LOOK_S)


def _take_over(folder: Path, journal: Path, follower: Follower, clock: Clock) -> None:
    before = _require_match(folder, journal)
    epoch = newest_epoch(journal) + 1
    claim = claim_epoch(
        journal,
        folder,
        epoch,
        contest=before.contest,
        version=before.version,
        utc=clock.utc(),
    )
    follower.begin(
        claim
    )  # reads on after the claim, so it gets all that was acknowledged before
    logger.warning(
        "this host takes over with epoch %d, after record %d of %s",
        epoch,
        follower.seq,
        before,
    )
