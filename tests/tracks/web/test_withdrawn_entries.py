"""Entries that are withdrawn and restored, and final boards that an operator publishes, over the real server.

What someone could gain: a withdrawn file that wins by its hold-out part, a second try for a withdrawn one, the same
file again, a rival who is withdrawn along with one's own copy of his file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets import synthesize
from lpirc_tracks.submissions.open_track import configured_track
from lpirc_tracks.submissions.publishing import final_board, publish
from lpirc_tracks.submissions.results_files import HOLDOUT, PUBLIC, EntryDesk
from referee.clock import Clock
from referee.contest import open_contest
from referee.errors import RefereeError
from referee.store.model_records import JobKind, JobState, Submission
from referee.store.publication_table import PublicationTable
from tests.contest_day import PASSWORD, TEAM, Day, contest_day, problem, until
from tests.tracks.web.test_entries import (
    board,
    checked_entry,
    csv_of,
    hand_in,
    own,
    rows_of,
    scored,
)

FUTURE = "2999-01-01T00:00:00Z"
PAST = "2020-01-01T00:00:00Z"
TRACK = """
[[tracks]]
name = "files"
rule = "results"
testset = "{testset}"
holdout_until = {until}
submissions_per_day = 2

[[tracks]]
name = "open"
rule = "results"
testset = "{testset}"
"""


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
    with contest_day(tmp_path / "contest", images, teams=(TEAM, "bee")) as made:
        with (made.folder / "contest.toml").open("a") as file:
            file.write(TRACK.format(testset=images, until=FUTURE))
        yield made


def close_track(day: Day, more: str = "") -> None:
    """Serve the contest again, its track's `holdout_until` over, with more settings of it."""
    if day.server is not None:
        day.server.end()
    config = day.folder / "contest.toml"
    config.write_text(config.read_text().replace(FUTURE, PAST + more))
    day.serve()


