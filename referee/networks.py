"""Parses the IP networks in contest.toml (of a station's board, of a trusted proxy), and the host of an address."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

MAPPED_BITS = 96  # the bits before the IPv4 address in ::ffff:192.168.1.20


def network(text: str) -> IPv4Network | IPv6Network:
    """Parse a network or a single address; an IPv4 network mapped into IPv6 becomes IPv4.

    Raises ValueError with the reason if the text is neither.
    """
    try:
        read = ip_network(text)
    except ValueError:
        try:
            meant = ip_network(text, strict=False)
        except ValueError:
            raise ValueError("write 192.168.1.20, or 192.168.1.0/24") from None
        raise ValueError(f"its network is {meant}") from None

    if isinstance(read, IPv4Network) or read.prefixlen < MAPPED_BITS:
        return read
    within = read.network_address.ipv4_mapped
    if within is None:
        return read
    return IPv4Network((within, read.prefixlen - MAPPED_BITS))


def has_host(url: str) -> bool:
    """Return True if an address of the web has a host, and a port, that can be: no host 192.168.1.300."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if re.fullmatch(r"[\d.]+", host):
            ip_address(host)
        return re.match(r"\w|[\da-f]*:", host) is not None and parts.port != 0
    except ValueError:  # a port above 65535, a number of an address above 255
        return False
