"""Files are dated when their last byte came and checked later: over real sockets, with servers that are killed.

What someone could gain: bytes after the deadline, another file under a begun upload, a referee kept busy by a file of
nothing but problems, a queue full of one team's files.
"""

from __future__ import annotations

import errno
import hashlib
import os
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import requests

from lpirc_testsets import synthesize
from lpirc_tracks.submissions.check_queue import CheckQueue, in_turn
from lpirc_tracks.submissions.open_track import configured_track
from lpirc_tracks.submissions.publishing import board_document, final_board
from lpirc_tracks.submissions.receiving import ARRIVED, Offer, append, receive_body
from lpirc_tracks.submissions.results_files import kept_upload
from lpirc_tracks.submissions.resumable import ResumableUploads, Stated
from referee.clock import Clock
from referee.contest import Contest, open_contest
from referee.errors import RefereeError, StorageFailed
from referee.evidence.signed_statement import is_by
from referee.store.hash_links import entry_text
from referee.store.model_records import Submission
from tests.contest_day import PASSWORD, TEAM, Day, contest_day, problem, until
from tests.referee.factories import DrivenClock
from tests.tracks.web.test_entries import csv_of, own, rows_of

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)

TEAMS = (TEAM, *(f"team-{number}" for number in range(40)))
TRACK = """
[[tracks]]
name = "files"
rule = "results"
testset = "{testset}"
holdout_until = {until}
publish_automatically = true
submissions_per_day = 6
"""
FUTURE = "2999-01-01T00:00:00Z"
PAST = "2020-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets") / "set"
    return synthesize(
        folder,
        images=40,
        categories=2,
        seed=4,
        size=(64, 64),
    ).folder


@pytest.fixture
def day(tmp_path: Path, images: Path) -> Iterator[Day]:
    with contest_day(tmp_path / "contest", images, teams=TEAMS) as made:
        with (made.folder / "contest.toml").open("a") as file:
            file.write(TRACK.format(testset=images, until=FUTURE))
        yield made


def move_deadline(
    day: Day,
    until_utc: str,
    before: str = FUTURE,
) -> None:
    config = day.folder / "contest.toml"
    config.write_text(
        config.read_text().replace(
            f"holdout_until = {before}",
            f"holdout_until = {until_utc}",
        )
    )


def post(
    day: Day,
    body: bytes,
    team: str = TEAM,
    more: str = "",
) -> requests.Response:
    assert day.server is not None
    path = f"/v1/entries?track=files&name=a.csv{more}"
    return day.server.ask("POST", path, data=body, auth=(team, PASSWORD))


