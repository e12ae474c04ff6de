"""Changes of contest.toml by the program: what they leave as it was, and when they are refused."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.config import config_of, toml_table
from referee.config.contest_file import (
    Change,
    SettingsChanged,
    change_settings,
    read_contest_file,
    replace_text,
)
from referee.config.contest_text import config_text
from referee.config.name_rule import LONGEST_NAME
from referee.config.toml_edits import NewRow, NoRow, Setting, edited
from referee.errors import RefereeError

FREEZE = datetime(
    2027,
    6,
    20,
    15,
    30,
    tzinfo=UTC,
)
TEXT = config_text(
    "The day",
    600,
    "sim:",
    "testset",
    auto_arm=False,
)
ODD = """\
# first line: ä ✓
name    =   'single'   # kept as it is


window_s=600 # whole seconds
  "metric" = "lpirc"
   # a comment of its own, with = and [brackets]
backup.folder = "copies"
[images]
\t# nothing is set
[[stations]]
name = "a"
meter = "sim:"    # the first
clients = [
  "192.168.1.0/24",  # boards
]

[[prizes]]
name = "Best"
rule = "best-score"
[[stations]]
meter = "TCPIP::1::INSTR"
name = "b"
#end without newline"""


def lines_kept(
    old: str,
    new: str,
) -> tuple[list[str], list[str]]:
    """The lines that are only in the old text, and those only in the new one."""
    told = difflib.ndiff(
        old.split("\n"),
        new.split("\n"),
    )
    changed = [line for line in told if line[:2] in ("- ", "+ ")]
    gone = [line[2:] for line in changed if line[0] == "-"]
    come = [line[2:] for line in changed if line[0] == "+"]
    return gone, come


def made(
    folder: Path,
    text: str = TEXT,
) -> str:
    (folder / "contest.toml").write_bytes(text.encode())
    return read_contest_file(folder).version


def ignored(changes: Sequence[Change]) -> None:
    """Put nothing on record."""


def comments(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.lstrip().startswith("#")]


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "name": st.text(
        st.characters(exclude_categories=["Cs"]),
        min_size=1,
        max_size=LONGEST_NAME,
    ).filter(lambda name: name.strip() and name.isprintable()),
    "window_s": st.integers(
        1,
        86400,
    ),
    "attempts": st.integers(
        0,
        9,
    ),
    "least_map": st.floats(
        0.001,
        1,
    )
    | st.none(),
    "freeze_at": st.datetimes(timezones=st.just(UTC)) | st.none(),
    "shuffle": st.booleans(),
    "trusted_proxy": st.sampled_from([("10.0.0.1",), ("::1", "127.0.0.1")]),
}
SETTINGS = st.sampled_from(sorted(VALUES)).flatmap(
    lambda key: st.builds(
        Setting,
        st.just(key),
        VALUES[key],
    )
)


@pytest.mark.parametrize(
    "text",
    [TEXT, ODD, TEXT.replace("\n", "\r\n")],
)
@given(
    settings=st.lists(
        SETTINGS,
        max_size=4,
    )
)
def test_any_values_are_written_and_every_other_line_stays(
    text: str,
    settings: list[Setting],
) -> None:
    new = text
    wanted = toml_table(text)
    for one in settings:
        new = edited(
            new,
            one,
        )
        wanted.pop(
            one.key,
            None,
        )
        if one.value is not None:
            wanted[one.key] = one.wanted
    assert toml_table(new) == wanted
    config_of(
        Path("contest.toml"),
        new,
    )
    assert ("\r\n" in text) == ("\r\n" in new)
    # Comments stay, in their order; a key that is no longer set may have become one more.
    left = iter(comments(new))
    assert all(one in left for one in comments(text))
    gone, come = lines_kept(
        text,
        new,
    )
    assert len(gone) <= len({one.key for one in settings}) + 1  # + the last newline
    assert len(come) <= len(settings) + 1


def test_a_new_key_stands_below_the_comment_that_shows_it() -> None:
    new = edited(
        TEXT,
        Setting("freeze_at", FREEZE),
    )
    lines = new.split("\n")
    at = lines.index("freeze_at = 2027-06-20T15:30:00Z")
    assert lines[at - 1].startswith("# freeze_at = ")
    assert lines_kept(
        TEXT,
        new,
    ) == ([], [lines[at]])


