"""Where a station's board may ask from: networks such as 192.168.1.0/24, and whether an address lies in one. Pure."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

from referee.config import network

ADDRESSES_REMEMBERED = 1024


@lru_cache(ADDRESSES_REMEMBERED)
def admits(clients: tuple[str, ...], address: str | None) -> bool:
    """Whether a request from `address` may be about a station with these `clients`; without any, every one may.

    A socket that takes both IPv4 and IPv6 tells an IPv4 address as ::ffff:192.168.1.20: it is taken as what it is.
    """
    if not clients:
        return True
    asking = _address(address)
    return asking is not None and any(asking in network(one) for one in clients)


def _address(text: str | None) -> IPv4Address | IPv6Address | None:
    try:
        read = ip_address(text or "")
    except ValueError:
        return None
    return (read.ipv4_mapped or read) if isinstance(read, IPv6Address) else read
