"""The project's own Ed25519 key: its private half in a file of its keeper, its public half in the commit."""

from __future__ import annotations

import stat
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.serialization import (
    load_pem_private_key,
    load_pem_public_key,
)

from tests.release.refusal import Refused

PUBLIC_NAME = "release-key.pub"
MAKE_KEY = "openssl genpkey -algorithm ed25519 -out FILE"


def private_key(file: Path) -> Ed25519PrivateKey:
    """Return the key of a PEM file that only its keeper can read. Raises Refused."""
    try:
        key = load_pem_private_key(file.read_bytes(), None)
        mode = stat.S_IMODE(file.stat().st_mode)
    except (OSError, ValueError, TypeError) as error:
        why = getattr(error, "strerror", None) or "it is not a private key in PEM"
        raise Refused(
            f"KEY={file} cannot be read ({why}): name the file that `{MAKE_KEY}` made"
        ) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise Refused(f"KEY={file} is not an Ed25519 key: make one with `{MAKE_KEY}`")
    if mode & 0o077:
        raise Refused(
            f"KEY={file} can be read by others ({mode:03o}): run `chmod 600 {file}`"
        )
    return key


def public_key(root: Path) -> Ed25519PublicKey:
    """Return the public half that the project names. Raises Refused."""
    file = root / PUBLIC_NAME
    try:
        key = load_pem_public_key(file.read_bytes())
    except (OSError, ValueError) as error:
        raise Refused(
            f"{PUBLIC_NAME} is missing or no key: write it with "
            f"`openssl pkey -in KEY -pubout -out {PUBLIC_NAME}`, and commit it"
        ) from error
    if not isinstance(key, Ed25519PublicKey):
        raise Refused(f"{PUBLIC_NAME} is not an Ed25519 key: make it from KEY again")
    return key


def is_pair(private: Ed25519PrivateKey, public: Ed25519PublicKey) -> bool:
    """Return whether both are halves of one key."""
    own = private.public_key().public_bytes_raw()
    return own == public.public_bytes_raw()
