"""What 500 viewers of the board cost the server, and a contestant who fetches images, beside none, by turns in one run.

A viewer asks each second as live.js does: compressed, and for what is newer than its last answer. A run is open, so the
board changes each second and nearly every look gets the whole of it.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.figures import row, show
from bench.house import HERE, Server, referee
from bench.load import load
from lpirc_testsets import synthesize

VIEWERS = 500
EVERY_S = 1.0
SECONDS = 10
TURNS = 3
IMAGES = 100
IMAGES_PER_S = 100
BROWSER = (
    b"Accept: */*\r\n"
    b"Accept-Encoding: gzip, deflate, br, zstd\r\n"
    b"Accept-Language: en-GB,en;q=0.9\r\n"
    b"Cache-Control: max-age=0\r\n"
    b"User-Agent: Mozilla/5.0 (Linux; Android 14) Mobile\r\n"
)


@dataclass(frozen=True)
class Slice:
    """Some seconds: processor time of the server, its share of a core, an image's median latency, bits to a viewer."""

    core_s: float
    share: float
    image_ms: float
    viewer_bytes: float = 0.0


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
    core = median(seen.share - alone.share for alone, seen in turns)
    later_ms = median(seen.image_ms - alone.image_ms for alone, seen in turns)
    looks = VIEWERS / EVERY_S
    rows = [
        row(f"{VIEWERS} viewers, share of a core (%)", core * 100, 10),
        row("processor time of a look (µs)", core / looks * 1e6),
        row("sent to a viewer (kB/s)", median(seen.viewer_bytes for _, seen in turns)),
        row("an image's answer later at the median (ms)", later_ms, 1),
        row(
            "an image's answer without viewers (ms)",
            median(alone.image_ms for alone, _ in turns),
        ),
    ]
    show("viewers", rows)
    return rows


def _slice(server: Server, pool: ProcessPoolExecutor | None) -> Slice:
    """Measure with viewers from `pool`, or without."""
    before_s = server.processor_s()
    look = b"GET /board/live HTTP/1.1\r\nHost: referee\r\n" + BROWSER + b"\r\n"
    if pool is not None:
        viewing = pool.submit(
            load,
            server.url,
            [look],
            VIEWERS,
            round(VIEWERS * SECONDS / EVERY_S),
            VIEWERS / EVERY_S,
            is_conditional=True,
        )
    images = [
        server.request("GET", f"/v1/images/{number}") for number in range(1, IMAGES + 1)
    ]
    fetched = load(server.url, images, 1, IMAGES_PER_S * SECONDS, IMAGES_PER_S)
    received = 0
    if pool is not None:
        received = viewing.result().received
    core_s = server.processor_s() - before_s
    share = core_s / fetched.duration_s
    per_viewer = received / VIEWERS / SECONDS / 1000
    return Slice(core_s, share, fetched.percentile_ms(50), per_viewer)
