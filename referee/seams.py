"""The seams: groups of entry points by which other distributions extend the referee.

A seam is an entry-point group and the interface of its objects. A plug-in is reported in one sentence, and stops
nothing else, if it cannot be imported, has the wrong interface, shares its name with another plug-in, or fails when it
is called. docs/plugins.md has a sample of each. Metrics, formats and meters are seams of the distributions below this
one, tracks are a seam of lpirc-tracks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import click

from lpirc_testsets import TestSetError
from lpirc_testsets.plugins import Plugin, PluginError, Seam
from referee.errors import RefereeError

if TYPE_CHECKING:
    from flask import Blueprint

    from referee.clock import Clock
    from referee.contest import Contest

P = ParamSpec("P")
T = TypeVar("T")


class Finding(NamedTuple):
    """A finding of `referee doctor`: a code and its sentence; mere advice is not a failure."""

    code: str
    sentence: str
    is_advice: bool = False


def do_nothing() -> None:
    """Do nothing."""


def find_nothing() -> Iterable[Finding]:
    """Return no finding."""
    return ()


def nothing_handed_in(_team: str) -> Sequence[Mapping[str, Any]]:
    """Return an empty list: the team has handed in nothing."""
    return ()


@dataclass(frozen=True)
class Pages:
    """Pages and background work of a plug-in in the server of one contest.

    `state` is stored in the app's extensions under the plug-in's name. `links` (text and address) are listed below the
    board. `start` begins background work after the server has resumed open runs; `close` ends it with the server.
    `look` is a check that runs while the first requests are answered; its failure is logged. `attention` returns what
    operators should look at now; it is called every ten seconds, so it must be quick. `handed_in` is called within a
    request and returns what a team has handed in, each as a JSON document with at least `state`, and `file` and `track`
    if it has them: the team's own page lists them.
    """

    blueprints: Sequence[Blueprint] = ()
    state: object = None
    links: Sequence[tuple[str, str]] = ()
    start: Callable[[], object] = do_nothing
    close: Callable[[], object] = do_nothing
    look: Callable[[], object] = do_nothing
    attention: Callable[[], Iterable[Finding]] = find_nothing
    handed_in: Callable[[str], Sequence[Mapping[str, Any]]] = nothing_handed_in


BringPages = Callable[["Contest", "Clock"], Pages]
Check = Callable[["Contest"], Iterable[Finding]]


@dataclass(frozen=True)
class ShapedSeam(Seam):
    """A seam whose objects share an interface.

    `fits` checks an object and its name; `shape` describes the interface.
    """

    fits: Callable[[str, object], bool]
    shape: str

    def load(self, name: str) -> Plugin:
        """Load the plug-in with that name. Raises PluginError."""
        plugin = super().load(name)
        if not self.fits(name, plugin.value):
            problem = f"{plugin.value!r:.80} is not the {self.what} {name!r}"
            raise plugin.broken(
                f"{problem}; the entry point must refer to {self.shape}"
            )
        return plugin

    def each(self, on_broken: Callable[[PluginError], object]) -> Iterator[Plugin]:
        """Load all plug-ins; `on_broken` gets the error of each broken one."""
        for name in self.names():
            try:
                plugin = self.load(name)
            except PluginError as error:
                on_broken(error)
            else:
                yield plugin


def _is_command(_name: str, found: object) -> bool:
    return isinstance(found, click.Command)


def _is_function(_name: str, found: object) -> bool:
    return callable(found)


COMMANDS = ShapedSeam(
    "lpirc.commands", "command", "lpirc-tracks", _is_command, "a click command"
)
"""Commands of `referee`, as click commands."""

PAGES = ShapedSeam(
    "lpirc.pages", "function of pages", "lpirc-tracks", _is_function, "a function"
)
"""Functions of type `BringPages`."""

CHECKS = ShapedSeam("lpirc.checks", "check", "lpirc-tracks", _is_function, "a function")
"""Functions of type `Check`, which `referee doctor` calls."""


def call(
    plugin: Plugin, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Call a function that a plug-in provides.

    RefereeError and TestSetError pass through; any other exception, including SystemExit, becomes a PluginError that
    names the plug-in.
    """
    with plugin.running(RefereeError, TestSetError):
        return function(*args, **kwargs)


def findings(plugin: Plugin, contest: Contest) -> list[Finding]:
    """Run a plug-in's check and return its findings. Raises PluginError, RefereeError, TestSetError."""
    return _checked(plugin, call(plugin, lambda: list(plugin.value(contest))))


def _checked(plugin: Plugin, found: list[Finding]) -> list[Finding]:
    for one in found:
        if not isinstance(one, Finding):
            raise plugin.broken(f"it found {one!r:.80}, which is not a Finding")
    return found


def attention(plugin: Plugin, made: Pages) -> list[Finding]:
    """Return what a plug-in has operators look at. Raises PluginError, RefereeError, TestSetError."""
    return _checked(plugin, call(plugin, lambda: list(made.attention())))


def pages(plugin: Plugin, contest: Contest, clock: Clock) -> Pages:
    """Have a plug-in make its pages, and return them. Raises PluginError, RefereeError, TestSetError."""
    made = call(plugin, plugin.value, contest, clock)
    if not isinstance(made, Pages):
        raise plugin.broken(f"it made {made!r:.80}, which is not a Pages")
    call(plugin, _require_links, made)
    return made


def _require_links(made: Pages) -> None:
    for link in made.links:
        text, address = link
        if not (isinstance(text, str) and isinstance(address, str)):
            raise TypeError(f"{link!r:.80} is not a text and an address")
