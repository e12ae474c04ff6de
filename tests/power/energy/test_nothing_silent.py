"""Random actions at the meter's panel in a run: its energy is within its stated limits, or a check says why not.

PANEL_SEQUENCES=10000 tries as many sequences as that; `make test-all` takes fewer.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lpirc_power.energy import Check, energy_checks, energy_of
from tests.power.energy.panel import (
    CURRENT_RANGES,
    LOADS,
    VOLTAGE_RANGES,
    Action,
    Case,
    Rng,
    run,
)

SEQUENCES = int(os.environ.get("PANEL_SEQUENCES", "200"))
SAYS_SO = {
    "integrator-trapezoid", "integrator-time", "integrator-stopped", "integrator-steps", "range-changed",
    "reading-gaps", "unseen-energy", "over-range", "no-data",
}  # fmt: skip
"""Checks that can say why an energy is wrong. Accuracy, loads and meters are right in all of these runs."""
INTERVALS_S = (0.1, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)


def actions(
    rng: Rng,
    length_s: float,
) -> list[Action]:
    """One to three things that a person does, most of which he undoes, and faults of the link."""
    found: list[Action] = []
    for _ in range(rng.integers(1, 4)):
        at_s = float(rng.uniform(0.3, length_s - 0.3))
        later_s = at_s + float(rng.choice([0.05, 0.3, 1.0, 3.0, 10.0])) * float(
            rng.uniform(0.5, 1.5)
        )
        kind = str(
            rng.choice(
                [
                    "stop",
                    "restart",
                    "voltage",
                    "current",
                    "averaging",
                    "hold",
                    "rate",
                    "false",
                    "lost",
                ]
            )
        )
        back = rng.random() < 0.8
        if kind == "stop":
            found += [
                Action(at_s, "stop"),
                *([Action(later_s, "start")] if back else []),
            ]
        elif kind == "restart":
            found += [
                Action(at_s, "stop"),
                Action(at_s + 0.02, "reset"),
                Action(later_s, "start"),
            ]
        elif kind in ("voltage", "current"):
            ranges, own = (
                (VOLTAGE_RANGES, 150.0) if kind == "voltage" else (CURRENT_RANGES, 0.5)
            )
            found += [
                Action(at_s, kind, float(rng.choice(ranges))),
                *([Action(later_s, kind, own)] if back else []),
            ]
        elif kind in ("averaging", "hold"):
            found += [
                Action(at_s, kind, 1.0),
                *([Action(later_s, kind, 0.0)] if back else []),
            ]
        elif kind == "rate":
            found += [
                Action(at_s, "stop"),
                Action(at_s + 0.02, "reset"),
                Action(at_s + 0.04, "rate", 2.0),
            ]
            found += [Action(later_s, "start")]
        elif kind == "false":
            what = str(
                rng.choice(["false-power", "false-energy", "false-time", "false-final"])
            )
            wrong = (
                10.0
                if what == "false-time"
                else float(rng.choice([0.1, 0.9, 1.1, 10.0]))
            )
            found.append(Action(at_s, what, wrong))
        else:
            found.append(Action(at_s, "lost", later_s - at_s))
    return found


def checked(case: Case) -> dict[str, Check]:
    return {check.code: check for check in energy_checks(case.readings, case.measured)}


def failed(checks: dict[str, Check]) -> set[str]:
    return {code for code, check in checks.items() if not check.ok} & SAYS_SO


def limit_wh(case: Case, checks: dict[str, Check]) -> float:
    """The limit that a recording states: the meter's, what was not seen, and start, stop and an update of the most."""
    energy = energy_of(case.measured.inside(case.readings), case.measured)
    is_seen = checks[
        "unseen-energy"
    ].ok  # what is not is an error, and widens no limit here
    share = (energy.limit if is_seen else energy.meter_limit) or 0.0
    edges_s = (
        case.measured.start_stop_s or 0.0
    ) + case.measured.setup.update_interval_s
    return share * case.true_wh + edges_s * case.most_w / 3600.0


