"""The server's parent process: Granian's supervisor, which replaces a worker that has died or frozen."""

from __future__ import annotations

import ctypes
import logging
import signal
import threading
from contextlib import suppress
from functools import partial
from multiprocessing.sharedctypes import RawValue
from pathlib import Path
from typing import Any

from granian.constants import HTTPModes, Interfaces, SSLProtocols
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.mp import MPServer

from referee.clock import Clock
from referee.runs.open_run import FORMS_AT_ONCE as FORMS_OF_A_RUN
from referee.runs.open_run import REQUESTS_AT_ONCE
from referee.served import SERVER_NAME
from referee.web.concurrency_limits import (
    FORMS_AT_ONCE,
    LOG_INS_AT_ONCE,
    LOG_INS_OF_A_STATION,
    OPERATORS_AT_ONCE,
    UNAUTHENTICATED_AT_ONCE,
    UPLOADS_AT_ONCE,
)
from referee.web.listener import Listen, most_connections
from referee.web.server_log import LOGGING
from referee.web.sole_server import STOP_TIMEOUT_S

# Threads start when they are needed. Single images need no slot: there are threads left for them besides all slots,
# even while requests of earlier runs hold the slots of several teams.
TEAMS_AT_ONCE = 32
IMAGE_THREADS = 64
OF_A_RUN = REQUESTS_AT_ONCE + FORMS_OF_A_RUN + LOG_INS_OF_A_STATION
OF_OTHERS = (
    UNAUTHENTICATED_AT_ONCE
    + FORMS_AT_ONCE
    + LOG_INS_AT_ONCE
    + LOG_INS_OF_A_STATION
    + OPERATORS_AT_ONCE
)
THREADS = TEAMS_AT_ONCE * OF_A_RUN + OF_OTHERS + IMAGE_THREADS + UPLOADS_AT_ONCE
IDLE_S = 75
"""Timeout of an idle connection, and of the head of a request."""
BUFFER_BYTES = 2**17
"""Buffer size of a connection: holds the head of a request, and ten thousand buffers fit into memory."""
RESPAWN_S = 0.1
BACKLOG = 4096
WATCH_S = 1.0
FROZEN_BEATS = 15
"""Number of looks in a row without a sign of life after which a worker is replaced."""

logger = logging.getLogger(__name__)


class _Awake(threading.Event):
    """An event whose waiter wakes every second, so that Python handles signals that another thread received.

    Python runs signal handlers in the main thread alone. In a process that was stopped (by Ctrl-Z, say) any thread may
    receive the signal, and a main thread that waits without a timeout would never handle it.
    """

    def wait(self, timeout: float | None = None) -> bool:
        if timeout is not None:
            return super().wait(timeout)
        while not super().wait(WATCH_S):
            pass
        return True


class Supervisor(MPServer):
    """Granian's server, changed to replace a worker however soon it dies, once one has answered from `folder`.

    Granian itself gives up at the second death within seconds. That is right as long as no worker has answered, since
    then none can start at all.
    """

    folder: Path
    beats: ctypes.c_ulong
    """Counter shared with the worker, which increments it once it has started."""
    ended: threading.Event
    """Set once the server no longer serves."""

    def watch_worker(self) -> None:
        """Kill a worker that has frozen; it is then replaced like any dead worker.

        It counts missed checks, not seconds, because no check is missed while the host or the server is suspended.
        """
        clock = Clock()
        seen = missed = 0
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
        # If the folder cannot be accessed, no worker could open it either, and the supervisor gives up.
        with suppress(OSError):
            (self.folder / SERVER_NAME).stat()
            self.respawned_wrks.clear()


def _is_news(server: Supervisor, record: logging.LogRecord) -> bool:
    """Return False for Granian's complaint about a worker that has ended in order, so that another one starts."""
    has_ended = any(worker.inner.exitcode == 0 for worker in server.wrks)
    return not has_ended or record.levelno < logging.ERROR


def supervisor_of(folder: Path, listen: Listen) -> Supervisor:
    """Return the supervisor that will run one worker for the contest in `folder`."""
    server = Supervisor(
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
    logging.getLogger("_granian").addFilter(partial(_is_news, server))
    watcher = threading.Thread(
        target=server.watch_worker, name="watch-worker", daemon=True
    )
    server.on_startup(watcher.start)
    # On SIGHUP Granian would start a second worker, but a run has one owner. A closed terminal must
    # not end a contest either.
    server.on_startup(partial(signal.signal, signal.SIGHUP, signal.SIG_IGN))
    return server
