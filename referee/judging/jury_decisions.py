"""The jury's decisions: with `publish_by`, the public sees a judgement only once it is confirmed and published.

Everything that shows figures to others than operators asks `unpublished` or `is_published`. With `publish_by = 2` the
two decisions are those of two people, each proved by a log-in. The operator key proves no person: whoever holds it may
state any name, and an operator with a log-in may hold it, too. An account that an operator has registered is no other
person than that operator: `jury_people`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from referee.auth.operator_names import is_reserved
from referee.contest import Contest
from referee.errors import RefereeError
from referee.judging.jury_people import people_of
from referee.judging.run_figures import current_judgement
from referee.store.acts import Act
from referee.store.decision_table import void_sentence
from referee.store.records import Decision, DecisionKind, RunState

BY_TWO = 2
NOTHING_AWAITED: Mapping[str, Any] = {"waits_for": None, "barred": ()}
NOT_PUBLISHED = "the jury has not published it yet"


class Awaited(StrEnum):
    """The decision that a judged run waits for."""

    CONFIRMATION = "confirmation"
    PUBLICATION = "publication"


@dataclass(frozen=True)
class Seen:
    """The judgement that a person has seen, by its time, and the run's newest review, or None without one."""

    judged_utc: str
    reviewed_utc: str | None = None


def awaited(decisions: Sequence[Decision]) -> Awaited | None:
    """Return what a judgement with these decisions waits for; None if it is published."""
    kinds = {one.kind for one in decisions}
    if DecisionKind.PUBLISHED in kinds:
        return None
    if DecisionKind.CONFIRMED in kinds:
        return Awaited.PUBLICATION
    return Awaited.CONFIRMATION


def unpublished(contest: Contest) -> dict[int, Awaited]:
    """Return what each judged run waits for whose latest judgement is not published; empty with `publish_by` 0."""
    if not contest.config.publish_by:
        return {}
    decisions = contest.store.decisions.latest()
    waiting = {}
    for run in contest.store.runs.find(RunState.JUDGED):
        its = awaited(decisions.get(run.id, ()))
        if its is not None:
            waiting[run.id] = its
    return waiting


def is_published(contest: Contest, number: int) -> bool:
    """Return True if the public may see the latest judgement of a run."""
    if not contest.config.publish_by:
        return True
    return awaited(contest.store.decisions.latest().get(number, ())) is None


def barred_from_publishing(contest: Contest) -> dict[int, list[str]]:
    """Return the operators whom `publish_by = 2` keeps from publishing, for each run that waits for a second person."""
    if contest.config.publish_by != BY_TWO:
        return {}
    decisions = contest.store.decisions.latest()
    confirmed = {
        number: by
        for number, its in unpublished(contest).items()
        if its is Awaited.PUBLICATION
        and (by := _who_confirmed(decisions, number)) is not None
    }
    if not confirmed:
        return {}
    people = people_of(contest.store)
    names = set(contest.store.operators.password_hashes())
    barred = {}
    for number, by in confirmed.items():
        person = people.get(by, by)
        same = {name for name in names if people.get(name, name) == person}
        barred[number] = sorted(same | {by})
    return barred


def awaited_documents(contest: Contest) -> dict[int, dict[str, Any]]:
    """Return what each run waits for, as the status says it, and who is barred from publishing it."""
    barred = barred_from_publishing(contest)
    return {
        number: {"waits_for": its, "barred": barred.get(number, ())}
        for number, its in unpublished(contest).items()
    }


def require_published(contest: Contest, number: int) -> None:
    """Raise RefereeError `not-published` unless the public may see the latest judgement of a run."""
    contest.store.runs.get(number)
    if not contest.config.publish_by:
        return
    awaits = awaited(contest.store.decisions.latest().get(number, ()))
    if awaits is None:
        return
    missing = "confirmed and published"
    if awaits is Awaited.PUBLICATION:
        missing = "published"
    sentence = (
        f"The judgement of run {number} is not {missing} yet, and its bundle tells everyone who has it the figures. "
        f"Let the jury do so first; for the jury alone: referee bundle export {number} --unpublished"
    )
    raise RefereeError("not-published", sentence, run=number)


