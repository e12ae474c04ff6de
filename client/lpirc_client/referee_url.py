"""The form of a referee's URL."""

from __future__ import annotations

from urllib.parse import urlsplit


def is_url(text: str) -> bool:
    """Return True if a text is a valid URL of a referee: `http` or `https`, with a host."""
    try:
        parts = urlsplit(text)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
        )
    except ValueError:
        return False
