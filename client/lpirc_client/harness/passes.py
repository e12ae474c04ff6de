"""Runs the images through the model's process, batch by batch, pass by pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_client.harness import latency
from lpirc_client.harness.images import ImageFile, content
from lpirc_client.harness.model import Signature
from lpirc_client.harness.model_process import ModelProcess
from lpirc_client.harness.model_settings import Settings
from lpirc_client.harness.outputs import (
    Answers,
    Predictions,
    check_counts,
    detections,
    labels,
    nonsense,
)
from lpirc_client.harness.preprocessing import decode, model_input

SLICE_S = 1.0
"""A batch ends after the inference that reaches this; then progress is reported and the timeout restarts."""

BATCH_BYTES = 32 << 20
BATCH_IMAGES = 1000
ENERGY_LOOP = {"inferences": int, "start_monotonic_s": float, "end_monotonic_s": float}

Size = tuple[int, int]
"""Width and height of an original image in pixels."""


@dataclass
class Repeat:
    """One pass over the images: `times_ns` of the counted inferences, by batch.

    `first_ns` is the first inference, which is not counted.
    """

    first_ns: int = 0
    times_ns: list[NDArray[np.int64]] = field(default_factory=list)
    processed: int = 0
    stopped_by: str = "end"

    @property
    def counted_ns(self) -> NDArray[np.int64]:
        """Return the times of the counted inferences (N,)."""
        return np.concatenate(self.times_ns)


class Passes:
    """A loaded model and its images (at least two). `report` is called with progress lines.

    `predictions` come from the first pass. `span_s` lists the monotonic start and end of each batch in turn;
    `processor_s` is the processor time of all batches.
    """

    def __init__(
        self,
        process: ModelProcess,
        signature: Signature,
        images: Sequence[ImageFile],
        settings: Settings,
        report: Callable[[str], None],
    ) -> None:
        self._process = process
        self._signature = signature
        self._images = images
        self._settings = settings
        self._report = report
        self.predictions = Predictions()
        self.span_s: list[float] = []
        self.processor_s = 0.0

    def repeats(self) -> list[Repeat]:
        """Repeat the pass over the images until the mean is stable, as often as the settings allow."""
        done: list[Repeat] = []
        means_ms: list[float] = []
        while len(done) < self._settings.repeats and not latency.is_stable(means_ms):
            if done and self._settings.cooldown_s:
                self._report(f"cooling down for {self._settings.cooldown_s:g} s")
                time.sleep(self._settings.cooldown_s)
            done.append(self._repeat(is_first=not done))
            means_ms.append(float(done[-1].counted_ns.mean()) / latency.NS_PER_MS)
            self._report(f"repeat {len(done)}: {means_ms[-1]:.3f} ms on average")
        return done

    def _repeat(self, *, is_first: bool) -> Repeat:
        repeat = Repeat()
        total = len(self._images)
        left_ns = _ns(self._settings.budget_s)
        mean_ns = SLICE_S * 1e9
        while repeat.processed < total and left_ns > 0:
            # The first image alone: it is not counted, and its time sets the size of the next batch.
            batch = self._batch(mean_ns, left_ns) if repeat.processed else 1
            images = self._images[repeat.processed : repeat.processed + batch]
            answers, sizes = self._batch_answers(images, left_ns)
            done = len(answers.times_ns)
            if is_first:
                self._keep(
                    answers, [image.number for image in images[:done]], sizes[:done]
                )
            if repeat.processed:
                repeat.times_ns.append(answers.times_ns)
                left_ns -= int(answers.times_ns.sum())
            else:
                repeat.first_ns = int(answers.times_ns[0])
            repeat.processed += done
            mean_ns = float(answers.times_ns.mean())
            self._report(f"{repeat.processed} of {total} images")
        repeat.stopped_by = "end" if repeat.processed == total else "budget"
        return repeat

    def _batch(
        self,
        mean_ns: float,
        left_ns: int,
    ) -> int:
        """Return the number of images, within bounds, that fit at this pace into a slice or the rest of the budget."""
        fitting = min(BATCH_BYTES // self._signature.inputs[0].size_bytes, BATCH_IMAGES)
        lasting = int(min(SLICE_S * 1e9, left_ns) / max(mean_ns, 1.0)) + 1
        return min(fitting, lasting)

    def _batch_answers(
        self,
        images: Sequence[ImageFile],
        left_ns: int,
    ) -> tuple[Answers, list[Size]]:
        tensor = self._signature.inputs[0]
        pixels = np.empty((len(images), *tensor.shape[1:]), np.dtype(tensor.dtype))
        sizes: list[Size] = []
        for place, image in enumerate(images):
            picture = decode(image, content(image))
            sizes.append((picture.shape[1], picture.shape[0]))
            pixels[place] = model_input(picture, self._settings, tensor)
        request = {"do": "run", "budget_ns": left_ns, "slice_ns": int(SLICE_S * 1e9)}
        within_s = SLICE_S + self._settings.timeout_s
        head, body = self._process.ask("run", request, within_s, pixels.data.cast("B"))
        answers = Answers.parse(self._process.name, head, body, self._signature)
        if len(answers.times_ns) > len(images):
            raise nonsense(self._process.name)
        self.span_s += [answers.start_monotonic_s, answers.end_monotonic_s]
        self.processor_s += answers.processor_s
        return answers, sizes

    def _keep(
        self,
        answers: Answers,
        numbers: list[int],
        sizes: Sequence[Size],
    ) -> None:
        if self._settings.task == "classification":
            self.predictions.add(labels(answers, numbers))
            return
        for problem in check_counts(
            self._process.name, answers, [f"image {number}" for number in numbers]
        ):
            raise problem
        self.predictions.add(detections(answers, numbers, sizes))

    def processor_share(self) -> float | None:
        """Return the share of its time in which a single-threaded model had a processor; None for several threads."""
        running_s = sum(self.span_s[1::2]) - sum(self.span_s[::2])
        return (
            min(1.0, self.processor_s / running_s)
            if self._settings.threads == 1 and running_s
            else None
        )

    def energy_loop(self) -> dict[str, Any] | None:
        """Repeat the last input as long as the settings say; return None if they ask for no energy loop."""
        seconds = self._settings.energy_loop_s
        if seconds is None:
            return None
        self._report(f"repeating the last input for {seconds:g} s")
        request = {"do": "repeat", "seconds": seconds}
        answer, _ = self._process.ask(
            "run", request, seconds + self._settings.timeout_s
        )
        try:
            return {name: kind(answer[name]) for name, kind in ENERGY_LOOP.items()}
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise nonsense(self._process.name) from error


def _ns(seconds: float | None) -> int:
    return 1 << 62 if seconds is None else max(1, int(seconds * 1e9))
