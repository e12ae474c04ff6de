"""How fast the referee serves and takes in, beside nginx serving the same files in the same run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import requests
from rich.console import Console
from rich.table import Table

from bench import nginx, wrk
from bench.house import (
    PASSWORD,
    TEAM,
    House,
    busy_cores,
    enlarged,
    form_rows,
    house,
    jpegs,
    resident_bytes,
    text_rows,
)
from bench.loaded import Loaded, run_in_turns
from referee.cli.processes import program
from referee.contest import open_contest
from testsets import load_test_set, read_ground_truth

SECONDS = 6.0  # of each load, in so many rounds
ROUNDS = 3
LOOK_S = 1.0
ROWS = 100
SMALLEST, LARGEST = 60_000, 90_000
BATCH = 100
ALL_AT_ONCE_S = 60
IMAGES_PER_S = 1000
ROWS_AN_IMAGE = 25
CONNECTIONS = 16
CONTEST_IMAGES = 20_000
RESULT = Path(__file__).with_name("serving.json")
TEXT, FORM = "text/plain", "application/x-www-form-urlencoded"


class Figures:
    """The rows of the table, printed as they come."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def add(self, what: str, measured: float, target: str = "", *, met: bool | None = None) -> None:
        """Keep one figure."""
        self.rows.append({"what": what, "measured": measured, "target": target, "met": met})
        sys.stderr.write(f"{what}: {measured:.5g} {target}\n")

    def least(self, what: str, measured: float, target: float) -> None:
        """Keep a figure that should reach its target."""
        self.add(what, measured, f">= {target:g}", met=measured >= target)

    def most(self, what: str, measured: float, target: float) -> None:
        """Keep a figure that should not pass its target."""
        self.add(what, measured, f"<= {target:g}", met=measured <= target)


def measure() -> None:
    """Measure all of it; print the table and keep it as JSON."""
    if not (wrk.is_installed() and nginx.is_installed()):
        raise SystemExit(
            "serving: wrk and nginx are needed to measure; on Debian: apt-get install wrk nginx-light"
        )
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="serving-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # nginx's workers are another user
        testset = jpegs(folder / "testset")
        with house(folder / "contest", testset) as contest:
            _images(figures, contest)
            _posts(figures, contest)
            _original_way(figures, contest)
        with house(folder / "busy", testset) as contest:
            _all_at_once(figures, contest)
        _whole_contest(figures, folder, enlarged(testset, folder / "large", CONTEST_IMAGES))
    RESULT.write_text(json.dumps(figures.rows, indent=2) + "\n")
    table = Table("serving", "measured", "target", "")
    for row in figures.rows:
        mark = {True: "ok", False: "missed", None: ""}[row["met"]]
        table.add_row(row["what"], f"{row['measured']:.5g}", row["target"], mark)
    Console().print(table)


def _in_turns(figures: Figures, what: str, loads: Sequence[Loaded]) -> Sequence[Loaded]:
    """Measure them by turns, and tell how busy the machine is without them."""
    figures.add(f"{what}: processors at work before, of {os.cpu_count()}", busy_cores(LOOK_S))
    run_in_turns(loads, ROUNDS, SECONDS / ROUNDS)
    figures.add(f"{what}: processors at work after, of {os.cpu_count()}", busy_cores(LOOK_S))
    return loads


def _write_p50_ms(folder: Path) -> float:
    """What the disk takes for what a commit writes: no POST can be faster."""
    took_s = []
    with (folder / "written").open("wb") as file:
        file.write(bytes(2**20))
        for at in range(200):
            started_s = time.perf_counter()
            file.seek(at % 64 * 2**14)
            file.write(bytes(2**14))
            file.flush()
            os.fdatasync(file.fileno())
            took_s.append(time.perf_counter() - started_s)
    return 1000 * median(took_s)


