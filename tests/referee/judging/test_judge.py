from __future__ import annotations

import contextlib
import math
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lpirc_power.energy import Budget, Check
from lpirc_power.meter import Reading, Setup
from lpirc_score import METRICS, Detections, evaluate
from lpirc_score.metrics.evaluation_result import RULES_VERSION, signature_parts
from lpirc_testsets import TestSet, read_ground_truth, synthesize
from referee.contest import Contest, create_contest, open_contest
from referee.errors import RefereeError
from referee.judging import judge as judging
from referee.judging.judge import judge
from referee.judging.run_case import restricted_to, scoring_input
from referee.judging.score_uncertainty import budget_of_score, energy_uncertainty
from referee.judging.standings import standings
from referee.runs.image_order import image_order
from referee.store import Store
from referee.store.records import Run, RunState, Score
from tests.referee.factories import (
    START,
    TEAM,
    DrivenClock,
    config_text,
    reading,
    run_record,
    steady_readings,
)

CLOCK = DrivenClock()


@pytest.fixture(scope="module")
def judged_set(tmp_path_factory: pytest.TempPathFactory) -> TestSet:
    return synthesize(
        tmp_path_factory.mktemp("judged") / "set",
        images=12,
        categories=4,
        seed=5,
        size=(96, 64),
    )


@pytest.fixture
def contest(tmp_path: Path, judged_set: TestSet) -> Any:
    create_contest(tmp_path / "contest", config_text(judged_set))
    with open_contest(tmp_path / "contest") as opened:
        opened.store.teams.add(TEAM, "no hash", START)
        yield opened


def guesses(test_set: TestSet, seed: int) -> NDArray[np.float64]:
    """Detections in the test set's own numbers: objects that were found more or less, and some that are none."""
    truth = read_ground_truth(test_set.folder)
    rng = np.random.default_rng(seed)
    image = truth.image
    category = truth.category
    boxes = truth.boxes
    shaken = boxes + rng.uniform(-6, 6, boxes.shape)
    shaken = np.column_stack(
        [
            np.minimum(shaken[:, :2], shaken[:, 2:]),
            np.maximum(shaken[:, :2], shaken[:, 2:]),
        ]
    )
    # With ties: the order of arrival decides.
    confidence = np.round(
        rng.uniform(0, 1, len(image)),
        1,
    )
    found = np.column_stack(
        [image, np.where(rng.random(len(image)) < 0.8, category, 1), confidence, shaken]
    )
    return found[rng.permutation(len(found))]


def closed_run(
    contest: Contest,
    detections: NDArray[np.float64],
    *,
    shuffle: bool = True,
    setup: Setup | None = None,
    served: Any = None,
    readings: Sequence[Reading] | None = None,
    **different: object,
) -> Run:
    """A closed run whose team sent `detections`, given in test-set numbers, in several posts by its own numbers.

    It was served every image, or those of these test-set numbers.
    """
    store = contest.store
    images = len(contest.test_set.images)
    nonce = f"{len(store.runs.find()) + 1}"
    times_had = np.zeros(images, np.int64)
    order = image_order(contest.secret, nonce, times_had, images, shuffle=shuffle)
    digest = contest.test_set.digest
    record = run_record(
        testset_digest=digest,
        images=images,
        **({"setup": setup} if setup else {}),
    )
    run = store.runs.arm(record, START, order)
    served = (
        range(1, images + 1)
        if served is None
        else np.argsort(order)[np.array(served, int) - 1] + 1
    )
    store.served.append(run.id, [(int(image), 1000) for image in served], 0.5)
    teams = detections.copy()
    teams[:, 0] = np.argsort(order)[detections[:, 0].astype(int) - 1] + 1
    for part in np.array_split(teams, 5):
        store.posts.append(
            run.id,
            part,
            sha256="s",
            idempotency_key=None,
            elapsed_s=1.0,
            now=START,
        )
    readings = readings or [reading(tenth / 10) for tenth in range(101)]
    taken = [replace(one, monotonic_s=50 + one.monotonic_s) for one in readings]
    store.readings.append(run.id, 50.0, taken)
    values = {
        "state": "closed",
        "start_s": 50.0,
        "elapsed_s": 10.0,
        "energy_wh": 0.1,
        "integrator_s": 10.0,
    }
    values["meter_changes"] = ()
    return store.runs.change(run.id, (RunState.ARMED,), **(values | different))


