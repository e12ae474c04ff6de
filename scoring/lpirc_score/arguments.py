"""Checks what a program gives to the functions of the API, where a wrong type would fail far from its cause."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from lpirc_score.errors import CodedError
from lpirc_testsets.values import LARGEST_ID, shown

Name = str | os.PathLike[str]
"""The name of a file or folder."""


def path_of(name: Name) -> Path:
    """Return the path of a file or folder. Raises `CodedError` `bad-argument` for anything but text or a path."""
    found = os.fspath(name) if isinstance(name, os.PathLike) else name
    if isinstance(found, str) and found and "\0" not in found:
        return Path(found)
    raise _no(name, "as file or folder", "its name as text or as a path")


def number_of(value: object, what: str, code: str = "bad-argument") -> float:
    """Return a number. Raises `CodedError` with the code for anything else, also True and False."""
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        with suppress(OverflowError, TypeError):
            return float(value)
    raise _no(value, f"as {what}", "a number", code)


def require_mapping(value: object, what: str) -> None:
    """Raise `CodedError` `bad-argument` unless this maps something by name."""
    if not isinstance(value, Mapping):
        raise _no(value, f"as {what}", "a mapping from name to value")


def pairs_of(blacklist: Iterable[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    """Return the pairs of image id and category id of a blacklist. Raises `CodedError` `bad-argument`."""
    if isinstance(blacklist, frozenset) and not blacklist:
        return blacklist
    pairs = set()
    for pair in _each(blacklist, "blacklist"):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise _no(pair, "in the blacklist", "a pair of image id and category id")
        image, category = pair
        pairs.add((_whole(image, "image"), _whole(category, "category")))
    return frozenset(pairs)


def ids_among(values: Iterable[int], what: str) -> list[int]:
    """Return ids of images or categories, ascending, each once. Raises `CodedError` `bad-argument`."""
    return sorted({_whole(one, what) for one in _each(values, f"list of {what} ids")})


def _each(values: Any, what: str) -> Iterator[Any]:
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise _no(values, f"as {what}", "a list")
    yield from values


def _whole(value: object, what: str) -> int:
    is_number = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if is_number and abs(int(value)) <= LARGEST_ID:  # type: ignore[call-overload]
        return int(value)  # type: ignore[call-overload,no-any-return]
    raise _no(value, f"as {what} id", "a whole number of at most 53 bits")


def _no(
    value: object,
    where: str,
    wanted: str,
    code: str = "bad-argument",
) -> CodedError:
    return CodedError(code, f"{shown(value)} was given {where}, not {wanted}.")