def _images(figures: Figures, contest: House) -> None:
    files = [image.file for image in load_test_set(contest.testset).images]
    sizes = [(contest.testset / "images" / file).stat().st_size for file in files]
    wanted = [number for number, size in enumerate(sizes, start=1) if SMALLEST <= size <= LARGEST]
    firsts = range(1, len(files) - BATCH + 2, BATCH)
    zips = contest.folder.with_name("zips")
    zips.mkdir()
    for first in firsts:
        batch = contest.ask("GET", f"/v1/images?first={first}&count={BATCH}").content
        (zips / f"{first}.zip").write_bytes(batch)
    ours = [wrk.get(f"/v1/images/{number}", contest.token) for number in wanted]
    theirs = [wrk.get(f"/testset/images/{files[number - 1]}") for number in wanted]
    our_zips = [wrk.get(f"/v1/images?first={first}&count={BATCH}", contest.token) for first in firsts]
    their_zips = [wrk.get(f"/zips/{first}.zip") for first in firsts]
    figures.add("mean size of an image (kB)", sum(sizes[one - 1] for one in wanted) / len(wanted) / 1e3)
    with nginx.serving(contest.folder.parent) as reference:
        loads = [
            *(Loaded(contest, ours, 1), Loaded(reference, theirs, 1)),
            *(Loaded(contest, ours, 8), Loaded(reference, theirs, 8)),
            *(Loaded(contest, our_zips, 1), Loaded(reference, their_zips, 1)),
        ]
        one, nginx_one, eight, nginx_eight, zipped, nginx_zipped = _in_turns(figures, "images", loads)
    figures.add("image, 1 connection: nginx p50 (ms)", nginx_one.p50_ms)
    figures.add("image, 1 connection: p50 (ms)", one.p50_ms)
    figures.most("image, 1 connection: p50 / nginx's", one.p50_ms / nginx_one.p50_ms, 4)
    figures.add("image, 8 connections: nginx (1/s)", nginx_eight.rate_per_s)
    figures.add("image, 8 connections (1/s)", eight.rate_per_s)
    figures.add("image, 8 connections: processor time of the server (us)", eight.processor_us)
    figures.least("image, 8 connections: rate / nginx's", eight.rate_per_s / nginx_eight.rate_per_s, 0.3)
    figures.least("image, 8 connections (GB/s)", eight.bytes_per_s / 1e9, 1)
    figures.add(f"batch of {BATCH}: nginx (GB/s)", nginx_zipped.bytes_per_s / 1e9)
    figures.add(f"batch of {BATCH} (GB/s)", zipped.bytes_per_s / 1e9)
    figures.add(f"batch of {BATCH}: processor time of the server (us)", zipped.processor_us)
    figures.least(f"batch of {BATCH}: bytes/s / nginx's", zipped.bytes_per_s / nginx_zipped.bytes_per_s, 0.8)


def _posts(figures: Figures, contest: House) -> None:
    images = contest.session["images"]
    bodies = [text_rows(ROWS, images, first) for first in (1, 2, 3)]
    text = [wrk.post("/v1/detections", body, TEXT, contest.token) for body in bodies]
    form = [wrk.post("/v1/detections", form_rows(body), FORM, contest.token) for body in bodies]
    loads = [Loaded(contest, text, 1), Loaded(contest, text, 8), Loaded(contest, form, 8)]
    one, many, forms = _in_turns(figures, "posts", loads)
    figures.add("a write of 16 kB and its fdatasync: p50 (ms)", _write_p50_ms(contest.folder))
    figures.most(f"POST of {ROWS}, durable, 1 connection: p50 (ms)", one.p50_ms, 0.5)
    figures.add(f"POST of {ROWS}, 8 connections: processor time of the server (us)", many.processor_us)
    figures.least("text, 8 connections (detections/s)", many.rate_per_s * ROWS, 300_000)
    figures.least("forms, 8 connections (detections/s)", forms.rate_per_s * ROWS, 100_000)
    stored = contest.ask("GET", "/v1/session").json()["detections_accepted"]
    answered = sum(load.requests for load in loads) * ROWS
    if stored < answered:
        raise RuntimeError(f"{answered} detections were acknowledged, {stored} are stored")


def _original_way(figures: Figures, contest: House) -> None:
    """One connection per request and one image per request, by one client, beside the same client kept alive."""
    token, base = contest.token, contest.url
    old = {"token": token, "image_name": "1"}
    row = {"CLASS_ID": "1", "confidence": "0.9", "xmin": "1", "ymin": "2", "xmax": "30", "ymax": "40"}

    def original(number: int) -> None:
        requests.post(f"{base}/image", data=old | {"image_name": str(number)}, timeout=30).raise_for_status()
        answer = requests.post(f"{base}/result", data=old | {"image_name": str(number)} | row, timeout=30)
        answer.raise_for_status()

    with requests.Session() as kept:
        kept.headers["Authorization"] = f"Bearer {token}"

        def version_1(number: int) -> None:
            kept.get(f"{base}/v1/images/{number}", timeout=30).raise_for_status()
            body = f"{number} 1 0.9 1 2 30 40"
            answer = kept.post(f"{base}/v1/detections", body, headers={"Content-Type": TEXT}, timeout=30)
            answer.raise_for_status()

        figures.add(
            "original way, a connection per request (requests/s)", 2 * _calls_per_s(original, contest)
        )
        figures.add(
            "the same client, version 1, one connection (requests/s)", 2 * _calls_per_s(version_1, contest)
        )


