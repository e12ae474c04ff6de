"""Announces a server once it answers: prints its message, and writes the files by which commands find the server."""

from __future__ import annotations

import http.client
import ssl
import threading
from collections.abc import Callable

from lpirc_score.files.atomic_write import write_atomically
from referee.clock import Clock
from referee.contest import Contest
from referee.served import CERTIFICATE_NAME, SERVER_NAME
from referee.web.listener import Listen, end_dead_connections

READY_TIMEOUT_S = 30.0


def announce_server(
    listen: Listen, contest: Contest, on_ready: Callable[[str], None]
) -> None:
    """Write the server's URL into the contest folder and call `on_ready` with a message, once the server answers."""
    clock = Clock()
    never = threading.Event()
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
    config = contest.config
    images = f"{len(contest.test_set.images)} images"
    if config.images.per_attempt:
        images = f"{config.images.per_attempt} of {images}"
    urls = " and ".join(listen.urls)
    pages = "in a browser, the page / is the board and /operator/ the console"
    on_ready(
        f"Serving {config.name} at {urls} ({images}, window {config.window_s} s); {pages}"
    )


def _answers(listen: Listen) -> bool:
    return health_status(listen) == http.HTTPStatus.OK


def health_status(listen: Listen) -> int | None:
    """Return the HTTP status of our own server's health check; None while the server does not answer."""
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
