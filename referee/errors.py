"""The referee's errors: a stable code, one clear sentence, and facts.

`RefereeError` is the base class from the scoring package, so that one `except` catches the errors of both.

A failure that some caller handles has its own class: code never branches on `code` or on the sentence. The sentence is
written where the error is raised; search for its code.
"""

from __future__ import annotations

from pathlib import Path

from lpirc_score.errors import BadRows, LengthMismatch
from lpirc_score.errors import CodedError as RefereeError

__all__ = [
    "AttemptsUsed",
    "BadRows",
    "BadSetting",
    "BadTrack",
    "ContestMissing",
    "DeviceDoubted",
    "DisplayFailed",
    "EntryWithdrawn",
    "EpochTaken",
    "JournalDamaged",
    "JournalForeign",
    "JournalStalled",
    "LengthMismatch",
    "LoginRefused",
    "ModelCrashed",
    "ModelFault",
    "NotArmed",
    "NotStarted",
    "RefereeError",
    "SessionRefused",
    "ShuttingDown",
    "StationBusy",
    "StorageFailed",
    "Superseded",
    "TestSetChanged",
    "WindowClosed",
    "WrongAddress",
    "WrongDevice",
]


class BadSetting(RefereeError):
    """A value of contest.toml cannot be: `words` say why, without its place in the file."""

    def __init__(self, where: str, words: str) -> None:
        super().__init__("bad-config", f"{where}: {words}")
        self.words = words


class ContestMissing(RefereeError):
    """There is no contest at a path: `what` is there instead, without what to do about it."""

    def __init__(self, folder: Path, what: str, advice: str = "") -> None:
        super().__init__("contest-missing", f"{what} {advice}".strip())
        self.folder = folder
        self.what = what


class LoginRefused(RefereeError):
    """A log-in was refused: `bad-credentials`, `too-many-failures`, `wrong-address`, `team-disabled`."""


class SessionRefused(RefereeError):
    """A request was refused: its token is missing or bad, or its run belongs to another team or has ended."""


class WrongAddress(LoginRefused, SessionRefused):
    """The request comes from a client address that its station does not admit."""

    def __init__(self, sentence: str, **facts: object) -> None:
        super().__init__("wrong-address", sentence, **facts)


class WindowClosed(SessionRefused):
    """The run has ended: no more images are served, and no more detections are accepted."""

    def __init__(self, sentence: str, **facts: object) -> None:
        super().__init__("window-closed", sentence, **facts)


class EntryWithdrawn(RefereeError):
    """The team's entry with this file is withdrawn, and no part of that entry is accepted again."""


class NotStarted(RefereeError):
    """The run waits for the start signal of its heat."""

    def __init__(self, sentence: str, **facts: object) -> None:
        super().__init__("not-started", sentence, **facts)


class NotArmed(RefereeError):
    """No run waits for the team's log-in."""

    def __init__(self, sentence: str, **facts: object) -> None:
        super().__init__("not-armed", sentence, **facts)


class AttemptsUsed(NotArmed):
    """The team has had all the runs that the contest allows it, so none is armed."""

    def __init__(self, sentence: str, **facts: object) -> None:
        super().__init__(sentence, **facts)
        self.code = "attempts-used"

    def allowed_by(self, command: str) -> AttemptsUsed:
        """Return the error with the operator's command that allows one more."""
        return AttemptsUsed(f"{self.sentence}: {command}", **self.facts)


class StationBusy(RefereeError):
    """The station already has a run."""

    def __init__(self, sentence: str, **facts: object) -> None:
        super().__init__("station-busy", sentence, **facts)


class TestSetChanged(RefereeError):
    """The test set is not the one that the run, or the manifest, was made for."""

    __test__ = False  # pytest would collect the name as a class of tests

    def __init__(self, sentence: str, **facts: object) -> None:
        super().__init__("testset-changed", sentence, **facts)


class DisplayFailed(RefereeError):
    """The screen of a station does not show the image that a team requested."""

    def __init__(self, sentence: str, **facts: object) -> None:
        super().__init__("display-failed", sentence, **facts)


class StorageFailed(RefereeError):
    """The contest database cannot be opened, read or written; the same call may succeed later."""

    def __init__(self, sentence: str, **facts: object) -> None:
        super().__init__("storage-failed", sentence, **facts)


class JournalDamaged(RefereeError):
    """A journal differs from what was written."""

    def __init__(self, sentence: str, **facts: object) -> None:
        super().__init__("journal-damaged", sentence, **facts)


class JournalForeign(RefereeError):
    """A journal that does not produce the state of its database."""

    def __init__(self, sentence: str, **facts: object) -> None:
        super().__init__("journal-foreign", sentence, **facts)


class JournalStalled(StorageFailed):
    """The journal's disk does not answer; nothing is accepted until it does."""

    def __init__(self, sentence: str, **facts: object) -> None:
        super().__init__(sentence, **facts)
        self.code = "journal-stalled"


class Superseded(StorageFailed):
    """Another host has taken over this contest, so this host no longer acknowledges anything."""

    def __init__(self, sentence: str, **facts: object) -> None:
        super().__init__(sentence, **facts)
        self.code = "superseded"


class EpochTaken(RefereeError):
    """Another host has claimed the epoch first and takes over."""

    def __init__(self, sentence: str, **facts: object) -> None:
        super().__init__("epoch-taken", sentence, **facts)


class ShuttingDown(RefereeError):
    """The server is stopping; it will resume its open runs when it is started again."""

    def __init__(self) -> None:
        super().__init__(
            "shutting-down", "The referee is shutting down; log in again later."
        )


class ModelFault(RefereeError):
    """One model cannot be judged: it is refused or damaged, it fails, or its result is invalid.

    Other models are unaffected.
    """


class ModelCrashed(ModelFault):
    """A model fails while it runs: it crashes, ends its process, takes too long, or needs too much memory."""


class WrongDevice(RefereeError):
    """A model was measured on a device whose measurements the track does not accept."""


class DeviceDoubted(RefereeError):
    """A device's results for the same model differ; the device must first pass a calibration."""


class BadTrack(RefereeError):
    """The module or plug-in of a rule does not provide a valid `Track`."""

    def __init__(self, sentence: str, **facts: object) -> None:
        super().__init__("bad-track", sentence, **facts)
