"""Guard around a meter of another distribution: turns a breach of the meter protocol into one clear sentence."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import astuple
from typing import Any, Final, cast

from lpirc_power.addresses.driver_registry import FAILURES, Plugin
from lpirc_power.errors import MeterError
from lpirc_power.meter import (
    Choices,
    Identity,
    IntegratorState,
    Meter,
    Peaks,
    Reading,
    Status,
)
from lpirc_power.reading_problem import reading_problem

_RETURNS: Final[dict[str, type]] = {
    "state": IntegratorState,
    "read": Reading,
    "read_final": Reading,
    "read_update": tuple,
    "status": Status,
    "changes": tuple,
    "choices": Choices,
    "peaks": Peaks,
    "unlock_panel": bool,
}
_CALLS: Final = sorted(
    name
    for name, value in vars(Meter).items()
    if callable(value) and not name.startswith("_")
)


def guarded(meter: object, plugin: Plugin) -> Meter:
    """Return the meter behind a guard; MeterDriverError if it is not a meter. Built-in drivers need no guard."""
    if plugin.is_built_in:
        return cast("Meter", meter)
    missing = [name for name in _CALLS if not callable(getattr(meter, name, None))]
    if missing:
        kind = type(meter).__name__
        raise plugin.failure(
            f"opens {kind} objects, which are not meters: they lack {', '.join(missing)}"
        )
    checked = _Guarded(meter, plugin)
    _ = checked.identity
    return cast("Meter", checked)


class _Guarded:
    """A meter that forwards every call and checks its result."""

    def __init__(self, meter: object, plugin: Plugin) -> None:
        self._meter = meter
        self._plugin = plugin

    @property
    def identity(self) -> Identity:
        found = self._call("identity", lambda: getattr(self._meter, "identity", None))
        identity = cast("Identity", self._checked("identity", found, Identity))
        if not all(isinstance(one, str) for one in astuple(identity)):
            raise self._wrong("identity", "an Identity of four texts", found)
        return identity

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._meter, name)
        if name not in _CALLS:
            return call
        return functools.partial(self._passed_on, name, call)

    def _passed_on(
        self, name: str, call: Callable[..., object], *given: Any, **named: Any
    ) -> object:
        found = self._call(name, functools.partial(call, *given, **named))
        if name in _RETURNS:
            self._checked(name, found, _RETURNS[name])
        if name == "read_update":
            self._require_update(cast("tuple[object, ...]", found))
            self._require_numbers(name, cast("tuple[Reading, bool]", found)[0])
        elif isinstance(found, Reading):
            self._require_numbers(name, found)
        return found

    def _call(self, name: str, call: Callable[[], object]) -> object:
        try:
            return call()
        except MeterError:
            raise
        except FAILURES as error:
            raise self._plugin.failed(f"do `{name}`", error) from error

    def _checked(self, name: str, found: object, kind: type) -> object:
        if not isinstance(found, kind):
            raise self._wrong(name, kind.__name__, found)
        return found

    def _require_update(self, found: tuple[object, ...]) -> None:
        kinds = tuple(type(one) for one in found)
        if kinds != (Reading, bool):
            raise self._wrong("read_update", "a tuple of Reading and bool", found)

    def _require_numbers(self, name: str, found: Reading) -> None:
        if problem := reading_problem(found):
            raise self._plugin.failure(
                f"returns from `{name}` a reading that {problem}"
            )

    def _wrong(self, name: str, kind: str, found: object) -> MeterError:
        text = repr(found)
        if len(text) > 60:
            text = f"{text[:60]}..."
        return self._plugin.failure(f"returns {text} from `{name}` instead of {kind}")
