"""Times that a page shows in the reader's own time zone: written in UTC, which says so, and put right by times.js."""

from __future__ import annotations

from datetime import UTC, datetime

from markupsafe import Markup

from referee.pages.figure_text import NONE
from referee.pages.short_digests import short_digests

FORMS = {"time": "%H:%M:%S", "minute": "%H:%M", "date": "%Y-%m-%d %H:%M"}


def local_time(utc: str | None) -> str:
    """Return hours, minutes and seconds of a stored UTC time, as an element."""
    return _element(utc, "time")


def local_minute(utc: str | None) -> str:
    """Return hours and minutes of a stored UTC time, as an element."""
    return _element(utc, "minute")


def local_date(utc: str | None) -> str:
    """Return day, hour and minute of a stored UTC time, as an element."""
    return _element(utc, "date")


def utc_moment(utc: str) -> datetime:
    """Return a stored UTC time, also one that does not name its zone."""
    moment = datetime.fromisoformat(utc)
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC)


def _element(utc: str | None, form: str) -> str:
    if utc is None:
        return NONE
    moment = utc_moment(utc)
    shown = moment.strftime(FORMS[form])
    return Markup('<time datetime="{0}" data-time="{1}">{2} UTC</time>').format(
        moment.isoformat(), form, shown
    )


MARKUP_FILTERS = {
    "short": short_digests,
    "local_time": local_time,
    "local_minute": local_minute,
    "local_date": local_date,
}
