"""What 500 viewers of the board cost the server, and a contestant who fetches images, beside none, by turns in one run.

A run is open, so the board changes each second and every look gets the whole of it.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

from bench.figures import row, show
from bench.house import HERE, Server, referee
from bench.load import load
from lpirc_testsets import synthesize

VIEWERS = 500
SECONDS = 10
TURNS = 3
IMAGES = 100
IMAGES_PER_S = 100


def measure() -> list[dict[str, Any]]:
    """Print and return the figures with their targets."""
    with (
        tempfile.TemporaryDirectory(prefix="viewers-") as name,
        ProcessPoolExecutor(1) as pool,
    ):
        folder = Path(name)
        synthesize(
            folder / "testset",
            images=IMAGES,
            categories=10,
            seed=1,
            size=(800, 600),
        )
        with referee("referee", HERE, folder / "contest", folder / "testset") as server:
            turns = [
                (
                    _slice(server, None),
                    _slice(server, pool),
                )
                for _ in range(TURNS + 1)
            ][1:]
    core = median(seen[0] - alone[0] for alone, seen in turns)
    later_ms = median(seen[1] - alone[1] for alone, seen in turns)
    rows = [
        row(f"{VIEWERS} viewers, share of a core (%)", core, 10),
        row("an image's answer later at the median (ms)", later_ms, 1),
        row(
            "an image's answer without viewers (ms)",
            median(alone[1] for alone, _ in turns),
        ),
    ]
    show("viewers", rows)
    return rows


def _slice(server: Server, pool: ProcessPoolExecutor | None) -> tuple[float, float]:
    """(% of a core that the server takes, median latency of an image in ms), with viewers from `pool` or without."""
    before_s = server.processor_s()
    looks = [
        server.request("GET", "/board/live").replace(server.token.encode(), b"none")
    ]
    if pool is not None:
        viewing = pool.submit(
            load,
            server.url,
            looks,
            VIEWERS,
            VIEWERS * SECONDS,
            VIEWERS,
        )
    images = [
        server.request("GET", f"/v1/images/{number}") for number in range(1, IMAGES + 1)
    ]
    fetched = load(server.url, images, 1, IMAGES_PER_S * SECONDS, IMAGES_PER_S)
    if pool is not None:
        viewing.result()
    return (
        server.processor_s() - before_s
    ) / fetched.duration_s * 100, fetched.percentile_ms(50)
