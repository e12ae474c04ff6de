"""`python -m bench.bare ANSWERS PORT`: the floor, a bare WSGI app in Granian with the referee's settings.

It answers with the files of the folder ANSWERS, and a POST, once it has been read whole, with that of `posted`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels

# Of a batch, as the referee sends it; joined, its pieces cost twice as much.
CHUNK_BYTES = 2**17


def load(folder: Path) -> Callable[..., Iterable[bytes]]:
    """The app, its answers in memory."""
    files = {
        f"/{file.relative_to(folder)}": file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }
    answers = {path: _pieces(body) for path, body in files.items()}

    def app(
        environ: dict[str, Any],
        start_response: Callable[..., object],
    ) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if environ["REQUEST_METHOD"] == "POST":
            environ["wsgi.input"].read()
            path = "/posted"
        elif environ["QUERY_STRING"]:
            path = (
                "/batches/"
                + environ["QUERY_STRING"].partition("=")[2].partition("&")[0]
            )
        start_response(
            "200 OK",
            [
                ("Content-Type", "image/jpeg"),
                ("Content-Length", str(len(files[path]))),
            ],
        )
        pieces = answers[path]
        # Granian would join a list.
        return pieces if len(pieces) == 1 else (piece for piece in pieces)

    return app


def _pieces(body: bytes) -> list[bytes]:
    return [body[at : at + CHUNK_BYTES] for at in range(0, len(body), CHUNK_BYTES)]


def main() -> None:
    """Serve until SIGTERM, with the settings of `referee.web.server`."""
    server = Granian(
        "bench.bare",
        port=int(sys.argv[2]),
        interface=Interfaces.WSGI,
        workers=1,
        blocking_threads=440,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=75_000, max_buffer_size=2**17),
        websockets=False,
        backlog=4096,
        backpressure=16_384,
        log_level=LogLevels.error,
    )
    server.serve(target_loader=partial(load, Path(sys.argv[1])), wrap_loader=False)


if __name__ == "__main__":
    main()