def code_of(action: Callable[..., Any], *arguments: Any) -> str:
    with pytest.raises(RefereeError) as failure:
        action(*arguments)
    return failure.value.code


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_the_order_of_the_images_changes_nothing(
    contest: Contest,
    judged_set: TestSet,
    seed: int,
) -> None:
    sent = guesses(judged_set, seed)
    direct = evaluate(
        read_ground_truth(judged_set.folder),
        Detections.from_rows(sent),
        "lpirc",
    )
    scores = [
        judge(contest, closed_run(contest, sent, shuffle=s).id, CLOCK)
        for s in (True, False)
    ]
    assert [score.map for score in scores] == [direct.map, direct.map]
    assert [score.ap for score in scores] == [direct.ap, direct.ap]
    assert 0 < direct.map < 1


def test_the_rows_come_back_in_test_set_numbers_and_order_of_arrival(
    contest: Contest,
    judged_set: TestSet,
) -> None:
    sent = guesses(judged_set, 1)
    run = closed_run(contest, sent)
    assert contest.store.runs.image_order(run.id).tolist() != list(range(1, 13))
    assert (
        scoring_input(
            judging.case_of(contest, contest.store.runs.get(run.id))
        ).rows.tobytes()
        == sent.tobytes()
    )


def test_the_mean_power_is_that_of_the_energy_and_its_own_time(
    contest: Contest,
) -> None:
    # An integrator that was stopped a second and a half early: 0.085 Wh in 8.5 s of a window of 10 s.
    run = closed_run(
        contest,
        guesses(contest.test_set, 1),
        energy_wh=0.085,
        integrator_s=8.5,
    )
    judged = judge(contest, run.id, CLOCK)
    assert judged.mean_power_w == pytest.approx(36.0)
    figures = {check.code: check.figures for check in judged.checks}["accuracy"]
    assert figures["mean_power_w"] == judged.mean_power_w


def test_a_judgement_carries_its_energys_limit_with_start_and_stop(
    contest: Contest,
) -> None:
    judged = judge(contest, closed_run(contest, guesses(contest.test_set, 1)).id, CLOCK)
    figures = {check.code: check.figures for check in judged.checks}["accuracy"]
    # WT310: 0.1 % + 0.1 % of 150 V x 0.5 A.
    assert figures["uncertainty"] == pytest.approx(0.001 + 0.001 * 75 / 36)
    # Nobody measured what start and stop took, so 1 s and an update of 0.1 s, of 10 s.
    assert judged.energy_limit == pytest.approx(figures["uncertainty"] + 1.1 / 10)
    assert judged.energy_known_by == "IM WT310-02EN, pages 7-7 and 7-8"
    without = judge(
        contest,
        closed_run(contest, guesses(contest.test_set, 1), energy_wh=None).id,
        CLOCK,
    )
    assert without.energy_limit is None
    assert without.energy_known_by is None
    assert without.energy_budget is None


def test_the_budget_stands_beside_the_limit_and_the_interval_is_of_it(
    contest: Contest,
) -> None:
    judged = judge(contest, closed_run(contest, guesses(contest.test_set, 1)).id, CLOCK)
    budget = budget_of_score(judged)
    assert budget is not None
    assert judged.energy_wh is not None
    assert judged.energy_limit is not None
    limit_wh = judged.energy_limit * judged.energy_wh
    assert budget.guaranteed_wh == pytest.approx(limit_wh)
    assert budget.combined_wh is not None
    uncertainty = energy_uncertainty(judged)
    assert uncertainty is not None
    assert uncertainty / math.sqrt(3) == pytest.approx(
        budget.combined_wh / judged.energy_wh
    )
    assert uncertainty < judged.energy_limit
    stored = contest.store.scores.latest(judged.run)
    assert stored is not None
    assert budget_of_score(stored) == budget


