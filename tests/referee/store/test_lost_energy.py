"""Finding out from a run's events whether its energy is lost."""

from __future__ import annotations

from typing import Any

import pytest

from referee.store.lost_energy import energy_lost


def seen(code: str, elapsed_s: float = 5.2) -> dict[str, Any]:
    return {
        "kind": "energy-lost",
        "code": code,
        "elapsed_s": elapsed_s,
    }


def missed(code: str) -> dict[str, Any]:
    return {
        "kind": "energy-missing",
        "code": code,
        "reason": "Why.",
    }


RESET = "is lost: the meter's integrator was reset, or the meter was switched off"


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([seen("meter-reset")], f"{RESET}, seen 5 s into its window"),
        (
            [seen("began-again")],
            "is lost: the meter's integrator was started again, seen 5 s into its window",
        ),
        (
            [seen("cut-short")],
            "is not complete: the meter's power failed while it integrated, seen 5 s into",
        ),
        ([missed("meter-reset")], RESET),
        (
            [missed("read-later"), missed("began-again")],
            "is lost: the meter's integrator was started again",
        ),
        (
            [seen("meter-reset"), missed("began-again")],
            f"{RESET}, seen 5 s into its window",
        ),
        (
            [seen("cut-short"), seen("meter-reset", 9.0)],
            f"{RESET}, seen 9 s into its window",
        ),
    ],
)
def test_a_loss_is_one_sentence_with_run_team_and_way_out(
    events: list[dict[str, Any]],
    says: str,
) -> None:
    lost = energy_lost(
        [{"kind": "armed"}, {"kind": "meter-back", "sentence": "It is back."}, *events]
    )
    assert lost is not None
    sentence = lost.sentence(3, "ant")
    assert sentence.startswith(f"The energy of run 3 of ant {says}")
    assert sentence.endswith("; void the run and arm another.")
    assert sentence.count(".") == 1


@pytest.mark.parametrize(
    "events",
    [[], [missed("read-later")], [{"kind": "meter-lost", "sentence": "Gone."}]],
)
def test_an_energy_that_the_meter_may_still_hold_is_not_lost(
    events: list[dict[str, Any]],
) -> None:
    assert energy_lost(events) is None
