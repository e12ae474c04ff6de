"""Random actions at the meter's panel in a run: its energy is within its stated limits, or a check says why not.

PANEL_SEQUENCES=10000 tries as many sequences as that; `make test` takes fewer.
"""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import pytest

from power.energy import Check, energy_checks
from tests.power.energy.panel import CURRENT_RANGES, LOADS, VOLTAGE_RANGES, Action, Case, Rng, run

SEQUENCES = int(os.environ.get("PANEL_SEQUENCES", "1000"))
SAYS_SO = {
    "integrator-trapezoid", "integrator-time", "integrator-stopped", "integrator-steps", "range-changed",
    "reading-gaps", "over-range", "no-data",
}  # fmt: skip
"""Checks that can say why an energy is wrong. Accuracy, loads and meters are right in all of these runs."""
INTERVALS_S = (0.1, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)


def actions(rng: Rng, length_s: float) -> list[Action]:
    """One to three things that a person does, most of which he undoes, and faults of the link."""
    found: list[Action] = []
    for _ in range(rng.integers(1, 4)):
        at_s = float(rng.uniform(0.3, length_s - 0.3))
        later_s = at_s + float(rng.choice([0.05, 0.3, 1.0, 3.0, 10.0])) * float(rng.uniform(0.5, 1.5))
        kind = str(
            rng.choice(
                ["stop", "restart", "voltage", "current", "averaging", "hold", "rate", "false", "lost"]
            )
        )
        back = rng.random() < 0.8
        if kind == "stop":
            found += [Action(at_s, "stop"), *([Action(later_s, "start")] if back else [])]
        elif kind == "restart":
            found += [Action(at_s, "stop"), Action(at_s + 0.02, "reset"), Action(later_s, "start")]
        elif kind in ("voltage", "current"):
            ranges, own = (VOLTAGE_RANGES, 150.0) if kind == "voltage" else (CURRENT_RANGES, 0.5)
            found += [
                Action(at_s, kind, float(rng.choice(ranges))),
                *([Action(later_s, kind, own)] if back else []),
            ]
        elif kind in ("averaging", "hold"):
            found += [Action(at_s, kind, 1.0), *([Action(later_s, kind, 0.0)] if back else [])]
        elif kind == "rate":
            found += [Action(at_s, "stop"), Action(at_s + 0.02, "reset"), Action(at_s + 0.04, "rate", 2.0)]
            found += [Action(later_s, "start")]
        elif kind == "false":
            what = str(rng.choice(["false-power", "false-energy", "false-time", "false-final"]))
            wrong = 10.0 if what == "false-time" else float(rng.choice([0.1, 0.9, 1.1, 10.0]))
            found.append(Action(at_s, what, wrong))
        else:
            found.append(Action(at_s, "lost", later_s - at_s))
    return found


def failed(case: Case) -> set[str]:
    checks: tuple[Check, ...] = energy_checks(case.readings, case.measured)
    return {check.code for check in checks if not check.ok} & SAYS_SO


def limit_wh(case: Case) -> float:
    """The limit that a recording states: the meter's accuracy, and start, stop and an update of the largest power."""
    accuracy = next(one for one in energy_checks(case.readings, case.measured) if one.code == "accuracy")
    share = accuracy.figures["uncertainty"] or 0.0
    edges_s = (case.measured.start_stop_s or 0.0) + case.measured.setup.update_interval_s
    return share * case.true_wh + edges_s * case.most_w / 3600.0


def test_no_action_at_the_panel_spoils_an_energy_silently() -> None:
    silent, said, wrong = [], Counter[str](), 0
    for seed in range(SEQUENCES):
        rng = np.random.default_rng(seed)
        interval_s = float(rng.choice(INTERVALS_S))
        length_s = float(rng.uniform(15.0, 40.0)) * (2.0 if interval_s >= 2 else 1.0)
        case = run(rng, str(rng.choice(LOADS)), interval_s, length_s, actions(rng, length_s))
        off_wh = abs(case.measured.integrator_wh - case.true_wh)
        if off_wh <= limit_wh(case):
            continue
        wrong += 1
        codes = failed(case)
        said.update(codes)
        if not codes:
            silent.append((seed, interval_s, round(length_s, 1), off_wh / case.true_wh, case.actions))
    assert silent == []
    assert wrong > SEQUENCES / 5, "the sequences spoil too few energies to show anything"
    assert {"integrator-stopped", "integrator-steps", "range-changed", "integrator-time"} <= said.keys()


@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize("kind", LOADS)
def test_no_clean_run_fails_a_check(kind: str, gap: bool) -> None:
    for seed in range(SEQUENCES // 20):
        rng = np.random.default_rng([seed, LOADS.index(kind), gap])
        interval_s = float(rng.choice(INTERVALS_S))
        length_s = float(rng.uniform(15.0, 40.0)) * (2.0 if interval_s >= 2 else 1.0)
        lost = [Action(float(rng.uniform(0, length_s)), "lost", float(rng.uniform(0.2, 12.0)))] if gap else []
        case = run(rng, kind, interval_s, length_s, lost, busy=float(rng.choice([0.0, 0.1])))
        checks = energy_checks(case.readings, case.measured)
        wrong = [check for check in checks if not check.ok and check.severity == "error"]
        assert wrong == [], (seed, interval_s, length_s, lost)
