"""Plug-ins that cannot be used, and the findings of the others in a contest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from lpirc_testsets import TestSetError
from referee import seams
from referee.cli.own_commands import COMMANDS
from referee.contest import Contest
from referee.errors import BrokenPlugin, RefereeError
from referee.seams import Finding, Seam

GROUPS_OF_OTHERS = ("lpirc.formats", "lpirc.meters", "lpirc.metrics", "lpirc.tracks")
"""Seams of other distributions, which check the shape themselves."""


def look_at_plugins() -> Iterator[Finding]:
    """Name each plug-in that cannot be used; all of them are imported for that."""
    broken: list[BrokenPlugin] = []
    of_others = [Seam[Any](group, "", _fits) for group in GROUPS_OF_OTHERS]
    for plugin in seams.COMMANDS.each(broken.append):
        if plugin.name in COMMANDS:
            words = "is left out: referee has a command of that name; rename it."
            broken.append(BrokenPlugin(f"{plugin.described} {words}"))
    others: list[Seam[Any]] = [seams.PAGES, seams.CHECKS, *of_others]
    for seam in others:
        list(seam.each(broken.append))
    for error in broken:
        yield Finding(error.code, error.sentence)


def findings_of_plugins(contest: Contest) -> Iterator[Finding]:
    """Make the checks that plug-ins bring; one that fails is a finding itself."""
    for check in seams.CHECKS.each(lambda _: None):  # `look_at_plugins` names these
        try:
            yield from check.call(_findings, check.brought, contest)
        except (RefereeError, TestSetError) as error:
            yield Finding(error.code, error.sentence)


def _findings(
    check: Callable[[Contest], Iterable[Finding]], contest: Contest
) -> list[Finding]:
    found = list(check(contest))
    for one in found:
        if not isinstance(one, Finding):
            raise TypeError(f"{one!r} is not a Finding")
    return found


def _fits(_name: str, _brought: object) -> bool:
    return True
