"""Meter drivers, found by what a meter answers to *IDN?; one of them in a distribution of its own."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.addresses.meter_address import (
    limits_at,
    limits_by_identity,
    limits_of,
    open_meter,
    standing,
)
from lpirc_power.addresses.visa_address import family_of, identity
from lpirc_power.clocks import Clocks
from lpirc_power.energy import Measurement, energy_of
from lpirc_power.energy.accuracy_checks import accuracy
from lpirc_power.errors import MeterError
from lpirc_power.meter import Identity, IntegratorState, Limits, Setup
from lpirc_power.meter_standing import Standing
from lpirc_power.sampling.sampler import Sampler
from lpirc_power.wt300.driver import Wt300Family
from tests.power.foreign import served

FOREIGN = '''
from lpirc_power.home.meter import HomeMeter
from lpirc_power.home.meter import Sample
from lpirc_power.meter import Limits


class Watts:
    """What the foreign meter counts, asked for over its link."""

    def __init__(self, link, identity):
        self.link, self.identity = link, identity

    def begin(self, now_s):
        pass

    def look(self, now_s):
        watts, wh = map(float, self.link.query("MEASURE?").split(","))
        return Sample(energy_wh=wh, running_s=now_s, power_w=watts)


class Foreign(HomeMeter):
    def close(self):
        self.sensor.link.close()


class Driver:
    models = "PM100"

    def __init__(self):
        self.made = None

    @staticmethod
    def matches(identity):
        return identity.maker == "ACME" and identity.model.startswith("PM")

    @staticmethod
    def limits(model):
        return Limits(0.002, 0.001, 0.001, 0.0, 10.0) if model == "PM100" else None

    def meter(self, link, identity, clocks):
        watts = Watts(link, identity)
        self.made = self.made or Foreign(watts, clocks)
        self.made.sensor = watts
        return self.made
'''


@pytest.fixture
def install(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[str, str], None]]:
    """Install a module with a meter driver, as a distribution of its own."""
    monkeypatch.syspath_prepend(tmp_path)

    def put(
        module: str,
        source: str,
    ) -> None:
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(
            f"[lpirc.meters]\n{module} = {module}:Driver\n"
        )

    yield put
    for module in ("acme_meter", "broken_meter"):
        sys.modules.pop(module, None)


@pytest.fixture
def acme() -> Iterator[str]:
    """A meter of another maker behind real VXI-11: it answers *IDN? and MEASURE?, and draws 36 W."""
    began_s = time.monotonic()
    answers = {
        "*IDN?": lambda: "ACME,PM100,0815,1.0",
        "MEASURE?": lambda: f"36.0,{36.0 * (time.monotonic() - began_s) / 3600:.9f}",
    }
    with served(answers) as address:
        yield address


def test_a_meter_of_another_maker_is_measured_with_through_its_own_driver(
    install: Any,
    acme: str,
    until: Any,
) -> None:
    install("acme_meter", FOREIGN)
    readings: list[Any] = []
    setup = Setup(None, None, 0.1, 600)
    sampler = Sampler(
        acme,
        setup,
        readings.append,
        time.monotonic,
        lambda: datetime.now(UTC),
    )
    with contextlib.closing(sampler):
        assert sampler.arm() == Identity("ACME", "PM100", "0815", "1.0")
        sampler.start()
        until(lambda: len(readings) >= 3)
        final = sampler.stop()
    assert final.state is IntegratorState.STOP
    assert final.power_w == 36.0
    assert final.energy_wh * 3600 / 36 == pytest.approx(final.integrator_s, rel=0.2)
    begin_s = readings[0].monotonic_s
    end_s = final.monotonic_s
    counted = (
        final.energy_wh,
        final.integrator_s,
        begin_s,
        end_s,
        setup,
        "PM100",
        limits_of("PM100"),
    )
    energy = energy_of(readings, Measurement(*counted))
    # It shows no VA: 0.2 % of the reading, and 0.1 % of the largest range that automatic ranging had stayed in.
    assert energy.meter_limit == pytest.approx(0.002 + 0.001 / 0.09, rel=0.01)
    assert "The meter's limit of error is at worst" in accuracy(energy).sentence
    assert limits_of("PM100") == Limits(0.002, 0.001, 0.001, 0.0, 10.0)


def test_a_meter_without_a_driver_is_refused_by_its_name(
    acme: str,
    clocks: Clocks,
) -> None:
    with (
        pytest.raises(
            MeterError,
            match="says it is a PM100 of ACME; only WT310, WT332",
        ) as caught,
        open_meter(acme, clocks),
    ):
        pass
    assert caught.value.code == "meter-wrong-model"


def test_a_meter_of_another_maker_with_the_name_of_a_known_model_is_not_of_that_family(
    install: Any, clocks: Clocks
) -> None:
    with (
        served({"*IDN?": lambda: "ACME,WT310,0815,1.0"}) as address,
        pytest.raises(MeterError, match=r"a WT310 of ACME; only .* of YOKOGAWA"),
        open_meter(address, clocks),
    ):
        pass
    named = Identity("ACME", "WT310", "0815", "1.0")
    address = "TCPIP::192.168.1.20::INSTR"
    assert limits_at(address, named) is None
    assert limits_by_identity(named) is None
    assert standing(named, address, official_makers=["ACME"]) is Standing.UNKNOWN_MODEL
    other = FOREIGN.replace('startswith("PM")', 'startswith("WT")')
    install("acme_meter", other.replace('model == "PM100"', 'model == "WT310"'))
    stated = Limits(0.002, 0.001, 0.001, 0.0, 10.0)
    assert limits_at(address, named) == stated
    assert limits_by_identity(named) == stated
    of_yokogawa = Identity("Yokogawa", "WT310", "1", "F1")
    assert limits_by_identity(of_yokogawa) == limits_of("WT310")


def test_the_known_models_are_named_with_those_of_other_drivers(install: Any) -> None:
    install("acme_meter", FOREIGN)
    with pytest.raises(
        MeterError, match="WT332E and WT333E of YOKOGAWA, PM100 are supported"
    ):
        family_of(Identity("ELSE", "X1", "1", "1"))


def test_a_driver_that_cannot_be_loaded_holds_up_no_other(
    install: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    install("broken_meter", "raise RuntimeError('half installed')")
    install("acme_meter", FOREIGN)
    assert family_of(Identity("ACME", "PM100", "1", "1"))[1].models == "PM100"
    assert limits_of("a model that every driver is asked for") is None
    assert "broken_meter" in caplog.text
    assert "half installed" in caplog.text


def test_a_built_in_driver_comes_first_and_needs_no_metadata(install: Any) -> None:
    install(
        "acme_meter",
        FOREIGN.replace("return identity.maker", "return True or identity.maker"),
    )
    assert family_of(Identity("YOKOGAWA", "WT310E", "1", "F1"))[1] is Wt300Family


def test_of_another_distributions_models_only_the_official_makers_count_and_only_with_limits(
    install: Any,
) -> None:
    install("acme_meter", FOREIGN)
    address = "TCPIP::192.168.1.20::INSTR"
    assert (
        standing(Identity("ACME", "PM100", "1", "1"), address) is Standing.OTHER_MAKER
    )
    makers = ("YOKOGAWA", "ACME")
    for maker, model, counts in (
        ("ACME", "PM100", Standing.OFFICIAL),
        ("ACME", "PM200", Standing.UNKNOWN_MODEL),
        # Its driver makes meters of ACME alone: nothing of YOKOGAWA answers with this name.
        ("YOKOGAWA", "PM100", Standing.UNKNOWN_MODEL),
    ):
        found = Identity(maker, model, "1", "1")
        assert standing(found, address, official_makers=makers) is counts


def test_an_identity_has_four_parts_and_what_follows_is_left_out() -> None:
    five = "YOKOGAWA,WT310E,C3UB99999E,F1.04,extra"
    assert identity(five) == Identity("YOKOGAWA", "WT310E", "C3UB99999E", "F1.04")
    assert identity("YOKOGAWA,WT310,C2PH13047V,F1.03") == Identity(
        "YOKOGAWA",
        "WT310",
        "C2PH13047V",
        "F1.03",
    )
    for answer in ("FLUKE 45", "YOKOGAWA,WT310,C2PH13047V"):
        with pytest.raises(
            MeterError,
            match=f"introduces itself as '{answer}'",
        ) as caught:
            identity(answer)
    assert caught.value.code == "meter-wrong-model"
