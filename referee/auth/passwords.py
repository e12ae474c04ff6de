"""Team passwords, stored only as Argon2 hashes."""

from __future__ import annotations

import hmac
import secrets
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

# OWASP's minimum: 19 MiB, some tens of milliseconds. A hash stores its parameters, so older hashes stay valid.
_hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
_key = secrets.token_bytes(32)
_right: dict[
    str, bytes
] = {}  # by stored hash, one per team: the password's digest with a key of this process


CONSONANTS = "bdfghjkmnprstvwz"
VOWELS = "aeiou"
SYLLABLES = 8
IN_A_WORD = 2


def generate_password() -> str:
    """Return a new password that is easy to read out and to type, such as bafo-kidu-zemi-raso: 50 random bits."""
    syllables = [
        secrets.choice(CONSONANTS) + secrets.choice(VOWELS) for _ in range(SYLLABLES)
    ]
    words = (
        "".join(syllables[at : at + IN_A_WORD]) for at in range(0, SYLLABLES, IN_A_WORD)
    )
    return "-".join(words)


def hash_password(password: str) -> str:
    """Return the Argon2id hash to store instead of the password."""
    return _hasher.hash(_as_bytes(password))


def matches(password_hash: str, password: str) -> bool:
    """Return True if `password` has this hash; a correct one is remembered."""
    try:
        _hasher.verify(password_hash, _as_bytes(password))
    except (Argon2Error, InvalidHashError):
        return False
    _right[password_hash] = _digest(password)
    return True


def was_right(password_hash: str, password: str) -> bool:
    """Return True if `matches` has already accepted this password.

    A team that waits for its heat logs in once a second.
    """
    return hmac.compare_digest(_right.get(password_hash, b""), _digest(password))


@cache
def decoy_hash() -> str:
    """Return the hash to check for an unknown team, so that the log-in's duration does not reveal which teams exist."""
    return hash_password(secrets.token_hex())


def _digest(password: str) -> bytes:
    return hmac.digest(_key, _as_bytes(password), "sha256")


def _as_bytes(password: str) -> bytes:
    # JSON and the environment may contain text that UTF-8 cannot encode; it is still a valid password.
    return password.encode("utf-8", "surrogatepass")
