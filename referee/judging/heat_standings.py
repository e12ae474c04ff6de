"""The standings of a knock-out or a round robin, from the results of the heats that have a round. Pure.

If the same teams meet more than once in a round, the last of these heats counts: a heat that was tied, or void, is run
again under another name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from referee.judging.heat_results import HeatResult

Teams = tuple[str, ...]


@dataclass(frozen=True)
class Round:
    """A round with its heats in the order in which they were made."""

    number: int
    heats: tuple[HeatResult, ...]

    @property
    def names(self) -> Teams:
        """The names of the heats."""
        return tuple(heat.name for heat in self.heats)

    @property
    def undecided(self) -> tuple[HeatResult, ...]:
        """The heats that nobody has won."""
        return tuple(one for one in self.heats if one.winner is None)


@dataclass(frozen=True)
class KnockOut:
    """A knock-out: who is out since which round, who is still in, the next meetings, and the winner.

    `next` pairs the teams that are still in by the order of their heats, once the last round is decided; of an odd
    number the last one has no opponent. `doubts` are heats that do not fit a knock-out.
    """

    rounds: tuple[Round, ...]
    out: dict[str, int]
    still_in: Teams
    next: tuple[Teams, ...]
    winner: str | None
    doubts: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """A team of a round robin; teams with equal points share a rank."""

    rank: int
    team: str
    points: int
    played: int
    won: int
    tied: int
    lost: int


@dataclass(frozen=True)
class RoundRobin:
    """A round robin: the table, and the meetings that are not decided, in the order of the teams."""

    rounds: tuple[Round, ...]
    table: tuple[Row, ...]
    played: int
    to_play: tuple[tuple[str, str], ...]


def rounds_of(results: Iterable[HeatResult]) -> tuple[Round, ...]:
    """Return the rounds in order, without the heats that were run again in the same round."""
    found: dict[int, dict[frozenset[str], HeatResult]] = {}
    for result in results:
        if result.round is not None:
            its = found.setdefault(result.round, {})
            teams = frozenset(result.teams)
            its.pop(teams, None)  # the new one takes its own place in the order
            its[teams] = result
    return tuple(
        Round(number, tuple(found[number].values())) for number in sorted(found)
    )


def knock_out(results: Iterable[HeatResult]) -> KnockOut:
    """Return the standings of a knock-out: the winner of a heat goes on, the others are out.

    Of a heat without a winner nobody is out, and nobody goes on.
    """
    rounds = rounds_of(results)
    out: dict[str, int] = {}
    doubts = []
    last_seen: dict[str, None] = {}
    for one in rounds:
        runs_in = Counter(team for heat in one.heats for team in heat.teams)
        for team, count in runs_in.items():
            if count > 1:
                doubts.append(f"{team} is in {count} heats of round {one.number}")
            if team in out:
                doubts.append(
                    f"{team} is out since round {out[team]} and runs in round {one.number}"
                )
        for heat in one.heats:
            for team in heat.teams:
                last_seen.pop(team, None)
                last_seen[team] = None
                if heat.winner is not None and team != heat.winner:
                    out.setdefault(team, one.number)
    still_in = tuple(team for team in last_seen if team not in out)
    is_decided = bool(rounds) and not any(one.undecided for one in rounds)
    goes_on = is_decided and len(still_in) > 1
    return KnockOut(
        rounds,
        out,
        still_in,
        next=_pairs(still_in) if goes_on else (),
        winner=still_in[0] if is_decided and len(still_in) == 1 else None,
        doubts=tuple(doubts),
    )


def _pairs(teams: Teams) -> tuple[Teams, ...]:
    return tuple(teams[at : at + 2] for at in range(0, len(teams), 2))


def round_robin(
    results: Iterable[HeatResult],
    teams: Sequence[str],
) -> RoundRobin:
    """Return the standings of a round robin of these teams and of any others that are in its heats."""
    rounds = rounds_of(results)
    heats = [heat for one in rounds for heat in one.heats]
    everyone = [
        *dict.fromkeys([*teams, *(team for heat in heats for team in heat.teams)])
    ]
    met = [pair for heat in heats if heat.is_decided for pair in heat.pairs]
    points: Counter[str] = Counter()
    tally: dict[str, Counter[str]] = {team: Counter() for team in everyone}
    for pair in met:
        for team, own, other in zip(
            pair.teams,
            pair.points,
            reversed(pair.points),
            strict=True,
        ):
            points[team] += own
            tally[team][_word(own, other)] += 1
    ordered = sorted(everyone, key=lambda team: (-points[team], team))
    have_met = {frozenset(pair.teams) for pair in met}
    to_play = [
        (one, other)
        for one, other in combinations(everyone, 2)
        if frozenset((one, other)) not in have_met
    ]
    all_points = [points[team] for team in ordered]
    table = tuple(
        Row(
            rank=all_points.index(points[team]) + 1,
            team=team,
            points=points[team],
            played=sum(tally[team].values()),
            won=tally[team]["won"],
            tied=tally[team]["tied"],
            lost=tally[team]["lost"],
        )
        for team in ordered
    )
    return RoundRobin(rounds, table, len(met), tuple(to_play))


def _word(own: int, other: int) -> str:
    """Return what a meeting was to a team; without points it is lost, even if the other team has none either."""
    if own > other:
        return "won"
    return "tied" if own == other > 0 else "lost"
