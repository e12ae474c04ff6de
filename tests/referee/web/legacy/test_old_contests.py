"""Whole conversations of old clients, and what the original referee did wrong."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from flask import Flask
from itsdangerous import URLSafeSerializer
from PIL import Image as Picture

from lpirc_testsets import TestSet, load_test_set, read_ground_truth
from lpirc_testsets.folder import Category, Image, sha256_of
from lpirc_testsets.writing import ObjectRecord, new_folder, write_records
from referee.store.records import RunState
from referee.web.app import create_app
from referee.web.legacy import old_routes as legacy
from tests.contest_day import HASH, PASSWORD, TEAM, Day, contest_day, shared, until
from tests.referee.factories import House, station
from tests.referee.web.legacy.old_clients import OldClient, posted, spoken
from tests.referee.web.two_stations import arm_both, two_stations

GOLDEN_IMAGES = 20_120
GOLDEN_CATEGORIES = 200
GOLDEN_ROWS = 49_013
SIZE = (16, 12)
STORED = (200, "Result stored in the server database\n")
INVALID_TOKEN = (401, "Invalid Token\n")
BOX = ["0.500000", "0.000000", "0.000000", "5.000000", "5.000000"]


def client_of(day: Day, team: str = TEAM) -> OldClient:
    assert day.server is not None
    return OldClient(day.server, team=team)


def count(day: Day, run: int = 1) -> int:
    with day.store() as store:
        return store.posts.count_detections(run)


# The clients


def test_a_client_of_2015(day: Callable[..., Day]) -> None:
    made = day()
    client = client_of(made)
    assert posted(client.server, "/help", "", "GET").status == 200
    assert client.log_in().status == 200
    images = int(client.ask("/no_of_images").body)
    rows = [
        [str(1 + n % images), str(1 + n % 3), f"{n / 100:.6f}", *BOX[1:]]
        for n in range(12)
    ]
    last: list[list[str]] = []
    for number in range(1, images + 1, 2):
        for index in (number, number + 1):
            told = client.ask("/image", image_name=index)
            assert told.status == 200
            assert told.body.startswith(b"\xff\xd8")
            assert told.body.endswith(b"\xff\xd9")
        for _ in range(2):
            # Out of rows, the sample client posts its last lines again and again.
            last = rows[:5] or last
            rows = rows[5:]
            assert client.post(last).plain == STORED
    assert client.ask("/logout").plain == (200, "Logout success\n")
    assert client.ask("/image", image_name=1).plain == INVALID_TOKEN
    run = made.run()
    assert run.state == RunState.CLOSED
    assert run.closed_by == "logout"
    assert count(made) == 12


def test_a_client_of_2017_with_zips_and_a_crash(day: Callable[..., Day]) -> None:
    made = day()
    client = client_of(made)
    client.log_in("/get_token")
    told = client.ask("/zipimages", image_name=1)
    with zipfile.ZipFile(io.BytesIO(told.body)) as archive:
        names = archive.namelist()
        assert all(archive.read(name).startswith(b"\xff\xd8") for name in names)
    assert names == [f"{number}.jpg" for number in range(1, 7)]
    for name in names[:3]:
        assert client.post([[name, "2", *BOX], [name, "3", *BOX]]).plain == STORED
    again = client_of(made)  # the board was started anew
    again.log_in()
    assert again.token == client.token
    for name in names[3:]:
        assert again.post([[name, "2", *BOX]]).plain == STORED
    assert again.ask("/logout", "GET").plain == (200, "Logout success\n")
    with made.store() as store:
        assert store.posts.detections(1)[:, 0].tolist() == [1, 1, 2, 2, 3, 3, 4, 5, 6]
    assert len(made.runs(RunState.CLOSED)) == 1


@pytest.fixture(scope="module")
def golden_day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """A contest as large as that of 2015, its images the same tiny picture under many names."""
    out = tmp_path_factory.mktemp("golden") / "set"
    with new_folder(out) as folder:
        first = folder / "images" / "1.jpg"
        Picture.new("RGB", SIZE).save(first)
        sha256 = sha256_of(first)
        images = [
            Image(n, f"{n}.jpg", *SIZE, sha256, str(n))
            for n in range(1, GOLDEN_IMAGES + 1)
        ]
        for image in images[1:]:
            os.link(first, folder / "images" / image.file)
        categories = [
            Category(n, f"synset {n}") for n in range(1, GOLDEN_CATEGORIES + 1)
        ]
        objects = [ObjectRecord(1, 159, (1.0, 2.0, 3.0, 4.0), 12.0)]
        write_records(folder, "golden", images, categories, objects)
    with contest_day(tmp_path_factory.mktemp("day") / "contest", out) as made:
        made.serve()
        yield made


@pytest.mark.slow
def test_every_row_of_2015_is_stored_as_it_was_written(golden_day: Day) -> None:
    lines = shared("lpirc2015", "golden_output.txt").read_text().splitlines()
    rows = [line.split() for line in lines]
    assert len(rows) == GOLDEN_ROWS
    client = client_of(golden_day)
    client.log_in()
    assert client.ask("/no_of_images").plain == (200, str(GOLDEN_IMAGES))
    # Five at a time, as in 2015, and then more, to be quick.
    cuts = [*range(0, 500, 5), *range(500, GOLDEN_ROWS, 700), GOLDEN_ROWS]
    for start, stop in pairwise(cuts):
        assert client.post(rows[start:stop]).plain == STORED
    with golden_day.store() as store:
        assert np.array_equal(store.posts.detections(1), np.array(rows, np.float64))


@pytest.mark.slow
def test_zips_begin_at_1_101_201_and_the_last_one_is_shorter(golden_day: Day) -> None:
    client = client_of(golden_day)
    client.log_in()
    for index, last in (
        (1, 100),
        (101, 200),
        (20_101, GOLDEN_IMAGES),
    ):
        told = client.ask("/zipimages", image_name=index)
        with zipfile.ZipFile(io.BytesIO(told.body)) as archive:
            assert archive.namelist() == [
                f"{number}.jpg" for number in range(index, last + 1)
            ]
    for index in (2, 100, 102, 1001 + 50, GOLDEN_IMAGES, 20_201):
        assert client.ask("/zipimages", image_name=index).plain == (
            406,
            "Image index out of range\n",
        )


def test_inverted_boxes_are_judged_as_false_detections(day: Callable[..., Day]) -> None:
    made = day()
    client = client_of(made)
    client.log_in()
    # The images count by the old routes, too.
    assert client.ask("/zipimages", image_name=1).status == 200
    truth = read_ground_truth(made.testset)
    with made.store() as store:
        order = store.runs.image_order(1).tolist()
    boxes = [
        [order.index(image) + 1, category, "0.9", *box]
        for image, category, box in zip(
            truth.image.tolist(),
            truth.category.tolist(),
            truth.boxes.tolist(),
            strict=True,
        )
    ]
    turned = [[*row[:2], "0.95", row[5], row[6], row[3], row[4]] for row in boxes]
    assert client.post(boxes).plain == STORED
    assert client.post(turned).plain == STORED
    client.ask("/logout")
    judged = json.loads(made.refers("judge", "1", "--json").stdout)
    assert judged["detections"] == 2 * len(boxes)
    assert 0.4 < judged["map"] < 0.8  # each true box comes after a false one


# What the original did wrong. "Windows only" is held by the machine that runs this.


def test_the_window_does_not_start_before_the_meter(day: Callable[..., Day]) -> None:
    made = day()
    made.meter.kill()
    assert client_of(made).log_in().plain == (500, "Powermeter not connected\n")
    assert made.runs(RunState.OPEN) == []
    made.revive_meter()
    assert client_of(made).log_in().status == 200
    with made.store() as store:
        kinds = [
            event["kind"] for event in store.log.of_run(made.runs(RunState.OPEN)[0].id)
        ]
    assert kinds.index("meter-start") < kinds.index("open")


def test_a_timeout_does_not_wait_for_the_next_request(day: Callable[..., Day]) -> None:
    made = day(window_s=1)
    client_of(made).log_in()
    until(lambda: made.runs(RunState.CLOSED))
    assert made.run().closed_by == "deadline"
    assert made.run().elapsed_s == 1.0


def test_another_team_s_log_in_does_not_reset_the_integration(
    day: Callable[..., Day],
) -> None:
    made = day(teams=(TEAM, "bee"))
    client_of(made).log_in()

    def integrator_s() -> float:
        with made.store() as store:
            readings = store.readings.of_run(1, 0.0)
        return readings[-1].integrator_s if readings else 0.0

    until(lambda: integrator_s() >= 1.0)
    before_s = integrator_s()
    assert client_of(made, "bee").log_in().plain == (500, "Powermeter not connected\n")
    assert client_of(made).log_in().status == 200
    until(lambda: integrator_s() > before_s)
    assert made.run().id == 1


def test_logging_in_again_keeps_the_results_and_the_clock(
    hall: Day,
    token: str,
) -> None:
    client = client_of(hall)
    client.token = token
    assert client.post([["1", "1", "0.111111", *BOX[1:]]]).plain == STORED
    before = count(hall)
    started_s = hall.run().start_s
    assert client.log_in().plain == (200, token)
    assert count(hall) == before
    assert hall.run().start_s == started_s


def test_nothing_is_written_before_all_of_it_was_checked(hall: Day, token: str) -> None:
    client = client_of(hall)
    client.token = token
    before = count(hall)
    good = ["1", "1", "0.222222", *BOX[1:]]
    for bad in (
        ["one", "1", *BOX],
        ["1", "1000", *BOX],
        ["99", "1", *BOX],
        ["1", "1", "high", *BOX[1:]],
    ):
        told = client.server.ask(
            "POST",
            "/v1/detections",
            token,
            {"Content-Type": "text/csv"},
            data="\n".join(map(",".join, [good] * 20 + [bad])),
        )
        assert told.status_code == 422
    assert count(hall) == before


def test_a_token_carries_no_password(token: str) -> None:
    # Begins with a dot where packing made it shorter.
    payload = token.partition(".")[2].rpartition(".")[0]
    read = URLSafeSerializer("").load_payload(payload.encode())
    assert set(read) == {"run", "team", "expires_s", "nonce", "epoch"}
    assert PASSWORD not in json.dumps(read)


def test_passwords_are_kept_as_hashes_only(hall: Day) -> None:
    with hall.store() as store:
        assert (store.teams.password_hash(TEAM) or "").startswith("$argon2id$")
    for file in hall.folder.iterdir():
        if file.is_file():
            assert PASSWORD.encode() not in file.read_bytes()


def test_each_contest_signs_with_a_secret_of_its_own(
    hall: Day,
    token: str,
    tmp_path: Path,
    tiny_set: Path,
) -> None:
    with contest_day(tmp_path / "other", tiny_set) as other:
        other.serve()
        assert (other.folder / "secret").read_text() != (
            hall.folder / "secret"
        ).read_text()
        stranger = client_of(other)
        stranger.log_in()
        stranger.token = token
        assert stranger.ask("/verify").plain == INVALID_TOKEN


def asked(day: Day, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(day.folder / "contest.db")) as connection:
        return connection.execute(sql).fetchall()


def test_numbers_are_stored_as_numbers_and_no_data_as_none(
    hall: Day,
    token: str,
) -> None:
    client = client_of(hall)
    client.token = token
    client.post([["1", "1", "0.333333", *BOX[1:]]])
    until(lambda: asked(hall, "SELECT 1 FROM readings WHERE run = 1 AND power_w > 1"))
    kinds = (
        "SELECT DISTINCT typeof(rows), typeof(row_count), typeof(elapsed_s) FROM posts"
    )
    assert asked(hall, kinds) == [("blob", "integer", "real")]
    assert not asked(
        hall,
        "SELECT 1 FROM readings WHERE 'text' IN (typeof(power_w), typeof(energy_wh))",
    )
    # 9.91E+37 is the meter's way to say that it has no data.
    assert not asked(
        hall,
        "SELECT 1 FROM readings WHERE max(power_w, energy_wh, voltage_v) > 1e30",
    )


def test_images_do_not_come_from_a_directory_listing(
    day: Callable[..., Day],
    tmp_path: Path,
) -> None:
    made = day()
    client = client_of(made)
    client.log_in()
    first = client.ask("/image", image_name=1).body
    images = load_test_set(made.testset)
    stray = images.image_path(1).with_name("0.jpg")
    stray.write_bytes(b"\xff\xd8 not of the test set")
    try:
        assert client.ask("/no_of_images").plain == (200, "6")
        assert client.ask("/image", image_name=1).body == first
        assert client.ask("/image", image_name=7).plain == (
            406,
            "Image index out of range\n",
        )
    finally:
        stray.unlink()


def test_no_meter_row_comes_by_http(hall: Day, token: str) -> None:
    client = client_of(hall)
    client.token = token
    for path in ("/postpm", "/powermeter", "/csvsave"):
        assert client.ask(path, player=TEAM, voltage="120.0").status == 404
    before = len(asked(hall, "SELECT 1 FROM readings"))
    until(lambda: len(asked(hall, "SELECT 1 FROM readings")) > before)


# Head to head, which those clients know nothing of


def heat(day: Callable[..., Day]) -> Day:
    """A team armed at each of two stations for one start signal."""
    made = two_stations(day, auto_arm=False)
    arm_both(made, "final")
    return made


def test_an_old_log_in_waits_for_the_start_signal(
    day: Callable[..., Day],
    threads: ThreadPoolExecutor,
) -> None:
    made = heat(day)
    clients = [client_of(made), client_of(made, "bee")]
    waiting = [threads.submit(client.log_in) for client in clients]

    def given() -> bool:
        told = made.refers("run", "start", "final")
        assert told.returncode == 0 or "has not logged in" in told.stderr
        return told.returncode == 0

    until(given)
    assert [one.result().status for one in waiting] == [200, 200]
    assert [client.ask("/verify").plain for client in clients] == [
        (200, "Valid Token\n")
    ] * 2
    first, second = made.runs(RunState.OPEN)
    assert first.start_s == second.start_s
    assert clients[0].ask("/logout").status == 200
    assert clients[1].ask("/verify").plain == (200, "Valid Token\n")


def test_of_two_old_log_ins_of_a_team_the_newest_waits(
    day: Callable[..., Day],
    threads: ThreadPoolExecutor,
) -> None:
    made = heat(day)
    first = threads.submit(client_of(made).log_in)
    until(lambda: any(event["kind"] == "waiting" for event in events(made)))
    second = threads.submit(client_of(made).log_in)
    assert first.result().plain == (500, "Powermeter not connected\n")
    assert made.refers("run", "start", "final", "--anyway").returncode == 0
    assert second.result().status == 200


def events(day: Day) -> list[dict[str, Any]]:
    with day.store() as store:
        return store.log.of_run(1)


@pytest.fixture
def app(
    build: Callable[..., House],
    small_set: TestSet,
    tmp_path: Path,
) -> tuple[House, Flask]:
    """The app on a clock that a test drives, over a test set of its own."""
    copied = load_test_set(Path(shutil.copytree(small_set.folder, tmp_path / "set")))
    house = build(
        station("one"),
        station("two"),
        testset=str(copied.folder),
        auto_arm=True,
    )
    house.store.teams.add(TEAM, HASH, house.clock.utc())
    return house, create_app(house.contest, house.control, house.clock)


LOGIN = {"username": TEAM, "password": PASSWORD}


def test_an_old_log_in_does_not_wait_for_ever(
    app: tuple[House, Flask],
    threads: ThreadPoolExecutor,
) -> None:
    house, flask = app
    house.control.arm(TEAM, "one", "final")
    waiting = threads.submit(flask.test_client().post, "/login", data=LOGIN)
    until(lambda: house.store.log.of_run(1)[-1]["kind"] == "waiting")
    house.clock.advance(legacy.START_TIMEOUT_S)
    answer = waiting.result()
    assert answer.status_code == 500
    assert answer.text == "Powermeter not connected\n"


def test_an_image_that_is_gone_is_not_found(app: tuple[House, Flask]) -> None:
    house, flask = app
    for file in (house.contest.test_set.folder / "images").iterdir():
        file.unlink()
    client = flask.test_client()
    token = client.post("/login", data=LOGIN).text
    for path in ("/image", "/zipimages"):
        answer = client.post(path, data={"token": token, "image_name": "1"})
        assert answer.status_code == 500
        assert answer.text == "Image not found\n"


def test_a_request_of_1_0_without_a_length_is_a_form_without_fields(hall: Day) -> None:
    assert hall.server is not None
    told = spoken(hall.server, b"POST /login HTTP/1.0\r\n\r\n")
    assert told.plain == (401, "Missing username or password\n")
    form = urlencode({"username": TEAM, "password": PASSWORD})
    head = f"GET /login HTTP/1.0\r\nContent-Length: {len(form)}\r\n\r\n"
    assert spoken(hall.server, head.encode() + form.encode()).status == 200
