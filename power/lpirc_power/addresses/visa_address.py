"""The scheme of VISA resources: opens a link, sends *IDN?, and picks the driver of the meter's family."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from lpirc_power.addresses.driver_registry import FAILURES, Plugin, families
from lpirc_power.addresses.guarded_meter import guarded
from lpirc_power.addresses.limits_statement import statement_of
from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterAddressError, MeterError
from lpirc_power.loopback import is_this_machine
from lpirc_power.meter import Driver, Identity, Limits, Meter, VisaLink
from lpirc_power.scheme import Scheme
from lpirc_power.visa.resources import Resource, resource_of

_log: Final = logging.getLogger(__name__)

IDENTITY_PARTS: Final = 4
"""Number of parts in an answer to *IDN?: maker, model, serial number, firmware."""
PTYS: Final = "/dev/pts/"
"""Folder of ptys: serial ports that lead to a program on this machine."""


class VisaAddress(Scheme):
    """A VISA resource and the driver of its meter, with the settings found in the meter.

    A suffix `@py`, `@ivi` or `@sim` of the resource selects the backend.
    """

    def __init__(self, rest: str) -> None:
        """Check the form of the address; MeterError `meter-wrong-address`, with a suggestion."""
        super().__init__(rest)
        self._resource = resource_of(rest)
        self._drivers: dict[type[Driver], Driver] = {}

    def connect(self, clocks: Clocks) -> Meter:
        """Open a link, send *IDN?, and return the meter made by the driver of its family."""
        # VISA takes a fifth of a second to import, so it is imported only when a link is opened.
        from lpirc_power.visa.introduction import introduction
        from lpirc_power.visa.link import Link

        resource = self._resource
        link = Link(resource.name, resource.backend, baud=resource.baud)
        try:
            answer = introduction(link, keeps_answers=resource.host is None)
            found = identity(answer)
            plugin, kind = family_of(found)
            return self._meter(plugin, kind, link, found, clocks)
        except BaseException:
            link.close()
            raise

    def _meter(
        self,
        plugin: Plugin,
        kind: type[Driver],
        link: VisaLink,
        found: Identity,
        clocks: Clocks,
    ) -> Meter:
        if plugin.is_built_in:
            driver = self._drivers.setdefault(kind, kind())
            return driver.meter(link, found, clocks)
        try:
            driver = self._drivers.setdefault(kind, kind())
            meter = driver.meter(link, found, clocks)
        except MeterError:
            raise
        except FAILURES as error:
            raise plugin.failed(f"make a meter of {found}", error) from error
        return guarded(meter, plugin)

    @staticmethod
    def find() -> Iterable[str]:
        """Return what answers on USB and on the network, and the serial ports."""
        from lpirc_power.visa.instrument_search import search

        return [one.address for one in search().found]

    @staticmethod
    def limits(model: str) -> Limits | None:
        """Return the limits of error of a model, as stated by the driver of its family."""
        for plugin, driver in families():
            limits = statement_of(plugin, driver, model).limits
            if limits is not None:
                return limits
        return None

    @staticmethod
    def is_simulated(rest: str) -> bool:
        """Return True if pyvisa-sim answers, whatever identity its instrument claims."""
        resource = _resource(rest)
        return resource is not None and resource.is_simulated

    @staticmethod
    def is_loopback(rest: str) -> bool:
        """Return True if the host is a loopback address or resolves to one, or the serial port is a pty.

        True, too, of an address that is refused: no meter is opened there, so none counts by it.
        """
        resource = _resource(rest)
        if resource is None:
            return True
        if (resource.serial_port or "").startswith(PTYS):
            return True
        return resource.host is not None and is_this_machine(resource.host)


def place_here(address: str) -> str | None:
    """Return an address of this machine without its host, which has several names; None for any other address."""
    resource = _resource(address)
    host = resource.host if resource else None
    if resource is None or host is None or not is_this_machine(host):
        return None
    return resource.name.replace(host, "", 1)


def family_of(found: Identity) -> tuple[Plugin, type[Driver]]:
    """Return the driver that matches the identity, and its plug-in.

    Raises MeterError `meter-wrong-model` if none matches.
    """
    known: list[str] = []
    for plugin, driver in families():
        try:
            is_of_family = driver.matches(found)
        except (
            FAILURES
        ) as error:  # another distribution's, and the other drivers still count
            _log.warning("%s", plugin.failed("compare an identity", error).sentence)
            continue
        if is_of_family:
            return plugin, driver
        known.append(driver.models)
    raise MeterError(
        "meter-wrong-model",
        f"The meter says it is a {found.model} of {found.maker}; only {', '.join(known)} are supported.",
    )


def identity(answer: str) -> Identity:
    """Return the identity in an answer to *IDN?; MeterError `meter-wrong-model` unless it has four parts.

    Some instruments append more after the firmware; it is left out.
    """
    parts = [part.strip() for part in answer.split(",")]
    if len(parts) < IDENTITY_PARTS:
        raise MeterError(
            "meter-wrong-model",
            f"The instrument introduces itself as {answer!r}; that is not a meter.",
        )
    return Identity(*parts[:IDENTITY_PARTS])


def _resource(rest: str) -> Resource | None:
    try:
        return resource_of(rest)
    except MeterAddressError:
        return None
