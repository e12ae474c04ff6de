from __future__ import annotations

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.meter import Identity, IntegratorState
from lpirc_power.meter_standing import counts_by_identity


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("RES", IntegratorState.RESET),
        ("START", IntegratorState.START),
        ("star", IntegratorState.START),
        ("STOP", IntegratorState.STOP),
        ("TIM", IntegratorState.TIMEUP),
        ("timeup\n", IntegratorState.TIMEUP),
        ("ERR", IntegratorState.ERROR),
    ],
)
def test_states_are_known_by_long_and_short_words(
    word: str,
    state: IntegratorState,
) -> None:
    assert IntegratorState.parse(word) is state


def test_an_unknown_state_is_named() -> None:
    with pytest.raises(MeterError, match="'TI'") as caught:
        IntegratorState.parse("TI")
    assert caught.value.code == "meter-answer"


def test_identity_reads_as_one_line() -> None:
    assert (
        str(Identity("YOKOGAWA", "WT310", "C2PH13047V", "F1.03"))
        == "YOKOGAWA WT310 C2PH13047V F1.03"
    )


@pytest.mark.parametrize(
    ("maker", "serial", "official"),
    [
        ("YOKOGAWA", "C2PH13047V", True),
        ("YOKOGAWA", "SIMULATED", False),
        ("Yokogawa", "C2PH13047V", True),
        ("YOKOGAWA", "SIMULATED 2", False),
        ("YOKOGAWA", "Simulated-C2PH13047V", False),
        ("UNOFFICIAL", "C2PH13047V", False),
        ("ACME", "C2PH13047V", False),
        ("", "", False),
    ],
)
def test_a_meter_is_as_official_as_when_it_was_written_down(
    maker: str,
    serial: str,
    official: bool,
) -> None:
    identity = Identity(maker, "WT310", serial, "F1.03")
    assert counts_by_identity(identity) is official
    assert counts_by_identity(Identity.parse(str(identity))) is official
