"""The page of a run: whole, without references, true to the judgement, and never an exception."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Callable
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lpirc_power.energy import Budget
from lpirc_power.report.budget_words import interval_words
from lpirc_testsets import Category, TestSet, load_test_set, read_ground_truth
from lpirc_testsets.writing import ObjectRecord, new_folder, write_records
from referee.clock import Clock
from referee.contest import Contest
from referee.errors import RefereeError
from referee.judging.judge import judge
from referee.judging.judge_many import judge_with_interval
from referee.judging.standings import standings
from referee.report import print_pdf, report_page, write_report
from referee.store.records import Review, Run, RunState, Score
from tests.contest_day import called
from tests.referee.factories import START, House, house, reading, stored_run

VOID_ELEMENTS = {"meta", "link", "br", "img", "hr", "input"}
LINK = re.compile("<link[^>]*>")
LOADS = re.compile(r"https?:|//|url\(\s*['\"]?(?!data:|#)|@import", re.IGNORECASE)
MARKUP = "<script>alert('1')</script>"


class Page(HTMLParser):
    """A page taken apart; every element must be closed in its order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.references: list[str] = []
        self.text = ""
        self.styles = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(
        self,
        tag: str,
        attrs: list[tuple[str, str | None]],
    ) -> None:
        self.tags.add(tag)
        self.references += [
            value or ""
            for name, value in attrs
            if name in ("src", "href", "xlink:href", "action")
        ]
        if tag not in VOID_ELEMENTS:
            self.open.append(tag)

    def handle_startendtag(
        self,
        tag: str,
        attrs: list[tuple[str, str | None]],
    ) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID_ELEMENTS:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.styles += data
        else:
            self.text += " ".join(data.split()) + "\n"


def closed_run(
    hall: House,
    *,
    share: float = 1.0,
    scale: float = 1.0,
    energy_wh: float | None = 0.06,
    odd: bool = False,
    **more: Any,
) -> Run:
    """A closed run of 6 s that has found that share of the objects of its images, its boxes times `scale`.

    `odd` ones need review: their meter was not asked at the end.
    """
    store = hall.store
    test_set = hall.contest.test_set
    images = len(test_set.images)
    run = stored_run(
        store,
        images=images,
        testset_digest=test_set.digest,
        **more,
    )
    truth = read_ground_truth(test_set.folder)
    confidence = np.linspace(0.9, 0.5, len(truth.image))
    found = np.column_stack(
        [truth.image, truth.category, confidence, truth.boxes * scale]
    )[: round(share * len(confidence))]
    store.served.append(run.id, [(image, 10) for image in range(1, images + 1)], 1.0)
    if len(found):
        sent = {
            "sha256": "",
            "idempotency_key": None,
            "elapsed_s": 4.0,
        }
        store.posts.append(run.id, found, now=START + timedelta(seconds=4), **sent)  # type: ignore[arg-type]
    store.readings.append(run.id, 0.0, [reading(at / 10) for at in range(61)])
    over = {
        "elapsed_s": 6.0,
        "integrator_s": 6.0,
        "closed_by": "logout",
        "opened_utc": START.isoformat(),
    }
    changes = {"energy_wh": energy_wh, "meter_changes": None if odd else ()}
    return store.runs.change(
        run.id,
        (RunState.ARMED,),
        state="closed",
        **over,
        **changes,
    )


def judged_run(hall: House, **more: Any) -> Run:
    return hall.store.runs.get(
        judge(hall.contest, closed_run(hall, **more).id, Clock()).run
    )


def page_of(contest: Contest, run: Run) -> Page:
    return Page(report_page(contest, run))


