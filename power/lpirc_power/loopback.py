"""Recognizes addresses of this machine, where any program can answer as a meter."""

from __future__ import annotations

import ipaddress
import socket


def is_this_machine(host: str) -> bool:
    """Return True for a name or address of the loopback; False for an unknown name."""
    try:
        places = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    found = [
        ipaddress.ip_address(str(place[0]).partition("%")[0]) for *_, place in places
    ]
    # A connection to 0.0.0.0 reaches this machine.
    return any(one.is_loopback or one.is_unspecified for one in found)
