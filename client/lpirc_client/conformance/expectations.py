"""What a check expects, and the sentence where it does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lpirc_client.errors import ClientError


def same(
    what: str,
    got: object,
    expected: object,
) -> None:
    """Raise ClientError `mismatch` unless both values are equal."""
    require(got == expected, f"{what}: expected {expected!s:.200}, got {got!s:.200}")


def same_receipt(
    what: str, got: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    """Raise ClientError `mismatch` unless two answers to one body are equal; its contest's log may have grown."""
    same(what, _without_log(got), _without_log(expected))


def _without_log(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "log"}


def require(holds: bool, otherwise: str) -> None:
    """Raise ClientError `mismatch` with this sentence unless `holds`."""
    if not holds:
        raise ClientError("mismatch", otherwise)