def confirm(
    contest: Contest,
    number: int,
    seen: Seen,
    operator: str,
    now: datetime,
    act: Act | None = None,
) -> None:
    """Confirm the judgement of a run. `operator` is the person's name, as every list shows it.

    Raises RefereeError `run-unknown`, `run-state`, `nothing-to-publish`, `second-person`, `judged-again`,
    `decided-already`.
    """
    _require_judged(contest, number)
    _require_person(contest, operator, number)
    _decide(contest, number, seen, DecisionKind.CONFIRMED, operator, now, act)


def publish(
    contest: Contest,
    number: int,
    seen: Seen,
    operator: str,
    now: datetime,
    act: Act | None = None,
) -> None:
    """Publish the confirmed judgement of a run. Raises RefereeError as `confirm`, and `not-confirmed`."""
    _require_judged(contest, number)
    _require_person(contest, operator, number)
    confirmed_by = _who_confirmed(contest.store.decisions.latest(), number)
    if confirmed_by is None:
        sentence = f"Run {number} is not confirmed yet, so it cannot be published; confirm its judgement first."
        raise RefereeError("not-confirmed", sentence, run=number)
    if contest.config.publish_by == BY_TWO:
        _require_other(number, operator, confirmed_by)
        _require_other_person(contest, number, operator, confirmed_by)
    _decide(contest, number, seen, DecisionKind.PUBLISHED, operator, now, act)


def _decide(
    contest: Contest,
    number: int,
    seen: Seen,
    kind: DecisionKind,
    operator: str,
    now: datetime,
    act: Act | None,
) -> None:
    contest.store.decisions.add(
        number,
        seen.judged_utc,
        kind,
        operator,
        now,
        act,
        seen.reviewed_utc,
    )


def _who_confirmed(
    decisions: Mapping[int, Sequence[Decision]], number: int
) -> str | None:
    for one in decisions.get(number, ()):
        if one.kind is DecisionKind.CONFIRMED:
            return one.operator
    return None


def require_decisions(contest: Contest, number: int) -> None:
    """Raise RefereeError `nothing-to-publish` for a contest whose judgements are public without a decision."""
    if not contest.config.publish_by:
        sentence = "publish_by is 0 in contest.toml, so a judgement is public at once: there is nothing to publish."
        raise RefereeError("nothing-to-publish", sentence, run=number)


def _require_judged(contest: Contest, number: int) -> None:
    run = contest.store.runs.get(number)
    require_decisions(contest, number)
    if run.state is RunState.VOID:
        rows = contest.store.database.rows
        raise RefereeError("run-state", void_sentence(rows, number), run=number)
    if run.state is not RunState.JUDGED or current_judgement(contest, run) is None:
        sentence = (
            f"Run {number} is {run.state} and has no current judgement; judge it first."
        )
        raise RefereeError("run-state", sentence, run=number)


def _require_person(contest: Contest, operator: str, number: int) -> None:
    """Refuse a holder of the operator key if two people have to decide."""
    if contest.config.publish_by == BY_TWO and is_reserved(operator):
        sentence = (
            "publish_by is 2, so two people decide, and the operator key does not prove who holds it, whatever name is "
            "stated; log in at /operator/ by your own name and password (referee operator add NAME)."
        )
        raise RefereeError("second-person", sentence, run=number)


def _require_other_person(
    contest: Contest, number: int, operator: str, confirmed_by: str
) -> None:
    """Refuse an account whose password the same person has set as that of the account that confirmed."""
    people = people_of(contest.store)
    person = people.get(operator, operator)
    if person != people.get(confirmed_by, confirmed_by):
        return
    added = operator if operator != person else confirmed_by
    sentence = (
        f"{confirmed_by} has confirmed run {number}, and {person} has registered {added} and so knows the password: "
        "with publish_by = 2 these accounts are one person. Let someone else publish it, or register that person with "
        "the operator key or with: referee operator add NAME"
    )
    raise RefereeError("second-person", sentence, run=number)


def _require_other(number: int, operator: str, confirmed_by: str) -> None:
    if operator == confirmed_by:
        sentence = f"{operator} has confirmed run {number}; publish_by is 2, so another person must publish it."
        raise RefereeError("second-person", sentence, run=number)
    if is_reserved(confirmed_by):
        sentence = (
            f"Run {number} was confirmed by {confirmed_by}, which does not prove a second person; judge it again, "
            "and have it confirmed by someone who is logged in by name."
        )
        raise RefereeError("second-person", sentence, run=number)