def test_the_comment_beside_a_value_stays() -> None:
    new = edited(
        TEXT,
        Setting("window_s", 900),
    )
    (gone,), (come,) = lines_kept(
        TEXT,
        new,
    )
    assert come == gone.replace(
        "600",
        "900",
        1,
    )
    assert "# whole seconds" in come


def test_a_value_that_is_taken_away_stays_as_a_comment() -> None:
    with_one = edited(
        TEXT,
        Setting("freeze_at", FREEZE),
    )
    without = edited(
        with_one,
        Setting("freeze_at", None),
    )
    assert "# freeze_at = 2027-06-20T15:30:00Z" in without.split("\n")
    assert toml_table(without) == toml_table(TEXT)


def test_a_table_that_is_new_stands_below_the_comments_that_show_it() -> None:
    new = edited(
        TEXT,
        Setting("folder", "/media/stick", "backup"),
    )
    gone, come = lines_kept(
        TEXT,
        new,
    )
    assert gone == []
    assert come == ["[backup]", 'folder = "/media/stick"']
    assert toml_table(new)["backup"] == {"folder": "/media/stick"}
    again = edited(
        new,
        Setting("every_min", 5, "backup"),
    )
    assert toml_table(again)["backup"] == {"folder": "/media/stick", "every_min": 5}


@pytest.mark.parametrize(
    "text",
    [TEXT, ODD],
)
def test_a_station_is_changed_by_its_name_and_others_stay(text: str) -> None:
    name = toml_table(text)["stations"][-1]["name"]
    new = edited(
        text,
        Setting("current_range_a", 0.5, "stations", name),
    )
    new = edited(
        new,
        Setting("meter", "TCPIP::2::INSTR", "stations", name),
    )
    last = toml_table(new)["stations"][-1]
    assert last["current_range_a"] == 0.5
    assert last["meter"] == "TCPIP::2::INSTR"
    assert toml_table(new)["stations"][:-1] == toml_table(text)["stations"][:-1]
    gone, _ = lines_kept(
        text,
        new,
    )
    assert len(gone) <= 2


@pytest.mark.parametrize(
    "text",
    [TEXT, ODD],
)
def test_a_station_comes_and_goes_and_no_comment_is_lost(text: str) -> None:
    values = {"name": "third", "meter": "TCPIP::3::INSTR", "update_interval_s": 0.25}
    more = edited(
        text,
        NewRow("stations", values),
    )
    assert toml_table(more)["stations"][-1] == values
    assert lines_kept(
        text,
        more,
    )[0] in ([], ["#end without newline"])
    first = toml_table(more)["stations"][0]["name"]
    less = edited(
        more,
        NoRow("stations", first),
    )
    assert len(toml_table(less)["stations"]) == len(toml_table(text)["stations"])
    left = iter(comments(less))
    assert all(one in left for one in comments(text))


def test_a_key_that_is_written_dotted_is_changed_where_it_is() -> None:
    new = edited(
        ODD,
        Setting("folder", "elsewhere", "backup"),
    )
    assert lines_kept(
        ODD,
        new,
    )[1] == ['backup.folder = "elsewhere"']


def test_a_byte_order_mark_stays(tmp_path: Path) -> None:
    path = tmp_path / "contest.toml"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    version = read_contest_file(tmp_path).version
    change_settings(
        tmp_path,
        version,
        [Setting("window_s", 900)],
        ignored,
    )
    assert path.read_bytes().startswith(b"\xef\xbb\xbfname")


def test_changes_are_on_record_before_the_file_has_them(tmp_path: Path) -> None:
    version = made(tmp_path)
    told: list[str] = []

    def on_record(changes: Sequence[Change]) -> None:
        assert read_contest_file(tmp_path).version == version
        told.extend(
            map(
                str,
                changes,
            )
        )

    edits = [
        Setting(
            "window_s",
            900,
        ),
        Setting(
            "shuffle",
            True,
        ),
    ]
    change_settings(
        tmp_path,
        version,
        edits,
        on_record,
    )
    assert told == ["window_s: 600 -> 900"]
    assert toml_table(read_contest_file(tmp_path).text)["window_s"] == 900


