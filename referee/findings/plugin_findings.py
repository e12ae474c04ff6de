"""The findings of the plug-ins' own checks."""

from __future__ import annotations

from collections.abc import Iterator

from lpirc_testsets import TestSetError
from lpirc_testsets.plugins import PluginError
from referee import seams
from referee.contest import Contest
from referee.errors import RefereeError
from referee.seams import Finding


def findings_of_plugins(contest: Contest) -> Iterator[Finding]:
    """Run the checks that plug-ins offer. A check that fails to run yields a finding, too."""
    for check in seams.CHECKS.each(_is_named_already):
        try:
            yield from seams.findings(check, contest)
        except (RefereeError, TestSetError) as error:
            yield Finding(error.code, error.sentence)


def _is_named_already(_: PluginError) -> None:
    """Ignore the error: `look_at_plugins` yields a finding for it."""
