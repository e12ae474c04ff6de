from __future__ import annotations

import pytest

from lpirc_power.visa import link_failures

ADDRESS = "GPIB0::1::INSTR"


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (
            "Please install linux-gpib (Linux) or gpib-ctypes\nNo module named 'gpib'",
            "meter-backend",
            "linux-gpib",
        ),
        (
            "Please install PySerial (>=3.0)\nNo module named 'serial'",
            "meter-backend",
            "pyserial",
        ),
        (
            "Please install PyUSB to use this\nNo module named 'usb'",
            "meter-backend",
            "pyusb",
        ),
        (
            "PyUSB does not seem to be properly installed.\nPlease",
            "meter-backend",
            "libusb-1.0-0",
        ),
        (
            "No class registered for InterfaceType.vxi, INSTR",
            "meter-wrong-address",
            "no such kind of interface",
        ),
    ],
)
def test_what_is_missing_is_one_sentence(
    text: str,
    code: str,
    says: str,
) -> None:
    error = link_failures.no_session(ADDRESS, text)
    assert error is not None
    assert error.code == code
    assert (says in error.sentence) is True
    assert (ADDRESS in error.sentence) is True
    assert "\n" not in error.sentence


def test_other_words_are_not_about_what_is_missing() -> None:
    assert link_failures.no_session(ADDRESS, "[Errno 111] Connection refused") is None


@pytest.mark.parametrize(
    ("code", "expected", "says"),
    [
        ("11", "meter-locked", "locked by another program"),
        ("9", "meter-unreachable", "no more connections"),
        ("timed", "meter-unreachable", "opens no link"),
    ],
)
def test_a_refused_link_says_why(
    code: str,
    expected: str,
    says: str,
) -> None:
    error = link_failures.no_link("TCPIP::meter::INSTR", code)
    assert error.code == expected
    assert (says in error.sentence) is True


@pytest.mark.parametrize(
    ("address", "ids"),
    [
        ("USB0::0x0B21::0x0025::4332::INSTR", (0x0B21, 0x0025)),
        ("usb::2849::37::4332::INSTR", (0x0B21, 0x0025)),
        ("GPIB0::1::INSTR", None),
    ],
)
def test_vendor_and_product_stand_in_the_address(
    address: str,
    ids: tuple[int, int] | None,
) -> None:
    assert link_failures.usb_ids(address) == ids


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("TCPIP::meter::INSTR", "meter"),
        ("TCPIP0::10.0.0.1,5::INSTR", "10.0.0.1"),
        ("GPIB0::1::INSTR", None),
    ],
)
def test_the_host_stands_in_the_address(
    address: str,
    host: str | None,
) -> None:
    assert link_failures.host_of(address) == host


def test_the_udev_rule_is_one_line_with_the_ids_as_sysfs_shows_them() -> None:
    assert link_failures.udev_rule(0x0B21, 0x0025) == (
        'SUBSYSTEM=="usb", ATTR{idVendor}=="0b21", ATTR{idProduct}=="0025", MODE="0666"'
    )


@pytest.mark.parametrize(
    ("address", "hinted"),
    [
        ("TCPIP::meter::INSTR", True),
        ("TCPIP::meter,5::INSTR", False),
        (ADDRESS, False),
    ],
)
def test_who_gave_no_port_is_told_how(
    address: str,
    hinted: bool,
) -> None:
    assert (
        "HOST,PORT" in link_failures.unreachable(address, "refused").sentence
    ) is hinted
