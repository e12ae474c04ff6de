"""Session tokens: opaque to the contestant, signed with the contest's secret, alive across a restart.

A token names its run and team and says when it expires; it carries no password. URL-safe characters only, so that
it survives a trip through a form.
"""

from __future__ import annotations

import hmac
from dataclasses import asdict, dataclass
from typing import Any

from itsdangerous import BadSignature, URLSafeSerializer

from referee.errors import SessionRefused

LIFETIME_S = 24 * 3600.0


@dataclass(frozen=True)
class Session:
    """What a token says: who logged in, to which run, and until when (UTC epoch seconds) that is believed."""

    run: int
    team: str
    expires_s: float


def issue(secret: bytes, session: Session) -> str:
    """The token for `session`."""
    return str(_serializer(secret).dumps(asdict(session)))


def read(secret: bytes, token: str, now_s: float) -> Session:
    """The session a token stands for at `now_s` (UTC epoch seconds).

    Raises RefereeError `bad-token` when it was not issued with this secret, `token-expired` when it is too old.
    """
    try:
        session = Session(**_load(_serializer(secret), token.encode()))
    except (BadSignature, TypeError, ValueError) as error:
        raise SessionRefused("bad-token", "The token is not one of this contest; log in again.") from error
    if now_s >= session.expires_s:
        raise SessionRefused("token-expired", "The token has expired; log in again.")
    return session


def _load(serializer: URLSafeSerializer, token: bytes) -> dict[str, Any]:
    # Signed again rather than verified: reading base64 skips foreign characters and the spare bits of the last one,
    # so that several spellings of one signature would be good.
    signer = serializer.make_signer(serializer.salt)
    if not hmac.compare_digest(signer.sign(token.rpartition(b".")[0]), token):
        raise BadSignature("not as it was issued")
    loaded: dict[str, Any] = serializer.loads(token)
    return loaded


def _serializer(secret: bytes) -> URLSafeSerializer:
    return URLSafeSerializer(secret, salt="session", signer_kwargs={"key_derivation": "hmac"})
