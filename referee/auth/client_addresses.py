"""Client addresses: the networks that a station accepts, and the client behind a trusted proxy. Pure."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING

from referee.errors import WrongAddress
from referee.networks import network

if TYPE_CHECKING:
    from referee.config import Station

CACHED_ADDRESSES = 1024


def admits(clients: tuple[str, ...], address: str | None) -> bool:
    """Return True if a station with these `clients` accepts requests from `address`. With no `clients` it accepts all.

    A socket for both IPv4 and IPv6 reports an IPv4 address as ::ffff:192.168.1.20; that is treated as 192.168.1.20.
    """
    return not clients or _lies_in(clients, address)


def require_admitted(station: Station, address: str | None) -> None:
    """Raise WrongAddress unless the station accepts requests from `address`."""
    if not admits(station.clients, address):
        raise WrongAddress(
            f"Station {station.name} does not accept requests from {address}; send requests from that station's board.",
            address=address,
        )


def client_address(
    peer: str,
    forwarded_for: str | None,
    trusted: tuple[str, ...],
) -> str:
    """Return the client's address: the right-most address of the chain that is not a trusted proxy.

    The chain is the header X-Forwarded-For followed by the `peer` of the connection. `trusted` are networks or
    addresses. If the peer is not trusted, or the chain has text that is not an address, the peer itself is returned.
    """
    if not forwarded_for or not trusted or not _lies_in(trusted, peer):
        return peer
    client = peer
    for hop in reversed(forwarded_for.split(",")):
        address = _address(hop.strip())
        if address is None:
            return peer
        client = str(address)
        if not _lies_in(trusted, client):
            break
    return client


@lru_cache(CACHED_ADDRESSES)
def _lies_in(networks: tuple[str, ...], address: str | None) -> bool:
    client = _address(address)
    return client is not None and any(client in network(one) for one in networks)


def _address(text: str | None) -> IPv4Address | IPv6Address | None:
    try:
        read = ip_address(text or "")
    except ValueError:
        return None
    return (read.ipv4_mapped or read) if isinstance(read, IPv6Address) else read
