"""How many transfers may be under way, and which of them have taken too long."""

from __future__ import annotations

import pytest

from referee.errors import RefereeError
from referee.web import server
from referee.web.transfers import (
    AT_ONCE,
    GRACE_S,
    LEAST_BYTES_PER_S,
    LONG_ANSWER_S,
    OF_AN_ADDRESS,
    Kind,
    Transfers,
)


def refused(transfers: Transfers, kind: Kind, address: str) -> str:
    with pytest.raises(RefereeError) as error:
        transfers.begin(kind, address, 0.0)
    assert error.value.facts == {"retry_after_s": 1}
    return error.value.code


@pytest.mark.parametrize("kind", [Kind.UPLOAD, Kind.DOWNLOAD])
def test_an_address_has_its_bound_and_hinders_no_other(kind: Kind) -> None:
    transfers = Transfers()
    keys = [transfers.begin(kind, "a", 0.0) for _ in range(OF_AN_ADDRESS[kind])]
    assert refused(transfers, kind, "a") == f"too-many-{kind.value}s"
    transfers.begin(kind, "b", 0.0)
    transfers.end(keys[0])
    transfers.begin(kind, "a", 0.0)


@pytest.mark.parametrize("kind", [Kind.UPLOAD, Kind.DOWNLOAD])
def test_all_together_have_a_bound(kind: Kind) -> None:
    transfers = Transfers()
    keys = [transfers.begin(kind, str(n), 0.0) for n in range(AT_ONCE[kind])]
    assert refused(transfers, kind, "one more") == f"too-many-{kind.value}s"
    for key in keys:
        transfers.end(key)
    assert not transfers._counts.total()
    assert not transfers._under_way


def test_what_may_stall_leaves_threads_for_all_else() -> None:
    assert sum(AT_ONCE.values()) + 64 <= server.BLOCKING_THREADS


def test_a_transfer_may_take_a_while_and_then_as_long_as_its_size_needs() -> None:
    transfers = Transfers()
    small = transfers.begin(Kind.UPLOAD, "a", 100.0)
    large = transfers.begin(Kind.DOWNLOAD, "b", 100.0, 10 * LEAST_BYTES_PER_S)
    transfers.begin(Kind.ANSWER, "c", 100.0)
    assert transfers.overdue(100.0 + LONG_ANSWER_S)[Kind.ANSWER] == {"c"}
    assert not transfers.is_overdue(small, 99.9 + GRACE_S)
    assert transfers.overdue(100.0 + GRACE_S)[Kind.UPLOAD] == {"a"}
    assert transfers.overdue(100.0 + GRACE_S)[Kind.DOWNLOAD] == set()
    assert transfers.overdue(110.0 + GRACE_S)[Kind.DOWNLOAD] == {"b"}
    transfers.end(large)
    assert transfers.overdue(1e9)[Kind.DOWNLOAD] == set()
