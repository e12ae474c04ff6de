"""The makers whose meters count: named in contest.toml, bound to each run, and another maker's meter in a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lpirc_power.addresses.driver_registry import GROUP
from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.meter_standing import Standing
from referee.config import read_config
from referee.errors import RefereeError
from referee.judging.run_checks import measured_run
from tests.plugins_installed import plugins_in
from tests.power.plug import MODEL, plugged
from tests.referee.factories import TEAM, House, station

Build = Callable[..., House]
SAMPLE = Path(__file__).parents[2] / "plugin_sample" / "lpirc_sample" / "meters.py"
BOTH = ["YOKOGAWA", "Shelly"]


@pytest.fixture
def plug(tmp_path: Path) -> Iterator[str]:
    """The address of another maker's meter: a process of its own, and its driver an installed distribution."""
    source = SAMPLE.read_text("utf-8")
    with plugins_in(tmp_path) as installer, plugged() as host:
        entry = "shelly = shelly_meters:Shelly"
        installer.install("shelly_meters", GROUP, entry, source)
        yield f"shelly:{host}"


def closed_run(house: House) -> int:
    number = house.control.login(TEAM).run.id
    house.control.close(number, "operator")
    return number


def test_a_run_is_measured_with_another_makers_meter_that_the_contest_names(
    build: Build,
    plug: str,
) -> None:
    at_plug = station(meter=plug, loopback_meter=True)
    house = build(at_plug, official_makers=BOTH)
    house.control.arm(TEAM, "one")
    run = house.store.runs.get(closed_run(house))
    assert (run.meter_identity or "").startswith(f"SHELLY {MODEL} ")
    assert run.meter_standing == Standing.LOOPBACK_ALLOWED
    assert run.official is True
    assert run.rules is not None
    assert run.rules.official_makers == tuple(BOTH)
    assert run.energy_wh is not None
    assert run.energy_wh > 0
    assert limits_of(MODEL) is not None


def test_without_a_word_of_the_contest_only_yokogawa_counts_and_the_check_says_so(
    build: Build,
    plug: str,
) -> None:
    house = build(station(meter=plug, loopback_meter=True))
    house.control.arm(TEAM, "one")
    run = house.store.runs.get(closed_run(house))
    assert run.meter_standing == Standing.OTHER_MAKER
    assert run.official is False
    assert run.rules is not None
    assert run.rules.official_makers == ("YOKOGAWA",)
    measured = measured_run(run, [], 0.0, limits=None)
    told = next(one for one in measured.checks if one.code == "official-meter")
    assert "only meters of the maker YOKOGAWA are official" in told.sentence


def test_a_yokogawa_does_not_count_where_the_contest_names_another_maker(
    build: Build,
) -> None:
    house = build(official_makers=["SHELLY", "ACME"])
    house.control.arm(TEAM, "one")
    run = house.store.runs.get(closed_run(house))
    assert run.meter_standing is Standing.OTHER_MAKER
    measured = measured_run(run, [], 0.0, limits=None)
    told = next(one for one in measured.checks if one.code == "official-meter")
    assert "only meters of the makers SHELLY, ACME are official" in told.sentence


@pytest.mark.parametrize("when", ["armed", "open", "closed"])
def test_a_maker_added_to_the_contest_later_makes_no_run_official(
    build: Build,
    plug: str,
    when: str,
) -> None:
    house = build(station(meter=plug, loopback_meter=True))
    number = house.control.arm(TEAM, "one").id
    if when != "armed":
        house.control.login(TEAM)
    if when == "closed":
        house.control.close(number, "operator")
    before = house.store.runs.get(number)
    toml = house.folder / "contest.toml"
    text = toml.read_text("utf-8")
    toml.write_text('official_makers = ["YOKOGAWA", "SHELLY"]\n' + text, "utf-8")
    house.restart(orderly=False)
    assert house.contest.config.official_makers == ("YOKOGAWA", "SHELLY")
    if when == "armed":
        house.control.login(TEAM)
    if when != "closed":
        house.control.close(number, "operator")
    run = house.store.runs.get(number)
    assert run.rules == before.rules
    assert run.meter_standing == Standing.OTHER_MAKER
    assert run.official is False
    later = house.store.runs.get(house.control.arm(TEAM, "one").id)
    assert later.official


@pytest.mark.parametrize("makers", [["YOKOGAWA"], ["YOKOGAWA", "SIMULATED", "ACME"]])
def test_a_simulated_meter_never_becomes_official_by_its_maker(
    build: Build,
    makers: list[str],
) -> None:
    house = build(station(loopback_meter=True), official_makers=makers)
    run = house.control.arm(TEAM, "one")
    assert run.meter_standing == Standing.SIMULATED
    assert run.official is False


@pytest.mark.parametrize(
    ("makers", "said"),
    [
        ("[]", 'official_makers = [] must name a maker: ["YOKOGAWA"].'),
        ('"ACME"', "official_makers = 'ACME' must be a list of names."),
        ('["YOKOGAWA", " "]', "official_makers has ' ', which is blank"),
        (
            '["Unofficial"]',
            "official_makers has 'Unofficial': meters for rehearsals are never official.",
        ),
    ],
)
def test_makers_that_cannot_count_are_refused_with_their_line(
    tmp_path: Path,
    makers: str,
    said: str,
) -> None:
    station_of_it = '[[stations]]\nname = "one"\nmeter = "sim:"\n'
    text = f'name = "X"\nofficial_makers = {makers}\n{station_of_it}'
    (tmp_path / "contest.toml").write_text(text)
    with pytest.raises(RefereeError) as caught:
        read_config(tmp_path)
    assert said in caught.value.sentence
    assert "line 2" in caught.value.sentence
