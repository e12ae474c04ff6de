"""Files handed in by upload: what is refused and why, where an entry stands, what nobody may know yet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests

from lpirc_testsets import read_ground_truth, synthesize
from referee.clock import Clock
from referee.contest import open_contest
from referee.errors import RefereeError
from referee.scoring import Detections, evaluate
from referee.store.records import JobKind
from referee.tracks.submissions.entries import take_entry
from referee.tracks.submissions.results_files import HOLDOUT, PUBLIC, results_set
from referee.workers.processes import LocalWorkers
from tests.contest_day import PASSWORD, TEAM, Day, contest_day, problem, until

TEAMS = (TEAM, "bee", "cat")
TRACKS = """
[[tracks]]
name = "files"
rule = "results"
testset = "{testset}"
holdout_until = {until}
submissions_per_day = 3

[[tracks]]
name = "over"
rule = "results"
testset = "{testset}"
holdout_until = 2020-01-01T00:00:00Z

[[tracks]]
name = "models"
rule = "ovic-detection"
testset = "{testset}"
"""
FUTURE, PAST = "2999-01-01T00:00:00Z", "2020-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets") / "set"
    return synthesize(folder, images=40, categories=2, seed=4, size=(64, 64)).folder


@pytest.fixture
def day(tmp_path: Path, images: Path) -> Iterator[Day]:
    with contest_day(tmp_path / "contest", images, teams=TEAMS) as made:
        with (made.folder / "contest.toml").open("a") as file:
            file.write(TRACKS.format(testset=images, until=FUTURE))
        yield made


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory, images: Path) -> Iterator[Day]:
    with contest_day(tmp_path_factory.mktemp("hall") / "contest", images, teams=TEAMS) as made:
        with (made.folder / "contest.toml").open("a") as file:
            file.write(TRACKS.format(testset=images, until=FUTURE))
        made.serve()
        yield made


def rows_of(images: Path, misses: int = 0) -> list[list[float]]:
    """Every object found, but for those of the first images."""
    truth = read_ground_truth(images)
    columns = [truth.image, truth.category, np.full(len(truth.image), 0.5), *truth.boxes.T]
    rows: list[list[float]] = np.stack(columns, 1)[truth.image > misses].tolist()
    return rows


def csv_of(rows: list[list[float]]) -> bytes:
    return "\n".join(["image,class,confidence,xmin,ymin,xmax,ymax", *(",".join(map(str, row)) for row in rows)]).encode()


def hand_in(day: Day, body: bytes, team: str = TEAM, track: str = "files", name: str = "a.csv") -> requests.Response:
    assert day.server is not None
    path = f"/v1/entries?track={track}&name={name}"
    return day.server.ask("POST", path, data=body, auth=(team, PASSWORD))


def own(day: Day, number: int | None = None, team: str = TEAM) -> Any:
    assert day.server is not None
    path = "/v1/entries" if number is None else f"/v1/entries/{number}"
    answer = day.server.ask("GET", path, auth=(team, PASSWORD))
    return answer.json()


def scored(day: Day, answer: requests.Response, team: str = TEAM) -> dict[str, Any]:
    assert answer.status_code == 202, answer.text
    number = answer.json()["id"]
    until(lambda: own(day, number, team)["state"] not in ("waiting", "scoring"))
    document: dict[str, Any] = own(day, number, team)
    return document


def board(day: Day, track: str = "files") -> dict[str, Any]:
    assert day.server is not None
    document: dict[str, Any] = day.server.ask("GET", f"/tracks/{track}.json").json()
    return document


def expected(day: Day, rows: list[list[float]], split: str) -> float:
    """The mAP of rows on a part, computed here."""
    with open_contest(day.folder) as contest:
        part = set(results_set(contest, contest.config.tracks[0]).images(split))
    truth = read_ground_truth(day.testset)
    is_kept = np.isin(truth.image_ids, list(part))
    names = tuple(name for name, kept in zip(truth.image_names, is_kept, strict=True) if kept)
    truth = truth.of_objects(np.isin(truth.image, list(part)))
    truth = replace(truth, image_ids=truth.image_ids[is_kept], image_names=names)
    own_rows = np.array([row for row in rows if row[0] in part])
    return 100 * evaluate(truth, Detections.from_rows(own_rows)).map


def test_it(hall: Day, images: Path) -> None:
    rows = rows_of(images, misses=9)
    answer = hand_in(hall, csv_of(rows))
    print(answer.text)
    print(scored(hall, answer))
    print(board(hall))
    print(hall.server.ask("GET", "/tracks/files").text)
    assert board(hall)["places"][0]["score"] == expected(hall, rows, PUBLIC)
    assert 0
