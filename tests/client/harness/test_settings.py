"""Options and the presets of the tracks, combined."""

from __future__ import annotations

import pytest

from lpirc_client.errors import ModelError
from lpirc_client.harness.cli import build_parser
from lpirc_client.harness.model_settings import Settings, settings_from

IMAGES = 10


def settings_of(*options: object) -> Settings:
    words = ["bench", "m.tflite", "--images", ".", *map(str, options)]
    return settings_from(build_parser().parse_args(words), IMAGES)


def test_a_track_sets_task_preprocessing_budget_and_cooldown() -> None:
    ovic = settings_of("--track", "ovic-detection")
    aiot = settings_of("--track", "aiotbench")
    assert ovic.task == "detection"
    assert ovic.preprocessing == "resize"
    assert ovic.cooldown_s == 0
    assert ovic.budget_s == pytest.approx(0.036 * IMAGES)
    assert aiot.task == "classification"
    assert aiot.preprocessing == "central-square"
    assert aiot.cooldown_s == 300
    assert aiot.budget_s is None


def test_an_option_overrides_the_track() -> None:
    made = settings_of(
        "--track",
        "aiotbench",
        "--cooldown-s",
        0,
        "--budget-s",
        7,
        "--preprocessing",
        "resize",
    )
    assert made.cooldown_s == 0
    assert made.budget_s == 7
    assert made.preprocessing == "resize"


def test_without_a_track_the_task_sets_the_preprocessing() -> None:
    assert settings_of("--task", "classification").preprocessing == "central-crop"
    assert settings_of("--task", "detection").preprocessing == "resize"


def test_only_one_thread_stays_on_a_core() -> None:
    assert settings_of("--task", "detection", "--threads", 2).core is None


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ((), "no-task", "which task? give --task"),
        (
            ("--track", "ovic-detection", "--task", "classification"),
            "bad-task",
            "is for detection",
        ),
        (("--task", "detection", "--core", 999), "no-core", "--core 999: "),
        (
            ("--task", "detection", "--preprocessing", "central-crop"),
            "bad-preprocessing",
            "detection needs resize",
        ),
    ],
)
def test_options_that_contradict_are_refused(
    options: tuple[object, ...],
    code: str,
    said: str,
) -> None:
    with pytest.raises(ModelError) as caught:
        settings_of(*options)
    assert caught.value.code == code
    assert said in caught.value.sentence
