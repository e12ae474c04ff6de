"""The production server: one Granian worker process that owns the runs of one contest.

The worker is one process because a run's clock, meter and admission have one owner. Should it die, however often, its
parent starts another one, which takes up the open runs from the database. Should it freeze, its parent kills it. Should
the parent die without a word, the worker ends too, and the next `referee serve` takes them up.
"""

from __future__ import annotations

import ctypes
import gc
import http.client
import logging
import multiprocessing
import multiprocessing.util
import os
import signal
import ssl
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial
from multiprocessing.sharedctypes import RawValue
from pathlib import Path
from typing import Any

from flask import Flask
from granian.constants import HTTPModes, Interfaces, SSLProtocols
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.mp import MPServer

from lpirc_score.files.atomic_write import write_atomically
from referee.clock import Clock
from referee.contest import Contest, open_contest
from referee.errors import RefereeError, StorageFailed
from referee.installed import require_tracks
from referee.journal.epochs import FIRST
from referee.judging.contest_status import program_version
from referee.operating_system import fork_workers, machine_name
from referee.runs.open_run import FORMS_AT_ONCE as FORMS_OF_A_RUN
from referee.runs.open_run import REQUESTS_AT_ONCE
from referee.runs.run_control import RunControl
from referee.runs.start_checks import StartChecks
from referee.served import CERTIFICATE_NAME, SERVER_NAME
from referee.store.records import RunState
from referee.web.app import create_app
from referee.web.arriving_bodies import hand_over_protocol
from referee.web.config_watch import note_settings
from referee.web.gateway import App
from referee.web.journal_watch import require_journal, require_not_superseded
from referee.web.listener import (
    Listen,
    end_dead_connections,
    held_port,
    most_connections,
    require_certificate,
)
from referee.web.live_process import live_scores
from referee.web.server_log import LOGGING
from referee.web.sole_server import STOP_TIMEOUT_S, ContestLock, end_with, sole_server
from referee.web.start_look import LookedAt, StartLook, start_look
from referee.web.state import (
    FORMS_AT_ONCE,
    LOG_INS_AT_ONCE,
    LOG_INS_OF_A_STATION,
    OPERATORS_AT_ONCE,
    UNAUTHENTICATED_AT_ONCE,
    UPLOADS_AT_ONCE,
    WebState,
    state_of,
)

# Threads start when they are needed. Single images need no slot: beside all requests that hold one they find a thread,
# also when the slots of several teams are held by requests of former runs.
TEAMS_AT_ONCE, IMAGE_THREADS = 32, 64
OF_A_RUN = REQUESTS_AT_ONCE + FORMS_OF_A_RUN + LOG_INS_OF_A_STATION
OF_OTHERS = (
    UNAUTHENTICATED_AT_ONCE
    + FORMS_AT_ONCE
    + LOG_INS_AT_ONCE
    + LOG_INS_OF_A_STATION
    + OPERATORS_AT_ONCE
)
THREADS = TEAMS_AT_ONCE * OF_A_RUN + OF_OTHERS + IMAGE_THREADS + UPLOADS_AT_ONCE
IDLE_S = (
    75  # an idle connection is kept for so long; a request's head has as long to arrive
)
# Of a connection, at most: a request's head must fit, and ten thousand of them into memory.
BUFFER_BYTES = 2**17
RESPAWN_S = 0.1
SWITCH_S = 0.0005  # a thread that parses lets another one go on after so long; by default it is ten times that
READY_TIMEOUT_S = 30.0
Load = Callable[[Path, Listen, StartChecks], App]
BACKLOG = 4096
WATCH_S = 1.0
FROZEN_BEATS = (
    15  # a worker that shows no sign of life at so many looks in a row is replaced
)

logger = logging.getLogger(__name__)


class _Awake(threading.Event):
    """An event whose waiter looks for signals each second, whichever thread of its process the system gave them to.

    Python runs their handlers in the main thread alone. Of a process that was stopped (Ctrl-Z, say) any thread may get
    the signal, and a main thread that waits without a limit would never hear of it.
    """

    def wait(self, timeout: float | None = None) -> bool:
        if timeout is not None:
            return super().wait(timeout)
        while not super().wait(WATCH_S):
            pass
        return True


class _Server(MPServer):
    """Granian's server, but a worker that dies is replaced however soon, once one has answered from `folder`.

    Granian gives up at the second death within seconds. Before the first answer that is right: it cannot start at all.
    """

    folder: Path
    beats: (
        ctypes.c_ulong
    )  # shared with the worker, which counts it up once it has started
    ended: threading.Event  # set when it serves no longer

    def watch_worker(self) -> None:
        """Kill a worker that has frozen; it is then replaced as any that dies.

        Looks are counted, not seconds: a suspended or stopped host or server misses none.
        """
        clock, seen, missed = Clock(), 0, 0
        while not clock.wait(self.ended, clock.monotonic_s() + WATCH_S):
            missed = missed + 1 if seen and self.beats.value == seen else 0
            seen = self.beats.value
            if missed >= FROZEN_BEATS:
                logger.error(
                    "the worker has shown no sign of life for %d s; it is replaced",
                    missed,
                )
                missed = 0
                for worker in self.wrks:
                    worker.inner.kill()

    def _respawn_workers(
        self, workers: Any, spawn_target: Any, target_loader: Any, delay: float = 0
    ) -> None:
        self.beats.value = 0
        super()._respawn_workers(workers, spawn_target, target_loader, delay)
        with suppress(
            OSError
        ):  # of a folder that no worker could open either, the supervisor gives up
            (self.folder / SERVER_NAME).stat()
            self.respawned_wrks.clear()


