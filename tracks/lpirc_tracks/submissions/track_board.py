"""The board of a model track: each team's best submission over all builds, by the track's rule. Pure.

Every measurement is judged again by the rule's present settings, so all lines of a board are comparable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from lpirc_tracks import Entry, Measured, Track, Verdict
from referee.judging.ranking import best_of_each
from referee.store.model_records import Submission


@dataclass(frozen=True)
class Candidate:
    """A measured submission; `measured` is None if it gets no rank, for the reason in `sentence`.

    The reason is that the model failed, its latency is unstable, or it is in review.

    `handed_in` is the number of the team's first submission of that model; this submission may be a later build of it.
    If values are equal, the lower number is the earlier entry.
    """

    made: Submission
    measured: Measured | None
    handed_in: int

    @property
    def sentence(self) -> str:
        """The sentence of the measurement, by the settings at that time; or why it is in review."""
        outcome = self.made.measurement
        if outcome is None:
            return ""
        return (
            outcome.sentence if outcome.doubt is None else f"in review: {outcome.doubt}"
        )

    @property
    def confined(self) -> bool | None:
        """True if the model ran confined; None if unknown."""
        return None if self.made.measurement is None else self.made.measurement.confined

    @property
    def official(self) -> bool:
        """False if the meter is simulated or is for rehearsing at home."""
        return self.made.measurement is None or self.made.measurement.official


@dataclass(frozen=True)
class Line:
    """A line of the board: rank and best submission of a team; `builds` counts how often its model was measured."""

    rank: int
    candidate: Candidate
    verdict: Verdict
    builds: int


@dataclass(frozen=True)
class Board:
    """The lines, best first, and every invalid submission with the reason, oldest first."""

    lines: tuple[Line, ...]
    invalid: tuple[tuple[Candidate, str], ...]


def candidates(submissions: Sequence[Submission], split: str) -> list[Candidate]:
    """Return the measured submissions of a track on a test set, oldest first, without the withdrawn ones.

    A submission that can get no rank is included only if its model has none that can.
    """
    found: list[Candidate] = []
    handed_in: dict[tuple[str, str], int] = {}
    for one in submissions:
        if one.withdrawn is not None:
            continue
        first = handed_in.setdefault(one.model_key, one.id)
        if one.split == split and one.measurement is not None:
            figures = None if one.has_no_place else one.measurement.measured
            found.append(
                Candidate(one, None if figures is None else Measured(**figures), first)
            )
    done = {one.made.model_key for one in found if not one.made.has_no_place}
    return [
        one
        for one in found
        if not one.made.has_no_place or one.made.model_key not in done
    ]


def board(track: Track, candidates: Sequence[Candidate]) -> Board:
    """Rank the candidates of one test set.

    If a team has equal values, its earlier submission counts; the rule decides how teams with equal values rank. If
    verdicts depend on the other entries, a team's best submission is the one that is best when judged alone.
    """
    judged = [
        (one, track.judge(one.measured))
        for one in candidates
        if one.measured is not None
    ]
    valid = sorted(
        ((one, verdict) for one, verdict in judged if verdict.value is not None),
        key=lambda pair: (-(pair[1].value or 0.0), pair[0].handed_in, pair[0].made.id),
    )
    best = {
        one.made.team: one
        for one, _ in best_of_each(valid, team=lambda pair: pair[0].made.team)
    }
    entries = [
        Entry(team, one.handed_in, one.measured)
        for team, one in best.items()
        if one.measured
    ]
    invalid = {
        one.made.id: (one, one.sentence) for one in candidates if one.measured is None
    }
    invalid |= {
        one.made.id: (one, verdict.sentence)
        for one, verdict in judged
        if verdict.value is None
    }
    lines = []
    for place in track.rank(entries):
        one = best[place.entry.name]
        if place.rank is None:
            invalid[one.made.id] = (one, place.verdict.sentence)
        else:
            builds = sum(
                other.made.model_key == one.made.model_key for other in candidates
            )
            lines.append(Line(place.rank, one, place.verdict, builds))
    return Board(tuple(lines), tuple(invalid[number] for number in sorted(invalid)))


def judged_now(one: Submission, rule: Track) -> Submission:
    """Return a submission judged alone by the rule's present settings, as on the board."""
    if one.measurement is None or one.measurement.measured is None or one.is_unstable:
        return one
    verdict = rule.judge(Measured(**one.measurement.measured))
    return replace(one, measurement=replace(one.measurement, **outcome_of(verdict)))


def outcome_of(verdict: Verdict) -> dict[str, Any]:
    """Return the fields of a ModelMeasurement for a verdict."""
    kept = {
        "valid": verdict.is_valid,
        "sentence": verdict.sentence,
        "metric": verdict.value,
    }
    return kept | {"figures": dict(verdict.figures)}


def build_number(made: Submission, submissions: Sequence[Submission]) -> int:
    """Return the number of a submission's build: 1 + the team's earlier submissions of the model on the test set."""
    measured = (
        one
        for one in submissions
        if one.measurement is not None and not one.is_unstable
    )
    standing = [one for one in measured if one.withdrawn is None]
    same = _measured_thing(made)
    return sum(one.id <= made.id and _measured_thing(one) == same for one in standing)


def _measured_thing(one: Submission) -> tuple[str, str, str, str]:
    return *one.model_key, one.split, one.testset_digest
