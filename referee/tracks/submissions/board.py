"""The board of a model track: each team's best submission over all builds, by the track's rule. Pure.

It is judged anew from what was measured, by the rule's present settings, so that all lines of a board are comparable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from referee.judging.leaderboard import best_of_each
from referee.store.records import Submission
from referee.tracks import Entry, Measured, Track, Verdict


@dataclass(frozen=True)
class Candidate:
    """A measured submission as the board sees it; `measured` is None where the model failed, as `sentence` tells.

    `handed_in` is the team's first submission of that model, of which this one may be a later build; among equal values
    it tells who was earlier. `official` is false where the meter was simulated or one for rehearsing at home.
    """

    submission: int
    team: str
    build: str
    model_file: str
    model_sha256: str
    measured: Measured | None
    sentence: str
    handed_in: int
    official: bool = True


@dataclass(frozen=True)
class Line:
    """A place: the team's best submission; `builds` is how often that model of the team was measured."""

    rank: int
    candidate: Candidate
    verdict: Verdict
    builds: int


@dataclass(frozen=True)
class Board:
    """The places, best first, and below them every submission that is not valid, with the reason, oldest first."""

    lines: tuple[Line, ...]
    invalid: tuple[tuple[Candidate, str], ...]


def board(track: Track, candidates: Sequence[Candidate]) -> Board:
    """Rank the candidates of one test set.

    Of a team's equal values the earlier submission counts; how teams of equal values stand is the rule's. Where a
    verdict needs the field, a team's best submission is the one that is best by itself.
    """
    judged = [(one, track.measure(one.measured)) for one in candidates if one.measured is not None]
    valid = sorted(
        ((one, verdict) for one, verdict in judged if verdict.value is not None),
        key=lambda pair: (-(pair[1].value or 0.0), pair[0].handed_in, pair[0].submission),
    )
    best = [one for one, _ in best_of_each(valid, team=lambda pair: pair[0].team)]
    by_team = {one.team: one for one in best}
    entries = [Entry(one.team, one.handed_in, one.measured) for one in best if one.measured is not None]
    lines, invalid = [], {one.submission: (one, one.sentence) for one in candidates if one.measured is None}
    for place in track.rank(entries):
        one = by_team[place.entry.name]
        if place.rank is None:
            invalid[one.submission] = (one, place.verdict.sentence)
        else:
            lines.append(Line(place.rank, one, place.verdict, _builds(one, candidates)))
    for one, verdict in judged:
        if verdict.value is None:
            invalid[one.submission] = (one, verdict.sentence)
    return Board(tuple(lines), tuple(invalid[number] for number in sorted(invalid)))


def judged_now(one: Submission, rule: Track) -> Submission:
    """A submission with what its measurement is worth, by itself, by the rule's present settings, as on the board."""
    if one.measurement is None or one.measurement.measured is None:
        return one
    verdict = rule.measure(Measured(**one.measurement.measured))
    measurement = replace(
        one.measurement,
        valid=verdict.is_valid,
        sentence=verdict.sentence,
        metric=verdict.value,
        figures=dict(verdict.figures),
    )
    return replace(one, measurement=measurement)


def build_number(made: Submission, submissions: Sequence[Submission]) -> int:
    """How often a track's submissions have measured that model of that team on that test set, up to this one."""
    same = _measured_thing(made)
    return sum(
        one.id <= made.id
        and one.withdrawn is None
        and one.measurement is not None
        and _measured_thing(one) == same
        for one in submissions
    )


def _measured_thing(one: Submission) -> tuple[str, str, str, str]:
    return one.team, one.model_sha256, one.split, one.testset_digest


def _builds(one: Candidate, candidates: Sequence[Candidate]) -> int:
    same = (one.team, one.model_sha256)
    return sum((other.team, other.model_sha256) == same for other in candidates)
