"""Registry of the installed meter drivers: the built-in ones, and those of other distributions by entry point.

An entry point of the group `lpirc.meters` is either a `lpirc_power.scheme.Scheme`, named after its address scheme, or a
`lpirc_power.meter.Driver` for a family of meters behind VISA. A broken driver is reported in a sentence and does not
disable the others.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Final, cast

from lpirc_power.errors import MeterDriverError
from lpirc_power.meter import Driver
from lpirc_power.scheme import Scheme

_log: Final = logging.getLogger(__name__)

GROUP: Final = "lpirc.meters"
DISTRIBUTION: Final = "lpirc-power"
VISA: Final = "visa"
"""Scheme of VISA resources, whose addresses are written without it."""
BUILT_IN: Final = {
    VISA: "lpirc_power.addresses.visa_address:VisaAddress",
    "sim": "lpirc_power.addresses.simulator_address:SimulatorAddress",
    "rapl": "lpirc_power.home.home_schemes:RaplAddress",
    "hwmon": "lpirc_power.home.home_schemes:HwmonAddress",
    "yokogawa-wt300": "lpirc_power.wt300.driver:Wt300Family",
}
"""Built-in drivers, found before all others and without installed metadata."""
FAILURES: Final = (Exception, SystemExit)
"""Exceptions expected from another distribution's code, which may raise anything or call sys.exit."""
OF_FAMILY: Final = ("models", "matches", "limits", "meter")
"""What a driver of a family of VISA meters has."""
_tried: list[Plugin] = []


@dataclass(frozen=True)
class Plugin:
    """A registered driver, and the distribution that provides it."""

    point: EntryPoint
    distribution: str

    @property
    def name(self) -> str:
        """The name of the entry point; for a Scheme, its address scheme."""
        return self.point.name

    def __str__(self) -> str:
        return f"{GROUP} {self.name} = {self.point.value} of {self.distribution}"

    @property
    def is_built_in(self) -> bool:
        """Return True if the driver is part of this distribution."""
        return self.distribution == DISTRIBUTION

    def load(self) -> type[Scheme] | type[Driver]:
        """Import the class and check its shape; MeterDriverError if it is not a driver."""
        try:
            loaded = self.point.load()
        except FAILURES as error:
            raise self.failure(f"cannot be used: {_told(error)}") from error
        if inspect.isclass(loaded) and issubclass(loaded, Scheme):
            self._require_whole(loaded)
            return loaded
        missing = [name for name in OF_FAMILY if not hasattr(loaded, name)]
        if missing or not callable(loaded):
            lacks = ", ".join(missing) or "a constructor"
            raise self.failure(
                f"cannot be used: it is neither a Scheme nor a driver of VISA meters, which has {lacks}"
            )
        return cast("type[Driver]", loaded)

    def _require_whole(self, loaded: type[Scheme]) -> None:
        if missing := sorted(loaded.__abstractmethods__):
            raise self.failure(
                f"cannot be used: it is a Scheme without {', '.join(missing)}"
            )

    def failure(self, words: str) -> MeterDriverError:
        """Return a MeterDriverError whose sentence names this driver."""
        return MeterDriverError(f"The plug-in {self} {words}.")

    def failed(self, act: str, error: BaseException) -> MeterDriverError:
        """Return the MeterDriverError for an unexpected exception raised when the driver was asked to `act`."""
        return self.failure(f"failed to {act}: {_told(error)}")


@dataclass(frozen=True)
class SchemePlugin:
    """A loaded scheme, and the plug-in that offers it."""

    plugin: Plugin
    scheme: type[Scheme]


@contextlib.contextmanager
def tried(name: str, value: str, distribution: str) -> Iterator[None]:
    """Use a driver that is not installed for a with statement, in place of an installed one of that name."""
    plugin = Plugin(EntryPoint(name, value, GROUP), distribution)
    _tried.append(plugin)
    try:
        yield
    finally:
        _tried.remove(plugin)


def names() -> frozenset[str]:
    """Return the names of all entry points without loading any driver."""
    return frozenset(one.name for one in _plugins())


def scheme_of(name: str) -> SchemePlugin | None:
    """Return the scheme of the given name; None if none is installed.

    Raises MeterDriverError if two are installed, or if the only one is broken.
    """
    found: list[SchemePlugin] = []
    broken: list[MeterDriverError] = []
    for plugin in _plugins():
        if plugin.name != name:
            continue
        try:
            loaded = plugin.load()
        except MeterDriverError as error:
            broken.append(error)
            continue
        if issubclass_of_scheme(loaded):
            found.append(SchemePlugin(plugin, cast("type[Scheme]", loaded)))
        if found and plugin.is_built_in:
            return found[0]
    if len(found) > 1:
        raise MeterDriverError(_twice(name, [one.plugin for one in found]))
    if found:
        return found[0]
    if broken:
        raise broken[0]
    return None


def schemes() -> Iterator[SchemePlugin]:
    """Yield every usable scheme; log what is wrong with an unusable one."""
    for name in sorted(names()):
        try:
            found = scheme_of(name)
        except MeterDriverError as error:
            _log.warning("%s", error.sentence)
            continue
        if found is not None:
            yield found


def families() -> Iterator[tuple[Plugin, type[Driver]]]:
    """Yield every family of VISA meters, the built-in ones first; log those that cannot be loaded."""
    for plugin in _plugins():
        try:
            loaded = plugin.load()
        except MeterDriverError as error:
            _log.warning("%s", error.sentence)
            continue
        if not issubclass_of_scheme(loaded):
            yield plugin, cast("type[Driver]", loaded)


def problems() -> tuple[str, ...]:
    """Return one sentence for each problem with the installed drivers."""
    found: list[str] = []
    of_scheme: dict[str, list[Plugin]] = {}
    for plugin in _plugins():
        try:
            loaded = plugin.load()
        except MeterDriverError as error:
            found.append(error.sentence)
            continue
        if issubclass_of_scheme(loaded):
            of_scheme.setdefault(plugin.name, []).append(plugin)
    for name, plugins in of_scheme.items():
        if len(plugins) > 1:
            found.append(_twice(name, plugins))
    return tuple(found)


def issubclass_of_scheme(loaded: object) -> bool:
    """Return True if `loaded` is a Scheme class, False if it is a family of VISA meters."""
    return inspect.isclass(loaded) and issubclass(loaded, Scheme)


def _plugins() -> Iterator[Plugin]:
    for name, value in BUILT_IN.items():
        yield Plugin(EntryPoint(name, value, GROUP), DISTRIBUTION)
    yield from _tried
    hidden = {one.name for one in _tried}
    for point in entry_points(group=GROUP):
        of = point.dist
        # The metadata of an older installation of this distribution may name modules that are gone.
        if of is not None and of.name == DISTRIBUTION:
            continue
        if point.name in hidden:
            continue
        distribution = "unknown" if of is None else f"{of.name} {of.version}"
        yield Plugin(point, distribution)


def _twice(name: str, plugins: list[Plugin]) -> str:
    if plugins[0].is_built_in:
        others = " and ".join(map(str, plugins[1:]))
        return f"The scheme {name!r} is built in, so {others} is not used; give it another name."
    offers = " and ".join(map(str, plugins))
    return (
        f"Two distributions offer the scheme {name!r}: {offers}; uninstall one of them."
    )


def _told(error: BaseException) -> str:
    """Return the type and the message of an exception in one line."""
    words = " ".join(str(error).split()).removesuffix(".")
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
