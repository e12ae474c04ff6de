from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.contest_rules import (
    DEFAULT,
    RULES,
    Facts,
    RuleError,
    rule_named,
    rule_of_words,
)

WITHIN_5_WH = rule_named("accuracy-within-limit", {"energy_limit_wh": 5.0})
ABOVE_HALF = rule_named("least-energy", {"least_accuracy": 0.5})
EXCESS = rule_named("accuracy-per-excess-wh", {})
FLOORS = rule_named(
    "floors-then-energy", {"least_accuracy": 0.5, "least_images_per_s": 30.0}
)
BY_POWER = rule_named("accuracy-within-limit", {"power_limit_w": 12.0})
EVERY = (DEFAULT, WITHIN_5_WH, ABOVE_HALF, EXCESS, FLOORS)
RUN = Facts(accuracy=0.6, energy_wh=2.0, duration_s=600.0, idle_power_w=3.0, images=300)


def facts(**values: float | None) -> Facts:
    return Facts(**({**vars(RUN), **values}))  # type: ignore[arg-type]


def test_a_run_is_scored_by_each_rule_as_by_hand() -> None:
    assert DEFAULT.outcome(RUN).value == 0.6 / 2.0
    assert WITHIN_5_WH.outcome(RUN).value == 0.6
    assert ABOVE_HALF.outcome(RUN).value == 2.0
    # 3 W for 600 s are 0.5 Wh.
    assert EXCESS.outcome(RUN).value == 0.6 / 1.5
    # 2 Wh are 7200 J.
    of_all = FLOORS.outcome(facts(images=18_000)).value
    assert of_all == 100 / math.log2(7200)
    assert [one.higher_is_better for one in EVERY] == [True, True, False, True, True]


def test_every_rule_has_a_source_a_sentence_and_a_unit() -> None:
    assert {one.name for one in EVERY} == set(RULES)
    for one in EVERY:
        assert one.source
        assert one.figure
        assert one.unit
        assert one.sentence.endswith(".")
        assert rule_named(one.name, one.settings) == one
        assert one.stated == {"name": one.name, **one.settings}


def test_a_sentence_has_the_settings() -> None:
    assert WITHIN_5_WH.sentence == (
        "The score is the accuracy, of runs with at most 5 Wh."
    )
    limits = {"power_limit_w": 12.5, "image_limit_s": 0.03}
    both = rule_named(
        "accuracy-within-limit",
        limits,
    )
    assert both.sentence.endswith(
        "with a mean power of at most 12.5 W and at most 0.03 s per answered image."
    )


def test_a_run_outside_a_limit_keeps_its_score_and_gets_the_reason() -> None:
    found = WITHIN_5_WH.outcome(facts(energy_wh=5.1))
    assert found.value == 0.6
    assert found.why_not == "the run used 5.1 Wh, more than the limit of 5 Wh"
    low = ABOVE_HALF.outcome(facts(accuracy=0.4))
    assert low.value == 2.0
    assert low.why_not == "its accuracy 0.40000 is below the floor of 0.5"


@pytest.mark.parametrize(
    ("setting", "limit", "at_it", "beyond", "words"),
    [
        ("energy_limit_wh", 2.0, RUN, facts(energy_wh=2.1), "used 2.1 Wh"),
        # 2 Wh in 600 s are 12 W.
        ("power_limit_w", 12.0, RUN, facts(duration_s=599.0), "mean power of 12.02 W"),
        ("time_limit_s", 600.0, RUN, facts(duration_s=601.0), "took 601 s"),
        ("image_limit_s", 2.0, RUN, facts(images=299), "per answered image, 2.007 s"),
    ],
)
def test_a_limit_that_is_met_exactly_is_met(
    setting: str, limit: float, at_it: Facts, beyond: Facts, words: str
) -> None:
    rule = rule_named(
        "accuracy-within-limit",
        {setting: limit},
    )
    assert rule.outcome(at_it).why_not is None
    assert words in str(rule.outcome(beyond).why_not)


def test_a_floor_that_is_met_exactly_is_met() -> None:
    assert ABOVE_HALF.outcome(facts(accuracy=0.5)).why_not is None


def test_a_figure_just_above_its_limit_is_never_shown_as_the_limit() -> None:
    found = WITHIN_5_WH.outcome(
        facts(energy_wh=math.nextafter(5.0, 6.0)),
    )
    assert found.why_not == (
        "the run used 5.000000000000001 Wh, more than the limit of 5 Wh"
    )


def test_an_accuracy_just_below_its_floor_tells_no_more_digits_than_a_board() -> None:
    found = ABOVE_HALF.outcome(
        facts(accuracy=math.nextafter(0.5, 0.0)),
    )
    assert found.why_not == "its accuracy 0.49999 is below the floor of 0.5"


def test_waiting_lowers_a_mean_power_unless_the_time_is_limited_too() -> None:
    hungry = facts(energy_wh=2.5)
    waited = facts(
        energy_wh=2.5 + 3.0 * 600 / 3600,
        duration_s=1200.0,
    )
    assert BY_POWER.outcome(hungry).why_not
    assert BY_POWER.outcome(waited).why_not is None
    limits = {"power_limit_w": 12.0, "time_limit_s": 600.0}
    assert rule_named("accuracy-within-limit", limits).outcome(waited).why_not


