"""What a request costs the server in processor time, beside a bare Granian app and others, by turns in one run.

Processor time hardly depends on what else the machine does, nor on how fast the load generator is; the rates do.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.figures import show
from bench.house import HERE, Server, bare, nginx, nginx_is_installed, referee
from bench.load import Load, load
from lpirc_testsets import synthesize

TURNS = 5
# Photograph-like JPEGs of some 74 kB.
IMAGES = 100
CATEGORIES = 10
SIZE_PX = (800, 600)
BATCH = ROWS = 100
AT_ONCE = 3000
PER_S = 1000
CONNECTIONS = 16
STORED = 500_000
STORED_A_POST = 1000
LOOK_S = 0.2
BATCHES = {
    first: f"/v1/images?first={first}&count={BATCH}"
    for first in range(1, IMAGES, BATCH)
}
JSON = "application/json"
PACKED = "application/octet-stream"

COST = "processor µs"
Measured = dict[str, dict[str, float]]
"""What one slice of load gave: for each row of the table its figures."""
Case = Callable[[Server], Measured]


def measure(beside: Path | None = None) -> list[dict[str, Any]]:
    """Measure all cases, print the table and return its rows; `beside` is another checkout with its `.venv`."""
    with tempfile.TemporaryDirectory(prefix="serving-") as name, ExitStack() as stack:
        folder = Path(name)
        started = stack.enter_context
        folder.chmod(0o755)  # nginx's worker is another user
        testset = folder / "testset"
        synthesize(
            testset,
            images=IMAGES,
            categories=CATEGORIES,
            seed=1,
            size=SIZE_PX,
        )
        referees = [started(referee("referee", HERE, folder / "ours", testset))]
        if beside is not None:
            programs = beside.absolute() / ".venv" / "bin"
            referees.append(
                started(
                    referee(
                        beside.absolute().name,
                        programs,
                        folder / "beside",
                        testset,
                    )
                )
            )
        answers = _recorded(referees[0], folder / "answers")
        token = referees[0].token
        both = [started(bare(answers, token)), *referees]
        files = [started(nginx(answers, token))] if nginx_is_installed() else []
        rows = [row for case in IMAGE_CASES for row in _by_turns(case, both + files)]
        for server in referees:
            _store(server)
        rows += [
            row for case in [_at_once, *POST_CASES] for row in _by_turns(case, both)
        ]
    show("serving", rows)
    return rows


def _by_turns(case: Case, servers: Sequence[Server]) -> list[dict[str, Any]]:
    """Medians over the turns, also of the ratios to the first two servers; the first turn warms up."""
    turns = [list(map(case, servers)) for _ in range(TURNS + 1)][1:]
    rows: list[dict[str, Any]] = []
    for at, server in enumerate(servers):
        for what, figures in turns[0][at].items():
            slices = [turn[at][what] for turn in turns]
            row: dict[str, Any] = {"what": what, "server": server.name}
            for key in figures:
                row[key] = median(one[key] for one in slices)
            if COST in figures:
                row["least µs"] = min(one[COST] for one in slices)
                for name, base in (("/ bare", 0), ("/ referee", 1)):
                    row[name] = median(
                        turn[at][what][COST] / turn[base][what][COST] for turn in turns
                    )
            rows.append(row)
    return rows


def _slice(
    what: str,
    connections: int,
    count: int,
    requests: Callable[[Server], Sequence[bytes]],
    server: Server,
) -> Measured:
    before_s = server.processor_s()
    done = load(server.url, requests(server), connections, count)
    return {what: _cost(server, before_s, done) | _figures(done)}


def _cost(server: Server, before_s: float, done: Load) -> dict[str, float]:
    """Processor time of a request, less what the server takes when it is idle: a referee reads its meter."""
    taken_s = server.processor_s() - before_s - server.idle * done.duration_s
    return {COST: taken_s / len(done.latencies_s) * 1e6}


def _figures(done: Load) -> dict[str, float]:
    return {
        "1/s": done.rate_per_s,
        "p50 ms": done.percentile_ms(50),
        "p99 ms": done.percentile_ms(99),
    }


def _images(server: Server) -> list[bytes]:
    return [
        server.request("GET", f"/v1/images/{number}") for number in range(1, IMAGES + 1)
    ]


def _batches(server: Server) -> list[bytes]:
    return [server.request("GET", batch) for batch in BATCHES.values()]


def _rows(count: int) -> list[list[float]]:
    return [
        [
            1 + row % IMAGES,
            1 + row % CATEGORIES,
            0.999 - row / 2000,
            x,
            y,
            x + 90,
            y + 70,
        ]
        for row in range(count)
        for x, y in [(10.5 + row % 300, 20.25 + row % 200)]
    ]


def _json_posts(server: Server, count: int = ROWS) -> list[bytes]:
    """A POST of so many detections as JSON, as it travels."""
    return [
        server.request(
            "POST",
            "/v1/detections",
            json.dumps(_rows(count)).encode(),
            JSON,
        )
    ]


def _packed_posts(server: Server) -> list[bytes]:
    """A POST of detections as float32, as it travels."""
    return [
        server.request(
            "POST",
            "/v1/detections",
            np.array(_rows(ROWS), "<f4").tobytes(),
            PACKED,
        )
    ]


def _recorded(server: Server, answers: Path) -> Path:
    """Keep the answers of a referee as files, under the paths of `bench.bare` and nginx."""
    (answers / "v1" / "images").mkdir(parents=True)
    (answers / "batches").mkdir()
    for number in range(1, IMAGES + 1):
        path = f"/v1/images/{number}"
        (answers / path[1:]).write_bytes(server.ask("GET", path).content)
    for first, path in BATCHES.items():
        (answers / "batches" / str(first)).write_bytes(server.ask("GET", path).content)
    posted = server.ask("POST", "/v1/detections", json.dumps(_rows(1)).encode(), JSON)
    (answers / "posted").write_bytes(posted.content)
    return answers


def _store(server: Server) -> None:
    """Post detections until so many are stored and the provisional score has seen all of them."""
    body = np.array(_rows(STORED_A_POST), "<f4").tobytes()
    for _ in range(STORED // STORED_A_POST):
        server.ask("POST", "/v1/detections", body, PACKED)
    while _unscored(server):
        time.sleep(LOOK_S)


def _unscored(server: Server) -> int:
    """How many stored detections the provisional score, which operators see, has not seen yet."""
    session = server.ask("GET", "/v1/session").json()
    return int(session["detections_accepted"] - server.scored_detections())


def _at_once(server: Server) -> Measured:
    """Images and detections at a fixed rate, 1,000/s of each; the cost is that of one image and one detection."""
    before_s = server.processor_s()
    ages_ms = []
    with ProcessPoolExecutor(2) as pool:
        running = [
            pool.submit(load, server.url, requests, CONNECTIONS, AT_ONCE, PER_S)
            for requests in (_images(server), _json_posts(server, 1))
        ]
        while server.has_score and not all(one.done() for one in running):
            time.sleep(LOOK_S)
            ages_ms.append(_unscored(server) / PER_S * 1000)
        gets, posts = (one.result() for one in running)
    cost = _cost(server, before_s, max(gets, posts, key=attrgetter("duration_s")))
    measured = {
        "both at 1,000/s: GET": cost | _figures(gets),
        "both at 1,000/s: POST of 1": _figures(posts),
    }
    if ages_ms:
        what = f"provisional score at {STORED:,}: age"
        measured[what] = {"p50 ms": median(ages_ms), "p99 ms": max(ages_ms)}
    return measured


IMAGE_CASES: list[Case] = [
    partial(_slice, "image, 1 conn.", 1, 1000, _images),
    partial(_slice, "image, 8 conn.", 8, 2000, _images),
    partial(_slice, f"batch of {BATCH}, 1 conn.", 1, 30, _batches),
]
POST_CASES: list[Case] = [
    partial(
        _slice,
        f"POST of {ROWS}, {name}, {connections} conn.",
        connections,
        500,
        requests,
    )
    for name, requests in (
        ("JSON", _json_posts),
        ("float32", _packed_posts),
    )
    for connections in (1, 8)
]
