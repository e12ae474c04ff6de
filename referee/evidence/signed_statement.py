"""The signed statement: an in-toto Statement naming every part, in a DSSE envelope signed with the contest's key."""

from __future__ import annotations

import hashlib
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from lpirc_score.metrics.evaluation_result import RULES_VERSION, VERSION
from referee.auth.signing import ContestKey
from referee.evidence.bundle_container import (
    ENVELOPE,
    FORMAT_OF_BOXES,
    PREDICATE,
    STATEMENT,
    json_text,
    read_json,
)

PAYLOAD = "application/vnd.in-toto+json"


def manifest_of(
    parts: Mapping[str, bytes], sizes: Mapping[str, int], about: Mapping[str, object]
) -> bytes:
    """Return the manifest of stored parts with their unpacked sizes; `about` describes the run."""
    predicate: dict[str, object] = {
        "format": FORMAT_OF_BOXES,
        "program": VERSION,
        "metric_version": RULES_VERSION,
    }
    predicate |= {**about, "sizes": sizes}
    kinds = {
        "_type": STATEMENT,
        "subject": subject_of(parts),
        "predicateType": PREDICATE,
    }
    return json_text(kinds | {"predicate": predicate})


def subject_of(parts: Mapping[str, bytes]) -> list[dict[str, object]]:
    """Return the name and SHA-256 of each part."""
    return [
        {"name": name, "digest": {"sha256": hashlib.sha256(content).hexdigest()}}
        for name, content in parts.items()
    ]


def sign(manifest: bytes, key: ContestKey) -> bytes:
    """Return the envelope of a manifest, signed with the contest's key."""
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import CryptoSigner  # type: ignore[attr-defined]

    envelope = Envelope(manifest, PAYLOAD, {})
    envelope.sign(CryptoSigner(key.private, _public(key.public)))
    return json_text(envelope.to_dict())


def is_signed(envelope: bytes, manifest: bytes, public_key: str) -> bool:
    """Return True if the envelope holds this manifest and one signature, by this key (32 bytes, hexadecimal)."""
    from securesystemslib.dsse import Envelope

    try:
        (signed,) = read_json(ENVELOPE, envelope)["signatures"]
        signature = b64decode(signed["sig"])
    except (KeyError, TypeError, ValueError):
        return False
    own = Envelope(
        manifest, PAYLOAD, {public_key: _signature(public_key, signature.hex())}
    )
    # Compared after writing it again, since base64 allows several texts for the same bytes.
    return json_text(own.to_dict()) == envelope and is_by(
        public_key, own.pae(), signature.hex()
    )


def is_by(public_key: str, text: bytes, signature: str) -> bool:
    """Return True if the signature (64 bytes, hexadecimal) of the text is by this key."""
    from securesystemslib.exceptions import UnverifiedSignatureError

    try:
        _public(public_key).verify_signature(_signature(public_key, signature), text)
    except (UnverifiedSignatureError, TypeError, ValueError):
        return False
    return True


def _signature(public_key: str, signature: str) -> Any:
    from securesystemslib.signer import Signature  # type: ignore[attr-defined]

    return Signature(public_key, signature)


def _public(public_key: str) -> Any:
    from securesystemslib.signer import SSlibKey  # type: ignore[attr-defined]

    return SSlibKey(public_key, "ed25519", "ed25519", {"public": public_key})
