"""The app part of the settings' pages: the folder, its store, who acts, and how a page is shown and a change made."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from flask import Blueprint, Response, redirect, request

from lpirc_power.errors import MeterError
from lpirc_testsets import TestSetError
from referee.auth.operator_names import KEY
from referee.clock import Clock
from referee.config import ContestConfig, config_of
from referee.config.contest_file import (
    Change,
    ContestFile,
    OnRecord,
    SettingRefused,
    change_settings,
    read_contest_file,
    replace_text,
)
from referee.config.toml_edits import Edit
from referee.errors import RefereeError, SessionRefused
from referee.judging.rank_changes import RankChanges
from referee.seams import Finding
from referee.store import Store
from referee.store.acts import Act
from referee.web.app_parts import part
from referee.web.config_watch import NOT_WRITTEN
from referee.web.html_pages import page
from referee.web.http_answers import NOT_TO_BE_KEPT
from referee.web.page_sentences import refusal_in_page_words
from referee.web.problem_documents import STATUS_OF_CODE
from referee.web.request_slots import OPERATOR_PATH
from referee.web.setup.form_body import Form, present_form
from referee.web.setup.form_fields import WAS, Field, in_labels
from referee.web.setup.page_words import in_page_words

SETTINGS_PATH = f"{OPERATOR_PATH}/settings"
STEPS = (
    ("rules", "Rules"),
    ("testset", "Test set"),
    ("stations", "Stations"),
    ("teams", "Teams"),
    ("operators", "Operators"),
    ("prizes", "Prizes"),
    ("tracks", "Tracks"),
    ("hall", "Hall"),
    ("day", "Freeze and backups"),
)
ONWARD = dict(pairwise([*(name for name, _ in STEPS), "apply"]))
"""The step after each step."""
ONWARD_PRESSED = "onward"
"""Field of the button Next, which writes the form and leads to the next step."""
SAID = {
    "discarded": "contest.toml has the settings in use again.",
    "recorded": "Done, and put on record.",
    "listed": "Nothing was changed: every team of the list is registered.",
    "registered": "Registered, and put on record.",
    "written": "Written into contest.toml, and put on record.",
    "chosen": "The test set is whole, and chosen.",
    "same": "Nothing was changed: contest.toml has these values.",
    "removed": "Removed, and put on record.",
}
SAFE = ("GET", "HEAD", "OPTIONS")
NOT_TYPED = ("csrf", "version", "row", "station")


class Access(Protocol):
    """Who may use the pages: in set-up the holder of the code, later the operators."""

    @property
    def is_setup(self) -> bool:
        """True until the contest is served."""

    def require(self) -> Any:
        """Return None for a request that may go on, else a response that leads elsewhere, or raise SessionRefused."""

    def who(self) -> dict[str, object]:
        """Return who acts, for the record."""

    def csrf(self) -> str:
        """Return the token that a form of this session must bear."""

    def hand_over(self, response: Response) -> None:
        """Give the browser what it needs at the next worker."""


class Hall(Protocol):
    """What a served contest has besides: its runs, the settings in use, and a worker that can be started again."""

    def differences(self) -> list[str]:
        """Return the settings that differ from those in use."""

    def why_not_now(self) -> str | None:
        """Return why the worker cannot be started again now, and until when; None if it can."""

    def rank_changes(self, config: ContestConfig) -> RankChanges:
        """Return what other settings would change in the ranking. Raises RefereeError, TestSetError."""

    def idle_meter(
        self, station: str, meter: str, longest_s: float, *, resets: bool
    ) -> AbstractContextManager[None]:
        """Keep runs away from the stations that may have a meter. Raises StationBusy if one of them has a run."""

    def idle_everywhere(self, longest_s: float) -> AbstractContextManager[None]:
        """Keep runs away from all stations. Raises StationBusy if one of them has a run."""

    @property
    def config(self) -> ContestConfig:
        """The settings in use."""

    @property
    def text_in_use(self) -> str | None:
        """The text of contest.toml with the settings in use, or None if it is not known."""


@dataclass(frozen=True)
class ReadOnly:
    """A key that pages show and do not change, and its line in contest.toml; None if no line begins with it."""

    key: str
    value: str
    line: int | None


@dataclass(frozen=True)
class SettingsDesk:
    """The contest whose settings the pages change; `hall` is None until it is served."""

    folder: Path
    store: Store
    clock: Clock
    access: Access
    hall: Hall | None
    is_open_network: bool
    url: str
    worker: str = field(default_factory=partial(secrets.token_hex, 8))
    """Identifies this worker process, so that a page sees when the next one answers."""

    def file(self) -> ContestFile:
        """Return contest.toml as it is now."""
        return read_contest_file(self.folder)

    def config(self) -> ContestConfig:
        """Return the settings as contest.toml has them now. Raises RefereeError `bad-config`."""
        file = self.file()
        return config_of(file.path, file.text)

    @contextmanager
    def act(self, action: str, **detail: object) -> Iterator[Act]:
        """Begin an act of whoever makes the request; see `EventTable.act`."""
        who = self.access.who() | {"action": action}
        with self.store.log.act(self.clock.utc(), None, **who, **detail) as under_way:
            yield under_way

    def discard(self, version: str) -> list[Change]:
        """Put the settings in use back into contest.toml. Raises the errors of `replace_text`."""
        text = None if self.hall is None else self.hall.text_in_use
        if text is None:
            sentence = "The text of the settings in use is not known; change them back one by one."
            raise RefereeError("bad-request", sentence)
        return self._on_record(
            version,
            partial(replace_text, self.folder, version, text),
            is_discarded=True,  # what is in use does not change
        )

    def change(self, version: str, edits: Sequence[Edit]) -> list[Change]:
        """Write edits into contest.toml, put on record first. Raises the errors of `change_settings`."""
        return self._on_record(
            version, partial(change_settings, self.folder, version, edits)
        )

    def _on_record(
        self,
        version: str,
        change: Callable[[OnRecord], list[Change]],
        *,
        is_discarded: bool = False,
    ) -> list[Change]:
        """Make a change that is put on record first; if it is not written then, that is put on record, too."""
        recorded: list[str] = []

        def record(changes: Sequence[Change]) -> None:
            if not is_discarded:
                self._require_no_fewer_people(changes)
            recorded.extend(str(one) for one in changes)
            with self.act("settings", changed=recorded, before=version):
                pass

        try:
            return change(record)
        except RefereeError as error:
            if recorded:
                with (
                    suppress(RefereeError),  # a full disk takes no record either
                    self.act(NOT_WRITTEN, changed=recorded, why=error.sentence),
                ):
                    pass
            raise

    def _require_no_fewer_people(self, changes: Sequence[Change]) -> None:
        """Raise RefereeError `second-person` if an operator lowers `publish_by` once the contest is served.

        Otherwise one of the two people of whom it asks a decision could do without the other.
        """
        if self.access.is_setup or self.access.who()["operator"] == KEY:
            return
        for one in changes:
            if one.key == "publish_by" and _number(one.new) < _number(one.old):
                sentence = (
                    f"publish_by is {one.old}: fewer people would decide what is public. Log in by the operator key to "
                    "lower it, or change it in contest.toml; nothing was written."
                )
                raise RefereeError("second-person", sentence)


def _number(value: object) -> int:
    """Return a whole number; a key that is not set counts as 0."""
    return value if isinstance(value, int) else 0


def settings_blueprint(name: str) -> Blueprint:
    """Return a blueprint below /operator/settings whose requests are checked, and whose refusals are pages."""
    made = Blueprint(f"settings-{name}", __name__, url_prefix=SETTINGS_PATH)
    made.before_request(_require)
    for kind in (RefereeError, MeterError, TestSetError):
        made.register_error_handler(kind, refusal_page)
    return made


def _require() -> Any:
    access = part(SettingsDesk).access
    elsewhere = access.require()
    if elsewhere is not None or request.method in SAFE:
        return elsewhere
    given = present_form().text("csrf")
    if not hmac.compare_digest(given.encode(), access.csrf().encode()):
        sentence = "The form does not belong to this session; load the page again."
        raise SessionRefused("bad-token", sentence)
    return None


def refusal_page(error: Any) -> Response:
    """Answer with a page that has the sentence of a refusal and a way back."""
    desk = part(SettingsDesk)
    return page(
        "setup/refused.html",
        status_of(error),
        sentence=refusal_in_page_words(error),
        is_setup=desk.access.is_setup,
        back=request.path if request.method in SAFE else request.referrer,
    )


def status_of(error: Any) -> int:
    """Return the status of the answer to a refusal."""
    return STATUS_OF_CODE.get(error.code, HTTPStatus.BAD_REQUEST)


def step_page(
    step: str,
    findings: Iterable[Finding] = (),
    failure: Any = None,
    read_only: Sequence[ReadOnly] = (),
    failed_at: str = "",
    **values: object,
) -> Response:
    """Answer with the page of a step; `failure` is what was refused, `read_only` what only an editor changes.

    A failure is shown at the top, unless `failed_at` names the row whose card shows it.
    """
    desk = part(SettingsDesk)
    version = ""
    try:
        version = desk.file().version
        contest = desk.config().name
        listed = [in_page_words(one) for one in findings]
    except (
        RefereeError
    ) as error:  # what is shown may be a password that no one sees again
        contest = desk.folder.name
        listed = [Finding(error.code, error.sentence)]
    response = page(
        f"setup/{step}.html",
        200 if failure is None else status_of(failure),
        step=step,
        steps=STEPS,
        onward=ONWARD.get(step),
        path=SETTINGS_PATH,
        contest=contest,
        is_setup=desk.access.is_setup,
        csrf=desk.access.csrf(),
        version=version,
        findings=listed,
        failure=None if failure is None else refusal_in_page_words(failure),
        said=SAID.get(request.args.get("said", "")),
        read_only=read_only,
        failed_at=failed_at,
        **values,
    )
    response.headers.set(*NOT_TO_BE_KEPT)
    return response


def led_to(step: str, said: str = "") -> Any:
    """Lead the browser to a step after a change."""
    asked = f"?said={said}" if said else ""
    return redirect(f"{SETTINGS_PATH}/{step}{asked}", HTTPStatus.SEE_OTHER)


def write(
    step: str,
    edits: Callable[[Form], Sequence[Edit]],
    shown: Callable[[Any, Form], Response],
    said: str = "written",
    *,
    fields: Sequence[Field] = (),
) -> Any:
    """Write what the form asks for and lead back to the step; show the form again if it is refused.

    A refusal names the `fields` of the page, not the keys of contest.toml.
    """
    form = present_form()
    desk = part(SettingsDesk)
    try:
        changes = desk.change(form.text("version"), edits(form))
    except RefereeError as error:
        if isinstance(error, SettingRefused):
            error = SettingRefused(in_labels(error.words, fields))
        try:
            return shown(error, form)
        except RefereeError as unreadable:
            return _kept(unreadable, form)
    is_onward = bool(form.text(ONWARD_PRESSED))
    if said == "written" and not changes:
        said = "" if is_onward else "same"
    return led_to(ONWARD[step] if is_onward else step, said)


def _kept(failure: RefereeError, form: Form) -> Response:
    """Answer with what a form had while contest.toml cannot be read, so that it can be sent again."""
    typed = [
        (name, text)
        for name, text in form.texts.items()
        if name not in NOT_TYPED
        and not name.startswith(WAS)
        and text != form.texts.get(WAS + name)
    ]
    response = page(
        "setup/kept.html",
        status_of(failure),
        sentence=failure.sentence,
        is_setup=part(SettingsDesk).access.is_setup,
        typed=typed,
        sent=form.texts,
        action=request.path,
    )
    response.headers.set(*NOT_TO_BE_KEPT)
    return response
