"""An organizer with the contest's key who shows two histories is caught by any two parties who kept links of both."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from lpirc_testsets import TestSet
from referee.backup.contest_copy import back_up, restore
from referee.backup.journal_copy import restore_database
from referee.cli.main import main
from referee.contest import create_contest, open_contest
from referee.errors import RefereeError
from referee.evidence.kept_links import read_kept
from referee.evidence.link_verification import compare_links
from referee.evidence.published_chain import PublishedChain, log_record, read_chain
from referee.evidence.verification_items import Failure, NotChecked
from referee.store import Store
from tests.referee.evidence.logs_of_two_stories import (
    FORKS,
    Log,
    as_list,
    as_record,
    at,
    cut,
    events,
    honest,
    kept,
    kept_by,
    links,
    two_stories,
)
from tests.referee.evidence.proved import Proved, opened, second_verifier
from tests.referee.factories import START, config_text

COUNT = 1000
SECOND = second_verifier("verify_links")
SECOND_BUNDLE = second_verifier("verify_bundle")
SECOND_FORMATS = second_verifier("verify_formats")
PUBLISHED = (as_list, as_record)
Verdict = tuple[str, str]


def by_main(
    own: Log, before: int, given: list[bytes], published: list[bytes]
) -> Verdict:
    """The verdict of `referee bundle verify` on these files, with the log in the bundle from event `before` on."""
    bundle = PublishedChain(
        "the bundle", before, [one.hex() for one in links(own)[before:]]
    )
    found = [
        one
        for number, text in enumerate(given)
        for one in read_kept(text, f"file {number}")
    ]
    chains = [
        read_chain(data, f"log {number}") for number, data in enumerate(published)
    ]
    try:
        return "ok", compare_links(bundle, found, chains)
    except Failure as failure:
        return "failed", str(failure)
    except NotChecked as reason:
        return "not checked", str(reason)


def by_second(
    own: Log, before: int, given: list[bytes], published: list[bytes]
) -> Verdict:
    """The verdict of the verifier that shares no code with the referee."""
    chain = dict(enumerate((one.hex() for one in links(own)[before:]), start=before))
    bundle = SECOND.Log("the bundle", chain)
    found = [
        one
        for number, text in enumerate(given)
        for one in SECOND.read_kept(text, f"file {number}")
    ]
    logs = [SECOND.read_log(data, f"log {n}") for n, data in enumerate(published)]
    try:
        SECOND.compare(bundle, found, logs)
    except SECOND_FORMATS.Wrong as failure:
        return "failed", str(failure)
    except SECOND_FORMATS.NotChecked as reason:
        return "not checked", str(reason)
    return "ok", ""


BOTH: tuple[Callable[..., Verdict], ...] = (by_main, by_second)


def test_two_histories_are_caught_by_any_two_parties_who_kept_links_of_both() -> None:
    """A thousand: altered, dropped, added, reordered, restored from a backup and gone on, cut."""
    chance = np.random.default_rng(1)
    for number in range(COUNT):
        story = two_stories(number, chance)
        shown = zip(("the otters", "the jury"), story.shown, strict=True)
        given = [kept_by(log, story.fork, by, chance) for by, log in shown]
        published = PUBLISHED[number // len(FORKS) % 2](story.published)
        before = int(chance.integers(0, len(story.published) + 1))
        for verify in BOTH:
            verdict, told = verify(story.published, before, given, [published])
            name = FORKS[number % len(FORKS)].__name__
            assert verdict == "failed", (number, name, verify.__name__, told)
            assert "the otters" in told or "the jury" in told, told
            assert "2027-06-20T" in told, told


def test_no_honest_history_is_accused_whatever_befalls_it() -> None:
    """A thousand: restarts, takeovers by the standby, restores from the journal, backups restored as documented."""
    chance = np.random.default_rng(2)
    for number in range(COUNT):
        day = honest(chance)
        before = int(chance.integers(0, len(day.log) + 1))
        was_restored = any("backup_utc" in one.detail for one in day.log)
        published = [as_record(day.log)]
        if not was_restored:
            published = [PUBLISHED[number % 2](day.log)]
        for verify in BOTH:
            verdict, told = verify(day.log, before, [day.kept], published)
            assert verdict == "ok", (number, verify.__name__, told)


def test_a_restore_on_record_excuses_nothing_that_was_shown_after_it() -> None:
    """Who restores a backup openly, and shows two histories from then on, is caught."""
    chance = np.random.default_rng(3)
    for _ in range(50):
        day = honest(chance)
        day.restore_backup(chance)
        fork = len(day.log)
        one = [*day.log, *events(3, chance, day.minute + 1)]
        other = [*day.log, *events(3, chance, day.minute + 1)]
        given = [kept(one, fork + 2, day.minute + 5, "the otters")]
        for verify in BOTH:
            assert verify(other, 0, given, [as_record(other)])[0] == "failed"


def test_without_a_published_log_two_files_that_contradict_each_other_tell() -> None:
    chance = np.random.default_rng(4)
    one, other = (events(9, chance) for _ in range(2))
    given = [kept(one, 9, 9, "the otters"), kept(other, 9, 9.5, "the jury")]
    for verify in BOTH:
        verdict, told = verify(one[:5], 5, given, [])
        assert verdict == "failed"
        assert "the otters" in told
        assert "the jury" in told
        assert verify(one[:5], 5, given[:1], [])[0] == "not checked"
        assert verify(one, 5, given[:1], [])[0] == "ok"
        assert verify(one, 5, [], [])[0] == "not checked"


def test_a_list_that_does_not_fit_the_record_or_the_bundle_is_told() -> None:
    chance = np.random.default_rng(5)
    log = events(9, chance)
    for change in FORKS[:-1]:
        other = change(log, 4, chance)
        for verify in BOTH:
            assert verify(log, 0, [], [as_list(log), as_record(log)])[0] == "ok"
            assert verify(log, 9, [], [as_list(log), as_record(other)])[0] == "failed"
            assert verify(log, 0, [], [as_list(other)])[0] == "failed"
    assert cut in FORKS, "a shorter one has no link that differs"


def test_the_first_one_that_does_not_lie_on_it_is_named_with_who_kept_it_and_when() -> (
    None
):
    chance = np.random.default_rng(6)
    log = events(9, chance)
    other = [*log[:5], *events(4, chance, 5)]
    given = [kept(other, 9, 9, "the jury"), kept(other, 6, 6.5, "the otters")]
    for verify in BOTH:
        verdict, told = verify(log, 0, given, [as_list(log)])
        assert verdict == "failed"
        for name in ("event 6", "the otters", at(6.5), links(other)[6].hex()):
            assert name in told
        assert "the jury" not in told


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b'{"log": 1}',
        b'{"log": {"events": -1, "link": "' + b"0" * 64 + b'"}}',
        b'{"log": {"events": true, "link": "' + b"0" * 64 + b'"}}',
        b'{"log": {"events": 1, "link": "' + b"0" * 63 + b'"}}',
        b'{"log": {"events": 1}}',
        b'{"other": 1}',
    ],
)
def test_a_file_that_holds_no_links_is_refused_by_its_line(line: bytes) -> None:
    with pytest.raises(RefereeError, match="kept"):
        read_kept(line, "kept")
    with pytest.raises(SECOND_FORMATS.Wrong):
        SECOND.read_kept(line, "kept")


@pytest.mark.parametrize("data", [b"0" * 33, b"{}", b'{"previous": 1, "before": 0}'])
def test_a_file_that_is_no_published_log_is_refused(data: bytes) -> None:
    with pytest.raises(RefereeError, match="/log/links"):
        read_chain(data, "published")
    with pytest.raises(SECOND_FORMATS.Wrong):
        SECOND.read_log(data, "published")


# Real contests


def kept_of(store: Store, now: datetime) -> bytes:
    number, _, link = store.log.head()
    seen = {"events": number, "link": link}
    line = {"log": seen, "seen_utc": now.isoformat(), "by": "an onlooker"}
    return f"{json.dumps(line)}\n".encode()


def verdicts(store: Store, given: bytes) -> list[Verdict]:
    number, _, _ = store.log.head()
    record = log_record(store, number)
    found = store.log.links(0, number)
    assert read_chain(found, "list").links == read_chain(record, "record").links
    before = read_chain(record, "record").links
    bundle = PublishedChain("the bundle", 0, before[:1])
    kept_links = read_kept(given, "kept")
    logs = [SECOND.read_log(record, "record")]
    SECOND.compare(
        SECOND.Log("the bundle", {0: before[0]}), SECOND.read_kept(given, "kept"), logs
    )
    chains = [read_chain(record, "record")]
    return [("ok", compare_links(bundle, kept_links, chains))]


def test_a_contest_restored_from_its_journal_goes_on_after_every_link_that_was_shown(
    tmp_path: Path, small_set: TestSet
) -> None:
    folder = tmp_path / "day"
    create_contest(folder, config_text(small_set))
    given = b""
    for number in range(4):  # started again each time
        with open_contest(folder) as contest:
            contest.store.log.append(START, None, "odd", number=number)
            given += kept_of(contest.store, START)
    for path in folder.glob("contest.db*"):
        path.unlink()
    restore_database(folder, START + timedelta(hours=1))
    with open_contest(folder) as contest:
        contest.store.log.append(START, None, "odd", number=5)
        ((_, told),) = verdicts(contest.store, given)
    assert "4 of 4 kept links lie on the one log" in told
    assert "taken back" not in told


def test_links_that_a_restored_backup_took_back_are_named_and_accuse_nobody(
    tmp_path: Path, small_set: TestSet
) -> None:
    folder = tmp_path / "day"
    create_contest(folder, config_text(small_set))
    now = datetime(2027, 6, 20, 9, tzinfo=UTC)
    with open_contest(folder) as contest:
        contest.store.log.append(now, None, "odd", number=1)
        given = kept_of(contest.store, now)
        copy = tmp_path / "copy.zip"
        back_up(folder, copy, now, keys=True, test_sets=True)
        contest.store.log.append(now, None, "odd", number=2)
        given += kept_of(contest.store, now)
    restore(copy, tmp_path / "again", None, now + timedelta(hours=1))
    with open_contest(tmp_path / "again") as contest:
        contest.store.log.append(now, None, "odd", number=3)
        given += kept_of(contest.store, now + timedelta(hours=2))
        ((_, told),) = verdicts(contest.store, given)
    assert "2 of 3 kept links lie on the one log" in told
    assert "1 were taken back by a restored backup, which the record states" in told


def test_the_command_says_it_of_a_bundle_and_receipts_have_links_beside_them(
    proved: dict[str, Proved], tmp_path: Path
) -> None:
    judged = proved["judged"]
    bundle = tmp_path / "run.zip"
    receipts = tmp_path / "kept.jsonl"
    bundle.write_bytes(judged.data)
    first = json.loads(opened(judged.data)["events.jsonl.gz"].splitlines()[0])
    seen = {"events": first["before"], "link": first["previous"]}

    def items(link: dict[str, Any] | None, *more: str) -> dict[str, dict[str, Any]]:
        """The items for receipts of which each has this link beside it."""
        lines = [json.loads(line) for line in judged.receipts.splitlines()]
        kept = [f"{json.dumps(line | {'log': link, 'by': 'eve'})}\n" for line in lines]
        receipts.write_text("".join(kept))
        files = ["--receipts", str(receipts), *more]
        asked = ["bundle", "verify", str(bundle), *files, "--json"]
        answer = CliRunner().invoke(main, asked)
        found = json.loads(answer.stdout.splitlines()[0])["items"]
        return {one["name"]: one for one in found}

    right = items(seen)
    assert right["receipts"]["outcome"] == right["links"]["outcome"] == "ok"
    twice = items(seen, "--links", str(receipts))
    assert twice["links"] == right["links"], "a file given for both counts once"
    none = items(None)
    assert none["receipts"]["outcome"] == "ok"
    assert none["links"]["outcome"] == "not checked"
    wrong = items(seen | {"link": "1" * 64})
    assert wrong["receipts"]["outcome"] == "ok"
    assert wrong["links"]["outcome"] == "failed"
    assert "eve" in wrong["links"]["sentence"]
    data = receipts.read_bytes()
    for given in ([], [(data, "kept")]):
        told = SECOND_BUNDLE.verify(judged.data, receipts=data, links=given)
        assert told.failed() == ["links"]
