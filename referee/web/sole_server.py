"""Ensures that a contest folder has one server, and that its processes end with it, even if it is killed."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

from referee.clock import Clock
from referee.errors import RefereeError
from referee.operating_system import lock_holder
from referee.served import LOCK_NAME

LOOK_S = 0.5
STOP_TIMEOUT_S = 3
"""Time that answers in progress get when the server stops; clients that stall longer are cut off."""
LOCK_TIMEOUT_S = STOP_TIMEOUT_S + 3.0  # for the remaining processes of a killed server
BUSY_TIMEOUT_S = 1.0  # for a server that is just ending


def end_with(parent: int, signalled: int | None = None) -> None:
    """Watch the process `parent` in a thread, and send SIGTERM to the process `signalled` once `parent` is gone.

    Without `signalled`, this process gets the SIGTERM, and a SIGKILL if it is still running after STOP_TIMEOUT_S.
    """
    target = os.getpid() if signalled is None else signalled
    threading.Thread(
        target=_watch, args=(parent, target), name=f"watch-{parent}", daemon=True
    ).start()


def exists(process: int) -> bool:
    """Return True if a process with this id exists."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _watch(parent: int, target: int) -> None:
    clock = Clock()
    never = threading.Event()
    # A parent that was killed may stay as a zombie; its children get another parent at once.
    while os.getppid() == parent if target == os.getpid() else exists(parent):
        clock.wait(never, clock.monotonic_s() + LOOK_S)
    os.kill(target, signal.SIGTERM)
    if target == os.getpid():
        clock.wait(never, clock.monotonic_s() + STOP_TIMEOUT_S)
        os.kill(target, signal.SIGKILL)


@dataclass(frozen=True)
class ContestLock:
    """The contest's lock, also held by the worker process: no other server can start before the worker has ended.

    A forked worker inherits the descriptors. A spawned one, as on macOS, has them only if they are handed to it.
    """

    descriptors: tuple[int, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        handed = [DupFd(descriptor) for descriptor in self.descriptors]
        return _held_in_worker, (handed,)


def _held_in_worker(handed: list[Any]) -> ContestLock:
    descriptors = tuple(one.detach() for one in handed)
    for descriptor in descriptors:
        os.set_inheritable(
            descriptor, False
        )  # no child of the worker may hold the lock after it
    return ContestLock(descriptors)


@contextmanager
def sole_server(folder: Path) -> Iterator[ContestLock]:
    """Hold the contest's lock. Raises RefereeError `contest-busy`, which names the process that holds it.

    The folder itself is locked, since a file in it could be deleted. The lock file in it keeps out servers of earlier
    versions.
    """
    descriptors = []
    with ExitStack() as held:
        for path, flags in (
            (folder, os.O_RDONLY),
            (folder / LOCK_NAME, os.O_RDWR | os.O_CREAT),
        ):
            descriptor = os.open(path, flags, 0o600)
            held.callback(os.close, descriptor)
            _lock(descriptor, path)
            descriptors.append(descriptor)
        yield ContestLock(tuple(descriptors))


def _lock(descriptor: int, path: Path) -> None:
    clock = Clock()
    never = threading.Event()
    start_s = clock.monotonic_s()
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            process = lock_holder(path)
            # The worker of a killed server has not noticed its parent's death yet.
            lives = process is not None and exists(process)
            if clock.monotonic_s() - start_s > (
                BUSY_TIMEOUT_S if lives else LOCK_TIMEOUT_S
            ):
                raise RefereeError(
                    "contest-busy",
                    f"{path} is being served already by process {process or '?'}; stop that server first.",
                    process=process,
                ) from None
            clock.wait(never, clock.monotonic_s() + 0.05)
        except OSError:
            if path.is_dir():  # NFS locks no folders
                return
            raise
        else:
            return
