"""The step for the contest's name and rules, by presets or one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flask import Response

from lpirc_score.metrics.offered import metric_names
from lpirc_score.tasks.offered import task_names
from lpirc_score.tasks.words import words_of
from lpirc_testsets import TestSetError, load_test_set
from referee.config import ContestConfig, config_of
from referee.config.contest_file import NOTHING_WRITTEN, Change, differences
from referee.config.contest_presets import PRESETS, Preset, preset_named
from referee.config.contest_values import TOURNAMENTS
from referee.config.toml_edits import Setting, edited
from referee.config.toml_lines import line_of
from referee.contest_rules import RULES
from referee.errors import RefereeError
from referee.findings.rule_findings import rule_advice
from referee.given_units import too_high
from referee.seams import Finding
from referee.web.app_parts import part
from referee.web.setup.form_body import Form, present_form
from referee.web.setup.form_fields import YES, Field, fields_shown, settings_of
from referee.web.setup.settings_desk import (
    ReadOnly,
    SettingsDesk,
    settings_blueprint,
    step_page,
    write,
)

SURE = "sure"
"""Field of a form that was sent after its effects were shown."""
OF_OTHER_STEPS = ("unguarded", "backup-missing")
PUBLISHED_BY = (
    ("0", "at once"),
    ("1", "after one person's yes"),
    ("2", "after two persons' yes"),
)
_HEATS = tuple((one, one or "none") for one in TOURNAMENTS)


def _limit(key: str, label: str, hint: str) -> Field:
    return Field(key, label, "number", hint, "rule", may_be_blank=True)


_LIMITS = (
    _limit(
        "energy_limit_wh",
        "Most energy, Wh",
        "of accuracy within a limit; blank: no limit",
    ),
    _limit("power_limit_w", "Most mean power, W", "energy over length of the run"),
    _limit("time_limit_s", "Longest run, seconds", "from the first log-in to the end"),
    _limit("image_limit_s", "Most time per image, seconds", "of the answered images"),
    _limit(
        "least_accuracy", "Least accuracy", "of a run by least energy; or the floor"
    ),
    _limit("least_images_per_s", "Least images per second", "the floor of speed"),
)
FIELDS = (
    Field("name", "Name of the contest"),
    Field("window_s", "Window, seconds", "whole", "from the first log-in"),
    Field(
        "metric",
        "Metric",
        "text",
        "of boxes: lpirc as in the contest's rules, ilsvrc-det as in 2015-2019, coco as COCO's",
    ),
    Field(
        "task",
        "Task",
        "text",
        "what teams answer: boxes, scored by the metric above, or a task with a figure of its own",
    ),
    Field("attempts", "Attempts of each team", "whole", "0: no limit"),
    Field("per_attempt", "Images of a run", "whole", "0: all", "images"),
    Field(
        "least_map",
        "Least accuracy that is ranked",
        "number",
        "blank: every run is ranked",
        may_be_blank=True,
    ),
    Field(
        "publish_by",
        "Results are public",
        "whole",
        "two: one confirms, another publishes",
        choices=PUBLISHED_BY,
    ),
    Field(
        "name",
        "Runs are ranked by",
        hint="the rule of the contest, bound to a run when it is armed: docs/rules.md",
        table="rule",
        choices=tuple((name, kind.figure) for name, kind in RULES.items()),
    ),
    *_LIMITS,
    Field("heats", "Rounds of heats", choices=_HEATS, may_be_blank=True),
    Field(
        "idle_baseline_s",
        "Idle board measured for, seconds",
        "number",
        "blank: not at all",
        may_be_blank=True,
    ),
    Field("shuffle", "Each run sees the images in its own secret order", "flag"),
    Field("auto_arm", "A team's log-in arms its run", "flag"),
    Field("auto_judge", "Each run is judged when it is over", "flag"),
    Field("live_score", "Operators see a provisional score", "flag"),
    Field("teams_see_score", "The team sees its provisional score", "flag"),
    Field("public_score", "Everyone sees the provisional score", "flag"),
    Field(
        "count_unserved",
        "Images that were not served count, too",
        "flag",
        "answers for images that the run did not fetch are scored; leave it off unless teams have the images",
    ),
)

blueprint = settings_blueprint("rules")


@blueprint.get("/rules")
def rules() -> Response:
    """Answer with the rules as they are."""
    return _shown()


@blueprint.post("/rules")
def change_rules() -> Any:
    """Write the rules that were changed."""
    return write(
        "rules",
        lambda form: _possible(settings_of(FIELDS, form)),
        _shown,
        fields=_fields_in_use(),
    )


def _fields_in_use() -> tuple[Field, ...]:
    """Return the fields with the choices that the page shows now, in the words of the contest's task."""
    try:
        choices = _choices(part(SettingsDesk).config())
    except RefereeError:  # the form that is refused for it says so
        return FIELDS
    return tuple(
        replace(one, choices=choices.get(one.name, one.choices)) for one in FIELDS
    )