def test_without_a_known_term_the_interval_has_no_energy(contest: Contest) -> None:
    judged = judge(contest, closed_run(contest, guesses(contest.test_set, 1)).id, CLOCK)
    document = judged.energy_budget
    assert document is not None
    first, *others = Budget.from_document(document).terms
    budget = Budget(judged.energy_wh or 0.0, (replace(first, half_width=None), *others))
    unknown = replace(judged, energy_budget=budget.document())
    assert energy_uncertainty(unknown) is None


def test_the_interval_needs_no_check_to_know_the_energys_limit(
    contest: Contest,
) -> None:
    judged = judge(contest, closed_run(contest, guesses(contest.test_set, 1)).id, CLOCK)
    bare = replace(judged, checks=(), energy_budget=None)
    assert energy_uncertainty(bare) == judged.energy_limit
    assert [
        energy_uncertainty(replace(bare, energy_limit=limit)) for limit in (1.0, None)
    ] == [None, None]


def test_a_judgement_is_stored_with_score_checks_and_signature(
    contest: Contest,
    judged_set: TestSet,
) -> None:
    run = closed_run(contest, guesses(judged_set, 1))
    judged = judge(contest, run.id, CLOCK)
    assert contest.store.scores.latest(run.id) == judged
    assert contest.store.runs.get(run.id).state is RunState.JUDGED
    assert judged.score == judged.map / 0.1
    assert judged.mean_power_w == pytest.approx(36.0)
    assert judged.images == 12
    assert judged.detections == len(guesses(judged_set, 1))
    assert [check.code for check in judged.checks if not check.ok] == []
    assert not judged.needs_review
    assert judged_set.digest[:12] in judged.signature
    assert judged.signature.endswith(
        "|window:600s|voltage_range_v:150.0|current_range_a:0.5|update_interval_s:0.1|mode:rms|crest_factor:3"
        f"|line_filter:false|frequency_filter:false|synchronize:voltage|element:1|meter:{run.meter_identity}"
    )
    assert f"|rules:{RULES_VERSION}|" in judged.signature
    assert [event["kind"] for event in contest.store.log.of_run(run.id)] == ["judged"]


@pytest.mark.parametrize("metric", METRICS)
def test_the_map_to_compare_with_published_champions_stands_beside_the_contest_s_own(
    tmp_path: Path,
    judged_set: TestSet,
    metric: str,
) -> None:
    sent = guesses(judged_set, 1)
    truth = read_ground_truth(judged_set.folder)
    found = Detections.from_rows(sent)
    create_contest(tmp_path / "any", config_text(judged_set, metric=metric))
    with open_contest(tmp_path / "any") as contest:
        contest.store.teams.add(TEAM, "no hash", START)
        judged = judge(contest, closed_run(contest, sent).id, CLOCK)
    assert judged.map_ilsvrc_det == evaluate(truth, found, "ilsvrc-det").map
    assert (judged.map == judged.map_ilsvrc_det) == (metric == "ilsvrc-det")


def test_the_signature_says_how_the_meter_measured(contest: Contest) -> None:
    setup = Setup(
        None,
        None,
        0.5,
        600,
        mode="dc",
        crest_factor=6,
        line_filter=True,
        element="sum",
    )
    signature = judge(
        contest,
        closed_run(contest, np.empty((0, 7)), setup=setup).id,
        CLOCK,
    ).signature
    parts = signature_parts(signature)
    assert {
        name: parts[name]
        for name in (
            "voltage_range_v",
            "mode",
            "crest_factor",
            "line_filter",
            "element",
        )
    } == {
        "voltage_range_v": "auto",
        "mode": "dc",
        "crest_factor": "6",
        "line_filter": "true",
        "element": "sum",
    }


