from __future__ import annotations

import json
from dataclasses import replace

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.own_term import OwnTerm
from referee.evidence.limits_in_bundle import read_limits, stated_limits


def test_limits_are_read_as_they_were_stated_with_a_drivers_own_terms() -> None:
    limits = limits_of("WT310E")
    assert limits is not None
    step = OwnTerm("step", "the step of the counter", "its page 3", energy_wh=0.01)
    for one in (
        limits,
        replace(limits, own=(step,)),
        replace(limits, drift=None),
        replace(limits, age_s=0.1),
    ):
        text = json.dumps(stated_limits(one))
        assert read_limits(json.loads(text)) == one


def test_limits_without_own_terms_are_what_earlier_programs_read() -> None:
    limits = limits_of("WT310")
    assert limits is not None
    assert "own" not in stated_limits(limits)
    assert "age_s" not in stated_limits(replace(limits, age_s=None))
    assert read_limits(None) is None
