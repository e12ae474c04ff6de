"""The sample client beside the naive loop and the client of 2015, each in a process of its own, on one referee.

A detector that takes no time returns the same five rows. Processor time is the client's; memory is its peak above what
an interpreter has with `requests` imported.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import requests

from bench.figures import peak_memory_mb, show
from bench.house import HERE, PASSWORD, TEAM, referee

IMAGES = 2000
SIZE_PX = (320, 240)
ROUNDS = 3
FOUND = [(1, 0.5, 10.0, 20.0, 30.0, 40.0)] * 5
TARGETS = {"Session, batches of 50": 1000, "Session, one by one": 400}


def measure() -> list[dict[str, Any]]:
    """One row for each client, the best of several rounds taken by turns."""
    from lpirc_testsets import synthesize

    with tempfile.TemporaryDirectory(prefix="client-") as name:
        folder = Path(name)
        synthesize(
            folder / "testset",
            images=IMAGES,
            categories=5,
            seed=1,
            size=SIZE_PX,
        )
        with referee("referee", HERE, folder / "contest", folder / "testset") as server:
            turns: dict[str, list[dict[str, float]]] = {name: [] for name in CLIENTS}
            for _ in range(ROUNDS):
                for client, measured in turns.items():
                    measured.append(_measured(client, server.url))
    rows = []
    for client, measured in turns.items():
        rows.append(
            {
                "what": client,
                "images/s": max(turn["images_per_s"] for turn in measured),
                "target": TARGETS.get(client),
                "processor ms an image": min(turn["processor_ms"] for turn in measured),
                "memory MB": max(turn["memory_mb"] for turn in measured),
            }
        )
    show("client", rows)
    return rows


def _measured(client: str, url: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.client", client, url]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ours
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def _session(url: str, prefetch: int) -> int:
    from lpirc_client.session import Session

    with Session(url, TEAM, PASSWORD, stay=True) as session:
        for image in session.images(prefetch=prefetch):
            session.post(image.number, FOUND)
    return session.images_posted


def _naive(url: str) -> int:
    """A request for each image and a POST of JSON for its rows, one after the other."""
    with requests.Session() as http:
        login = http.post(
            f"{url}/v1/session", json={"team": TEAM, "password": PASSWORD}
        ).json()
        http.headers["Authorization"] = f"Bearer {login['token']}"
        for number in range(1, login["images"] + 1):
            http.get(f"{url}/v1/images/{number}").raise_for_status()
            http.post(
                f"{url}/v1/detections", json=[(number, *row) for row in FOUND]
            ).raise_for_status()
    return int(login["images"])


def _of_2015(url: str) -> int:
    """As the published client of 2015: form posts, a connection for each request."""
    names = ("image_name", "CLASS_ID", "confidence", "xmin", "ymin", "xmax", "ymax")

    def ask(path: str, fields: dict[str, Any]) -> bytes:
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = requests.post(
            f"{url}{path}",
            urlencode(fields, doseq=True),
            headers=form,
            timeout=60,
        )
        answer.raise_for_status()
        return answer.content

    token = ask("/login", {"username": TEAM, "password": PASSWORD}).decode()
    images = int(ask("/no_of_images", {"token": token}))
    for number in range(1, images + 1):
        ask("/image", {"token": token, "image_name": number})
        columns = zip(*((number, *row) for row in FOUND), strict=True)
        ask(
            "/result",
            {"token": token, **dict(zip(names, map(list, columns), strict=True))},
        )
    return images


CLIENTS: dict[str, Callable[[str], int]] = {
    "Session, batches of 50": lambda url: _session(url, 50),
    "Session, one by one": lambda url: _session(url, 1),
    "naive loop": _naive,
    "as the client of 2015": _of_2015,
}


def _main(client: str, url: str) -> None:
    before_mb = peak_memory_mb()
    before_s = time.process_time()
    started_s = time.perf_counter()
    images = CLIENTS[client](url)
    elapsed_s = time.perf_counter() - started_s
    processor_s = time.process_time() - before_s
    figures = {
        "images_per_s": images / elapsed_s,
        "processor_ms": 1000 * processor_s / images,
        "memory_mb": peak_memory_mb() - before_mb,
    }
    sys.stdout.write(json.dumps(figures))


if __name__ == "__main__":
    _main(*sys.argv[1:])