def test_runs_in_halls_of_other_temperatures_have_one_signature(
    contest: Contest,
) -> None:
    settings = [
        Setup(150.0, 0.5, 0.1, 600, ambient_change_c=degrees) for degrees in (5.0, 8.0)
    ]
    runs = [closed_run(contest, np.empty((0, 7)), setup=setup).id for setup in settings]
    first, second = (judge(contest, run, CLOCK).signature for run in runs)
    assert first == second


def test_a_contest_from_before_ranges_were_read_is_judged_to_the_same_score(
    tmp_path: Path,
    judged_set: TestSet,
) -> None:
    create_contest(tmp_path / "contest", config_text(judged_set))
    with open_contest(tmp_path / "contest") as new:
        new.store.teams.add(TEAM, "no hash", START)
        run = closed_run(new, guesses(judged_set, 1)).id
        first = judge(new, run, CLOCK)
    with contextlib.closing(
        sqlite3.connect(tmp_path / "contest" / "contest.db")
    ) as connection:
        for column in ("voltage_range_v", "current_range_a", "changed"):
            connection.execute(f"ALTER TABLE readings DROP COLUMN {column}")
        connection.execute("PRAGMA user_version = 8")
        connection.commit()
    with open_contest(tmp_path / "contest") as old:
        again = judge(old, run, CLOCK)
    assert again.score == first.score
    assert again.map == first.map
    assert again.checks == first.checks
    assert [check.code for check in again.checks if not check.ok] == []


def test_judging_again_appends_and_changes_nothing_else(
    contest: Contest,
    judged_set: TestSet,
) -> None:
    run = closed_run(contest, guesses(judged_set, 1)).id
    first = judge(contest, run, CLOCK)
    second = judge(contest, run, CLOCK)
    assert second.judged_utc > first.judged_utc
    assert second.map == first.map
    assert second.score == first.score
    assert second.checks == first.checks
    assert contest.store.database.rows("SELECT count(*) AS n FROM scores")[0]["n"] == 2
    assert contest.store.scores.latest(run) == second


