from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from lpirc_power.energy.continuity import EnergyLoss
from lpirc_power.meter import IntegratorState, Reading
from lpirc_power.sampling.sampler import LinkEvent
from referee.errors import StorageFailed
from referee.runs.run_recorder import EvidenceLog, note_event
from referee.store import Store
from tests.referee.factories import START, DrivenClock, reading, stored_run


@contextmanager
def written_to(path: Path) -> Iterator[None]:
    """Another process is writing to the database."""
    with contextlib.closing(
        sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    ) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "contest.db"


@pytest.fixture
def impatient(short_lock_timeout: None, path: Path) -> Iterator[Store]:
    with contextlib.closing(Store.open(path, create=True)) as store:
        yield store


def count_served(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as other:
        return int(other.execute("SELECT count(*) FROM served").fetchone()[0])


def times(store: Store, run: int) -> list[float]:
    return [one.monotonic_s for one in store.readings.of_run(run, 0.0)]


def test_readings_before_the_start_is_known_wait_for_it(store: Store) -> None:
    run = stored_run(store).id
    log = EvidenceLog(store)
    log.reading(reading(99.5))
    log.flush()
    assert times(store, run) == []
    log.begin(run, 100.0)
    assert times(store, run) == []
    log.reading(reading(100.5))
    assert times(store, run) == [-0.5, 0.5]


def test_a_reading_that_comes_after_the_end_is_not_stored(store: Store) -> None:
    run = stored_run(store).id
    log = EvidenceLog(store)
    log.begin(run, 100.0)
    log.reading(reading(100.5))
    log.end()
    bound = store.closings.evidence(run)
    log.reading(reading(101.0))
    log.end()
    assert store.closings.evidence(run) == bound
    assert times(store, run) == [0.5]


def test_a_stop_at_the_panel_is_warned_of_once_and_that_of_the_run_is_not(
    store: Store,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = stored_run(store).id
    log = EvidenceLog(store)
    log.begin(run, 100.0)
    with caplog.at_level(logging.WARNING):
        log.reading(reading(101.0))
        log.reading(reading(102.0, state=IntegratorState.STOP))
        assert not caplog.messages
        log.reading(reading(103.0, state=IntegratorState.STOP))
        log.reading(reading(104.0, state=IntegratorState.STOP))
    (message,) = caplog.messages
    assert message.startswith(
        f"run {run}, 3.0 s into its window: the meter's integrator does not run (STOP)."
    )


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ({"over_range": True}, "over range"),
        ({"current_peak_over": True}, "clipped"),
    ],
)
def test_what_spoils_a_run_is_warned_of_while_it_runs(
    store: Store,
    caplog: pytest.LogCaptureFixture,
    shown: dict[str, object],
    words: str,
) -> None:
    run = stored_run(store).id
    log = EvidenceLog(store)
    log.begin(run, 0.0)
    with caplog.at_level(logging.WARNING):
        for second in (1.0, 2.0, 3.0):
            log.reading(reading(second, **shown))
        log.reading(reading(4.0))
        log.reading(reading(5.0, **shown))
    assert [words in message for message in caplog.messages] == [True]