def test_a_run_that_logs_out_at_once_wins_by_no_rule_with_a_floor_or_limit() -> None:
    # A millisecond of a board of 10 W, and no row.
    at_once = Facts(
        accuracy=0.0, energy_wh=10 / 3.6e6, duration_s=0.001, idle_power_w=3.0, images=0
    )
    assert WITHIN_5_WH.outcome(at_once).value == 0.0
    per_image = rule_named(
        "accuracy-within-limit",
        {"image_limit_s": 1.0},
    )
    assert per_image.outcome(at_once).why_not == (
        "no image is answered, so the run has no time per image"
    )
    assert ABOVE_HALF.outcome(at_once).why_not
    assert FLOORS.outcome(at_once).why_not
    assert EXCESS.outcome(at_once).value == 0.0


def test_an_idle_board_that_used_as_much_gives_no_score() -> None:
    for used_wh in (0.5, 0.4, 1e-9):
        found = EXCESS.outcome(facts(energy_wh=used_wh))
        assert found.value is None
        assert "no energy above idle is left" in str(found.why_not)
    assert EXCESS.outcome(facts(idle_power_w=None)).why_not == (
        "the power of its idle board was not measured when the run was armed"
    )


def test_an_energy_above_idle_that_may_be_an_error_of_the_meter_gives_no_score() -> (
    None
):
    """The team that guesses and logs out at once would win by a thousandth of a watt-hour."""
    just = facts(
        energy_wh=0.501,
        energy_limit=0.002,
    )
    found = EXCESS.outcome(just)
    assert found.value is None
    assert "0.001 Wh above idle, and its energy may be wrong by 0.001002 Wh" in str(
        found.why_not
    )
    assert EXCESS.outcome(facts(energy_wh=0.502, energy_limit=0.002)).value


def test_staying_logged_in_at_idle_power_changes_no_score_above_idle() -> None:
    """The team that idles for ten minutes more pays what it is given back."""
    longer = facts(
        energy_wh=2.0 + 3.0 * 600 / 3600,
        duration_s=1200.0,
    )
    assert EXCESS.outcome(longer).value == pytest.approx(EXCESS.outcome(RUN).value)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, -1.0, 0.0, None])
@pytest.mark.parametrize("name", ["energy_wh", "duration_s", "idle_power_w", "images"])
def test_no_figure_of_a_run_gives_a_score_that_is_not_a_number(
    name: str, odd: float | None
) -> None:
    for one in EVERY:
        found = one.outcome(facts(**{name: odd}))
        assert found.value is None or math.isfinite(found.value)
        assert found.value is not None or found.why_not
        assert name != "energy_wh" or found.value is None


@given(
    st.floats(),
    st.floats() | st.none(),
    st.floats() | st.none(),
    st.floats() | st.none(),
    st.integers(0, 10**6) | st.none(),
)
def test_every_outcome_has_a_finite_score_or_a_reason(
    accuracy: float,
    energy_wh: float | None,
    duration_s: float | None,
    idle_power_w: float | None,
    images: int | None,
) -> None:
    run = Facts(
        accuracy=accuracy,
        energy_wh=energy_wh,
        duration_s=duration_s,
        idle_power_w=idle_power_w,
        images=images,
    )
    for one in EVERY:
        found = one.outcome(run)
        if found.value is None:
            assert found.why_not
        else:
            assert math.isfinite(found.value)


@pytest.mark.parametrize(
    ("name", "settings", "key", "words"),
    [
        ("fastest", {}, "name", "'fastest' must be one of 'accuracy-per-wh'"),
        (
            "accuracy-per-wh",
            {"energy_limit_wh": 5.0},
            "energy_limit_wh",
            "energy_limit_wh is no setting of the rule 'accuracy-per-wh'; it takes none, and name = ",
        ),
        ("accuracy-within-limit", {}, "name", "needs a limit: set one of energy_lim"),
        ("least-energy", {}, "name", "needs least_accuracy"),
        (
            "least-energy",
            {"least_accuracy": 50.0},
            "least_accuracy",
            "least_accuracy = 50 must be an accuracy, at most 1.",
        ),
        (
            "accuracy-within-limit",
            {"power_limit_w": math.nan},
            "power_limit_w",
            "power_limit_w = nan must be a number above 0.",
        ),
        (
            "floors-then-energy",
            {"least_accuracy": 0.5},
            "name",
            "needs least_images_per_s; the contest of 2022 had 0.7 and 30 images/s.",
        ),
    ],
)
def test_a_rule_that_cannot_be_is_refused_with_its_key(
    name: str, settings: dict[str, float], key: str, words: str
) -> None:
    with pytest.raises(RuleError) as refused:
        rule_named(
            name,
            settings,
        )
    assert refused.value.key == key
    assert words in str(refused.value)


def test_a_rule_is_read_back_from_the_words_of_its_signature() -> None:
    for one in EVERY:
        assert rule_of_words(one.signed) == one
    assert rule_of_words("least-energy, least_accuracy=0.5") == ABOVE_HALF
    with pytest.raises(RuleError, match="'energy_limit_wh' is no setting; write"):
        rule_of_words("accuracy-within-limit,energy_limit_wh")


def test_the_signature_of_a_rule_has_every_setting_to_the_last_digit() -> None:
    limits = {"time_limit_s": 0.1 + 0.2, "energy_limit_wh": 5.0}
    rule = rule_named(
        "accuracy-within-limit",
        limits,
    )
    assert rule.signed == (
        "accuracy-within-limit,energy_limit_wh=5.0,time_limit_s=0.30000000000000004"
    )
    assert DEFAULT.signed == "accuracy-per-wh"
