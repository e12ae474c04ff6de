"""Values of records as JSON: back exactly, and refused in one sentence when a stranger wrote them."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from lpirc_power.energy import Measurement
from lpirc_power.errors import MeterError
from lpirc_power.meter import Drift, Limits, Setup
from lpirc_power.meter_standing import Standing
from lpirc_power.one_line import one_line
from lpirc_power.record.document import Mark, Moment
from lpirc_power.record.stored_values import restored, stored

MEASURED = Measurement(
    1.0 / 3.0,
    math.nan,
    0.1,
    math.inf,
    Setup(150.0, None, 0.1, 3),
    "WT310E",
    Limits(0.001, 0.001, 0.002, 0.0007, 0.3, drift=Drift(2e-4, 5e-4, source="page 7")),
    changes=("range 15 V", 'a "quoted" word'),
    standing=Standing.LOOPBACK,
)
MARK = stored(Mark("a", 1.0, 2.0))


def there_and_back(value: Any) -> Any:
    return restored(type(value), json.loads(json.dumps(stored(value))), "it")


def test_a_measurement_is_back_to_the_last_bit_with_what_json_cannot_write() -> None:
    assert repr(there_and_back(MEASURED)) == repr(MEASURED)


@given(some.floats(), some.floats(-1e299, 1e299), some.text())
def test_every_number_and_every_name_is_back(
    range_v: float, begin_s: float, name: str
) -> None:
    setup = Setup(range_v if abs(range_v) < 1e300 else math.inf, None, begin_s, 0)
    assert repr(there_and_back(setup)) == repr(setup)
    mark = Mark(name, begin_s, None)
    assert there_and_back(mark) == Mark(one_line(name), begin_s, None)


def test_a_moment_is_back_to_the_microsecond() -> None:
    moment = Moment(1e6 + 1e-9, datetime(2026, 1, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert there_and_back(moment) == moment


def test_fields_of_a_later_version_are_ignored_and_absent_ones_have_their_default() -> (
    None
):
    given = {"name": "a", "begin_s": 1, "end_s": None, "colour": [1, {}]}
    assert restored(Mark, given, "it") == Mark("a", 1.0, None)


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ([], "it is []"),
        ({"name": "a", "end_s": 1.0}, "it.begin_s is missing"),
        (MARK | {"name": 5}, "it.name is 5"),
        (MARK | {"name": None}, "it.name is None"),
        (MARK | {"name": "\ud800"}, "it.name is '\\ud800'"),
        (MARK | {"begin_s": True}, "it.begin_s is True"),
        (MARK | {"begin_s": "1"}, "it.begin_s is '1'"),
        (MARK | {"begin_s": 10**400}, "it.begin_s is too large a number"),
        (MARK | {"begin_s": 1e301}, "it.begin_s is 1e+301"),
        (MARK | {"end_s": "x" * 1000}, "it.end_s is 'xxx"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(document: Any, place: str) -> None:
    with pytest.raises(MeterError) as raised:
        restored(Mark, document, "it")
    assert raised.value.code == "recording-record"
    assert raised.value.sentence.startswith(place)
    assert len(raised.value.sentence) < 120


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(MeterError, match=r"it\.utc is '2026-01-01'"):
        restored(Moment, {"monotonic_s": 1, "utc": "2026-01-01"}, "it")


def test_a_standing_that_does_not_exist_is_refused() -> None:
    with pytest.raises(MeterError, match=r"it\.standing is 'grand'"):
        restored(Measurement, stored(MEASURED) | {"standing": "grand"}, "it")
