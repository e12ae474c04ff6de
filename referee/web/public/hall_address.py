"""The board's address as people in the hall reach it, for a QR code on the projector."""

from __future__ import annotations

import ipaddress
import re

from flask import Request

from referee.pages.qr_code import QrCode, qr_code

_HOST = re.compile(r"\[[0-9a-f:.]+\]|[a-z0-9.-]+", re.IGNORECASE)
_PORT = re.compile(r":[0-9]{1,5}")
_HERE = ("localhost",)


def hall_address(board_url: str, asked: Request) -> str | None:
    """Return `board_url` of contest.toml or, if it is blank, the address under which the projector has this page.

    A loopback address is of no use to others: then it is None, and so it is for a Host that is not a name.
    """
    if board_url:
        return board_url
    named = asked.headers.get("Host", "")
    host = _HOST.match(named)
    if host is None or _is_loopback(host.group()):
        return None
    port = named[host.end() :]
    if port and not _PORT.fullmatch(port):
        return None
    is_secure = asked.is_secure or asked.headers.get("X-Forwarded-Proto") == "https"
    return f"http{'s' if is_secure else ''}://{named}/"


def code_of(address: str | None) -> QrCode | None:
    """Return the QR code of the address, if there is one and it fits."""
    return None if address is None else qr_code(address)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() in _HERE
