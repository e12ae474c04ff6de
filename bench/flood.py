"""What a run notices while another one floods the referee: a GET and a POST of 100 rows, alone and flooded by turns."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import requests

from bench.figures import show
from bench.house import HERE, Server, referee
from bench.load import load
from lpirc_testsets import synthesize

# A flood's last bodies are still taken after it.
TURNS = 3
PAIRS = 1000
WARM_UP_S = 1.0
REST_S = 4.0
IMAGES = 100
CATEGORIES = 10
SIZE_PX = (800, 600)
TEXT = "text/plain"
JSON = "application/json"
ROW = [1.0, 1.0, 0.987654, 10.5, 20.25, 400.125, 300.5]
LINE = b"1 1 0.987654 10.5 20.25 400.125 300.5\n"
ELEMENT = json.dumps(ROW).encode() + b","
FLOODS = (
    ("20 x 1 MiB of bad text", 20, TEXT, b"a b c\n" * 174_000),
    ("3 x 4 MiB of text", 3, TEXT, LINE * 110_000),
    (
        "3 x 4 MiB of JSON, the last row bad",
        3,
        JSON,
        b"[" + ELEMENT * 85_000 + b"[true]]",
    ),
    ("3 x 4 MiB of empty JSON rows", 3, JSON, b"[" + b"[]," * 1_390_000 + b"[]]"),
    ("30 x 1,000 rows", 30, TEXT, LINE * 1000),
    ("30 x 1 row", 30, TEXT, LINE),
)


def measure() -> list[dict[str, Any]]:
    """Measure every flood, print the table and return its rows."""
    with tempfile.TemporaryDirectory(prefix="flood-") as name:
        folder = Path(name)
        synthesize(
            folder / "testset",
            images=IMAGES,
            categories=CATEGORIES,
            seed=1,
            size=SIZE_PX,
        )
        with referee(
            "referee",
            HERE,
            folder / "contest",
            folder / "testset",
            rival="rival",
        ) as server:
            rows = [_by_turns(server, *flood) for flood in FLOODS]
    show("flood", rows)
    return rows


def _by_turns(server: Server, what: str, *flood: Any) -> dict[str, Any]:
    turns = []
    for _ in range(TURNS):
        alone = _figures_ms(server)
        rival = get_context("spawn").Process(
            target=_flood,
            args=(server.url, server.rival, *flood),
        )
        rival.start()
        time.sleep(WARM_UP_S)
        turns.append([*alone, *_figures_ms(server)])
        rival.terminate()
        time.sleep(REST_S)
    names = ("alone p50 ms", "alone p99 ms", "flooded p50 ms", "flooded p99 ms")
    figures = dict(zip(names, np.median(turns, axis=0).tolist(), strict=True))
    return (
        {"flood": what} | figures | {"p50 ratio": figures[names[2]] / figures[names[0]]}
    )


def _figures_ms(server: Server) -> list[float]:
    """Median and 99th percentile of a GET and the POST after it."""
    post = server.request(
        "POST",
        "/v1/detections",
        json.dumps([ROW] * 100).encode(),
        JSON,
    )
    pairs = [
        (server.request("GET", f"/v1/images/{number}"), post)
        for number in range(1, IMAGES + 1)
    ]
    done = load(server.url, [one for pair in pairs for one in pair], 1, 2 * PAIRS)
    median_s, most_s = np.percentile(
        np.reshape(done.latencies_s, (PAIRS, 2)).sum(axis=1), (50, 99)
    )
    return [float(median_s) * 1000, float(most_s) * 1000]


def _flood(
    url: str,
    token: str,
    connections: int,
    media_type: str,
    body: bytes,
) -> None:
    """Post the same body on so many connections, each as fast as it is answered, until killed."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": media_type}

    def post() -> None:
        session = requests.Session()
        while True:
            with suppress(requests.ConnectionError):  # refused before it was sent
                session.post(f"{url}/v1/detections", body, headers=headers)

    for _ in range(connections):
        threading.Thread(target=post).start()
