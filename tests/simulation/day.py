"""A contest day from a seed: who acts, the invariants after each step, the reckoning at its end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random

import numpy as np
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from numpy.typing import NDArray

from lpirc_score import score
from lpirc_testsets import read_ground_truth
from referee.contest import Contest, open_contest
from referee.judging.freeze import public_view
from referee.judging.judge import evaluate_rows
from referee.judging.public_documents import public_board
from referee.judging.run_case import restricted_to
from referee.judging.standings import standings
from referee.store.lost_energy import energy_lost
from referee.store.records import BoardState, Run, RunState
from tests.simulation.hall import EVERY_S, TEAMS, Hall, NoAnswerError, hall
from tests.simulation.invariants import Records, Watch, records, stored
from tests.simulation.people import Mishap, Operator, Team
from tests.simulation.scheduler import Stuck

CALM_S = 110.0
"""Longer than any window and what follows it."""


@dataclass(frozen=True)
class Outcome:
    """What came of a day; `failures` is empty where everything held."""

    seed: int
    failures: tuple[str, ...]
    steps: tuple[str, ...]
    log: tuple[str, ...]
    trace: int
    runs: int
    acknowledged: int
    record: tuple[str, ...] = ()

    def told(self) -> str:
        """Everything there is to read of it."""
        return "\n".join(
            (*self.steps, *self.log, *self.record, *self.failures, f"seed {self.seed}")
        )


def simulate(
    seed: int,
    lasts_s: float = 300.0,
    mishaps: Sequence[str] = (),
) -> Outcome:
    """One contest day; the same seed gives the same day. `mishaps` may name the only ones that happen."""
    random = Random(seed)  # noqa: S311 - to be repeated
    with hall(random) as made:
        runs = acknowledged = 0
        watch = Watch(made)
        try:
            _play(made, watch, lasts_s, Mishap(made, mishaps))
            runs = len(records(made).runs)
            acknowledged = sum(len(sent.receipts) for _, sent in made.model.all_sent())
        except Stuck as stuck:
            made.scheduler.failures.append(f"stuck: {stuck}")
        failures = tuple(made.scheduler.failures)
        record = _record(made) if failures else ()
        steps = tuple(made.steps)
        log = tuple(made.log)
        trace = made.scheduler.trace
    return Outcome(seed, failures, steps, log, trace, runs, acknowledged, record)


def _record(made: Hall) -> tuple[str, ...]:
    """The runs with their events, and what the meters counted, to read after a failure."""
    found = records(made)
    lines = []
    for run, row in found.runs.items():
        known = {
            key: row[key]
            for key in row.keys()  # noqa: SIM118 - a Row
            if row[key] is not None and key != "setup"
        }
        lines += [
            f"run {run}: {known}",
            *(f"    {event}" for event in found.events[run]),
        ]
    for box in made.boxes.values():
        lines += [f"{box.serial}: {session}" for session in box.sessions]
    return tuple(lines)


def _play(
    made: Hall,
    watch: Watch,
    lasts_s: float,
    mishap: Mishap,
) -> None:
    scheduler = made.scheduler
    made.on_step = watch.look
    made.start_server()
    tasks = [scheduler.spawn(team, Team(made, team).play) for team in TEAMS]
    tasks.append(scheduler.spawn("operator", Operator(made).work))
    tasks.append(scheduler.spawn("mishap", mishap.happen))
    end_s = scheduler.now_s + lasts_s
    while scheduler.now_s < end_s and not scheduler.failures:
        scheduler.sleep(1.0)
    made.is_over = True
    mishap.end()
    if scheduler.failures:
        made.kill_server()  # nobody waits for its answers
    for task in tasks:
        scheduler.join(task)
    if not scheduler.failures:
        _reckon(made, watch)
    made.kill_server()


def _reckon(made: Hall, watch: Watch) -> None:
    """Let everything end, have it judged, and compare with what the model says."""
    scheduler = made.scheduler
    made.kill_server()
    made.start_server(with_live=False)
    scheduler.sleep(CALM_S)
    made.step("the day is over")
    found = records(made)
    watch.fail("everything_ends", _open_runs(found))
    if scheduler.failures:
        return
    made.start_live()
    # One a tick.
    scheduler.sleep(
        EVERY_S * (sum(row["state"] == "closed" for row in found.runs.values()) + 2)
    )
    with open_contest(made.folder) as contest:
        watch.fail("provisional_equals_final", _provisional(contest))
    if scheduler.failures:
        return
    for run, row in found.runs.items():
        if row["state"] in ("closed", "judged"):
            made.judge(run)
    _last_act(made)
    scheduler.sleep(EVERY_S * 2)
    watch.look()
    with open_contest(made.folder) as contest:
        watch.fail(
            "score_is_of_the_acknowledged",
            _scores(made, contest, records(made)),
        )
        watch.fail("doubtful_energies_are_reviewed", _reviews(made, contest))
        watch.fail("board_equals_recomputation", _board(contest))
        watch.fail("close_binds_the_evidence", _closings(made, contest, records(made)))


def _last_act(made: Hall) -> None:
    """The operator unveils the board, and takes the first of the ranking out."""
    with open_contest(made.folder) as contest:
        row = contest.store.published.get()
        places = standings(contest).places
    try:
        if row is not None and row.state is not BoardState.LIVE:
            made.operate("/board/unveil", places="all")
        if places:
            run = places[0].standing.run
            made.step(
                f"run {run} leads, and is voided: {made.operate(f'/runs/{run}/void', reason='at last').status}"
            )
    except NoAnswerError:  # it may be done
        made.step("the operator gets no answer")


def _open_runs(found: Records) -> Iterator[str]:
    for run, row in found.runs.items():
        if row["state"] == "open":
            yield f"run {run} is still open"


def _provisional(contest: Contest) -> Iterator[str]:
    for run in contest.store.runs.find(RunState.CLOSED):
        seen = contest.store.provisional.of_run(run.id)
        if seen is None or seen.detections != contest.store.posts.count_detections(
            run.id
        ):
            yield f"run {run.id} is closed, and its provisional score has seen {seen}"
            continue
        # An energy that is lost for the window is in review: it gives no provisional score.
        is_lost = energy_lost(contest.store.log.of_run(run.id)) is not None
        is_scored = seen.map is not None and bool(run.energy_wh) and not is_lost
        if (seen.score is not None) != is_scored:
            yield f"run {run.id} is closed, its energy {run.energy_wh} Wh is lost: {is_lost}, and {seen} is shown"


def _scores(
    made: Hall,
    contest: Contest,
    found: Records,
) -> Iterator[str]:
    ground_truth = read_ground_truth(contest.test_set.folder)
    for run in contest.store.runs.find(RunState.JUDGED):
        judged = contest.store.scores.latest(run.id)
        assert judged is not None
        order = contest.store.runs.image_order(run.id)
        attempt = made.model.attempts.get(run.id)
        rows = np.array(_rows_of(found, made, run.id)).reshape(-1, 7)
        rows_of_teams = rows.copy()
        served = set(contest.store.served.images(run.id))
        if attempt is not None and not attempt.served <= served <= attempt.asked_for:
            yield f"run {run.id} was served {attempt.served}, asked for {attempt.asked_for}; on record are {served}"
        if not contest.config.count_unserved:
            rows = rows[np.isin(rows[:, 0], sorted(served))]
        rows[:, 0] = order[rows[:, 0].astype(int) - 1]
        reached = evaluate_rows(contest, restricted_to(ground_truth, order), rows).map
        if (reached, len(rows)) != (judged.map, judged.detections):
            yield f"run {run.id} has mAP {judged.map} of {judged.detections} rows, not {reached} of {len(rows)}"
        wanted = score(reached, run.energy_wh) if run.energy_wh else None
        if judged.score != wanted or judged.energy_wh != run.energy_wh:
            yield f"run {run.id} has the score {judged.score}, not {wanted}"
        seen = contest.store.provisional.of_run(run.id)
        if seen is not None and seen.detections == sum(
            post["row_count"] for post in found.posts[run.id]
        ):
            # None was shown if the figures were not fresh when the run was judged.
            if (seen.map, seen.energy_wh) == (
                judged.map,
                judged.energy_wh,
            ) and seen.score not in (None, judged.score):
                yield f"run {run.id} has the provisional score {seen.score} and the final one {judged.score}"
            if seen.map != judged.map and seen.map not in _maps_on_the_way(
                contest, run, rows_of_teams
            ):
                yield f"run {run.id} has the provisional mAP {seen.map} and the final one {judged.map}"


def _maps_on_the_way(
    contest: Contest, run: Run, rows: NDArray[np.float64]
) -> Iterator[float | None]:
    """Yield the mAP of all rows after each served image: rows of an image count once it is served.

    A live process that was killed has published none after that; a run that is judged then is not followed again.
    """
    order = contest.store.runs.image_order(run.id)
    truth = restricted_to(read_ground_truth(contest.test_set.folder), order)
    in_order = [image for image, _ in contest.store.served.in_order(run.id)]
    for end in range(len(in_order)):
        counted = rows[np.isin(rows[:, 0], in_order[:end])]
        counted[:, 0] = order[counted[:, 0].astype(int) - 1]
        yield evaluate_rows(contest, truth, counted).map or 0.0


def _reviews(made: Hall, contest: Contest) -> Iterator[str]:
    for run in contest.store.runs.find(RunState.JUDGED):
        judged = contest.store.scores.latest(run.id)
        assert judged is not None
        is_lost = energy_lost(contest.store.log.of_run(run.id)) is not None
        if is_lost and not judged.needs_review:
            yield f"run {run.id} has lost its energy, and needs no review"
        if run.id in made.model.to_be_reviewed and not judged.needs_review:
            yield f"run {run.id} has an energy of someone at the panel, and needs no review"


def _closings(
    made: Hall,
    contest: Contest,
    found: Records,
) -> Iterator[str]:
    """The event of a run's close states its chain, readings and served images; what teams hold is signed."""
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(contest.key.public))
    for run, events in found.events.items():
        closed = [event for event in events if event["kind"] == "closed"]
        if (
            closed
            and closed[-1] | (now := contest.store.closings.evidence(run)) != closed[-1]
        ):
            yield f"run {run} was closed with {closed}, and now it has {now}"
        if len(closed) > 1:
            yield f"run {run} was closed {len(closed)} times"
    for attempt in made.model.attempts.values():
        if told := (attempt.logout or {}).get("receipt"):
            text = f"lpirc-close-1\n{attempt.run}\n{told['posts']}\n{told['head']}\n{told['log']}\n"
            try:
                key.verify(bytes.fromhex(told["signature"]), text.encode())
            except InvalidSignature:
                yield f"what {attempt.team} holds of the close of run {attempt.run} is not signed"


