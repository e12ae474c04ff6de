"""Pages and background work of plug-ins in the server of one contest; a failing plug-in does not stop the rest."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flask import Flask
from werkzeug.exceptions import HTTPException
from werkzeug.routing import RequestRedirect, Rule

from lpirc_testsets import TestSetError
from lpirc_testsets.plugins import Plugin
from referee import seams
from referee.clock import Clock
from referee.contest import Contest
from referee.errors import RefereeError
from referee.seams import Finding, Pages

EVERYWHERE = frozenset({"HEAD", "OPTIONS"})
"""Methods that Flask adds to routes by itself."""
CONVERTER = re.compile(r"<[^>]*>")
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PluggedPages:
    """The pages and background work of all plug-ins."""

    offers: tuple[tuple[Plugin, Pages], ...] = ()

    @property
    def links(self) -> list[tuple[str, str]]:
        """Return the text and address of each link below the board."""
        return [link for _, pages in self.offers for link in pages.links]

    def start(self) -> None:
        """Start the background work of all plug-ins."""
        for plugin, pages in self.offers:
            _try(plugin, pages.start)

    def close(self) -> None:
        """End the background work of all plug-ins."""
        for plugin, pages in self.offers:
            _try(plugin, pages.close)

    def attention(self) -> tuple[dict[str, object], ...]:
        """Return what plug-ins have operators look at, as documents; a failing plug-in is logged and finds nothing."""
        found: list[Finding] = []
        for plugin, pages in self.offers:
            try:
                found += seams.attention(plugin, pages)
            except (RefereeError, TestSetError) as error:
                _log(error)
        return tuple(one._asdict() | {"about": one.sentence} for one in found)

    def look(self) -> None:
        """Make the start checks of all plug-ins."""
        for plugin, pages in self.offers:
            _try(plugin, pages.look)

    def handed_in(self, team: str) -> list[dict[str, Any]]:
        """Return what a team has handed in to all plug-ins; one that fails is logged and left out."""
        found: list[dict[str, Any]] = []
        for plugin, pages in self.offers:
            try:
                found += seams.call(plugin, _documents, pages, team)
            except (RefereeError, TestSetError) as error:
                _log(error)
        return found


def _documents(pages: Pages, team: str) -> list[dict[str, Any]]:
    documents = [dict(one) for one in pages.handed_in(team)]
    for one in documents:
        one["state"]
    return documents


def plug_pages(app: Flask, contest: Contest, clock: Clock) -> PluggedPages:
    """Make the pages of all plug-ins, register them with the app, and return them."""
    offers = []
    for plugin in seams.PAGES.each(_log):
        # The server's log shows the events of runs, including those that a plug-in logs.
        package = plugin.point.module.partition(".")[0]
        logging.getLogger(package).setLevel(logging.INFO)
        try:
            pages = seams.pages(plugin, contest, clock)
            seams.call(plugin, _register, app, plugin.point.name, pages)
        except (RefereeError, TestSetError) as error:
            _log(error)
        else:
            offers.append((plugin, pages))
    return PluggedPages(tuple(offers))


def _register(app: Flask, name: str, pages: Pages) -> None:
    """Register all blueprints or none. Raises ValueError if a name or an address is already used."""
    apart = Flask(name, static_folder=None)
    for blueprint in pages.blueprints:
        if blueprint.name in app.blueprints:
            raise ValueError(f"a blueprint named {blueprint.name!r} exists already")
        apart.register_blueprint(blueprint)
    for rule in apart.url_map.iter_rules():
        _require_free(app, rule)

    for blueprint in pages.blueprints:
        app.register_blueprint(blueprint)
    app.extensions[name] = pages.state


def _require_free(app: Flask, rule: Rule) -> None:
    """Raise ValueError if the app already answers one of the rule's methods at its address."""
    address = CONVERTER.sub("1", rule.rule)
    for method in (rule.methods or set()) - EVERYWHERE:
        try:
            app.url_map.bind("").match(address, method)
        except RequestRedirect:
            pass
        except HTTPException:
            continue
        raise ValueError(f"{method} {rule.rule} is answered already")


def _try(plugin: Plugin, function: Callable[[], object]) -> None:
    try:
        seams.call(plugin, function)
    except (RefereeError, TestSetError) as error:
        _log(error)


def _log(error: RefereeError | TestSetError) -> None:
    logger.error("%s", error.sentence)
