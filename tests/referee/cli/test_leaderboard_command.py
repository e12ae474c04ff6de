from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from lpirc_power.energy import Check
from lpirc_score.analysis.halves import HALVES
from lpirc_score.metrics.evaluation_result import RULES_VERSION
from lpirc_testsets import TestSet
from referee.store.records import Review, RunState, Score
from tests.contest_day import called
from tests.referee.factories import HALF_SAMPLED, START, House, house, stored_run


@pytest.fixture
def judged(tmp_path: Path, small_set: TestSet) -> Iterator[House]:
    """Three judged teams, the second best with a chance of one in ten, and a void run that was the best."""
    with house(tmp_path / "contest", small_set) as made:
        for team, value, mode in (
            ("ant", 0.30, "rms"),
            ("bee", 0.29, "dc"),
            ("cat", 0.10, "rms"),
            ("dog", 0.90, "rms"),
        ):
            run = stored_run(made.store, team=team, testset_digest=small_set.digest).id
            made.store.runs.change(
                run,
                (RunState.ARMED,),
                state="judged",
                energy_wh=1.0,
            )
            found = judgement(run, value, f"lpirc|rules:{RULES_VERSION}|mode:{mode}")
            made.store.scores.add(found)
            low = value - 0.05
            high = value + 0.05
            # The lead of 0.01 is 1.2816 deviations of bee's halves: a chance of 90 %.
            deviation = 0.0076709 if team == "bee" else 0.0
            maps = value + deviation * (-1.0) ** np.arange(HALVES)
            interval = replace(
                HALF_SAMPLED,
                score_low=low,
                score_high=high,
                map_bias=0.0125,
            )
            made.store.scores.add_interval(found, interval, maps)
        made.store.runs.change(
            4,
            (RunState.JUDGED,),
            state="void",
            void_reason="wrong board",
        )
        yield made


def judgement(
    run: int,
    value: float,
    signature: str,
    published: float | None = 0.4,
) -> Score:
    return Score(
        run,
        START.isoformat(),
        value,
        1.0,
        value,
        3.6,
        5,
        7,
        {1: value},
        signature,
        (),
        map_ilsvrc_det=published,
    )


def test_the_leaderboard_ranks_judged_runs_and_leaves_void_ones_out(
    judged: House,
) -> None:
    told = called("leaderboard", "--contest", str(judged.folder), "--json")
    rows = json.loads(told.stdout)
    chance = pytest.approx(0.9, abs=1e-3)
    covers = "same images; the energy spread is unknown"
    assert [
        (row["rank"], row["team"], row["level_with"], row["differs"]) for row in rows
    ] == [
        (
            1,
            "ant",
            [
                {
                    "team": "bee",
                    "chance": chance,
                    "covers": covers,
                }
            ],
            [],
        ),
        (
            2,
            "bee",
            [
                {
                    "team": "ant",
                    "chance": chance,
                    "covers": covers,
                }
            ],
            ["mode dc instead of rms"],
        ),
        (3, "cat", [], []),
    ]
    assert rows[0]["score"] == 0.30
    assert rows[0]["score_low"] == 0.25
    assert rows[0]["energy_wh"] == 1.0
    assert rows[0]["map"] == 0.30
    assert rows[0]["map_ilsvrc_det"] == 0.4
    assert rows[0]["signature"][:5] == "lpirc"
    assert told.stderr == ""


def test_the_table_and_the_csv_say_the_same(judged: House) -> None:
    where = ("--contest", str(judged.folder))
    rows = list(
        csv.DictReader(io.StringIO(called("leaderboard", *where, "--csv").stdout))
    )
    assert [row["team"] for row in rows] == ["ant", "bee", "cat"]
    assert [
        (row["map_ilsvrc_det"], row["level_with"], row["differs"]) for row in rows[:2]
    ] == [
        ("0.4", "bee:0.900", ""),
        ("0.4", "ant:0.900", "mode dc instead of rms"),
    ]
    table = called("leaderboard", *where).stdout
    assert table.index("ant") < table.index("cat")
    head = table.splitlines()[0]
    assert head.index("mAP lpirc") < head.index("mAP ilsvrc-det")
    assert "0.30000         0.40000" in table
    notes = table.splitlines()[-2:]
    covers = "same images; the energy spread is unknown"
    assert notes == [
        f"ant: its order with bee is 90.0% certain ({covers}).",
        f"bee: its order with ant is 90.0% certain ({covers}), mode dc instead of rms.",
    ]
    (marked,) = (line for line in table.splitlines() if line.endswith(" d"))
    assert " bee " in marked


