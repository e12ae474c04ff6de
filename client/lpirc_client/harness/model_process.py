"""The harness's side of the model's process: starts it, sends requests, and describes in one sentence how it died."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from types import TracebackType
from typing import IO, Self

from lpirc_client.errors import ModelError, missing_extra
from lpirc_client.harness.confinement import OWN_PARENT, Confinement, confinement
from lpirc_client.harness.frames import (
    REASON_CHARACTERS,
    BrokenFrameError,
    Message,
    receive,
    send,
)

START_S = 60.0
DYING_S = 5.0
LONGEST_WAIT_S = 3600.0
"""Longest wait in one system call, since the call fails for very large numbers of seconds."""

LAST_WORDS_BYTES = 4096
LARGEST_ANSWER = 64 << 20
"""Maximum bytes of an answer with a batch's outputs; a process that a model has broken may announce any length."""

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
SIGNALLED = 128  # to which bwrap adds the signal that ended its process
OUT_OF_MEMORY = (
    "bad_alloc",
    "length_error",
    "MemoryError",
    "Cannot allocate memory",
    "out of memory",
)


class ModelProcess:
    """A process that runs models; a context manager.

    It and its children end with the block, or with the process that started it.

    `name` begins the sentence of each error. Before its first request the process `is_new`: it may still be starting.
    It handles one request at a time; after a ModelError it either accepts the next one or `is_dead`. `confined` None
    means: confined if this machine allows it.
    """

    def __init__(
        self,
        name: str,
        core: int | None = None,
        confined: Confinement | None = None,
    ) -> None:
        self.name = name
        self.confinement = confinement() if confined is None else confined
        self.is_dead = False
        self.is_new = True
        self._last_words = ""
        self._memory_mb = 0
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        request_end, self._requests = os.pipe()
        self._answers, answer_end = os.pipe()
        parent = OWN_PARENT if self.confinement.prefix else os.getpid()
        arguments = [request_end, answer_end, parent, *([] if core is None else [core])]
        try:
            child = ["-m", "lpirc_client.harness.child", *map(str, arguments)]
            self._process = launch(
                self.confinement, child, self._log, (request_end, answer_end)
            )
        finally:
            os.close(request_end)
            os.close(answer_end)
        self.pid = self._process.pid
        os.set_blocking(self._requests, False)
        os.set_blocking(self._answers, False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def ask(
        self,
        doing: str,
        request: Message,
        within_s: float,
        payload: bytes | memoryview = b"",
    ) -> tuple[Message, memoryview]:
        """Send a request and wait for its answer, JSON and bytes, at most `within_s` seconds of wall time.

        `doing` completes the sentence "… while it was being …". Raises ModelError `model-crashed`, `model-ended`,
        `model-timeout`, `out-of-memory`, `model-failed`, `missing-extra`.
        """
        wait = partial(_wait, time.monotonic() + within_s)
        self.is_new = False
        self._memory_mb = request.get("memory_mb", self._memory_mb)
        try:
            with contextlib.suppress(
                BrokenPipeError
            ):  # it may have said why before it ended
                send(self._requests, {**request, "within_s": within_s}, payload, wait)
            received = receive(self._answers, LARGEST_ANSWER, wait)
        except TimeoutError as error:
            self.end()
            raise self._timeout(doing, within_s) from error
        except BrokenFrameError as error:
            raise self._death(doing, within_s) from error
        if received is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(DYING_S)
            raise self._death(doing, within_s)
        answer, content = received
        if "failed" in answer:
            reason = (str(answer["failed"]), str(answer.get("reason", "")))
            raise self._failure(doing, *(words[:REASON_CHARACTERS] for words in reason))
        return answer, memoryview(content)

    def end(self) -> None:
        """Kill the rest of the process and of its children; may be called again."""
        if self._requests < 0:
            return
        self.is_dead = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._requests)
        os.close(self._answers)
        self._requests = self._answers = -1
        self._last_words = self._read_log()
        self._log.close()

    def _timeout(
        self,
        doing: str,
        within_s: float,
    ) -> ModelError:
        sentence = f"{self.name}: no answer within {within_s:g} s while it was being {doing}; --timeout-s allows more"
        return ModelError("model-timeout", sentence, within_s=within_s)

    def _death(
        self,
        doing: str,
        within_s: float,
    ) -> ModelError:
        """Return the error that describes how the process died. If it still lives, it sent nonsense: kill it first."""
        code = self._process.poll()
        self.end()
        if any(word in self._last_words for word in OUT_OF_MEMORY):
            return self._no_memory(doing)
        if code is None:
            sentence = f"{self.name}: the model broke its process while being {doing}; the file is damaged"
            return ModelError("model-crashed", sentence)
        if self.confinement.prefix and code > SIGNALLED:
            code = SIGNALLED - code
        if code == -signal.SIGXCPU:
            return self._timeout(doing, within_s)
        if code == -signal.SIGKILL:
            sentence = f"{self.name}: killed by the system while it was being {doing}, likely for lack of memory"
            return ModelError("out-of-memory", sentence, signal="SIGKILL")
        if code < 0:
            name = _signal_name(-code)
            sentence = f"{self.name}: it crashed the runtime ({name}) while it was being {doing}; the model is damaged"
            return ModelError("model-crashed", sentence, signal=name)
        sentence = f"{self.name}: its process ended with exit code {code} while it was being {doing}"
        return ModelError("model-ended", sentence, exit_code=code)

    def _failure(
        self,
        doing: str,
        kind: str,
        reason: str,
    ) -> ModelError:
        if kind == "ImportError":
            return missing_extra("running models", reason, "models")
        if kind == "MemoryError" or "Failed to allocate memory" in reason:
            return self._no_memory(doing)
        sentence = f"{self.name}: the runtime refused it while it was being {doing}: {reason or kind}"
        return ModelError("model-failed", sentence, reason=reason or kind)

    def _no_memory(self, doing: str) -> ModelError:
        needs = f"it needs more than the {self._memory_mb} MB of memory allowed while it is being {doing}"
        sentence = f"{self.name}: {needs}; --memory-mb allows more"
        return ModelError("out-of-memory", sentence, memory_mb=self._memory_mb)

    def _read_log(self) -> str:
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - LAST_WORDS_BYTES))
        return self._log.read().decode(errors="replace")


def launch(
    confined: Confinement,
    arguments: Sequence[str],
    log: IO[bytes],
    pipes: tuple[int, ...] = (),
) -> subprocess.Popen[bytes]:
    """Start Python with these pipes. Confined, it has an empty environment; else the present one without passwords."""
    inherited = {} if confined.prefix else os.environ
    return subprocess.Popen(  # noqa: S603 - our own program
        [*confined.prefix, sys.executable, "-P", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=pipes,
        env={
            name: inherited[name] for name in inherited if not name.startswith("LPIRC_")
        }
        | ONE_THREAD,
        start_new_session=True,
    )


def _wait(
    until: float,
    descriptor: int,
    event: int,
) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, event)
        while (left_s := until - time.monotonic()) > 0:
            if selector.select(min(left_s, LONGEST_WAIT_S)):
                return
    raise TimeoutError


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
