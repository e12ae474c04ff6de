"""Files handed in by upload: what is refused and why, where an entry stands, what nobody may know yet."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests

from lpirc_score import Detections, evaluate
from lpirc_score.detections.files import HEADER
from lpirc_testsets import read_ground_truth, synthesize
from lpirc_tracks.submissions.check_queue import CheckQueue
from lpirc_tracks.submissions.entries import entry_document
from lpirc_tracks.submissions.kept_models import (
    keep_model,
    kept_model,
)
from lpirc_tracks.submissions.open_track import configured_track
from lpirc_tracks.submissions.receiving import Offer, receive_body
from lpirc_tracks.submissions.results_files import (
    HOLDOUT,
    LARGEST_JSON_BYTES,
    PUBLIC,
    RETRY_S,
    EntryDesk,
    check_file,
    results_set,
)
from referee.clock import Clock
from referee.config.tracks import ModelTrack
from referee.contest import Contest, open_contest, read_secrets
from referee.errors import RefereeError
from referee.store.model_records import JobKind, Submission
from tests.confinement import UNCONFINED
from tests.contest_day import (
    PASSWORD,
    TEAM,
    Day,
    contest_day,
    problem,
    until,
)
from tests.referee.factories import DrivenClock
from tests.tflite_models import classifier, detector

TEAMS = (TEAM, "bee", "cat")
TRACKS = (
    """
[[tracks]]
name = "files"
rule = "results"
testset = "{testset}"
holdout_until = {until}
submissions_per_day = 3

[[tracks]]
name = "own"
rule = "results"
testset = "{testset}"

[[tracks]]
name = "over"
rule = "results"
testset = "{testset}"
holdout_until = 2020-01-01T00:00:00Z

[[tracks]]
name = "watts"
rule = "dac-sdc"
testset = "{testset}"

[[tracks]]
name = "lost"
rule = "results"
testset = "nowhere"

[[tracks]]
name = "unruly"
rule = "chess"
testset = "{testset}"