def test_a_report_has_the_figures_of_the_judge_and_its_neighbours_and_loads_nothing(
    build: Callable[..., House],
) -> None:
    hall = build()
    judged_run(hall, team="ant")
    closed_run(hall, share=0.7, team="bee")
    judge_with_interval(
        hall.contest,
        closed_run(hall, share=0.65, team="cat").id,
        Clock(),
    )
    document = json.loads(
        called("judge", "2", "--json", "--contest", str(hall.folder)).stdout
    )
    done = called("report", "2", "--contest", str(hall.folder))
    assert done.returncode == 0
    assert done.stderr == ""
    text = Path(done.stdout.strip()).read_text()
    page = Page(text)
    assert page.tags.isdisjoint({"script", "img", "iframe"})
    assert LINK.findall(text) == ['<link rel="icon" href="data:,">']
    assert [
        one
        for one in page.references
        if not one.startswith(("data:image/jpeg;base64,", "#")) and one != "data:,"
    ] == []
    assert not LOADS.search(
        re.sub(r"url\(\"data:[^\"]*\"\)|/\*.*?\*/", "", page.styles, flags=re.DOTALL)
    )

    (whole,) = re.findall(r"<pre>(.*?)</pre>", text, re.DOTALL)
    assert json.loads(html.unescape(whole)) == document
    interval = document["interval"]
    names = {one.id: one.name for one in hall.contest.test_set.categories}
    for shown in (
        f"{document['score']:.4f} mAP/Wh",
        f"{interval['score_low']:.4f} to {interval['score_high']:.4f} at 95%, mean over sets of this size",
        f"{interval['other_low']:.5f} to {interval['other_high']:.5f} at 95%",
        "a new set of this size",
        "unlimited images",
        f"{document['map']:.5f}",
        f"{document['energy_wh']:.6f} Wh",
        f"{document['elapsed_s']:.3f} s",
        document["signature"],
        *(check["sentence"] for check in document["checks"]),
    ):
        assert f"{shown}\n" in page.text
    aps = sorted(
        ((ap, names[int(one)]) for one, ap in document["ap"].items() if ap is not None),
        reverse=True,
    )
    assert re.findall(
        r'<th scope="row">([\w-]+)</th><td>([\d.]+)</td><td>[\d.]+</td></tr>',
        text,
    )[-len(aps) :] == [(name, f"{ap:.5f}") for ap, name in aps]
    budget = Budget.from_document(document["energy_budget"])
    for shown in (
        "How certain the energy is",
        interval_words(budget).replace("+-", "\N{PLUS-MINUS SIGN}"),
        *(term.source for term in budget.terms),
    ):
        assert f"{shown}\n" in page.text
    assert ("svg" in page.tags) is True
    assert ("missed" in page.text) is True
    assert ("When to log out" in page.text) is True
    assert "On the board: rank 2" in page.text
    order = [
        line
        for line in page.text.split("\n")
        if line in ("ant", "bee", "cat", "this run")
    ]
    assert order == ["ant", "bee", "this run", "cat"]
    ((team, chance, covers),) = standings(hall.contest).places[1].level_with
    assert covers == "same images; the energy spread is unknown"
    assert team == "cat"
    assert (f"{chance:.1%} ({covers})\n" in page.text) is True
    assert page.text.count("not known\n") == 1  # that of ant, which has no interval


def test_while_the_board_is_frozen_a_report_names_no_other_team(
    build: Callable[..., House],
) -> None:
    hall = build()
    judged_run(hall, team="ant")
    own = judged_run(hall, share=0.7, team="bee")
    assert "ant" in page_of(hall.contest, own).text
    hall.store.published.freeze(START, "{}")
    done = called("report", str(own.id), "--contest", str(hall.folder))
    assert done.stderr.startswith("The board is frozen: this report shows a result")
    text = Path(done.stdout.strip()).read_text()
    assert "This run is not ranked: the board is frozen, and a report names no" in text
    assert "ant<" not in text
    stderr = called("leaderboard", "--html", "--contest", str(hall.folder)).stderr
    assert stderr.startswith("The board is frozen, but this page shows the present")


def test_the_best_moment_is_stated_with_the_limit_of_its_energy(
    build: Callable[..., House],
) -> None:
    hall = build()
    run = closed_run(hall)
    hall.store.posts.append(
        run.id,
        np.empty((0, 7)),
        sha256="",
        idempotency_key=None,
        elapsed_s=0.5,
        now=START,
    )
    judge(hall.contest, run.id, Clock())
    shown = page_of(hall.contest, hall.store.runs.get(run.id)).text
    assert (
        "A log-out about 4.0 s after the start would have had 1.500 times the score of the run, and at least 1.154 "
        "times at 95%."
    ) in shown
    assert (
        "Nothing is said of the time before 4.0 s: the energy up to then is within its own limit"
        in shown
    )


