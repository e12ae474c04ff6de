from __future__ import annotations

import math

import pytest

from referee.errors import RefereeError
from tests.tracks.runs import measured


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, 0.0, -1.0, 1e-320, 1e300],
)
@pytest.mark.parametrize("name", ["latency_ms", "total_s", "longest_ms", "energy_wh"])
def test_a_time_or_an_energy_that_cannot_be_is_refused_by_its_name(
    name: str,
    value: float,
) -> None:
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
    [
        ({"images": 0}, "images"),
        ({"processed": -1}, "processed"),
        ({"processed": 11}, "processed"),
    ],
)
def test_a_run_has_images_and_processes_no_more_than_there_are(
    fields: dict[str, int],
    word: str,
) -> None:
    with pytest.raises(RefereeError, match=word):
        measured(**fields)
