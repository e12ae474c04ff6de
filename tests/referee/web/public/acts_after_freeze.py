"""What happens in a contest after the freeze: what the hall sees, and what would tell how runs have scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from referee.clock import Clock
from referee.contest import Contest
from referee.judging.judge import judge
from referee.store.records import (
    ENERGY_LOST,
    Provisional,
    Refusal,
    Released,
    Review,
    Run,
    RunState,
)
from tests.referee.factories import START, TEAM, reading
from tests.referee.judging.judged_runs import armed_run, closed_run, opened_run, posted

OTHERS = ("badgers", "voles", "stoats")


def result(
    contest: Contest,
    action: str,
    pick: int,
    clock: Clock,
) -> None:
    """Something after the freeze that tells how runs have scored, other than an act of the team."""
    store = contest.store
    team = OTHERS[pick % len(OTHERS)]
    theirs = [run for run in store.runs.find() if run.team != TEAM]
    run = theirs[pick % len(theirs)]
    over = (RunState.CLOSED, RunState.JUDGED)
    opened = store.runs.find(RunState.OPEN)
    now = clock.utc().isoformat()
    acts: dict[str, Callable[[], object]] = {
        "run": lambda: judge(
            contest,
            closed_run(contest, team, 0.1 + pick / 10, pick).id,
            clock,
        ),
        "post": lambda: run.state is RunState.OPEN and posted(contest, run, pick),
        "in review": lambda: judge(
            contest,
            closed_run(contest, team, 0.1 + pick / 10, odd=True).id,
            clock,
        ),
        "power": lambda: [
            store.readings.append(one.id, 0.0, [reading(61.0 + pick, power_w=pick)])
            for one in opened
        ],
        "lost": lambda: [
            store.log.append(
                START,
                one.id,
                ENERGY_LOST,
                code="meter-reset",
                elapsed_s=pick,
            )
            for one in opened
        ],
        "void": lambda: (
            run.state in over
            and store.runs.change(run.id, over, state="void", void_reason="a test")
        ),
        "unvoid": lambda: (
            run.state is RunState.VOID
            and store.runs.change(run.id, (run.state,), state="closed")
        ),
        "judge": lambda: run.state in over and judge(contest, run.id, clock),
        "judge ours": lambda: [
            judge(contest, ours.id, clock) for ours in store.runs.find(team=TEAM)
        ],
        "review": lambda: store.reviews.add(
            run.id,
            Review("jo", "It stands.", START.isoformat(), ()),
        ),
        "provisional": lambda: [
            store.provisional.set(
                Provisional(one.id, START.isoformat(), pick / 10, 0.5, pick / 5, pick)
            )
            for one in store.runs.find()
        ],
        "release": lambda: [
            store.provisional.release(
                Released(one.id, now, now, pick / 10, 0.5, pick / 5, pick)
            )
            for one in store.runs.find()
        ],
        "event": lambda: store.log.append(START, run.id, "operator", operator="jo"),
        "figures": lambda: other_figures(contest, pick),
        "note": lambda: store.notes.add(run.id, "jo", f"Note {pick}", clock.utc()),
        "question": lambda: private_question(contest, clock, team, pick),
        "refusal": lambda: store.refusals.keep([(None, refusal_of(team, run, now))]),
    }
    acts[action]()


def other_figures(contest: Contest, pick: int) -> None:
    """Judge all runs again, by another ground truth."""
    for run in contest.store.runs.find(RunState.JUDGED):
        judged = contest.store.scores.latest(run.id)
        assert judged is not None
        contest.store.scores.add(replace(judged, map=pick / 10, score=pick / 20))


def private_question(contest: Contest, clock: Clock, team: str, pick: int) -> None:
    questions = contest.store.questions
    if team not in contest.store.teams.all():
        return
    number = questions.ask(team, f"May we {pick}?", clock.utc(), most_open=100)
    questions.answer(number, "jo", f"Yes, {pick}.", clock.utc(), to_all=False)


def refusal_of(team: str, run: Run, now: str) -> Refusal:
    return Refusal(
        now,
        now,
        1,
        "bad-rows",
        422,
        team,
        run.id,
        "10.0.0.1",
        "A row was refused.",
    )


RUNS = ("run", "in review")  # the hall sees a run, but not how it has scored
RESULTS = (
    *(
        "run",
        "post",
        "in review",
        "power",
        "lost",
        "void",
        "unvoid",
        "judge",
        "judge ours",
        "review",
    ),
    *("provisional", "release", "event"),
    *("figures", "note", "question", "refusal"),
)


def hall(contest: Contest, action: str, pick: int) -> None:
    """Something after the freeze that the hall sees."""
    store = contest.store
    team = OTHERS[pick % len(OTHERS)]
    acts: dict[str, Callable[[], object]] = {
        "arm": lambda: armed_run(
            contest,
            team,
            station=f"station {pick}",
            heat=f"heat {pick}",
        ),
        "open": lambda: opened_run(contest, team, station=f"stand {pick}"),
        "queue": lambda: store.queue.change(lambda _: [OTHERS[pick % 2]]),
        "announce": lambda: store.announcements.add("jo", f"Number {pick}", START),
    }
    acts[action]()


HALL = ("arm", "open", "queue", "announce")