def serve(
    folder: Path,
    listen: Listen,
    on_ready: Callable[[str], None],
    parent: int | None = None,
) -> None:
    """Serve the contest in `folder` until SIGINT or SIGTERM; `on_ready` gets what to say once requests are answered.

    With `parent`, a process id, the server ends when that process does.

    Images, key and database are looked at in full meanwhile: where they have a fault, the server ends, unless a run
    is open.

    Raises RefereeError `port-busy`, `port-refused`, `host-unknown`, `tls-refused`, `contest-busy`, `server-failed`,
    `testset-unfit`, `database-damaged`, and what `open_contest` and `require_unchanged` raise.
    """
    with open_contest(folder) as contest:
        _require_detection(contest)
        require_journal(contest, program_version(), Clock().utc())
    look = partial(start_look, folder)
    run_server(folder, listen, partial(load_app, on_ready=on_ready), look, parent)


def run_server(
    folder: Path,
    listen: Listen,
    load: Load,
    look_at_start: Callable[[], AbstractContextManager[StartLook | LookedAt]],
    parent: int | None = None,
) -> None:
    """Run the server's processes until SIGINT or SIGTERM; `load` makes the app in the worker process.

    Raises RefereeError as `serve`, Superseded once another host has taken over.
    """
    require_certificate(listen)
    fork_workers()
    hand_over_protocol()
    # The look comes first: it must not inherit the lock, which would outlive a server that is killed.
    with (
        look_at_start() as look,
        sole_server(folder) as lock,
        held_port(listen) as listen,
    ):
        (folder / SERVER_NAME).unlink(missing_ok=True)  # of a server that was killed
        server = _server(folder, listen)
        look.on_fault(server.signal_handler_interrupt)
        try:
            server.serve(
                target_loader=partial(
                    _load_worker,
                    folder,
                    listen,
                    load,
                    parent,
                    server.beats,
                    lock,
                    look.checks,
                ),
                wrap_loader=False,
            )
        except SystemExit as stop:
            # When Ctrl-C reaches the worker first, Granian takes that for a failure of its own.
            if stop.code and not server.interrupt_signal:
                raise RefereeError(
                    "server-failed",
                    "The server's worker process ended by itself; see above.",
                ) from stop
        finally:
            server.ended.set()
            (folder / SERVER_NAME).unlink(missing_ok=True)
        look.require_sound()
    require_not_superseded(folder)


def _require_detection(contest: Contest) -> None:
    """Raise RefereeError `testset-unfit` for a test set of labels only: no detection could be taken, no run scored."""
    if not contest.test_set.categories:
        raise RefereeError(
            "testset-unfit",
            f"The test set in {contest.test_set.folder} has no categories, so no detection could be taken; name one "
            "with boxes in contest.toml (models are measured on labels by: referee model).",
        )


def _server(folder: Path, listen: Listen) -> _Server:
    server = _Server(
        "referee.web",
        address=listen.host,
        port=listen.port,
        interface=Interfaces.WSGI,
        workers=1,
        blocking_threads=THREADS,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(
            header_read_timeout=IDLE_S * 1000, max_buffer_size=BUFFER_BYTES
        ),
        websockets=False,
        backlog=BACKLOG,
        backpressure=most_connections(),
        respawn_failed_workers=True,
        respawn_interval=RESPAWN_S,
        workers_kill_timeout=STOP_TIMEOUT_S,
        log_level=LogLevels.error,
        log_dictconfig=LOGGING,
        ssl_cert=listen.tls_cert,
        ssl_key=listen.tls_key,
        ssl_protocol_min=SSLProtocols.tls12,  # old boards
        process_name=None,
    )
    server.folder = folder
    server.beats = RawValue(ctypes.c_ulong)
    server.ended = threading.Event()
    server.main_loop_interrupt = _Awake()
    watcher = threading.Thread(
        target=server.watch_worker, name="watch-worker", daemon=True
    )
    server.on_startup(watcher.start)
    # Granian would start a second worker beside the first, and a run has one owner. A terminal that goes away must
    # not end a contest either.
    server.on_startup(partial(signal.signal, signal.SIGHUP, signal.SIG_IGN))
    return server


