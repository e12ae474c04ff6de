"""Runs that a version without uncertainty budgets has judged: what it published holds, and its verifiers read it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lpirc_power.meter import Reading, Setup
from referee.contest import Contest
from referee.evidence.bundle_parts import export_bundle
from referee.judging.judge import case_of
from referee.judging.run_case import judgement_of
from referee.store.event_chain import Event
from referee.store.records import JUDGED, Run, Score
from tests.referee.evidence.closed_runs import as_json, closed_with_bodies, found_boxes
from tests.referee.evidence.proved import by_main, by_second, failed, opened, sentences
from tests.referee.factories import START, reading

FIELDS_OF_LIMITS = {
    "reading_share", "range_share", "dc_range_share", "apparent_share", "smallest_range_w", "elements",
    "dc_reading_share", "filter_share", "dc_filter_share", "crest_factor_6_times", "source", "drift",
}  # fmt: skip
"""All that a verifier of formats 2 to 5 knows."""


def counted(second: int) -> Reading:
    """A counter at 36 W whose values are 0.5 s behind, and that does not move once."""
    behind_s = max(second - (1.5 if second == 30 else 0.5), 0.0)
    return reading(float(second), energy_wh=behind_s / 100, integrator_s=second + 0.5)


COUNTER = [counted(second) for second in range(61)]
LOST = [
    reading(second, energy_wh=min(second, 20.0) / 100 + max(second - 40.0, 0.0) / 100)
    for second in map(float, range(61))
    if not 20.0 < second < 40.0
]


def judged_before_budgets(contest: Contest, run: Run) -> Score:
    case = replace(case_of(contest, run), is_before_budgets=True)
    judged = judgement_of(case, START.isoformat())
    return stored(contest, run, replace(judged, energy_budget=None))


def stored(contest: Contest, run: Run, score: Score) -> Score:
    names = ("map", "energy_wh", "score", "signature")
    detail = {name: getattr(score, name) for name in names}
    event = Event(score.judged_utc, run.id, JUDGED, detail)
    contest.store.scores.add(score, run.state, events=[event])
    return score


@pytest.mark.parametrize(
    ("readings", "model"),
    [(COUNTER, "ACME PLUG 1 2"), (LOST, "ACME PLUG 1 2"), ([], "YOKOGAWA WT310 1 F1")],
    ids=["counter", "lost", "wt310"],
)
def test_a_judgement_of_a_version_without_budgets_holds(
    contest: Contest, tmp_path: Path, readings: Sequence[Reading], model: str
) -> None:
    run = closed_with_bodies(
        contest,
        [as_json(found_boxes(contest))],
        readings=readings,
        meter_identity=model,
        setup=Setup(None, None, update_interval_s=1.0, integrator_timer_s=600),
    )
    before = judged_before_budgets(contest, run)
    now = judgement_of(case_of(contest, run), START.isoformat())
    differs = [(one.ok, one.severity, one.figures) for one in before.checks] != [
        (one.ok, one.severity, one.figures) for one in now.checks
    ]
    assert differs == bool(readings), "the checks of today's versions say more"
    data = export_bundle(contest, run.id, tmp_path / "run.zip", START).read_bytes()
    assert failed(by_main(data)) == failed(by_second(data)) == []
    assert "All" in sentences(data)["checks"]
    texts = opened(data)
    assert json.loads(texts["manifest.json"])["predicate"]["format"] == 4
    limits = json.loads(texts["run.json"])["meter"]["limits"]
    assert limits is None or {*limits} == FIELDS_OF_LIMITS
    assert "energy_budget" not in json.loads(texts["result.json"])


def test_a_judgement_whose_budget_states_no_version_is_of_the_first(
    contest: Contest, tmp_path: Path
) -> None:
    bodies = [as_json(found_boxes(contest))]
    run = closed_with_bodies(contest, bodies, meter_identity="YOKOGAWA WT310 1 F1")
    judged = judgement_of(case_of(contest, run), START.isoformat())
    budget = dict(judged.energy_budget or {})
    assert budget.pop("version") == 1
    stored(contest, run, replace(judged, energy_budget=budget))
    data = export_bundle(contest, run.id, tmp_path / "run.zip", START).read_bytes()
    assert failed(by_main(data)) == failed(by_second(data)) == []
    assert "score" in by_main(data)
    result = json.loads(opened(data)["result.json"])
    assert result["energy_budget"] == budget | {"version": 1}
