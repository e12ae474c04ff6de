"""What a soak counts: on journals and rows that are known, since a soak itself takes minutes."""

from __future__ import annotations

import math
import random
import socket
from pathlib import Path
from typing import Any

import pytest

from bench.soak.client import lines_of
from bench.soak.faults import FAULTS, drawn
from bench.soak.reckoning import energies, keeping, longest_pause_s, window_errors
from bench.soak.relay import Relay
from referee.store.hash_links import receipt_link


def answer(number: int, previous: str) -> dict[str, Any]:
    counted = {
        "accepted": 2,
        "received_total": 2 * number,
        "sha256": "a",
    }
    link = receipt_link(
        bytes.fromhex(previous),
        number,
        "a",
        "noon",
        2,
        2 * number,
        7,
        bytes(32),
    ).hex()
    of_meter = {"readings": 7, "meter": "00" * 32}
    return counted | {
        "receipt": {
            "number": number,
            "previous": previous,
            "received_utc": "noon",
            "link": link,
            **of_meter,
        }
    }


RECEIPT = answer(1, "00" * 32)
STORED: dict[str, Any] = (
    RECEIPT | RECEIPT["receipt"] | {"run": 1, "key": "k", "elapsed_s": 3.0}
)
TOLD: dict[str, Any] = {
    "what": "acknowledged",
    "run": 1,
    "key": "k",
    "rows": 2,
    "sha256": "a",
    "answer": RECEIPT,
}


def counted(
    journal: list[dict[str, Any]],
    stored: list[dict[str, Any]],
) -> dict[str, int]:
    return {
        name: count
        for name, count in keeping(journal, stored, {1: 60.0}).items()
        if count
    }


ACKNOWLEDGED = {"posts acknowledged": 1, "rows acknowledged": 2}


@pytest.mark.parametrize(
    ("journal", "stored", "found"),
    [
        ([TOLD], [STORED], {}),
        ([TOLD], [], {"lost or altered": 1}),
        ([TOLD], [STORED | {"sha256": "b"}], {"lost or altered": 1}),
        ([TOLD], [STORED | {"received_total": 3}], {"lost or altered": 1}),
        ([TOLD], [STORED | {"previous": "11" * 32}], {"lost or altered": 1}),
        ([TOLD | {"sha256": "c"}], [STORED], {"lost or altered": 1}),
        ([TOLD, TOLD], [STORED], {"posts acknowledged more than once": 1}),
        (
            [TOLD, TOLD | {"answer": RECEIPT | {"log": {"events": 9, "link": "b"}}}],
            [STORED],
            {"posts acknowledged more than once": 1},
        ),
        (
            [TOLD, TOLD | {"answer": RECEIPT | {"received_total": 4}}],
            [STORED],
            {"posts acknowledged more than once": 1, "lost or altered": 1},
        ),
        ([TOLD], [STORED, STORED | {"key": "other"}], {"duplicated": 1}),
        (
            [TOLD],
            [STORED, STORED | {"sha256": "b"}],
            {"duplicated": 1, "lost or altered": 1},
        ),
        ([TOLD], [STORED | {"elapsed_s": 60.0}], {"stored outside their window": 1}),
    ],
)
def test_what_is_lost_duplicated_or_late_is_counted(
    journal: list[dict[str, Any]],
    stored: list[dict[str, Any]],
    found: dict[str, int],
) -> None:
    assert counted(journal, stored) == ACKNOWLEDGED | found


def test_links_that_do_not_hold_are_counted() -> None:
    def told(
        number: int,
        previous: str,
        **different: Any,
    ) -> dict[str, Any]:
        made = answer(number, previous)
        return TOLD | {
            "key": str(number),
            "answer": made | {"receipt": made["receipt"] | different},
        }

    def links(*journal: dict[str, Any]) -> int:
        return counted([*journal], []).get("receipts whose links do not hold", 0)

    first = told(1, "00" * 32)
    head = first["answer"]["receipt"]["link"]
    closed = {
        "what": "logged-out",
        "run": 1,
        "answer": {"receipt": {"posts": 1, "head": head}},
    }
    assert links(first, told(2, head), closed) == 0
    assert links(first, told(2, "11" * 32)) == 1
    assert links(first, told(3, "11" * 32)) == 0  # the second was never acknowledged
    assert links(told(1, "00" * 32, received_utc="dusk")) == 1
    assert (
        links(first, closed | {"answer": {"receipt": {"posts": 1, "head": "22" * 32}}})
        == 1
    )


