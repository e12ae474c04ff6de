"""The step for tracks: competitions of models or results files, beside the contest of the boards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flask import Response

from lpirc_score.metrics.offered import metric_names
from lpirc_testsets import TestSetError
from referee.config.toml_edits import Edit, NoRow
from referee.config.toml_lines import line_of
from referee.contest import open_contest
from referee.errors import RefereeError
from referee.findings.host_findings import failure_of
from referee.findings.plugin_findings import findings_of_plugins
from referee.installed import require_tracks, track_rules
from referee.seams import Finding
from referee.web.app_parts import part
from referee.web.setup.form_body import Form
from referee.web.setup.form_fields import Field
from referee.web.setup.row_edits import (
    new_row,
    new_row_given,
    row_edits,
    shown_rows,
    written_elsewhere,
)
from referee.web.setup.settings_desk import (
    ReadOnly,
    SettingsDesk,
    settings_blueprint,
    step_page,
    write,
)

TABLE = "tracks"
MOMENT = "with its offset from UTC: 2027-06-20T15:30+02:00"
RUNTIMES = tuple((one, one) for one in ("litert", "onnxruntime", "any"))
NAME = Field("name", "Name", hint="in addresses and commands; it stays as it is")
FIELDS = (
    Field("rule", "Rule", may_be_blank=True),
    Field("testset", "Test set", "text", "a folder, relative to contest.toml"),
    Field(
        "holdout",
        "Hold-out test set",
        "text",
        "a second, secret folder, for prizes; blank: none",
        may_be_blank=True,
    ),
    Field("submissions_per_day", "Uploads of a team a day", "whole"),
    Field(
        "holdout_until",
        "Uploads until",
        "moment",
        f"{MOMENT}; blank: no end",
        may_be_blank=True,
    ),
    Field("runtime", "Runtime of models", choices=RUNTIMES),
    Field(
        "device",
        "Device that measures",
        "text",
        "blank: the first one that measures",
        may_be_blank=True,
    ),
    Field(
        "devices",
        "Several equal devices",
        "list",
        "pixel-1, pixel-2; blank: one device",
        may_be_blank=True,
    ),
    Field(
        "calibration",
        "Calibration model",
        "text",
        "a file that each device measures first; blank: none",
        may_be_blank=True,
    ),
    Field("metric", "Metric of results files", may_be_blank=True),
    Field("holdout_part", "Held-out part of the images", "number", "0.5: one half"),
    Field("replacement_minutes", "Minutes to replace a broken file", "number"),
    Field("publish_automatically", "The final board is published by itself", "flag"),
    Field("unconfined", "Models may run unconfined on this host", "flag"),
)

blueprint = settings_blueprint(TABLE)


@blueprint.get("/tracks")
def tracks() -> Response:
    """Answer with the tracks as they are."""
    return _shown()


@blueprint.post("/tracks")
def change_track() -> Any:
    """Write what was changed of a track."""

    def edits(form: Form) -> list[Edit]:
        return row_edits(TABLE, form.text("row"), FIELDS, form)

    return write(TABLE, edits, _shown, fields=(NAME, *FIELDS))


@blueprint.post("/tracks/add")
def add_track() -> Any:
    """Add a track with a name, a rule and a test set."""

    def edits(form: Form) -> list[Edit]:
        _require_rule(form.text("name"), form.text("rule"))
        return [new_row(TABLE, (NAME, *FIELDS[:2]), form)]

    return write(TABLE, edits, _shown, fields=(NAME, *FIELDS))


@blueprint.post("/tracks/remove")
def remove_track() -> Any:
    """Take a track away; its lines stay as comments, and what was handed in stays stored."""

    def edits(form: Form) -> list[Edit]:
        return [NoRow(TABLE, form.text("row"))]

    return write(TABLE, edits, _shown, fields=(NAME, *FIELDS))


def _require_rule(name: str, rule: str) -> None:
    """Raise RefereeError `track-unknown` unless a track's rule, or without one its name, is that of a rule."""
    rules = track_rules()
    if rule or not rules or name.strip() in rules:
        return
    words = f"No rule is called {name.strip()!r}, so this track needs one; choose its rule: {', '.join(rules)}."
    raise RefereeError("track-unknown", words)


def track_findings(desk: SettingsDesk) -> Iterator[Finding]:
    """Yield what is wrong with the tracks, as doctor finds it."""
    config = desk.config()
    if not config.tracks:
        return
    missing = list(failure_of(require_tracks, config))
    yield from missing
    if missing:
        return
    try:
        with open_contest(desk.folder, only_looks=True) as contest:
            yield from findings_of_plugins(contest)
    except (RefereeError, TestSetError) as error:
        words = f"The tracks cannot be checked yet: {error.sentence}"
        yield Finding(error.code, words, is_advice=True)


def _read_only(text: str) -> Iterator[ReadOnly]:
    """Yield the settings of the tracks' rules, which each rule names itself."""
    for number, one in enumerate(part(SettingsDesk).config().tracks, start=1):
        line = line_of(text, "settings", TABLE, number) or line_of_settings(
            text, number
        )
        for key, value in one.settings.items():
            yield ReadOnly(f"{one.name}.settings.{key}", str(value), line)


def line_of_settings(text: str, number: int) -> int | None:
    """Return the line of the table [tracks.settings] that belongs to a track."""
    seen = 0
    for at, line in enumerate(text.split("\n"), start=1):
        bare = line.replace(" ", "")
        seen += bare.startswith(f"[[{TABLE}]]")
        if bare.startswith(f"[{TABLE}.settings]") and seen == number:
            return at
    return None


def _shown(failure: RefereeError | None = None, form: Form | None = None) -> Response:
    desk = part(SettingsDesk)
    config = desk.config()
    text = desk.file().text
    rules = tuple((one, one) for one in track_rules())
    metrics = tuple((one, one) for one in metric_names())
    choices = {
        "rule": (("", "the one of the track's name"), *rules),
        "metric": (("", "the contest's"), *metrics),
    }
    return step_page(
        TABLE,
        track_findings(desk),
        failure,
        rows=shown_rows(TABLE, config.tracks, (NAME, *FIELDS), text, form),
        choices=choices,
        rules=rules,
        read_only=list(_read_only(text)),
        given=new_row_given(("name", "rule", "testset"), form),
        elsewhere=written_elsewhere(text, TABLE, config.tracks),
    )
