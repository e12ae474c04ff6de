"""Search for VISA meters on USB, on the network and at serial ports. It changes nothing in a meter."""

from __future__ import annotations

import contextlib
import importlib
import ipaddress
import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from lpirc_power.errors import MeterError
from lpirc_power.visa import usb
from lpirc_power.visa.introduction import introduction
from lpirc_power.visa.link import Link

_log: Final = logging.getLogger(__name__)
BUSY_DRIVER: Final = (
    "the system's driver usbtmc uses the device, perhaps for another program; "
    "identify the device with `meter probe`"
)
UNKNOWN_DEVICE: Final = "the device at a serial port may not be a meter; identify the device with `meter probe`"


@dataclass(frozen=True)
class Found:
    """Something at an address: its answer to `*IDN?`, or why it was not asked or gave no answer."""

    kind: str
    address: str
    serial: str | None = None
    said: str | None = None
    not_asked: str | None = None

    @property
    def is_meter(self) -> bool:
        """Return True if an instrument answered, or a driver of another maker listed the meter."""
        return self.said is not None or self.kind not in ("usb", "network", "serial")


@dataclass(frozen=True)
class Search:
    """Result of a search: instruments found, places searched, and a phrase for each place not searched."""

    found: tuple[Found, ...]
    looked: tuple[str, ...]
    not_looked: tuple[str, ...]


def search() -> Search:
    """Search everywhere; this takes a second, and longer for each instrument that answers slowly."""
    found: list[Found] = []
    looked: list[str] = []
    not_looked: list[str] = []
    for what, look, missing in (
        (
            f"USB (vendor 0x{usb.YOKOGAWA:04X})",
            _on_usb,
            "USB, which needs the Python package pyusb and the system's package libusb-1.0-0",
        ),
        (
            "the network (a VXI-11 broadcast)",
            _on_network,
            "the network, where the broadcast failed",
        ),
        (
            "serial ports",
            _at_serial_ports,
            "serial ports, which need the Python package pyserial (pip install pyserial)",
        ),
    ):
        try:
            found += look()
        except Exception as error:  # noqa: BLE001 - libraries below raise anything, and the other places still count
            _log.debug("%s: %s", what, error)
            not_looked.append(missing)
        else:
            looked.append(what)
    return Search(tuple(found), tuple(looked), tuple(not_looked))


def _on_usb() -> Iterator[Found]:
    for one in usb.devices(usb.YOKOGAWA):
        serial = one.serial_of_meter
        if (
            one.has_kernel_driver
        ):  # to ask would take it away from whoever uses it by that driver
            yield Found("usb", one.address, serial, not_asked=BUSY_DRIVER)
        else:
            yield _asked(Found("usb", one.address, serial))


def _on_network() -> Iterator[Found]:
    session = importlib.import_module("pyvisa_py.tcpip").TCPIPInstrVxi11
    with (
        warnings.catch_warnings()
    ):  # of interfaces that it passes over, and of sockets that it leaves open
        warnings.simplefilter("ignore")
        addresses = set(session.list_resources())
    for address in sorted(addresses, key=_host_number):
        yield _asked(Found("network", address))


def _at_serial_ports() -> Iterator[Found]:
    session = importlib.import_module("pyvisa_py.serial").SerialSession
    for address in sorted(session.list_resources()):
        yield Found("serial", address, not_asked=UNKNOWN_DEVICE)


def _asked(found: Found) -> Found:
    """Send `*IDN?`, which every instrument answers, over a separate link."""
    try:
        with contextlib.closing(Link(found.address)) as link:
            said = introduction(link, keeps_answers=found.kind == "usb")
    except MeterError as error:
        return Found(found.kind, found.address, found.serial, not_asked=error.sentence)
    return Found(found.kind, found.address, found.serial, said=said)


def _host_number(address: str) -> Any:
    return ipaddress.ip_address(address.split("::")[1])
