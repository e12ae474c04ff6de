"""Frozen dataclasses as JSON and back, exactly. A document from a stranger raises MeterError, whatever is in it."""

from __future__ import annotations

import math
import types
from collections.abc import Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import (
    Any,
    Final,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from lpirc_power.errors import MeterError
from lpirc_power.one_line import TOO_LARGE, one_line, shown_value

Value = TypeVar("Value")

LARGEST: Final = 1e300
"""Largest magnitude of a number; sums of such numbers stay finite."""
_WORDS: Final = {"NAN": math.nan, "INF": math.inf, "-INF": -math.inf}
"""Numbers that JSON has no form for, in the words of the CSV file."""


def stored(value: object) -> Any:
    """Return a value ready for JSON: dataclasses are objects, NaN and infinity the words NAN and INF."""
    if is_dataclass(value):
        names = [field.name for field in fields(value)]
        return {name: stored(getattr(value, name)) for name in names}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value).upper()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [stored(one) for one in value]
    return value


def restored(kind: type[Value], value: object, place: str) -> Value:
    """Return the value of type `kind` that `stored` has written; fields that `kind` does not have are ignored.

    Texts are made one line each, since a stranger's would act on the terminal that they are shown on.

    Raises MeterError `recording-record`, naming the `place` of the first value that is missing or wrong.
    """
    return cast("Value", _restored(kind, value, place))


def _restored(kind: Any, value: object, place: str) -> object:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _optional(kind, value, place)
    if origin is Literal:
        return _of(value in get_args(kind), value, value, place)
    if origin is not None:
        return _items(get_args(kind)[0], value, place)
    if is_dataclass(kind):
        return _fields(kind, value, place)
    return _plain(kind, value, place)


def _optional(kind: Any, value: object, place: str) -> object:
    if value is None and types.NoneType in get_args(kind):
        return None
    (wanted,) = (one for one in get_args(kind) if one is not types.NoneType)
    return _restored(wanted, value, place)


def _items(kind: Any, value: object, place: str) -> tuple[object, ...]:
    if not isinstance(value, list):
        raise _wrong(value, place)
    return tuple(
        _restored(kind, one, f"{place}[{number}]") for number, one in enumerate(value)
    )


def _fields(kind: Any, value: object, place: str) -> object:
    if not isinstance(value, dict):
        raise _wrong(value, place)
    hints = get_type_hints(kind)
    given = {}
    for field in fields(kind):
        where = f"{place}.{field.name}"
        if field.name in value:
            given[field.name] = _restored(hints[field.name], value[field.name], where)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise MeterError("recording-record", f"{where} is missing.")
    return kind(**given)


def _plain(kind: Any, value: object, place: str) -> object:
    if kind is float:
        return _number(value, place)
    if kind is bool:
        return _of(isinstance(value, bool), value, value, place)
    if kind is int:
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        return _of(is_whole and abs(cast("int", value)) < LARGEST, value, value, place)
    if not isinstance(value, str):
        raise _wrong(value, place)
    try:
        value.encode()  # half of a surrogate pair could not be printed
        return _moment(value) if kind is datetime else kind(one_line(value))
    except ValueError:
        raise _wrong(value, place) from None


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(text)
    return moment


def _number(value: object, place: str) -> float:
    if isinstance(value, str) and value in _WORDS:
        return _WORDS[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(value, place)
    return float(cast("float", _of(abs(value) < LARGEST, value, value, place)))


def _of(is_so: bool, found: object, value: object, place: str) -> object:
    if not is_so:
        raise _wrong(value, place)
    return found


def _wrong(value: object, place: str) -> MeterError:
    is_long = isinstance(value, int) and abs(value) >= LARGEST
    shown = TOO_LARGE if is_long else shown_value(value)
    return MeterError("recording-record", f"{place} is {shown}, which it cannot be.")
