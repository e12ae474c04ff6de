from __future__ import annotations

import string
from dataclasses import asdict

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from itsdangerous import URLSafeSerializer

from referee.auth.tokens import Session, issue, read
from referee.errors import RefereeError

SECRET = bytes(range(32))
CONTEST = "0a1b2c3d4e5f"
SESSION = Session(run=3, team="otters", expires_s=2e9)
SESSIONS = st.builds(
    Session,
    run=st.integers(1, 2**62),
    team=st.text(max_size=300),
    expires_s=st.floats(1, 4e9),
)
URL_SAFE = set(string.ascii_letters + string.digits + "-_.")


def code_of(token: str, secret: bytes = SECRET) -> str:
    with pytest.raises(RefereeError) as failure:
        read(secret, token)
    return failure.value.code


@given(SESSIONS, st.binary(min_size=32, max_size=64))
def test_a_token_gives_back_its_session(session: Session, secret: bytes) -> None:
    assert read(secret, issue(secret, session, CONTEST)) == session


@given(SESSIONS)
def test_a_token_begins_with_its_contest_and_travels_through_forms_and_headers(
    session: Session,
) -> None:
    token = issue(SECRET, session, CONTEST)
    assert token.startswith(f"{CONTEST}.")
    assert set(token) <= URL_SAFE


@given(SESSIONS)
@example(Session(1, "o" * 300, 2e9))  # compressed: it begins with a dot
def test_a_token_of_the_form_that_named_no_contest_is_good(session: Session) -> None:
    serializer = URLSafeSerializer(
        SECRET,
        salt="session",
        signer_kwargs={"key_derivation": "hmac"},
    )
    assert read(SECRET, str(serializer.dumps(asdict(session)))) == session


def test_a_token_is_not_good_for_another_contest_of_the_same_secret_or_without_its_contest() -> (
    None
):
    _, _, rest = issue(SECRET, SESSION, CONTEST).partition(".")
    for changed in (
        rest,
        f".{rest}",
        f"111111111111.{rest}",
        f"{CONTEST}.{CONTEST}.{rest}",
    ):
        assert code_of(changed) == "bad-token"


def test_the_same_session_has_the_same_token() -> None:
    assert issue(SECRET, SESSION, CONTEST) == issue(
        SECRET,
        Session(3, "otters", 2e9),
        CONTEST,
    )


@given(st.data())
def test_a_token_with_one_other_character_is_refused(data: st.DataObject) -> None:
    token = issue(SECRET, SESSION, CONTEST)
    place = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.sampled_from(sorted(URL_SAFE)) | st.characters())
    changed = token[:place] + other + token[place + 1 :]
    if changed != token:
        assert code_of(changed) == "bad-token"


def test_no_spelling_of_the_last_character_but_its_own_is_good() -> None:
    # 20 bytes are 26 2/3 characters of base64: the last one has two spare bits.
    token = issue(SECRET, SESSION, CONTEST)
    for other in URL_SAFE - {token[-1]}:
        assert code_of(token[:-1] + other) == "bad-token"


@given(st.integers(0, 200), st.characters())
def test_a_token_with_one_more_character_is_refused(place: int, more: str) -> None:
    token = issue(SECRET, SESSION, CONTEST)
    assert code_of(token[:place] + more + token[place:]) == "bad-token"


@given(st.text())
def test_any_other_text_is_refused(text: str) -> None:
    assert code_of(text) == "bad-token"


@pytest.mark.parametrize(
    "text",
    ["", ".", "..", "\udcff", "a.\ud800", "x" * 100_000, "\0.\0", "é.è"],
)
def test_no_text_is_too_odd_to_be_refused(text: str) -> None:
    assert code_of(text) == "bad-token"


def test_another_contests_token_is_refused() -> None:
    assert code_of(issue(bytes(32), SESSION, CONTEST)) == "bad-token"


def test_a_token_for_another_purpose_is_refused() -> None:
    other = URLSafeSerializer(
        SECRET,
        salt="other",
        signer_kwargs={"key_derivation": "hmac"},
    )
    code = code_of(str(other.dumps({"run": 1, "team": "t", "expires_s": 9.9e9})))
    assert code == "bad-token"


@pytest.mark.parametrize(
    "content",
    [[], 5, None, {"run": 1}, {"run": 1, "team": "t", "expires_s": 1, "x": 2}],
)
def test_signed_content_that_is_no_session_is_refused(content: object) -> None:
    serializer = URLSafeSerializer(
        SECRET,
        salt="session",
        signer_kwargs={"key_derivation": "hmac"},
    )
    assert code_of(str(serializer.dumps(content))) == "bad-token"


def test_a_token_carries_the_epoch_in_which_it_was_issued() -> None:
    """One of an earlier program, which knows none, is of the first."""
    later = Session(3, "otters", 2e9, epoch=2)
    assert read(SECRET, issue(SECRET, later, CONTEST)).epoch == 2
    fields = {key: value for key, value in asdict(SESSION).items() if key != "epoch"}
    serializer = URLSafeSerializer(
        SECRET,
        salt="session",
        signer_kwargs={"key_derivation": "hmac"},
    )
    assert read(SECRET, str(serializer.dumps(fields))).epoch == 1
