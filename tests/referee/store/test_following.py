"""A database that follows a journal and takes over, whatever the host that wrote the journal does then."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from referee.config.contest_text import config_text
from referee.contest import contest_id, create_contest
from referee.errors import Superseded
from referee.journal.epochs import claim_epoch, host_path, newest_epoch, require_current
from referee.store import DATABASE_NAME, Store, journaling
from referee.store.following import Follower, rebuild

NOW = datetime(2027, 6, 20, 9, tzinfo=UTC)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    made = tmp_path / "journal"
    made.mkdir()
    return made


@pytest.fixture
def first(tmp_path: Path, journal: Path) -> Path:
    """The contest folder of the first host."""
    folder = tmp_path / "first"
    text = config_text("Day", 600, "sim:", "testset", auto_arm=False)
    create_contest(folder, f'{text}[journal]\npath = "{journal}"\n')
    return folder


def standby(first: Path, name: str) -> Path:
    """The folder of a standby host."""
    folder = first.with_name(name)
    folder.mkdir()
    (folder / "contest.toml").write_bytes((first / "contest.toml").read_bytes())
    return folder


def opened(folder: Path) -> closing[Store]:
    return closing(Store.open(folder / DATABASE_NAME))


def take_over(first: Path, journal: Path, folder: Path) -> None:
    epoch = newest_epoch(journal) + 1
    with closing(Follower(folder, journal)) as follower:
        follower.read_on()
        claim = claim_epoch(
            journal,
            folder,
            epoch,
            contest=contest_id(first),
            version="6.0",
            utc=NOW,
        )
        follower.begin(claim)


def rebuilt(journal: Path) -> list[str]:
    """Return the teams in a database built from the journal alone."""
    database = journal.parent / "rebuilt.db"
    database.unlink(missing_ok=True)
    rebuild(database, journal)
    with closing(sqlite3.connect(database)) as connection:
        return [
            name
            for (name,) in connection.execute("SELECT name FROM teams ORDER BY name")
        ]


def test_a_record_written_just_before_the_takeover_is_kept_though_its_host_takes_it_back(
    first: Path,
    journal: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first host is frozen between its record and its check of the epoch; later it overwrites the record."""
    second = standby(first, "second")
    with opened(first) as store:
        store.teams.add("ant", "hash", NOW)
        with monkeypatch.context() as frozen:
            now_taken_over = iter([True])

            def looks(place: Path, claim: object) -> None:
                if next(now_taken_over, False):
                    take_over(first, journal, second)
                require_current(place, claim)  # type: ignore[arg-type]

            frozen.setattr(journaling, "require_current", looks)
            with pytest.raises(Superseded):
                store.teams.add("bee", "hash", NOW)
        for name in ("cat", "a much longer name than the bee's"):
            with pytest.raises(Superseded):
                store.teams.add(name, "hash", NOW)
        assert list(store.teams.all()) == ["ant"]
    with opened(second) as store:
        assert list(store.teams.all()) == ["ant", "bee"]
        store.teams.add("dog", "hash", NOW)
    assert rebuilt(journal) == ["ant", "bee", "dog"]

    third = standby(first, "third")
    with closing(Follower(third, journal)) as follower:
        follower.read_on()
    take_over(first, journal, third)
    with opened(third) as store:
        assert list(store.teams.all()) == ["ant", "bee", "dog"]
    with opened(second) as store, pytest.raises(Superseded):
        store.teams.add("elk", "hash", NOW)


def test_a_host_that_dies_while_it_takes_over_loses_nothing(
    first: Path,
    journal: Path,
) -> None:
    """The host dies after claiming the epoch but before beginning it, or after only creating the file of its claim."""
    with opened(first) as store:
        store.teams.add("ant", "hash", NOW)
    second = standby(first, "second")
    third = standby(first, "third")
    with closing(Follower(second, journal)) as follower:
        follower.read_on()
        with opened(first) as store:
            store.teams.add("bee", "hash", NOW)
        claim_epoch(
            journal,
            second,
            2,
            contest=contest_id(first),
            version="6.0",
            utc=NOW,
        )
    with opened(second) as store:
        assert list(store.teams.all()) == ["ant", "bee"]
        store.teams.add("cat", "hash", NOW)
    host_path(journal, 3).touch()
    take_over(first, journal, third)
    with opened(third) as store:
        store.teams.add("dog", "hash", NOW)
        assert list(store.teams.all()) == ["ant", "bee", "cat", "dog"]
    assert rebuilt(journal) == ["ant", "bee", "cat", "dog"]
    with closing(
        Follower(first, journal)
    ) as follower:  # the first host, back, can follow
        follower.read_on()
    take_over(first, journal, first)
    with opened(first) as store:
        assert list(store.teams.all()) == ["ant", "bee", "cat", "dog"]


def test_a_record_that_its_host_takes_back_leaves_no_trace_in_who_follows(
    first: Path,
    journal: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    second = standby(first, "second")
    with opened(first) as store, closing(Follower(second, journal)) as follower:
        store.teams.add("ant", "hash", NOW)

        def fails(*_: object) -> None:
            follower.read_on()
            raise OSError(5, "Input/output error")

        with monkeypatch.context() as failing:
            failing.setattr(journaling, "require_current", fails)
            with pytest.raises(Exception, match="cannot be written"):
                store.teams.add("bee", "hash", NOW)
        store.teams.add("cat", "hash", NOW)
        follower.read_on()
    take_over(first, journal, second)
    with opened(second) as store:
        assert list(store.teams.all()) == ["ant", "cat"]


def test_a_host_that_begins_its_epoch_after_a_later_one_was_begun_is_passed_over(
    first: Path,
    journal: Path,
) -> None:
    """Two hosts found the first one dead at once: one claimed epoch 2, the other claimed epoch 3 and began it."""
    slow = standby(first, "slow")
    fast = standby(first, "fast")
    with opened(first) as store:
        store.teams.add("ant", "hash", NOW)
        store.teams.add("bee", "hash", NOW)
    about = {
        "contest": contest_id(first),
        "version": "6.0",
        "utc": NOW,
    }
    with closing(Follower(slow, journal)) as follower:
        follower.read_on()
        claim = claim_epoch(journal, slow, 2, **about)
        take_over(first, journal, fast)
        follower.begin(claim)
    with pytest.raises(Superseded):
        require_current(journal, claim)
    with opened(fast) as store:
        store.teams.add("cat", "hash", NOW)
        store.teams.add("dog", "hash", NOW)
    assert rebuilt(journal) == ["ant", "bee", "cat", "dog"]
    with closing(Follower(slow, journal)) as follower:  # it stands by again
        follower.read_on()
    take_over(first, journal, slow)
    with opened(slow) as store:
        assert [*store.teams.all()] == ["ant", "bee", "cat", "dog"]
    assert rebuilt(journal) == ["ant", "bee", "cat", "dog"]
