"""The model's process: `python -m lpirc_client.harness.child REQUESTS ANSWERS PARENT [CORE]`.

It sets its own limits before it touches a model. Then it takes requests from one pipe and answers through another, one
at a time, until the requests end: `load` (payload: the model), `run` (payload: images), `repeat`. If a request fails,
the answer is the reason; the parent reports a model that kills this process.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import sys
import time
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpirc_client.harness.frames import REASON_CHARACTERS, Message, receive, send
from lpirc_client.operating_system import die_with, stay_on

if TYPE_CHECKING:
    from lpirc_client.harness.inference import LoadedModel

OWN_MB = 128
"""Megabytes for a batch of images and its outputs, beyond the memory that the model may use."""
LOG_BYTES = 1 << 20
NEXT_MODEL_BYTES = 1 << 30
"""Memory reserved to read the next model; code that has taken over the runtime could use it up."""
OWN_PROCESSES = 16
"""Threads of the runtime in addition to a model's own. Linux limits both together, as processes."""
CPU_SLACK_S = 5
LARGEST_LIMIT = (1 << 63) - 1
"""Largest limit that the system call accepts."""


class Worker:
    """Holds the loaded model and answers requests."""

    def __init__(self) -> None:
        self._model: LoadedModel | None = None
        self._memory_bytes = 0
        self._threads = 1

    def answer(
        self,
        request: Message,
        payload: bytearray,
    ) -> tuple[Message, bytes]:
        """Carry out the request; return the answer's JSON and bytes."""
        self._threads = request.get("threads", self._threads)
        _limit_cpu(request["within_s"] * self._threads)
        if request["do"] == "load":
            return self._load(request, payload), b""
        if self._model is None:
            raise RuntimeError("no model is loaded")
        if request["do"] == "repeat":
            count, start_s, end_s = self._model.repeat(request["seconds"])
            return {
                "inferences": count,
                "start_monotonic_s": start_s,
                "end_monotonic_s": end_s,
            }, b""
        try:
            return self._run(self._model, request, payload)
        except RuntimeError as error:
            raise self._explained(error, self._model.tensors_bytes()) from error

    def _load(
        self,
        request: Message,
        data: bytearray,
    ) -> Message:
        runtime = import_module(f"lpirc_client.harness.run_{request['runtime']}")
        self._model = None
        _unlimit_memory()
        memory_mb = request["memory_mb"] + OWN_MB
        _limit_memory(memory_mb)
        if request.get("is_confined"):
            _limit_processes(request["threads"])
        self._memory_bytes = memory_mb << 20
        before_s = time.perf_counter()
        try:
            model: LoadedModel = runtime.RuntimeModel(
                data, request["threads"], request["delegate"]
            )
        except RuntimeError as error:
            raise self._explained(
                error, runtime.RuntimeModel.stated_bytes(data)
            ) from error
        self._model = model
        return asdict(model.signature) | {
            "load_ms": (time.perf_counter() - before_s) * 1e3
        }

    def _explained(
        self,
        error: RuntimeError,
        tensors: int,
    ) -> Exception:
        """Return a MemoryError if the tensors exceed the limit, else `error`.

        The runtime itself does not say that memory for its tensors ran out.
        """
        return MemoryError() if tensors > self._memory_bytes else error

    def _run(
        self,
        model: LoadedModel,
        request: Message,
        payload: bytearray,
    ) -> tuple[Message, bytes]:
        import numpy as np

        image = model.signature.inputs[0]
        pixels = np.frombuffer(payload, np.dtype(image.dtype)).reshape(
            -1, *image.shape[1:]
        )
        run = model.run(pixels, request["budget_ns"], request["slice_ns"])
        arrays = [run.times_ns, *run.outputs]
        head: dict[str, Any] = {
            "done": len(run.times_ns),
            "start_monotonic_s": run.start_monotonic_s,
            "end_monotonic_s": run.end_monotonic_s,
            "processor_s": run.processor_s,
        }
        return head, b"".join(array.tobytes() for array in arrays)


def _confine(parent: int, core: int | None) -> None:
    """Die with process `parent`, stay on `core`, leave no core dump, write no file over 1 MB (the log)."""
    die_with(parent)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LOG_BYTES, LOG_BYTES))
    if core is not None:
        stay_on(core)


def _limit_memory(memory_mb: int) -> None:
    """Allow this much address space beyond what the process has now, which includes the runtime's mappings."""
    most = _address_space_bytes() + (memory_mb << 20)
    _set_soft(resource.RLIMIT_AS, most)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY and most + NEXT_MODEL_BYTES < LARGEST_LIMIT:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (soft, most + NEXT_MODEL_BYTES))


def _limit_processes(threads: int) -> None:
    """Allow no more processes than the runtime has threads.

    Applied only in a separate namespace: elsewhere Linux counts all processes of the user. It never limits root.
    """
    most = threads + OWN_PROCESSES
    with contextlib.suppress(
        ValueError, OSError
    ):  # an earlier model of this process had fewer threads
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))


def _unlimit_memory() -> None:
    """Allow any address space again, to read the next model."""
    _set_soft(resource.RLIMIT_AS, resource.RLIM_INFINITY)


def _limit_cpu(seconds: float) -> None:
    """Allow this much more CPU time: the last resort if no other process enforces the timeout."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _set_soft(
        resource.RLIMIT_CPU,
        math.ceil(used.ru_utime + used.ru_stime + seconds) + CPU_SLACK_S,
    )


def _set_soft(limit: int, value: int) -> None:
    value = min(value, LARGEST_LIMIT)
    hard = resource.getrlimit(limit)[1]
    if hard != resource.RLIM_INFINITY:
        value = hard if value == resource.RLIM_INFINITY else min(value, hard)
    with contextlib.suppress(
        ValueError, OSError
    ):  # macOS knows RLIMIT_AS but does not take it
        resource.setrlimit(limit, (value, hard))


def _address_space_bytes() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return 1 << 30
    return pages * os.sysconf("SC_PAGE_SIZE")


def main(arguments: list[str]) -> int:
    """Answer requests until they end."""
    requests, answers, parent, *core = map(int, arguments)
    _confine(parent, core[0] if core else None)
    worker = Worker()
    while (frame := receive(requests)) is not None:
        try:
            message, payload = worker.answer(*frame)
        except ImportError as error:
            message = {"failed": "ImportError", "reason": str(error.name)}
            payload = b""
        except Exception as error:  # noqa: BLE001 - whatever a model raises is the answer
            reason = " ".join(str(error).split())[:REASON_CHARACTERS]
            message = {"failed": type(error).__name__, "reason": reason}
            payload = b""
        del frame
        send(answers, message, payload)
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)  # a damaged model may crash the runtime's destructors
