"""Sentences about keys of contest.toml as a page says them: with the labels of its fields and choices."""

from __future__ import annotations

import pytest

from referee.contest_rules import RULES, RuleError
from referee.contest_rules.offered import rule_named
from referee.web.setup import rule_page, station_page, track_page
from referee.web.setup.form_fields import in_labels


@pytest.mark.parametrize(
    ("fields", "said", "shown"),
    [
        (rule_page.FIELDS, "attempts = -1 must be 0 or more.", "“Attempts of each team” = -1 must be 0 or more."),
        (
            rule_page.FIELDS,
            "idle_baseline_s needs auto_arm = false: a log-in cannot wait.",
            "“Idle board measured for, seconds” needs “A team's log-in arms its run” unticked: a log-in cannot wait.",
        ),
        (rule_page.FIELDS, "the contest's name is blank.", "the contest's name is blank."),
        (station_page.FIELDS, "station 'a': mode = 'x' is wrong.", "station 'a': “Mode” = 'x' is wrong."),
        (
            (track_page.NAME, *track_page.FIELDS),
            "track 'a': device and devices are both given.",
            "track 'a': “Device that measures” and “Several equal devices” are both given.",
        ),
        (
            (track_page.NAME, *track_page.FIELDS),
            "track 'a': calibration needs device or devices: these hosts measure it.",
            "track 'a': “Calibration model” needs “Device that measures” or “Several equal devices”: these hosts "
            "measure it.",
        ),
    ],
)  # fmt: skip
def test_a_page_speaks_of_its_fields(fields: tuple, said: str, shown: str) -> None:
    assert in_labels(said, fields) == shown


@pytest.mark.parametrize("name", list(RULES))
def test_a_page_speaks_of_its_choices(name: str) -> None:
    settings = {"energy_limit_wh": 5.0, "least_images_per_s": 5.0}
    with pytest.raises(RuleError) as refused:
        rule_named(name, settings)
    said = in_labels(f"rule: {refused.value}", rule_page.FIELDS)
    assert f"“{RULES[name].figure}”" in said
    for known in RULES:
        assert known not in said
    assert "name = " not in said
