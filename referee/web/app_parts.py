"""The parts that an app was made with, by their class: a handler asks for the one it takes, and imports no other."""

from __future__ import annotations

from typing import TypeVar, cast

from flask import Flask, current_app

Part = TypeVar("Part")


def keep_parts(app: Flask, *parts: object) -> None:
    """Give the app its parts, of each class one."""
    for one in parts:
        app.extensions[_key(type(one))] = one


def part_of(app: Flask, kind: type[Part]) -> Part:
    """Return the app's part of that class."""
    return cast(Part, app.extensions[_key(kind)])


def part(kind: type[Part]) -> Part:
    """Return the part of the app that handles the present request."""
    return part_of(current_app, kind)


def _key(kind: type[object]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
