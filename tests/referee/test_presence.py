from __future__ import annotations

from pathlib import Path

import pytest

from referee.errors import RefereeError
from referee.presence import entries, is_file, is_folder, is_free, is_there, status
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


def test_a_place_is_free_for_a_folder_that_is_not_there_or_empty(tmp_path: Path) -> None:
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
    open_folder: Path, request: pytest.FixtureRequest
) -> None:
    (open_folder / "closed").mkdir()
    (open_folder / "closed").chmod(0)
    request.getfixturevalue("unprivileged")
    with pytest.raises(RefereeError, match=r"Permission denied; run this as .* or .* chmod\.$"):
        is_there(open_folder / "closed" / "contest.toml")
    with pytest.raises(RefereeError, match="Permission denied"):
        entries(open_folder / "closed")