def test_a_run_whose_energy_is_read_while_it_is_judged_is_judged_with_it(
    contest: Contest,
    judged_set: TestSet,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = closed_run(contest, guesses(judged_set, 1), energy_wh=None).id
    add_score = contest.store.scores.add

    def late(*score: Any) -> None:
        add_score(*score)
        contest.store.runs.change(
            run,
            (RunState.CLOSED, RunState.JUDGED),
            energy_wh=0.1,
        )

    monkeypatch.setattr(contest.store.scores, "add", late)
    judged = judge(contest, run, CLOCK)
    assert judged.energy_wh == 0.1
    assert judged.score is not None
    assert contest.store.scores.latest(run) == judged


@pytest.mark.parametrize("energy_wh", [None, 0.0, -0.001, float("inf")])
def test_without_an_energy_there_is_no_score_and_a_failed_check(
    contest: Contest,
    judged_set: TestSet,
    energy_wh: float | None,
) -> None:
    integrator_s = None if energy_wh is None else 10.0
    run = closed_run(
        contest,
        guesses(judged_set, 1),
        energy_wh=energy_wh,
        integrator_s=integrator_s,
    )
    judged = judge(contest, run.id, CLOCK)
    assert judged.score is None
    assert judged.mean_power_w is None
    assert judged.map > 0
    assert judged.needs_review
    assert "energy-measured" in [check.code for check in judged.checks if not check.ok]
    assert contest.store.scores.latest(run.id) == judged


@pytest.mark.parametrize("start_stop_s", [0.05, None])
def test_the_checks_know_what_starting_and_stopping_took_if_it_was_measured(
    contest: Contest,
    judged_set: TestSet,
    start_stop_s: float | None,
) -> None:
    run = closed_run(contest, guesses(judged_set, seed=3))
    contest.store.log.append(START, run.id, "closed", start_stop_s=start_stop_s)
    checks = {check.code: check for check in judge(contest, run.id, CLOCK).checks}
    assert checks["integrator-trapezoid"].figures["start_stop_s"] == start_stop_s


def test_an_energy_that_covers_more_than_the_window_tells_no_mean_power(
    contest: Contest,
    judged_set: TestSet,
) -> None:
    run = closed_run(
        contest,
        guesses(judged_set, seed=3),
        energy_wh=0.4,
        integrator_s=40.0,
    )
    judged = judge(contest, run.id, CLOCK)
    assert judged.energy_wh == 0.4
    assert judged.mean_power_w is None
    assert judged.needs_review is True


def test_a_run_without_detections_scores_zero(contest: Contest) -> None:
    run = closed_run(contest, np.empty((0, 7)))
    judged = judge(contest, run.id, CLOCK)
    assert judged.map == 0.0
    assert judged.score == 0.0
    assert judged.detections == 0


def test_a_run_of_no_length_is_judged(contest: Contest) -> None:
    judged = judge(
        contest,
        closed_run(contest, np.empty((0, 7)), elapsed_s=0.0).id,
        CLOCK,
    )
    assert judged.mean_power_w is None
    assert judged.needs_review


@pytest.mark.parametrize("state", [RunState.ARMED, RunState.OPEN, RunState.VOID])
def test_only_a_closed_run_is_judged(contest: Contest, state: RunState) -> None:
    run = closed_run(contest, np.empty((0, 7)), state=state.value)
    assert code_of(judge, contest, run.id, CLOCK) == "run-state"
    assert contest.store.scores.latest(run.id) is None
    assert code_of(judge, contest, 99, CLOCK) == "run-unknown"


def test_a_run_on_another_test_set_is_not_judged(contest: Contest) -> None:
    run = closed_run(contest, np.empty((0, 7)), testset_digest="e" * 64)
    assert code_of(judge, contest, run.id, CLOCK) == "testset-changed"
    assert contest.store.runs.get(run.id).state is RunState.CLOSED


def test_a_run_can_be_judged_while_another_process_serves(
    contest: Contest,
    judged_set: TestSet,
) -> None:
    run = closed_run(contest, guesses(judged_set, 1)).id
    with contextlib.closing(Store.open(contest.folder / "contest.db")) as other:
        with open_contest(contest.folder) as judges:
            judged: Score = judge(judges, run, CLOCK)
        assert other.scores.latest(run) == judged


def test_the_order_of_arrival_changes_nothing_in_a_voc_contest_either(
    tmp_path: Path,
    judged_set: TestSet,
) -> None:
    sent = guesses(judged_set, 3)
    sent[:, 2] = 0.5  # all equal: the list is nothing but ties
    create_contest(tmp_path / "voc", config_text(judged_set, metric="voc-area"))
    with open_contest(tmp_path / "voc") as contest:
        contest.store.teams.add(TEAM, "no hash", START)
        one = judge(contest, closed_run(contest, sent, shuffle=False).id, CLOCK)
        by_image = sent[np.argsort(-sent[:, 0], kind="stable")]
        other = judge(contest, closed_run(contest, by_image, shuffle=False).id, CLOCK)
    assert one.ap == other.ap
    assert 0 < one.map < 1


def check_of(judged: Score, code: str) -> Check:
    return {check.code: check for check in judged.checks}[code]


@pytest.mark.parametrize("served", [[], [3], [1, 4, 7, 12]])
def test_only_rows_of_images_that_the_run_was_served_count(
    contest: Contest,
    judged_set: TestSet,
    served: list[int],
) -> None:
    sent = guesses(judged_set, 1)
    truth = read_ground_truth(judged_set.folder)
    earned = sent[np.isin(sent[:, 0], served)]
    judged = judge(contest, closed_run(contest, sent, served=served).id, CLOCK)
    assert judged.map == evaluate(truth, Detections.from_rows(earned), "lpirc").map
    assert judged.detections == len(earned)
    check = check_of(judged, "images-not-fetched")
    with_them = evaluate(truth, Detections.from_rows(sent), "lpirc").map
    assert check.ok is False
    assert check.severity == "warning"
    unearned = sent[~np.isin(sent[:, 0], served)]
    assert check.figures == {
        "rows": len(unearned),
        "images": len(np.unique(unearned[:, 0])),
        "map_with_them": with_them,
    }
    assert f"with them, the mAP would be {with_them:.5f}" in check.sentence
    assert len(contest.store.posts.detections(judged.run)) == len(sent)
    assert "|counts:served" in judged.signature


def test_an_image_that_was_served_after_its_rows_came_counts(
    contest: Contest,
    judged_set: TestSet,
) -> None:
    run = closed_run(contest, guesses(judged_set, 1), served=[])
    contest.store.served.append(run.id, [(image, 1000) for image in range(1, 13)], 9.0)
    contest.store.served.flush()
    judged = judge(contest, run.id, CLOCK)
    assert judged.map > 0
    check = check_of(judged, "images-not-fetched")
    assert check.ok is True
    assert check.sentence == "Every row is for an image that the run was served."


def test_a_contest_may_count_rows_of_images_that_were_not_served_and_the_signature_says_so(
    tmp_path: Path,
    judged_set: TestSet,
) -> None:
    create_contest(tmp_path / "lax", config_text(judged_set, count_unserved=True))
    sent = guesses(judged_set, 1)
    with open_contest(tmp_path / "lax") as contest:
        contest.store.teams.add(TEAM, "no hash", START)
        judged = judge(contest, closed_run(contest, sent, served=[3]).id, CLOCK)
    direct = evaluate(
        read_ground_truth(judged_set.folder),
        Detections.from_rows(sent),
        "lpirc",
    )
    assert judged.map == direct.map
    assert judged.detections == len(sent)
    check = check_of(judged, "images-not-fetched")
    assert check.ok is True
    assert check.figures["rows"] == int((sent[:, 0] != 3).sum())
    assert "|counts:unserved-too" in judged.signature


def test_a_run_of_a_part_of_the_images_is_judged_on_them_only(
    contest: Contest,
    judged_set: TestSet,
) -> None:
    truth = read_ground_truth(judged_set.folder)
    sent = guesses(judged_set, 2)
    drawn = np.array([7, 2, 11], np.int64)
    run = contest.store.runs.arm(
        run_record(testset_digest=judged_set.digest, images=3),
        START,
        drawn,
    )
    rows = sent[np.isin(sent[:, 0], drawn)]
    rows[:, 0] = [drawn.tolist().index(image) + 1 for image in rows[:, 0]]
    contest.store.served.append(run.id, [(1, 9), (2, 9), (3, 9)], 0.5)
    contest.store.posts.append(
        run.id,
        rows,
        sha256="s",
        idempotency_key=None,
        elapsed_s=1.0,
        now=START,
    )
    contest.store.runs.change(
        run.id,
        (RunState.ARMED,),
        state="closed",
        elapsed_s=10.0,
        energy_wh=0.1,
    )
    judged = judge(contest, run.id, CLOCK)
    of_drawn = restricted_to(truth, drawn)
    assert of_drawn.image_ids.tolist() == [2, 7, 11]
    assert len(of_drawn.image_names) == 3
    assert set(of_drawn.image.tolist()) <= {2, 7, 11}
    assert (
        judged.map
        == evaluate(
            of_drawn,
            Detections.from_rows(sent[np.isin(sent[:, 0], drawn)]),
        ).map
    )
    assert judged.map > 0
    assert judged.images == 3
    assert "|images:3-of-12:" in judged.signature
    other = contest.store.runs.arm(
        run_record(testset_digest=judged_set.digest, images=3),
        START,
        drawn + 1,
    )
    contest.store.runs.change(
        other.id,
        (RunState.ARMED,),
        state="closed",
        energy_wh=0.1,
    )
    assert judge(contest, other.id, CLOCK).signature != judged.signature


def test_rows_that_look_like_a_mistake_are_a_warning_with_figures_by_kind(
    contest: Contest,
) -> None:
    sent = guesses(contest.test_set, 1)
    plain = judge(contest, closed_run(contest, sent).id, CLOCK)
    found = {check.code: check for check in plain.checks}["implausible-boxes"]
    assert found.ok is True
    assert found.figures == {"in_unit_square": 0, "above_1": 0, "outside": 0}
    sent[0, 3:] = [0.1, 0.1, 0.4, 0.4]
    sent[1, 2] = 99.0
    sent[2, 3:] = [200, 5, 210, 9]
    odd = judge(contest, closed_run(contest, sent).id, CLOCK)
    found = {check.code: check for check in odd.checks}["implausible-boxes"]
    assert found.ok is False
    assert found.severity == "warning"
    assert found.figures == {"in_unit_square": 1, "above_1": 1, "outside": 1}
    assert found.sentence.count(f"1 of {len(sent)} ") == 3


def test_blind_rows_and_a_log_out_at_once_outrank_a_champion_unless_there_is_a_least_map(
    contest: Contest,
) -> None:
    """As 100 blind rows did that scored 0.3378: 1.2 s at 2 W, every check of it ok."""
    rng = np.random.default_rng(2)
    corner = rng.uniform(0, [40, 30], (100, 2))
    blind = np.column_stack(
        [
            rng.integers(1, 13, 100),
            rng.integers(1, 5, 100),
            rng.random(100),
            corner,
            corner + 30,
        ]
    )
    truth = read_ground_truth(contest.test_set.folder)
    # One of them hits, by luck.
    blind[0] = [
        truth.image[0],
        truth.category[0],
        0.01,
        *truth.boxes[0],
    ]
    figures = {
        "elapsed_s": 1.2,
        "energy_wh": 2 * 1.2 / 3600,
        "integrator_s": 1.2,
    }
    measured = steady_readings(2 * 1.2 / 3600, 1.2, each_s=0.1)
    fine = Setup(150.0, 0.02, update_interval_s=0.1, integrator_timer_s=600)
    run = closed_run(
        contest,
        blind,
        readings=measured,
        setup=fine,
        **figures,
    )
    judged = judge(contest, run.id, CLOCK)
    assert not judged.needs_review
    assert judged.map < 0.05
    assert judged.score is not None
    assert judged.score > 0.1193
    figures = {
        "elapsed_s": 300.0,
        "energy_wh": 5.0,
        "integrator_s": 300.0,
    }
    measured = steady_readings(5.0, 300.0)
    champion = closed_run(
        contest,
        guesses(contest.test_set, 1),
        readings=measured,
        **figures,
    )
    judge(contest, champion.id, CLOCK)
    assert standings(contest).places[0].standing.run == run.id
    strict = replace(contest, config=replace(contest.config, least_map=0.05))
    found = standings(strict)
    assert [place.standing.run for place in found.places] == [champion.id]
    assert [one.standing.run for one in found.unranked] == [run.id]


def test_extra_time_is_a_part_of_the_signature_beside_the_contest_s_window(
    contest: Contest,
) -> None:
    run = closed_run(
        contest,
        guesses(contest.test_set, 1),
        window_s=660.0,
        extra_s=60.0,
    )
    parts = signature_parts(judge(contest, run.id, CLOCK).signature)
    assert parts["window"] == "600s"
    assert parts["extra"] == "60s"
    plain = judge(contest, closed_run(contest, guesses(contest.test_set, 1)).id, CLOCK)
    assert "extra" not in signature_parts(plain.signature)


def test_the_event_of_a_judgement_cannot_be_guessed_from_its_link(
    contest: Contest,
) -> None:
    """Its link may be public before its figures are; whoever guesses those cannot check the guess."""
    run = closed_run(contest, guesses(contest.test_set, 1))
    for _ in range(2):
        judge(contest, run.id, CLOCK)
    events = [one for one in contest.store.log.after(0) if one.kind == "judged"]
    salts = [one.values.pop("salt") for one in events]
    assert [len(bytes.fromhex(salt)) for salt in salts] == [16, 16]
    assert salts[0] != salts[1], "by chance in one of 2^128 cases"
