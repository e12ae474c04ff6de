"""What a driver states of a model's limits of error, and why that cannot be used."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from lpirc_power.addresses.driver_registry import FAILURES, Plugin
from lpirc_power.limit_problems import limit_problems
from lpirc_power.meter import Driver, Limits
from lpirc_power.scheme import Scheme

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Statement:
    """The limits of error that a driver states of a model.

    `refused` says in a sentence why what it states cannot be used; empty if it can, or if it states nothing.
    """

    limits: Limits | None = None
    refused: str = ""


NOTHING: Final = Statement()


def statement_of(
    plugin: Plugin, driver: type[Driver] | type[Scheme], model: str
) -> Statement:
    """Return what a driver states of a model; what cannot be used is logged, too."""
    try:
        limits: object = driver.limits(model)
    except FAILURES as error:
        # Another distribution's; the other drivers still count.
        return _refused(plugin.failed("state its limits of error", error).sentence)
    if limits is None:
        return NOTHING
    if not isinstance(limits, Limits):
        words = f"returns {limits!r:.60} from `limits`, not Limits or None"
        return _refused(plugin.failure(words).sentence)
    if problems := limit_problems(limits):
        words = f"states limits of error of {model} that cannot be ({'; '.join(problems)}), so they are unknown"
        return _refused(plugin.failure(words).sentence)
    return Statement(limits)


def _refused(sentence: str) -> Statement:
    _log.warning("%s", sentence)
    return Statement(None, sentence)