def test_what_cannot_be_put_on_record_is_not_written(tmp_path: Path) -> None:
    version = made(tmp_path)

    def fails(changes: Sequence[Change]) -> None:
        raise RefereeError(
            "storage-failed",
            "The disk is full.",
        )

    with pytest.raises(RefereeError):
        change_settings(
            tmp_path,
            version,
            [Setting("window_s", 900)],
            fails,
        )
    assert read_contest_file(tmp_path).version == version


def test_a_file_that_another_hand_has_written_is_not_overwritten(
    tmp_path: Path,
) -> None:
    """An editor saves 700 while a page from before sends 900: both values are told, and 700 stays."""
    version = made(tmp_path)
    by_hand = TEXT.replace(
        "600",
        "700",
        1,
    )
    made(
        tmp_path,
        by_hand,
    )
    edits = [
        Setting(
            "window_s",
            900,
        ),
        Setting(
            "shuffle",
            True,
        ),
    ]
    with pytest.raises(SettingsChanged) as refused:
        change_settings(
            tmp_path,
            version,
            edits,
            ignored,
        )
    assert refused.value.conflicts == (
        Change(
            "window_s",
            700,
            900,
        ),
    )
    assert "window_s is 700 in the file, 900 in your form" in refused.value.sentence
    assert read_contest_file(tmp_path).text == by_hand


@pytest.mark.parametrize("saved", [TEXT.replace("600", "700", 1), "window_s = [half"])
def test_what_an_editor_saves_while_a_change_is_put_on_record_stays(
    tmp_path: Path, saved: str
) -> None:
    """A record may wait seconds for a busy disk, in which someone saves the file by hand."""
    version = made(tmp_path)

    def slow(changes: Sequence[Change]) -> None:
        made(tmp_path, saved)

    with pytest.raises(SettingsChanged):
        change_settings(tmp_path, version, [Setting("window_s", 900)], slow)
    assert (tmp_path / "contest.toml").read_text() == saved


def test_what_an_editor_saves_while_changes_are_discarded_stays(tmp_path: Path) -> None:
    version = made(tmp_path)
    saved = TEXT.replace("600", "700", 1)

    def slow(changes: Sequence[Change]) -> None:
        made(tmp_path, saved)

    with pytest.raises(SettingsChanged):
        replace_text(tmp_path, version, TEXT.replace("600", "800", 1), slow)
    assert (tmp_path / "contest.toml").read_text() == saved


def test_a_half_written_file_is_named_with_its_line_and_stays(tmp_path: Path) -> None:
    version = made(tmp_path)
    half = TEXT.replace(
        "shuffle = true",
        "shuffle = tr",
        1,
    )
    made(
        tmp_path,
        half,
    )
    with pytest.raises(RefereeError) as refused:
        change_settings(
            tmp_path,
            version,
            [Setting("window_s", 900)],
            ignored,
        )
    assert refused.value.code == "bad-config"
    before, _, _ = half.partition("shuffle = tr")
    at = before.count("\n") + 1
    assert f"line {at}" in refused.value.sentence
    assert read_contest_file(tmp_path).text == half


@pytest.mark.parametrize(
    "edit",
    [
        Setting(
            "window_s",
            0,
        ),
        Setting(
            "unheard",
            1,
        ),
        Setting(
            "meter",
            "sim:",
            "stations",
            "station-9",
        ),
        NoRow(
            "stations",
            "station-1",
        ),
        NewRow(
            "stations",
            {"name": "station-1", "meter": "sim:"},
        ),
    ],
)
def test_a_result_that_is_no_contest_is_refused_whole(
    tmp_path: Path, edit: Any
) -> None:
    version = made(tmp_path)
    with pytest.raises(RefereeError):
        change_settings(
            tmp_path,
            version,
            [Setting("attempts", 3), edit],
            ignored,
        )
    assert read_contest_file(tmp_path).version == version


def test_a_folder_that_cannot_be_written_is_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Root may write anywhere, so the disk refuses here."""
    version = made(tmp_path)

    def refuses(*_: object) -> None:
        raise PermissionError(
            13,
            "Permission denied",
            str(tmp_path),
        )

    monkeypatch.setattr(
        "referee.config.contest_file.write_atomically",
        refuses,
    )
    with pytest.raises(RefereeError) as refused:
        change_settings(
            tmp_path,
            version,
            [Setting("window_s", 900)],
            ignored,
        )
    assert refused.value.code == "not-accessible"
    assert "\n" not in refused.value.sentence
