"""Receives the marks of a workload while a recording runs."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import selectors
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lpirc_power.errors import MeterError
from lpirc_power.marks.mark_list import MarkList, Wrong, finite
from lpirc_power.marks.marking import TCP, machine
from lpirc_power.marks.socket_folder import LONGEST_PATH, NAME, socket_folder
from lpirc_power.operating_system import HAS_UNIX_SOCKETS, unix_socket
from lpirc_power.presence import is_there

_log: Final = logging.getLogger(__name__)

MOST_CONNECTIONS: Final = 500
"""Senders at a time; further ones are refused, and each counts as a mark that was lost."""
GREETING_S: Final = 0.02
"""Pause between two looks at new senders, while the others wait."""
LONGEST_LINE: Final = 2_000
"""Bytes of the longest message; a sender of a longer one is cut off."""
CHUNK: Final = 65_536
MOST_A_SECOND: Final = 5_000
"""Messages that are read in a second, so that marks cannot delay readings; the rest waits at the senders."""
CALM_S: Final = 0.05
"""Pause between two looks at what senders on this machine have sent."""
DRAIN_S: Final = 5.0
"""Longest time for reading what has been sent, once the workload has ended. The meter is stopped by then."""
SUDDEN_S: Final = 0.05
"""Doubt of the time of a mark whose sender has said nothing of its clock."""
MOST_DELAY_S: Final = 3600.0
MOST_LOST: Final = 10**12
AHEAD_S: Final = 0.001
"""By how much a time on the same clock may be later than its arrival."""
MOST_UPTIME_S: Final = 3.2e9
"""Largest time of a sender that is believed: a monotonic clock counts from the start of its machine, 100 years ago."""
CLOSING_S: Final = 5.0
"""Further time for the thread to end."""


@dataclass
class _Peer:
    """A connection: what was received of its next line, and what is known of its clock."""

    socket: socket.socket
    waiting: bytes = b""
    is_fresh: bool = True
    is_known: bool = False
    is_same_clock: bool = False
    delay_s: float = SUDDEN_S
    least_lag_s: float | None = None


class MarksListener:
    """The address that a workload sends its marks to; a thread reads them. Only this user can send.

    `marks` holds what was received. A sender on this machine states its times, since the monotonic clock is the same;
    from another machine the time of arrival counts, with the delay of an answer as its doubt.
    """

    def __init__(
        self, marks: MarkList, monotonic: Callable[[], float], path: Path | None = None
    ) -> None:
        """Listen, at `path` if given. Raises MeterError `marks-address` or OSError."""
        self.marks = marks
        self._monotonic = monotonic
        self._token = ""
        self._folder: Path | None = None
        self._path: Path | None = None
        self._socket = self._listening(path)
        self._closing = threading.Event()
        self._wake, self._woken = _pair()
        self._peers: dict[socket.socket, _Peer] = {}
        self._prompt = selectors.DefaultSelector()
        # Senders that state their times themselves are not answered at once: each message would wake this thread,
        # which costs the sender ten times as much as the mark.
        self._calm = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._run, name="marks", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """What the workload needs in LPIRC_METER_MARKS."""
        if self._path is not None:
            return str(self._path)
        host, port = self._socket.getsockname()[:2]
        return f"{TCP}{host}:{port}:{self._token}"

    def close(self) -> None:
        """Read what has been sent, and end listening; a second call does nothing."""
        if self._closing.is_set():
            return
        self._closing.set()
        with contextlib.suppress(OSError):
            self._wake.send(b"x")
        self._thread.join(DRAIN_S + CLOSING_S)
        for one in (self._socket, self._wake, self._woken):
            with contextlib.suppress(OSError):
                one.close()
        # The workload may have put anything in its place: closing costs no energy.
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _listening(self, path: Path | None) -> socket.socket:
        if not HAS_UNIX_SOCKETS:
            if path is not None:
                raise _wrong(f"This system has no socket of a path such as {path}")
            self._token = secrets.token_urlsafe(16)
            return socket.create_server(("127.0.0.1", 0))
        if path is None:
            self._folder = socket_folder()
            path = self._folder / NAME
        self._path = _free(path)
        made = unix_socket()
        try:
            made.bind(str(path))
            path.chmod(0o600)
            made.listen(MOST_CONNECTIONS)
        except OSError as error:
            made.close()
            raise _wrong(
                f"No socket can be made at {path}: {error.strerror or error}"
            ) from error
        return made

    def _run(self) -> None:
        with self._prompt, self._calm:
            for one in (self._socket, self._woken):
                one.setblocking(False)
                self._prompt.register(one, selectors.EVENT_READ)
            until_s: float | None = None
            while until_s is None or time.monotonic() < until_s:
                is_closing = self._closing.is_set()
                count = self._step(0.0 if is_closing else self._pause_s)
                if not is_closing:
                    self._rest(count / MOST_A_SECOND)
                elif not count:
                    break
                else:
                    until_s = until_s or time.monotonic() + DRAIN_S
            for peer in list(self._peers.values()):
                # What comes so late cannot be counted one by one.
                self.marks.lost += _has_more(peer.socket)
                self._end(peer)

    def _rest(self, pause_s: float) -> None:
        """Read no marks for some time, but let new senders in, whose first mark waits for an answer."""
        until_s = time.monotonic() + pause_s
        while (left_s := until_s - time.monotonic()) > 0:
            if self._closing.wait(min(left_s, GREETING_S)):
                return
            until_s += self._greet_new() / MOST_A_SECOND

    def _greet_new(self) -> int:
        """Accept connections, and read what each says first; return the number of messages."""
        count = 0
        for key, _ in self._prompt.select(0.0):
            found = key.fileobj
            if found is self._socket:
                self._accept()
            elif isinstance(found, socket.socket) and found in self._peers:
                peer = self._peers[found]
                count += self._read(peer) if peer.is_fresh else 0
        return count

    @property
    def _pause_s(self) -> float | None:
        return CALM_S if self._calm.get_map() else None

    def _step(self, timeout_s: float | None) -> int:
        """Read what is there; return the number of messages."""
        count = 0
        ready = self._prompt.select(timeout_s)
        if self._calm.get_map():  # Windows refuses to select among none
            ready += self._calm.select(0.0)
        for key, _ in ready:
            found = key.fileobj
            if found is self._socket:
                count += self._accept()
            elif found is not self._woken and isinstance(found, socket.socket):
                count += self._read(self._peers[found])
        return count

    def _accept(self) -> int:
        """Accept the connections that wait; return what that counts for."""
        count = 0
        for _ in range(MOST_CONNECTIONS):
            try:
                made, _ = self._socket.accept()
            except BlockingIOError:
                break
            except OSError:  # no more files may be open: not at once again
                return count + int(CALM_S * MOST_A_SECOND)
            self._admit(made)
            count += 1
        return max(count, 1)

    def _admit(self, made: socket.socket) -> None:
        if len(self._peers) >= MOST_CONNECTIONS:
            self.marks.lost += 1
            made.close()
            return
        made.setblocking(False)
        self._peers[made] = _Peer(made, is_known=not self._token)
        self._prompt.register(made, selectors.EVENT_READ)

    def _read(self, peer: _Peer) -> int:
        try:
            data = peer.socket.recv(CHUNK)
        except BlockingIOError:
            return 0
        except OSError:
            data = b""
        peer.is_fresh = False
        arrived_s = self._monotonic()
        *lines, peer.waiting = (peer.waiting + data).split(b"\n")
        is_good = len(peer.waiting) <= LONGEST_LINE
        for line in lines:
            is_good = is_good and self._take(peer, line, arrived_s)
        if not (data and is_good):
            self.marks.refused += not is_good
            self._end(peer)
        return len(lines)

    def _take(self, peer: _Peer, line: bytes, arrived_s: float) -> bool:
        """Take one message; return False if the sender is to be cut off."""
        try:
            word, *rest = _words(line)
            if word == "hello":
                return self._greet(peer, *rest)
            if not peer.is_known:
                return False
            if word == "delay":
                peer.delay_s = min(max(finite(rest[0]), 0.0), MOST_DELAY_S)
            elif word == "lost":
                self.marks.lost += int(min(max(finite(rest[0]), 0.0), MOST_LOST))
            else:
                self._mark(peer, word, rest, arrived_s)
        except (
            Wrong,
            ValueError,
            TypeError,
            IndexError,
            OverflowError,
            RecursionError,
        ):
            self.marks.refused += 1
        return True

    def _greet(
        self, peer: _Peer, sender: object, _sent_s: object, token: object
    ) -> bool:
        peer.is_known = secrets.compare_digest(
            str(token).encode(), self._token.encode()
        )
        if not peer.is_known:
            return False
        if sender == machine() and not peer.is_same_clock:
            peer.is_same_clock = True
            self._prompt.unregister(peer.socket)
            self._calm.register(peer.socket, selectors.EVENT_READ)
        with contextlib.suppress(OSError):
            peer.socket.send(b"same\n" if peer.is_same_clock else b"other\n")
        return True

    def _mark(
        self, peer: _Peer, word: object, rest: list[object], arrived_s: float
    ) -> None:
        if word == "at":
            sent_s, name = rest
            at_s, doubt_s = self._time(peer, sent_s, arrived_s)
            self.marks.add(name, at_s, at_s, doubt_s)
        elif word == "begin":
            number, sent_s, name = rest
            at_s, doubt_s = self._time(peer, sent_s, arrived_s)
            self.marks.begin((id(peer), finite(number)), name, at_s, doubt_s)
        elif word == "end":
            number, begin_s, sent_s, name = rest
            at_s, doubt_s = self._time(peer, sent_s, arrived_s)
            # The sender's clock is right about how long it took, whatever it shows.
            lasted_s = finite(sent_s) - finite(begin_s)
            key = (id(peer), finite(number))
            self.marks.end(key, name, at_s - lasted_s, at_s, doubt_s)
        else:
            raise Wrong

    def _time(self, peer: _Peer, sent: object, arrived_s: float) -> tuple[float, float]:
        """Return the time of a message on this host's clock, and by how much it may be wrong."""
        sent_s = finite(sent)
        if abs(sent_s) > MOST_UPTIME_S:
            raise Wrong
        lag_s = arrived_s - sent_s
        if peer.is_same_clock:
            if lag_s < -AHEAD_S:
                raise Wrong
            return sent_s, 0.0
        least_s = lag_s if peer.least_lag_s is None else min(lag_s, peer.least_lag_s)
        peer.least_lag_s = least_s
        return arrived_s, peer.delay_s + (lag_s - least_s)

    def _end(self, peer: _Peer) -> None:
        (self._calm if peer.is_same_clock else self._prompt).unregister(peer.socket)
        del self._peers[peer.socket]
        peer.socket.close()


