"""The conversations played three times: by the driver, over VXI-11 to the simulated meter, by another client."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterError
from lpirc_power.meter import Setup
from lpirc_power.visa.link import Link
from tests.power.opened import wt300
from tests.power.wt300.conversations.conversation import (
    Conversation,
    Exchange,
    conversations,
    parse,
)
from tests.power.wt300.conversations.scripted_link import ScriptedLink

ALL = conversations()
each = pytest.mark.parametrize("told", ALL, ids=lambda told: told.name)


def as_setup(words: list[str]) -> Setup:
    """Return the setup that `configure` names: voltage range, current range, interval, timer, then NAME=VALUE."""
    names = [field.name for field in fields(Setup)]
    given = dict(zip(names, (word for word in words if "=" not in word), strict=False))
    given |= dict(word.split("=") for word in words if "=" in word)
    kinds: dict[str, Callable[[str], Any]] = {
        **dict.fromkeys(
            ("voltage_range_v", "current_range_a"),
            lambda text: None if text in ("auto", "None") else float(text),
        ),
        "update_interval_s": float,
        **dict.fromkeys(("integrator_timer_s", "crest_factor"), int),
        **dict.fromkeys(
            ("line_filter", "frequency_filter"),
            lambda text: text in ("on", "True"),
        ),
    }
    return Setup(**{name: kinds.get(name, str)(text) for name, text in given.items()})


class Player:
    """The driver, doing the steps of a conversation and checking what comes of them."""

    def __init__(
        self,
        clocks: Clocks,
    ) -> None:
        self.link = ScriptedLink()
        self._clocks = clocks
        self._meter: Any = None

    def play(
        self,
        action: str,
    ) -> None:
        name, *words = action.split()
        if name == "identify":
            self._meter = wt300(self.link, self._clocks)
        elif name == "configure":
            self._meter.configure(as_setup(words))
        elif name == "changes":
            count = 0 if "=" in words[0] else int(words.pop(0))
            assert len(self._meter.changes(as_setup(words))) == count
        elif name in ("attach", "look"):
            getattr(self._meter, name)(*words)
        else:
            result = getattr(self._meter, name)()
            if name == "read_update":
                result, _is_new = result
            for word in words:
                self._check(result, *word.split("="))

    def _check(
        self,
        result: Any,
        name: str,
        wanted: str,
    ) -> None:
        found = getattr(result, name)
        shown = getattr(found, "value", found)
        if isinstance(shown, tuple):
            shown = ";".join(code.partition(" ")[0] for code in shown)
        if isinstance(shown, float):
            assert shown == pytest.approx(float(wanted), nan_ok=True), name
        else:
            assert str(shown) == wanted, name


def play(told: Conversation) -> None:
    """Have the driver do every step of a conversation."""
    now_s = iter(range(10**6))
    player = Player(
        Clocks(lambda: float(next(now_s)) / 1e3, lambda: None, lambda _s: None)
    )  # type: ignore[arg-type, return-value]
    for step in told.steps:
        if not step.by_driver:
            continue
        player.link.expect(step.exchanges)
        if step.failure is None:
            player.play(step.action)
        else:
            with pytest.raises(MeterError) as caught:
                player.play(step.action)
            assert caught.value.code == step.failure
        player.link.finish()


@each
def test_the_driver_says_what_the_conversation_says(told: Conversation) -> None:
    play(told)


def hold(told: Conversation, send: Callable[[Exchange], str | None]) -> None:
    """Say everything in a conversation, and compare the answers."""
    wrong = []
    for exchange in told.exchanges:
        answer = send(exchange)
        if not exchange.fits(answer):
            wanted = exchange.pattern or exchange.answer
            wrong.append(f"{exchange.message} -> {answer!r} instead of {wanted!r}")
    assert not wrong, "\n".join(wrong)


@each
def test_the_simulated_meter_answers_over_vxi11(
    told: Conversation,
    simulate: Any,
) -> None:
    with contextlib.closing(Link(simulate(*told.options).address)) as link:

        def send(exchange: Exchange) -> str | None:
            if exchange.answer is None:
                link.write(exchange.message)
                return None
            return link.query(exchange.message)

        hold(told, send)


@each
def test_an_independent_client_hears_the_same(
    told: Conversation,
    simulate: Any,
    python_vxi11: Any,
) -> None:
    instrument = python_vxi11.Instrument("127.0.0.1")
    instrument.client = python_vxi11.CoreClient(
        "127.0.0.1",
        simulate(*told.options).port,
    )
    instrument.open()
    with contextlib.closing(instrument):

        def send(exchange: Exchange) -> str | None:
            instrument.write(exchange.message)
            return None if exchange.answer is None else instrument.read().rstrip("\n")

        hold(told, send)


def test_every_kind_of_conversation_is_there() -> None:
    steps = {step.action.split()[0] for told in ALL for step in told.steps}
    wanted = {
        "identify",
        "attach",
        "configure",
        "start",
        "read_update",
        "stop",
        "read_final",
        "changes",
        "status",
    }
    assert wanted | {"zero", "peaks", "restore"} <= steps


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        (["*IDN?", "*CLS"], "never sent"),
        (["*IDN?"], ""),
        ([], "left over"),
        (["*CLS?"], "instead of"),
    ],
)
def test_a_script_fails_on_wrong_missing_and_left_over_messages(
    said: list[str],
    complaint: str,
) -> None:
    link = ScriptedLink()
    link.expect(
        [Exchange(message, "x" if message.endswith("?") else None) for message in said]
    )
    failing = (
        pytest.raises(AssertionError, match=complaint)
        if complaint
        else contextlib.nullcontext()
    )
    with failing:
        link.query("*IDN?")
        link.finish()


@pytest.mark.parametrize(
    "line",
    ["> *CLS", "= identify\n< x", "= identify\n> a?\n< b\n~ c", "? what"],
)
def test_a_file_that_makes_no_sense_is_named(line: str) -> None:
    with pytest.raises(
        ValueError,
        match=r"strange\.txt, line \d+: " + re.escape(repr(line.splitlines()[-1])),
    ):
        parse("strange", line)
