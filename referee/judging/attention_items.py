"""A finding that needs an operator's attention: what it is, how urgent it is, and the acts that settle it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

OPERATOR = "/operator"


class Severity(StrEnum):
    """The urgency of a finding, the most urgent first."""

    PERSON_NEEDED = "person-needed"
    WARNING = "warning"
    TO_DO = "to-do"


URGENCY = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True)
class Act:
    """A way out: a POST of `send` to `path`, or a page to open if `send` is None. `command` does the same."""

    label: str
    path: str
    send: Mapping[str, Any] | None = None
    command: str | None = None

    def document(self) -> dict[str, Any]:
        """Return the act as JSON."""
        return {
            "label": self.label,
            "path": self.path,
            "send": None if self.send is None else dict(self.send),
            "command": self.command,
        }


@dataclass(frozen=True)
class Attention:
    """A finding of a run, a station or the contest. `about` tells findings of one code apart, if neither does."""

    code: str
    severity: Severity
    sentence: str
    run: int | None = None
    station: str | None = None
    about: str | None = None
    acts: tuple[Act, ...] = ()

    @property
    def id(self) -> str:
        """The finding's identity: the same as long as it lasts, whatever figures its sentence has."""
        which = (self.run, self.station, self.about)
        return "-".join([self.code, *(str(one) for one in which if one is not None)])

    def document(self) -> dict[str, Any]:
        """Return the finding as JSON. Named key by key: `dataclasses.asdict` costs more than the rest of the status."""
        return {
            "code": self.code,
            "severity": self.severity,
            "sentence": self.sentence,
            "run": self.run,
            "station": self.station,
            "acts": [one.document() for one in self.acts],
            "id": self.id,
        }


REASON_OPTIONS = {"void": "--reason", "review": "--note"}
"""The options of commands that take no act without its reason."""


def act_of_run(label: str, number: int, what: str, **send: str) -> Act:
    """Return an act on a run, with its command."""
    command = f"referee run {what} {number}"
    if what == "judge":
        command = f"referee judge {number}"
    elif what in REASON_OPTIONS:
        command += f' {REASON_OPTIONS[what]} "\N{HORIZONTAL ELLIPSIS}"'
    return Act(label, f"{OPERATOR}/runs/{number}/{what}", send, command)