def test_a_contest_by_the_published_metric_shows_it_once(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    with house(tmp_path / "contest", small_set, metric="ilsvrc-det") as made:
        run = stored_run(made.store, testset_digest=small_set.digest).id
        made.store.runs.change(run, (RunState.ARMED,), state="judged")
        made.store.scores.add(judgement(run, 0.4, "ilsvrc-det|iou:0.5"))
        told = called("leaderboard", "--contest", str(made.folder))
    assert told.stdout.count("mAP ilsvrc-det") == 1


def test_a_run_by_other_rules_is_left_out_and_told_which(judged: House) -> None:
    judged.store.scores.add(
        judgement(2, 0.29, f"voc-11|rules:{RULES_VERSION + 1}|mode:dc")
    )
    told = called("leaderboard", "--contest", str(judged.folder)).stderr
    why = f"metric voc-11, now lpirc; rules {RULES_VERSION + 1}, now {RULES_VERSION}"
    assert told.splitlines() == [
        f"Run 2 of bee is left out: it was judged by other rules ({why}).",
        "To see how a judgement by lpirc would change them: referee rejudge --all --dry-run --metric lpirc",
    ]


def test_a_judgement_of_an_earlier_form_is_told_with_what_to_do(judged: House) -> None:
    judged.store.scores.add(judgement(2, 0.29, "lpirc|iou:0.5|v:0.1.0", None))
    told = called("leaderboard", "--contest", str(judged.folder))
    assert (
        told.stderr
        == "Run 2 of bee was judged by an earlier version, or not completely; run: referee judge 2\n"
    )
    assert "% certain" not in told.stdout
    assert (
        "(how certain the lead is over bee is not known: judge the runs again, or see in referee run show "
        "whose uncertainty is unknown)" in told.stdout
    )
    shown = called("run", "show", "2", "--contest", str(judged.folder)).stdout
    assert "mAP ilsvrc-det" in shown
    assert "not computed; judge the run again" in shown


def test_a_run_is_shown_with_both_maps_and_the_bias(judged: House) -> None:
    where = ("run", "show", "1", "--contest", str(judged.folder))
    shown = called(*where).stdout
    (ours, bias, published) = (
        line for line in shown.splitlines() if "mAP " in line[:8] or "bias" in line
    )
    assert "mAP lpirc" in ours
    assert "0.30000" in ours
    assert "+0.01250" in bias
    assert "0.40000" in published
    document = json.loads(called(*where, "--json").stdout)["judged"]
    assert document["metric"] == "lpirc"
    assert document["map"] == 0.30
    assert document["map_ilsvrc_det"] == 0.4
    assert document["interval"]["map_bias"] == 0.0125


def test_runs_by_other_rules_are_left_out_and_named(judged: House) -> None:
    config = judged.folder / "contest.toml"
    config.write_text(config.read_text().replace("window_s = 600", "window_s = 60"))
    told = called("leaderboard", "--contest", str(judged.folder), "--json")
    assert json.loads(told.stdout) == []
    named = [line.partition(" is ")[0] for line in told.stderr.splitlines()[:-1]]
    assert named == ["Run 1 of ant", "Run 2 of bee", "Run 3 of cat"]


HOSTILE = ("=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "<script>alert(1)</script>")


@pytest.fixture
def hostile(tmp_path: Path, small_set: TestSet) -> Iterator[House]:
    """Judged teams whose names a spreadsheet or a browser would run; whose orders are not sure."""
    with house(tmp_path / "contest", small_set) as made:
        for place, team in enumerate(HOSTILE):
            run = stored_run(made.store, team=team, testset_digest=small_set.digest).id
            made.store.runs.change(
                run,
                (RunState.ARMED,),
                state="judged",
                energy_wh=1.0,
            )
            value = 0.5 - place / 10
            found = judgement(
                run,
                value,
                f"lpirc|rules:{RULES_VERSION}|mode:{'rms' if place else 'dc'}",
            )
            failed = Check(
                "peak-clipping",
                ok=False,
                severity="error",
                sentence="Clipped.",
                figures={},
            )
            checks = (failed,) if place == 4 else ()
            made.store.scores.add(replace(found, checks=checks))
            maps = value + place * 0.2 * (-1.0) ** np.arange(HALVES)
            interval = replace(HALF_SAMPLED, score_low=value, score_high=value)
            made.store.scores.add_interval(found, interval, maps)
        yield made


@pytest.mark.parametrize("lists", ["leaderboard", "run list"])
def test_no_spreadsheet_takes_a_teams_name_for_a_formula(
    hostile: House,
    lists: str,
) -> None:
    told = called(*lists.split(), "--csv", "--contest", str(hostile.folder))
    rows = list(csv.DictReader(io.StringIO(told.stdout)))
    assert [row["team"] for row in rows] == [
        *(f"'{name}" for name in HOSTILE[:4]),
        HOSTILE[4],
    ]
    assert not [
        cell
        for row in rows
        for cell in row.values()
        if cell.startswith(("=", "+", "-", "@"))
    ]
    assert [float(row["score"]) for row in rows] == pytest.approx(
        [0.5, 0.4, 0.3, 0.2, 0.1]
    )


class Page(HTMLParser):
    """The cells of a page's table, the notes below it, and the resources that it would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.rows: list[list[str]] = []
        self.notes: list[str] = []
        self.feed(text)

    def handle_starttag(
        self,
        tag: str,
        attrs: list[tuple[str, str | None]],
    ) -> None:
        self.tags.append(tag)
        self.loads += [str(value) for name, value in attrs if name in ("src", "href")]
        if tag == "li":
            self.notes.append("")
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] in (["td"], ["th"]):
            self.rows[-1][-1] += data.strip()
        elif self.tags[-1:] == ["li"]:
            self.notes[-1] += data.strip()


def test_the_page_stands_alone_and_says_its_marks_in_words(hostile: House) -> None:
    text = called("leaderboard", "--html", "--contest", str(hostile.folder)).stdout
    page = Page(text)
    assert page.loads == []
    assert "script" not in page.tags
    assert not re.findall(r"url\((?!\"data:)|@import", text)
    head, *rows = page.rows
    assert head == [
        *(
            "rank",
            "team",
            "score",
            "95 % interval",
            "mAP lpirc",
            "mAP ilsvrc-det",
            "energy Wh",
            "run",
        ),
        "marks",
    ]
    assert [row[:3] for row in rows] == [
        [str(rank) if rank < 5 else "-", name, f"{0.6 - rank / 10:.4f}"]
        for rank, name in enumerate(HOSTILE, start=1)
    ]
    assert [row[-1] for row in rows] == ["", "d", "d", "d", "!"]
    assert (
        page.notes[0] == "! in review   u unofficial meter   d differs from the leader"
    )
    (second,) = (note for note in page.notes if note.startswith("+1: "))
    assert second.startswith(f"+1: its order with {HOSTILE[0]} is ")
    assert second.endswith(" is unknown), mode rms instead of dc.")
    last = f"Run 5 of {HOSTILE[4]} is not ranked: it is in review until an operator decides: "
    assert page.notes[-1] == f"{last}peak-clipping failed (Clipped)."


def test_the_page_of_the_runs_stands_alone_too(hostile: House) -> None:
    judged = called("run", "list", "--html", "--contest", str(hostile.folder)).stdout
    page = Page(judged)
    assert page.loads == []
    assert ("script" in page.tags) is False
    assert [row[1] for row in page.rows[1:]] == list(HOSTILE)
    assert [row[-1] for row in page.rows] == ["marks", "", "", "", "", "!"]
    assert page.notes == ["~ so far   ! in review   u unofficial meter"]


def test_a_run_below_least_map_is_shown_without_rank_in_every_form(
    judged: House,
) -> None:
    config = judged.folder / "contest.toml"
    config.write_text("least_map = 0.2\n" + config.read_text())
    where = ("--contest", str(judged.folder))
    why = "its mAP 0.10000 is below least_map 0.2"
    rows = json.loads(called("leaderboard", *where, "--json").stdout)
    assert [(row["rank"], row["team"], row["not_ranked"]) for row in rows] == [
        (1, "ant", None),
        (2, "bee", None),
        (None, "cat", why),
    ]
    (last,) = list(
        csv.DictReader(io.StringIO(called("leaderboard", *where, "--csv").stdout))
    )[2:]
    assert last["rank"] == ""
    assert last["team"] == "cat"
    assert last["not_ranked"] == why
    table = called("leaderboard", *where).stdout
    assert [line.split()[:2] for line in table.splitlines() if line.endswith(" b")] == [
        ["-", "cat"]
    ]
    assert "b below" in table
    assert f"Run 3 of cat is not ranked: {why}." in table
    stdout = called("leaderboard", *where, "--html").stdout
    assert f"Run 3 of cat is not ranked: {why}." in stdout
    assert f"Not ranked: {why}." in called("run", "show", "3", *where).stdout
    not_ranked = json.loads(called("run", "show", "3", *where, "--json").stdout)[
        "not_ranked"
    ]
    assert not_ranked == why
    listed = json.loads(called("run", "list", *where, "--json").stdout)
    assert [one["not_ranked"] for one in listed] == [None, None, why, None]


def test_a_run_in_review_is_shown_without_rank_in_every_form_and_wins_nothing(
    judged: House,
) -> None:
    found = judgement(1, 0.30, f"lpirc|rules:{RULES_VERSION}|mode:rms")
    failed = Check(
        "peak-clipping",
        ok=False,
        severity="error",
        sentence="Clipped.",
        figures={},
    )
    seen = Check(
        "images-seen",
        ok=True,
        severity="warning",
        sentence="Seen.",
        figures={"images": 3},
    )
    judged.store.scores.add(replace(found, checks=(failed, seen)))
    where = ("--contest", str(judged.folder))
    rows = json.loads(called("leaderboard", *where, "--json").stdout)
    told = [
        (row["rank"], row["team"], row["not_ranked_code"], row["images_seen"])
        for row in rows
    ]
    assert told == [
        (1, "bee", None, 0),
        (2, "cat", None, 0),
        (None, "ant", "in-review", 3),
    ]
    assert rows[2]["prizes"] == []
    assert rows[2]["failed_checks"] == [
        {"code": "peak-clipping", "sentence": "Clipped."}
    ]
    *_, last = csv.DictReader(
        io.StringIO(called("leaderboard", *where, "--csv").stdout)
    )
    assert last["rank"] == ""
    assert last["team"] == "ant"
    assert last["failed_checks"] == "peak-clipping"
    table = called("leaderboard", *where).stdout
    assert [
        line.split()[:2] for line in table.splitlines() if line.endswith(" !i")
    ] == [["-", "ant"]]
    why = "it is in review until an operator decides: peak-clipping failed (Clipped)"
    assert (
        f"Run 1 of ant is not ranked: {why}, 3 of its images were served to earlier runs of the team."
        in table
    )
    listed = json.loads(called("run", "list", *where, "--json").stdout)
    assert listed[0]["not_ranked"] == why
    assert listed[0]["images_seen"] == 3
    judged.store.reviews.add(
        1,
        Review("jo", "a spike", START.isoformat(), ("peak-clipping",)),
    )
    rows = json.loads(called("leaderboard", *where, "--json").stdout)
    assert [(row["rank"], row["team"]) for row in rows] == [
        (1, "ant"),
        (2, "bee"),
        (3, "cat"),
    ]


def test_the_prizes_are_named_with_their_winners(judged: House) -> None:
    where = ("--contest", str(judged.folder))
    rows = json.loads(called("leaderboard", *where, "--json").stdout)
    assert {row["team"]: row["prizes"] for row in rows} == {
        "ant": ["Best score", "Highest accuracy"],
        "bee": ["Best score", "Highest accuracy"],  # its order with ant is not sure
        "cat": [],
    }
    told = called("leaderboard", *where).stdout
    shared = "ant and bee (shared, since the order is uncertain, with: bee)"
    assert (
        f"Best score: {shared}.\nLeast energy (needs an mAP of 0.32201 or more): no team.\n"
        in told
    )
    config = judged.folder / "contest.toml"
    config.write_text(
        config.read_text() + "[[prizes]]\nname = 'Cup'\nrule = 'best-score'\n"
    )
    assert f"Cup: {shared}." in called("leaderboard", *where, "--html").stdout
    config.write_text("prizes = []\n" + config.read_text().partition("[[prizes]]")[0])
    assert "shared" not in called("leaderboard", *where).stdout
