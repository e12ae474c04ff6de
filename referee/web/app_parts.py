"""The parts of an app, keyed by class, so that a handler gets the parts it needs and imports no others."""

from __future__ import annotations

from typing import TypeVar, cast

from flask import Flask, current_app

Part = TypeVar("Part")


def keep_parts(app: Flask, *parts: object) -> None:
    """Attach these parts to the app, at most one of each class."""
    for one in parts:
        app.extensions[_key(type(one))] = one


def part_of(app: Flask, kind: type[Part]) -> Part:
    """Return the app's part of class `kind`."""
    return cast(Part, app.extensions[_key(kind)])


def part(kind: type[Part]) -> Part:
    """Return the part of class `kind` of the app that handles the current request."""
    return part_of(current_app, kind)


def _key(kind: type[object]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
