"""A fresh copy of a driver's module, in a Python that lacks a library."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from typing import Any

from lpirc_power.driver_kit.subject import Subject


class _Missing:
    """A finder that finds one library nowhere."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """Raise ModuleNotFoundError for the library and its parts."""
        if name.partition(".")[0] == self._name:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


@contextlib.contextmanager
def fresh_kind(subject: Subject, library: str) -> Iterator[tuple[Any, str]]:
    """Yield the driver's class, loaded without the library, or None and why that failed."""
    held = {}
    for name in list(sys.modules):
        if name.partition(".")[0] == library:
            held[name] = sys.modules.pop(name)
    finder = _Missing(library)
    sys.meta_path.insert(0, finder)
    try:
        yield _loaded(subject)
    finally:
        sys.meta_path.remove(finder)
        sys.modules.update(held)


def _loaded(subject: Subject) -> tuple[Any, str]:
    name, _, attribute = subject.value.partition(":")
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        return None, f"there is no module {name}"
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # noqa: BLE001 - the driver's code may raise anything
        return None, f"{type(error).__name__}: {error}"
    return getattr(module, attribute), ""
