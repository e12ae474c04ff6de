"""One host at a time may write to a journal, and a superseded host learns this before it acknowledges anything."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from referee.errors import RefereeError, Superseded
from referee.journal import epochs
from referee.journal.epochs import (
    Claim,
    claim_of,
    host_path,
    newest_epoch,
    own_claim,
    require_current,
    require_own,
)

HOSTS = 16


def claim_epoch(journal: Path, contest: Path, epoch: int) -> Claim:
    now = datetime(2027, 6, 20, 9, tzinfo=UTC)
    return epochs.claim_epoch(
        journal,
        contest,
        epoch,
        contest="0123456789ab",
        version="6.0",
        utc=now,
    )


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    made = tmp_path / "journal"
    made.mkdir()
    return made


def folder(tmp_path: Path, name: str) -> Path:
    made = tmp_path / name
    made.mkdir()
    return made


def code(journal: Path, contest: Path) -> str:
    with pytest.raises(RefereeError) as refused:
        require_own(journal, contest)
    return refused.value.code


def test_of_hosts_that_claim_at_once_one_wins_and_the_others_read_who(
    journal: Path,
    tmp_path: Path,
) -> None:
    folders = [folder(tmp_path, f"host-{number}") for number in range(HOSTS)]

    def claimed(contest: Path) -> str:
        try:
            return str(claim_epoch(journal, contest, 1).folder)
        except RefereeError as error:
            return error.code

    with ThreadPoolExecutor(HOSTS) as pool:
        told = [*pool.map(claimed, folders)]
    (winner,) = (one for one in told if one != "epoch-taken")
    assert newest_epoch(journal) == 1
    assert require_own(journal, Path(winner)) == claim_of(journal, 1)
    losers = [one for one in folders if str(one) != winner]
    assert {code(journal, one) for one in losers} == {"journal-elsewhere"}
    assert [own_claim(one) for one in losers] == [None] * (HOSTS - 1)


def test_who_has_been_superseded_learns_it_though_it_never_lists_the_folder_again(
    journal: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = folder(tmp_path, "first")
    second = folder(tmp_path, "second")
    claim = claim_epoch(journal, first, 1)
    require_current(journal, claim)
    successor = claim_epoch(journal, second, 2)
    # A network file system may cache for a minute which names exist.
    with monkeypatch.context() as stale:
        stale.setattr(epochs, "newest_epoch", lambda _: 1)
        with pytest.raises(Superseded):
            require_current(journal, claim)
    with pytest.raises(Superseded, match=r"epoch 1.*second.*taken over"):
        require_current(journal, claim)
    require_current(journal, successor)
    assert code(journal, first) == "superseded"
    assert claim_epoch(journal, first, 3) == require_own(journal, first)
    assert code(journal, second) == "superseded"


def test_a_host_that_dies_while_it_claims_keeps_no_one_from_the_next_epoch(
    journal: Path,
    tmp_path: Path,
) -> None:
    first = folder(tmp_path, "first")
    second = folder(tmp_path, "second")
    claim = claim_epoch(journal, first, 1)
    host_path(journal, 2).touch()
    require_current(journal, claim)  # no one has taken over yet
    assert newest_epoch(journal) == 2
    assert claim_of(journal, 2) is None
    claim_epoch(journal, second, 3)
    with pytest.raises(Superseded):
        require_current(journal, claim)


def test_a_copy_of_the_folder_may_not_write_but_a_moved_folder_may(
    journal: Path,
    tmp_path: Path,
) -> None:
    first = folder(tmp_path, "first")
    claim_epoch(journal, first, 1)
    copy = tmp_path / "copy"
    shutil.copytree(first, copy)
    assert code(journal, copy) == "journal-elsewhere"
    moved = first.rename(tmp_path / "moved")
    assert require_own(journal, moved).folder == str(moved)
    assert code(journal, copy) == "journal-elsewhere"


def test_a_copy_on_another_machine_may_not_write(
    journal: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = folder(tmp_path, "first")
    claim_epoch(journal, first, 1)
    monkeypatch.setattr(epochs, "machine_name", lambda: "hall-b (00000000)")
    assert code(journal, first) == "journal-elsewhere"


def test_what_is_no_claim_is_no_ones(journal: Path, tmp_path: Path) -> None:
    first = folder(tmp_path, "first")
    claim_epoch(journal, first, 1)
    for content in (b"", b"open", b"[]", b"\xff" * 40, b'{"epoch": 1}'):
        host_path(journal, 1).write_bytes(content)
        assert claim_of(journal, 1) is None
        assert code(journal, first) in ("journal-elsewhere", "superseded")


def test_only_a_later_epoch_says_that_another_host_has_taken_over(
    journal: Path,
    tmp_path: Path,
) -> None:
    claim = claim_epoch(journal, folder(tmp_path, "first"), 1)
    host_path(journal, 1).unlink()
    with pytest.raises(FileNotFoundError):  # its disk is not mounted
        require_current(journal, claim)
    claim_epoch(journal, folder(tmp_path, "second"), 2)
    with pytest.raises(Superseded):
        require_current(journal, claim)
