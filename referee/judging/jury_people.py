"""Which person stands behind each operator's account, from the acts on record.

Whoever registers an account sets its password, and so can log in as that account. It therefore counts as the person who
registered it, unless that was done by the operator key, by a command on the host, or in set-up: they register people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from referee.auth.operator_names import is_reserved
from referee.store import Store

ADDED = "operator-add"
SET_UP = "set-up"
"""The value of `during` of an account that was registered before the contest was served."""


def people_behind(acts: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the person behind each account ever registered, by its name, from the acts that registered them in order.

    The account of someone who was removed keeps its person until its name is registered again.
    """
    people: dict[str, str] = {}
    for act in acts:
        name = str(act["name"])
        by = str(act["operator"])
        if is_reserved(by) or act.get("during") == SET_UP:
            people[name] = name
        else:
            people[name] = people.get(by, by)
    return people


def people_of(store: Store) -> dict[str, str]:
    """Return the person behind each account; one that is missing here stands for itself."""
    return people_behind(store.log.acts_of(ADDED))
