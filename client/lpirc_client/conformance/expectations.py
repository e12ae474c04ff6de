"""What a check expects, and the sentence where it does not hold."""

from __future__ import annotations

from lpirc_client.errors import ClientError


def same(
    what: str,
    got: object,
    expected: object,
) -> None:
    """Raise ClientError `mismatch` unless both values are equal."""
    require(got == expected, f"{what}: expected {expected!s:.200}, got {got!s:.200}")


def require(holds: bool, otherwise: str) -> None:
    """Raise ClientError `mismatch` with this sentence unless `holds`."""
    if not holds:
        raise ClientError("mismatch", otherwise)
