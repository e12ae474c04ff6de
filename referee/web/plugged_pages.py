"""Pages and background work of plug-ins in the server of one contest; one that fails stops no other."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from flask import Flask

from referee import seams
from referee.clock import Clock
from referee.contest import Contest
from referee.errors import RefereeError
from referee.seams import BringPages, Pages, Plugin

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PluggedPages:
    """The pages of all plug-ins."""

    brought: tuple[tuple[Plugin[BringPages], Pages], ...] = ()

    @property
    def links(self) -> list[tuple[str, str]]:
        """Text and address of each link below the board."""
        return [link for _, pages in self.brought for link in pages.links]

    def start(self) -> None:
        """Begin their background work."""
        for plugin, pages in self.brought:
            _try(plugin, pages.start)

    def close(self) -> None:
        """End their background work."""
        for plugin, pages in self.brought:
            _try(plugin, pages.close)

    def look(self) -> None:
        """Make their checks of the start."""
        for plugin, pages in self.brought:
            _try(plugin, pages.look)


def plug_pages(app: Flask, contest: Contest, clock: Clock) -> PluggedPages:
    """Make the pages of all plug-ins and register them with the app."""
    brought: list[tuple[Plugin[BringPages], Pages]] = []
    for plugin in seams.PAGES.each(_log):
        try:
            pages = plugin.call(_pages, plugin, contest, clock)
            plugin.call(_register, app, plugin.name, pages)
        except RefereeError as error:
            _log(error)
        else:
            brought.append((plugin, pages))
    return PluggedPages(tuple(brought))


def _pages(plugin: Plugin[BringPages], contest: Contest, clock: Clock) -> Pages:
    pages = plugin.brought(contest, clock)
    if not isinstance(pages, Pages):
        raise TypeError(f"{pages!r} is not a Pages")
    return pages


def _register(app: Flask, name: str, pages: Pages) -> None:
    for blueprint in pages.blueprints:
        app.register_blueprint(blueprint)
    app.extensions[name] = pages.state


def _try(plugin: Plugin[BringPages], function: Callable[[], object]) -> None:
    try:
        plugin.call(function)
    except RefereeError as error:
        _log(error)


def _log(error: RefereeError) -> None:
    logger.error("%s", error.sentence)