def _choices(config: ContestConfig) -> dict[str, tuple[tuple[str, str], ...]]:
    words = words_of(config.task)
    return {
        "rule.name": tuple(
            (name, words.said(kind.figure)) for name, kind in RULES.items()
        ),
        "metric": tuple((name, name) for name in metric_names()),
        "task": tuple((name, name) for name in task_names()),
    }


def _possible(given: list[Setting]) -> list[Setting]:
    """Return the settings; raise RefereeError `bad-request` for one with which no run could be armed or ranked."""
    labels = {(one.table, one.key): one.label for one in FIELDS}
    known = {"metric": metric_names(), "task": task_names()}
    problems = []
    for one in given:
        if one.key == "per_attempt":
            problem = too_many(one.value, images_there(part(SettingsDesk)))
        elif one.key in ("least_map", "least_accuracy"):
            problem = too_high(one.value)
        else:
            problem = ""
            if one.key in known and one.value not in known[one.key]:
                choices = ", ".join(known[one.key])
                problem = f"{one.value!r} is none of {choices}."
        if problem:
            problems.append(f"{labels[one.table, one.key]}: {problem}")
    if problems:
        sentence = f"{' '.join(problems)} {NOTHING_WRITTEN}"
        raise RefereeError("bad-request", sentence)
    return given


def too_many(wanted: object, images: int) -> str:
    """Return what is wrong with more images of a run than there are; "" if they are enough, or none is known."""
    if not isinstance(wanted, int) or not 0 < images < wanted:
        return ""
    return f"{wanted} is more than the {images} of the test set."


def images_there(desk: SettingsDesk) -> int:
    """Return the number of images of the test set; 0 if it cannot be read."""
    try:
        return len(load_test_set(desk.folder / desk.config().testset).images)
    except TestSetError:
        return 0


@blueprint.post("/rules/preset")
def take_preset() -> Any:
    """Write the rules of a preset; once there is a run, only after its changes were shown and accepted."""
    desk = part(SettingsDesk)

    def settings(form: Form) -> list[Setting]:
        preset = preset_named(form.text("preset"))
        return _possible(preset.settings(desk.config()))

    form = present_form()
    if desk.store.runs.find() and form.text(SURE) != YES:
        try:
            edits = settings(form)
            if edits:
                return _shown(asked=_asked(desk, form.text("preset"), edits))
        except RefereeError as error:
            return _shown(error)
    return write("rules", settings, lambda error, _: _shown(error), fields=FIELDS)


@dataclass(frozen=True)
class AskedPreset:
    """A preset that waits for a yes: what it changes in contest.toml, and what that does to the ranking."""

    preset: Preset
    changes: Sequence[Change]
    effects: Sequence[str]


def _asked(desk: SettingsDesk, name: str, edits: Sequence[Setting]) -> AskedPreset:
    file = desk.file()
    text = file.text
    for edit in edits:
        text = edited(text, edit)
    then = config_of(file.path, text)
    changes = list(differences(file.text, text))
    return AskedPreset(preset_named(name), changes, rank_effects(desk, then))


def rank_effects(desk: SettingsDesk, then: ContestConfig) -> list[str]:
    """Return what settings would do to the ranking, in sentences."""
    if desk.hall is None:
        return []
    try:
        return desk.hall.rank_changes(then).sentences
    except (RefereeError, TestSetError):  # Apply says why they cannot be used
        return []


def _shown(
    failure: RefereeError | None = None,
    form: Form | None = None,
    asked: AskedPreset | None = None,
) -> Response:
    desk = part(SettingsDesk)
    config = desk.config()
    text = desk.file().text
    values = {one.name: value_of_config(config, one) for one in FIELDS}
    return step_page(
        "rules",
        rule_findings(desk),
        failure,
        fields=fields_shown(FIELDS, values, form),
        choices=_choices(config),
        presets=[(one, not one.settings(config)) for one in PRESETS],
        asked=asked,
        ranked_by=words_of(config.task).said(config.contest_rule.sentence),
        read_only=[ReadOnly("id", config.id or "none", line_of(text, "id"))],
    )


def value_of_config(config: ContestConfig, field: Field) -> object:
    """Return the present value of a field at the top of contest.toml or in a table of it."""
    place: object = getattr(config, field.table) if field.table else config
    return getattr(place, field.key)


def rule_findings(desk: SettingsDesk) -> Iterator[Finding]:
    """Yield what is wrong with the rules, and what they give away."""
    config = desk.config()
    images = images_there(desk)
    if problem := too_many(config.images.per_attempt, images):
        yield Finding("bad-config", f"“Images of a run”: {problem}")
    if not images:
        sentence = "There is no test set yet, so the rules cannot be checked against its images; choose one."
        yield Finding("testset-missing", sentence, is_advice=True)
    for one in rule_advice(config, images):
        if one.code in OF_OTHER_STEPS or (not images and one.code in OF_IMAGES):
            continue
        yield one


OF_IMAGES = ("images-repeated", "score-of-few-images")
