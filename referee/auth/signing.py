"""The contest's Ed25519 key, created with the contest. It signs the closing of each run, and every bundle."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from referee.errors import RefereeError
from referee.presence import not_accessible
from referee.served import require_private

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SIGNING_KEY_NAME = "signing-key"


def new_key() -> bytes:
    """Return a new private key as PKCS 8 in PEM."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


class ContestKey:
    """The signing key in a file; `known` is its public key if the contest has stored one.

    The key is read at its first use, which raises RefereeError `secret-missing`, `secret-readable`, `not-accessible`,
    and `contest-mixed` for another key. Commands that sign nothing do not wait for the import of cryptography.
    """

    def __init__(self, path: Path, known: str | None) -> None:
        self._path = path
        self._known = known

    @cached_property
    def private(self) -> Ed25519PrivateKey:
        """The private key."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        problem = "it is not an Ed25519 key in PEM"
        try:
            key = load_pem_private_key(self._path.read_bytes(), None)
        except PermissionError as error:
            raise not_accessible(self._path, error) from error
        except (OSError, ValueError, TypeError) as error:
            key = None
            problem = getattr(error, "strerror", None) or problem
        if not isinstance(key, Ed25519PrivateKey):
            sentence = f"The contest's key {self._path} cannot be read ({problem}); restore it from your backup."
            raise RefereeError("secret-missing", sentence)
        require_private(self._path)
        if self._known not in (None, key.public_key().public_bytes_raw().hex()):
            raise RefereeError(
                "contest-mixed",
                f"{self._path} is not the key that this contest signs with ({self._known}); put the contest's own "
                "key file back.",
            )
        return key

    @cached_property
    def public(self) -> str:
        """The public key: 32 bytes, hexadecimal."""
        return self.private.public_key().public_bytes_raw().hex()

    def require(self) -> None:
        """Raise the errors of `private` before the key is needed."""
        _ = self.private

    def sign(self, text: str) -> str:
        """Return the signature (RFC 8032) of a text in UTF-8: 64 bytes, hexadecimal."""
        return self.private.sign(text.encode()).hex()
