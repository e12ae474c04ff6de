"""A smart plug as a process of its own: it answers over HTTP as those of Shelly do, and draws 36 W.

Prints its port, and ends with its standard input.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

POWER_W = 36.0
MODEL = "SNPL-00112EU"
_BEGAN_S = time.monotonic()


class Plug(BaseHTTPRequestHandler):
    """Its two questions."""

    model = MODEL

    def do_GET(self) -> None:
        if "GetDeviceInfo" in self.path:
            about = {
                "id": "shellyplusplugs-d4d4da",
                "model": self.model,
                "ver": "1.4",
            }
            self._answer(about)
            return
        wh = POWER_W * (time.monotonic() - _BEGAN_S) / 3600.0
        shown = {
            "voltage": 230.0,
            "current": 0.2,
            "apower": POWER_W,
        }
        self._answer(shown | {"aenergy": {"total": wh}})

    def _answer(
        self,
        value: object,
    ) -> None:
        text = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def plugged(model: str = MODEL) -> Iterator[str]:
    """Give the host of a plug, a process of its own on loopback."""
    command = [sys.executable, "-m", "tests.power.plug", model]
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        command,
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield f"127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.stdin.close()


def main() -> None:
    Plug.model = sys.argv[1]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Plug)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
