"""Every key of contest.toml has a field on a page, or a line that says where an editor changes it."""

from __future__ import annotations

import errno
import html
import re
from collections.abc import Callable, Iterator
from dataclasses import fields as fields_of
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from markupsafe import escape

from referee.config import Backup, ContestConfig, Images, Prize, Station, read_config
from referee.config.contest_file import change_settings, read_contest_file
from referee.config.journal_table import Journal
from referee.config.rule_table import RuleTable
from referee.config.toml_edits import Setting
from referee.config.tracks import ModelTrack
from referee.errors import RefereeError
from referee.web.setup import (
    day_page,
    hall_page,
    prize_page,
    rule_page,
    station_page,
    track_page,
)
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import TEAM, Day
from tests.referee.web.setup.settings_pages import Pages, edit, fields

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]
IN_AN_EDITOR = {"id", "tracks.settings"}
SIZES = ((360, 740), (768, 1024), (1440, 900), (1920, 1080))
MARKUP = "<b>Best</b> & 'most'"


@pytest.fixture
def served(day: Callable[..., Day]) -> Day:
    return day(auto_arm=False)


@pytest.fixture
def pages(served: Day) -> Iterator[Pages]:
    made = Pages(served)
    yield made
    made.session.close()


def told(page: str) -> str:
    """What a page said of a refusal."""
    return html.unescape(
        re.findall(r'role="alert">(.*?)</p>', page.partition("<main")[2])[0]
    )


def findings(page: str) -> str:
    return html.unescape(page.partition("<aside")[2])


def test_every_key_has_a_field_or_is_shown_with_its_line() -> None:
    keys = {one.name for one in fields_of(ContestConfig)}
    keys -= {"stations", "prizes", "tracks", "testset"}
    keys -= {"images", "backup", "journal", "rule"}
    tables: dict[str, type[Any]] = {
        "images": Images,
        "backup": Backup,
        "journal": Journal,
        "rule": RuleTable,
        "stations": Station,
        "prizes": Prize,
        "tracks": ModelTrack,
    }
    for table, kind in tables.items():
        keys |= {f"{table}.{one.name}" for one in fields_of(kind)}
    shown = {
        one.name
        for one in (*rule_page.FIELDS, *day_page.FIELDS, *hall_page.FIELDS)
        if not one.table
    }
    shown |= {
        f"{one.table}.{one.key}"
        for one in (*rule_page.FIELDS, *day_page.FIELDS)
        if one.table
    }
    shown |= {f"stations.{one.key}" for one in station_page.FIELDS}
    shown |= {f"prizes.{one.key}" for one in prize_page.FIELDS}
    shown |= {f"tracks.{one.key}" for one in (track_page.NAME, *track_page.FIELDS)}
    assert keys - shown == IN_AN_EDITOR
    assert shown - keys == set()


def test_prizes_are_changed_added_and_removed_and_the_usual_ones_are_not_lost(
    served: Day, pages: Pages
) -> None:
    """A first own prize must not silently take the three usual ones away."""
    page = pages.get("prizes").text
    assert "These are the usual prizes" in page
    form = pages.form(
        "prizes",
        "prizes/add",
    )
    pages.post(
        "prizes/add",
        form | {"name": MARKUP, "rule": "highest-map"},
    )
    usual = ["Best score", "Least energy", "Highest accuracy"]
    names = [one.name for one in read_config(served.folder).prizes]
    assert names == [*usual, MARKUP]
    page = pages.get("prizes").text
    assert MARKUP not in page
    assert escape(MARKUP) in page

    form = pages.form(
        "prizes",
        nth=1,
    )
    pages.post(
        "prizes",
        form | {"name": "Frugal", "rule": "best-score"},
    )
    assert read_config(served.folder).prizes[1] == Prize("Frugal", "best-score")
    for name in ("Best score", "Frugal", "Highest accuracy", MARKUP):
        form = pages.form(
            "prizes",
            "prizes/remove",
        )
        pages.post(
            "prizes/remove",
            form | {"row": name},
        )
    assert read_config(served.folder).prizes == ()
    page = pages.get("prizes").text
    assert "prizes-missing" in findings(page)
    assert '# name = "Frugal"' in (served.folder / "contest.toml").read_text()
    form = pages.form(
        "prizes",
        "prizes/add",
    )
    pages.post(
        "prizes/add",
        form | {"name": "Only", "rule": "best-score"},
    )
    assert read_config(served.folder).prizes == (Prize("Only", "best-score"),)


def test_a_prize_of_a_name_that_is_taken_is_refused_and_the_input_stays(
    served: Day, pages: Pages
) -> None:
    before = (served.folder / "contest.toml").read_bytes()
    form = pages.form(
        "prizes",
        "prizes/add",
    )
    refused = pages.post(
        "prizes/add", form | {"name": "Least energy", "rule": "highest-map"}
    )
    assert refused.status_code == 400
    assert "the prize name 'Least energy' is given twice" in told(refused.text)
    kept = fields(
        refused.text,
        "prizes/add",
    )
    assert (kept["name"], kept["rule"]) == ("Least energy", "highest-map")
    assert (served.folder / "contest.toml").read_bytes() == before


