"""The step for the prizes: a name, and what each is awarded for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from flask import Response

from referee.config.contest_values import Prize
from referee.config.toml_edits import Edit, NewRow, NoRow, Setting
from referee.errors import RefereeError
from referee.judging.bound_rules import other_prizes
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
    SettingsDesk,
    settings_blueprint,
    step_page,
    write,
)

TABLE = "prizes"
RULES = (
    ("best-score", "the best score, by the rule of the contest"),
    ("least-energy", "the least energy, with an accuracy well above the mean"),
    ("highest-map", "the highest accuracy, with an energy well below the mean"),
)
FIELDS = (Field("name", "Name"), Field("rule", "Awarded for", choices=RULES))

blueprint = settings_blueprint(TABLE)


@blueprint.get("/prizes")
def prizes() -> Response:
    """Answer with the prizes as they are."""
    return _shown()


@blueprint.post("/prizes")
def change_prize() -> Any:
    """Write what was changed of a prize."""

    def edits(form: Form) -> list[Edit]:
        return [*_as_rows(), *row_edits(TABLE, form.text("row"), FIELDS, form)]

    return write(TABLE, edits, _shown, fields=FIELDS)


@blueprint.post("/prizes/add")
def add_prize() -> Any:
    """Add a prize."""

    def edits(form: Form) -> list[Edit]:
        return [*_as_rows(), new_row(TABLE, FIELDS, form)]

    return write(TABLE, edits, _shown, fields=FIELDS)


@blueprint.post("/prizes/remove")
def remove_prize() -> Any:
    """Take a prize away; its lines stay as comments."""

    def edits(form: Form) -> list[Edit]:
        gone = form.text("row")
        left = [one for one in _present() if one.name != gone]
        # Without any row the three usual prizes would be awarded again.
        none = [] if left else [Setting(TABLE, ())]
        return [*_as_rows(), NoRow(TABLE, gone), *none]

    return write(TABLE, edits, _shown, fields=FIELDS)


def _present() -> tuple[Prize, ...]:
    return part(SettingsDesk).config().prizes


def _as_rows() -> list[Edit]:
    """Return the edits after which each prize is a row of the file, also the usual ones, which no line states."""
    file = part(SettingsDesk).file()
    written = file.table.get(TABLE)
    if written is None:
        return [NewRow(TABLE, asdict(one)) for one in _present()]
    return [] if written else [Setting(TABLE, None)]


def prize_findings(desk: SettingsDesk) -> Iterator[Finding]:
    """Yield what is wrong with the prizes."""
    config = desk.config()
    if not config.prizes:
        words = "There is no prize: the board ranks the teams and awards nothing."
        yield Finding("prizes-missing", words, is_advice=True)
    other = [run.id for run in desk.store.runs.find() if other_prizes(config, run)]
    if other:
        runs = "Run" if len(other) == 1 else "Runs"
        named = ", ".join(map(str, other))
        sentence = (
            f"{runs} {named} began under other prizes. The board awards those of contest.toml and says so; "
            "write the former ones again unless the teams have agreed."
        )
        yield Finding("prizes-changed", sentence, is_advice=True)


def _shown(failure: RefereeError | None = None, form: Form | None = None) -> Response:
    desk = part(SettingsDesk)
    config = desk.config()
    file = desk.file()
    return step_page(
        TABLE,
        prize_findings(desk),
        failure,
        rows=shown_rows(TABLE, config.prizes, FIELDS, file.text, form),
        is_usual=TABLE not in file.table,
        rules=RULES,
        given=new_row_given(("name", "rule"), form),
        elsewhere=written_elsewhere(file.text, TABLE, file.table.get(TABLE, ())),
    )