def test_what_a_run_lacks_is_said(build: Callable[..., House]) -> None:
    hall = build()
    store = hall.store
    no_energy = page_of(hall.contest, judged_run(hall, energy_wh=None)).text
    assert "This run has no energy, so it has no score." in no_energy
    assert "What it cost you" in no_energy
    assert "This run is not ranked: it has no score." in no_energy
    judged_run(hall)
    nothing = judged_run(hall, share=0.0)
    void = store.runs.change(
        nothing.id,
        (RunState.JUDGED,),
        state="void",
        void_reason="power cut",
    )
    shown = page_of(hall.contest, void).text
    assert "no detection found an object" in shown
    assert "This run is void and is not ranked: power cut" in shown
    assert "This run is not ranked: it is void." in shown
    text = page_of(hall.contest, judged_run(hall, share=0.5)).text
    assert "the best run of its team is run 2" in text
    assert "has no current judgement" in page_of(hall.contest, closed_run(hall)).text
    never = store.runs.change(
        stored_run(store).id,
        (RunState.ARMED,),
        state="void",
        void_reason="absent",
    )
    assert "never opened" in page_of(hall.contest, never).text


def test_of_an_unknown_uncertainty_the_report_says_why_and_promises_nothing(
    build: Callable[..., House],
) -> None:
    hall = build()
    by_nobody = judged_run(hall, meter_identity="ACME PLUG 1 2")
    shown = page_of(hall.contest, by_nobody).text
    assert "No driver states this meter's limits of error" in shown
    assert "holds the true energy" not in shown
    assert "Guaranteed is the sum" not in shown
    known = page_of(hall.contest, judged_run(hall)).text
    assert "holds the true energy" in known
    assert "Guaranteed is the sum" in known


def test_what_makes_a_run_special_is_said(build: Callable[..., House]) -> None:
    hall = build(least_map=0.9)
    store = hall.store
    store.teams.add("ant", "no hash", START, affiliation="<b>Ants & Co</b>")
    low = judged_run(
        hall,
        team="ant",
        share=0.5,
        extra_s=30.0,
        odd=True,
    )
    shown = page_of(hall.contest, low).text
    assert re.search(
        r"This run is not ranked: its mAP 0\.\d+ is below least_map 0\.9\.",
        shown,
    )
    assert "This run's window had 30 s of extra time." in shown
    assert "<b>Ants & Co</b>. Test, station one" in shown
    assert "none recorded (armed by an earlier version)" in shown
    failed = [
        check.code
        for check in store.scores.latest(low.id).checks
        if check.severity == "error" and not check.ok
    ]
    assert "This run is in review: a check failed" in shown
    store.reviews.add(
        low.id,
        Review("anna", "the plug was loose", START.isoformat(), tuple(failed)),
    )
    shown = page_of(hall.contest, low).text
    assert "This run is in review" not in shown
    assert "an operator has reviewed and accepted this run" in shown


def test_coco_says_what_its_figures_are_of(build: Callable[..., House]) -> None:
    hall = build(metric="coco")
    shown = page_of(hall.contest, judged_run(hall, share=0.5)).text
    assert "as the program tidecv computes them" in shown
    assert "Precision by recall at IoU 0.5" in shown


