from __future__ import annotations

import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from lpirc_testsets import TestSet, TestSetError, synthesize
from referee.contest import (
    create_contest,
    open_contest,
    require_same_test_set,
    require_unchanged,
)
from referee.errors import RefereeError
from tests.referee.factories import config_text, run_record, station


@pytest.fixture
def folder(tmp_path: Path, small_set: TestSet) -> Path:
    create_contest(
        tmp_path / "contest",
        config_text(small_set, station("one"), station("two")),
    )
    return tmp_path / "contest"


def failure_of(folder: Path) -> RefereeError:
    with pytest.raises(RefereeError) as failure, open_contest(folder):
        pass
    return failure.value


def test_a_new_contest_opens_with_its_test_set_and_stations(
    folder: Path,
    small_set: TestSet,
) -> None:
    with open_contest(folder) as contest:
        assert contest.test_set == small_set
        assert len(contest.secret) == 32
        assert contest.secret.hex() != contest.operator_key
        assert contest.station("two").name == "two"
        assert contest.server_url is None
        with pytest.raises(RefereeError, match="the stations are one, two") as failure:
            contest.station("three")
        assert failure.value.code == "station-unknown"
        assert contest.store.runs.find() == []


def test_the_secrets_are_for_the_owner_only_and_differ_by_contest(
    folder: Path,
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "secret").write_text("left over")
    (other / "secret").chmod(0o644)
    create_contest(other, config_text(small_set))
    for name in ("secret", "operator-key"):
        assert stat.S_IMODE((other / name).stat().st_mode) == 0o600
        assert (folder / name).read_text() != (other / name).read_text()


@pytest.mark.parametrize("name", ["secret", "operator-key"])
@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_secret_that_others_can_read_is_refused_with_its_repair(
    folder: Path,
    name: str,
    mode: int,
) -> None:
    (folder / name).chmod(mode)
    failure = failure_of(folder)
    assert failure.code == "secret-readable"
    assert failure.sentence.endswith(f"chmod 600 {folder / name}")
    (folder / name).chmod(0o600)
    with open_contest(folder):
        pass


def test_a_contest_is_not_made_over_another(folder: Path, small_set: TestSet) -> None:
    before = (folder / "secret").read_text()
    with pytest.raises(RefereeError) as failure:
        create_contest(folder, config_text(small_set))
    assert failure.value.code == "contest-exists"
    assert (folder / "secret").read_text() == before


def test_the_database_is_closed_at_the_end(folder: Path) -> None:
    with open_contest(folder) as contest:
        store = contest.store
    with pytest.raises(Exception, match="closed"):
        store.runs.find()


@pytest.mark.parametrize("name", ["secret", "operator-key"])
@pytest.mark.parametrize("content", [None, "", "00ff", "not hexadecimal", "\xff"])
def test_a_missing_or_damaged_secret_is_told(
    folder: Path,
    name: str,
    content: str | None,
) -> None:
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content.encode("latin-1"))
    failure = failure_of(folder)
    assert failure.code == "secret-missing"
    assert str(folder / name) in failure.sentence


def test_an_unknown_metric_is_told(folder: Path) -> None:
    config = folder / "contest.toml"
    config.write_text("metric = 'bogus'\n" + config.read_text())
    failure = failure_of(folder)
    assert failure.code == "bad-config"
    assert "metric = 'bogus'" in failure.sentence


def test_a_missing_test_set_is_told(
    folder: Path,
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    config = folder / "contest.toml"
    config.write_text(config.read_text().replace(str(small_set.folder), "nothing-here"))
    with pytest.raises(TestSetError, match="nothing-here"), open_contest(folder):
        pass


def test_a_test_set_that_changed_is_told(tmp_path: Path) -> None:
    made = synthesize(
        tmp_path / "set",
        images=3,
        categories=2,
        size=(64, 64),
    )
    require_unchanged(made)
    made.image_path(2).write_bytes(b"other")
    made.image_path(3).unlink()
    with pytest.raises(RefereeError, match=r"and 1 more") as failure:
        require_unchanged(made)
    assert failure.value.code == "testset-changed"
    assert len(failure.value.facts["problems"]) == 2  # type: ignore[arg-type]


def test_a_run_belongs_to_the_test_set_it_was_armed_with(
    folder: Path,
    small_set: TestSet,
) -> None:
    with open_contest(folder) as contest:
        require_same_test_set(contest, run_record(testset_digest=small_set.digest))
        with pytest.raises(
            RefereeError,
            match="put the run's test set back",
        ) as failure:
            require_same_test_set(contest, run_record(testset_digest="e" * 64))
    assert failure.value.code == "testset-changed"


def test_of_several_that_open_a_folder_without_a_key_at_once_one_makes_it(
    folder: Path,
    threads: ThreadPoolExecutor,
) -> None:
    for _ in range(5):
        with closing(sqlite3.connect(folder / "contest.db")) as database, database:
            database.execute("UPDATE contest SET public_key = NULL")
        (folder / "signing-key").unlink()
        together = threading.Barrier(4)

        def key(together: threading.Barrier = together) -> str:
            together.wait()
            with open_contest(folder) as contest:
                return contest.key.public

        assert (
            len({one.result() for one in [threads.submit(key) for _ in range(4)]}) == 1
        )
