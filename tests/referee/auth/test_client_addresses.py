from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.auth.client_addresses import admits
from referee.config import network


def test_without_networks_every_address_may_ask() -> None:
    assert admits((), "203.0.113.9")
    assert admits((), None)


@pytest.mark.parametrize(
    ("clients", "address", "expected"),
    [
        (("192.168.1.0/24",), "192.168.1.77", True),
        (("192.168.1.0/24",), "192.168.2.77", False),
        (("192.168.1.20",), "192.168.1.20", True),
        (("192.168.1.20",), "192.168.1.21", False),
        (("10.0.0.0/8", "192.168.1.0/24"), "192.168.1.77", True),
        (("192.168.1.0/24",), "::ffff:192.168.1.77", True),
        (("::ffff:192.168.1.0/120",), "192.168.1.77", True),
        (("::ffff:192.168.1.0/120",), "::ffff:192.168.2.77", False),
        (("fe80::/10",), "fe80::1%eth0", True),
        (("2001:db8::/32",), "2001:db8::5", True),
        (("2001:db8::/32",), "192.168.1.77", False),
        (("0.0.0.0/0",), "::1", False),
        (("192.168.1.0/24",), None, False),
        (("192.168.1.0/24",), "", False),
        (("192.168.1.0/24",), "unix:", False),
    ],
)
def test_an_address_may_ask_if_it_lies_in_a_network(
    clients: tuple[str, ...], address: str | None, expected: bool
) -> None:
    assert admits(clients, address) is expected


@given(st.ip_addresses(v=4), st.integers(0, 32))
def test_an_ipv4_address_is_the_same_however_the_socket_tells_it(address: IPv4Address, bits: int) -> None:
    within = str(ip_network((address, bits), strict=False))
    assert admits((within,), str(address))
    assert admits((within,), f"::ffff:{address}")


@given(st.ip_addresses(), st.ip_addresses(), st.integers(0, 32))
def test_it_lies_there_exactly_if_the_network_says_so(
    address: IPv4Address | IPv6Address, other: IPv4Address | IPv6Address, bits: int
) -> None:
    within = network(str(ip_network((other, bits), strict=False)))
    mapped = getattr(address, "ipv4_mapped", None) or address
    assert admits((str(within),), str(address)) is (mapped in within)


@given(st.text(max_size=30))
def test_a_text_is_a_network_or_told_why_not(text: str) -> None:
    try:
        found = network(text)
    except ValueError as error:
        assert str(error)  # noqa: PT017
    else:
        assert ip_address(str(found.network_address)) == found.network_address
        assert admits((text,), str(found.network_address))
