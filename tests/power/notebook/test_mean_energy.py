"""The mean of repeated recordings."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lpirc_power import (
    DoubtfulEnergy,
    MeterError,
    OpenMeter,
    Recording,
    compare,
    mean_of,
    read_recorded,
)


def recorded(
    meter: OpenMeter,
    until_measured: Any,
    name: str = "run.csv",
) -> Recording:
    with meter.recording("run.csv", force=True) as made:
        until_measured(made, 3)
    for ending in (".csv", ".json"):
        Path("run.csv").with_suffix(ending).rename(Path(name).with_suffix(ending))
    return read_recorded(name)


def test_the_mean_has_the_spread_and_what_the_attempts_have_in_common(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    attempts = [
        recorded(meter, until_measured, f"{number}.csv") for number in (1, 2, 3)
    ]
    energies = [one.energy_wh for one in attempts]
    mean = mean_of(attempts)
    assert mean.energies_wh == tuple(energies)
    assert mean.energy_wh == statistics.fmean(energies)
    assert mean.deviation_wh == statistics.stdev(energies)
    assert mean.budget is not None
    assert [term.code for term in mean.budget.terms][-1] == "spread"
    assert mean.uncertainty_wh == mean.budget.coverage_wh
    assert str(mean).endswith(" with 95.45 %, on average of 3 attempts")


def test_a_single_recording_has_the_uncertainty_that_it_has_alone(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    alone = recorded(meter, until_measured)
    mean = mean_of([alone])
    assert mean == mean_of(alone)  # type: ignore[arg-type]  # as compare takes a single one
    assert mean.energy_wh == alone.energy_wh
    assert mean.uncertainty_wh == pytest.approx(alone.uncertainty_wh)
    assert math.isnan(mean.deviation_wh)
    assert str(mean).endswith(" on average of 1 attempt")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "no mean of no recording"),
        (
            "ok.csv",
            r"'ok\.csv' is a name and no recording; read it first: read_recorded",
        ),
        (["ok.csv"], r"read it first: read_recorded\('ok\.csv'\)"),
        ([[]], "A list stands in place of a recording"),
        (3, "3 is no recording"),
    ],
)
def test_the_mean_of_nothing_is_refused(given: Any, said: str) -> None:
    with pytest.raises(MeterError, match=said) as refused:
        mean_of(given)
    assert refused.value.code == "mean-energy"


def test_an_attempt_that_needs_review_does_not_count(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    good = recorded(meter, until_measured)
    changed = replace(
        good.recorded, measured=replace(good.recorded.measured, changes=("its range",))
    )
    other = replace(changed, file="other.csv")
    with pytest.warns(
        DoubtfulEnergy, match=r"other\.csv needs review: range-changed; it does not"
    ):
        assert mean_of([good, Recording(other)]).energies_wh == (good.energy_wh,)
    with pytest.warns(DoubtfulEnergy, match="it counts all the same"):
        assert len(mean_of([good, Recording(other)], incomplete=True).energies_wh) == 2
    with (
        pytest.warns(DoubtfulEnergy),
        pytest.raises(MeterError, match="No recording counts"),
    ):
        mean_of([Recording(other)])


def test_a_recording_given_twice_is_refused_since_it_would_seem_to_repeat_exactly(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    alone = recorded(meter, until_measured)
    with pytest.raises(MeterError, match="is given twice") as refused:
        mean_of([alone, read_recorded("run.json")])
    assert refused.value.code == "mean-energy"


def test_a_recording_of_a_part_of_the_work_is_named_and_counts_only_if_asked_for(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    good, short = (
        recorded(meter, until_measured, f"{name}.csv") for name in ("good", "short")
    )
    document = json.loads(Path("short.json").read_text())
    document["ended"]["exit_code"] = 3
    Path("short.json").write_text(json.dumps(document))
    short = read_recorded("short.csv")
    with pytest.warns(DoubtfulEnergy, match="exit code 3; it does not count"):
        assert mean_of([good, short]).energies_wh == (good.energy_wh,)
    with pytest.warns(DoubtfulEnergy, match="exit code 3; it counts all"):
        assert len(mean_of([good, short], incomplete=True).energies_wh) == 2
    with (
        pytest.warns(DoubtfulEnergy),
        pytest.raises(MeterError, match="No recording counts"),
    ):
        mean_of([short])
    with pytest.raises(MeterError, match="A has no attempt that counts: short"):
        compare(short, good)
    found = compare(short, good, incomplete=True)
    said = " ".join(found.warnings)
    assert "exit code 3; it counts all the same." in said


def test_a_mean_of_several_meters_and_setups_says_so(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    one, second = (recorded(meter, until_measured, f"{name}.csv") for name in "ab")
    kept = second.recorded
    setup = replace(
        kept.measured.setup,
        crest_factor=6,
    )
    identity = replace(
        kept.identity,
        serial="C2",
    )
    measured = replace(
        kept.measured,
        setup=setup,
    )
    other = Recording(
        replace(
            kept,
            identity=identity,
            measured=measured,
        )
    )
    with pytest.warns(DoubtfulEnergy) as said:
        mean_of([one, other])
    sentences = [str(each.message) for each in said]
    assert sentences[0].startswith("The mean is of several meters: ")
    assert sentences[1].endswith("setups, which differ in crest_factor.")