def test_no_action_at_the_panel_spoils_an_energy_silently() -> None:
    silent = []
    said = Counter[str]()
    wrong = 0
    for seed in range(SEQUENCES):
        rng = np.random.default_rng(seed)
        interval_s = float(rng.choice(INTERVALS_S))
        length_s = float(rng.uniform(15.0, 40.0)) * (2.0 if interval_s >= 2 else 1.0)
        case = run(
            rng,
            str(rng.choice(LOADS)),
            interval_s,
            length_s,
            actions(rng, length_s),
        )
        checks = checked(case)
        off_wh = abs(case.measured.integrator_wh - case.true_wh)
        if off_wh <= limit_wh(case, checks):
            continue
        wrong += 1
        codes = failed(checks)
        said.update(codes)
        if not codes:
            silent.append(
                (
                    seed,
                    interval_s,
                    round(length_s, 1),
                    off_wh / case.true_wh,
                    case.actions,
                )
            )
    assert silent == []
    assert wrong > SEQUENCES / 5, (
        "the sequences spoil too few energies to show anything"
    )
    assert {
        "integrator-stopped",
        "integrator-steps",
        "range-changed",
        "integrator-time",
    } <= said.keys()


CONSTANT_600_S = ("constant", 0.1, 600.0)
CONSTANT_20_S = ("constant", 0.1, 20.0)


def one_run(
    kind: str,
    interval_s: float,
    length_s: float,
    *done: tuple[Any, ...],
) -> Case:
    return run(
        np.random.default_rng(11),
        kind,
        interval_s,
        length_s,
        [Action(*one) for one in done],
    )


@pytest.mark.parametrize("action", ["stop", "reset"])
def test_a_stop_of_1_6_s_in_600_s_is_told_with_its_time_and_cost(action: str) -> None:
    reset = [(100.02, "reset")] if action == "reset" else []
    case = one_run(*CONSTANT_600_S, (100.0, "stop"), *reset, (101.6, "start"))
    found = checked(case)
    stopped = found["integrator-stopped"]
    assert not stopped.ok
    assert stopped.severity == "error"
    assert stopped.figures["first_s"] == pytest.approx(100.05, abs=0.2)
    assert stopped.figures["missing_wh"] == pytest.approx(
        case.true_wh * 1.6 / 600,
        rel=0.15,
    )
    assert "from 100." in stopped.sentence
    if reset:
        steps = found["integrator-steps"]
        assert not steps.ok
        # What was integrated before the reset is lost.
        assert steps.figures["cost_wh"] == pytest.approx(case.true_wh / 6, rel=0.02)


@pytest.mark.parametrize(
    ("kind", "other", "own"),
    [
        ("voltage", 600.0, 150.0),
        ("current", 5.0, 0.5),
    ],
)
def test_ranges_that_are_changed_and_put_back_are_told_with_times_and_energy(
    kind: str,
    other: float,
    own: float,
) -> None:
    case = one_run(*CONSTANT_20_S, (3.0, kind, other), (18.0, kind, own))
    assert case.measured.changes == ()
    changed = checked(case)["range-changed"]
    assert changed.ok is False
    assert changed.severity == "error"
    assert (
        f"range {other:g} {'V' if kind == 'voltage' else 'A'} instead of {own:g}"
        in changed.sentence
    )
    assert changed.figures["first_s"] == pytest.approx(3.1, abs=0.2)
    assert changed.figures["last_s"] == pytest.approx(17.9, abs=0.2)
    assert changed.figures["measured_wh"] == pytest.approx(
        case.true_wh * 15 / 20,
        rel=0.05,
    )


@pytest.mark.parametrize("what", ["averaging", "hold"])
def test_averaging_and_hold_in_mid_run_are_told(what: str) -> None:
    case = one_run(*CONSTANT_20_S, (5.0, what, 1.0), (10.0, what, 0.0))
    assert "range-changed" in failed(checked(case))


@pytest.mark.parametrize(
    ("what", "wrong"),
    [
        ("false-power", 10.0),
        ("false-energy", 0.5),
        ("false-energy", 10.0),
        ("false-time", 30.0),
        ("false-final", 10.0),
        ("false-final", 0.9),
    ],
)
def test_one_well_formed_false_sample_is_told(
    what: str,
    wrong: float,
) -> None:
    assert "integrator-steps" in failed(
        checked(one_run(*CONSTANT_20_S, (9.0, what, wrong)))
    )


def test_an_energy_recovered_exactly_after_a_gap_is_compared_where_it_was_seen() -> (
    None
):
    case = one_run("bursts", 0.1, 60.0, (20.0, "lost", 30.0))
    # How much a load of bursts drew in 30 s is not known from the other 30.
    assert failed(checked(case)) == {"reading-gaps", "unseen-energy"}
    # What was seen is still compared: a tenth too much of it is found.
    more = replace(
        case.measured,
        integrator_wh=case.measured.integrator_wh + 0.1 * case.true_wh / 2,
    )
    assert "integrator-trapezoid" in failed(checked(replace(case, measured=more)))


