"""Digests and signatures in lists of events: their first digits, the whole one as the title."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

SHOWN = 8
_DIGEST = re.compile(r"\b[0-9a-f]{32,}\b")


def short_digests(text: object) -> Markup:
    """Return a text in which each long hexadecimal number is cut to its first digits."""
    parts = []
    at = 0
    whole = str(text)
    for found in _DIGEST.finditer(whole):
        parts.append(escape(whole[at : found.start()]))
        digest = found.group()
        parts.append(
            Markup('<span title="{0}">{1}…</span>').format(digest, digest[:SHOWN])
        )
        at = found.end()
    parts.append(escape(whole[at:]))
    return Markup("").join(parts)
