"""Where a station's board may ask from: networks such as 192.168.1.0/24, and whether an address lies in one. Pure."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

MAPPED_BITS = 96  # of an IPv6 address that carries an IPv4 one (::ffff:192.168.1.20), those before it
ADDRESSES_REMEMBERED = 1024


def network(text: str) -> IPv4Network | IPv6Network:
    """Read a network, or a single address. Raises ValueError that says why it is none."""
    try:
        read = ip_network(text)
    except ValueError as error:
        raise ValueError(_explained(text, error)) from None
    if isinstance(read, IPv6Network) and read.prefixlen >= MAPPED_BITS:
        within = read.network_address.ipv4_mapped
        if within is not None:
            return IPv4Network((within, read.prefixlen - MAPPED_BITS))
    return read


def _explained(text: str, error: ValueError) -> str:
    try:
        meant = ip_network(text, strict=False)
    except ValueError:
        return str(error)
    return f"its network is {meant}"


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
