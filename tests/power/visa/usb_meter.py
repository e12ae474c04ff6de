"""A USB-TMC device in front of a simulated meter, as a backend of pyusb: what a WT300 on a USB cable is to pyvisa-py.

Sources: USB 2.0, chapter 9; USB Test and Measurement Class 1.0, and its subclass USB488.
"""

from __future__ import annotations

import array
import errno
import struct
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from usb.backend import IBackend
from usb.core import USBError, USBTimeoutError

from lpirc_power.simulator.instrument import Instrument
from lpirc_power.simulator.loads import parse_load

VENDOR = 0x0B21
PRODUCT = 0x0025
# The serial number on USB is that of *IDN? with every letter as two hexadecimal digits.
SERIAL = b"C2PH13047V".hex().upper()
ADDRESS = f"USB0::0x0B21::0x0025::{SERIAL}::INSTR"
PACKET = 64
BULK_OUT = 0x01
BULK_IN = 0x82
MESSAGE_OUT = 1
REQUEST_IN = 2
GET_DESCRIPTOR = 6
STRING = 3
GET_CAPABILITIES = 7
REN_CONTROL = 160
INITIATE_ABORT_IN = 3
CHECK_ABORT_IN = 4
INITIATE_CLEAR = 5
CHECK_CLEAR = 6
SUCCESS = 1
PENDING = 2
CLEAR_FEATURE = 1


