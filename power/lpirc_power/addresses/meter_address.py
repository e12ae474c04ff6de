"""Opens the meter at an ADDRESS by its scheme, and decides whether its results count in a contest."""

from __future__ import annotations

import contextlib
import logging
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lpirc_power.addresses.driver_registry import (
    FAILURES,
    VISA,
    Plugin,
    SchemePlugin,
    scheme_of,
    schemes,
)
from lpirc_power.addresses.guarded_meter import guarded
from lpirc_power.addresses.limits_statement import NOTHING, Statement, statement_of
from lpirc_power.addresses.visa_address import family_of
from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterAddressError, MeterError
from lpirc_power.meter import Driver, Identity, Limits, Meter
from lpirc_power.meter_standing import OFFICIAL_MAKERS, Standing, excluded_by_identity
from lpirc_power.presence import is_folder
from lpirc_power.scheme import Scheme
from lpirc_power.visa.resources import VISA_WORDS, wrong

_log: Final = logging.getLogger(__name__)
BEHIND_VISA: Final = (VISA, "sim")
"""Schemes whose meters are made by the driver of a family."""
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+._-]*)(?:\Z|:(?!:))")
"""Scheme at the beginning of an address; in a VISA resource, two colons follow the first word."""
_LOADS: Final = ("constant", "steps", "noise", "csv", "cpu", "while")
"""First words of the simulated meter's loads, behind its scheme."""
_ENDINGS_OF_FILES: Final = (
    ".csv",
    ".json",
    ".txt",
    ".tsv",
    ".parquet",
    ".html",
    ".toml",
)


class MeterAddress:
    """An address of a meter, used for any number of links, one after another.

    It owns the object of its scheme, which keeps what must outlive a link: the settings found in the meter, a
    simulator's process, or the integrator of a meter at home.
    """

    def __init__(self, address: str) -> None:
        """Check the form.

        Raises MeterError `meter-wrong-address`, with a suggestion, or `meter-driver` for a broken driver.
        """
        self.address = address
        self._plugin, rest = _parsed(address)
        self._opened = _made(self._plugin, address, rest)

    def connect(self, clocks: Clocks) -> Meter:
        """Open a link and identify the meter behind it. The caller closes it."""
        plugin = self._plugin.plugin
        if plugin.is_built_in:
            return self._opened.connect(clocks)
        try:
            meter = self._opened.connect(clocks)
        except MeterError:
            raise
        except FAILURES as error:
            raise plugin.failed(f"open {self.address}", error) from error
        return guarded(meter, plugin)

    def close(self) -> None:
        """Release everything that outlives a link; may be called again."""
        try:
            self._opened.close()
        except FAILURES as error:
            if self._plugin.plugin.is_built_in:
                raise
            told = self._plugin.plugin.failed(f"close {self.address}", error)
            _log.warning("%s", told.sentence)


def limits_of(model: str) -> Limits | None:
    """Return the accuracy data of a model ("WT310E") whose address is not known, or None if no driver states it.

    For a meter that answered, `limits_at` asks its own driver.
    Records write _ for blanks in a model's name; both spellings are accepted.
    """
    found = _stated_limits(model)
    if found is None and "_" in model:
        return _stated_limits(model.replace("_", " "))
    return found


def _stated_limits(model: str) -> Limits | None:
    visa = scheme_of(VISA)
    others = (one for one in schemes() if one.plugin.name != VISA)
    for one in (visa, *others):
        if one is None:
            continue
        limits = statement_of(one.plugin, one.scheme, model).limits
        if limits is not None:
            return limits
    return None


@dataclass(frozen=True)
class Answering:
    """The driver of the meter that answers at an address: a Scheme, or a family of VISA meters."""

    plugin: Plugin
    kind: type[Scheme] | type[Driver]

    @property
    def is_built_in(self) -> bool:
        """Return True if the driver is part of this distribution."""
        return self.plugin.is_built_in

    def statement(self, model: str) -> Statement:
        """Return what this driver states of a model's limits of error, in the spelling of a record, too."""
        found = statement_of(self.plugin, self.kind, model)
        if found == NOTHING and "_" in model:
            return statement_of(self.plugin, self.kind, model.replace("_", " "))
        return found


