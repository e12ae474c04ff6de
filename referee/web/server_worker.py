"""The server's worker process: resumes the contest's runs, makes the app, and does the background work."""

from __future__ import annotations

import ctypes
import gc
import logging
import multiprocessing
import multiprocessing.util
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from flask import Flask

from referee.clock import Clock
from referee.config import read_config
from referee.contest import open_contest, served_config
from referee.errors import RefereeError
from referee.installed import require_tracks
from referee.journal.epochs import FIRST
from referee.judging.board_publisher import publish_once
from referee.operating_system import machine_name
from referee.presence import is_there
from referee.runs.run_control import RunControl
from referee.runs.start_checks import StartChecks
from referee.served import SERVER_NAME
from referee.store.records import RunState
from referee.web.announcing import announce_server
from referee.web.app import create_app
from referee.web.app_parts import part_of
from referee.web.attention_watch import AttentionWatch
from referee.web.config_watch import note_settings, note_unwritten
from referee.web.gateway import App
from referee.web.listener import Listen
from referee.web.live_process import live_scores
from referee.web.operator.operators_desk import OperatorsDesk
from referee.web.plugged_pages import PluggedPages
from referee.web.run_service import RunService
from referee.web.server_watches import ServerWatches, watch_files
from referee.web.sole_server import ContestLock, end_with

SWITCH_S = 0.0005
"""Interval after which a thread that parses lets another one run; a tenth of Python's default."""
BEAT_S = 0.5

logger = logging.getLogger(__name__)
Load = Callable[[Path, Listen, StartChecks], App]


def load_in_worker(
    folder: Path,
    listen: Listen,
    load: Load,
    parent: int | None,
    beats: ctypes.c_ulong,
    lock: ContestLock,
    checks: StartChecks,
) -> App:
    """Make the app in the worker process.

    The process holds `lock` until it ends, because it never closes the descriptor.
    """
    threading.Thread(target=_beat, args=(beats,), name="beat", daemon=True).start()
    sys.setswitchinterval(SWITCH_S)
    supervisor = multiprocessing.parent_process()
    if supervisor is not None and supervisor.pid is not None:
        end_with(supervisor.pid)
    if parent is not None:
        end_with(parent, signalled=os.getppid())
    return load(folder, listen, checks)


def load_app(
    folder: Path, listen: Listen, checks: StartChecks, on_ready: Callable[[str], None]
) -> Flask:
    """Take up the runs and make the app; it is announced once it answers."""
    resources = ExitStack()
    goes_on = _goes_on(folder)
    contest = resources.enter_context(open_contest(folder, as_served=goes_on))
    clock = Clock()
    publish_once(contest, clock)
    if contest.epoch > FIRST:
        contest.store.runs.take_over_open(contest.epoch, machine_name(), clock.utc())
    note_settings(contest, clock)
    note_unwritten(contest, clock)
    control = RunControl(contest, clock, checks)
    was_interrupted = bool(contest.store.runs.find(RunState.OPEN))
    control.recover()
    resources.callback(control.shutdown)
    reader = threading.Thread(
        target=control.read_left_over, name="read-left-over", daemon=True
    )
    reader.start()
    if not was_interrupted:
        # After an interruption teams are waiting, and none should wait for another team's meter.
        reader.join()
    resources.callback(reader.join)
    app = create_app(contest, control, clock, listen)
    service = part_of(app, RunService)
    watches = part_of(app, ServerWatches)
    plugged = part_of(app, PluggedPages)
    resources.callback(plugged.close)
    plugged.start()
    ended = threading.Event()
    attention = AttentionWatch(part_of(app, OperatorsDesk).status, plugged, clock)
    watch = partial(watch_files, watches, contest.store, clock, ended)
    _begin(resources, "watch-files", watch)
    _begin(resources, "watch-bodies", partial(watches.bodies.watch, ended))
    _begin(resources, "watch-attention", partial(attention.run, ended))
    resources.callback(ended.set)
    if contest.config.journal.path:
        resources.callback(watches.journal_watch.begin(os.getppid()))
    resources.enter_context(live_scores(folder))
    multiprocessing.util.Finalize(None, resources.close, exitpriority=100)
    announce = partial(announce_server, listen, contest, on_ready)
    threading.Thread(target=announce, name="announce", daemon=True).start()
    threading.Thread(target=service.images.preload, name="preload", daemon=True).start()
    looks: list[Callable[[], object]] = [
        contest.key.require,
        partial(getattr, service, "limits_by_number"),
        partial(require_tracks, contest.config),
        plugged.look,
    ]
    threading.Thread(target=_look, args=(looks,), name="look", daemon=True).start()
    # All present objects live until the end, so from here on the garbage collector checks only new ones.
    gc.collect()
    gc.freeze()
    return app


def _goes_on(folder: Path) -> bool:
    """Return True if this worker replaces one, and contest.toml cannot be read: then the settings in use go on.

    Someone may be editing the file while runs are open. Raises RefereeError if these settings are not known either.
    """
    if not is_there(folder / SERVER_NAME):  # no worker of this server has answered yet
        return False
    try:
        read_config(folder)
    except RefereeError as error:
        if served_config(folder) is None:
            raise
        logger.error("%s The settings in use go on.", error.sentence)  # noqa: TRY400
        return True
    return False


def _begin(resources: ExitStack, name: str, work: Callable[[], object]) -> None:
    """Do the work in a thread, which `resources` joins at the end."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    resources.callback(thread.join)


def _look(looks: Sequence[Callable[[], object]]) -> None:
    """Make the checks that no team waits for.

    They also load the key and the limits into memory, so that no log-out and no POST has to.
    """
    for look in looks:
        try:
            look()
        except RefereeError as error:
            logger.error("%s", error.sentence)  # noqa: TRY400 - its words suffice


def _beat(beats: ctypes.c_ulong) -> None:
    clock = Clock()
    never = threading.Event()
    while True:
        beats.value += 1
        clock.wait(never, clock.monotonic_s() + BEAT_S)
