"""Parser of VISA addresses: the resource, the backend, and the baud rate of a serial line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from lpirc_power.errors import MeterAddressError

PURE_PYTHON: Final = "@py"
"""Backend pyvisa-py; "@ivi" is a vendor's VISA, "@sim" and "FILE@sim" are instruments of pyvisa-sim."""
IVI: Final = "@ivi"
SIMULATED: Final = "@sim"
BAUD: Final = 9600
"""Baud rate of a serial line whose address names none."""
LARGEST_PORT: Final = 65535
_NETWORK: Final = re.compile(
    r"TCPIP\d*::([^:,\s]+)(?:,(\d+))?(::(?!\d+::)[^:\s]+)?::INSTR", re.IGNORECASE
)
_HOST_NAME: Final = re.compile(r"\w([\w.-]*\w)?\.?")
_USB: Final = re.compile(
    r"USB\d*::[^:\s]+::[^:\s]+(::[^:\s]+){0,2}::INSTR", re.IGNORECASE
)
_USB_WITHOUT_SERIAL: Final = re.compile(
    r"USB\d*::[^:\s]+::[^:\s]+::INSTR", re.IGNORECASE
)
_GPIB: Final = re.compile(r"GPIB\d*::0*(?:[12]?\d|30)(::\d+)?(::INSTR)?", re.IGNORECASE)
_SERIAL: Final = re.compile(r"ASRL(\d+|/[^\s:?@]+)(::INSTR)?", re.IGNORECASE)
_COMMAS: Final = re.compile(r"\d{1,3}(?:,\d{1,3}){3}")
_BAUD: Final = re.compile(r"baud=(\d+)")
_NETWORK_WORDS: Final = ("TCPIP", "TCIP", "TCPI", "TCP", "LAN", "HTTP", "HTTPS")
"""First words of addresses by which people mean a meter on the network."""
VISA_WORDS: Final = (*_NETWORK_WORDS, "USB", "GPIB", "ASRL")
"""First words of addresses that mean a VISA resource, however the rest is written."""
_MEANT: Final = re.compile(
    rf"(?:(?:{'|'.join(_NETWORK_WORDS)})\d*::?(?://)?)?"
    r"([A-Za-z0-9.-]+)(?:(?:::|:|,)(\d+))?(?:::?(?:INSTR|SOCKET))?/?",
    re.IGNORECASE,
)
_KINDS: Final = {
    "USB": "A meter on USB is USB0::0x0B21::0x0025::SERIAL::INSTR; `meter find` shows those that are plugged in.",
    "GPIB": "A meter on GPIB is GPIB0::1::INSTR, the 1 being its address in the utility menu, at most 30.",
    "ASRL": "A meter on RS-232 is ASRL/dev/ttyUSB0::INSTR, or ASRL3::INSTR for COM3 on Windows.",
}
"""Address format for each kind of link other than the network."""


@dataclass(frozen=True)
class Resource:
    """A VISA resource as a link opens it. `baud` is None unless it is a serial line."""

    name: str
    backend: str = PURE_PYTHON
    baud: int | None = None

    @property
    def host(self) -> str | None:
        """The host of a network resource; None for any other kind."""
        network = _NETWORK.fullmatch(self.name)
        return network[1] if network else None

    @property
    def serial_port(self) -> str | None:
        """The device of a serial line ("/dev/ttyUSB0", or "3" for COM3); None for any other kind."""
        serial = _SERIAL.fullmatch(self.name)
        return serial[1] if serial else None

    @property
    def is_simulated(self) -> bool:
        """Return True if pyvisa-sim answers, whatever identity its instrument claims."""
        return self.backend.endswith(SIMULATED)


