"""The rules in a contest with runs: no rank is lost without a question, and what is not applied ranks no one."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator

import pytest

from referee.clock import Clock
from referee.config import read_config
from referee.contest import open_contest
from referee.judging.judge import judge
from tests.contest_day import Day, refers
from tests.referee.judging.judged_runs import closed_run
from tests.referee.web.setup.settings_pages import Pages, edit, fields

ENERGIES_WH = {"ant": 1.0, "bee": 2.0}


@pytest.fixture
def ranked(day: Callable[..., Day]) -> Day:
    """A served contest in which two teams have a rank."""
    made = day(served=False, auto_arm=False, teams=tuple(ENERGIES_WH))
    with open_contest(made.folder) as contest:
        for team, energy_wh in ENERGIES_WH.items():
            run = closed_run(contest, team, energy_wh)
            judge(contest, run.id, Clock())
    made.serve()
    return made


@pytest.fixture
def pages(ranked: Day) -> Iterator[Pages]:
    made = Pages(ranked)
    yield made
    made.session.close()


def preset(pages: Pages, name: str) -> dict[str, str]:
    """The form of a preset."""
    form = pages.form("rules")
    return {"csrf": form["csrf"], "version": form["version"], "preset": name}


def ranks(day: Day) -> tuple[dict[str, int], str]:
    """The ranks that the command prints, and what it says beside."""
    ended = refers("leaderboard", "--contest", str(day.folder), "--json")
    places = json.loads(ended.stdout)
    return {one["team"]: one["rank"] for one in places}, ended.stderr


def test_a_preset_shows_what_it_changes_and_asks_once_there_is_a_run(
    ranked: Day, pages: Pages
) -> None:
    before = (ranked.folder / "contest.toml").read_text()
    asked = pages.post("rules/preset", preset(pages, "lpirc"))
    assert asked.status_code == 200
    assert (ranked.folder / "contest.toml").read_text() == before
    text = html.unescape(asked.text)
    assert "metric: lpirc -> ilsvrc-det" in text
    assert "2 judged runs lose their rank: run 1, 2" in text
    sure = preset(pages, "lpirc") | {"sure": "yes"}
    assert "Written into" in pages.post("rules/preset", sure).text
    assert read_config(ranked.folder).metric == "ilsvrc-det"


def test_what_is_written_and_not_applied_takes_no_rank(
    ranked: Day, pages: Pages
) -> None:
    stood = {"ant": 1, "bee": 2}
    found, said = ranks(ranked)
    assert found == stood
    assert "differs" not in said
    pages.post("rules/preset", preset(pages, "lpirc") | {"sure": "yes"})
    found, said = ranks(ranked)
    assert found == stood
    assert "differs from the settings that the server runs with" in said
    assert "metric: lpirc -> ilsvrc-det" in said
    assert ranked.server is not None
    ranked.server.end()
    found, said = ranks(ranked)
    assert found == {}, "without a server the file counts"
    assert "is left out" in said
    found_by_doctor = refers("doctor", str(ranked.folder)).stdout
    assert "runs-left-out: Run 1, 2 was judged by another metric" in found_by_doctor


def test_apply_names_the_runs_that_lose_their_rank_and_asks(
    ranked: Day, pages: Pages
) -> None:
    edit(ranked, 'metric = "lpirc"', 'metric = "ilsvrc-det"')
    page = pages.get("apply").text
    assert "2 judged runs lose their rank: run 1, 2" in page
    form = pages.form("apply")
    refused = pages.post("apply", form)
    assert refused.status_code == 409
    assert "Tick that you want this" in refused.text
    done = pages.post("apply", form | {"sure": "yes"})
    assert done.status_code == 200
    assert "The referee starts" in done.text


def test_discard_puts_back_what_is_in_use_also_over_a_broken_file(
    ranked: Day, pages: Pages
) -> None:
    before = (ranked.folder / "contest.toml").read_text()
    pages.post("rules/preset", preset(pages, "lpirc") | {"sure": "yes"})
    form = fields(pages.get("apply").text, "apply/discard")
    edit(ranked, "shuffle = true", "shuffle = tr")
    assert pages.post("apply/discard", form).status_code in (400, 409)
    broken = pages.get("apply")
    assert "Discard changes" in broken.text
    done = pages.post("apply/discard", fields(broken.text, "apply/discard"))
    assert "has the settings in use again" in done.text
    assert (ranked.folder / "contest.toml").read_text() == before


def test_next_writes_what_was_changed(ranked: Day, pages: Pages) -> None:
    form = pages.form("rules") | {"attempts": "4", "onward": "yes"}
    onward = pages.post("rules", form)
    assert onward.url.partition("?")[0].endswith("/testset")
    assert read_config(ranked.folder).attempts == 4
    nothing = pages.post("rules", pages.form("rules") | {"onward": "yes"})
    assert nothing.url.endswith("/testset")


@pytest.mark.parametrize("step", ["rules", "hall", "day"])
def test_next_beside_one_form_sends_that_form(pages: Pages, step: str) -> None:
    text = pages.get(step).text
    assert f'form="{step}" name="onward" value="yes"' in text
    assert f'id="{step}"' in text


def test_findings_on_pages_name_fields_and_no_keys(ranked: Day, pages: Pages) -> None:
    edit(ranked, "shuffle = true", "shuffle = false")
    for step in ("rules", "apply"):
        beside = pages.get(step).text.partition("<aside")[2]
        found = html.unescape(beside[beside.index("What doctor finds") :])
        assert "Tick “Each run sees the images in its own secret order”" in found
        assert "write" not in found
        assert "shuffle =" not in found


def test_the_preset_in_the_file_is_marked(ranked: Day, pages: Pages) -> None:
    pages.post("rules/preset", preset(pages, "jury") | {"sure": "yes"})
    page = pages.get("rules").text
    marked = re.findall(r'<b>([^<]*)</b> <span class="mark good">', page)
    assert marked == ["Contest with a jury of two"]


@pytest.mark.parametrize(
    ("step", "form"),
    [
        ("rules", {"name": "LPIRC\n[[stations]]"}),
        ("rules", {"name": "x" * 301}),
        ("stations", {"name": "b]\n[[stations]]"}),
        ("stations", {"name": "../../x"}),
        ("teams/add", {"team": "x" * 200_000}),
        ("teams/add", {"team": "ANT"}),
        ("teams/add", {"team": "cat", "affiliation": "x" * 200_000}),
    ],
)
def test_a_name_that_set_up_refuses_is_refused_here(
    ranked: Day, pages: Pages, step: str, form: dict[str, str]
) -> None:
    before = (ranked.folder / "contest.toml").read_text()
    page = step.partition("/")[0]
    refused = pages.post(step, pages.form(page, step) | form)
    assert refused.status_code == 400
    (said,) = re.findall(r'bad name" role="alert">(.*?)</p>', refused.text, re.DOTALL)
    assert len(said) < 1000
    assert (ranked.folder / "contest.toml").read_text() == before
    with ranked.store() as store:
        assert [*store.teams.all()] == list(ENERGIES_WH)


def test_a_rule_with_its_limit_is_written_and_what_it_lacks_is_said(
    ranked: Day, pages: Pages
) -> None:
    form = pages.form("rules")
    chosen = {"rule.name": "accuracy-within-limit"}
    refused = pages.post("rules", form | chosen)
    assert refused.status_code == 400
    assert "needs a limit: set one of “Most energy, Wh”" in html.unescape(refused.text)
    chosen["rule.energy_limit_wh"] = "1.5"
    assert "Written into" in pages.post("rules", form | chosen).text
    rule = read_config(ranked.folder).contest_rule
    assert rule.stated == {"name": "accuracy-within-limit", "energy_limit_wh": 1.5}
    assert "accuracy (mAP) within the limit" in pages.get("apply").text
    assert "of runs with at most 1.5 Wh." in pages.get("rules").text
