"""The task of a contest: in contest.toml, in the rules of its runs, and what doctor says about it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lpirc_power.meter import Setup
from lpirc_score.tasks import BOXES
from lpirc_testsets import TestSet
from referee.config import read_config
from referee.config.contest_text import config_text as new_text
from referee.contest import (
    create_contest,
    open_contest,
    require_scorer,
    require_truth,
)
from referee.errors import RefereeError
from referee.findings.rule_findings import look_at_rules
from referee.judging.bound_rules import as_judged
from referee.runs.arming import rules_now
from referee.store.run_rules import read_rules
from tests.referee.factories import config_text, run_record

SETUP = Setup(150.0, 0.5, update_interval_s=0.1, integrator_timer_s=600)


def test_a_contest_is_of_boxes_unless_it_names_a_task() -> None:
    text = new_text("Day", 60, "sim:", "set", auto_arm=False)
    assert '# task = "classification"' in text
    text = new_text("Day", 60, "sim:", "set", auto_arm=False, task="classification")
    assert '\ntask = "classification"' in text


def test_the_rules_of_boxes_are_those_of_before(
    small_set: TestSet,
    tmp_path: Path,
) -> None:
    create_contest(tmp_path / "day", config_text(small_set))
    config = read_config(tmp_path / "day")
    assert config.task == BOXES
    assert config.scored_by == config.metric
    rules = rules_now(config, small_set, SETUP, 0)
    assert "task" not in rules.stated
    assert read_rules(rules.text) == rules


def test_a_task_is_bound_in_the_rules_of_a_run(
    small_set: TestSet,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "day"
    create_contest(folder, config_text(small_set, task="classification"))
    with open_contest(folder) as contest:
        rules = rules_now(contest.config, small_set, SETUP, 0)
        stated = json.loads(rules.text)
        assert (stated["task"], stated["metric"]) == (
            "classification",
            "classification",
        )
        assert read_rules(rules.text) == rules
        assert contest.config.scored_by == "classification"


def test_a_task_that_is_not_installed_is_refused(
    small_set: TestSet,
    tmp_path: Path,
) -> None:
    create_contest(tmp_path / "day", config_text(small_set, task="segmentatoin"))
    with (
        pytest.raises(RefereeError, match="task = 'segmentatoin': There is no task"),
        open_contest(tmp_path / "day") as contest,
    ):
        require_scorer(contest)


def test_a_set_without_ground_truth_for_the_task_is_named(
    small_set: TestSet,
    tmp_path: Path,
) -> None:
    with pytest.raises(RefereeError, match="no ground truth for the task classif"):
        require_truth(small_set, "classification")
    folder = tmp_path / "day"
    create_contest(folder, config_text(small_set, task="classification", metric="coco"))
    with open_contest(folder) as contest:
        found = {one.code: one for one in look_at_rules(contest)}
    assert not found["testset-unfit"].is_advice
    assert "the task classification" in found["testset-unfit"].sentence
    assert found["metric-unused"].is_advice
    assert 'metric = "coco" is not used' in found["metric-unused"].sentence


def test_a_run_keeps_its_task_whatever_contest_toml_says_later(
    small_set: TestSet,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "day"
    create_contest(folder, config_text(small_set, task="classification"))
    with open_contest(folder) as contest:
        rules = rules_now(contest.config, small_set, SETUP, 0)
        later = replace(contest, config=replace(contest.config, task=BOXES))
        run = run_record(rules=rules)
        assert as_judged(later, run).config.scored_by == "classification"
        with pytest.raises(RefereeError, match="has its own figure"):
            as_judged(later, run, "coco")
        of_boxes = run_record(rules=rules_now(later.config, small_set, SETUP, 0))
        assert as_judged(contest, of_boxes).config.scored_by == "lpirc"