def resource_of(address: str) -> Resource:
    """Return the resource that a VISA address names. Raises MeterError `meter-wrong-address`, with a suggestion."""
    address_of_line, at, named = address.partition("@")
    name, question, options = address_of_line.partition("?")
    backend = _backend(address, named) if at else PURE_PYTHON
    network = _NETWORK.fullmatch(name)
    if network:
        _require_host(address, network[1])
    if network and network[2]:
        _require_port(address, network[2])
        if backend == IVI:
            raise wrong(
                address,
                "Only @py knows the form HOST,PORT; @ivi finds the port by itself.",
            )
    if _USB_WITHOUT_SERIAL.fullmatch(name) and backend != PURE_PYTHON:
        raise wrong(
            address,
            "Only @py finds the one meter that is plugged in; write its serial number too.",
        )
    if not any(form.fullmatch(name) for form in (_NETWORK, _USB, _GPIB, _SERIAL)):
        raise wrong(address, _meant(address, name))
    is_serial = _SERIAL.fullmatch(name) is not None
    if question and not is_serial:
        raise wrong(address, "Only a serial line, ASRL…, takes an option: ?baud=9600.")
    if not name.upper().endswith("::INSTR"):
        name += "::INSTR"
    return Resource(name, backend, _baud(address, options) if is_serial else None)


def wrong(address: str, why: str) -> MeterAddressError:
    """Return the error for an invalid address, with the reason."""
    return MeterAddressError(f"{address!r} is not the address of a meter. {why}")


def _backend(address: str, named: str) -> str:
    if f"@{named}" in (PURE_PYTHON, IVI, SIMULATED):
        return f"@{named}"
    if named.endswith(SIMULATED):
        return named  # the file that describes the instruments stands before it
    raise wrong(address, f"There is no backend @{named}; choose @py, @ivi or @sim.")


def _baud(address: str, options: str) -> int:
    if not options:
        return BAUD
    given = _BAUD.fullmatch(options)
    if given is None or int(given[1]) == 0:
        raise wrong(
            address,
            f"{options!r} is not an option of a serial line; set its speed by ?baud={BAUD}.",
        )
    return int(given[1])


def _meant(address: str, name: str) -> str:
    """Return a suggestion for an address whose resource format is unknown."""
    bare = name.strip(" \t\r\n\"'")
    if bare and bare != name:
        return f"Write it without the blanks or quotes around it: {bare}."
    if commas := _COMMAS.search(name):
        points = commas[0].replace(",", ".")
        return f"Points stand between an address's numbers: {points}."
    if name.startswith("/dev/tty") or re.fullmatch(r"COM\d+", name, re.IGNORECASE):
        port = name if name.startswith("/") else name[3:]
        return f"Perhaps ASRL{port}::INSTR is meant, a meter on RS-232."
    if name.startswith("/dev/"):
        return (
            "A device file is not the address of a USB meter; write USB0::0x0B21::0x0025::SERIAL::INSTR, where "
            "`meter find` shows the SERIAL."
        )
    for kind, form in _KINDS.items():
        if re.match(rf"{kind}(\d*:|[\d/]|\Z)", name, re.IGNORECASE):
            return form
    meant = _MEANT.fullmatch(name)
    if meant is None:
        return "`meter --help` lists the forms, such as TCPIP::HOST::INSTR."
    host, port = meant.groups()
    _require_host(address, host)
    if port is None:
        return f"Perhaps TCPIP::{host}::INSTR is meant; `meter --help` lists the forms."
    _require_port(address, port)
    return (
        f"Perhaps TCPIP::{host},{port}::INSTR is meant, with a comma before the port."
    )


def _require_host(address: str, host: str) -> None:
    """Raise MeterError `meter-wrong-address` for a host of digits that is no IPv4 address, or with odd characters."""
    if re.fullmatch(r"[\d.]+", host):
        try:
            ip_address(host)
        except ValueError as error:
            words = "an IPv4 address has four numbers from 0 to 255, without a 0 in front: 192.168.1.20"
            raise wrong(address, f"Its host {host} cannot be; {words}.") from error
    elif not _HOST_NAME.fullmatch(host):
        raise wrong(
            address,
            f"Its host {host!r} cannot be; write an address such as 192.168.1.20, or a name such as wt310.local.",
        )


def _require_port(address: str, port: str) -> None:
    if not 1 <= int(port) <= LARGEST_PORT:
        raise wrong(address, f"Its port {port} must lie between 1 and {LARGEST_PORT}.")
