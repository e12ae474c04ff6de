"""A contest being served for measurement: real meter, real server, real JPEGs, each in its own process."""

from __future__ import annotations

import io
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from referee.auth.passwords import hash_password
from referee.cli.contest import config_text
from referee.cli.processes import Child, program
from referee.clock import Clock
from referee.contest import create_contest, open_contest
from testsets import import_coco, load_test_set, synthesize

TEAM, PASSWORD = "bench", "measured"
WINDOW_S = 3600
CATEGORIES = 10
SIZE_PX = (800, 600)
LIVE_SCORE = b"referee.judging.live"
DIFFERENT = 300
"""So many different scenes; a larger set repeats them in files of their own bytes."""


@dataclass(frozen=True)
class House:
    """A contest being served: its folder and test set, its URL, the server's worker, and a team's open session."""

    folder: Path
    testset: Path
    url: str
    server: int
    session: dict[str, Any]

    @property
    def token(self) -> str:
        """What the team's requests bear."""
        return str(self.session["token"])

    def ask(self, method: str, path: str) -> requests.Response:
        """One request of the team."""
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = requests.request(method, self.url + path, headers=headers, timeout=60)
        answer.raise_for_status()
        return answer


def jpegs(folder: Path) -> Path:
    """A test set of photograph-like JPEGs of some 74 kB; gives its folder."""
    synthesize(folder, images=DIFFERENT, categories=CATEGORIES, seed=1, size=SIZE_PX)
    return folder


def enlarged(small: Path, out: Path, images: int) -> Path:
    """A test set of so many images: those of `small` again and again, each a file of its own bytes."""
    files, truth = load_test_set(small), json.loads((small / "ground_truth.json").read_text())
    sources = [small / "images" / image.file for image in files.images]
    folder = out.with_name(out.name + "-source")
    folder.mkdir()
    listed: list[dict[str, Any]] = []
    boxes: list[dict[str, Any]] = []
    by_image: dict[int, list[dict[str, Any]]] = {}
    for box in truth["annotations"]:
        by_image.setdefault(box["image_id"], []).append(box)
    for number in range(1, images + 1):
        like = (number - 1) % len(sources)
        name = f"{number:06d}.jpg"
        (folder / name).write_bytes(_commented(sources[like].read_bytes(), number))
        listed.append(truth["images"][like] | {"id": number, "file_name": name})
        for box in by_image.get(like + 1, []):
            boxes.append(box | {"id": len(boxes) + 1, "image_id": number})
    annotations = out.with_name(out.name + ".json")
    annotations.write_text(json.dumps(truth | {"images": listed, "annotations": boxes}))
    import_coco(annotations, folder, out)
    shutil.rmtree(folder)
    return out


def _commented(jpeg: bytes, number: int) -> bytes:
    """The JPEG with a comment segment behind its first marker."""
    text = f"image {number}".encode()
    return jpeg[:2] + b"\xff\xfe" + (len(text) + 2).to_bytes(2, "big") + text + jpeg[2:]


@contextmanager
def house(folder: Path, testset: Path) -> Iterator[House]:
    """Serve a contest on that test set, images in the order of the set, and log its team in."""
    with ExitStack() as processes:
        folder.mkdir(parents=True)
        parent = ["--parent", str(os.getpid())]
        meter = processes.enter_context(
            Child("meter", [program("meter"), "simulate", *parent], folder / "meter.log")
        )
        text = config_text(
            "Bench", WINDOW_S, meter.first_line(), str(testset), auto_arm=True, update_interval_s=0.1
        )
        create_contest(folder, text.replace("shuffle = true", "shuffle = false"))
        with open_contest(folder) as contest:
            contest.store.add_team(TEAM, hash_password(PASSWORD), Clock().utc())
        serve = [program("referee"), "serve", str(folder), "--port", "0", *parent]
        server = processes.enter_context(Child("server", serve, folder / "server.log"))
        url = server.first_line().split(" at ")[1].split()[0]
        login = requests.post(f"{url}/v1/session", json={"team": TEAM, "password": PASSWORD}, timeout=60)
        login.raise_for_status()
        yield House(folder, testset, url, server.pid, login.json())


def resident_bytes(pid: int, *, live_score: bool = False) -> int:
    """Memory held by a server and its worker, or by the live score beside them."""
    pages = 0
    for process in _family(pid):
        with suppress(OSError):  # it has just ended
            if (LIVE_SCORE in (process / "cmdline").read_bytes()) is live_score:
                pages += int((process / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def processor_s(pid: int) -> float:
    """Processor time that a process and its descendants have taken."""
    ticks = 0
    for process in _family(pid):
        with suppress(OSError):
            ticks += sum(map(int, (process / "stat").read_text().rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def busy_cores(seconds: float) -> float:
    """How many processors are at work, by all that runs on this machine; waits for so long."""
    before = _idle_s()
    started_s = time.perf_counter()
    time.sleep(seconds)
    return (os.cpu_count() or 1) - (_idle_s() - before) / (time.perf_counter() - started_s)


def _idle_s() -> float:
    idle, waiting = Path("/proc/stat").read_text().splitlines()[0].split()[4:6]
    return (int(idle) + int(waiting)) / os.sysconf("SC_CLK_TCK")


def _family(pid: int) -> list[Path]:
    return [
        one
        for one in Path("/proc").glob("[0-9]*")
        if int(one.name) == pid or pid in _ancestors(int(one.name))
    ]


def _ancestors(pid: int) -> list[int]:
    found = []
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            break  # it has just ended
        found.append(pid)
    return found


def text_rows(count: int, images: int, first_image: int = 1) -> bytes:
    """A text body of plausible detections."""
    lines = io.StringIO()
    for row in range(count):
        image, category = first_image + row % images, 1 + row % CATEGORIES
        x, y = 10.5 + row % 300, 20.25 + row % 200
        lines.write(
            f"{image} {category} {0.999 - row / 2000:.6f} {x:.6f} {y:.6f} {x + 90:.6f} {y + 70:.6f}\n"
        )
    return lines.getvalue().encode()


def form_rows(body: bytes) -> bytes:
    """The same rows as a form of parallel lists."""
    names = ("image_name", "CLASS_ID", "confidence", "xmin", "ymin", "xmax", "ymax")
    return "&".join(
        f"{name}={value}"
        for line in body.decode().splitlines()
        for name, value in zip(names, line.split(), strict=True)
    ).encode()
