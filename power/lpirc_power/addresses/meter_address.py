"""Opens the meter at an ADDRESS by its scheme, and decides whether its results count in a contest."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator, Sequence
from typing import Final

from lpirc_power.addresses.driver_registry import (
    FAILURES,
    VISA,
    SchemePlugin,
    scheme_of,
    schemes,
)
from lpirc_power.addresses.guarded_meter import guarded
from lpirc_power.addresses.visa_address import stated_limits
from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterAddressError, MeterError
from lpirc_power.meter import Identity, Limits, Meter
from lpirc_power.meter_standing import OFFICIAL_MAKERS, Standing, excluded_by_identity
from lpirc_power.scheme import Scheme
from lpirc_power.visa.resources import wrong

_log: Final = logging.getLogger(__name__)
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+._-]*)(?:\Z|:(?!:))")
"""Scheme at the beginning of an address; in a VISA resource, two colons follow the first word."""


class MeterAddress:
    """An address of a meter, used for any number of links, one after another.

    It owns the object of its scheme, which keeps what must outlive a link: the settings found in the meter, a
    simulator's process, or the integrator of a meter at home.
    """

    def __init__(self, address: str) -> None:
        """Check the form.

        Raises MeterError `meter-wrong-address`, with a suggestion, or `meter-driver` for a broken driver.
        """
        self.address = address
        self._plugin, rest = _parsed(address)
        self._opened = _made(self._plugin, address, rest)

    def connect(self, clocks: Clocks) -> Meter:
        """Open a link and identify the meter behind it. The caller closes it."""
        plugin = self._plugin.plugin
        if plugin.is_built_in:
            return self._opened.connect(clocks)
        try:
            meter = self._opened.connect(clocks)
        except MeterError:
            raise
        except FAILURES as error:
            raise plugin.failed(f"open {self.address}", error) from error
        return guarded(meter, plugin)

    def close(self) -> None:
        """Release everything that outlives a link; may be called again."""
        try:
            self._opened.close()
        except FAILURES as error:
            if self._plugin.plugin.is_built_in:
                raise
            told = self._plugin.plugin.failed(f"close {self.address}", error)
            _log.warning("%s", told.sentence)


def limits_of(model: str) -> Limits | None:
    """Return the accuracy data of a model ("WT310E"), or None if no driver states it.

    Records write _ for blanks in a model's name; both spellings are accepted.
    """
    found = _stated_limits(model)
    if found is None and "_" in model:
        return _stated_limits(model.replace("_", " "))
    return found


def _stated_limits(model: str) -> Limits | None:
    visa = scheme_of(VISA)
    others = (one for one in schemes() if one.plugin.name != VISA)
    for one in (visa, *others):
        if one is None:
            continue
        limits = stated_limits(one.plugin, one.scheme, model)
        if limits is not None:
            return limits
    return None


def standing(
    found: Identity,
    address: str,
    *,
    loopback_meter: bool = False,
    official_makers: Sequence[str] = OFFICIAL_MAKERS,
) -> Standing:
    """Return why a meter's energies count in a contest, or why not (its standing).

    `loopback_meter` is the operator's statement that a real meter is behind a loopback address, for example behind a
    tunnel. `official_makers` are the makers whose meters count in the contest. A model is
    known if a driver states its limits of error.
    """
    excluded = excluded_by_identity(found, official_makers)
    if excluded is not None:
        return excluded
    if _is_simulated(address):
        return Standing.SIMULATED
    if limits_of(found.model) is None:
        return Standing.UNKNOWN_MODEL
    if not is_loopback(address):
        return Standing.OFFICIAL
    return Standing.LOOPBACK_ALLOWED if loopback_meter else Standing.LOOPBACK


def is_loopback(address: str) -> bool:
    """Return True if the address leads back to this machine, according to its scheme."""
    try:
        plugin, rest = _parsed(address)
    except MeterError:
        return False
    return _is_so(plugin, "is_loopback", rest)


def _is_simulated(address: str) -> bool:
    try:
        plugin, rest = _parsed(address)
    except MeterError:
        return False
    return _is_so(plugin, "is_simulated", rest)


def _is_so(found: SchemePlugin, name: str, rest: str) -> bool:
    """Return the answer of a scheme's method `name` for an address.

    A failure is True, so that the meter does not count.
    """
    try:
        return bool(getattr(found.scheme, name)(rest))
    except FAILURES as error:
        told = found.plugin.failed(f"do `{name}`", error)
        _log.warning("%s", told.sentence)
        return True


@contextlib.contextmanager
def open_meter(address: str, clocks: Clocks) -> Iterator[Meter]:
    """Open a meter for a with statement and identify it, without changing any setting."""
    with (
        contextlib.closing(MeterAddress(address)) as opened,
        contextlib.closing(opened.connect(clocks)) as meter,
    ):
        yield meter


def _parsed(address: str) -> tuple[SchemePlugin, str]:
    """Return the scheme of an address and the text after it; for a VISA resource, the whole address."""
    name = _scheme_name(address)
    if name not in (None, VISA):
        found = scheme_of(name)
        if found is not None:
            return found, address[len(name) + 1 :]
    return _visa(), address


def _visa() -> SchemePlugin:
    found = scheme_of(VISA)
    if found is None:
        raise LookupError("The built-in scheme of VISA resources is missing.")
    return found


def _scheme_name(address: str) -> str | None:
    """Return the first word of an address if it can be a scheme; None otherwise."""
    begins = _SCHEME.match(address)
    return begins[1] if begins else None


def _made(plugin: SchemePlugin, address: str, rest: str) -> Scheme:
    is_visa = plugin.plugin.name == VISA
    try:
        return plugin.scheme(rest)
    except MeterAddressError as error:
        name = _scheme_name(address)
        if is_visa and name is not None:
            raise _unknown_scheme(address, name, error) from None
        raise
    except MeterError:
        raise
    except FAILURES as error:
        raise plugin.plugin.failed(f"take the address {address}", error) from error


def _unknown_scheme(
    address: str, name: str, as_visa: MeterAddressError
) -> MeterAddressError:
    """Return the error for an address whose first word may be the scheme of a driver that is not installed."""
    rest = address[len(name) + 1 :]
    lower = name.lower()
    if lower == "replay":
        return wrong(
            address, f"The simulated meter plays recordings: write sim:csv:{rest}."
        )
    known = [one.plugin.name for one in schemes() if one.plugin.name != VISA]
    if lower in known:
        return wrong(address, f"Perhaps {lower}:{rest} is meant, in small letters.")
    if ":" not in address:
        return as_visa
    return MeterAddressError(
        f"{as_visa.sentence} No driver is installed for the scheme {name}, only for {', '.join(known)}."
    )
