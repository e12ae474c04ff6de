"""A digest in a list of events is short, and whole as its title; text from people stays text."""

from __future__ import annotations

from referee.pages.short_digests import short_digests

DIGEST = "0123456789abcdef" * 4


def test_a_digest_is_cut_and_everything_else_stays_and_is_escaped() -> None:
    shown = short_digests(f"<b> {DIGEST}; run 12 of cafe")
    assert shown == (
        f'&lt;b&gt; <span title="{DIGEST}">01234567…</span>; run 12 of cafe'
    )
    assert short_digests(7) == "7"
