"""The production server: one Granian worker process that owns the runs of one contest.

The worker is one process because a run's clock, meter and admission have one owner. Should its parent die without a
word, it ends too: a new server then takes up the open runs from the database.
"""

from __future__ import annotations

import errno
import fcntl
import http.client
import multiprocessing
import multiprocessing.util
import os
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from flask import Flask
from granian import Granian
from granian.constants import Interfaces
from granian.log import LogLevels

from referee.clock import Clock
from referee.contest import SERVER_NAME, Contest, open_contest, require_unchanged
from referee.errors import RefereeError
from referee.runs import RunControl
from referee.web.app import create_app

LOCK_NAME = ".lock"
LOCK_PATIENCE_S = 3.0
BLOCKING_THREADS = 32
READY_PATIENCE_S = 30.0
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"level": "WARNING", "handlers": ["stderr"]},
    "loggers": {},
}


@dataclass(frozen=True)
class Listen:
    """Where to listen; with `tls_cert` and `tls_key` (PEM files) over HTTPS."""

    host: str = "127.0.0.1"
    port: int = 8080
    tls_cert: Path | None = None
    tls_key: Path | None = None

    @property
    def url(self) -> str:
        """The address that clients use."""
        scheme = "https" if self.tls_cert else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}"


def serve(folder: Path, listen: Listen, on_ready: Callable[[str], None], parent: int | None = None) -> None:
    """Serve the contest in `folder` until SIGINT or SIGTERM; `on_ready` gets one line once requests are answered.

    With `parent`, a process id, the server ends when that process does.

    Raises RefereeError `port-busy`, `port-refused`, `host-unknown`, `contest-busy`, `server-failed`, and what
    `open_contest` and `require_unchanged` raise.
    """
    with open_contest(folder) as contest:
        require_unchanged(contest.test_set)
    listen = _with_free_port(listen)
    with _sole_server(folder):
        server = Granian(
            "referee.web",
            address=listen.host,
            port=listen.port,
            interface=Interfaces.WSGI,
            workers=1,
            blocking_threads=BLOCKING_THREADS,
            log_level=LogLevels.error,
            log_dictconfig=LOGGING,
            ssl_cert=listen.tls_cert,
            ssl_key=listen.tls_key,
            process_name=None,
        )
        try:
            server.serve(
                target_loader=partial(_load_worker, folder, listen, on_ready, parent), wrap_loader=False
            )
        except SystemExit as stop:
            if stop.code:
                raise RefereeError(
                    "server-failed", "The server's worker process ended by itself; see above."
                ) from stop


def _load_worker(folder: Path, listen: Listen, on_ready: Callable[[str], None], parent: int | None) -> Flask:
    """In the worker process: take up the runs, make the app, announce it once it answers."""
    threading.Thread(target=_end_with_parent, name="parent-watch", daemon=True).start()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), name="grandparent-watch", daemon=True).start()
    resources = ExitStack()
    contest = resources.enter_context(open_contest(folder))
    clock = Clock()
    control = RunControl(contest, clock)
    control.recover()
    resources.callback(control.shutdown)
    multiprocessing.util.Finalize(None, resources.close, exitpriority=100)
    announce = partial(_announce, listen, contest, on_ready)
    threading.Thread(target=announce, name="announce", daemon=True).start()
    return create_app(contest, control, clock)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _end_after(process: int) -> None:
    clock, nobody = Clock(), threading.Event()
    while _exists(process):
        clock.wait(nobody, clock.monotonic_s() + 0.5)
    os.kill(os.getppid(), signal.SIGTERM)


def _exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _announce(listen: Listen, contest: Contest, on_ready: Callable[[str], None]) -> None:
    clock, nobody = Clock(), threading.Event()
    deadline_s = clock.monotonic_s() + READY_PATIENCE_S
    while not _answers(listen):
        if clock.monotonic_s() > deadline_s:
            return
        clock.wait(nobody, clock.monotonic_s() + 0.02)
    (contest.folder / SERVER_NAME).write_text(listen.url + "\n")
    images, window_s = len(contest.test_set.images), contest.config.window_s
    on_ready(f"Serving {contest.config.name} at {listen.url} ({images} images, window {window_s} s)")


def _answers(listen: Listen) -> bool:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(listen.host, listen.host)  # noqa: S104 - compared, not bound
    connection: http.client.HTTPConnection
    if listen.tls_cert:
        # Our own certificate, asked over loopback only to learn that the server is up.
        trusting = ssl._create_unverified_context()  # noqa: S323, SLF001
        connection = http.client.HTTPSConnection(host, listen.port, timeout=2, context=trusting)
    else:
        connection = http.client.HTTPConnection(host, listen.port, timeout=2)
    try:
        connection.request("GET", "/v1/health")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _with_free_port(listen: Listen) -> Listen:
    """The same address with a port that nobody listens on.

    Granian binds with SO_REUSEPORT: without this check a second server would silently share the first one's port.
    """
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((listen.host, listen.port))
        except (OSError, OverflowError) as error:
            raise _bind_error(listen, error) from error
        port = int(probe.getsockname()[1])
    return Listen(listen.host, port, listen.tls_cert, listen.tls_key)


def _bind_error(listen: Listen, error: OSError | OverflowError) -> RefereeError:
    number = getattr(error, "errno", None)
    if number == errno.EADDRINUSE:
        return RefereeError(
            "port-busy", f"Port {listen.port} of {listen.host} is in use; choose another one with --port."
        )
    if number == errno.EACCES:
        return RefereeError("port-refused", f"Port {listen.port} needs more rights; choose one above 1023.")
    return RefereeError(
        "host-unknown", f"{listen.host}:{listen.port} is no address of this machine ({error})."
    )


@contextmanager
def _sole_server(folder: Path) -> Iterator[None]:
    """Hold the contest's lock, so that two servers never own the same runs."""
    with (folder / LOCK_NAME).open("w") as lock:
        _lock(lock, folder)
        yield


def _lock(lock: IO[str], folder: Path) -> None:
    clock, nobody = Clock(), threading.Event()
    give_up_s = clock.monotonic_s() + LOCK_PATIENCE_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if clock.monotonic_s() > give_up_s:
                raise RefereeError(
                    "contest-busy", f"{folder} is being served already; stop that server first."
                ) from None
            clock.wait(nobody, clock.monotonic_s() + 0.05)
        else:
            return
