"""Every figure of a report, computed again from the rows of the database, apart from the modules that computed it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from lpirc_score import Detections, evaluate
from lpirc_score.analysis.error_types import analyse_errors
from lpirc_testsets import GroundTruth, TestSet, read_ground_truth, synthesize
from referee.clock import Clock
from referee.judging.client_timeline import read_timeline
from referee.judging.judge_many import judge_with_interval
from referee.report import report_page
from tests.referee.factories import House, house
from tests.referee.judging.sent_runs import closed_run, guesses
from tests.referee.judging.test_client_timeline import event, written

ENERGIES_WH = {"ahead": 0.08, "own": 0.1, "behind": 0.13}
OWN = 2
END_S = 10.0
IMAGES = 40


class Database:
    """What the rows of the file say of a run."""

    def __init__(self, folder: Path, run: int) -> None:
        with closing(sqlite3.connect(folder / "contest.db")) as database:
            (self.energy_wh,) = database.execute(
                "SELECT energy_wh FROM runs WHERE id = ?", (run,)
            ).fetchone()
            posts = database.execute(
                "SELECT elapsed_s, rows, sha256 FROM posts WHERE run = ? ORDER BY id",
                (run,),
            ).fetchall()
            readings = database.execute(
                "SELECT elapsed_s, power_w, energy_wh FROM readings WHERE run = ?",
                (run,),
            ).fetchall()
        self.posts_s = [when for when, _, _ in posts]
        self.digests = [digest for _, _, digest in posts]
        sent = [np.frombuffer(rows, "<f8").reshape(-1, 7) for _, rows, _ in posts]
        self.rows = np.concatenate(sent)
        self.rows[:, 0] = IMAGES + 1 - self.rows[:, 0]  # it was served in reverse
        self.reading_s, self.power_w, self.wh = np.array(readings).T

    def until_wh(self, when_s: float) -> float:
        times = [0.0, *self.reading_s[self.reading_s < END_S], END_S]
        known = [0.0, *self.wh[self.reading_s < END_S], self.energy_wh]
        return float(np.interp(when_s, times, known))

    def found(self) -> Detections:
        by_image = np.argsort(self.rows[:, 0], kind="stable")
        return Detections.from_rows(self.rows[by_image])


@pytest.fixture(scope="module")
def larger_set(tmp_path_factory: pytest.TempPathFactory) -> TestSet:
    return synthesize(
        tmp_path_factory.mktemp("sets") / "larger",
        images=IMAGES,
        categories=3,
        seed=3,
        size=(160, 120),
    )


@pytest.fixture
def hall(larger_set: TestSet, tmp_path: Path) -> Iterator[House]:
    """Three teams, each with a run of ten seconds."""
    with house(tmp_path / "contest", larger_set) as made:
        for team, energy_wh in ENERGIES_WH.items():
            run = closed_run(
                made.contest,
                guesses(made.contest, 0.8),
                team=team,
                energy_wh=energy_wh,
            )
            judge_with_interval(made.contest, run.id, Clock())
        yield made


@pytest.fixture(scope="module")
def truth(larger_set: TestSet) -> GroundTruth:
    return read_ground_truth(larger_set.folder)


def page(hall: House, timeline: bytes | None = None) -> str:
    read = None if timeline is None else read_timeline(timeline)
    return report_page(
        hall.contest,
        hall.store.runs.get(OWN),
        timeline=read,
    )


def table(text: str, heading: str) -> dict[str, list[str]]:
    """The rows of the first table after a heading, by their first cell."""
    after = text[text.index(f">{heading}<") :]
    body = after[: after.index("</table>")]
    rows = {}
    for row in re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL):
        cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
        rows[unescape(cells[0])] = [unescape(one) for one in cells[1:]]
    return rows


def test_the_result_and_the_neighbours_are_those_of_the_rows(
    hall: House,
    truth: GroundTruth,
) -> None:
    text = page(hall)
    scores = {}
    board = table(text, "On the board: rank 2")
    for number, team in enumerate(ENERGIES_WH, start=1):
        of_run = Database(hall.folder, number)
        reached = evaluate(truth, of_run.found(), "lpirc").map
        scores[team] = reached / of_run.energy_wh
        shown = board[str(number)]
        assert shown[:4] == [
            team,
            f"{scores[team]:.4f}",
            f"{reached:.5f}",
            f"{of_run.energy_wh:.6f}",
        ]
    result = table(text, "Result")
    assert result["score"][0] == f"{scores['own']:.4f} mAP/Wh"
    assert result["energy"][0] == "0.100000 Wh"
    ahead = scores["ahead"] / scores["own"]
    behind = scores["own"] / scores["behind"]
    assert f"ahead has {ahead:.3f} times the score of this run" in text
    assert f"this run has {behind:.3f} times its score" in text
    assert "took 0.080000 Wh, 0.020000 Wh less." in text
    assert "took 0.130000 Wh, 0.030000 Wh more." in text


def test_the_needs_follow_from_the_interval_of_the_gap(hall: House) -> None:
    text = page(hall)
    value, low, high = map(
        float,
        re.findall(
            r"ahead has ([\d.]+) times the score of this run \(([\d.]+) to ([\d.]+)",
            text,
        )[0],
    )
    assert value == 1.25
    most, energy, guess, least, again = re.findall(
        r"<strong>([\d.]+)% less energy</strong> \(([\d.]+) Wh\).*?([\d.]+)% \(([\d.]+) to ([\d.]+)%",
        text,
    )[0]
    assert most == again
    assert float(most) == pytest.approx(100 * (1 - 1 / high), abs=0.1)
    assert float(least) == pytest.approx(100 * (1 - 1 / low), abs=0.1)
    assert guess == "20.0"
    assert float(energy) == pytest.approx(0.1 / high, rel=1e-3)


def test_the_log_out_levels_and_phases_are_those_of_posts_and_readings(
    hall: House,
) -> None:
    text = page(hall)
    own = Database(hall.folder, OWN)
    last_s = own.posts_s[-1]
    ratio = own.energy_wh / own.until_wh(last_s)
    gained = table(text, "What this run itself could have gained")
    assert gained[f"log out about {last_s:.1f} s after the start"][0] == f"{ratio:.3f}"

    (level,) = re.findall(
        r'level of power, W.*?<th scope="row">([\d.]+)</th>', text, re.DOTALL
    )
    assert level == f"{own.power_w.mean():.3f}"
    phases = table(text, "Phases by the referee's record")
    for name, begins_s, ends_s in (
        ("waiting", 0.0, 0.5),
        ("detecting", 0.5, own.posts_s[0]),  # it has rows for the image served last
        ("posting", own.posts_s[0], last_s),
        ("idle", last_s, END_S),
    ):
        used_wh = own.until_wh(ends_s) - own.until_wh(begins_s)
        assert phases[name] == [
            f"{ends_s - begins_s:.3f}",
            f"{used_wh:.6f}",
            f"{used_wh / own.energy_wh:.1%}",
        ]


def test_what_an_image_cost_is_that_of_the_posts_or_of_the_timeline(
    hall: House,
) -> None:
    own = Database(hall.folder, OWN)
    without = table(page(hall), "What an image cost")
    worked_wh = own.until_wh(2.0) - own.until_wh(0.5)
    shown = without["fetching, detecting, posting"]
    assert shown[:3] == [
        "1.500",
        f"{worked_wh:.6f}",
        f"{worked_wh / own.energy_wh:.1%}",
    ]
    assert shown[4] == f"{worked_wh / IMAGES * 3.6e6:.1f}"

    timeline = written(
        event(
            "fetch",
            0.0,
            0.5,
            image=1,
            images=IMAGES,
        ),
        event(
            "detecting",
            0.5,
            0.75,
            image=1,
        ),
        event(
            "send",
            0.9,
            1.1,
            sha256=own.digests[0],
        ),
        event(
            "send",
            1.9,
            2.1,
            sha256=own.digests[1],
        ),
    )
    text = page(hall, timeline)
    assert "2 of its 2 bodies are those of the receipts" in text
    assert "known to within 100.0 ms" in text
    kinds = table(text, "What an image cost")
    for name, begins_s, ends_s in (("fetching", 0.0, 0.5), ("detecting", 0.5, 0.75)):
        used_wh = own.until_wh(ends_s) - own.until_wh(begins_s)
        assert kinds[name][:2] == [f"{ends_s - begins_s:.3f}", f"{used_wh:.6f}"]
    assert kinds["posting"][0] == "0.400"
    assert kinds["all"][:2] == ["10.000", "0.100000"]


def test_slices_confusions_and_the_threshold_are_those_of_the_rows(
    hall: House,
    truth: GroundTruth,
) -> None:
    text = page(hall)
    found = Database(hall.folder, OWN).found()
    shown = table(text, "By size and by crowding")
    counts = np.bincount(truth.image, minlength=len(truth.image_ids) + 1)
    for name, least, most in (("2 to 4 objects", 2, 5), ("5 to 9 objects", 5, 10)):
        is_own = (counts >= least) & (counts < most)
        part = truth.of_objects(is_own[truth.image])
        reached = evaluate(part, found.of_rows(is_own[found.image]), "lpirc").map
        assert shown[name][0] == f"{reached:.5f}"
        assert shown[name][2] == str(len(part.image))
    size = truth.boxes[:, 2:] - truth.boxes[:, :2] + 1
    sides = size.prod(axis=1)
    assert shown["small, to 32 x 32 pixels"][2] == str((sides <= 1024).sum())

    analysis = analyse_errors(truth, found)
    confused = table(text, "Categories that were confused")
    names = {row[0] for row in confused.values()} | set(confused)
    assert set(truth.category_names) & names
    errors = table(text, "What it cost you")
    energy_wh = ENERGIES_WH["own"]
    for type_, gain in analysis.gains.items():
        row = errors[type_.replace("-", " ")]
        assert row[1:] == [
            str(analysis.counts[type_]),
            f"{gain:.5f}",
            f"{gain / energy_wh:.4f}",
        ]
    kept, all_rows, threshold, left, whole = (
        re.findall(
            r"Without the (\d+) of (\d+) rows below a confidence of ([\d.]+) the mAP would have been ([\d.]+) "
            r"instead of ([\d.]+)",
            text,
        )[0]
        if "Without the" in text
        else ("0", str(len(found)), "0", "", "")
    )
    assert int(all_rows) == len(found)
    if left:
        part = found.of_rows(found.confidence >= float(threshold) - 5e-5)
        assert abs(evaluate(truth, part, "lpirc").map - float(left)) < 5e-4
        assert whole == f"{evaluate(truth, found, 'lpirc').map:.5f}"
        assert int(kept) == pytest.approx(len(found) - len(part), abs=1)
