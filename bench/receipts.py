"""What a POST costs in processor time with the chain of receipts and without, and what keeping bodies costs, by turns.

Each of the three is a real server of its own; what is left out is patched out of it as it starts (`without`).
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.figures import row, show
from bench.house import Server, referee
from bench.load import load
from bench.serving import IMAGES, ROWS, json_posts, packed_posts
from lpirc_testsets import synthesize
from referee.store import posts
from referee.store.group_commit import Statement
from referee.store.records import Post

ROUNDS, POSTS, CONNECTIONS = 150, 30, (1, 8)
TARGET = "<= 0.05"
PLAIN, CHAINLESS, BODILESS = "with the chain", "without", "without the chain and bodies"
PROGRAM = """#!{python}
import sys
sys.path.insert(0, {home!r})
from bench.receipts import without
from referee.cli import main
without(bodies={bodies})
if __name__ == "__main__":
    main()
"""
_COLUMNS = (
    "run, received_utc, elapsed_s, sha256, idempotency_key, row_count, refused, rows, content_type, body,"
    " received_total"
)
_TOTAL = "coalesce((SELECT received_total FROM posts WHERE run = ? ORDER BY id DESC LIMIT 1), 0)"
_INSERT = f"INSERT INTO posts ({_COLUMNS}) VALUES (?{', ?' * 9}, ? + {_TOTAL}) RETURNING received_total"  # noqa: S608


def without(*, bodies: bool) -> None:
    """Switch off the chain in this process, and the keeping of bodies too unless `bodies`."""
    posts._insertion = partial(_insertion, bodies=bodies)  # noqa: SLF001


def _insertion(_: object, run: int, post: posts.NewPost, *, bodies: bool) -> tuple[int, Statement]:
    """What `referee.store.posts` does, with neither link nor number."""
    rows = post.taken[0] if isinstance(post.taken, tuple) else post.taken
    packed, count = rows.astype(posts.ROW, copy=False).tobytes(), len(rows)
    refused = post.taken[1].total or None if isinstance(post.taken, tuple) else None
    stamp = (run, post.now.isoformat(), post.elapsed_s, post.sha256, post.idempotency_key)
    kept = (post.content_type, post.body) if bodies else (None, None)
    values = (*stamp, count, refused, packed, *kept, count, run)

    def insert(connection: sqlite3.Connection) -> Post:
        return Post(count, post.sha256, connection.execute(_INSERT, values).fetchone()[0])

    return len(packed) + len(post.body or b""), insert


def measure() -> list[dict[str, Any]]:
    """Measure JSON and packed bodies, print the table and return its rows."""
    with tempfile.TemporaryDirectory(prefix="receipts-") as name, ExitStack() as stack:
        folder, programs = Path(name), Path(sys.executable).parent
        testset = synthesize(folder / "testset", images=IMAGES, categories=10, seed=1, size=(96, 64)).folder
        started = {PLAIN: programs, CHAINLESS: folder / "a", BODILESS: folder / "b"}
        for what, bodies in ((CHAINLESS, True), (BODILESS, False)):
            _write_program(started[what], bodies=bodies)
        servers = [
            stack.enter_context(referee(what, where, folder / f"contest-{at}", testset))
            for at, (what, where) in enumerate(started.items())
        ]
        kinds: dict[str, Callable[[Server], list[bytes]]] = {"JSON": json_posts, "float32": packed_posts}
        rows = [
            one
            for kind, requests in kinds.items()
            for connections in CONNECTIONS
            for one in _compared(kind, requests, connections, servers)
        ]
    show("receipts", rows)
    return rows


def _write_program(folder: Path, *, bodies: bool) -> None:
    folder.mkdir()
    program, home = folder / "referee", str(Path(__file__).parents[1])
    program.write_text(PROGRAM.format(python=sys.executable, home=home, bodies=bodies))
    program.chmod(0o755)


def _compared(
    kind: str, requests: Callable[[Server], list[bytes]], connections: int, servers: list[Server]
) -> list[dict[str, Any]]:
    """What a POST costs over the rounds, the first of which warms up; each begins with another server."""
    rounds = []
    for turn in range(ROUNDS + 1):
        at = turn % len(servers)
        rounds.append({one.name: _cost_us(one, requests, connections) for one in servers[at:] + servers[:at]})
    del rounds[0]
    what = f"POST of {ROWS}, {kind}, {connections} conn."
    cost_us = {one.name: np.array([costs_us[one.name] for costs_us in rounds]) for one in servers}
    costs = [row(f"{what}, {name}: processor µs", float(np.median(each))) for name, each in cost_us.items()]
    # A processor changes its pace from second to second: only slices of one round are compared.
    chain = float(np.median(cost_us[PLAIN] / cost_us[CHAINLESS])) - 1
    bodies = float(np.median(cost_us[CHAINLESS] / cost_us[BODILESS])) - 1
    return [
        *costs,
        row(f"{what}: the chain's share", chain, TARGET),
        row(f"{what}: kept bodies' share", bodies),
    ]


def _cost_us(server: Server, requests: Callable[[Server], list[bytes]], connections: int) -> float:
    before_s = server.processor_s()
    done = load(server.url, requests(server), connections, POSTS)
    return (server.processor_s() - before_s - server.idle * done.duration_s) / POSTS * 1e6