[[tracks]]
name = "models"
rule = "ovic-detection"
testset = "{testset}"
"""
    + UNCONFINED
)
FUTURE = "2999-01-01T00:00:00Z"
PAST = "2020-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets") / "set"
    return synthesize(
        folder,
        images=80,
        categories=2,
        seed=4,
        size=(64, 64),
    ).folder


@pytest.fixture
def day(tmp_path: Path, images: Path) -> Iterator[Day]:
    with contest_day(tmp_path / "contest", images, teams=TEAMS) as made:
        with (made.folder / "contest.toml").open("a") as file:
            file.write(TRACKS.format(testset=images, until=FUTURE))
        yield made


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory, images: Path) -> Iterator[Day]:
    with contest_day(
        tmp_path_factory.mktemp("hall") / "contest",
        images,
        teams=TEAMS,
    ) as made:
        with (made.folder / "contest.toml").open("a") as file:
            file.write(TRACKS.format(testset=images, until=FUTURE))
        made.serve()
        yield made


def test_a_team_s_own_page_lists_its_entries_and_nobody_else_s(
    hall: Day, images: Path
) -> None:
    assert hall.server is not None
    # On a track of its own, since the tests of the track "files" count its places.
    hand_in(
        hall,
        csv_of(rows_of(images)),
        "cat",
        "own",
        name="mine.csv",
    )
    credentials = ("cat", PASSWORD)

    def told(path: str) -> Any:
        assert hall.server is not None
        return hall.server.ask("GET", path, auth=credentials).json()

    until(lambda: told("/v1/entries")[-1]["state"] == "scored")
    until(lambda: told("/v1/team")["uploads"] == told("/v1/entries"))
    (entry,) = [one for one in told("/v1/team")["uploads"] if one["file"] == "mine.csv"]
    assert entry["state"] == "scored"
    others = hall.server.ask("GET", "/v1/team", auth=("bee", PASSWORD)).json()
    assert "mine.csv" not in [one["file"] for one in others["uploads"]]


def test_the_same_file_of_two_teams_is_in_the_attention_line_until_one_is_withdrawn(
    day: Day, images: Path
) -> None:
    day.serve()
    body = csv_of(rows_of(images, misses=20))
    first = hand_in(day, body)
    assert attention(day) == []
    hand_in(day, csv_of(rows_of(images, misses=21)), "cat")
    hand_in(day, body, "bee", name="theirs.csv")
    until(lambda: attention(day))
    (found,) = attention(day)
    sha256 = hashlib.sha256(body).hexdigest()
    assert found["code"] == "equal-files"
    assert found["sentence"] == (
        f"Track files: Teams {TEAM}, bee handed in the same file, SHA-256 {sha256[:12]}."
    )
    assert f"! {found['sentence']}" in day.refers("status").stdout.splitlines()
    withdrawn = day.refers(
        *(
            "model",
            "withdraw",
            str(first.json()["id"]),
            "--reason",
            "of another team",
        )
    )
    assert withdrawn.returncode == 0, withdrawn.stderr
    until(lambda: not attention(day))


def attention(day: Day) -> list[dict[str, Any]]:
    """What operators are told of the uploads."""
    assert day.server is not None
    key = read_secrets(day.folder)[1].hex()
    found = day.server.ask("GET", "/operator/status", key).json()["attention"]
    return [one for one in found if one["sentence"].startswith("Track ")]


def rows_of(images: Path, misses: int = 0) -> list[list[float]]:
    """Every object found, but for those of the first images."""
    truth = read_ground_truth(images)
    columns = [
        truth.image,
        truth.category,
        np.full(len(truth.image), 0.5),
        *truth.boxes.T,
    ]
    rows: list[list[float]] = np.stack(columns, 1)[truth.image > misses].tolist()
    return rows


def rows_without(day: Day, images: Path, split: str) -> list[list[float]]:
    """Every object found, but for those of nine images of one part of the set, which is drawn for each contest."""
    with open_contest(day.folder) as contest:
        part = results_set(contest, contest.config.tracks[0]).images(split)
    missed = set(part[:9])
    return [row for row in rows_of(images) if row[0] not in missed]


def csv_of(rows: list[list[float]]) -> bytes:
    return "\n".join(
        [
            "image,class,confidence,xmin,ymin,xmax,ymax",
            *(",".join(map(str, row)) for row in rows),
        ]
    ).encode()


def hand_in(
    day: Day,
    body: bytes,
    team: str = TEAM,
    track: str = "files",
    name: str = "a.csv",
) -> requests.Response:
    assert day.server is not None
    path = f"/v1/entries?track={track}&name={name}&wait=60"
    return day.server.ask("POST", path, data=body, auth=(team, PASSWORD))


def checked_entry(
    contest: Contest,
    config: ModelTrack,
    team: str,
    file: str,
    body: bytes,
) -> Submission:
    """A file that was received and found sound; nothing has asked for its score."""
    made = receive_body(contest, Clock(), Offer(config, team, file), [body])
    with closing(CheckQueue(contest, Clock(), lambda: None)) as checks:
        assert checks.check_next()
    return contest.store.submissions.get(made.id)


def own(day: Day, number: int | None = None, team: str = TEAM) -> Any:
    assert day.server is not None
    path = "/v1/entries" if number is None else f"/v1/entries/{number}"
    answer = day.server.ask("GET", path, auth=(team, PASSWORD))
    return answer.json()


def scored(
    day: Day,
    answer: requests.Response,
    team: str = TEAM,
) -> dict[str, Any]:
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
    names = tuple(
        name for name, kept in zip(truth.image_names, is_kept, strict=True) if kept
    )
    truth = truth.of_objects(np.isin(truth.image, list(part)))
    truth = replace(
        truth,
        image_ids=truth.image_ids[is_kept],
        image_names=names,
    )
    own_rows = np.array([row for row in rows if row[0] in part])
    return 100 * evaluate(truth, Detections.from_rows(own_rows)).map


def test_files_are_scored_on_the_public_part_as_by_the_scorer_and_ranked_with_ties(
    hall: Day,
    images: Path,
) -> None:
    rows = rows_of(images, misses=8)
    fewer = rows_of(images, misses=48)
    answer = hand_in(hall, csv_of(rows))
    assert answer.status_code == 202, answer.text
    # The worker may have been faster than the answer.
    assert answer.json()["state"] in (
        "waiting",
        "scoring",
        "scored",
    )
    entry = scored(hall, answer)
    assert entry["state"] == "scored"
    assert entry["score"] == expected(hall, rows, PUBLIC)
    coco = [
        {
            "image_id": int(row[0]),
            "category_id": int(row[1]),
            "score": row[2],
            "bbox": box,
        }
        for row in fewer
        for box in [
            [
                row[3],
                row[4],
                row[5] - row[3] + 1,
                row[6] - row[4] + 1,
            ]
        ]
    ]
    other = scored(
        hall,
        hand_in(hall, json.dumps(coco).encode(), "bee", name="b.json"),
        "bee",
    )
    assert other["score"] == expected(hall, fewer, PUBLIC)
    until(lambda: len(board(hall)["places"]) == 2)
    places = board(hall)["places"]
    assert [(one["rank"], one["team"], one["score"]) for one in places] == [
        (1, TEAM, entry["score"]),
        (2, "bee", other["score"]),
    ]
    listed = json.loads(
        hall.refers("model", "board", "--track", "files", "--json").stdout
    )["places"]
    assert [one["metric"] for one in listed] == [
        entry["score"],
        other["score"],
    ]
    assert "interrupted" not in hall.refers("model", "list").stdout
    # A third one is as good as the first.
    rows.append([*rows[-1][:2], 0.01, 0, 0, 1, 1])  # below all others: no AP changes
    scored(hall, hand_in(hall, csv_of(rows), "cat"), "cat")
    until(lambda: len(board(hall)["places"]) == len(TEAMS))
    level = {one["team"]: one["level_with"] for one in board(hall)["places"]}
    assert level == {TEAM: ["cat"], "cat": [TEAM], "bee": []}
    page = hall.server.ask("GET", "/tracks/files").text if hall.server else ""
    assert "<td>cat</td>" in page
    for address in ("/", "/tracks/files.json", "/docs/entries"):
        assert f'<a href="{address}">' in page
    assert '<time datetime="' in page
    assert (
        'href="/tracks/files"'
        in hall.server.ask("GET", "/", headers={"Accept": "text/html"}).text
    )  # type: ignore[union-attr]


def test_every_problem_of_a_file_is_in_the_answer_and_nothing_of_it_is_left(
    hall: Day,
    images: Path,
) -> None:
    rows = [
        [f"nowhere-{line}.jpg", *row[1:]]
        for line, row in enumerate(rows_of(images)[:25])
    ]
    document = problem(hand_in(hall, csv_of(rows)), 422, "bad-detections")
    assert [one["line"] for one in document["problems"]] == list(range(2, 27))
    assert document["problems"][24]["problem"].startswith(
        "image 'nowhere-24.jpg' is unknown; the ids are 1 to "
    )
    assert document["detail"].startswith(
        "line 2: image 'nowhere-0.jpg' is unknown; the ids"
    )
    assert "(and 24 more" in document["detail"]
    many = "\n".join([HEADER, *["x,1,1,1,1,1,1"] * 1500]).encode()
    document = problem(hand_in(hall, many), 422, "bad-detections")
    assert len(document["problems"]) == 1000
    assert document["total"] == 1000
    assert (
        "(and 999 more problems; the rest of the file was not read)"
        in document["detail"]
    )
    other_set = json.dumps(
        [
            {
                "image_id": 900,
                "category_id": 1,
                "score": 1,
                "bbox": [0, 0, 1, 1],
            }
        ]
    ).encode()
    document = problem(
        hand_in(hall, other_set, name="a.json"),
        422,
        "bad-detections",
    )
    assert document["detail"].startswith("entry 1: image_id 900 is unknown; the ids a")
    problem(hand_in(hall, b"no rows at all"), 422, "unreadable-file")
    entries = [one for team in TEAMS for one in own(hall, team=team)]
    kept = {one["sha256"] for one in entries if one["state"] != "refused"}
    assert {path.stem for path in (hall.folder / "models").iterdir()} == kept


def test_what_cannot_be_taken_is_refused_with_its_reason(
    hall: Day,
    images: Path,
) -> None:
    assert hall.server is not None
    body = csv_of(rows_of(images, misses=20))
    first = hand_in(hall, body, "bee", name="first.csv")
    document = problem(
        hand_in(hall, body, "bee", name="again.csv"),
        409,
        "entry-repeated",
    )
    assert document["entry"] == first.json()["id"]
    problem(hand_in(hall, body, track="none"), 404, "track-unknown")
    for path in (
        "/v1/entries?trakc=files&name=a.csv",
        f"/v1/entries/{document['entry']}?trakc=files",
    ):
        method = "POST" if "&" in path else "GET"
        asked = hall.server.ask(method, path, data=body, auth=(TEAM, PASSWORD))
        told = problem(asked, 400, "bad-request")["detail"]
        assert told.startswith("The query has the unknown parameter 'trakc'; the ")
    problem(hand_in(hall, body, track="over"), 409, "track-closed")
    problem(
        hand_in(hall, body, name="a.tflite"),
        415,
        "unsupported-media-type",
    )
    problem(
        hand_in(hall, body, track="models"),
        415,
        "unsupported-media-type",
    )
    wrong = hall.server.ask(
        "POST",
        "/v1/entries?track=files&name=a.csv",
        data=body,
        auth=("bee", "wrong"),
    )
    problem(wrong, 401, "bad-credentials")
    problem(
        hall.server.ask(
            "POST",
            "/v1/entries?track=files&name=a.csv",
            data=body,
        ),
        401,
        "token-missing",
    )
    problem(
        hall.server.ask(
            "GET",
            f"/v1/entries/{document['entry']}",
            auth=(TEAM, PASSWORD),
        ),
        404,
        "entry-unknown",
    )
    host = f"Host: {hall.server.host}\r\nAuthorization: Basic Y2F0OnNpeCBsZWdz"  # of team cat
    head = f"POST /v1/entries?track=files&name=a.csv HTTP/1.1\r\n{host}\r\nContent-Length: "
    assert b"413 " in hall.server.raw(f"{head}{2**28 + 1}\r\n\r\n".encode(), cut=True)
    before = own(hall, team="cat")
    hall.server.raw(
        f"{head}{len(body)}\r\n\r\n".encode() + body[:-9],
        cut=True,
    )
    assert own(hall, team="cat") == before
    assert not [
        path for path in (hall.folder / "models").iterdir() if path.name.startswith(".")
    ]


def test_what_only_the_organiser_can_set_right_is_said_without_its_path(
    hall: Day,
) -> None:
    for answer in (
        hand_in(hall, b"1 1 1 1 1 1 1", track="lost"),
        hand_in(hall, b"TFL3", track="unruly", name="m.tflite"),
        hall.server.ask("GET", "/tracks/unruly") if hall.server else None,
    ):
        assert answer is not None
        document = problem(answer, 503, "not-ready")
        assert (
            document["detail"]
            == "The organiser must correct this; the referee's log has the reason."
        )
    closed = problem(
        hand_in(hall, detector(), track="watts", name="m.tflite"),
        409,
        "track-closed",
    )
    assert "no device of the track has reported a meter yet" in closed["detail"]


def test_json_is_taken_as_far_as_it_can_be_read_within_a_gigabyte(
    day: Day,
    tmp_path: Path,
) -> None:
    with open_contest(day.folder) as contest:
        of = results_set(contest, contest.config.tracks[0])
    large = tmp_path / "named.csv"
    large.write_bytes(b"[".ljust(4096))
    os.truncate(large, LARGEST_JSON_BYTES + 1)  # of zeros, which take no space
    with pytest.raises(
        RefereeError,
        match=r"^The JSON file has 67108865 bytes; at most 64 MiB are accepted. Send CSV",
    ):
        check_file(large, of, tmp_path / "columns.npz")


def test_a_corrected_track_scores_what_it_has_again_and_one_that_is_gone_says_so(
    day: Day,
    images: Path,
) -> None:
    rows = rows_without(day, images, PUBLIC)
    config = day.folder / "contest.toml"
    day.serve()
    before = scored(day, hand_in(day, csv_of(rows)))["score"]
    assert day.server is not None
    day.server.end()
    (day.folder / "uploads").mkdir(exist_ok=True)
    (day.folder / "uploads" / "of a killed server.csv").touch()
    config.write_text(
        config.read_text().replace(
            'rule = "results"',
            'rule = "results"\nmetric = "coco"',
            1,
        )
    )
    day.serve()
    until(lambda: [one["state"] for one in own(day)] == ["scored", "scored"])
    earlier, later = own(day)
    assert earlier["score"] == before
    assert earlier["sha256"] == later["sha256"]
    assert later["score"] != before
    shown = board(day)
    assert [(one["team"], one["score"]) for one in shown["places"]] == [
        (TEAM, later["score"])
    ]
    assert shown["entries"] == 1
    assert shown["failed"] == 0
    assert not list((day.folder / "uploads").iterdir())
    answer = hand_in(day, detector(), track="models", name="m.tflite")
    day.server.end()
    config.write_text(config.read_text().replace('name = "models"', 'name = "renamed"'))
    day.serve()
    until(lambda: own(day, answer.json()["id"])["state"] == "failed")
    reason = own(day, answer.json()["id"])["reason"]
    assert reason == "The contest has no track models any more."
    assert len(own(day)) == 3


def test_an_entry_whose_test_set_is_away_is_scored_once_that_is_back(
    tmp_path: Path,
    images: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    kept = Path(shutil.copytree(images, tmp_path / "set"))
    with contest_day(tmp_path / "contest", images, teams=TEAMS) as day:
        with (day.folder / "contest.toml").open("a") as file:
            file.write(TRACKS.format(testset=kept, until=FUTURE))
        with open_contest(day.folder) as contest:
            desk = EntryDesk(contest, clock := DrivenClock())
            config = configured_track(contest, "files")
            made = checked_entry(
                contest,
                config,
                TEAM,
                "a.csv",
                csv_of(rows_of(images)),
            )
            kept.rename(tmp_path / "away")
            desk.ask()
            until(lambda: "the track files" in caplog.text)
            (tmp_path / "away").rename(kept)

            def is_measured() -> bool:
                clock.advance(RETRY_S)
                return contest.store.submissions.get(made.id).measurement is not None

            until(is_measured)
            desk.close()


def test_refused_files_cost_nothing_of_the_days_limit(day: Day, images: Path) -> None:
    day.serve()
    answers = []
    while not answers or answers[-1].status_code == 202:
        if len(answers) < 3:  # the limit is looked at before the file
            problem(hand_in(day, b"image,class"), 422, "unreadable-file")
        answers.append(hand_in(day, csv_of(rows_of(images, len(answers)))))
    document = problem(answers[-1], 409, "submission-limit")
    assert len(answers) - 1 >= 3, "more, if a day began meanwhile"
    assert document["used"] == 3
    assert document["limit"] == 3
    assert re.search(r" on \d{4}-\d\d-\d\d; hand in", document["detail"])
    assert day.server is not None
    with_token = day.server.ask("GET", "/v1/entries", day.login()["token"])  # of a run
    assert [one["id"] for one in with_token.json()] == [one["id"] for one in own(day)]


def test_a_crash_loses_no_entry_and_no_one_sees_a_hold_out_figure_before_its_date(
    day: Day,
    images: Path,
) -> None:
    rows = rows_without(day, images, HOLDOUT)  # so no figure of both parts is the same
    server = day.serve()
    number = hand_in(day, csv_of(rows)).json()["id"]
    server.kill()
    day.serve()
    until(lambda: own(day, number)["state"] == "scored")
    with day.store() as store:
        until(lambda: all(one.measurement for one in store.submissions.all("files")))
        by_split = {
            one.split: one.measurement.metric
            for one in store.submissions.all("files")
            if one.measurement
        }
        twin = next(
            one for one in store.submissions.all("files") if one.split == HOLDOUT
        )
    assert by_split == {
        split: expected(day, rows, split) for split in (PUBLIC, HOLDOUT)
    }
    assert day.server is not None
    for path in (
        "/tracks/files.json",
        "/tracks/files",
        "/v1/entries",
        f"/v1/entries/{number}",
        "/",
        "/board.json",
    ):
        text = day.server.ask(
            "GET",
            path,
            headers={"Accept": "text/html"},
            auth=(TEAM, PASSWORD),
        ).text
        assert f"{by_split[HOLDOUT]:.3f}"[:-1] not in text, path
    problem(
        day.server.ask("GET", f"/v1/entries/{twin.id}", auth=(TEAM, PASSWORD)),
        404,
        "entry-unknown",
    )
    day.server.end()
    config = day.folder / "contest.toml"
    config.write_text(config.read_text().replace(FUTURE, PAST))
    day.serve()
    assert [one["score"] for one in own(day)] == [by_split[PUBLIC]], (
        "no one has published the final board"
    )
    code = json.loads(day.refers("model", "publish", "files", "--json").stdout)["code"]
    assert day.refers("model", "publish", "files", "--as-listed", code).returncode == 0
    until(lambda: board(day)["published"] is not None)
    final = board(day)
    assert final["split"] == HOLDOUT
    assert final["places"][0]["score"] == by_split[HOLDOUT]
    assert final["places"][0]["public_score"] == by_split[PUBLIC]
    assert [one["score"] for one in own(day)] == list(by_split.values())


def test_an_entry_says_where_it_stands_at_every_moment_and_why_it_failed(
    day: Day,
    images: Path,
) -> None:
    with (
        open_contest(day.folder) as contest,
        closing(EntryDesk(contest, Clock())) as desk,
    ):
        config = contest.config.tracks[0]
        store = contest.store
        first = checked_entry(
            contest,
            config,
            TEAM,
            "a.csv",
            csv_of(rows_of(images)),
        )
        made = checked_entry(
            contest,
            config,
            TEAM,
            "b.csv",
            csv_of(rows_of(images, 1)),
        )

        def state() -> dict[str, Any]:
            return entry_document(store, store.submissions.get(made.id))

        assert state()["state"] == "waiting"
        assert state()["place"] == 3
        assert state()["attempts"] == 0
        assert (
            store.jobs.lease(
                JobKind.SCORING,
                "a worker",
                Clock().utc(),
                60.0,
                made.job,
            )
            is not None
        )
        assert state()["state"] == "scoring"
        assert state()["by"] == "a worker"
        store.jobs.give_back(
            str(made.job),
            "a worker",
            "it stopped",
            Clock().utc(),
            failed=True,
        )
        assert state()["state"] == "waiting"
        assert state()["attempts"] == 1
        assert state()["reason"] == "it stopped"
        (day.folder / "models" / f"{made.model_sha256}.csv").write_text("damaged")
        # As after the server has gone through what waited.
        shutil.rmtree(day.folder / "columns")
        desk.ask()
        until(lambda: state()["state"] == "failed")
        assert "line 1 is neither seven values nor the header" in state()["reason"]
        assert str(day.folder) not in state()["reason"]
        assert store.jobs.get(str(made.job)).failures == 3
        # What failed costs nothing.
        assert store.submissions.used("files", TEAM, Clock().utc()) == 1
        again = checked_entry(
            contest,
            config,
            TEAM,
            "b.csv",
            csv_of(rows_of(images, 1)),
        )
        desk.ask()
        until(
            lambda: (
                entry_document(store, store.submissions.get(again.id))["state"]
                == "scored"
            )
        )
        until(
            lambda: (
                entry_document(store, store.submissions.get(first.id)).get("score")
                == 100
            )
        )


def test_a_model_is_checked_and_waits_for_a_device(
    day: Day,
) -> None:
    day.serve()
    refused = problem(
        hand_in(day, classifier(), track="models", name="m.tflite"),
        422,
        "model-refused",
    )
    assert len(refused["refusals"]) >= 1
    assert all(one.startswith("m.tflite: ") for one in refused["refusals"]), refused
    assert refused["detail"] == f"The model is refused: {refused['refusals'][0]}"
    answer = hand_in(day, detector(), track="models", name="m.tflite")
    assert (answer.status_code, answer.json()["state"]) == (
        202,
        "waiting",
    ), answer.text
    with day.store() as store:
        (made,) = (
            one for one in store.submissions.all("models") if one.withdrawn is None
        )
        job = store.jobs.get(str(made.job))
    assert job.kind == JobKind.MEASURING
    assert job.about == f"submission {made.id}"
    assert "in the queue" in day.refers("model", "list").stdout


def test_a_server_that_cannot_confine_models_takes_none_and_says_what_to_do(
    day: Day,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = tmp_path / "models.sock"
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(left))
    monkeypatch.setenv("REFEREE_MODELS", str(left))
    config = day.folder / "contest.toml"
    config.write_text(config.read_text().replace(UNCONFINED, ""))
    day.serve()
    problem(
        hand_in(day, detector(), track="models", name="m.tflite"),
        503,
        "not-ready",
    )
    # Results files do not run.
    assert hand_in(day, csv_of(rows_of(day.testset))).status_code == 202
    with day.store() as store:
        assert store.submissions.all("models") == []
    sentence = f"The track models takes no models: The systemd unit for models at {left} does not answer"
    # At the start, and now.
    until(lambda: (day.folder / "server.log").read_text().count(sentence) >= 2)


def test_a_model_whose_name_ends_in_capitals_is_found_again(
    day: Day,
) -> None:
    sha256 = hashlib.sha256(b"model").hexdigest()
    made = Submission(
        1,
        "",
        "models",
        TEAM,
        PUBLIC,
        "b",
        "M.ONNX",
        sha256,
        "",
        counts=True,
    )
    with open_contest(day.folder) as contest:
        keep_model(day.folder, b"model", sha256, "m.onnx")
        assert kept_model(contest, made) == b"model"