def tus(
    day: Day,
    method: str,
    path: str,
    body: bytes = b"",
    **headers: str,
) -> requests.Response:
    assert day.server is not None
    sent = {"Tus-Resumable": "1.0.0"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return day.server.ask(
        method,
        path,
        data=body,
        auth=(TEAM, PASSWORD),
        headers=sent,
    )


def begun(day: Day, whole: bytes, *, of: bytes | None = None) -> str:
    """The address of an upload of `whole`, or one that states the SHA-256 of another file."""
    sha256 = hashlib.sha256(whole if of is None else of).hexdigest()
    stated = {
        "track": "files",
        "name": "a.csv",
        "sha256": sha256,
    }
    pairs = ",".join(
        f"{key} {b64encode(value.encode()).decode()}" for key, value in stated.items()
    )
    answer = tus(
        day,
        "POST",
        "/v1/uploads",
        Upload_Length=str(len(whole)),
        Upload_Metadata=pairs,
    )
    assert answer.status_code == 201, answer.text
    return answer.headers["Location"]


def patch(
    day: Day,
    path: str,
    offset: int,
    part: bytes,
) -> requests.Response:
    kind = "application/offset+octet-stream"
    return tus(day, "PATCH", path, part, Upload_Offset=str(offset), Content_Type=kind)


def stored(
    contest: Contest,
    team: str,
    body: bytes,
    clock: Clock,
) -> Submission:
    return receive_body(
        contest,
        clock,
        Offer(configured_track(contest, "files"), team, "a.csv"),
        [body],
    )


def test_an_upload_counts_by_its_last_byte_and_the_deadline_that_is_in_force_then(
    day: Day,
    images: Path,
) -> None:
    body = csv_of(rows_of(images))
    with open_contest(day.folder) as contest:
        clock = DrivenClock()
        config = configured_track(contest, "files")
        deadline = clock.utc() + timedelta(seconds=100)
        object.__setattr__(config, "holdout_until", deadline)

        def dripped(late_s: float) -> Iterator[bytes]:
            yield body[:10]
            clock.advance((deadline - clock.utc()).total_seconds() + late_s)
            yield body[10:]

        made = receive_body(contest, clock, Offer(config, TEAM, "a.csv"), dripped(-1))
        assert (
            (deadline - timedelta(seconds=1)).isoformat()
            <= made.accepted_utc
            < deadline.isoformat()
        )
        clock.advance(-50)
        with pytest.raises(RefereeError, match="was closed at"):
            receive_body(contest, clock, Offer(config, "team-1", "a.csv"), dripped(0))
        assert not list((day.folder / "uploads").iterdir())
        assert [one.team for one in contest.store.submissions.all("files")] == [TEAM]


def test_an_upload_to_a_track_that_the_operator_must_put_right_waits_instead_of_being_refused(
    day: Day,
    images: Path,
) -> None:
    body = csv_of(rows_of(images))
    with open_contest(day.folder) as contest:
        number = stored(contest, TEAM, body, DrivenClock()).id
    config = day.folder / "contest.toml"
    right = config.read_text()
    config.write_text(
        right.replace("holdout_until", "holdout_part = 1e-9\nholdout_until")
    )
    for is_right in (False, True):
        if is_right:
            config.write_text(right)
        with (
            open_contest(day.folder) as contest,
            closing(CheckQueue(contest, Clock(), lambda: None)) as checks,
        ):
            assert checks.check_next() == is_right
            assert contest.store.submissions.get(number).is_unchecked != is_right
    config.write_text(
        right.replace("holdout_until", "holdout_part = 1e-9\nholdout_until")
    )
    day.serve()
    problem(post(day, body, "team-1"), 503, "not-ready")


def test_an_upload_goes_on_after_a_killed_server_and_ends_by_the_new_deadline(
    day: Day,
    images: Path,
) -> None:
    body = csv_of(rows_of(images))
    server = day.serve()
    path = begun(day, body)
    late = begun(day, csv_of(rows_of(images, 3)))
    assert patch(day, path, 0, body[:100]).headers["Upload-Offset"] == "100"
    document = problem(patch(day, path, 50, body[50:]), 409, "offset-mismatch")
    assert document["offset"] == 100
    problem(patch(day, path, 100, body[100:] + b"x"), 413, "too-large")
    server.kill()
    day.serve()
    assert tus(day, "HEAD", path).headers["Upload-Offset"] == "100"
    done = patch(day, path, 100, body[100:])
    number = int(done.headers["Content-Location"].rpartition("/")[2])
    assert own(day, number)["sha256"] == hashlib.sha256(body).hexdigest()
    problem(tus(day, "GET", "/v1/entries/999"), 404, "entry-unknown")
    assert tus(day, "HEAD", path).status_code == 404
    other = csv_of(rows_of(images, 9))
    wrong = begun(day, other, of=body)  # resumed with another file
    problem(patch(day, wrong, 0, other), 409, "upload-mismatch")
    assert tus(day, "HEAD", wrong).status_code == 404
    assert day.server is not None
    day.server.end()
    move_deadline(day, PAST)
    day.serve()
    problem(patch(day, late, 0, b"image,class"), 409, "track-closed")


def test_an_upload_that_a_killed_server_had_whole_but_not_received_goes_on_at_its_last_byte(
    day: Day,
) -> None:
    with open_contest(day.folder) as contest:
        uploads = ResumableUploads(contest, Clock())
        whole, part = (
            uploads.create(Stated(TEAM, "files", "a.csv", 5, "a")) for _ in range(2)
        )
        append(whole.path, [b"12345"])
        append(part.path, [b"1234"])
        arrived = uploads.create(Stated(TEAM, "files", "a.csv", 5, "a"))
        append(arrived.path, [b"12345"])
        # It was about to get its row.
        arrived.path.rename(arrived.path.with_suffix(ARRIVED))
        after_restart = ResumableUploads(contest, Clock())
        assert [
            after_restart.find(one.number, TEAM).offset
            for one in (whole, part, arrived)
        ] == [4, 4, 4]


def test_an_acknowledged_upload_is_checked_after_the_server_was_killed_and_its_receipt_holds(
    day: Day,
    images: Path,
) -> None:
    server = day.serve()
    bodies = {team: csv_of(rows_of(images, at)) for at, team in enumerate(TEAMS[:5])}
    answers = {team: post(day, body, team) for team, body in bodies.items()}
    server.kill()
    (day.folder / "uploads" / "of-a-killed-server.arrived").touch()
    day.serve()
    for team, answer in answers.items():
        assert answer.status_code == 202, answer.text
        shown = answer.json()
        receipt = answer.json()["receipt"]
        what = [
            receipt[key]
            for key in ("team", "track", "file", "size", "sha256", "received_utc")
        ]
        text = entry_text(receipt["contest"], receipt["entry"], *what)
        assert is_by(receipt["public_key"], text.encode(), receipt["signature"])
        assert receipt["sha256"] == hashlib.sha256(bodies[team]).hexdigest()
        assert receipt["size"] == len(bodies[team])
        assert receipt["received_utc"] == shown["accepted_utc"]
        until(
            lambda team=team, shown=shown: (
                own(day, shown["id"], team)["state"] == "scored"
            )
        )  # type: ignore[misc]
        assert own(day, shown["id"], team)["receipt"] == receipt
    assert not list((day.folder / "uploads").iterdir())


def test_forty_uploads_at_once_are_all_taken_and_dated(day: Day, images: Path) -> None:
    day.serve()
    rows = csv_of(rows_of(images))
    before = datetime.now(UTC).isoformat()
    blanks = b"\n" * 2**21

    def send(team: str) -> requests.Response:
        return post(day, rows + blanks + b"\n" * TEAMS.index(team), team)

    with ThreadPoolExecutor(40) as pool:
        answers = list(pool.map(send, TEAMS[1:]))
    after = datetime.now(UTC).isoformat()
    assert [answer.status_code for answer in answers] == [202] * 40, [
        one.text for one in answers
    ][:3]
    dates = [answer.json()["accepted_utc"] for answer in answers]
    assert before <= min(dates) <= max(dates) <= after


def test_a_file_of_nothing_but_problems_ends_at_a_thousand_and_leaves_its_team_its_attempt(
    day: Day,
) -> None:
    day.serve()
    assert day.server is not None
    path = "/v1/entries?track=files&name=a.json&wait=60"
    bomb = b"[" + b"[]," * 1_000_000 + b"[]]"
    document = problem(
        day.server.ask("POST", path, data=bomb, auth=(TEAM, PASSWORD)),
        422,
        "bad-detections",
    )
    assert len(document["problems"]) == 1000
    assert document["total"] == 1000
    assert "the rest of the file was not read" in document["detail"]
    shown = own(day, document["entry"])
    assert shown["state"] == "refused"
    assert shown["problem"]["code"] == "bad-detections"
    with day.store() as store:
        assert store.submissions.used("files", TEAM, Clock().utc()) == 0
    assert not list((day.folder / "models").iterdir())


def test_teams_are_checked_in_turn_and_each_in_its_own_order() -> None:
    def sent(number: int, team: str) -> Submission:
        return Submission(
            number,
            "",
            "files",
            team,
            "public",
            "",
            "a.csv",
            "",
            "",
            counts=True,
        )

    waiting = [
        sent(1, "a"),
        sent(2, "a"),
        sent(3, "b"),
        sent(4, "a"),
        sent(5, "c"),
    ]
    assert [one.id for one in in_turn(waiting, [])] == [1, 3, 5, 2, 4]
    assert [one.id for one in in_turn(waiting, ["b", "a"])] == [5, 3, 1, 2, 4], (
        "who was served last comes last"
    )


def test_the_final_board_waits_for_what_came_in_time_and_for_what_may_replace_it(
    day: Day,
    images: Path,
) -> None:
    with open_contest(day.folder) as contest:
        clock = DrivenClock()
        # Of a day that does not end during the test.
        clock.set_forward_s = (NOON - clock.utc()).total_seconds()
        config = configured_track(contest, "files")
        deadline = clock.utc() + timedelta(seconds=10)
        object.__setattr__(config, "holdout_until", deadline)
        good = stored(contest, "team-1", csv_of(rows_of(images)), clock)
        broken = stored(contest, TEAM, b"image,class", clock)
        clock.advance(20)

        def shown() -> dict[str, Any]:
            return board_document(contest, config, clock.utc())

        assert shown()["published"] is None
        assert shown()["provisional"] == "Provisional: 2 entries are being scored."
        with pytest.raises(RefereeError, match="2 entries are being scored"):
            final_board(contest, config, clock.utc())
        checks = CheckQueue(contest, clock, lambda: None)
        while checks.check_next():
            pass
        checks.close()
        assert shown()["being_scored"] == 1
        contest.store.entries.withdraw(good.id, "a trial", "ops", clock.utc())
        assert "may be replaced until" in shown()["provisional"]
        again = Offer(config, TEAM, "b.csv", broken.id)
        made = receive_body(contest, clock, again, [csv_of(rows_of(images, 2))])
        assert made.limit_day == broken.accepted_utc[:10]
        with pytest.raises(RefereeError, match="has already been replaced"):
            receive_body(contest, clock, again, [csv_of(rows_of(images, 3))])
        other = Offer(config, "team-2", "b.csv", broken.id)
        with pytest.raises(RefereeError, match="has no upload"):
            receive_body(contest, clock, other, [csv_of(rows_of(images, 3))])
        own_good = Offer(config, "team-1", "b.csv", good.id)
        with pytest.raises(RefereeError, match="was not found broken"):
            receive_body(contest, clock, own_good, [csv_of(rows_of(images, 3))])
        clock.advance(60 * config.replacement_minutes)
        with pytest.raises(RefereeError, match="could be replaced only until"):
            receive_body(contest, clock, again, [csv_of(rows_of(images, 3))])
        assert shown()["provisional"] == "Provisional: 1 entry is being scored."


def test_an_upload_whose_file_is_gone_waits_until_it_is_put_back(
    day: Day,
    images: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    body = csv_of(rows_of(images))
    clock = DrivenClock()
    with open_contest(day.folder) as contest:
        made = stored(contest, TEAM, body, clock)
        checks = CheckQueue(contest, clock, lambda: None)
        path = kept_upload(contest, made)
        path.unlink()
        assert not checks.check_next()
        assert not checks.check_next()
        (said,) = caplog.messages
        assert said.startswith(
            f"entry 1 of {TEAM}: The upload {path} is gone, so its entry waits; put the file back "
        )
        path.write_bytes(body)
        assert checks.check_next()
        checks.close()
        assert contest.store.submissions.unchecked() == []
        assert contest.store.uploads.of_submission(made.id).problem is None


def checked(contest: Contest, clock: Clock) -> bool:
    checks = CheckQueue(contest, clock, lambda: None)
    try:
        return checks.check_next()
    finally:
        checks.close()


def put_journal_elsewhere(day: Day, journal: Path) -> None:
    config = day.folder / "contest.toml"
    config.write_text(f'{config.read_text()}\n[journal]\npath = "{journal}"\n')


def test_an_acknowledged_upload_is_also_on_the_disk_of_a_shared_journal(
    day: Day,
    images: Path,
    tmp_path: Path,
) -> None:
    put_journal_elsewhere(day, tmp_path / "other")
    with open_contest(day.folder) as contest:
        clock = DrivenClock()
        made = stored(contest, TEAM, csv_of(rows_of(images)), clock)
        broken = stored(contest, "team-1", b"image,class", clock)
        kept_upload(contest, made).unlink()  # with the first host
        assert checked(contest, clock)
        assert contest.store.submissions.get(made.id).withdrawn is None
        assert kept_upload(contest, made).is_file()
        copies = tmp_path / "other" / "models"
        assert len(list(copies.iterdir())) == 2
        assert checked(contest, clock)
        assert contest.store.submissions.get(broken.id).withdrawn is not None
        assert [one.name for one in copies.iterdir()] == [
            kept_upload(contest, made).name
        ]


def test_what_cannot_be_copied_to_the_journals_disk_is_not_acknowledged(
    day: Day,
    images: Path,
    tmp_path: Path,
) -> None:
    put_journal_elsewhere(day, tmp_path / "other")
    with open_contest(day.folder) as contest:
        contest.store.teams.require(TEAM)
        copies = tmp_path / "other" / "models"
        copies.touch()
        with pytest.raises(
            RefereeError,
            match="cannot be copied to the journal's disk",
        ):
            stored(contest, TEAM, csv_of(rows_of(images)), DrivenClock())
        assert contest.store.submissions.all("files") == []
        assert not list((day.folder / "uploads").iterdir())


def test_an_upload_that_the_referee_cannot_store_goes_on_at_its_last_byte(
    day: Day,
    images: Path,
    tmp_path: Path,
) -> None:
    put_journal_elsewhere(day, tmp_path / "other")
    day.serve()
    copies = tmp_path / "other" / "models"
    whole = csv_of(rows_of(images))
    copies.touch()
    path = begun(day, whole)
    problem(patch(day, path, 0, whole), 503, "storage-failed")
    assert tus(day, "HEAD", path).headers["Upload-Offset"] == str(len(whole) - 1)
    copies.unlink()
    answer = patch(day, path, len(whole) - 1, whole[-1:])
    assert answer.status_code == 204, answer.text
    number = int(answer.headers["Content-Location"].rpartition("/")[2])
    until(lambda: own(day, number)["state"] == "scored")
    assert not list((day.folder / "uploads").iterdir())


def test_what_cannot_be_stored_does_not_harm_the_same_file_of_another_team(
    day: Day,
    images: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = csv_of(rows_of(images))
    with open_contest(day.folder) as contest:
        kept = kept_upload(contest, stored(contest, "team-1", body, DrivenClock()))
        uploads = ResumableUploads(contest, Clock())
        digest = hashlib.sha256(body).hexdigest()
        one = uploads.create(Stated(TEAM, "files", "a.csv", len(body), digest))

        def fails(*_: object) -> None:
            raise StorageFailed("The journal's disk does not answer.")

        monkeypatch.setattr(contest.store.uploads, "receive", fails)
        with pytest.raises(StorageFailed):
            uploads.add(one, 0, [body])
        assert kept.read_bytes() == body
        assert uploads.find(one.number, TEAM).offset == len(body) - 1
        monkeypatch.undo()
        made = uploads.add(one, len(body) - 1, [body[-1:]])
        assert made is not None
        assert kept_upload(contest, made).read_bytes() == body


def test_an_upload_is_received_on_a_file_system_without_links(
    day: Day,
    images: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", fails)
    body = csv_of(rows_of(images))
    with open_contest(day.folder) as contest:
        made = stored(contest, TEAM, body, DrivenClock())
        assert kept_upload(contest, made).read_bytes() == body
    assert not list((day.folder / "uploads").iterdir())


def test_a_file_that_cannot_be_removed_does_not_end_the_checks(
    day: Day,
    images: Path,
    tmp_path: Path,
) -> None:
    put_journal_elsewhere(day, tmp_path / "other")
    with open_contest(day.folder) as contest:
        clock = DrivenClock()
        broken = stored(contest, "team-1", b"image,class", clock)
        copy = tmp_path / "other" / "models" / kept_upload(contest, broken).name
        copy.unlink()
        copy.mkdir()
        assert checked(contest, clock)
        assert contest.store.submissions.get(broken.id).withdrawn is not None
        made = stored(contest, TEAM, csv_of(rows_of(images)), clock)
        assert checked(contest, clock)
        assert not contest.store.submissions.get(made.id).is_unchecked


def test_uploads_that_begin_and_end_at_the_same_time_do_not_disturb_each_other(
    day: Day,
) -> None:
    with open_contest(day.folder) as contest:
        uploads = ResumableUploads(contest, Clock())

        def begin_and_end(team: str) -> None:
            for _ in range(200):
                one = uploads.create(Stated(team, "files", "a.csv", 10, "0" * 64))
                uploads.remove(uploads.find(one.number, team))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(begin_and_end, TEAMS[:4]))


def test_an_upload_that_another_request_has_just_ended_is_unknown(day: Day) -> None:
    with open_contest(day.folder) as contest:
        uploads = ResumableUploads(contest, Clock())
        one = uploads.create(Stated(TEAM, "files", "a.csv", 10, "0" * 64))
        uploads.remove(one)
        with pytest.raises(RefereeError, match="There is no upload"):
            uploads.add(one, 0, [b"a"])


def test_broken_files_of_before_the_deadline_buy_one_attempt_after_it_and_not_several(
    day: Day,
    images: Path,
) -> None:
    with open_contest(day.folder) as contest:
        clock = DrivenClock()
        config = configured_track(contest, "files")
        deadline = clock.utc() + timedelta(seconds=100)
        elsewhere = timezone(timedelta(hours=2))
        object.__setattr__(config, "holdout_until", deadline.astimezone(elsewhere))
        early = stored(contest, TEAM, b"image", clock)
        assert checked(contest, clock)
        receive_body(
            contest,
            clock,
            Offer(config, TEAM, "a.csv", early.id),
            [csv_of(rows_of(images, 1))],
        )
        broken = [
            stored(contest, TEAM, b"image,%d" % number, clock) for number in range(2)
        ]
        clock.advance(100)
        while checked(contest, clock):
            pass
        first, second = (Offer(config, TEAM, "a.csv", one.id) for one in broken)
        receive_body(contest, clock, first, [csv_of(rows_of(images, 2))])
        with pytest.raises(RefereeError, match="a file may replace only one entry"):
            receive_body(contest, clock, second, [csv_of(rows_of(images, 3))])
