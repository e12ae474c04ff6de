"""Search for meters on USB, on the network, at serial ports, and through the drivers of other makers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Final

from lpirc_power.addresses.driver_registry import (
    BUILT_IN,
    FAILURES,
    SchemePlugin,
    schemes,
)
from lpirc_power.scheme import Scheme
from lpirc_power.visa.instrument_search import Found, Search
from lpirc_power.visa.instrument_search import search as search_visa

_log: Final = logging.getLogger(__name__)
LISTED: Final = "listed by its driver; identify the device with `meter probe`"

__all__ = ["Found", "Search", "search"]


def search() -> Search:
    """Search everywhere; this takes a second, and longer for each instrument that answers slowly."""
    of_visa = search_visa()
    found: list[Found] = []
    looked: list[str] = []
    not_looked: list[str] = []
    for one in schemes():
        name = one.plugin.name
        if name in BUILT_IN:
            continue
        if one.scheme.find is Scheme.find:
            not_looked.append(f"{name}:, whose driver has no search")
            continue
        try:
            found += _listed(one)
        except (
            FAILURES
        ) as error:  # of another distribution, and the other places still count
            failure = one.plugin.failed("list its meters", error)
            not_looked.append(failure.sentence.removesuffix("."))
        else:
            looked.append(f"{name}:")
    return Search(
        (*of_visa.found, *found),
        (*of_visa.looked, *looked),
        (*of_visa.not_looked, *not_looked),
    )


def _listed(one: SchemePlugin) -> Iterator[Found]:
    name = one.plugin.name
    for address in one.scheme.find():
        if not isinstance(address, str) or not address.startswith(f"{name}:"):
            raise TypeError(f"{address!r} is not an address {name}:...")
        yield Found(name, address, not_asked=LISTED)
