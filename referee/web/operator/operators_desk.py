"""The app part that operators' pages and routes use, in addition to the contest and its runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from referee.auth.guessing import PasswordChecks
from referee.web.callers import Callers
from referee.web.config_watch import ConfigWatch
from referee.web.judge_process import Judging
from referee.web.live_status import LiveStatus
from referee.web.operator.kept_fragments import KeptFragments


@dataclass(frozen=True)
class OperatorsDesk:
    """The status, the judging, the watch of contest.toml, the count of wrong passwords, and kept fragments of pages."""

    callers: Callers
    config_watch: ConfigWatch
    judging: Judging
    status: LiveStatus
    passwords: PasswordChecks = field(default_factory=PasswordChecks)
    fragments: KeptFragments = field(default_factory=KeptFragments)