@contextlib.contextmanager
def listening(
    marks: MarkList, monotonic: Callable[[], float], path: Path | None = None
) -> Iterator[MarksListener | None]:
    """Listen for marks during a with statement. Where no socket can be made, and none was asked for, there is none."""
    try:
        listener = MarksListener(marks, monotonic, path)
    except (MeterError, OSError) as error:
        if path is not None:
            raise
        _log.warning("This recording takes no marks: %s", error)
        yield None
        return
    try:
        yield listener
    finally:
        listener.close()


def _pair() -> tuple[socket.socket, socket.socket]:
    """Return two sockets that are connected."""
    if HAS_UNIX_SOCKETS:
        return socket.socketpair()
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname()[:2])
        far, _ = server.accept()
    return near, far


def _has_more(peer: socket.socket) -> bool:
    try:
        return bool(peer.recv(1, socket.MSG_PEEK))
    except OSError:
        return False


def _words(line: bytes) -> list[object]:
    message = json.loads(line)
    if not isinstance(message, list) or not message:
        raise Wrong
    return message


def _free(path: Path) -> Path:
    """Return the path once no socket is in its place; that of a recording that has ended is removed."""
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise _wrong(f"{path} has more than {LONGEST_PATH} bytes")
    if not is_there(path):
        return path
    if not path.is_socket():
        raise _wrong(f"{path} exists already and is no socket")
    with contextlib.closing(unix_socket()) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            path.unlink()
            return path
    raise _wrong(f"Another recording listens at {path}")


def _wrong(why: str) -> MeterError:
    return MeterError(
        "marks-address", f"{why}: marks need a path of their own, such as ./marks."
    )