def directed(
    rng: Rng,
    interval_s: float,
    length_s: float,
) -> list[Action]:
    """Attacks that hide behind losses of the link, holds, or single updates, and undo what they did."""
    found: list[Action] = []
    for _ in range(rng.integers(1, 4)):
        lasts_s = float(np.exp(rng.uniform(np.log(1.0), np.log(length_s * 0.9))))
        at_s = float(rng.uniform(0.2, length_s))
        end_s = min(at_s + lasts_s, length_s + 1.0)
        if rng.random() < 0.8:
            found.append(Action(at_s, "lost", end_s - at_s))
        inside = lambda: float(rng.uniform(at_s, end_s))  # noqa: B023, E731
        kind = str(
            rng.choice(
                ["range", "flicks", "stop", "restart", "hold", "averaging", "nothing"]
            )
        )
        first_s, last_s = sorted((inside(), inside()))
        what = str(rng.choice(["voltage", "current"]))
        ranges, own = (
            (VOLTAGE_RANGES, 150.0) if what == "voltage" else (CURRENT_RANGES, 0.5)
        )
        other = float(rng.choice([one for one in ranges if one != own]))
        if kind == "range":
            found += [
                Action(first_s, what, other),
                Action(last_s, what, own),
            ]
        elif kind == "flicks":
            every_s = interval_s * float(rng.uniform(0.8, 3.0))
            for place in range(min(int((last_s - first_s) / every_s), 200) + 1):
                flick_s = first_s + place * every_s
                found += [
                    Action(flick_s, what, other),
                    Action(flick_s + 0.02, what, own),
                ]
        elif kind == "stop":
            found += [
                Action(first_s, "stop"),
                Action(last_s, "start"),
            ]
        elif kind == "restart":
            found += [
                Action(first_s, "stop"),
                Action(first_s + 0.02, "reset"),
                Action(last_s, "start"),
            ]
        elif kind in ("hold", "averaging"):
            found += [
                Action(first_s, kind, 1.0),
                Action(last_s, kind, 0.0),
            ]
    return found


def test_no_attack_behind_a_gap_spoils_an_energy_without_an_error() -> None:
    silent = []
    said = Counter[str]()
    wrong = 0
    for seed in range(SEQUENCES):
        rng = np.random.default_rng([seed, 26])
        interval_s = float(rng.choice(INTERVALS_S))
        length_s = float(rng.choice([20.0, 40.0, 90.0])) * (
            2.0 if interval_s >= 2 else 1.0
        )
        if seed % 40 == 0:
            length_s = 600.0
        todo = directed(rng, interval_s, length_s)
        case = run(
            rng,
            str(rng.choice(LOADS)),
            interval_s,
            length_s,
            todo,
            latches=bool(rng.random() < 0.5),
        )
        checks = checked(case)
        off_wh = abs(case.measured.integrator_wh - case.true_wh)
        if off_wh <= limit_wh(case, checks):
            continue
        wrong += 1
        errors = {code for code in failed(checks) if checks[code].severity == "error"}
        said.update(errors)
        if not errors:
            silent.append(
                (seed, interval_s, length_s, off_wh / case.true_wh, case.kind)
            )
    assert silent == []
    assert wrong > SEQUENCES / 5, "the attacks spoil too few energies to show anything"
    assert {"integrator-stopped", "unseen-energy", "integrator-time"} <= said.keys()


@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize("kind", LOADS)
def test_no_clean_run_fails_a_check(
    kind: str,
    gap: bool,
) -> None:
    for seed in range(SEQUENCES // 20):
        rng = np.random.default_rng([seed, LOADS.index(kind), gap])
        interval_s = float(rng.choice(INTERVALS_S))
        length_s = float(rng.uniform(15.0, 40.0)) * (2.0 if interval_s >= 2 else 1.0)
        gaps = [
            (
                rng.uniform(0, length_s),
                rng.uniform(0.2, 5.0),
            )
            for _ in range(rng.integers(1, 4) if gap else 0)
        ]
        lost = [
            Action(float(at_s), "lost", float(lasting_s)) for at_s, lasting_s in gaps
        ]
        # A host that is busy for a moment misses short updates only.
        busy = float(rng.choice([0.0, 0.1])) if interval_s < 0.5 else 0.0
        case = run(rng, kind, interval_s, length_s, lost, busy)
        wrong = {
            check.code
            for check in checked(case).values()
            if not check.ok and check.severity == "error"
        }
        # What a load that varies drew in a gap is not known well enough.
        assert wrong <= ({"unseen-energy"} if gap and kind != "constant" else set()), (
            seed,
            interval_s,
            length_s,
            lost,
        )
