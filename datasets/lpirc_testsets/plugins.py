"""Plug-ins by entry point: named objects in a group, offered by this and other distributions.

A distribution declares them in its pyproject.toml:

    [project.entry-points."lpirc.formats"]
    yolo = "my_formats.yolo:FORMAT"

A plug-in is imported only when it is requested by name, so a broken one affects only its users.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, EntryPoint, entry_points
from pathlib import Path
from typing import Any

from lpirc_testsets.close_names import did_you_mean
from lpirc_testsets.errors import TestSetError

LONGEST_TEXT = 300
"""Characters of what a plug-in says that a sentence has."""


class PluginError(TestSetError):
    """A plug-in cannot be used; the code is `plugin-twice`, `plugin-broken` or `plugin-unknown`."""


class UnknownPlugin(PluginError):
    """No plug-in with that name is installed."""


@dataclass(frozen=True)
class Plugin:
    """A loaded plug-in; `value` is the object that its entry point refers to."""

    point: EntryPoint
    value: Any

    @property
    def distribution(self) -> str:
        """The name and version of the distribution that offers the plug-in, such as `my-formats 1.2`."""
        return _distribution_of(self.point)

    def broken(self, problem: str) -> PluginError:
        """Return the error for an object that does not meet the requirements of its group."""
        sentence = f"{_cannot_be_used(self.point)}: {problem}"
        return PluginError("plugin-broken", sentence)

    @contextmanager
    def running(
        self, *expected: type[BaseException], what: str = "it"
    ) -> Iterator[None]:
        """Raise PluginError, with plug-in and line, for any exception of the plug-in's code except `expected`.

        `what` says which part of it runs, such as "its read".
        """
        try:
            yield
        except expected:
            raise
        except (Exception, SystemExit) as error:
            raise self.broken(f"{what} failed: {failure_of(error)}") from error


@dataclass(frozen=True)
class Seam:
    """A group of entry points. `what` is a noun for messages; `home` is the distribution of the built-in plug-ins."""

    group: str
    what: str
    home: str

    def names(self) -> list[str]:
        """Return the names of all installed plug-ins of the group, sorted."""
        return sorted(_points(self.group))

    def load(self, name: str) -> Plugin:
        """Load the plug-in with that name; what is built in keeps its name. Raises PluginError."""
        offers = _points(self.group).get(name, ())
        if not offers:
            raise self._missing(name)
        own = tuple(point for point in offers if _name_of(point.dist) == self.home)
        found = own or offers
        if len(found) > 1:
            both = " and ".join(map(_told, found))
            sentence = (
                f"Two distributions offer the {self.what} {name!r}: {both}; "
                f"uninstall one of them."
            )
            raise PluginError("plugin-twice", sentence)
        (point,) = found
        try:
            value = point.load()
        # A module may raise any exception when imported, or call sys.exit.
        except (Exception, SystemExit) as error:
            problem = one_line(f"{type(error).__name__}: {_text_of(error)}")
            sentence = f"{_cannot_be_used(point)}: {problem}"
            raise PluginError("plugin-broken", sentence) from error
        return Plugin(point, value)

    def refused(self) -> list[str]:
        """Return a sentence for each plug-in with the name of a built-in one, which is not used."""
        sentences = []
        for name, offers in sorted(_points(self.group).items()):
            others = [point for point in offers if _name_of(point.dist) != self.home]
            if len(others) == len(offers):
                continue
            reason = f"{self.home} has the {self.what} {name!r} itself; rename yours."
            sentences += [f"{_cannot_be_used(point)}: {reason}" for point in others]
        return sentences

    def _missing(self, name: str) -> PluginError:
        offers = [point for found in _points(self.group).values() for point in found]
        homes = {_name_of(point.dist) for point in offers}
        if self.home not in homes:
            sentence = (
                f"The distribution {self.home} offers no {self.group}: it was installed "
                f"before its source changed; install it again."
            )
            return PluginError("plugin-broken", sentence)
        known = ", ".join(self.names())
        meant = did_you_mean(name, self.names())
        sentence = f"There is no {self.what} {name!r}; choose one of {known}.{meant}"
        return UnknownPlugin("plugin-unknown", sentence)


def failure_of(error: BaseException) -> str:
    """Return the kind, message and line of an error in a plug-in: "KeyError: 'ap' (metrics.py, line 51)"."""
    words = one_line(f"{type(error).__name__}: {_text_of(error)}")
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return words
    file = Path(frames[-1].filename).name
    return f"{words} ({file}, line {frames[-1].lineno})"


def one_line(text: str) -> str:
    """Return a plug-in's text on one line, its end left out if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TEXT else f"{line[:LONGEST_TEXT]}…"


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a plug-in's own class of errors
        return "its text cannot be told"


def forget_plugins() -> None:
    """Clear the cache of installed plug-ins, so that one installed while this process runs is found."""
    _points.cache_clear()


@cache
def _points(group: str) -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of a group by name; an installation found twice counts once."""
    found: dict[str, dict[str, EntryPoint]] = {}
    for point in entry_points(group=group):
        offers = found.setdefault(point.name, {})
        offers.setdefault(_told(point), point)
    return {name: tuple(offers.values()) for name, offers in found.items()}


def _cannot_be_used(point: EntryPoint) -> str:
    return f"The plug-in {_told(point)} cannot be used"


def _told(point: EntryPoint) -> str:
    return f"{point.group} {point.name} = {point.value} of {_distribution_of(point)}"


def _distribution_of(point: EntryPoint) -> str:
    if point.dist is None:
        return "an unknown distribution"
    return f"{_name_of(point.dist)} {point.dist.version}"


@cache
def _name_of(distribution: Distribution | None) -> str:
    if distribution is None:
        return ""
    return str(distribution.metadata["Name"])
