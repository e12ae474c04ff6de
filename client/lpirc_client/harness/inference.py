"""A loaded model of any runtime, and its timed loop."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_client.harness.model import Signature

View = Callable[[], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Run:
    """Results of a batch: the time of each invoke (done,), an array (done, *shape) per output, start and end."""

    times_ns: NDArray[np.int64]
    outputs: list[NDArray[Any]]
    start_monotonic_s: float
    end_monotonic_s: float
    processor_s: float


class LoadedModel(ABC):
    """A model in its runtime, ready to `invoke`. Exceptions of the runtime pass unchanged."""

    signature: Signature
    invoke: Callable[[], object]

    @abstractmethod
    def views(self) -> tuple[View, list[View]]:
        """Return functions that give access to the input and the outputs, for tensors of the right types and shapes."""

    def tensors_bytes(self) -> int:
        """Return the size of all tensors at their current shapes; 0 if the runtime itself checks memory."""
        return 0

    @staticmethod
    def stated_bytes(_: bytes | bytearray) -> int:
        """Return the tensors' size at the shapes that a file states, without allocation; 0 as in `tensors_bytes`."""
        return 0

    def run(
        self,
        pixels: NDArray[Any],
        budget_ns: int,
        slice_ns: int,
    ) -> Run:
        """Answer images (N, *shape of one) until the invokes have taken `budget_ns`, or the whole call `slice_ns`.

        It answers at least one. Raises ValueError if an output's shape differs from the signature's.
        """
        take, fetches = self.views()
        invoke = self.invoke
        clock = time.perf_counter_ns
        times_ns = np.zeros(len(pixels), np.int64)
        kept = [
            np.zeros((len(pixels), *one.shape), np.dtype(one.dtype))
            for one in self.signature.outputs
        ]
        shapes = [one.shape[1:] for one in kept]
        slots = list(zip(fetches, kept, shapes, strict=True))
        start_monotonic_s = time.monotonic()
        until_ns = clock() + slice_ns
        done = 0
        before_s = time.thread_time()
        for image in pixels:
            take()[0] = image
            before_ns = clock()
            invoke()
            after_ns = clock()
            took_ns = after_ns - before_ns
            times_ns[done] = took_ns
            for fetch, room, shape in slots:
                view = fetch()
                if view.shape != shape:
                    raise ValueError(
                        f"an output changed its shape from {list(shape)} to {list(view.shape)}"
                    )
                room[done] = view
                del view  # the next invoke does not run while it exists
            done += 1
            budget_ns -= took_ns
            if budget_ns <= 0 or after_ns >= until_ns:
                break
        processor_s = time.thread_time() - before_s
        end_monotonic_s = time.monotonic()
        outputs = [room[:done] for room in kept]
        return Run(
            times_ns[:done],
            outputs,
            start_monotonic_s,
            end_monotonic_s,
            processor_s,
        )

    def repeat(self, seconds: float) -> tuple[int, float, float]:
        """Invoke on the last input for this long; return the number of invokes, and the monotonic start and end."""
        invoke = self.invoke
        clock = time.monotonic
        start_s = clock()
        count = 0
        while True:
            invoke()
            count += 1
            end_s = clock()
            if end_s - start_s >= seconds:
                return count, start_s, end_s
