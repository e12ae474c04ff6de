"""The driver under test: found in a module, or by the scheme of an address, and used as if it were installed."""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from lpirc_power.addresses.driver_registry import (
    BUILT_IN,
    FAILURES,
    OF_FAMILY,
    names,
    scheme_of,
    tried,
)
from lpirc_power.errors import MeterDriverError
from lpirc_power.scheme import Scheme

UNDER_TEST: Final = "the module under test"
"""Stands in sentences where the name of an installed distribution would."""


@dataclass(frozen=True)
class Subject:
    """A driver: its class, the entry point that names it (`MODULE:CLASS`), and the address of a meter, if given."""

    kind: Any
    value: str
    address: str | None

    @property
    def is_scheme(self) -> bool:
        """Return True for a Scheme, False for a family of VISA meters."""
        return inspect.isclass(self.kind) and issubclass(self.kind, Scheme)

    @property
    def name(self) -> str:
        """The scheme of the address; for a family of VISA meters, the name of its class."""
        if self.is_scheme and self.address:
            return self.address.partition(":")[0]
        return str(self.kind.__name__).lower()

    @property
    def rest(self) -> str:
        """The part of the address that the driver's class is given."""
        address = self.address or ""
        return address.partition(":")[2] if self.is_scheme else address

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Let addresses find this driver for a with statement, as an entry point would."""
        if self.value in BUILT_IN.values():
            yield
            return
        with tried(self.name, self.value, UNDER_TEST):
            yield


def subject_of(target: str, address: str | None) -> Subject:
    """Return the driver that `target` names: MODULE, MODULE:CLASS, or the address of an installed scheme.

    Raises MeterDriverError if there is none, or more than one.
    """
    name, colon, rest = target.partition(":")
    if address is None and colon:
        found = scheme_of(name)
        if found is not None:
            return Subject(found.scheme, found.plugin.point.value, target)
    if name.endswith(".py") or "/" in name:
        module = name.removesuffix(".py").rpartition("/")[2]
        raise MeterDriverError(
            f"{name!r} is a file: give the name that Python imports, {module!r}, in the folder of the file."
        )
    kind = _chosen(_module(name), rest)
    return Subject(kind, f"{kind.__module__}:{kind.__qualname__}", address)


def drivers_in(module: ModuleType) -> list[Any]:
    """Return the driver classes that a module defines."""
    own = [
        one
        for one in vars(module).values()
        if inspect.isclass(one) and one.__module__ == module.__name__
    ]
    schemes = [one for one in own if issubclass(one, Scheme)]
    families = [one for one in own if set(OF_FAMILY) <= set(dir(one))]
    bases = {base for one in schemes for base in one.__mro__[1:]}
    return [one for one in schemes if one not in bases] + families


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and name.startswith(error.name):
            raise MeterDriverError(
                f"There is no module {name!r}: give the name that Python imports, in the folder where the module is."
            ) from error
        raise MeterDriverError(
            f"The module {name!r} cannot be imported without {error.name!r}: import a maker's library in `connect`, "
            "with `lpirc_power.maker_library.library`, so that a meter without it is one sentence."
        ) from error
    except FAILURES as error:
        raise MeterDriverError(
            f"The module {name!r} cannot be imported: {type(error).__name__}: {error}."
        ) from error


def _chosen(module: ModuleType, wanted: str) -> Any:
    found = drivers_in(module)
    if wanted:
        kind = getattr(module, wanted, None)
        if kind is None:
            raise MeterDriverError(f"The module {module.__name__} has no {wanted!r}.")
        return kind
    for one in found:
        missing = sorted(getattr(one, "__abstractmethods__", ()))
        if missing:
            raise MeterDriverError(
                f"The scheme {one.__name__} of {module.__name__} lacks {', '.join(missing)}."
            )
    listed = ", ".join(one.__name__ for one in found)
    if len(found) > 1:
        raise MeterDriverError(
            f"The module {module.__name__} has several drivers: {listed}; name one, as "
            f"{module.__name__}:{found[0].__name__}."
        )
    if not found:
        raise MeterDriverError(
            f"The module {module.__name__} has no driver: neither a subclass of Scheme (lpirc_power.scheme), nor a "
            "class with models, matches, limits and meter (lpirc_power.meter.Driver)."
        )
    return found[0]


def address_problem(subject: Subject) -> str:
    """Return what is wrong with the address for this driver; empty if nothing is."""
    if subject.address is None:
        return ""
    name = subject.address.partition(":")[0]
    if not subject.is_scheme:
        if name in names() and "::" not in subject.address:
            return (
                f"{subject.address} is an address of the scheme {name}, and {subject.kind.__name__} is a family of "
                "VISA meters: give a VISA resource, as TCPIP::HOST::INSTR."
            )
        return ""
    if ":" not in subject.address:
        return f"The address {subject.address!r} has no scheme: write SCHEME:{subject.address}."
    if BUILT_IN.get(name) not in (None, subject.value):
        return f"The scheme {name!r} is built in; give yours another name."
    return ""
