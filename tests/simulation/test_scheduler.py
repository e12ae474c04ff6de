from __future__ import annotations

import threading
from random import Random

from tests.simulation.scheduler import SimRLock, simulated


def test_a_reentrant_lock_is_locked_until_it_is_released_as_often_as_it_was_taken() -> (
    None
):
    with simulated(Random(1)):  # noqa: S311
        lock = threading.RLock()
        assert isinstance(lock, SimRLock)
        assert not lock.locked()
        with lock:
            with lock:
                pass
            assert lock.locked()
        assert not lock.locked()


def test_a_condition_gives_all_of_its_reentrant_lock_away_while_it_waits() -> None:
    seen = []
    with simulated(Random(1)) as (scheduler, _):  # noqa: S311
        condition = threading.Condition(lock := threading.RLock())

        def notify() -> None:
            with condition:
                seen.append(lock.locked())  # type: ignore[attr-defined]  # Python has it since 3.14
                condition.notify()

        with condition, condition:
            task = scheduler.spawn("notifier", notify)
            assert condition.wait(1)
            assert lock.locked()  # type: ignore[attr-defined]
        scheduler.join(task, 1)
        assert not lock.locked()  # type: ignore[attr-defined]
    assert seen == [True]
