"""A USB-TMC device in front of a simulated meter, as a backend of pyusb: what a WT300 on a USB cable is to pyvisa-py.

Sources: USB 2.0, chapter 9; USB Test and Measurement Class 1.0, and its subclass USB488.
"""

from __future__ import annotations

import array
import errno
import struct
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from usb.backend import IBackend
from usb.core import USBError, USBTimeoutError

VENDOR, PRODUCT = 0x0B21, 0x0025
PACKET = 64
BULK_OUT, BULK_IN = 0x01, 0x82
MESSAGE_OUT, REQUEST_IN = 1, 2
GET_DESCRIPTOR, STRING = 6, 3
GET_CAPABILITIES, REN_CONTROL = 7, 160
INITIATE_ABORT_IN, CHECK_ABORT_IN = 3, 4
SUCCESS = 1


class UsbMeter(IBackend):
    """One device on the bus. `opening` is the errno with which it refuses to be opened."""

    def __init__(self, execute: Callable[[str], str | None], serial: str, opening: int = 0) -> None:
        self.plugged_in = True
        self._execute = execute
        self._serial = serial
        self._opening = opening
        self._message = b""
        self._answer = b""
        self._requested: tuple[int, int] | None = None

    def enumerate_devices(self) -> Iterator[object]:
        if self.plugged_in:
            yield self

    def get_device_descriptor(self, _dev: Any) -> SimpleNamespace:
        return _fields(
            "bLength bDescriptorType bcdUSB bDeviceClass bDeviceSubClass bDeviceProtocol bMaxPacketSize0 idVendor "
            "idProduct bcdDevice iManufacturer iProduct iSerialNumber bNumConfigurations address bus port_number "
            "port_numbers speed",
            *(18, 1, 0x200, 0, 0, 0, 64, VENDOR, PRODUCT, 0x100, 0, 0, 1, 1, 7, 1, 1, (1,), 3),
        )

    def get_configuration_descriptor(self, _dev: Any, config: int) -> SimpleNamespace:
        if config:
            raise IndexError
        return _fields(
            "bLength bDescriptorType wTotalLength bNumInterfaces bConfigurationValue iConfiguration bmAttributes "
            "bMaxPower extra_descriptors",
            *(9, 2, 32, 1, 1, 0, 0xC0, 0, []),
        )

    def get_interface_descriptor(self, _dev: Any, intf: int, alt: int, _config: int) -> SimpleNamespace:
        if intf or alt:
            raise IndexError
        return _fields(
            "bLength bDescriptorType bInterfaceNumber bAlternateSetting bNumEndpoints bInterfaceClass "
            "bInterfaceSubClass bInterfaceProtocol iInterface extra_descriptors",
            *(9, 4, 0, 0, 2, 0xFE, 3, 1, 0, []),
        )

    def get_endpoint_descriptor(
        self, _dev: Any, ep: int, _intf: int, _alt: int, _config: int
    ) -> SimpleNamespace:
        return _fields(
            "bLength bDescriptorType bEndpointAddress bmAttributes wMaxPacketSize bInterval bRefresh bSynchAddress "
            "extra_descriptors",
            *(7, 5, (BULK_OUT, BULK_IN)[ep], 2, PACKET, 0, 0, 0, []),
        )

    def open_device(self, _dev: Any) -> object:
        if self._opening:
            raise USBError("Access denied (insufficient permissions)", -3, self._opening)
        return self

    def close_device(self, _handle: Any) -> None: ...

    def set_configuration(self, _handle: Any, _value: int) -> None: ...

    def get_configuration(self, _handle: Any) -> int:
        return 1

    def claim_interface(self, _handle: Any, _intf: int) -> None: ...

    def release_interface(self, _handle: Any, _intf: int) -> None: ...

    def is_kernel_driver_active(self, _handle: Any, _intf: int) -> bool:
        return False

    def bulk_write(self, _handle: Any, _ep: int, _intf: int, data: Any, _timeout: int) -> int:
        self._require_plugged_in()
        transfer = bytes(data)
        kind, tag, inverse = struct.unpack_from("BBB", transfer)
        assert inverse == ~tag & 0xFF
        (size,) = struct.unpack_from("<L", transfer, 4)
        if kind == REQUEST_IN:
            self._requested = (tag, size)
            return len(transfer)
        assert kind == MESSAGE_OUT
        assert len(transfer) % 4 == 0
        self._message += transfer[12 : 12 + size]
        if transfer[8] & 1:
            message, self._message = self._message, b""
            answer = self._execute(message.decode("ascii").rstrip("\r\n"))
            self._answer = b"" if answer is None else answer.encode("latin-1") + b"\n"
        return len(transfer)

    def bulk_read(self, _handle: Any, _ep: int, _intf: int, buff: Any, _timeout: int) -> int:
        self._require_plugged_in()
        if self._requested is None or not self._answer:
            raise USBTimeoutError("Operation timed out", -7, errno.ETIMEDOUT)
        (tag, size), self._requested = self._requested, None
        part, self._answer = self._answer[:size], self._answer[size:]
        header = struct.pack("<BBBxLBxxx", REQUEST_IN, tag, ~tag & 0xFF, len(part), not self._answer)
        transfer = header + part + bytes(-len(part) % 4)
        buff[: len(transfer)] = array.array("B", transfer)
        return len(transfer)

    def ctrl_transfer(
        self, _handle: Any, kind: int, request: int, value: int, _index: int, data: Any, _timeout: int
    ) -> int:
        self._require_plugged_in()
        answer = self._control(kind, request, value)
        data[: len(answer)] = array.array("B", answer)
        return len(answer)

    def _control(self, kind: int, request: int, value: int) -> bytes:
        if kind & 0x60 == 0:
            assert (request, value >> 8) == (GET_DESCRIPTOR, STRING)
            text = self._serial.encode("utf-16-le") if value & 0xFF else struct.pack("<H", 0x0409)
            return bytes((2 + len(text), STRING)) + text
        if request == GET_CAPABILITIES:
            return bytes((SUCCESS, 0, 0, 1, 0, 0)) + bytes(8) + bytes((2, 0)) + bytes(8)
        if request in (INITIATE_ABORT_IN, CHECK_ABORT_IN, REN_CONTROL):
            return bytes((SUCCESS,)) + bytes(7 if request == CHECK_ABORT_IN else 1)
        raise AssertionError(request)

    def _require_plugged_in(self) -> None:
        if not self.plugged_in:
            raise USBError("No such device (it may have been disconnected)", -4, errno.ENODEV)


def _fields(names: str, *values: Any) -> SimpleNamespace:
    return SimpleNamespace(**dict(zip(names.split(), values, strict=True)))
