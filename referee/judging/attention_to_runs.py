"""Findings about runs: lost energy, failed judging, a review that decides a prize, decisions of the jury. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from referee.judging.attention_items import (
    OPERATOR,
    Act,
    Attention,
    Severity,
    act_of_run,
)
from referee.judging.jury_decisions import Awaited
from referee.store.records import RunState

MOST_ALIKE = 3
"""Runs that wait for the same decision are named one by one up to this number."""
Document = Mapping[str, Any]
UNDER_WAY = (RunState.OPEN, RunState.CLOSED)


class Decision(NamedTuple):
    """A decision of the jury in words."""

    verb: str
    past: str


DECISIONS = {
    Awaited.CONFIRMATION: Decision("confirm", "confirmed"),
    Awaited.PUBLICATION: Decision("publish", "published"),
}


def run_findings(status: Document) -> Iterator[Attention]:
    """Yield what each run needs, and one finding for all runs that wait to be judged."""
    # A lost energy comes first: the window of its run goes on, and another run can be armed at once.
    for run in sorted(status["runs"], key=lambda run: run["energy_lost"] is None):
        yield from _of_run(run)
    yield from _decisions(status["runs"])
    waiting = [run for run in status["runs"] if _waits_for_judging(run)]
    if waiting and not status["auto_judge"]:
        yield _to_judge(waiting)


def _of_run(run: Document) -> Iterator[Attention]:
    number = run["run"]
    name = f"Run {number} of {run['team']}"
    if run["energy_lost"] is not None:
        yield _of(
            run, "energy-lost", Severity.PERSON_NEEDED, run["energy_lost"], _void(run)
        )
        return
    if _lacks_live_figures(run):
        why = run["live_failed"].rstrip(".")
        sentence = (
            f"The figures of run {number} of {run['team']} so far cannot be computed: {why}. What the team sends is "
            "kept, and is judged anew after the close."
        )
        yield _of(run, "live-failed", Severity.WARNING, sentence)
    if run["judging"] or run["state"] not in (RunState.CLOSED, RunState.JUDGED):
        return
    if run["judge_failed"] is not None:
        sentence = f"{name} could not be judged: {run['judge_failed']}"
        again = act_of_run("Judge", number, "judge")
        yield _of(run, "judge-failed", Severity.PERSON_NEEDED, sentence, again)
    if run["state"] != RunState.JUDGED:
        return
    if run["judged_utc"] is not None:
        # A judging that failed leaves the judgement before it, which may need a review.
        yield from _of_judged(run, name)
    elif run["judge_failed"] is None:
        sentence = f"The energy of run {number} of {run['team']} was read after it was judged; judge it again."
        again = act_of_run("Rejudge", number, "judge")
        yield _of(run, "judge-again", Severity.WARNING, sentence, again)


def _lacks_live_figures(run: Document) -> bool:
    is_under_way = run["state"] in UNDER_WAY and run["judge_failed"] is None
    return is_under_way and run["live_failed"] is not None


def _of_judged(run: Document, name: str) -> Iterator[Attention]:
    number = run["run"]
    if is_in_review(run):
        failed = [
            one["code"] for one in run["failed_checks"] if one["severity"] == "error"
        ]
        prizes = run["prizes_at_stake"]
        depend = "depends" if len(prizes) == 1 else "depend"
        stake = f", and {' and '.join(prizes)} {depend} on it" if prizes else ""
        sentence = f"{name} is in review{stake}; failed: {', '.join(failed)}."
        severity = Severity.PERSON_NEEDED if prizes else Severity.WARNING
        code = "review-of-prize" if prizes else "review"
        stand = act_of_run("Let stand", number, "review")
        yield _of(run, code, severity, sentence, stand, _void(run))


def is_in_review(run: Document) -> bool:
    """Return True if the jury still has to review a run, before it confirms its judgement."""
    return bool(run["needs_review"]) and run["review"] is None


def _decisions(runs: Sequence[Document]) -> Iterator[Attention]:
    """Yield what the jury has to decide; many runs are named in one finding, whose way out is the list of runs."""
    for awaited, what in DECISIONS.items():
        waiting = [
            run
            for run in runs
            if run["waits_for"] == awaited
            and not is_in_review(run)
            and run["judged_utc"] is not None
            and not run["judging"]
        ]
        if len(waiting) > MOST_ALIKE:
            numbers = ", ".join(str(run["run"]) for run in reversed(waiting))
            sentence = f"{len(waiting)} runs wait to be {what.past}: {numbers}."
            acts = (*_all_at_once(waiting, what), Act("Runs", f"{OPERATOR}/#runs"))
            yield Attention(what.verb, Severity.TO_DO, sentence, acts=acts)
            continue
        for run in waiting:
            sentence = f"Run {run['run']} of {run['team']} waits to be {what.past}."
            act = act_of_run(
                what.verb.capitalize(), run["run"], what.verb, **_seen(run)
            )
            yield _of(run, what.verb, Severity.TO_DO, sentence, act)


def _all_at_once(waiting: Sequence[Document], what: Decision) -> Iterator[Act]:
    """Yield the act that decides on every run that nothing speaks against, if these are several."""
    free = [
        {"run": run["run"]} | _seen(run)
        for run in reversed(waiting)
        if run["objection"] is None
    ]
    if len(free) > 1:
        label = f"{what.verb.capitalize()} all"
        yield Act(label, f"{OPERATOR}/{what.verb}", {"runs": free})


def _seen(run: Document) -> dict[str, str]:
    seen = {"judged_utc": run["judged_utc"]}
    if run["reviewed_utc"] is not None:
        seen["reviewed_utc"] = run["reviewed_utc"]
    return seen


def _of(
    run: Document,
    code: str,
    severity: Severity,
    sentence: str,
    *acts: Act,
) -> Attention:
    page = Act("Run page", f"{OPERATOR}/runs/{run['run']}")
    return Attention(
        code,
        severity,
        sentence,
        run["run"],
        run["station"],
        acts=(*acts, page),
    )


def _void(run: Document) -> Act:
    return act_of_run("Void", run["run"], "void")


def _waits_for_judging(run: Document) -> bool:
    return (
        run["state"] == RunState.CLOSED
        and not run["judging"]
        and run["judge_failed"] is None
        and run["energy_lost"] is None
    )


def _to_judge(runs: list[Document]) -> Attention:
    numbers = ", ".join(str(run["run"]) for run in reversed(runs))
    return Attention(
        "judge",
        Severity.TO_DO,
        f"Closed and not judged yet: run {numbers}.",
        acts=(Act("Judge all closed", f"{OPERATOR}/judge", {}, "referee judge --all"),),
    )
