"""Confines the models that teams hand in: by a systemd unit, by bubblewrap, or not at all.

The unit (docs/deploy/referee-models.socket) starts one process for each model, under a user of its own, and proves that
it is confined before it runs anything. If the unit's socket is missing, the device harness confines a model by
bubblewrap.
"""

from __future__ import annotations

import io
import json
import logging
import math
import os
import socket
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from referee.clock import Clock
from referee.config.tracks import RESULTS, ModelTrack
from referee.contest import Contest
from referee.errors import RefereeError

SOCKET_VARIABLE = "REFEREE_MODELS"
SOCKET = Path("/run/referee-models.sock")
PROGRAM = (sys.executable, "-P", "-m", "lpirc_client.harness.cli")
NOT_CONFINED = "not-confined"
"""Error code for a model that is not confined, both here and in the harness."""
LOOK_S = 60.0
KEPT_S = 5.0
"""Seconds for which a check is cached. When a model runs, it is confined or refused whatever the check found."""
LONGEST_S = 300.0
"""Maximum seconds of a check, the same as RuntimeMaxSec of the unit.

The harness's own limits normally end a check earlier.
"""
LARGEST_ANSWER = 64 << 20
PART_BYTES = 1 << 16
ADVICE = (
    "install bubblewrap (bwrap) or the systemd unit docs/deploy/referee-models.socket. To let the track's models run "
    "unconfined, set unconfined = true in its [[tracks]] of contest.toml"
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Confinement:
    """A sentence on how models are confined on this host; if `is_in_force` is false, on why they are not."""

    is_in_force: bool
    sentence: str


def confinement_of(hidden: Sequence[Path]) -> Confinement:
    """Test how a model would be confined here; it must not be able to see the files `hidden`."""
    try:
        unit = unit_socket()
        if unit is not None:
            return Confinement(
                True, _unit_sentence(ask_unit(unit, None, [], {}, hidden))
            )
        _require_bubblewrap()
    except RefereeError as error:
        return Confinement(False, error.sentence)
    by_process = "memory is limited for each process, not by a cgroup"
    sentence = f"Models run confined by bubblewrap, without network or access to the contest's files; {by_process}."
    return Confinement(True, sentence)


class Looks:
    """Caches for a few seconds how models are confined. Tests one at a time, since each test starts a process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[tuple[Path, ...], tuple[float, Confinement]] = {}

    def confinement_of(self, hidden: Sequence[Path]) -> Confinement:
        """Return how a model would be confined here, so that it cannot reach the `hidden` paths."""
        key = tuple(hidden)
        with self._lock:
            until_s, found = self._known.get(key, (-math.inf, None))
            if found is None or self._clock.monotonic_s() >= until_s:
                found = confinement_of(hidden)
                self._known[key] = (self._clock.monotonic_s() + KEPT_S, found)
            return found


_LOOKS = Looks(Clock())


def takes_models(track: ModelTrack) -> bool:
    """Return True if a track takes models, False if it takes results files."""
    return track.rule_name != RESULTS


def require_confined(contest: Contest, track: ModelTrack) -> None:
    """Raise RefereeError `not-confined` unless models of a track run confined here or may run unconfined."""
    if takes_models(track) and not track.unconfined:
        found = _LOOKS.confinement_of(hidden_files(contest))
        if not found.is_in_force:
            raise RefereeError(
                NOT_CONFINED,
                f"The track {track.name} takes no models: {found.sentence}",
            )


def unconfined_tracks(
    contest: Contest, found: Confinement
) -> Iterator[tuple[ModelTrack, str]]:
    """If models are not confined, yield each track that takes models, with the consequence."""
    for track in contest.config.tracks:
        if takes_models(track) and not found.is_in_force:
            words = (
                "runs models with all rights of the server's user"
                if track.unconfined
                else "takes no models"
            )
            yield track, f"The track {track.name} {words}: {found.sentence}"


def note_confinement(contest: Contest) -> None:
    """Log how the models of this contest are confined, if a track takes any."""
    if any(map(takes_models, contest.config.tracks)):
        found = confinement_of(hidden_files(contest))
        if found.is_in_force:
            logger.info("%s", found.sentence)
        for _, sentence in unconfined_tracks(contest, found):
            logger.error("%s", sentence)


def hidden_files(contest: Contest) -> list[Path]:
    """Return the files that no model may see: the contest folder, and the test sets of its tracks."""
    sets = {
        name
        for track in contest.config.tracks
        for name in (track.testset, track.holdout)
        if name
    }
    folders = (contest.folder, *(contest.folder / name for name in sorted(sets)))
    return [folder.resolve() for folder in folders]


def unit_socket() -> Path | None:
    """Return the socket of the systemd unit for models, or None if there is none."""
    path = Path(os.environ.get(SOCKET_VARIABLE) or SOCKET)
    return path if path.is_socket() else None


def ask_unit(
    unit: Path,
    command: str | None,
    arguments: Sequence[str],
    files: Mapping[str, bytes],
    hidden: Sequence[Path],
    within_s: float = LONGEST_S,
) -> dict[str, Any]:
    """Have the unit run a harness `command` on `files` (by name in the archive).

    With None it only tests the confinement.

    Returns the limits of the unit and the harness's output. Raises RefereeError `not-confined` if the unit does not
    answer or can reach what it must not, and `check-failed` if it ended without an answer.
    """
    request = {"command": command, "arguments": [*arguments], "uid": os.getuid()}
    request["hidden"] = [str(path) for path in hidden]
    content = {"request.json": json.dumps(request).encode(), **files}
    until_s = Clock().monotonic_s() + within_s
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(within_s)
        try:
            connection.connect(str(unit))
        except OSError as error:
            sentence = f"The systemd unit for models at {unit} does not answer ({error.strerror}); {ADVICE}."
            raise RefereeError(NOT_CONFINED, sentence) from error
        with suppress(
            BrokenPipeError, ConnectionResetError
        ):  # it ended before it had read all; did it say why?
            _send(connection, content)
        answer = _received(connection, until_s)
    if "open_to" in answer:
        sentence = f"The systemd unit for models at {unit} does not confine models: {answer['open_to']}; {ADVICE}."
        raise RefereeError(NOT_CONFINED, sentence)
    return answer


def _send(connection: socket.socket, files: Mapping[str, bytes]) -> None:
    with (
        connection.makefile("wb") as stream,
        tarfile.open(fileobj=stream, mode="w|") as archive,
    ):
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            member.mode = 0o600
            archive.addfile(member, io.BytesIO(data))
    connection.shutdown(socket.SHUT_WR)


def _received(connection: socket.socket, until_s: float) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = json.loads(b"".join(_parts(connection, until_s)))
    except (OSError, ValueError) as error:
        words = "it ended without an answer, at its limit of memory or time; see journalctl -u 'referee-models@*'"
        sentence = f"The systemd unit for models has not checked the model: {words}"
        raise RefereeError("check-failed", f"{sentence}.") from error
    return answer


def _parts(connection: socket.socket, until_s: float) -> Iterator[bytes]:
    received = 0
    while received <= LARGEST_ANSWER:
        left_s = until_s - Clock().monotonic_s()
        if left_s <= 0:
            raise TimeoutError
        connection.settimeout(left_s)
        part = connection.recv(PART_BYTES)
        if not part:
            return
        received += len(part)
        yield part
    raise ValueError("the answer is too long")


def _unit_sentence(limits: Mapping[str, Any]) -> str:
    memory = limits["memory_bytes"]
    processes = limits["processes"]
    within = (
        "without a memory limit"
        if memory is None
        else f"at most {memory >> 20} MB of memory"
    )
    many = "any number of processes" if processes is None else f"{processes} processes"
    user = "as a separate user, without network or access to the contest's files"
    return f"Models run confined, each in its own systemd unit, {user}, {within} and {many}."


def _require_bubblewrap() -> None:
    try:
        done = subprocess.run(  # noqa: S603 - our own program
            [*PROGRAM, "confinement", "--json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LOOK_S,
            check=False,
        )
        answer = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        raise RefereeError(
            NOT_CONFINED, f"The device harness does not start on this host; {ADVICE}."
        ) from None
    if "error" in answer:
        sentence = str(answer["error"]["sentence"])
        raise RefereeError(
            NOT_CONFINED, f"{sentence[:1].upper()}{sentence[1:]}; {ADVICE}."
        )
