"""What TLS costs: the same requests to two referees, with and without it, by turns in one run, from one connection.

The figures with a new connection for each request have TLS's handshake in them.
"""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from bench.figures import show
from bench.house import HERE, Server, referee
from lpirc_testsets import synthesize

TURNS = 7
REQUESTS = 300
NEW_CONNECTIONS = 60
IMAGES = 100
CATEGORIES = 10
SIZE_PX = (800, 600)
ROWS = 100
CASES = (
    ("GET an image", REQUESTS),
    ("POST 100 rows", REQUESTS),
    ("GET, new connection", NEW_CONNECTIONS),
)


def measure() -> list[dict[str, Any]]:
    """Measure, print the table and return its rows; the first turn warms up."""
    with tempfile.TemporaryDirectory(prefix="tls-") as name, ExitStack() as stack:
        folder = Path(name)
        synthesize(
            folder / "testset",
            images=IMAGES,
            categories=CATEGORIES,
            seed=1,
            size=SIZE_PX,
        )
        pair = _certificate(folder)
        plain = stack.enter_context(
            referee("HTTP", HERE, folder / "plain", folder / "testset")
        )
        over = stack.enter_context(
            referee("HTTPS", HERE, folder / "tls", folder / "testset", tls=pair)
        )
        context = ssl.create_default_context(cafile=str(pair[0]))
        taken: dict[tuple[str, str], list[float]] = {}
        cost: dict[tuple[str, str], float] = {}
        for turn in range(TURNS + 1):
            for what, count in CASES:
                for server in (plain, over):
                    before_s = server.processor_s()
                    start_s = time.perf_counter()
                    latencies_s = _latencies_s(server, context, what, count)
                    idle_s = server.idle * (time.perf_counter() - start_s)
                    if turn:
                        key = (what, server.name)
                        taken.setdefault(key, []).extend(latencies_s)
                        cost[key] = (
                            cost.get(key, 0.0)
                            + server.processor_s()
                            - before_s
                            - idle_s
                        )
    rows = [
        {
            "what": what,
            "over": server,
            "p50 ms": float(np.percentile(found, 50)) * 1000,
            "p99 ms": float(np.percentile(found, 99)) * 1000,
            "processor µs": cost[what, server] / len(found) * 1e6,
        }
        for (what, server), found in taken.items()
    ]
    show("tls", rows)
    return rows


def _latencies_s(
    server: Server,
    context: ssl.SSLContext,
    what: str,
    count: int,
) -> Sequence[float]:
    where = urlsplit(server.url)
    found = []
    headers = {
        "Authorization": f"Bearer {server.token}",
        "Content-Type": "application/json",
    }
    body = json.dumps(
        [[1 + row % IMAGES, 1, 0.5, 10.5, 20.25, 90, 70] for row in range(ROWS)]
    ).encode()

    def connect() -> http.client.HTTPConnection:
        if where.scheme == "https":
            return http.client.HTTPSConnection(
                str(where.hostname),
                where.port,
                timeout=60,
                context=context,
            )
        return http.client.HTTPConnection(str(where.hostname), where.port, timeout=60)

    is_new = what.endswith("new connection")
    with closing(connect()) as kept:
        kept.connect()
        for number in range(count):
            start_s = time.perf_counter()
            connection = connect() if is_new else kept
            if what.startswith("POST"):
                connection.request("POST", "/v1/detections", body, headers)
            else:
                connection.request(
                    "GET",
                    f"/v1/images/{1 + number % IMAGES}",
                    headers=headers,
                )
            answer = connection.getresponse()
            answer.read()
            found.append(time.perf_counter() - start_s)
            if answer.status not in (200, 201, 202):
                raise RuntimeError(f"{what}: {answer.status}")
            if is_new:
                connection.close()
    return found


def _certificate(folder: Path) -> tuple[Path, Path]:
    cert = folder / "cert.pem"
    key = folder / "key.pem"
    kind = [
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "1",
    ]
    names = ["-subj", "/CN=referee", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(cert)]
    command = ["openssl", "req", *kind, *names, *files]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    return cert, key
