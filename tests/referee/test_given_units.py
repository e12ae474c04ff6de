"""A value that was written with its unit, as the number that it is."""

from __future__ import annotations

import pytest

from referee.given_units import as_number


@pytest.mark.parametrize(
    ("key", "given", "said"),
    [
        ("window_s", "10:00", "; 10:00, read as minutes and seconds, is 600"),
        ("window_s", "1:00:00", "; 1:00:00, read as hours to seconds, is 3600"),
        ("every_min", "5:30", "; 5:30, read as minutes and seconds, is 5.5"),
        ("window_s", "1m30s", "; 1m30s is 90"),
        ("window_s", "1 h 30 min", "; 1 h 30 min is 5400"),
        ("every_min", "1h30m", "; 1h30m is 90"),
        ("window_s", "500ms", "; 500ms is 0.5"),
        ("window_s", "10 mins", "; 10 mins is 600"),
        ("window_s", "2 min 5 secs", "; 2 min 5 secs is 125"),
        ("every_min", "300 ms", "; 300 ms is 0.005"),
        ("window_s", "1h 500ms", ""),
        ("window_s", "2 meters", ""),
        ("window_s", "2 months", ""),
        ("window_s", "10 sheep", ""),
        ("window_s", "10:75", ""),
        ("attempts", "10:00", ""),
    ],
)
def test_a_time_with_colons_is_told_as_a_number(
    key: str, given: str, said: str
) -> None:
    assert as_number(key, given) == said
