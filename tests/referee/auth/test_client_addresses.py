from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.auth.client_addresses import admits, client_address
from referee.networks import network


def test_without_networks_every_address_is_accepted() -> None:
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
def test_an_address_is_accepted_if_it_lies_in_a_network(
    clients: tuple[str, ...],
    address: str | None,
    expected: bool,
) -> None:
    assert admits(clients, address) is expected


@given(st.ip_addresses(v=4), st.integers(0, 32))
def test_an_ipv4_address_is_the_same_in_both_forms_that_a_socket_reports(
    address: IPv4Address,
    bits: int,
) -> None:
    within = str(ip_network((address, bits), strict=False))
    assert admits((within,), str(address))
    assert admits((within,), f"::ffff:{address}")


@given(st.ip_addresses(), st.ip_addresses(), st.integers(0, 32))
def test_an_address_is_accepted_exactly_if_ipaddress_says_so(
    address: IPv4Address | IPv6Address,
    other: IPv4Address | IPv6Address,
    bits: int,
) -> None:
    within = network(str(ip_network((other, bits), strict=False)))
    mapped = getattr(address, "ipv4_mapped", None) or address
    assert admits((str(within),), str(address)) is (mapped in within)


@given(st.text(max_size=30))
def test_a_text_is_a_network_or_refused_with_a_reason(text: str) -> None:
    try:
        found = network(text)
    except ValueError as error:
        assert str(error)  # noqa: PT017
    else:
        assert ip_address(str(found.network_address)) == found.network_address
        assert admits((text,), str(found.network_address))


PROXIES = ("127.0.0.1", "10.0.0.0/8", "fd00::/8")


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "trusted", "expected"),
    [
        ("127.0.0.1", "192.0.2.7", PROXIES, "192.0.2.7"),
        ("127.0.0.1", "192.0.2.7", (), "127.0.0.1"),
        ("127.0.0.2", "192.0.2.7", PROXIES, "127.0.0.2"),
        ("127.0.0.1", None, PROXIES, "127.0.0.1"),
        ("127.0.0.1", "", PROXIES, "127.0.0.1"),
        ("", "192.0.2.7", PROXIES, ""),
        ("unix:", "192.0.2.7", PROXIES, "unix:"),
        ("::ffff:127.0.0.1", "192.0.2.7", PROXIES, "192.0.2.7"),
        ("fd00::1", "2001:DB8::7", PROXIES, "2001:db8::7"),
        ("127.0.0.1", "::ffff:192.0.2.7", PROXIES, "192.0.2.7"),
        ("127.0.0.1", "198.51.100.1, 192.0.2.7", PROXIES, "192.0.2.7"),
        (
            "127.0.0.1",
            "198.51.100.1,192.0.2.7 ,\t10.1.2.3, fd00::2",
            PROXIES,
            "192.0.2.7",
        ),
        ("127.0.0.1", "10.0.0.9, 10.0.0.8", PROXIES, "10.0.0.9"),
        ("127.0.0.1", "unknown", PROXIES, "127.0.0.1"),
        ("127.0.0.1", "192.0.2.7, unknown", PROXIES, "127.0.0.1"),
        ("127.0.0.1", "unknown, 10.0.0.8", PROXIES, "127.0.0.1"),
        ("127.0.0.1", "unknown, 192.0.2.7", PROXIES, "192.0.2.7"),
        ("127.0.0.1", "192.0.2.7:80", PROXIES, "127.0.0.1"),
        ("127.0.0.1", "192.0.2.7,", PROXIES, "127.0.0.1"),
        ("127.0.0.1", "," * 100_000, PROXIES, "127.0.0.1"),
    ],
)
def test_the_client_is_the_last_of_the_chain_that_is_not_a_trusted_proxy(
    peer: str,
    forwarded_for: str | None,
    trusted: tuple[str, ...],
    expected: str,
) -> None:
    assert client_address(peer, forwarded_for, trusted) == expected


@given(st.text(max_size=60), st.ip_addresses())
def test_whatever_a_client_claims_its_proxy_has_the_last_word(
    claimed: str,
    client: IPv4Address | IPv6Address,
) -> None:
    seen = str(getattr(client, "ipv4_mapped", None) or client)
    if admits(PROXIES, seen):
        return
    assert client_address("10.0.0.8", f"{claimed}, {client}", PROXIES) == seen
    assert client_address(seen, claimed, PROXIES) == seen
