"""USB meters below VISA: lists devices, and sends the device clear of USB-TMC, which pyvisa-py lacks.

Source: USB Test and Measurement Class 1.0, 4.2.1.6 and 4.2.1.7.
"""

from __future__ import annotations

import errno
import importlib
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from lpirc_power.errors import MeterAddressError
from lpirc_power.visa import link_failures
from lpirc_power.visa.link_failures import NO_LIBUSB

YOKOGAWA: Final = 0x0B21
CLEAR_TIMEOUT_MS: Final = 1000
CLEAR_TRIES: Final = 20
"""Checks for the end of a device clear; two seconds in all if the device reports that it is still busy."""
CLEAR_PAUSE_S: Final = 0.1
LONGEST_LEFTOVER: Final = 64
"""Maximum number of packets of an old answer that a clear discards."""
_INITIATE_CLEAR: Final = 5
_CHECK_CLEAR_STATUS: Final = 6
_SUCCESS: Final = 1
_PENDING: Final = 2
_REQUEST: Final = 0xA1
"""Request type of a USB control transfer: class request to an interface, with data returned."""
_CLASS: Final = (0xFE, 3)
_WITHOUT_SERIAL: Final = re.compile(
    r"(USB\d*::(?:0x[0-9a-f]+|\d+)::(?:0x[0-9a-f]+|\d+))(::INSTR)?", re.IGNORECASE
)


@dataclass(frozen=True)
class UsbDevice:
    """A device on the bus; `serial` is None if this user may not read it."""

    vendor: int
    product: int
    serial: str | None
    has_kernel_driver: bool

    @property
    def address(self) -> str:
        """The address to open the device; the serial number is omitted if unknown."""
        serial = f"::{self.serial}" if self.serial else ""
        return f"USB0::0x{self.vendor:04X}::0x{self.product:04X}{serial}::INSTR"

    @property
    def serial_of_meter(self) -> str | None:
        """The meter's serial number; on USB, these meters give it as the hexadecimal digits of its characters."""
        try:
            text = bytes.fromhex(self.serial or "").decode("ascii")
        except ValueError:
            return self.serial
        return text if text.isprintable() and text else self.serial


def devices(vendor: int, product: int | None = None) -> list[UsbDevice]:
    """Return the devices of a vendor and, if given, a product. Raises usb.core.NoBackendError if libusb is missing."""
    wanted = {"idVendor": vendor} | ({} if product is None else {"idProduct": product})
    found = importlib.import_module("usb.core").find(find_all=True, **wanted)
    return [
        UsbDevice(one.idVendor, one.idProduct, _serial(one), _has_kernel_driver(one))
        for one in found
    ]


def with_serial(address: str) -> str:
    """Return an address with a serial number, added from the only matching device if it has none.

    MeterError `meter-wrong-address` if several devices match, `meter-unreachable` if none does, `meter-permission` if
    this user may not read the serial number.
    """
    ids = link_failures.usb_ids(address)
    if ids is None or _WITHOUT_SERIAL.fullmatch(address) is None:
        return address
    try:
        found = devices(*ids)
    except ImportError as error:
        raise link_failures.no_package(address, "pyusb") from error
    except ValueError as error:  # NoBackendError is one
        raise link_failures.no_backend(address, NO_LIBUSB) from error
    if not found:
        raise link_failures.unreachable(
            address, "no USB device of this vendor and product is plugged in"
        )
    if any(one.serial is None for one in found):
        raise link_failures.no_permission(address, *ids)
    if len(found) > 1:
        named = " and ".join(one.address for one in found)
        raise MeterAddressError(
            f"{address!r} finds {len(found)} meters; write which one: {named}."
        )
    return found[0].address


def clear(interface: Any) -> bool:
    """Make a device discard pending messages and unread answers; return True if it did.

    `interface` is the USBTMC of pyvisa-py. The meter's status and queued errors stay. A device that does not know the
    request refuses it, which does no harm.
    """
    try:
        return _cleared(interface)
    except (OSError, ValueError):
        return False


def is_refused_abort(errors: Iterable[BaseException]) -> bool:
    """Return True if `errors`, the last one first, are a timeout whose abort the device refused (a stall)."""
    numbers = [getattr(one, "errno", None) for one in errors]
    return numbers[:1] == [errno.EPIPE] and errno.ETIMEDOUT in numbers


def is_in_use(errors: Iterable[BaseException]) -> bool:
    """Return True if `errors` mean that another program has the device open."""
    return any(
        getattr(one, "errno", None) == errno.EBUSY
        or f"[Errno {errno.EBUSY}]" in str(one)
        for one in errors
    )


def _cleared(interface: Any) -> bool:
    device = interface.usb_dev
    index = interface.usb_intf.index
    (status,) = device.ctrl_transfer(
        _REQUEST, _INITIATE_CLEAR, 0, index, 1, timeout=CLEAR_TIMEOUT_MS
    )
    if status != _SUCCESS:
        return False
    for _ in range(CLEAR_TRIES):
        status, has_leftover = device.ctrl_transfer(
            _REQUEST, _CHECK_CLEAR_STATUS, 0, index, 2, timeout=CLEAR_TIMEOUT_MS
        )
        if status != _PENDING:
            break
        if has_leftover & 1:
            _discard(interface)
        else:
            time.sleep(CLEAR_PAUSE_S)
    interface.usb_send_ep.clear_halt()  # the device has halted it, by the standard
    return bool(status == _SUCCESS)


def _discard(interface: Any) -> None:
    """Read and discard an old answer until its end, which is a short packet."""
    endpoint = interface.usb_recv_ep
    for _ in range(LONGEST_LEFTOVER):
        if (
            len(endpoint.read(endpoint.wMaxPacketSize, CLEAR_TIMEOUT_MS))
            < endpoint.wMaxPacketSize
        ):
            return


def _serial(device: Any) -> str | None:
    try:
        return device.serial_number or None
    except (ValueError, NotImplementedError, OSError):
        return None


def _has_kernel_driver(device: Any) -> bool:
    try:
        return any(
            device.is_kernel_driver_active(number)
            for number in _test_interfaces(device)
        )
    except (ValueError, NotImplementedError, OSError):
        return False


def _test_interfaces(device: Any) -> Iterator[int]:
    for configuration in device:
        for interface in configuration:
            if (interface.bInterfaceClass, interface.bInterfaceSubClass) == _CLASS:
                yield interface.bInterfaceNumber
