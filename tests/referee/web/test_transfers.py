"""Whose account a transfer is on, how many may be under way, and which of them have taken too long."""

from __future__ import annotations

import pytest

from referee.errors import RefereeError
from referee.web import server
from referee.web.transfers import (
    AT_ONCE,
    FAMILIAR,
    GRACE_S,
    KINDS_OF_FAMILIAR,
    LEAST_BYTES_PER_S,
    LONG_ANSWER_S,
    OF_RUNS,
    OF_STRANGERS,
    Account,
    Kind,
    Transfer,
    Transfers,
)

CODES = {
    Kind.ANSWER: "too-many-requests",
    Kind.UPLOAD: "too-many-uploads",
    Kind.LARGE: "too-many-uploads",
    Kind.DOWNLOAD: "too-many-downloads",
    Kind.LOGIN: "too-many-logins",
}


def begun(transfers: Transfers, kind: Kind, account: Account, count: int = 1) -> list[Transfer]:
    return [transfers.begin(kind, account, "address", 0.0) for _ in range(count)]


def refused(transfers: Transfers, kind: Kind, account: Account) -> None:
    with pytest.raises(RefereeError) as error:
        transfers.begin(kind, account, "address", 0.0)
    assert (error.value.code, error.value.facts) == (CODES[kind], {"retry_after_s": 1})


@pytest.mark.parametrize("kind", OF_RUNS)
@pytest.mark.parametrize("stations", [1, 2, 7, 200])
def test_every_run_has_its_share_whatever_the_others_take(kind: Kind, stations: int) -> None:
    transfers = Transfers(stations)
    share = transfers.of_a_run(kind)
    assert 1 <= share <= OF_RUNS[kind][0]
    assert share * stations <= max(OF_RUNS[kind][1], stations)
    under_way = [one for run in range(1, stations + 1) for one in begun(transfers, kind, run, share)]
    for run in range(1, stations + 1):
        refused(transfers, kind, run)
    for one in under_way:
        transfers.end(one)
    assert not transfers._counts
    assert not transfers._under_way


@pytest.mark.parametrize("kind", OF_STRANGERS)
def test_an_address_takes_a_part_of_what_strangers_have_and_the_second_half_is_for_others(kind: Kind) -> None:
    transfers = Transfers()
    of_one, all_together = OF_STRANGERS[kind]
    greedy = 0
    while sum(transfers._strangers.values()) < all_together // 2:
        greedy += 1
        count = min(of_one, all_together // 2 - transfers._strangers[kind])
        begun(transfers, kind, f"greedy {greedy}", count)
        refused(transfers, kind, f"greedy {greedy}")
    for number in range(all_together - all_together // 2):
        begun(transfers, kind, f"modest {number}")
        refused(transfers, kind, f"modest {number}")
    refused(transfers, kind, "one more")
    if kind in OF_RUNS:
        begun(transfers, kind, 1)


@pytest.mark.parametrize("kind", OF_STRANGERS)
def test_the_address_a_team_last_logged_in_from_has_a_place_when_all_others_are_taken(kind: Kind) -> None:
    transfers = Transfers()
    transfers.remember("ant", "before")
    transfers.remember("ant", "board")
    while transfers._strangers[kind] < OF_STRANGERS[kind][1]:
        begun(transfers, kind, f"stranger {transfers._strangers[kind]}")
    refused(transfers, kind, "before")
    if kind not in KINDS_OF_FAMILIAR:
        refused(transfers, kind, "board")
        return
    begun(transfers, kind, "board")
    refused(transfers, kind, "board")


def test_one_team_cannot_have_the_addresses_of_the_others_forgotten() -> None:
    transfers = Transfers()
    transfers.remember("ant", "board")
    for number in range(FAMILIAR * 2):
        transfers.remember("restless", f"address {number}")
    assert "board" in transfers._familiar.values()
    for number in range(FAMILIAR * 2):
        transfers.remember(f"team {number}", f"address {number}")
    assert len(transfers._familiar) == FAMILIAR


def test_what_may_stall_leaves_threads_for_all_else() -> None:
    assert set(AT_ONCE) == set(Kind) - {Kind.LARGE, Kind.LOGIN}  # these hold no thread of their own
    assert sum(AT_ONCE.values()) + 64 <= server.BLOCKING_THREADS


def test_a_stranger_that_turns_out_to_be_a_run_s_client_frees_its_address_s_place() -> None:
    transfers = Transfers()
    one, *_ = begun(transfers, Kind.UPLOAD, "a", OF_STRANGERS[Kind.UPLOAD][0])
    refused(transfers, Kind.UPLOAD, "a")
    transfers.turn_into(one, "a", Kind.UPLOAD, Kind.LARGE, now_s=0.0)
    transfers.charge(one, 7)
    begun(transfers, Kind.UPLOAD, "a")
    begun(transfers, Kind.LARGE, 7, OF_RUNS[Kind.LARGE][0] - 1)
    refused(transfers, Kind.LARGE, 7)
    transfers.end(one)
    begun(transfers, Kind.LARGE, 7)


def test_one_that_finds_no_place_holds_none() -> None:
    transfers = Transfers()
    begun(transfers, Kind.LARGE, 7, OF_RUNS[Kind.LARGE][0])
    (one,) = begun(transfers, Kind.UPLOAD, 7)
    with pytest.raises(RefereeError):
        transfers.turn_into(one, 7, Kind.UPLOAD, Kind.LARGE, now_s=0.0)
    assert (Kind.UPLOAD, 7) not in transfers._counts
    transfers.end(one)
    begun(transfers, Kind.UPLOAD, 7, OF_RUNS[Kind.UPLOAD][0])


def test_a_transfer_is_judged_by_its_last_seconds_whatever_came_before() -> None:
    (one,) = begun(transfers := Transfers(), Kind.UPLOAD, 1)
    assert not overdue(transfers, Kind.UPLOAD, GRACE_S - 0.1)
    assert overdue(transfers, Kind.UPLOAD, GRACE_S)
    for second in range(1, 1001):  # a little faster than the least rate
        one.goes_on(LEAST_BYTES_PER_S + 1, float(second))
        assert not overdue(transfers, Kind.UPLOAD, second + GRACE_S - 0.1)
    one.goes_on(2**26, 1000.0)  # a great part of it at once buys no more
    assert overdue(transfers, Kind.UPLOAD, 1000 + GRACE_S)
    for second in range(1000, 1030):  # half the least rate uses the grace up
        one.goes_on(LEAST_BYTES_PER_S // 2, float(second))
    assert overdue(transfers, Kind.UPLOAD, 1030.0)


def test_a_body_that_has_arrived_is_being_answered() -> None:
    transfers = Transfers()
    (one,) = begun(transfers, Kind.UPLOAD, 1)
    one.is_arrived(5.0)
    assert not overdue(transfers, Kind.UPLOAD, 1e9)
    assert not overdue(transfers, Kind.ANSWER, 5.0 + LONG_ANSWER_S - 0.1)
    assert overdue(transfers, Kind.ANSWER, 5.0 + LONG_ANSWER_S)


def overdue(transfers: Transfers, kind: Kind, now_s: float) -> bool:
    return transfers.overdue(now_s)[kind] == {"address"}
