"""Imports the names of a package on first use, so that commands that do not need them start fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def late_names(
    package: str, modules: Mapping[str, Sequence[str]]
) -> Callable[[str], Any]:
    """Return a `__getattr__` (PEP 562) for a package, which imports the names that its modules offer on first use.

    The `__getattr__` raises AttributeError for any other name.
    """
    module_of = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module_of[name]}"), name)

    return get
