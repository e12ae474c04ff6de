"""The server of the live page: on the loopback alone, for requests that name it by a loopback name.

A page of a stranger may make a browser ask this server under the stranger's name (DNS rebinding); the header Host then
has that name, and the request is refused.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from lpirc_power.errors import MeterError
from lpirc_power.live.live_page import SCRIPT, live_page, live_part
from lpirc_power.live.live_state import LiveState
from lpirc_power.live.metrics import CONTENT_TYPE, metrics_text
from lpirc_power.page.document import content_security_policy, page_style

HOST: Final = "127.0.0.1"
HTML: Final = "text/html; charset=utf-8"
PLAIN: Final = "text/plain; charset=utf-8"
TIMEOUT_S: Final = 10.0
"""Longest time that a client may take for its request."""
MOST_CLIENTS: Final = 8
DROP_S: Final = 0.5
"""Longest wait for the slot of a client that is hung up on."""
FRESH_S: Final = 0.2
"""Age up to which an answer is used again, so that many clients cost no more than a few."""


class Answers:
    """The answers by path. Each is made at most every FRESH_S, however many ask."""

    def __init__(self, state: LiveState) -> None:
        self._state = state
        self._guard = threading.Lock()
        self._made: dict[str, tuple[float, bytes]] = {}
        self._pages: dict[str, tuple[str, Callable[[], str]]] = {
            "/": (HTML, lambda: live_page(state.view())),
            "/now": (HTML, lambda: live_part(state.view())),
            "/metrics": (CONTENT_TYPE, lambda: metrics_text(state.view())),
        }

    def of(self, path: str) -> tuple[str, bytes] | None:
        """Return type and content of a page; None if there is no such page."""
        page = self._pages.get(path)
        if page is None:
            return None
        kind, make = page
        with self._guard:
            made_s, content = self._made.get(path, (-FRESH_S, b""))
            now_s = time.monotonic()
            if now_s - made_s >= FRESH_S:
                # A file name may have bytes that are no text, and is shown all the same.
                content = make().encode(errors="replace")
                self._made[path] = (now_s, content)
        return kind, content


class _Server(ThreadingHTTPServer):
    """The listening socket; a thread for each of at most MOST_CLIENTS requests."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, answers: Answers) -> None:
        self.answers = answers
        self._guard = threading.Lock()
        self._silent: dict[socket.socket, None] = {}
        self._slots = threading.BoundedSemaphore(MOST_CLIENTS)
        super().__init__((HOST, port), _Handler)
        self.names = {f"{name}:{self.server_port}" for name in (HOST, "localhost")}
        if self.server_port == 80:
            self.names |= {HOST, "localhost"}

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, in the place of a silent client if there are too many."""
        if not self._slots.acquire(blocking=False):
            self._drop_a_silent_one()
            if not self._slots.acquire(timeout=DROP_S):
                self.shutdown_request(request)
                return
        with self._guard:
            self._silent[request] = None
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer one request."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.heard(request)
            self._slots.release()

    def heard(self, request: socket.socket) -> None:
        """Take note that a client has sent its request, or is gone."""
        with self._guard:
            self._silent.pop(request, None)

    def _drop_a_silent_one(self) -> None:
        """Hang up on the client that has been without a request for the longest time."""
        with self._guard:
            oldest = next(iter(self._silent), None)
        if oldest is not None:
            with contextlib.suppress(OSError):
                oldest.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that went away; a page must not disturb the recording."""


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD."""

    server: _Server
    server_version = "meter"
    sys_version = ""
    timeout = TIMEOUT_S

    def do_GET(self) -> None:
        """Answer with the page of the path."""
        self._answer()

    def do_HEAD(self) -> None:
        """Answer as to GET, without content."""
        self._answer()

    def log_message(self, *_: Any) -> None:
        """Print nothing: the terminal is that of the recording."""

    def _answer(self) -> None:
        self.server.heard(self.connection)
        if self.headers.get_all("Host", []) not in [
            [name] for name in self.server.names
        ]:
            sentence = "This page is asked for by the address that was printed, and by no other name.\n"
            self._send(HTTPStatus.MISDIRECTED_REQUEST, PLAIN, sentence.encode())
            return
        found = self.server.answers.of(self.path.partition("?")[0])
        if found is None:
            self._send(
                HTTPStatus.NOT_FOUND, PLAIN, b"There are /, /now and /metrics.\n"
            )
            return
        self._send(HTTPStatus.OK, *found)

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Referrer-Policy", "no-referrer")
        policy = content_security_policy(page_style(), SCRIPT)
        self.send_header("Content-Security-Policy", f"{policy}; frame-ancestors 'none'")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


@contextlib.contextmanager
def live_server(state: LiveState, port: int) -> Iterator[str]:
    """Serve the live page during a with statement, which gets its address; port 0 is any free one.

    Raises MeterError `page-port` if the port cannot be had.
    """
    try:
        server = _Server(port, Answers(state))
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise MeterError(
            "page-port",
            f"The live page cannot listen on port {port} of {HOST}: {why}. Choose another, or --page without a number "
            "for any free one.",
        ) from error
    thread = threading.Thread(
        target=server.serve_forever, name="live page", daemon=True
    )
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
