"""Errors from opening a link to a meter, each as one sentence that says what to do."""

from __future__ import annotations

import re
from typing import Final

from lpirc_power.errors import (
    MeterAddressError,
    MeterError,
    MeterLocked,
    MeterUnreachable,
)

NO_LIBUSB: Final = (
    "USB needs libusb; install the system's package libusb-1.0-0 (on Debian and Ubuntu: "
    "sudo apt install libusb-1.0-0)."
)
NO_GPIB: Final = "GPIB needs the driver linux-gpib with its Python module, or a vendor's VISA, selected with @ivi."
UDEV_FILE: Final = "/etc/udev/rules.d/70-yokogawa.rules"
_USB: Final = re.compile(
    r"USB\d*::(0x[0-9a-f]+|\d+)::(0x[0-9a-f]+|\d+)::", re.IGNORECASE
)
_HOST: Final = re.compile(r"TCPIP\d*::([^:,]+)", re.IGNORECASE)
LOCKED: Final = 11
OUT_OF_RESOURCES: Final = 9
"""VXI-11 error codes: the device is locked by another link; the server is out of resources."""


def usb_ids(address: str) -> tuple[int, int] | None:
    """Return vendor and product of a USB resource string; None for any other kind."""
    found = _USB.match(address)
    return (int(found[1], 0), int(found[2], 0)) if found else None


def host_of(address: str) -> str | None:
    """Return the host of a network resource string; None for any other kind."""
    found = _HOST.match(address)
    return found[1] if found else None


def udev_rule(vendor: int, product: int) -> str:
    """Return a udev rule that lets every user of the machine open a USB device."""
    return f'SUBSYSTEM=="usb", ATTR{{idVendor}}=="{vendor:04x}", ATTR{{idProduct}}=="{product:04x}", MODE="0666"'


def wrong_address(address: str, why: str) -> MeterError:
    """Return the error for a resource string that cannot be a meter's."""
    return MeterAddressError(
        f"{address!r} cannot be reached from this machine ({why}); `meter --help` lists the forms, such as "
        "TCPIP::HOST::INSTR, or TCPIP::HOST,PORT::INSTR, with a comma, for a meter at another port."
    )


def unreachable(address: str, why: str) -> MeterError:
    """Return the error for a meter that does not answer."""
    hint = ""
    if host_of(address) and "," not in address:
        hint = " If the server uses a port of its own, give the address as TCPIP::HOST,PORT::INSTR, with a comma."
    return MeterUnreachable(
        f"No meter answers at {address} ({why}); check its power, its cable, and the address.{hint}"
    )


def no_vxi11(address: str, does: str) -> MeterError:
    """Return the error for a server that is not VXI-11 or does not know the meter; `does` is what it does."""
    return MeterUnreachable(
        f"No meter answers at {address}: the program there {does}; it does not speak VXI-11, or is not ready yet: "
        "check host and port."
    )


def no_host(address: str, host: str) -> MeterError:
    """Return the error for a host name that cannot be resolved."""
    return MeterUnreachable(
        f"No meter answers at {address}: there is no host {host!r} on this network; check the name, or give the "
        "number that the meter shows in its utility menu."
    )


def locked(address: str) -> MeterError:
    """Return the error for a meter locked by another program."""
    return MeterLocked(
        f"The meter at {address} is locked by another program; close that program or unlock it there."
    )


def in_use(address: str) -> MeterError:
    """Return the error for a USB device in use by another program; USB serves one program at a time."""
    return MeterLocked(
        f"The meter at {address} is used by another program, and USB serves one at a time: end that program (such as "
        "`referee serve` or `meter watch`), or connect the meter by network too, which serves several programs."
    )


def no_backend(address: str, why: str) -> MeterError:
    """Return the error for an interface whose software is not installed."""
    return MeterError(
        "meter-backend", f"The meter at {address} cannot be opened: {why}"
    )


def no_package(address: str, package: str) -> MeterError:
    """Return the error for an interface whose Python package is not installed."""
    return no_backend(
        address,
        f"this kind of interface needs the Python package {package}; install it: pip install {package}",
    )


def no_permission(address: str, vendor: int, product: int) -> MeterError:
    """Return the error for a USB device that this user may not open."""
    rule = udev_rule(vendor, product)
    return MeterError(
        "meter-permission",
        f"The meter at {address} is plugged in, but this user may not open it; write this line into {UDEV_FILE}, run "
        f"`udevadm control --reload` as root, and plug the meter in again: {rule}",
    )


def no_serial_permission(address: str) -> MeterError:
    """Return the error for a serial port that this user may not open."""
    return MeterError(
        "meter-permission",
        f"This user may not open the serial port of {address}; add the user to the group that owns it (`sudo usermod "
        "-aG dialout $USER` on most systems) and log in again.",
    )


def no_serial_port(address: str, text: str) -> MeterError | None:
    """Return the error behind pyserial's message about a port; None for a message of something else."""
    port = address.removeprefix("ASRL").partition("::")[0]
    if "Permission denied" in text:
        return no_serial_permission(address)
    if "could not open port" in text and "busy" in text:
        return MeterLocked(
            f"The serial port {port} is used by another program; end that program."
        )
    if "could not open port" in text:
        return MeterUnreachable(
            f"This machine has no serial port {port}; plug the meter in. `meter find` lists the ports."
        )
    if "Could not configure port" in text:
        return MeterUnreachable(
            f"{port} is not a serial port; `meter find` lists those of this machine."
        )
    return None


def no_session(address: str, text: str) -> MeterError | None:
    """Return the error behind pyvisa-py's message about an unsupported interface; None for any other message."""
    if "PyUSB does not seem" in text:
        return no_backend(address, NO_LIBUSB)
    missing = re.match(r"Please install (PyUSB|PySerial|linux-gpib)", text)
    if missing:
        package = missing[1].lower()
        if package == "linux-gpib":
            return no_backend(address, NO_GPIB)
        return no_package(address, package)
    if text.startswith("No class registered"):
        return wrong_address(address, "no such kind of interface")
    return None


def no_link(address: str, code: str) -> MeterError:
    """Return the error for a VXI-11 server that accepts the connection but creates no link.

    `code` is the server's error code, which may be missing.
    """
    if code == str(LOCKED):
        return locked(address)
    if code == str(OUT_OF_RESOURCES):
        return unreachable(
            address, "it serves no more connections; close other programs that use it"
        )
    return unreachable(
        address,
        "it accepts connections but opens no link; it hangs, or it does not speak VXI-11",
    )
