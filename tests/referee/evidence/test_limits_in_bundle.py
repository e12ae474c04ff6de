from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.meter import Limits
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
        text = json.dumps(stated_limits(one, has_budget=True))
        assert read_limits(json.loads(text)) == one


def test_limits_without_own_terms_are_what_earlier_programs_read() -> None:
    limits = limits_of("WT310")
    assert limits is not None
    assert "own" not in limits_beside_a_budget(limits)
    assert "age_s" not in limits_beside_a_budget(replace(limits, age_s=None))
    assert read_limits(None) is None


def test_an_earlier_program_reads_limits_without_a_budget() -> None:
    limits = limits_of("WT310")
    assert limits is not None
    step = OwnTerm("step", "the step of the counter", "its page 3", energy_wh=0.01)
    stated = stated_limits(replace(limits, own=(step,)), has_budget=False)
    assert stated is not None
    assert not {"own", "age_s"} & {*stated}


def limits_beside_a_budget(limits: Limits) -> dict[str, Any]:
    stated = stated_limits(limits, has_budget=True)
    assert stated is not None
    return stated
