"""Comparison of kept links with the published log: there must be one log, and all of them must lie on it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

from referee.evidence.given_facts import Given
from referee.evidence.kept_links import KeptLink
from referee.evidence.published_chain import PublishedChain
from referee.evidence.recomputed_run import Recomputed
from referee.evidence.verification_items import Failure, NotChecked

PART = "the log"
IN_BUNDLE = "the bundle"


class Standing(StrEnum):
    """How a kept link stands to the published log."""

    ON = "on it"
    TAKEN_BACK = "taken back by a restore on record"
    OFF = "not on it"
    BEYOND = "newer than it"
    OUTSIDE = "outside of the bundle"


@dataclass
class _Sorted:
    """The kept links by their standing, each list in the order of events."""

    by_standing: dict[Standing, list[KeptLink]] = field(
        default_factory=lambda: {one: [] for one in Standing}
    )

    def __getitem__(self, standing: Standing) -> list[KeptLink]:
        """Return the links of this standing."""
        return self.by_standing[standing]


def check_links(found: Recomputed, given: Given) -> str:
    """Return a sentence on the kept links. Raises Failure if there are two logs, NotChecked without enough to tell."""
    own = PublishedChain(IN_BUNDLE, found.bundle.events_before, found.log)
    return compare_links(own, given.kept, given.chains)


def compare_links(
    own: PublishedChain,
    kept: Sequence[KeptLink],
    published: Sequence[PublishedChain],
) -> str:
    """Compare what was kept with the log in a bundle, `own`, and with the published ones. Raises as `check_links`."""
    if not kept and not published:
        raise NotChecked(
            "No kept links of the log were given: give --links, or --receipts that have some."
        )
    chains = [own, *published]
    _require_one(chains)
    links = _Sorted()
    for one in sorted(kept, key=lambda one: one.events):
        links[_standing(one, chains, has_list=bool(published))].append(one)
    _require_on(links, chains)
    _require_alike(links[Standing.OUTSIDE])
    names = ", ".join(chain.name for chain in chains)
    if not kept:
        return f"There is one log: {names} have the same links."
    whole = f"{len(links[Standing.ON])} of {len(kept)} kept links lie on the one log of {names}"
    if taken_back := links[Standing.TAKEN_BACK]:
        first = taken_back[0]
        whole += (
            f"; {len(taken_back)} were taken back by a restored backup, which the record states: the first is that of "
            f"event {first.events}, kept by {first.whose}"
        )
    if outside := links[Standing.OUTSIDE]:
        raise NotChecked(
            f"{whole}; {len(outside)} are of events {outside[0].events} to {outside[-1].events}, and the bundle has "
            f"events {own.before} to {own.last}: give --chain."
        )
    return f"{whole}."


def _require_one(chains: Sequence[PublishedChain]) -> None:
    """Raise Failure unless all chains have the same links where they overlap."""
    for number, one in enumerate(chains):
        for other in chains[number + 1 :]:
            first = max(one.before, other.before)
            last = min(one.last, other.last)
            for events in range(first, last + 1):
                if one.link(events) != other.link(events):
                    raise Failure(
                        PART,
                        f"There are two logs: of event {events}, {one.name} has the link {one.link(events)}, and "
                        f"{other.name} has {other.link(events)}.",
                    )


def _standing(
    one: KeptLink, chains: Sequence[PublishedChain], *, has_list: bool
) -> Standing:
    known = [chain.link(one.events) for chain in chains]
    if one.link in known:
        return Standing.ON
    if any(
        events <= one.events and one.is_before(utc)
        for chain in chains
        for events, utc in chain.restores
    ):
        return Standing.TAKEN_BACK
    if any(link is not None for link in known):
        return Standing.OFF
    is_beyond = has_list and one.events > max(chain.last for chain in chains)
    return Standing.BEYOND if is_beyond else Standing.OUTSIDE


def _require_on(links: _Sorted, chains: Sequence[PublishedChain]) -> None:
    wrong = links[Standing.OFF] + links[Standing.BEYOND]
    if not wrong:
        return
    first = min(wrong, key=lambda one: one.events)
    more = f" It is the first of {len(wrong)}." if len(wrong) > 1 else ""
    if links[Standing.OFF]:
        known = next(filter(None, (chain.link(first.events) for chain in chains)))
        why = f"the published log has {known} there: there are two histories, or it is a link of another contest."
    else:
        last = max(chain.last for chain in chains)
        why = (
            f"the published log ends at event {last}: get it again, and if it still ends before, its end was cut or "
            "a backup was restored."
        )
    raise Failure(
        PART,
        f"The link of event {first.events} that was kept by {first.whose} is not on it. It is {first.link}, and {why}"
        f"{more}",
    )


def _require_alike(kept: Sequence[KeptLink]) -> None:
    """Raise Failure if two people kept different links of one event."""
    for one, other in pairwise(kept):
        if one.events == other.events and one.link != other.link:
            raise Failure(
                PART,
                f"Two histories were shown: of event {one.events}, {one.whose} was shown the link {one.link}, and "
                f"{other.whose} {other.link}.",
            )