def driver_at(address: str, found: Identity) -> Answering | None:
    """Return the driver that makes the meter of this identity at an address; None if none is installed."""
    try:
        one, _ = _parsed(address)
        if one.plugin.name not in BEHIND_VISA:
            return Answering(one.plugin, one.scheme)
        return Answering(*family_of(found))
    except MeterError:
        return None


def limits_at(address: str, found: Identity) -> Limits | None:
    """Return the limits of error of the meter that answers at an address; None if its driver states none."""
    return statement_at(address, found).limits


def statement_at(address: str, found: Identity) -> Statement:
    """Return what is stated of the limits of error of the meter that answers at an address.

    The name of a model is not enough: another driver that knows it says nothing about this meter.
    """
    driver = driver_at(address, found)
    return NOTHING if driver is None else driver.statement(found.model)


def limits_by_identity(found: Identity) -> Limits | None:
    """Return the limits of error of a meter whose address is not known; None if no driver states them.

    They belong to a maker's model: the driver of its family behind VISA states them, and only of a meter of no family
    the other schemes. If these differ, none is known.
    """
    for one in _spellings(found):
        with contextlib.suppress(MeterError):
            return Answering(*family_of(one)).statement(found.model).limits
    others = (one for one in schemes() if one.plugin.name not in BEHIND_VISA)
    drivers = [Answering(one.plugin, one.scheme) for one in others]
    asked = [one.statement(found.model).limits for one in drivers]
    stated = [one for one in asked if one is not None]
    is_one = stated and all(one == stated[0] for one in stated)
    return stated[0] if is_one else None


def _spellings(found: Identity) -> Iterator[Identity]:
    """Yield an identity as a record writes it, with _ for blanks, and with the blanks."""
    yield found
    maker = found.maker.replace("_", " ")
    model = found.model.replace("_", " ")
    spelled = replace(found, maker=maker, model=model)
    if spelled != found:
        yield spelled


def standing(
    found: Identity,
    address: str,
    *,
    loopback_meter: bool = False,
    official_makers: Sequence[str] = OFFICIAL_MAKERS,
) -> Standing:
    """Return why a meter's energies count in a contest, or why not (its standing).

    `loopback_meter` is the operator's statement that a real meter is behind a loopback address, for example behind a
    tunnel. `official_makers` are the makers whose meters count in the contest. A model is
    known if the driver of the address states its limits of error.
    """
    excluded = excluded_by_identity(found, official_makers)
    if excluded is not None:
        return excluded
    if _is_simulated(address):
        return Standing.SIMULATED
    if limits_at(address, found) is None:
        return Standing.UNKNOWN_MODEL
    if not is_loopback(address):
        return Standing.OFFICIAL
    return Standing.LOOPBACK_ALLOWED if loopback_meter else Standing.LOOPBACK


def is_loopback(address: str) -> bool:
    """Return True if the address leads back to this machine, according to its scheme."""
    try:
        plugin, rest = _parsed(address)
    except MeterError:
        return False
    return _is_so(plugin, "is_loopback", rest)


def _is_simulated(address: str) -> bool:
    try:
        plugin, rest = _parsed(address)
    except MeterError:
        return False
    return _is_so(plugin, "is_simulated", rest)


def _is_so(found: SchemePlugin, name: str, rest: str) -> bool:
    """Return the answer of a scheme's method `name` for an address.

    A failure is True, so that the meter does not count.
    """
    try:
        return bool(getattr(found.scheme, name)(rest))
    except FAILURES as error:
        told = found.plugin.failed(f"do `{name}`", error)
        _log.warning("%s", told.sentence)
        return True


