from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.cli.boundary import interrupt
from lpirc_power.endings import on_endings
from lpirc_power.operating_system import ENDINGS
from tests.timeouts import TIMEOUT_S

FORMAT = ":NUMERIC:FORMAT?"


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    former = {number: signal.getsignal(number) for number in ENDINGS}
    yield
    for number, handler in former.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", ENDINGS)
def test_every_ending_interrupts_with_its_number_and_is_itself_again_afterwards(
    number: signal.Signals,
) -> None:
    signal.signal(number, signal.SIG_DFL)
    with pytest.raises(KeyboardInterrupt) as ended, on_endings(interrupt):
        signal.raise_signal(number)
    assert ended.value.args == (number,)
    assert signal.getsignal(number) == signal.SIG_DFL


@pytest.mark.parametrize("second", ENDINGS)
@pytest.mark.parametrize("first", ENDINGS)
def test_a_second_ending_does_not_cut_the_cleaning_up_after_the_first(
    first: signal.Signals,
    second: signal.Signals,
) -> None:
    cleaned_up = []

    def ended() -> None:
        try:
            signal.raise_signal(first)
        finally:
            signal.raise_signal(second)
            cleaned_up.append(True)

    for number in ENDINGS:
        signal.signal(number, signal.SIG_DFL)
    with pytest.raises(KeyboardInterrupt) as caught, on_endings(interrupt):
        ended()
    assert caught.value.args == (first,)
    assert cleaned_up == [True]
    assert {signal.getsignal(number) for number in ENDINGS} == {signal.SIG_DFL}


def test_ctrl_c_is_heeded_though_a_script_has_started_the_command_in_the_background() -> (
    None
):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with pytest.raises(KeyboardInterrupt), on_endings(interrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_hang_up_that_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with on_endings(interrupt):
        signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


@pytest.mark.parametrize("number", ENDINGS)
def test_whatever_ends_a_watch_it_puts_back_what_it_took(
    simulate: Any,
    started: Any,
    asked: Any,
    number: signal.Signals,
) -> None:
    address = simulate().address
    before = asked(address, ":NUMERIC:FORMAT FLOAT;*OPC?", FORMAT)[1:]
    watching = started("watch", address)
    assert watching.stdout.readline()
    assert asked(address, FORMAT) != before
    watching.send_signal(number)
    assert watching.wait(TIMEOUT_S) == 0
    assert watching.stderr.read() == ""
    assert asked(address, FORMAT) == before


def test_a_watch_that_is_signalled_twice_puts_back_what_it_took(
    simulate: Any,
    started: Any,
    asked: Any,
) -> None:
    address = simulate().address
    before = asked(address, ":NUMERIC:FORMAT FLOAT;*OPC?", FORMAT)[1:]
    watching = started("watch", address)
    assert watching.stdout.readline()
    watching.send_signal(signal.SIGTERM)  # as timeout(1): the child, then its group
    watching.send_signal(signal.SIGHUP)
    watching.wait(TIMEOUT_S)
    assert asked(address, FORMAT) == before


def test_ctrl_c_while_the_program_is_being_loaded_is_one_line(
    tmp_path: Path,
) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt")
    command = [
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import lpirc_power.cli",
    ]
    ended = subprocess.run(command, capture_output=True, check=False)
    assert ended.returncode == 130
    assert ended.stderr == b"meter: Ended by Ctrl-C.\n"
