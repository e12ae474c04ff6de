"""The address of a team's public page, for every name that a team may have."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from referee.pages.team_address import TEAMS, team_address


def test_a_plain_name_is_the_last_part_of_its_address() -> None:
    assert team_address("ant") == "/teams/ant"
    assert team_address("a/b c?d#e") == "/teams/a%2Fb%20c%3Fd%23e"


@given(st.text(min_size=1, max_size=200))
def test_no_name_s_address_leads_elsewhere_and_no_two_names_share_one(
    name: str,
) -> None:
    name = name.encode("utf-8", "replace").decode()
    address = team_address(name)
    assert address.isascii()
    parts = urlsplit(address)
    assert not parts.netloc
    assert not parts.fragment
    assert parts.path.startswith(TEAMS)
    assert not {".", ".."} & set(unquote(parts.path).split("/")) or "/" in name
    told = parts.query.removeprefix("name=") or parts.path.removeprefix(TEAMS)
    assert unquote(told) == name