class UsbMeter(IBackend):
    """One device on the bus, and those `beside` it.

    `opening` is the errno with which it refuses to be opened, `claiming` that of its interface. Answers that are not
    read stay in the box, in their order, if it `keeps_answers`. An abort or a clear is refused by a stall if it does
    not know it. The answers to `late_reads` come too late for their reader. `transfer` is the most of an answer that it
    gives at a time, and `reads_left` how many it gives before the cable is pulled; `read_timeouts_ms` are those of all
    reads.
    """

    def __init__(
        self,
        execute: Callable[[str], str | None],
        serial: str,
        opening: int = 0,
        claiming: int = 0,
    ) -> None:
        self.plugged_in = True
        self.has_kernel_driver = False
        self.beside: list[UsbMeter] = []
        self.keeps_answers = False
        self.knows_abort = self.knows_clear = True
        self.transfer = 1 << 20
        self.late_reads = 0
        self.reads_left: int | None = None
        self.answers: list[bytes] = []
        self.read_timeouts_ms: list[int] = []
        self.clears = self.clears_pending = 0
        self._execute = execute
        self._serial = serial
        self._opening = opening
        self._claiming = claiming
        self._message = b""
        self._requested: tuple[int, int] | None = None

    def enumerate_devices(self) -> Iterator[object]:
        yield from (one for one in (self, *self.beside) if one.plugged_in)

    def get_device_descriptor(
        self,
        _dev: Any,
    ) -> SimpleNamespace:
        return _fields(
            "bLength bDescriptorType bcdUSB bDeviceClass bDeviceSubClass bDeviceProtocol bMaxPacketSize0 idVendor "
            "idProduct bcdDevice iManufacturer iProduct iSerialNumber bNumConfigurations address bus port_number "
            "port_numbers speed",
            *(
                18,
                1,
                0x200,
                0,
                0,
                0,
                64,
                VENDOR,
                PRODUCT,
                0x100,
                0,
                0,
                1,
                1,
                7,
                1,
                1,
                (1,),
                3,
            ),
        )

    def get_configuration_descriptor(
        self,
        _dev: Any,
        config: int,
    ) -> SimpleNamespace:
        if config:
            raise IndexError
        return _fields(
            "bLength bDescriptorType wTotalLength bNumInterfaces bConfigurationValue iConfiguration bmAttributes "
            "bMaxPower extra_descriptors",
            *(9, 2, 32, 1, 1, 0, 0xC0, 0, []),
        )

    def get_interface_descriptor(
        self,
        _dev: Any,
        intf: int,
        alt: int,
        _config: int,
    ) -> SimpleNamespace:
        if intf or alt:
            raise IndexError
        return _fields(
            "bLength bDescriptorType bInterfaceNumber bAlternateSetting bNumEndpoints bInterfaceClass "
            "bInterfaceSubClass bInterfaceProtocol iInterface extra_descriptors",
            *(9, 4, 0, 0, 2, 0xFE, 3, 1, 0, []),
        )

    def get_endpoint_descriptor(
        self,
        _dev: Any,
        ep: int,
        _intf: int,
        _alt: int,
        _config: int,
    ) -> SimpleNamespace:
        return _fields(
            "bLength bDescriptorType bEndpointAddress bmAttributes wMaxPacketSize bInterval bRefresh bSynchAddress "
            "extra_descriptors",
            *(7, 5, (BULK_OUT, BULK_IN)[ep], 2, PACKET, 0, 0, 0, []),
        )

    def open_device(
        self,
        dev: Any,
    ) -> object:
        if self._opening:
            raise USBError(
                "Access denied (insufficient permissions)",
                -3,
                self._opening,
            )
        return dev

    def close_device(self, _handle: Any) -> None: ...

    def set_configuration(
        self,
        _handle: Any,
        _value: int,
    ) -> None: ...

    def get_configuration(
        self,
        _handle: Any,
    ) -> int:
        return 1

    def claim_interface(
        self,
        _handle: Any,
        _intf: int,
    ) -> None:
        if self._claiming:
            raise USBError("Resource busy", -6, self._claiming)

    def clear_halt(self, _handle: Any, _ep: int) -> None: ...

    def release_interface(self, _handle: Any, _intf: int) -> None: ...

    def is_kernel_driver_active(
        self,
        handle: Any,
        _intf: int,
    ) -> bool:
        return bool(handle.has_kernel_driver)

    def detach_kernel_driver(
        self,
        handle: Any,
        _intf: int,
    ) -> None:
        handle.has_kernel_driver = False

    def bulk_write(
        self,
        _handle: Any,
        _ep: int,
        _intf: int,
        data: Any,
        _timeout: int,
    ) -> int:
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
            message = self._message
            self._message = b""
            answer = self._execute(message.decode("ascii").rstrip("\r\n"))
            if not self.keeps_answers:
                self.answers.clear()
            if answer is not None:
                self.answers.append(answer.encode("latin-1") + b"\n")
        return len(transfer)

    def bulk_read(
        self,
        _handle: Any,
        _ep: int,
        _intf: int,
        buff: Any,
        timeout: int,
    ) -> int:
        self._require_plugged_in()
        self.read_timeouts_ms.append(timeout)
        if self.late_reads or self._requested is None or not self.answers:
            self.late_reads = max(0, self.late_reads - 1)
            raise USBTimeoutError("Operation timed out", -7, errno.ETIMEDOUT)
        if self.reads_left is not None:
            self.reads_left -= 1
            self.plugged_in = self.reads_left >= 0
            self._require_plugged_in()
        (tag, size) = self._requested
        self._requested = None
        size = min(size, self.transfer)
        part = self.answers[0][:size]
        rest = self.answers[0][size:]
        self.answers[:1] = [rest] if rest else []
        header = struct.pack(
            "<BBBxLBxxx",
            REQUEST_IN,
            tag,
            ~tag & 0xFF,
            len(part),
            not rest,
        )
        transfer = header + part + bytes(-len(part) % 4)
        buff[: len(transfer)] = array.array("B", transfer)
        return len(transfer)

    def ctrl_transfer(
        self,
        handle: Any,
        kind: int,
        request: int,
        value: int,
        _index: int,
        data: Any,
        _timeout: int,
    ) -> int:
        self._require_plugged_in()
        answer = handle.controlled(kind, request, value)
        data[: len(answer)] = array.array("B", answer)
        return len(answer)

    def controlled(
        self,
        kind: int,
        request: int,
        value: int,
    ) -> bytes:
        if kind & 0x60 == 0:
            assert request == GET_DESCRIPTOR
            assert value >> 8 == STRING
            text = (
                self._serial.encode("utf-16-le")
                if value & 0xFF
                else struct.pack("<H", 0x0409)
            )
            return bytes((2 + len(text), STRING)) + text
        if request == GET_CAPABILITIES:
            return bytes((SUCCESS, 0, 0, 1, 0, 0)) + bytes(8) + bytes((2, 0)) + bytes(8)
        if request == INITIATE_CLEAR and self.knows_clear:
            self.clears += 1
            self._message = b""
            self._requested = None
            self.answers.clear()
            return bytes((SUCCESS,))
        if request == CHECK_CLEAR and self.knows_clear:
            self.clears_pending -= 1
            return bytes((SUCCESS if self.clears_pending < 0 else PENDING, 0))
        if request in (INITIATE_CLEAR, CHECK_CLEAR) or (
            request == INITIATE_ABORT_IN and not self.knows_abort
        ):
            raise USBError("Pipe error", -9, errno.EPIPE)
        if request in (INITIATE_ABORT_IN, CHECK_ABORT_IN, REN_CONTROL):
            return bytes((SUCCESS,)) + bytes(7 if request == CHECK_ABORT_IN else 1)
        raise AssertionError(request)

    def _require_plugged_in(self) -> None:
        if not self.plugged_in:
            raise USBError(
                "No such device (it may have been disconnected)",
                -4,
                errno.ENODEV,
            )


def _fields(
    names: str,
    *values: Any,
) -> SimpleNamespace:
    return SimpleNamespace(**dict(zip(names.split(), values, strict=True)))


def plugged_in(
    opening: int = 0,
    claiming: int = 0,
    serial: str = SERIAL,
) -> UsbMeter:
    return UsbMeter(simulated().execute, serial, opening, claiming)


def simulated() -> Instrument:
    return Instrument(parse_load("constant:36W", time.monotonic), time.monotonic)
