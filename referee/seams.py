"""The seams: groups of entry points by which other distributions extend the referee.

A seam is a group, and the shape of its entries. A plug-in that cannot be imported, has another shape, shares its name
with another one, or fails when it is called is one sentence, and stops nothing else. docs/plugins.md shows one of each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, ParamSpec, TypeVar

import click

from referee.errors import BrokenPlugin

if TYPE_CHECKING:
    from flask import Blueprint

    from referee.clock import Clock
    from referee.contest import Contest

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
OWN = frozenset({"lpirc-referee", "lpirc-tracks"})
"""Distributions whose names no other one can take."""


class Finding(NamedTuple):
    """A finding of `referee doctor`: a code and its sentence; advice alone is no failure."""

    code: str
    sentence: str
    is_advice: bool = False


def nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Pages:
    """Pages and background work of a plug-in for the server of one contest.

    `state` is the app's extension of the plug-in's name. `links` are listed below the board: text and address. `start`
    begins background work once the runs are taken up, `close` ends it with the server, `look` is a check at the start,
    beside the first answers: its failure goes into the log.
    """

    blueprints: Sequence[Blueprint] = ()
    state: object = None
    links: Sequence[tuple[str, str]] = ()
    start: Callable[[], object] = nothing
    close: Callable[[], object] = nothing
    look: Callable[[], object] = nothing


BringPages = Callable[["Contest", "Clock"], Pages]
Check = Callable[["Contest"], Iterable[Finding]]


@dataclass(frozen=True)
class Plugin(Generic[T]):
    """A loaded entry of a seam, and in words which one it is."""

    name: str
    described: str
    brought: T

    def call(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call something that the plug-in brought. Raises what has a sentence; BrokenPlugin for everything else."""
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if hasattr(error, "sentence"):
                raise
            words = f"{type(error).__name__}: {error}"
            raise BrokenPlugin(f"{self.described} has failed: {words}.") from error


@dataclass(frozen=True)
class Seam(Generic[T]):
    """A group of entry points whose objects are of one shape: `fits` tells it of a name and its object."""

    group: str
    shape: str
    fits: Callable[[str, object], bool]
    former_group: str | None = None

    def names(self) -> list[str]:
        """The names of all entries, sorted; nothing is imported."""
        return sorted(self._points())

    def load(self, name: str) -> Plugin[T]:
        """Import the entry of that name. Raises BrokenPlugin; KeyError for an unknown name."""
        points, _ = self._chosen(name)
        if len(points) > 1:
            both = " and ".join(sorted(_distribution(one) for one in points))
            words = f"is given by {both}; uninstall one of them."
            raise BrokenPlugin(f"The entry point {name} of {self.group} {words}")
        (point,) = points
        described = self._described(point)
        try:
            brought: Any = point.load()
        except Exception as error:  # whatever its module raises
            words = f"{type(error).__name__}: {error}"
            raise BrokenPlugin(f"{described} cannot be loaded: {words}.") from error
        if not self.fits(name, brought):
            words = f"is not {self.shape} {name!r} but {brought!r:.80}."
            raise BrokenPlugin(f"{described} {words}")
        return Plugin(name, described, brought)

    def each(self, on_broken: Callable[[BrokenPlugin], object]) -> Iterator[Plugin[T]]:
        """Load all entries; what is wrong with the others goes to `on_broken`."""
        for name in self.names():
            for left_out in self._chosen(name)[1]:
                words = "is left out: the project itself has that name; rename it."
                on_broken(BrokenPlugin(f"{self._described(left_out)} {words}"))
            try:
                plugin = self.load(name)
            except BrokenPlugin as error:
                on_broken(error)
            else:
                yield plugin

    def _chosen(self, name: str) -> tuple[list[EntryPoint], list[EntryPoint]]:
        """The entry points that count, and those that are left out for the project's own."""
        points = self._points()[name]
        own = [one for one in points if _distribution(one) in OWN]
        if not own:
            return points, []
        return own, [one for one in points if one not in own]

    def _points(self) -> dict[str, list[EntryPoint]]:
        found = dict(_points(self.group, tuple(sys.path)))
        if self.former_group is not None:
            for name, points in _points(self.former_group, tuple(sys.path)).items():
                found.setdefault(name, points)
        return found

    def _described(self, point: EntryPoint) -> str:
        words = f"{point.name} = {point.value} of {_distribution(point)}"
        return f"The entry point {words} in {self.group}"


def _is_callable(_name: str, found: object) -> bool:
    return callable(found)


COMMANDS = Seam[click.Command](
    "lpirc.commands", "the command", lambda _, found: isinstance(found, click.Command)
)
PAGES = Seam[BringPages]("lpirc.pages", "the function of the pages", _is_callable)
CHECKS = Seam[Check]("lpirc.checks", "the function of the check", _is_callable)


@lru_cache(32)
def _points(group: str, _path: tuple[str, ...]) -> dict[str, list[EntryPoint]]:
    """The entry points of a group by name, as long as the path of imports stays the same."""
    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=group):
        found.setdefault(point.name, []).append(point)
    return found


def _distribution(point: EntryPoint) -> str:
    return "an unknown distribution" if point.dist is None else point.dist.name