def test_prizes_changed_under_a_run_are_found(served: Day, pages: Pages) -> None:
    assert served.server is not None
    key = (served.folder / "operator-key").read_text().strip()
    arm = {"team": TEAM}
    armed = served.server.ask(
        "POST",
        "/operator/runs",
        key,
        json=arm,
    )
    assert armed.status_code < 300, armed.text
    form = pages.form(
        "prizes",
        "prizes/add",
    )
    page = pages.post("prizes/add", form | {"name": "New", "rule": "best-score"}).text
    assert "Run 1 began under other prizes" in findings(page)


def test_a_track_is_added_changed_and_removed_with_what_doctor_finds(
    served: Day, pages: Pages
) -> None:
    form = pages.form(
        "tracks",
        "tracks/add",
    )
    given = {"name": "phones", "rule": "", "testset": "nowhere"}
    refused = pages.post("tracks/add", form | given).text
    assert "No rule is called &#39;phones&#39;, so this track needs one" in refused
    assert read_config(served.folder).tracks == ()
    given["rule"] = "results"
    page = pages.post("tracks/add", form | given).text
    assert "nowhere" in findings(page)
    form = pages.form("tracks")
    changed = {
        "testset": str(served.testset),
        "submissions_per_day": "5",
        "holdout_until": "2037-09-01T00:00+02:00",
        "publish_automatically": "yes",
    }
    page = pages.post("tracks", form | changed).text
    assert "nowhere" not in findings(page)
    (track,) = read_config(served.folder).tracks
    assert (track.name, track.submissions_per_day) == ("phones", 5)
    assert track.publish_automatically
    with (served.folder / "contest.toml").open("a") as file:
        file.write("[tracks.settings]\nceiling = 30\n")
    lines = (served.folder / "contest.toml").read_text().splitlines()
    at = lines.index("[tracks.settings]") + 1
    page = pages.get("tracks").text
    assert f"line {at} of contest.toml" in page
    assert "phones.settings.ceiling" in page
    form = pages.form(
        "tracks",
        "tracks/remove",
    )
    pages.post(
        "tracks/remove",
        form,
    )
    assert read_config(served.folder).tracks == ()
    text = (served.folder / "contest.toml").read_text()
    assert "# [tracks.settings]\n# ceiling = 30\n" in text


def test_the_hall_s_addresses_are_written_and_checked(
    served: Day, pages: Pages
) -> None:
    given = {
        "board_url": "http://127.0.0.1:8080/",
        "trusted_proxy": "127.0.0.1, 10.0.0.0/8",
        "official_makers": "YOKOGAWA, JOULESCOPE",
    }
    page = pages.post("hall", pages.form("hall") | given).text
    assert "board-url-local" in findings(page)
    assert "unguarded" not in findings(page)
    config = read_config(served.folder)
    assert config.trusted_proxy == ("127.0.0.1", "10.0.0.0/8")
    assert config.official_makers == ("YOKOGAWA", "JOULESCOPE")
    refused = pages.post(
        "hall",
        pages.form("hall") | {"trusted_proxy": "0.0.0.0/0"},
    )
    assert "anyone could forge" in told(refused.text)
    pages.post(
        "hall",
        pages.form("hall") | {"board_url": "", "trusted_proxy": ""},
    )
    config = read_config(served.folder)
    assert (config.board_url, config.trusted_proxy) == ("", ())


# An editor and a page at once


def spoil(folder: Path, how: str) -> bytes:
    path = folder / "contest.toml"
    if how == "half":
        path.write_text(path.read_text().replace("shuffle = true", "shuffle = tr"))
    elif how == "not text":
        path.write_bytes(b"\xff\xfe" + path.read_bytes())
    else:
        path.unlink()
        return b""
    return path.read_bytes()


