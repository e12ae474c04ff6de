"""The sample detector in contests of other tasks than boxes."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

from lpirc_client.errors import ClientError
from lpirc_client.sample_detector.detector import detect
from lpirc_client.sample_detector.sample_masks import instances, segment
from lpirc_client.wire import Category

MOST_CLASSES = 5


def classify(jpeg: bytes, categories: Sequence[Category]) -> list[int]:
    """Return at most five category ids: of what it sees, the surest first; where it sees nothing, the first ones."""
    by_confidence = sorted(detect(jpeg, categories), key=lambda one: -one[1])
    seen = [int(one[0]) for one in by_confidence]
    guessed = [one.id for one in categories]
    return [*dict.fromkeys([*seen, *guessed])][:MOST_CLASSES]


SAMPLES: Mapping[str, Callable[[bytes, Sequence[Category]], Any]] = {
    "classification": classify,
    "instances": instances,
    "segmentation": segment,
}


def sample_for(task: str) -> Callable[[bytes, Sequence[Category]], Any]:
    """Return the sample detector for a task. Raises ClientError `bad-detector` if there is none."""
    if task not in SAMPLES:
        sentence = f"the sample detector cannot do the task {task}; name your own: --detector module:function"
        raise ClientError("bad-detector", sentence)
    return SAMPLES[task]
