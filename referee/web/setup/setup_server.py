"""Serves a folder without a contest: the set-up first, then the same process goes on as the contest's referee."""

from __future__ import annotations

import multiprocessing.util
import shlex
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from lpirc_score.files.atomic_write import write_atomically
from referee.clock import Clock
from referee.config import CONFIG_NAME
from referee.errors import RefereeError
from referee.presence import is_there
from referee.runs.start_checks import StartChecks
from referee.served import LOCK_NAME, SERVER_NAME, SETUP_NAME
from referee.store import DATABASE_NAME
from referee.web.announcing import READY_TIMEOUT_S, health_status
from referee.web.app_parts import part_of
from referee.web.arriving_bodies import ArrivingBodies
from referee.web.gateway import App, answer_to_silence
from referee.web.journal_watch import require_not_superseded
from referee.web.listener import Listen, end_dead_connections
from referee.web.server import run_server
from referee.web.server_worker import load_app
from referee.web.setup.setup_access import SetupCode
from referee.web.setup.setup_app import SETUP_PATH, SettingUp, create_setup_app
from referee.web.start_look import looked_at


def needs_setup(folder: Path) -> bool:
    """Return True for a folder that is missing or empty, or whose set-up has not been finished."""
    if is_there(folder / SETUP_NAME) or not is_there(folder):
        return True
    left = {LOCK_NAME, SERVER_NAME}  # of a set-up that was killed
    with suppress(OSError):
        return all(one.name in left for one in folder.iterdir())
    return False


def set_up(
    folder: Path,
    listen: Listen,
    on_ready: Callable[[str], None],
    parent: int | None = None,
) -> None:
    """Serve the set-up of a contest in `folder`, and then the contest, until SIGINT or SIGTERM.

    `on_ready` gets the address with the code, and later the one of the contest. Raises RefereeError `contest-exists`,
    `not-accessible`, and the errors of `run_server`.
    """
    _require_no_finished_contest(folder)
    is_new = not is_there(folder)
    _make_folder(folder)
    load = partial(_load, on_ready=on_ready, code=SetupCode.draw())
    try:
        run_server(folder, listen, load, looked_at, parent, at_end=_look_at_end)
    finally:
        if not is_there(folder / CONFIG_NAME) and not is_there(folder / DATABASE_NAME):
            (folder / SETUP_NAME).unlink(missing_ok=True)
            (folder / LOCK_NAME).unlink(missing_ok=True)
            if is_new:
                with suppress(OSError):  # something else is in it by now
                    folder.rmdir()


def _look_at_end(folder: Path) -> None:
    if is_there(folder / CONFIG_NAME):
        require_not_superseded(folder)


def _require_no_finished_contest(folder: Path) -> None:
    if is_there(folder / CONFIG_NAME) and not is_there(folder / SETUP_NAME):
        serve = f"referee serve {shlex.quote(str(folder))}"
        sentence = (
            f"{folder} is a contest already; serve it ({serve}) and change its settings in the browser, "
            "at /operator/settings."
        )
        raise RefereeError("contest-exists", sentence)


def _make_folder(folder: Path) -> None:
    """Make the folder, and try that files can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        trial = folder / SERVER_NAME
        trial.touch()
        trial.unlink()
    except OSError as error:
        sentence = f"{folder} cannot be written ({error.strerror}); name a folder in which this user may write."
        raise RefereeError("not-accessible", sentence) from error


def _load(
    folder: Path,
    listen: Listen,
    checks: StartChecks,
    on_ready: Callable[[str], None],
    code: SetupCode,
) -> App:
    """Return, in the worker process, the contest's app once its set-up is finished, else the app of the set-up."""
    if is_there(folder / CONFIG_NAME) and not is_there(folder / SETUP_NAME):
        return load_app(folder, listen, checks, on_ready)
    bodies = ArrivingBodies(Clock(), answer_to_silence)
    app = create_setup_app(folder, listen, code, bodies)
    resources = part_of(app, SettingUp).resources
    ended = threading.Event()
    watched = threading.Thread(
        target=bodies.watch, args=(ended,), name="watch-bodies", daemon=True
    )
    watched.start()
    resources.callback(ended.set)
    multiprocessing.util.Finalize(None, resources.close, exitpriority=100)
    says = partial(_announce, folder, listen, code, on_ready)
    threading.Thread(target=says, name="announce", daemon=True).start()
    return app


def _announce(
    folder: Path, listen: Listen, code: SetupCode, on_ready: Callable[[str], None]
) -> None:
    clock = Clock()
    never = threading.Event()
    deadline_s = clock.monotonic_s() + READY_TIMEOUT_S
    while health_status(listen) is None:
        if clock.monotonic_s() > deadline_s:
            return
        clock.wait(never, clock.monotonic_s() + 0.02)
    end_dead_connections(listen.port)
    address = f"{listen.url(listen.local_host)}\n"
    write_atomically(folder / SERVER_NAME, address.encode())
    places = [f"{url}{SETUP_PATH}/?code={code.shown}" for url in listen.urls]
    on_ready(
        f"Set up {folder.name} at {' or '.join(places)} (the code {code.shown} is for one browser, once)"
    )