def told(day: Day, *words: str) -> Any:
    result = day.refers(*words, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def refusal(day: Day, *words: object) -> str:
    result = day.refers(*map(str, words))
    assert result.returncode == 1, result.stdout
    return result.stderr


def scored_on_both(day: Day, misses: int, team: str) -> int:
    """The number of an entry that is scored on both parts."""
    number: int = scored(
        day,
        hand_in(day, csv_of(rows_of(day.testset, misses)), team),
        team,
    )["id"]
    with day.store() as store:
        until(lambda: all(one.measurement for one in store.submissions.all("files")))
    return number


def board_once(day: Day, *, is_published: bool) -> dict[str, Any]:
    """The board once it shows what was just done: the same one is shown to all who ask within a second."""
    until(lambda: (board(day)["published"] is not None) == is_published)
    return board(day)


def acts(day: Day) -> list[dict[str, Any]]:
    with day.store() as store:
        newest_first = store.log.newest_after(0, 1000)[1]
    events = reversed(newest_first)
    return [
        one["detail"]
        for one in events
        if one["detail"].get("action", "").startswith("model-")
    ]


def test_a_withdrawn_entry_wins_no_board_and_a_final_one_is_published_by_an_operators_act(
    day: Day,
) -> None:
    day.serve()
    best = scored_on_both(day, 0, TEAM)
    other = scored_on_both(day, 20, "bee")
    stdout = day.refers(
        "model", "withdraw", str(best), "--reason", "of another team"
    ).stdout
    assert "of another team" in stdout
    parts = [one for one in told(day, "model", "list") if one["team"] == TEAM]
    assert [(one["split"], one["withdrawn"]) for one in parts] == [
        (PUBLIC, "of another team"),
        (HOLDOUT, "of another team"),
    ]
    assert all(one["withdrawn_utc"] and one["withdrawn_by"] for one in parts)
    assert own(day, best)["state"] == "withdrawn"
    for flags in ((), ("--holdout",)):
        places = told(day, "model", "board", "--track", "files", *flags)["places"]
        assert [one["team"] for one in places] == ["bee"]

    close_track(day)
    shown = board(day)
    assert shown["split"] == PUBLIC
    assert shown["published"] is None
    assert shown["closed"] is True
    assert shown["entries"] == 1
    assert [one["split"] for one in own(day, team="bee")] == [PUBLIC]
    listed = told(day, "model", "publish", "files")
    # All were handed in after `holdout_until`, which this test has moved.
    assert [one["code"] for one in listed["oddities"]] == ["withdrawn", "late"]
    assert "of another team" in listed["oddities"][0]["sentence"]
    assert board(day)["published"] is None, "listing publishes nothing"
    assert told(day, "model", "publish", "files", "--as-listed", listed["code"])[
        "published"
    ]

    final = board_once(day, is_published=True)
    assert [(one["rank"], one["team"]) for one in final["places"]] == [(1, "bee")]
    assert final["split"] == HOLDOUT
    assert final["entries"] == 1
    assert final["published"]["by"]
    page = day.server.ask("GET", "/tracks/files").text if day.server else ""
    assert "This is the final board, on the hold-out images, published at" in page
    assert [one["split"] for one in own(day, team="bee")] == [PUBLIC, HOLDOUT]
    assert own(day, other, "bee")["state"] == "scored"
    assert "published already" in refusal(
        day, "model", "publish", "files", "--as-listed", listed["code"]
    )

    day.refers("model", "restore", str(best), "--reason", "a mistake")
    taken_back = board_once(day, is_published=False)
    assert taken_back["split"] == PUBLIC
    assert f"entry {best} was restored" in taken_back["taken_back"]["reason"]
    page = day.server.ask("GET", "/tracks/files").text if day.server else ""
    assert "This board uses the public images; it is not the final board." in page
    assert "A final board was taken back at" in page
    assert "Nothing was published" in refusal(
        day, "model", "publish", "files", "--as-listed", listed["code"]
    )
    again = told(day, "model", "publish", "files")
    assert [one["code"] for one in again["oddities"]] == ["late", "late"]
    told(day, "model", "publish", "files", "--as-listed", again["code"])
    final = board_once(day, is_published=True)
    assert [one["team"] for one in final["places"]] == [TEAM, "bee"]
    assert any("is withdrawn, since" in one for one in acts(day)[1]["odd"])
    assert [
        (one["action"], one.get("reason"), bool(one["user"])) for one in acts(day)
    ] == [
        ("model-withdraw", "of another team", True),
        ("model-publish", None, True),
        ("model-restore", "a mistake", True),
        ("model-publish", None, True),
    ]


def test_a_withdrawn_file_is_not_taken_again_and_the_attempt_is_used_up(
    day: Day,
    images: Path,
) -> None:
    day.serve()
    number = scored_on_both(day, 0, TEAM)
    day.refers("model", "withdraw", str(number), "--reason", "of another team")
    body = csv_of(rows_of(images))
    document = problem(hand_in(day, body, name="again.csv"), 409, "entry-withdrawn")
    assert document["entry"] == number
    assert "which is withdrawn: of another team" in document["detail"]
    answers = []
    while not answers or answers[-1].status_code == 202:
        answers.append(hand_in(day, csv_of(rows_of(images, len(answers) + 1))))
    problem(answers[-1], 409, "submission-limit")
    with day.store() as store:
        counted = [one for one in store.submissions.all("files") if one.counts]
    of_last_day = counted[-1].accepted_utc[:10]
    used = [one for one in counted if one.accepted_utc[:10] == of_last_day]
    # The withdrawn file is one of two, unless a day began after it.
    assert len(used) == 2
    assert len(answers) == len(counted)
    assert hand_in(day, body, "bee").status_code == 202  # that team is not withdrawn
    stdout = day.refers("model", "uncount", str(number), "--reason", "a trial").stdout
    assert "no longer uses up" in stdout
    assert "is withdrawn already, since" in refusal(
        day, "model", "withdraw", number, "--reason", "x"
    )
    day.refers("model", "restore", str(number), "--reason", "a mistake")
    assert "is not withdrawn" in refusal(
        day, "model", "restore", number, "--reason", "x"
    )
    document = problem(hand_in(day, body, name="again.csv"), 409, "entry-repeated")
    assert document["entry"] == number, (
        "also one that does not count for a limit is taken once"
    )
    assert "no submission 99" in refusal(day, "model", "restore", 99, "--reason", "x")
    until(lambda: {one["team"] for one in board(day)["places"]} == {TEAM, "bee"})


def test_what_waits_for_a_withdrawn_entry_is_not_done_until_it_is_restored(
    day: Day,
    images: Path,
) -> None:
    with open_contest(day.folder) as contest:
        config = configured_track(contest, "files")
        mine = checked_entry(contest, config, TEAM, "a.csv", csv_of(rows_of(images)))
        same = checked_entry(contest, config, "bee", "b.csv", csv_of(rows_of(images)))
        alone = checked_entry(
            contest,
            config,
            "bee",
            "c.csv",
            csv_of(rows_of(images, 3)),
        )
        assert mine.job == same.job
        for one in (mine, alone):
            contest.store.entries.withdraw(one.id, "a trial", "ops", Clock().utc())
        states = {
            one.about: one.state
            for one in contest.store.jobs.all()
            if one.kind is JobKind.SCORING
        }
        assert set(states.values()) == {JobState.WAITING, JobState.CANCELLED}
        assert contest.store.jobs.get(str(mine.job)).state is JobState.WAITING, (
            "the other team's file needs it"
        )
    day.serve()
    until(lambda: own(day, same.id, "bee")["state"] == "scored")
    with day.store() as store:
        assert store.submissions.get(mine.id).measurement is None
        assert store.submissions.get(alone.id).measurement is None
        assert store.jobs.get(str(alone.job)).state is JobState.CANCELLED
    assert [one["team"] for one in board(day)["places"]] == ["bee"]
    for number in (mine.id, alone.id):
        day.refers("model", "restore", str(number), "--reason", "not a trial")
    until(lambda: own(day, mine.id)["state"] == "scored")
    until(lambda: own(day, alone.id, "bee")["state"] == "scored")


class Withdrawing(EntryDesk):
    """A desk at which an entry is withdrawn while the one before it is being scored."""

    to_withdraw: Submission | None = None

    def _carry_out(self, config: Any, one: Submission) -> None:
        if self.to_withdraw is not None:
            self.contest.store.entries.withdraw(
                self.to_withdraw.id,
                "a trial",
                "ops",
                self.clock.utc(),
            )
            self.to_withdraw = None
        super()._carry_out(config, one)


def test_an_entry_that_is_withdrawn_while_another_one_is_scored_is_not_scored(
    day: Day,
    images: Path,
) -> None:
    with (
        open_contest(day.folder) as contest,
        closing(Withdrawing(contest, Clock())) as desk,
    ):
        config = configured_track(contest, "files")
        store = contest.store
        first, second = (
            checked_entry(
                contest,
                config,
                team,
                f"{team}.csv",
                csv_of(rows_of(images, misses)),
            )
            for misses, team in enumerate((TEAM, "bee"))
        )
        desk.to_withdraw = second
        desk.ask()
        until(lambda: store.submissions.get(first.id + 1).measurement is not None)
        with desk._scoring:  # noqa: SLF001 - until it has gone through what waited
            pass
        assert store.submissions.get(second.id).measurement is None
        assert store.jobs.get(str(second.job)).state is JobState.CANCELLED


def test_a_cancelled_job_withdraws_the_whole_entry(day: Day, images: Path) -> None:
    with open_contest(day.folder) as contest:
        config = configured_track(contest, "files")
        made = checked_entry(contest, config, TEAM, "a.csv", csv_of(rows_of(images)))
    day.refers("jobs", "--cancel", str(made.job)[:12])
    reasons = {one["split"]: one["withdrawn"] for one in told(day, "model", "list")}
    assert reasons == dict.fromkeys((PUBLIC, HOLDOUT), "its job was cancelled")


def test_what_cannot_be_published_is_refused_with_its_reason(day: Day) -> None:
    day.serve()
    number = scored_on_both(day, 0, TEAM)
    assert "takes entries until 2999-01-01" in refusal(day, "model", "publish", "files")
    assert "takes entries until 2999-01-01" in refusal(
        day, "model", "publish", "files", "--as-listed", "x"
    )
    assert "has no holdout_until" in refusal(day, "model", "publish", "open")
    assert "no track 'none'" in refusal(day, "model", "publish", "none")
    close_track(day)
    code = told(day, "model", "publish", "files")["code"]
    assert f"the code is now {code}, not {code[::-1]}" in refusal(
        day, "model", "publish", "files", "--as-listed", code[::-1]
    )
    day.refers("model", "withdraw", str(number), "--reason", "x")
    assert "No entry of the track files" in refusal(
        day, "model", "publish", "files", "--as-listed", code
    )
    assert board(day)["published"] is None


def test_an_entry_that_is_withdrawn_during_publication_stops_it(
    day: Day,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    day.serve()
    best = scored_on_both(day, 0, TEAM)
    _ = scored_on_both(day, 20, "bee")
    close_track(day)
    really = PublicationTable.publish

    def interrupted(table: PublicationTable, *arguments: Any) -> None:
        contest.store.entries.withdraw(best, "of another team", "ops", Clock().utc())
        really(table, *arguments)

    monkeypatch.setattr(PublicationTable, "publish", interrupted)
    with open_contest(day.folder) as contest:
        config = configured_track(contest, "files")
        code = final_board(contest, config, Clock().utc()).code
        with pytest.raises(RefereeError, match="changed meanwhile") as failure:
            publish(contest, config, code, "ops", Clock().utc())
    assert failure.value.code == "track-changed"
    until(lambda: [one["team"] for one in board(day)["places"]] == ["bee"])
    assert board(day)["published"] is None


def test_a_board_comes_out_by_itself_only_where_the_organizer_says_so(
    day: Day,
    images: Path,
) -> None:
    day.serve()
    best = scored_on_both(day, 0, TEAM)
    _ = scored_on_both(day, 20, "bee")
    close_track(day, "\npublish_automatically = true")
    final = board(day)
    assert final["split"] == HOLDOUT
    assert [one["team"] for one in final["places"]] == [TEAM, "bee"]
    assert final["published"] == {"utc": "2020-01-01T00:00:00+00:00", "by": None}
    page = day.server.ask("GET", "/tracks/files").text if day.server else ""
    assert (
        "published automatically at 2020-01-01 00:00 UTC, as set in contest.toml"
        in page
    )
    day.refers("model", "withdraw", str(best), "--reason", "x")
    until(lambda: [one["team"] for one in board(day)["places"]] == ["bee"])
    assert board(day)["entries"] == 1


def test_a_published_track_takes_no_more_entries_though_its_end_is_moved(
    day: Day,
    images: Path,
) -> None:
    day.serve()
    scored_on_both(day, 0, TEAM)
    close_track(day)
    code = told(day, "model", "publish", "files")["code"]
    told(day, "model", "publish", "files", "--as-listed", code)
    config = day.folder / "contest.toml"
    assert day.server is not None
    day.server.end()
    config.write_text(config.read_text().replace(PAST, FUTURE))
    server = day.serve()
    answer = hand_in(day, csv_of(rows_of(images, 2)))
    detail = problem(answer, 409, "track-closed")["detail"]
    assert "its final board was published" in detail
    assert board(day)["split"] == HOLDOUT
    number = own(day)[0]["id"]
    status_code = server.ask(
        "GET",
        f"/v1/entries/{number}",
        auth=(TEAM, PASSWORD),
    ).status_code
    assert status_code == 200
