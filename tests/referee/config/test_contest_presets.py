"""Presets: each is a contest, and those for contests leave doctor nothing to advise about rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from referee.config import ContestConfig, config_of
from referee.config.contest_presets import PRESETS, preset_named
from referee.config.contest_text import Answers, config_text
from referee.config.toml_edits import edited
from referee.contest_rules import DEFAULT
from referee.errors import RefereeError
from referee.findings.rule_findings import rule_advice

IMAGES = 1000
OF_THE_HALL = {"unguarded"}
"""Advice about the network, which rules do not change."""


def with_preset(name: str, added: str = "") -> ContestConfig:
    path = Path("contest.toml")
    text = config_text(
        "The day",
        60,
        "sim:",
        "testset",
        auto_arm=True,
        answers=Answers(backup="backups"),
    )
    text += added
    preset = preset_named(name)
    for setting in preset.settings(config_of(path, text)):
        text = edited(text, setting)
    made = config_of(path, text)
    assert preset.settings(made) == []
    return made


@pytest.mark.parametrize("name", [one.name for one in PRESETS])
def test_each_is_a_contest_that_can_be_read(name: str) -> None:
    assert with_preset(name).window_s == 600


@pytest.mark.parametrize("name", ["contest", "lpirc", "jury"])
def test_doctor_has_nothing_to_advise_about_the_rules_of_a_contest(name: str) -> None:
    found = {one.code for one in rule_advice(with_preset(name), IMAGES)}
    assert found <= OF_THE_HALL


def test_a_rehearsal_gives_away_what_a_contest_must_not() -> None:
    found = {one.code for one in rule_advice(with_preset("rehearsal"), IMAGES)}
    assert {"arms-by-itself", "attempts-unlimited", "score-seen-by-team"} <= found


@pytest.mark.parametrize("name", [one.name for one in PRESETS])
def test_each_ranks_by_accuracy_over_energy_whatever_was_set_before(name: str) -> None:
    other = '[rule]\nname = "least-energy"\nleast_accuracy = 0.2\n'
    assert with_preset(name, other).contest_rule == DEFAULT


def test_rules_that_nobody_knows_are_refused_with_those_there_are() -> None:
    with pytest.raises(RefereeError, match="contest, lpirc, jury, rehearsal"):
        preset_named("olympic")