@contextlib.contextmanager
def open_meter(address: str, clocks: Clocks) -> Iterator[Meter]:
    """Open a meter for a with statement and identify it, without changing any setting."""
    with (
        contextlib.closing(MeterAddress(address)) as opened,
        contextlib.closing(opened.connect(clocks)) as meter,
    ):
        yield meter


def _parsed(address: str) -> tuple[SchemePlugin, str]:
    """Return the scheme of an address and the text after it; for a VISA resource, the whole address."""
    name = _scheme_name(address)
    if name not in (None, VISA):
        found = scheme_of(name)
        if found is not None:
            return found, address[len(name) + 1 :]
    return _visa(), address


def _visa() -> SchemePlugin:
    found = scheme_of(VISA)
    if found is None:
        raise LookupError("The built-in scheme of VISA resources is missing.")
    return found


def _scheme_name(address: str) -> str | None:
    """Return the first word of an address if it can be a scheme; None otherwise."""
    begins = _SCHEME.match(address)
    return begins[1] if begins else None


def _made(plugin: SchemePlugin, address: str, rest: str) -> Scheme:
    is_visa = plugin.plugin.name == VISA
    try:
        return plugin.scheme(rest)
    except MeterAddressError as error:
        name = _scheme_name(address)
        if is_visa and _names_folder(address):
            words = "It is a folder; `meter --help` lists the forms of an address."
            raise wrong(address, words) from None
        if is_visa and _names_file(address):
            raise _file_given(address) from None
        if is_visa and name is not None:
            raise _unknown_scheme(address, name, error) from None
        raise
    except MeterError:
        raise
    except FAILURES as error:
        raise plugin.plugin.failed(f"take the address {address}", error) from error


def _names_folder(address: str) -> bool:
    with contextlib.suppress(OSError):  # of a name that is too long, too
        return bool(address.strip()) and is_folder(Path(address))
    return False


def _names_file(address: str) -> bool:
    is_named_so = Path(address).suffix.lower() in _ENDINGS_OF_FILES
    return _is_file(address) or (":" not in address and is_named_so)


def _is_file(address: str) -> bool:
    with contextlib.suppress(OSError):
        return Path(address).is_file() and not address.startswith("/dev/")
    return False


def _file_given(address: str) -> MeterAddressError:
    """Return the error for a file in place of an address: perhaps a recording, which is not measured."""
    verb = "is" if _is_file(address) else "looks like"
    file = shlex.quote(address)
    return wrong(
        address,
        f"It {verb} the name of a file: `meter check {file}` and `meter report {file}` read recordings, and "
        "`meter --help` lists the forms of an address.",
    )


def _unknown_scheme(
    address: str, name: str, as_visa: MeterAddressError
) -> MeterAddressError:
    """Return the error for an address whose first word may be the scheme of a driver that is not installed."""
    rest = address[len(name) + 1 :]
    lower = name.lower()
    if lower == "replay":
        return wrong(
            address, f"The simulated meter plays recordings: write sim:csv:{rest}."
        )
    if lower in _LOADS:
        return wrong(address, f"The simulated meter measures it: write sim:{address}.")
    known = [one.plugin.name for one in schemes() if one.plugin.name != VISA]
    if lower in known:
        return wrong(address, f"Perhaps {lower}:{rest} is meant, in small letters.")
    if ":" not in address or name.upper().rstrip("0123456789") in VISA_WORDS:
        return as_visa
    no_driver = (
        f"No driver is installed for the scheme {name}, only for {', '.join(known)}"
    )
    if rest.isdecimal():  # HOST:PORT may be meant
        return MeterAddressError(f"{as_visa.sentence} {no_driver}.")
    return MeterAddressError(
        f"{address!r} is not the address of a meter. {no_driver}; install the one that has it, or write a VISA "
        "resource, such as TCPIP::HOST::INSTR."
    )
