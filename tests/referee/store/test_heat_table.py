"""Heats as rows: what was made, and what a heat that is made again replaces."""

from __future__ import annotations

from referee.store import Store
from referee.store.records import Heat
from tests.referee.factories import START

UTC = START.isoformat()


def test_heats_are_listed_as_they_were_made_and_one_made_again_is_replaced(
    store: Store,
) -> None:
    store.heats.put(Heat("a", UTC, "jo", 1))
    store.heats.put(Heat("b", UTC, "jo"))
    assert store.heats.all() == [Heat("a", UTC, "jo", 1), Heat("b", UTC, "jo", None)]
    store.heats.put(Heat("a", UTC, "eva", 2))
    assert store.heats.all()[0] == Heat("a", UTC, "eva", 2)


def test_the_act_is_on_record_with_the_heat(store: Store) -> None:
    with store.log.act(START, None, operator="jo", action="heat") as act:
        store.heats.put(Heat("a", UTC, "jo"), act)
    (event,) = store.log.newest_after(0, 9)[1]
    assert event["detail"] == {"operator": "jo", "action": "heat"}
