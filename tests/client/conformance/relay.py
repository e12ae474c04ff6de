"""A referee with one fault: a real one behind a server that alters what goes through."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LARGEST_BODY_BYTES = 4 * 2**20


@dataclass
class Message:
    """A request on its way to the referee, then with the answer on its way back."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    status: int = 0
    answer_headers: dict[str, str] = field(default_factory=dict)
    content: bytes = b""

    def change(self, **fields: Any) -> None:
        """Change fields of the answer's document."""
        self.content = json.dumps({**json.loads(self.content), **fields}).encode()


Fault = Callable[[Message], None]


def nothing(_: Message) -> None:
    pass


@contextlib.contextmanager
def relay(
    url: str,
    before: Fault = nothing,
    after: Fault = nothing,
) -> Iterator[str]:
    """Serve the referee at `url` with faults in what goes there and in what comes back; gives the relay's address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            self.referee = http.client.HTTPConnection(url.rpartition("/")[2])

        def finish(self) -> None:
            self.referee.close()
            super().finish()

        def handle_expect_100(self) -> bool:
            return True

        def do_GET(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(size) if size <= LARGEST_BODY_BYTES else b""
            message = Message(self.command, self.path, dict(self.headers), body)
            before(message)
            # It may refuse before it has read all.
            with contextlib.suppress(ConnectionError):
                self.referee.request(
                    message.method,
                    message.path,
                    message.body,
                    message.headers,
                )
            answer = self.referee.getresponse()
            message.status = answer.status
            message.answer_headers = {k.title(): v for k, v in answer.getheaders()}
            message.content = answer.read()
            after(message)
            self.send_response_only(message.status)
            if self.command != "HEAD":
                message.answer_headers["Content-Length"] = str(len(message.content))
            for header in message.answer_headers.items():
                self.send_header(*header)
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else message.content)

        do_POST = do_PUT = do_DELETE = do_HEAD = do_GET  # noqa: N815 - their names there

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