@pytest.mark.parametrize("how", ["half", "not text", "gone"])
@pytest.mark.parametrize("step", ["rules", "prizes", "hall"])
def test_a_form_sent_while_the_file_is_broken_is_kept_and_can_be_sent_again(
    served: Day, pages: Pages, how: str, step: str
) -> None:
    """Ten minutes of typing are not lost because an editor has saved half a line."""
    path = served.folder / "contest.toml"
    before = path.read_bytes()
    typed = {"hall": "board_url", "rules": "name", "prizes": "name"}[step]
    value = "https://lpirc.example/" if step == "hall" else MARKUP
    form = pages.form(step) | {typed: value}
    broken = spoil(
        served.folder,
        how,
    )
    refused = pages.post(
        step,
        form,
    )
    assert refused.status_code >= 400
    assert "contest.toml" in told(refused.text)
    if how == "half":
        assert "line " in told(refused.text)
    assert escape(value) in refused.text.partition("<form")[0]
    assert (path.read_bytes() if path.exists() else b"") == broken

    path.write_bytes(before.replace(b"window_s = 600", b"window_s = 700"))
    again = pages.post(
        step,
        fields(refused.text, step),
    )
    assert again.status_code == 409, "the file has another version than the form"
    assert value in fields(again.text, step).values()
    done = pages.post(
        step,
        fields(again.text, step),
    )
    assert done.status_code == 200
    config = read_config(served.folder)
    assert config.window_s == 700
    found = (config.name, config.board_url, config.prizes[0].name)
    assert value in found


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "free some space on its disk"),
        (errno.EROFS, "mount its disk writable"),
        (errno.EIO, "look at its disk"),
    ],
)
def test_a_disk_that_fails_in_the_middle_leaves_the_whole_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, advice: str
) -> None:
    path = tmp_path / "contest.toml"
    path.write_text('name = "Day"\n[[stations]]\nname = "a"\nmeter = "sim:"\n')
    before = path.read_bytes()
    version = read_contest_file(tmp_path).version

    def fails(_: int) -> None:
        raise OSError(number, "it fails")

    monkeypatch.setattr(
        "os.fsync",
        fails,
    )
    with pytest.raises(RefereeError) as refused:
        change_settings(
            tmp_path,
            version,
            [Setting("window_s", 900)],
            lambda _: None,
        )
    assert advice in refused.value.sentence
    assert "stays as it was" in refused.value.sentence
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path], "no part of a file is left"


# What pages cannot change


def test_prizes_written_as_values_are_shown_with_their_line(
    served: Day, pages: Pages
) -> None:
    inline = 'prizes = [{name = "Best", rule = "best-score"}]\n'
    edit(
        served,
        "shuffle = true",
        f"{inline}shuffle = true",
    )
    text = (served.folder / "contest.toml").read_text()
    at = text.split("\n").index(inline.strip()) + 1
    page = pages.get("prizes").text
    assert f"written as values in line {at} of contest.toml" in page
    assert "One more prize" not in page
    form = pages.form(
        "prizes",
        "prizes/remove",
    )
    refused = pages.post(
        "prizes/remove",
        form,
    )
    assert f"change line {at} in an editor" in told(refused.text)
    changed = pages.post(
        "prizes",
        pages.form("prizes") | {"name": "First"},
    )
    assert changed.status_code == 200
    assert read_config(served.folder).prizes[0].name == "First"


def test_the_new_steps_are_whole_and_accessible_with_long_names(
    served: Day, pages: Pages, browser: Browser
) -> None:
    long = "a-name-without-a-blank-" * 8
    form = pages.form(
        "prizes",
        "prizes/add",
    )
    pages.post(
        "prizes/add",
        form | {"name": long, "rule": "best-score"},
    )
    form = pages.form(
        "tracks",
        "tracks/add",
    )
    given = {"name": long, "rule": "results", "testset": str(served.testset)}
    pages.post(
        "tracks/add",
        form | given,
    )
    key = (served.folder / "operator-key").read_text().strip()
    for scheme in ("light", "dark"):
        with visit(browser, f"{pages.url}/prizes", color_scheme=scheme) as page:
            page.fill(
                "[name=name]",
                "ruth",
            )
            page.fill(
                "[name=password]",
                key,
            )
            page.keyboard.press("Enter")
            page.wait_for_selector(".steps")
            for step in ("prizes", "tracks", "hall"):
                page.goto(f"{pages.url}/{step}")
                for width, height in SIZES:
                    page.set_viewport_size(
                        {"width": width, "height": height},
                    )
                    wide = page.evaluate("document.documentElement.scrollWidth")
                    assert wide <= width, (step, width)
                    assert_accessible(page)


# The trial run


def test_a_trial_run_is_made_from_the_console_and_is_on_record(
    served: Day, pages: Pages
) -> None:
    form = pages.form("stations")
    tried = pages.post(
        "stations/trial",
        form,
    )
    assert tried.status_code == 200, told(tried.text)
    assert "The trial run of" in tried.text
    with served.store() as store:
        acts = [one["detail"] for one in store.log.newest_after(0, 500)[1]]
        assert store.runs.find() == []
    (made,) = [one for one in acts if one.get("action") == "trial-run"]
    assert made["user"] == "ruth"


def test_no_trial_run_disturbs_a_run(served: Day, pages: Pages) -> None:
    assert served.server is not None
    key = (served.folder / "operator-key").read_text().strip()
    arm = {"team": TEAM}
    form = pages.form("stations")
    answer = served.server.ask(
        "POST",
        "/operator/runs",
        key,
        json=arm,
    )
    assert answer.status_code in (200, 201), answer.text
    refused = pages.post(
        "stations/trial",
        form,
    )
    assert refused.status_code == 409
    assert "ask its meter when that run is over" in told(refused.text)