def _rows_of(
    found: Records,
    made: Hall,
    run: int,
) -> list[list[float]]:
    """The rows of a run's bodies as its team sent them, in the order in which they are stored."""
    attempt = made.model.attempts.get(run)
    bodies = (
        {}
        if attempt is None
        else {
            post["id"]: one
            for one in attempt.sent
            for post in stored(found, attempt, one)
        }
    )
    return [row for post in sorted(bodies) for row in bodies[post].rows]


def _board(contest: Contest) -> Iterator[str]:
    row = contest.store.published.get()
    if row is None:
        yield "nothing is published"
        return
    told = public_view(row)
    for prize in told["prizes"]:
        prize.pop("state")  # it depends on whether the contest is over
    expected = json.loads(
        public_board(contest, datetime.fromisoformat(row.utc), standings(contest))
    )
    if row.state is BoardState.LIVE:
        for part in ("ranking", "unranked", "left_out", "attempts", "prizes"):
            if told[part] != expected[part]:
                yield f"the board shows {part} {told[part]}, recomputed it is {expected[part]}"
    runs = {one.id: one for one in contest.store.runs.find()}
    best: dict[str, tuple[float, int]] = {}
    reviews = contest.store.reviews.latest()
    for run in runs.values():
        judged = (
            contest.store.scores.latest(run.id)
            if run.state is RunState.JUDGED
            else None
        )
        if (
            judged is not None
            and judged.score is not None
            and run.contest_window_s == contest.config.window_s
            and (not judged.needs_review or run.id in reviews)
        ):
            best[run.team] = max(best.get(run.team, (-1.0, 0)), (judged.score, -run.id))
    ranked = [place["run"] for place in expected["ranking"]]
    wanted = [-run for _, run in sorted(best.values(), reverse=True)]
    if ranked != wanted:
        yield f"the ranking is of the runs {ranked}, the best ones are {wanted}"