def test_a_run_with_nothing_but_crowds_or_nothing_at_all_has_a_report(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    with new_folder(tmp_path / "set") as folder:
        image = small_set.images[0]
        shutil.copy(small_set.image_path(1), folder / "images" / image.file)
        crowd = [ObjectRecord(1, 1, (1, 2, 30, 20), 600, crowd=True)]
        write_records(folder, "crowd", [image], [Category(1, "one")], crowd)
    with house(tmp_path / "contest", load_test_set(tmp_path / "set")) as hall:
        for share, metric in ((1.0, "lpirc"), (0.0, "lpirc")):
            assert (
                "What it cost you"
                in page_of(hall.contest, judged_run(hall, share=share)).text
            ), metric
        run = stored_run(
            hall.store,
            images=1,
            testset_digest=hall.contest.test_set.digest,
        )
        over = {
            "elapsed_s": 0.0,
            "energy_wh": 0.0,
            "opened_utc": START.isoformat(),
            "meter_changes": (),
        }
        hall.store.runs.change(run.id, (RunState.ARMED,), state="closed", **over)
        judge(hall.contest, run.id, Clock())
        text = page_of(hall.contest, hall.store.runs.get(run.id)).text
        assert "it has no score" in text


def test_boxes_that_look_like_a_mistake_are_told_before_the_result(
    build: Callable[..., House],
) -> None:
    hall = build()
    text = page_of(hall.contest, judged_run(hall, scale=1e-4)).text
    assert text.index("send pixels, not fractions") < text.index("Result\n")


def test_a_run_of_an_earlier_form_and_one_on_another_test_set_show_what_is_known(
    build: Callable[..., House],
) -> None:
    hall = build()
    old = closed_run(hall, nonce=None, meter_changes=None)
    hall.store.scores.add(
        Score(
            old.id,
            "2016-01-01",
            0.5,
            0.06,
            8.3,
            None,
            5,
            7,
            {1: 0.5},
            "lpirc|iou:0.5",
            (),
        )
    )
    judged = hall.store.runs.change(
        old.id,
        (RunState.CLOSED,),
        state="judged",
        testset_digest="e" * 64,
    )
    shown = page_of(hall.contest, judged).text
    assert "8.3000 mAP/Wh" in shown
    assert "How certain the energy is" not in shown, "judged before there were budgets"
    assert "so the run's errors are not shown" in shown


def test_a_run_that_is_not_over_has_no_report(
    build: Callable[..., House],
    tmp_path: Path,
) -> None:
    hall = build()
    run = stored_run(hall.store)
    with pytest.raises(
        RefereeError,
        match="Run 1 of otters is armed; a report can be made only after it is closed",
    ):
        write_report(hall.contest, run.id, tmp_path / "none")
    assert not (tmp_path / "none").exists()
    refused = called("report", "1", "--contest", str(hall.folder))
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1


def test_names_are_never_markup_and_a_missing_image_is_said(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    with new_folder(tmp_path / "set") as folder:
        for image in small_set.images:
            shutil.copy(
                small_set.image_path(image.number),
                folder / "images" / image.file,
            )
        objects = [ObjectRecord(one, 1, (1, 2, 30, 20), 600) for one in (1, 2)]
        write_records(folder, "odd", small_set.images, [Category(1, MARKUP)], objects)
    test_set = load_test_set(tmp_path / "set")
    with house(tmp_path / "contest", test_set) as hall:
        run = judged_run(hall, share=0.5, team=MARKUP)
        test_set.image_path(2).unlink()
        page = page_of(hall.contest, run)
        assert "script" not in page.tags
        assert page.text.count(MARKUP) > 3
        assert "missing or cannot be read" in page.text


def test_all_reports_are_written_and_printed(
    build: Callable[..., House],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hall = build()
    stderr = called("report", "--all", "--contest", str(hall.folder)).stderr
    assert stderr == "No run is closed yet.\n"
    closed_run(hall)
    closed_run(hall)
    stored_run(hall.store)
    said = called(
        "report", "--all", "--out", str(tmp_path / "out"), "--contest", str(hall.folder)
    )
    assert said.stdout.split() == [
        str(tmp_path / "out" / f"run-{one}.html") for one in (1, 2)
    ]
    with monkeypatch.context() as patched:
        patched.setenv("PATH", str(tmp_path))
        refused = called("report", "1", "--pdf", "--contest", str(hall.folder))
        assert refused.returncode == 1
        assert refused.stdout == ""
        assert "none is installed here" in refused.stderr
    if not shutil.which("chromium"):
        pytest.skip("chromium is not installed")
    assert print_pdf(tmp_path / "out" / "run-1.html").read_bytes().startswith(b"%PDF")