def opened(**different: float) -> dict[str, Any]:
    """A run of 60 s that opened at 100.5 s."""
    usual = {
        "first_s": 100.0,
        "asked_s": 100.0,
        "told_s": 100.6,
        "left_s": 59.9,
        "window_s": 60.0,
    }
    return {"what": "opened", "run": 1} | usual | different


def answered(at_s: float, left_ms: int) -> dict[str, Any]:
    times = {
        "first_s": at_s,
        "asked_s": at_s,
        "told_s": at_s + 0.01,
    }
    return TOLD | times | {"left_ms": left_ms}


REFUSED = {
    "what": "refused",
    "run": 1,
    "code": "window-closed",
    "told_s": 160.52,
}


@pytest.mark.parametrize(
    ("journal", "error_s"),
    [
        ([opened(), answered(160.48, 15), REFUSED], 0.0),
        (
            [opened(), answered(130.0, 30_500), answered(140.0, 22_500), REFUSED],
            1.989,
        ),  # 2 s more
        (
            [opened(), answered(160.48, 15), REFUSED | {"told_s": 163.0}],
            0.0,
        ),  # asked late
        (
            [
                opened(),
                answered(160.48, 15),
                answered(161.49, 0),
                REFUSED | {"told_s": 161.6},
            ],
            1.0,
        ),  # taken late
        (
            [opened(), answered(130.0, 30_500), REFUSED | {"told_s": 159.0}],
            1.5,
        ),  # refused early
        (
            [opened(), answered(130.0, 20_500), REFUSED | {"told_s": 150.52}],
            9.5,
        ),  # both states, 10 s too early
    ],
)
def test_a_window_is_off_by_how_far_its_moments_lie_apart(
    journal: list[dict[str, Any]],
    error_s: float,
) -> None:
    errors, _ = window_errors(journal, {1: 60.0})
    assert errors == [pytest.approx(error_s, abs=0.02)]


def test_an_energy_with_the_start_and_stop_on_record_is_not_off() -> None:
    run = {
        "energy_wh": 0.62,
        "truth_wh": 0.6,
        "failed": set(),
    }
    assert energies([run | {"more_wh": 0.02}])[0] == {"exact": 1}
    assert energies([run | {"more_wh": 0.01}])[0] == {"unsaid": 1}


def test_energies_are_exact_or_flagged_or_wrong_without_a_word() -> None:
    runs = [
        (0.6, []),
        (0.601, []),
        (0.5, ["integrator-time"]),
        (None, ["energy-missing"]),
        (None, []),
        (0.5, []),
    ]
    found, worst = energies(
        {
            "energy_wh": wh,
            "truth_wh": 0.6,
            "more_wh": 0.0,
            "failed": failed,
        }
        for wh, failed in runs
    )
    assert dict(found) == {"exact": 2, "off": 1, "missing": 1, "unsaid": 2}
    assert math.isclose(worst, 1 / 6)


def test_the_longest_pause_also_counts_before_the_first_and_after_the_last() -> None:
    assert longest_pause_s([1.0, 2.0, 9.0], 1.5, 4.0) == 2.0
    assert longest_pause_s([], 1.5, 4.0) == 2.5


def test_each_fault_comes_once_before_one_comes_again_and_the_same_seed_draws_the_same() -> (
    None
):
    first, again = (drawn(random.Random(3), small_disk=True) for _ in range(2))  # noqa: S311
    round_of_all = [next(first) for _ in FAULTS]
    assert sorted(round_of_all) == sorted(FAULTS)
    assert [next(again) for _ in FAULTS] == round_of_all


def test_a_line_that_was_not_finished_is_not_in_the_journal(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text(
        '{"what": "sent"}\n{"what": "acknowledged", "answer": {}'
    )
    assert lines_of(tmp_path / "journal") == [{"what": "sent"}]


def test_a_relay_passes_on_ends_one_side_and_is_cut() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        relay = Relay(listener.getsockname()[1])
        with socket.create_connection(("127.0.0.1", relay.port), 10.0) as near:
            far, _ = listener.accept()
            with far:
                near.sendall(b"there")
                assert far.recv(10) == b"there"
                relay.end_near_side()
                assert far.recv(10) == b""
                far.sendall(b"and back")
                assert near.recv(10) == b"and back"
                relay.cut()
                assert near.recv(10) == b""
        with socket.create_connection(("127.0.0.1", relay.port), 10.0) as late:
            assert late.recv(10) == b""