def _calls_per_s(call: Callable[[int], None], contest: House) -> float:
    images, done = contest.session["images"], 0
    started_s = time.perf_counter()
    while time.perf_counter() - started_s < SECONDS:
        call(done % images + 1)
        done += 1
    return done / (time.perf_counter() - started_s)


def _all_at_once(figures: Figures, contest: House) -> None:
    """Images, detections, meter, live score and two who poll, all at the same time."""
    images = contest.session["images"]
    gets = [wrk.get(f"/v1/images/{number}", contest.token) for number in range(1, images + 1)]
    bodies = [text_rows(ROWS_AN_IMAGE, 1, number) for number in range(1, images + 1)]
    posts = [wrk.post("/v1/detections", body, TEXT, contest.token) for body in bodies]
    over = threading.Event()
    pollers = [threading.Thread(target=_poll, args=(contest, over)) for _ in range(2)]
    for poller in pollers:
        poller.start()
    time.sleep(5)
    figures.add(f"all at once: processors at work before, of {os.cpu_count()}", busy_cores(LOOK_S))
    getting = wrk.start(contest.url, gets, CONNECTIONS, ALL_AT_ONCE_S, IMAGES_PER_S)
    posting = wrk.start(contest.url, posts, CONNECTIONS, ALL_AT_ONCE_S, IMAGES_PER_S)
    time.sleep(ALL_AT_ONCE_S / 3)
    early, early_score = _memory(contest)
    got, posted = wrk.result(getting), wrk.result(posting)
    late, late_score = _memory(contest)
    over.set()
    for poller in pollers:
        poller.join()
    contest.ask("DELETE", "/v1/session")
    figures.add(f"all at once, {ALL_AT_ONCE_S} s: images/s", got.rate_per_s)
    figures.add(f"all at once: POSTs of {ROWS_AN_IMAGE} detections/s", posted.rate_per_s)
    figures.most("all at once: p99 of GET (ms)", got.p99_ms, 5)
    figures.most("all at once: p99 of POST (ms)", posted.p99_ms, 10)
    figures.most("all at once: longest pause between readings (s)", _longest_pause_s(contest), 0.3)
    figures.add("all at once: memory of the server after a third (MB)", early / 1e6)
    figures.most("all at once: it grows until the end by (MB)", (late - early) / 1e6, 5)
    later = posted.requests * ROWS_AN_IMAGE * 2 / 3
    figures.add("all at once: memory of the live score at the end (MB)", late_score / 1e6)
    figures.add("all at once: it grows with each detection by (bytes)", (late_score - early_score) / later)


def _memory(contest: House) -> tuple[int, int]:
    """Bytes of the server, and of the live score, which must remember every detection."""
    return resident_bytes(contest.server), resident_bytes(contest.server, live_score=True)


def _poll(contest: House, over: threading.Event) -> None:
    headers = {"Authorization": f"Bearer {contest.token}"}
    with requests.Session() as session:
        while not over.wait(0.1):
            session.get(f"{contest.url}/v1/session", headers=headers, timeout=30).raise_for_status()


def _longest_pause_s(contest: House) -> float:
    with open_contest(contest.folder) as opened:
        times = [reading.monotonic_s for reading in opened.store.readings(contest.session["run"], 0.0)]
    return float(np.diff(times).max())


def _whole_contest(figures: Figures, folder: Path, testset: Path) -> None:
    """A client of one connection, with batches, from log-in to logout; its detections are the ground truth."""
    recording = folder / "perfect.csv"
    truth = read_ground_truth(testset)
    files = [image.file for image in load_test_set(testset).images]
    rows = np.column_stack([truth.category, np.full(len(truth.image), 0.9), truth.boxes])
    with recording.open("w") as file:
        file.write("image,class,confidence,xmin,ymin,xmax,ymax\n")
        file.writelines(
            f"{files[image - 1]},{','.join(f'{value:g}' for value in row)}\n"
            for image, row in zip(truth.image, rows, strict=True)
        )
    with house(folder / "whole", testset) as contest:
        password = folder / "password"
        password.write_text(PASSWORD)
        command = [program("lpirc-client"), "replay", contest.url, str(recording), "--testset", str(testset)]
        started_s = time.perf_counter()
        subprocess.run(  # noqa: S603  our own program
            [*command, "--team", TEAM, "--password-file", str(password)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        elapsed_s = time.perf_counter() - started_s
    size = sum((testset / "images" / file).stat().st_size for file in files) / len(files)
    figures.add(f"whole contest: mean size of {CONTEST_IMAGES} images (kB)", size / 1e3)
    figures.least("whole contest, one client with batches (images/s)", CONTEST_IMAGES / elapsed_s, 1000)
