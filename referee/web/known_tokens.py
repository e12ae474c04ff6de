"""Bearer tokens, verified once: checking a signature takes longer than serving an image."""

from __future__ import annotations

from referee.auth import tokens
from referee.auth.tokens import Session
from referee.errors import SessionRefused

SCHEME = "Bearer "
LONGEST = 500  # characters of a header that is remembered; those with what we issue are shorter
REMEMBERED = 4096  # only headers with good tokens, so that nobody can fill it but with what we issued


class KnownTokens:
    """Reads the header `Authorization` and remembers what it was good for."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._known: dict[str, Session] = {}

    def session(self, authorization: str | None, now_s: float) -> Session:
        """The session that the header's token stands for at `now_s` (UTC epoch seconds).

        Raises RefereeError `token-missing`, `bad-token`, `token-expired`.
        """
        header = authorization or ""
        known = self._known.get(header)
        if known is None:
            header = _usual(header)
            known = self._known.get(header)
        if known is not None and now_s < known.expires_s:
            return known
        session = tokens.read(self._secret, header.removeprefix(SCHEME), now_s)
        self._remember(header, session)
        return session

    def _remember(self, header: str, session: Session) -> None:
        if len(header) > LONGEST:
            return
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[header] = session


def _usual(header: str) -> str:
    """The header in the one form in which it is remembered, however it was written."""
    scheme, _, token = header.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        raise SessionRefused(
            "token-missing", "The request bears no token; send Authorization: Bearer <token>."
        )
    return SCHEME + token
