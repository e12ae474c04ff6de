"""What the harness's configuration says of an analyzer: the channels, and the name that the check looks for."""

from __future__ import annotations

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.ptd.device import Device, address_of, wanted

THREE = ("1", "2", "3", "sum")
TWO = ("1", "3", "sum")


@pytest.mark.parametrize(
    ("kind", "channels", "of_meter", "elements", "numbers"),
    [
        ("77", "1,2", THREE, ("1", "2"), (1, 2)),
        ("77", "2,2", THREE, ("2", "3"), (2, 3)),
        ("77", "1,3", THREE, ("1", "2", "3"), (1, 2, 3)),
        ("77", "3,1", THREE, ("3",), (3,)),
        ("77", "1,2", TWO, ("1", "3"), (1, 2)),
        ("59", "1,2", THREE, ("1", "2"), (1, 2)),
        ("48", "2", THREE, ("1", "2"), (1, 2)),
        (None, "1, 2", THREE, ("1", "2"), (1, 2)),
    ],
)
def test_two_numbers_are_the_first_channel_and_how_many(
    kind: str | None,
    channels: str,
    of_meter: tuple[str, ...],
    elements: tuple[str, ...],
    numbers: tuple[int, ...],
) -> None:
    device = wanted(kind, channels, None, is_dc=False).of_meter("WT333E", of_meter)
    assert device == Device(elements, numbers, is_multichannel=True)


@pytest.mark.parametrize(
    ("kind", "channels", "element", "chosen"),
    [
        ("52", "2", None, "2"),
        (None, "2", None, "2"),
        ("49", None, None, "1"),
        ("52", None, "3", "3"),
        ("52", None, "sum", "sum"),
    ],
)
def test_one_number_is_a_single_channel(
    kind: str | None,
    channels: str | None,
    element: str | None,
    chosen: str,
) -> None:
    device = wanted(kind, channels, element, is_dc=False).of_meter("WT333E", THREE)
    assert device.element == chosen
    assert not device.is_multichannel


@pytest.mark.parametrize(
    ("kind", "channels", "element", "sentence"),
    [
        (
            "77",
            None,
            None,
            "Type 77 is a multichannel device: -c must say which channels, as in `-c 1,2`.",
        ),
        (
            "77",
            "1",
            None,
            "-c 1 does not suit device type 77: it takes two numbers, the first channel and how many.",
        ),
        (
            "48",
            "1,2",
            None,
            "-c 1,2 does not suit device type 48: it takes one number, how many channels.",
        ),
        (
            "52",
            "1,2",
            None,
            "-c 1,2 does not suit device type 52: it takes one number, the channel, or type 77 for several.",
        ),
        (
            "77",
            "1,2,3",
            None,
            "-c 1,2,3 does not suit device type 77: it takes two numbers, the first channel and how many.",
        ),
        (
            "77",
            "0,2",
            None,
            "-c '0,2' must be one or two whole numbers from 1, as in `-c 1,2`.",
        ),
        (
            "77",
            "one",
            None,
            "-c 'one' must be one or two whole numbers from 1, as in `-c 1,2`.",
        ),
        (
            "52",
            "1",
            "1",
            "-c and --element both choose the input; give one of them.",
        ),
    ],
)
def test_what_does_not_fit_together_is_one_sentence(
    kind: str | None,
    channels: str | None,
    element: str | None,
    sentence: str,
) -> None:
    with pytest.raises(MeterError) as refused:
        wanted(kind, channels, element, is_dc=False)
    assert refused.value.code == "ptd-channels"
    assert refused.value.sentence == sentence


def test_a_channel_that_the_meter_has_not_is_refused() -> None:
    with pytest.raises(
        MeterError, match=r"asks for channel 4, but a WT333E has channels 1 to 3;"
    ):
        wanted("77", "2,3", None, is_dc=False).of_meter("WT333E", THREE)
    with pytest.raises(
        MeterError, match=r"asks for channel 2, but a WT310E has channel 1 only;"
    ):
        wanted("49", "2", None, is_dc=False).of_meter("WT310E", ("1",))


@pytest.mark.parametrize(
    ("kind", "channels", "model", "name"),
    [
        ("49", None, "WT310E", "YokogawaWT310E"),
        ("49", None, "WT310", "YokogawaWT310"),
        ("52", None, "WT333E", "YokogawaWT330E"),
        ("77", "1,2", "WT333E", "YokogawaWT330_multichannel"),
        ("549", None, "WT310E", "YokogawaWT310_DC"),
        ("586", None, "WT333E", "YokogawaWT330_DC"),
    ],
)
def test_the_check_knows_the_meter_by_its_family(
    kind: str,
    channels: str | None,
    model: str,
    name: str,
) -> None:
    elements = THREE if "WT33" in model else ("1",)
    device = wanted(kind, channels, None, is_dc=False).of_meter(model, elements)
    assert device.name("YOKOGAWA", model) == name


def test_an_interface_flag_completes_the_address() -> None:
    assert address_of("192.168.1.20", "n", None) == "TCPIP::192.168.1.20::INSTR"
    assert address_of("3", "g", None) == "GPIB0::3::INSTR"
    assert address_of("3", "g", 1) == "GPIB1::3::INSTR"
    assert address_of("USB::1::2::3::INSTR", None, None) == "USB::1::2::3::INSTR"