def test_a_changed_setting_is_warned_of_although_one_reading_names_it(
    store: Store,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = stored_run(store).id
    log = EvidenceLog(store)
    log.begin(run, 0.0)
    with caplog.at_level(logging.WARNING):
        log.reading(reading(1.0))
        log.reading(reading(2.0, changed=":HOLD OFF was set, it is 1"))
        log.reading(reading(3.0))
    assert [":HOLD OFF was set, it is 1" in message for message in caplog.messages] == [
        True
    ]


def test_what_became_of_the_link_is_an_event_of_the_run(store: Store) -> None:
    run = stored_run(store).id
    log = EvidenceLog(store)
    log.link(LinkEvent("meter-lost", 99.0, START, "The link is lost.", ()))
    assert store.log.of_run(run) == []
    log.begin(run, 100.0)
    log.link(LinkEvent("meter-back", 103.0, START, "It is back.", (":RATE was set",)))
    utc = START.isoformat()
    assert store.log.of_run(run) == [
        {
            "utc": utc,
            "kind": "meter-lost",
            "elapsed_s": -1.0,
            "sentence": "The link is lost.",
        },
        {
            "utc": utc,
            "kind": "meter-back",
            "elapsed_s": 3.0,
            "sentence": "It is back.",
            "changes": [":RATE was set"],
        },
    ]


def lost(store: Store, run: int) -> list[dict[str, object]]:
    return [one for one in store.log.of_run(run) if one["kind"] == "energy-lost"]


def begun(store: Store) -> tuple[int, EvidenceLog]:
    """A run of 100 s on, 3 s into its window."""
    run = stored_run(store).id
    log = EvidenceLog(store)
    log.begin(run, 100.0)
    for second in (1.0, 2.0, 3.0):
        log.reading(
            reading(100.0 + second, energy_wh=second / 100, integrator_s=second)
        )
    return run, log


def reset(second: float, **different: object) -> Reading:
    values = {
        "energy_wh": 0.0,
        "integrator_s": 0.0,
        "state": IntegratorState.RESET,
    }
    return reading(100.0 + second, **(values | different))


def test_a_power_cut_of_the_meter_is_one_loss_and_no_warning_of_what_follows_from_it(
    store: Store,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run, log = begun(store)
    changes = (
        ":RATE 100MS was set, it is 250.0E-03",
        ":INTEGRATE:TIMER 0,10,0 was set, it is 0,0,0",
    )
    with caplog.at_level(logging.WARNING):
        log.link(
            LinkEvent("meter-back", 106.0, START, "It is back, and reset.", changes)
        )
        for second in (6.0, 7.0, 8.0):
            log.reading(reset(second))
        log.reading(reset(9.0, changed=changes[0]))
    utc = reset(6.0).utc.isoformat()
    code = {
        "elapsed_s": 6.0,
        "code": "meter-reset",
        "energy_wh": 0.03,
        "integrator_s": 3.0,
    }
    assert lost(store, run) == [{"utc": utc, "kind": "energy-lost"} | code]
    assert log.loss is EnergyLoss.RESET
    assert log.warnings == []
    (message,) = caplog.messages
    assert message.startswith(f"run {run}, 6.0 s into its window: its energy is lost: ")
    assert message.endswith(" Void the run and arm another.")


def test_ranges_that_a_meter_chooses_itself_are_warned_of_once(store: Store) -> None:
    _, log = begun(store)
    automatic = ":INPUT:CURRENT:AUTO OFF was set, it is 1"
    ranges = [f":INPUT:CURRENT:RANGE 1 was set, it is {amps}" for amps in (2, 5, 10)]
    for second, one in enumerate(ranges, 4):
        changed = f"{automatic}; {one}"
        log.reading(
            reading(100.0 + second, integrator_s=float(second), changed=changed)
        )
    (warning,) = log.warnings
    assert warning.endswith(f"({automatic}; {ranges[0]})")


def test_ranges_that_a_meter_chooses_itself_after_its_loss_are_told_by_the_loss(
    store: Store,
) -> None:
    _, log = begun(store)
    lost_range = ":INPUT:CURRENT:RANGE 1 was set, it is 20"
    log.link(LinkEvent("meter-back", 106.0, START, "It is back.", (lost_range,)))
    for second, amps in ((6.0, 10), (7.0, 5), (8.0, 2)):
        changed = f":INPUT:CURRENT:RANGE 1 was set, it is {amps}"
        log.reading(reset(second, changed=changed))
    assert log.warnings == []


def test_what_has_another_cause_than_the_loss_is_warned_of_all_the_same(
    store: Store,
) -> None:
    run, log = begun(store)
    log.reading(reading(104.0, integrator_s=4.0, changed=":HOLD OFF was set, it is 1"))
    log.link(
        LinkEvent(
            "meter-back",
            106.0,
            START,
            "It is back.",
            (":RATE 100MS was set, it is 1",),
        )
    )
    for second in (6.0, 7.0):
        log.reading(
            reset(
                second,
                over_range=True,
                changed=":INPUT:CURRENT:RANGE 1 was set, it is 20",
            )
        )
    assert [one["code"] for one in lost(store, run)] == ["meter-reset"]
    expected = (
        "the meter has other settings than those of the run (:HOLD OFF was set, it is 1)",
        "the meter has other settings than those of the run (:INPUT:CURRENT:RANGE 1 was set, it is 20)",
        "the meter is over range",
    )
    assert log.warnings == sorted(expected)


def test_a_stop_at_the_panel_is_a_warning_until_a_reset_takes_the_energy(
    store: Store,
) -> None:
    run, log = begun(store)
    for second in (4.0, 5.0):
        stopped = {
            "energy_wh": 0.03,
            "integrator_s": 3.0,
            "state": IntegratorState.STOP,
        }
        log.reading(reading(100.0 + second, **stopped))
    assert lost(store, run) == []
    assert log.warnings == ["the meter's integrator does not run (STOP)"]
    log.reading(reset(6.0))
    log.reading(reading(107.0, energy_wh=0.01, integrator_s=1.0))
    assert [one["code"] for one in lost(store, run)] == ["meter-reset"]
    assert log.warnings == []


def test_a_power_failure_leaves_an_energy_that_a_reset_takes_too(store: Store) -> None:
    run, log = begun(store)
    for second in (4.0, 5.0):
        log.reading(
            reset(
                second,
                energy_wh=0.03,
                integrator_s=3.0,
                state=IntegratorState.ERROR,
            )
        )
    log.reading(reset(6.0))
    log.reading(reset(7.0))
    assert [one["code"] for one in lost(store, run)] == ["cut-short", "meter-reset"]


def test_a_loss_is_found_by_the_server_after_the_one_that_was_killed_and_noted_once(
    store: Store,
) -> None:
    run, _ = begun(store)
    began_again = reading(109.0, energy_wh=0.01, integrator_s=1.0)
    for known in (None, EnergyLoss.BEGAN_AGAIN):
        log = EvidenceLog(store)
        log.remember(known, store.readings.of_run(run, 0.0)[2])
        log.begin(run, 100.0)
        log.reading(began_again)
    assert [one["code"] for one in lost(store, run)] == ["began-again"]


def test_a_loss_before_the_window_s_start_is_known_waits_for_it(store: Store) -> None:
    run = stored_run(store).id
    log = EvidenceLog(store)
    log.reading(reset(0.5))
    log.begin(run, 100.0)
    log.flush()
    assert [(one["code"], one["elapsed_s"]) for one in lost(store, run)] == [
        ("meter-reset", 0.5)
    ]


def test_a_database_that_fails_keeps_everything_for_later(
    impatient: Store,
    path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = stored_run(impatient).id
    log = EvidenceLog(impatient)
    log.begin(run, 0.0)
    with caplog.at_level(logging.WARNING), written_to(path):
        log.reading(reading(1.0))
        impatient.served.append(run, [(3, 10)], 1.0)
        log.reading(reading(2.0))
        with pytest.raises(StorageFailed):
            log.flush()
    assert "wait in memory" in caplog.text
    log.reading(reading(3.0))
    assert times(impatient, run) == [1.0, 2.0, 3.0]
    assert impatient.served.images(run) == [3]


def test_what_threads_hand_in_together_is_stored_once(store: Store, path: Path) -> None:
    run = stored_run(store).id
    log = EvidenceLog(store)
    log.begin(run, 0.0)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: log.reading(reading(float(i))), range(200)))
        list(pool.map(lambda i: store.served.append(run, [(i, 10)], 1.0), range(200)))
    log.flush()
    assert times(store, run) == [float(i) for i in range(200)]
    assert count_served(path) == 200


def test_an_event_that_cannot_be_stored_is_only_warned_of(
    impatient: Store,
    path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = stored_run(impatient).id
    clock = DrivenClock()
    with caplog.at_level(logging.WARNING), written_to(path):
        note_event(impatient, clock, run, "closed", by="deadline")
    assert "the event closed" in caplog.text
    note_event(impatient, clock, run, "void")
    assert [event["kind"] for event in impatient.log.of_run(run)] == ["void"]
