"""Session tokens: opaque to the contestant, signed with the contest's secret, valid across a restart.

A token contains its run, its team and its expiry, but no password. It also contains the run's random value, because run
numbers recur after the contest is restored from a backup. It begins with the contest's id and a dot, so that a proxy in
front of several referees knows where to send it. It uses URL-safe characters only, since it is also sent in form
fields.
"""

from __future__ import annotations

import hmac
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from itsdangerous import BadSignature, URLSafeSerializer

from referee.errors import SessionRefused

LIFETIME_S = 24 * 3600.0
TOKENS_CACHED = 1024


@dataclass(frozen=True)
class Session:
    """The claims of a token: the team, the run, and until when the token is valid (UTC epoch seconds).

    `nonce` is the run's; None for a run of an earlier version, whose tokens have none. `epoch` is the journal's epoch
    in which the token was issued: a host with a lower epoch has been superseded.
    """

    run: int
    team: str
    expires_s: float
    nonce: str | None = None
    epoch: int = 1


@dataclass(frozen=True)
class OperatorSession:
    """The claims of an operator's cookie. `stamp` derives from the password or key, so changing that ends the session.

    `generation` is shared by all sessions of this operator: a log-out from one ends them all. `by_key`: the log-in used
    the operator key, and `name` is the name typed with it, if any.
    """

    name: str
    stamp: str
    generation: str
    expires_s: float
    by_key: bool = False


@dataclass(frozen=True)
class TeamSession:
    """The claims of the cookie of a team's own pages; `mark` is random.

    `stamp` derives from the team's password, so changing that ends the session.
    """

    team: str
    stamp: str
    mark: str


def issue(secret: bytes, session: Session, contest: str) -> str:
    """Return the token for `session` in the contest with that id."""
    serializer = _serializer(secret)
    content = f"{contest}.".encode() + serializer.dump_payload(asdict(session))
    return serializer.make_signer(serializer.salt).sign(content).decode()


@lru_cache(
    TOKENS_CACHED
)  # verifying takes 60 us, serving an image 10; failures are not cached
def read(secret: bytes, token: str) -> Session:
    """Return the session of a token, without checking whether it has expired, because the result is cached.

    Raises RefereeError `bad-token` if it was not issued with this secret.
    """
    try:
        return Session(**_load(_serializer(secret), token.encode()))
    except (BadSignature, TypeError, ValueError) as error:
        raise SessionRefused(
            "bad-token",
            "The token is not one of this contest; send it as the log-in gave it, or log in again.",
        ) from error


def issue_operator(secret: bytes, session: OperatorSession) -> str:
    """Return the cookie for `session`."""
    return str(_serializer(secret, "operator").dumps(asdict(session)))


@lru_cache(64)
def read_operator(secret: bytes, token: str) -> OperatorSession | None:
    """Return the session of an operator's cookie; None if it was not issued with this secret."""
    try:
        return OperatorSession(**_load(_serializer(secret, "operator"), token.encode()))
    except (BadSignature, TypeError, ValueError):
        return None


def issue_team(secret: bytes, session: TeamSession) -> str:
    """Return the cookie for a team's `session`; no operator's cookie and no token is valid as one."""
    return str(_serializer(secret, "team").dumps(asdict(session)))


@lru_cache(TOKENS_CACHED)
def read_team(secret: bytes, cookie: str) -> TeamSession | None:
    """Return the session of a team's cookie; None if it was not issued with this secret."""
    try:
        return TeamSession(**_load(_serializer(secret, "team"), cookie.encode()))
    except (BadSignature, TypeError, ValueError):
        return None


def stamp(secret: bytes, password_hash: str) -> str:
    """Return the value, derived from the password hash or key, that a session carries."""
    return hmac.digest(secret, password_hash.encode(), "sha256")[:12].hex()


def csrf_token(secret: bytes, cookie: str) -> str:
    """Return the token that a page must send besides its cookie; browsers send the cookie for foreign pages as well."""
    return hmac.digest(secret, b"csrf " + cookie.encode(), "sha256")[:16].hex()


def _load(serializer: URLSafeSerializer, token: bytes) -> dict[str, Any]:
    # Sign again instead of verifying: base64 decoding skips foreign characters and the spare bits of the last one, so
    # several spellings of one signature would pass.
    signer = serializer.make_signer(serializer.salt)
    content = token.rpartition(b".")[0]
    if not hmac.compare_digest(signer.sign(content), token):
        raise BadSignature("not as it was issued")
    contest, _, payload = content.partition(b".")
    # Cookies, and tokens of an earlier version, do not start with a contest id. A compressed payload starts with a dot.
    loaded: dict[str, Any] = serializer.load_payload(
        payload if contest and payload else content
    )
    return loaded


def _serializer(secret: bytes, salt: str = "session") -> URLSafeSerializer:
    return URLSafeSerializer(
        secret,
        salt=salt,
        signer_kwargs={"key_derivation": "hmac"},
    )