def _load_worker(
    folder: Path,
    listen: Listen,
    load: Load,
    parent: int | None,
    beats: ctypes.c_ulong,
    lock: ContestLock,
    checks: StartChecks,
) -> App:
    """In the worker process: make the app. This process holds `lock` until it ends: nothing closes its descriptors."""
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
    """Take up the runs, make the app, announce it once it answers."""
    resources = ExitStack()
    contest = resources.enter_context(open_contest(folder))
    clock = Clock()
    if contest.epoch > FIRST:
        contest.store.runs.take_over_open(contest.epoch, machine_name(), clock.utc())
    note_settings(contest, clock)
    control = RunControl(contest, clock, checks)
    was_interrupted = bool(contest.store.runs.find(RunState.OPEN))
    control.recover()
    resources.callback(control.shutdown)
    reader = threading.Thread(
        target=control.read_left_over, name="read-left-over", daemon=True
    )
    reader.start()
    if (
        not was_interrupted
    ):  # else teams wait, and none of them for a meter of another one
        reader.join()
    resources.callback(reader.join)
    app = create_app(contest, control, clock)
    state = state_of(app)
    resources.callback(state.plugged.close)
    state.plugged.start()
    ended = threading.Event()
    watcher = threading.Thread(
        target=_watch_files, args=(state, ended), name="watch-files", daemon=True
    )
    watcher.start()
    resources.callback(watcher.join)
    bodies = threading.Thread(
        target=state.arriving.watch, args=(ended,), name="watch-bodies", daemon=True
    )
    bodies.start()
    resources.callback(bodies.join)
    resources.callback(ended.set)
    if contest.config.journal.path:
        resources.callback(state.journal_watch.begin(os.getppid()))
    resources.enter_context(live_scores(folder))
    multiprocessing.util.Finalize(None, resources.close, exitpriority=100)
    announce = partial(_announce, listen, contest, on_ready)
    threading.Thread(target=announce, name="announce", daemon=True).start()
    threading.Thread(target=state.images.preload, name="preload", daemon=True).start()
    looks: list[Callable[[], object]] = [
        contest.key.require,
        partial(getattr, state, "limits_by_number"),
    ]
    looks += [partial(require_tracks, contest.config), state.plugged.look]
    threading.Thread(target=_look, args=(looks,), name="look", daemon=True).start()
    # What there is now stays until the end: from here on the garbage collector looks only at what comes.
    gc.collect()
    gc.freeze()
    return app


def _look(looks: Sequence[Callable[[], object]]) -> None:
    """Make checks that no team waits for. Key and limits are then in memory: no log-out and no POST makes them."""
    for look in looks:
        try:
            look()
        except RefereeError as error:
            logger.error("%s", error.sentence)  # noqa: TRY400 - its words suffice


def _beat(beats: ctypes.c_ulong) -> None:
    clock, never = Clock(), threading.Event()
    while True:
        beats.value += 1
        clock.wait(never, clock.monotonic_s() + WATCH_S / 2)


def _watch_files(state: WebState, ended: threading.Event) -> None:
    """Look each second whether the folder's database is still the one in use, and its contest.toml as at the start.

    Store what was refused meanwhile.
    """
    store, clock = state.contest.store, state.clock
    has_ended, logged = False, ""
    while not has_ended:
        has_ended = clock.wait(ended, clock.monotonic_s() + WATCH_S)
        state.config_watch.look()
        try:
            store.integrity.watch(clock.utc())
            store.served.flush()  # a run whose meter is silent stores nothing else
            state.refusals.store_new()
            logged = ""
        except StorageFailed as error:
            if error.sentence != logged:  # not each second
                logger.error("%s", error.sentence)  # noqa: TRY400 - its words suffice
            logged = error.sentence


def _announce(
    listen: Listen, contest: Contest, on_ready: Callable[[str], None]
) -> None:
    clock, never = Clock(), threading.Event()
    deadline_s = clock.monotonic_s() + READY_TIMEOUT_S
    while not _answers(listen):
        if clock.monotonic_s() > deadline_s:
            return
        clock.wait(never, clock.monotonic_s() + 0.02)
    end_dead_connections(listen.port)
    host = listen.local_host
    if listen.tls_cert:  # for `referee run`, which trusts this certificate alone
        certificate = ssl.get_server_certificate((host, listen.port)).encode()
        write_atomically(contest.folder / CERTIFICATE_NAME, certificate)
    write_atomically(contest.folder / SERVER_NAME, f"{listen.url(host)}\n".encode())
    each, window_s = contest.config.images.per_attempt, contest.config.window_s
    images = f"{each} of " * bool(each) + f"{len(contest.test_set.images)} images"
    urls = " and ".join(listen.urls)
    pages = "in a browser / is the board, /operator/ the console"
    on_ready(
        f"Serving {contest.config.name} at {urls} ({images}, window {window_s} s); {pages}"
    )


def _answers(listen: Listen) -> bool:
    return health_status(listen) == http.HTTPStatus.OK


def health_status(listen: Listen) -> int | None:
    """The status with which our own server answers whether it is well; None while it does not answer."""
    host = listen.local_host
    connection: http.client.HTTPConnection
    if listen.tls_cert:
        # Our own certificate, asked over loopback only to learn that the server is up.
        trusting = ssl._create_unverified_context()  # noqa: S323, SLF001
        connection = http.client.HTTPSConnection(
            host, listen.port, timeout=2, context=trusting
        )
    else:
        connection = http.client.HTTPConnection(host, listen.port, timeout=2)
    try:
        connection.request("GET", "/v1/health")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
