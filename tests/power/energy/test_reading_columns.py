from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as some

from lpirc_power.energy import Measurement, energy_checks
from lpirc_power.energy.reading_columns import (
    ReadingColumns,
    chosen,
    column,
    joined,
)
from lpirc_power.meter import IntegratorState, Reading

READINGS = some.builds(
    Reading,
    monotonic_s=some.floats(allow_nan=False),
    utc=some.datetimes(timezones=some.just(UTC)).map(lambda one: one.replace(fold=0)),
    voltage_v=some.floats(),
    current_a=some.floats(),
    apparent_va=some.floats(),
    power_w=some.floats(),
    power_factor=some.floats(),
    energy_wh=some.floats(),
    integrator_s=some.floats(),
    state=some.sampled_from(IntegratorState),
    over_range=some.booleans(),
    voltage_peak_over=some.booleans(),
    current_peak_over=some.booleans(),
    voltage_range_v=some.floats(),
    current_range_a=some.floats(),
    changed=some.text(),
    stopped=some.booleans(),
)


@settings(max_examples=30)
@given(some.lists(READINGS, max_size=3))
def test_every_reading_comes_back_as_it_was(readings: list[Reading]) -> None:
    found = ReadingColumns(readings)
    assert len(found) == len(readings)
    assert repr(list(found)) == repr(readings)
    assert [repr(asdict(one)) for one in found] == [
        repr(asdict(one)) for one in readings
    ]


def test_a_stored_reading_is_a_reading_like_any_other(
    reading: Callable[..., Reading],
) -> None:
    plain = reading(1.0, changed="range")
    (stored,) = ReadingColumns([plain])
    assert isinstance(stored, Reading)
    assert stored == plain
    assert plain == stored
    assert hash(stored) == hash(plain)
    assert stored != reading(2.0)
    assert stored != "reading"
    other = replace(stored, power_w=7.0)
    assert type(other) is Reading
    assert other == replace(plain, power_w=7.0)


def test_slices_and_places_are_those_of_a_list(
    reading: Callable[..., Reading],
) -> None:
    listed = [reading(float(number)) for number in range(10)]
    found = ReadingColumns(listed)
    odd = chosen(found, column(found, "monotonic_s") % 2 == 1)
    for mine, theirs in ((found, listed), (odd, listed[1::2])):
        assert list(mine) == theirs
        assert mine[-1] == theirs[-1]
        assert mine[2] == theirs[2]
        assert list(mine[1:3]) == theirs[1:3]
        assert list(mine[::-2]) == theirs[::-2]
    assert list(chosen(odd, column(odd, "monotonic_s") > 5.0)) == listed[7::2]
    assert list(chosen(listed, column(listed, "monotonic_s") > 5.0)) == listed[6:]


@settings(max_examples=30)
@given(some.lists(READINGS, max_size=4))
def test_a_column_has_what_each_reading_shows(readings: list[Reading]) -> None:
    columns = ReadingColumns(readings)
    some_of_them = columns[::2]
    for name in (field.name for field in fields(Reading)):
        shown = [getattr(one, name) for one in readings]
        assert repr(column(readings, name).tolist()) == repr(shown)
        assert repr(column(columns, name).tolist()) == repr(shown)
        assert repr(column(some_of_them, name).tolist()) == repr(shown[::2])


def test_a_column_that_is_held_does_not_stop_its_readings_from_growing(
    reading: Callable[..., Reading],
) -> None:
    columns = ReadingColumns([reading(1.0)])
    held = [column(columns, field.name) for field in fields(Reading)]
    columns.append(reading(2.0))
    assert len(columns) == 2
    assert {len(one) for one in held} == {1}


class Counted(ReadingColumns):
    """Readings that count how often one of them is made to be looked at."""

    looks = 0

    def at(self, place: int) -> Reading:
        self.looks += 1
        return super().at(place)


def test_energy_and_checks_take_columns_and_not_one_reading_after_another(
    reading: Callable[..., Reading], measurement: Callable[..., Measurement]
) -> None:
    measured = measurement(setup={"update_interval_s": 0.01})
    readings = Counted(reading(number / 100.0) for number in range(1, 1001))
    assert all(one.ok for one in energy_checks(readings, measured))
    assert readings.looks < 50


def test_readings_are_joined_in_order(reading: Callable[..., Reading]) -> None:
    first, second, third = (reading(float(number)) for number in range(3))
    columns = ReadingColumns([first])
    assert joined(columns, []) is columns
    assert list(joined(columns, [[second], [third]])) == [first, second, third]


def test_times_are_kept_to_the_microsecond_at_both_ends_of_the_calendar(
    reading: Callable[..., Reading],
) -> None:
    for utc in (
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=1),
    ):
        (found,) = ReadingColumns([reading(1.0, utc=utc)])
        assert found.utc == utc


def test_no_data_stays_no_data(reading: Callable[..., Reading]) -> None:
    (found,) = ReadingColumns([reading(1.0, power_w=math.nan, energy_wh=math.inf)])
    assert math.isnan(found.power_w)
    assert found.energy_wh == math.inf
