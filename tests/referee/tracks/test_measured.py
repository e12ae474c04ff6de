from __future__ import annotations

import math
from typing import Any

import pytest

from referee.errors import RefereeError
from referee.tracks import measured_from
from tests.referee.tracks.runs import measured


def document(**changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "result_version": 1,
        "images": {"count": 4},
        "processed": 3,
        "latency": {"mean_ms": 12.5, "max_ms": 20.0, "first_ms": 31.0, "total_s": 0.0625},
    }
    return made | changes


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0.0, -1.0, 1e-320, 1e300])
@pytest.mark.parametrize("name", ["latency_ms", "total_s", "longest_ms", "energy_wh"])
def test_a_time_or_an_energy_that_cannot_be_is_refused_by_its_name(name: str, value: float) -> None:
    with pytest.raises(RefereeError, match=name) as caught:
        measured(**{"total_s": 0.3, name: value})
    assert caught.value.code == "bad-measurement"
    assert str(value) in caught.value.sentence


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.001, 100.001])
def test_an_accuracy_lies_between_0_and_100_percent(value: float) -> None:
    with pytest.raises(RefereeError, match="accuracy_percent"):
        measured(value)


@pytest.mark.parametrize(
    ("fields", "word"),
    [({"images": 0}, "images"), ({"processed": -1}, "processed"), ({"processed": 11}, "processed")],
)
def test_a_run_has_images_and_processes_no_more_than_there_are(fields: dict[str, int], word: str) -> None:
    with pytest.raises(RefereeError, match=word):
        measured(**fields)


def test_a_result_document_gives_its_numbers_and_the_longest_inference_that_counts() -> None:
    run = measured_from(document(), 75.0, energy_wh=0.002)
    assert (run.accuracy_percent, run.latency_ms, run.images, run.processed) == (75.0, 12.5, 4, 3)
    assert (run.total_s, run.longest_ms, run.energy_wh) == (0.0625, 20.0, 0.002)
    assert run.frames_per_s == pytest.approx(80)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"result_version": 2}, "result_version = 2"),
        ({"images": 4}, "images.count = None"),
        ({"processed": True}, "processed = True"),
        ({"latency": {"mean_ms": "12"}}, "latency.mean_ms = '12'"),
        ({"latency": {"mean_ms": math.nan}}, "latency.mean_ms = nan"),
    ],
)
def test_a_document_that_lacks_a_number_is_refused_by_its_name(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(RefereeError, match=word) as caught:
        measured_from(document(**changes), 75.0)
    assert caught.value.code == "bad-result"
