from __future__ import annotations

from pathlib import Path

import pytest

from referee import operating_system
from referee.errors import RefereeError
from referee.presence import entries, is_file, is_folder, is_free, is_there, status
from referee.store import Store
from referee.web import sole_server
from tests.contest_day import called
from tests.forbidden import LOOP, loop_at


def test_what_is_not_there_is_no_failure(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for path in (tmp_path / "nowhere", file / "below", tmp_path / "no\0name"):
        assert not is_there(path)
        assert not is_file(path)
        assert not is_folder(path)
        assert is_free(path)
    assert entries(tmp_path / "nowhere") == []
    assert entries(tmp_path) == [file]


def test_a_place_is_free_for_a_folder_that_is_not_there_or_empty(
    tmp_path: Path,
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    assert is_free(tmp_path / "empty")
    assert not is_free(tmp_path / "file")
    assert not is_free(tmp_path)


def test_what_cannot_be_looked_at_is_a_failure_with_its_path(tmp_path: Path) -> None:
    loop = loop_at(tmp_path / "loop")
    for look in (status, is_there, is_file, is_folder, is_free, entries):
        with pytest.raises(RefereeError) as caught:
            look(loop)
        assert caught.value.code == "not-accessible"
        assert caught.value.sentence == f"{loop} cannot be accessed: {LOOP}."


@pytest.mark.usefixtures("as_on_python_3_14")
def test_of_what_this_user_may_not_look_at_it_says_what_to_do(
    open_folder: Path,
    request: pytest.FixtureRequest,
) -> None:
    (open_folder / "closed").mkdir()
    (open_folder / "closed").chmod(0)
    request.getfixturevalue("unprivileged")
    with pytest.raises(
        RefereeError,
        match=r"Permission denied; run this as .* or .* chmod\.$",
    ):
        is_there(open_folder / "closed" / "contest.toml")
    with pytest.raises(RefereeError, match="Permission denied"):
        entries(open_folder / "closed")


def test_no_command_takes_a_place_that_cannot_be_looked_at_for_free_or_for_missing(
    tmp_path: Path,
) -> None:
    loop = str(loop_at(tmp_path / "loop"))
    (tmp_path / "teams.csv").write_text("team,affiliation\notters,River\n")
    sheet = ("--sheet", loop, "--url", "http://referee")
    for command in (
        ("demo", "--folder", loop),
        ("practice", loop),
        ("init", loop),
        ("log", loop),
        ("status", "--contest", loop),
        ("team", "import", str(tmp_path / "teams.csv"), *sheet),
    ):
        told = called(*command)
        assert told.returncode == 1, command
        assert told.stderr.startswith(f"referee: {loop}"), command
        assert LOOP in told.stderr, command
    replayed = called("rehearse", "--replay", loop)
    assert replayed.returncode == 1
    assert replayed.stderr == f"referee: --replay {loop}: cannot be read: {LOOP}\n"


def test_a_database_whose_log_cannot_be_looked_at_is_not_read_without_it(
    store: Store,
    tmp_path: Path,
) -> None:
    (tmp_path / "copy").mkdir()
    copy = tmp_path / "copy" / "contest.db"
    store.integrity.copy_to(copy)
    loop_at(Path(f"{copy}-wal"))
    with pytest.raises(RefereeError, match=LOOP):
        Store.read_only(copy)


def test_a_system_that_does_not_show_its_locks_names_no_process(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(operating_system, "LOCKS", loop_at(tmp_path / "locks"))
    monkeypatch.setattr(sole_server, "LOCK_TIMEOUT_S", 0.0)
    refused = pytest.raises(RefereeError, match=r"already by process \?")
    with sole_server.sole_server(tmp_path), refused, sole_server.sole_server(tmp_path):
        pass
