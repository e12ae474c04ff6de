"""The step for the day: when the board freezes, and where backups go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from flask import Response

from referee.config.contest_file import NOTHING_WRITTEN
from referee.config.contest_text import BACKUP_FOLDER
from referee.config.toml_edits import Setting
from referee.errors import RefereeError
from referee.findings.backup_folder import make_backup_folder, require_backup_folder
from referee.findings.host_findings import (
    failure_of,
    look_at_backup_folder,
    look_at_clock,
    look_at_journal,
    require_free_space,
)
from referee.findings.rule_findings import rule_advice
from referee.presence import is_file
from referee.seams import Finding
from referee.web.app_parts import part
from referee.web.setup.form_body import Form
from referee.web.setup.form_fields import (
    Field,
    fields_shown,
    local_text,
    settings_of,
)
from referee.web.setup.rule_page import value_of_config
from referee.web.setup.settings_desk import (
    SettingsDesk,
    settings_blueprint,
    step_page,
    write,
)

FORM = "by the clock of this machine, see below"
FIELDS = (
    Field(
        "freeze_at",
        "The board freezes at",
        "moment",
        f"{FORM}; blank: by hand",
        may_be_blank=True,
    ),
    Field(
        "ground_truth_secret_until",
        "The ground truth is secret until",
        "moment",
        f"{FORM}; blank: it is in every bundle",
        may_be_blank=True,
    ),
    Field(
        "folder",
        "Folder for backups",
        "text",
        "best on another disk, /media/stick; blank: none",
        "backup",
        may_be_blank=True,
    ),
    Field("every_min", "Minutes between backups", "number", "", "backup"),
    Field(
        "path",
        "Folder of the journal",
        "text",
        "a second copy of all that is acknowledged, best on another disk; blank: in the contest folder",
        "journal",
        may_be_blank=True,
    ),
    Field("deadline_s", "Seconds that the journal may take", "number", "", "journal"),
    Field(
        "required",
        "Nothing is accepted while the journal cannot be written",
        "flag",
        table="journal",
    ),
)

IF_OVER = {
    "freeze_at": (
        FIELDS[0].label,
        "write a time to come. To freeze the board now, press “Freeze” in the console.",
    ),
    "ground_truth_secret_until": (
        FIELDS[1].label,
        "write a time to come, or leave it blank if the ground truth is not secret.",
    ),
}
"""The label of a time, and what to do about one that is over."""

blueprint = settings_blueprint("day")


@blueprint.get("/day")
def day() -> Response:
    """Answer with the times and the folder as they are."""
    return _shown()


@blueprint.post("/day")
def change_day() -> Any:
    """Write what was changed."""
    return write("day", _edits, _shown, fields=FIELDS)


def _edits(form: Form) -> list[Setting]:
    found = settings_of(FIELDS, form)
    _require_to_come(found)
    for one in found:
        if one.key == "path" and one.value:
            _require_no_file(str(one.value))
        if one.key == "folder" and one.value:
            _require_backup_folder(part(SettingsDesk).folder, str(one.value))
    return found


def _require_to_come(found: Sequence[Setting]) -> None:
    """Raise RefereeError `bad-request` for a time that is over: the freeze or the truth would come at once."""
    now = part(SettingsDesk).clock.utc()
    for one in found:
        if isinstance(one.value, datetime) and one.value <= now:
            label, advice = IF_OVER[one.key]
            over = local_text(one.value).replace("T", " ")
            words = f"{label}: {over} is over, now it is {local_text(now).replace('T', ' ')}; {advice}"
            raise RefereeError("bad-request", f"{words} {NOTHING_WRITTEN}")


def _require_no_file(given: str) -> None:
    """Raise RefereeError `bad-request` for a file in place of the journal's folder, which may be mounted later."""
    journal = part(SettingsDesk).folder / given
    if is_file(journal):
        words = f"Folder of the journal: {journal} is a file; name a folder."
        raise RefereeError("bad-request", f"{words} {NOTHING_WRITTEN}")


def _require_backup_folder(contest: Path, given: str) -> None:
    try:
        require_backup_folder(contest, given)
        make_backup_folder(contest, given)
    except RefereeError as error:
        sentence = f"{error.sentence} Nothing was written."
        raise RefereeError(error.code, sentence) from error


def day_findings(desk: SettingsDesk) -> Iterator[Finding]:
    """Yield what is wrong with times, backups, disk, journal and clock."""
    config = desk.config()
    now = desk.clock.utc()
    if config.freeze_at is not None and config.freeze_at <= now:
        local = local_text(config.freeze_at).replace("T", " ")
        words = f"The time at which the board freezes, {local}, is over: it freezes as soon as this is applied."
        yield Finding("freeze-over", words, is_advice=True)
    for one in rule_advice(config, 0):
        if one.code == "backup-missing":
            yield one
    yield from look_at_backup_folder(desk.folder, config)
    yield from look_at_journal(desk.folder)
    yield from failure_of(require_free_space, desk.folder)
    yield from look_at_clock(desk.store)


def _shown(failure: RefereeError | None = None, form: Form | None = None) -> Response:
    desk = part(SettingsDesk)
    config = desk.config()
    values = {one.name: value_of_config(config, one) for one in FIELDS}
    local = desk.clock.utc().astimezone()
    return step_page(
        "day",
        day_findings(desk),
        failure,
        fields=fields_shown(FIELDS, values, form),
        local=f"{local:%Y-%m-%d %H:%M}, UTC{local.isoformat()[-6:]}",
        usual=BACKUP_FOLDER,
    )
