"""What is signed: an in-toto Statement that names every part, in a DSSE envelope by the contest's key."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from referee.auth.signing import ContestKey
from referee.evidence.container import ENVELOPE, FORMAT, MANIFEST, BadBundle, json_text, read_json
from referee.scoring import METRIC_VERSION
from referee.scoring.result import RULES_VERSION, VERSION

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:lpirc-referee:bundle"
PAYLOAD = "application/vnd.in-toto+json"


def manifest_of(parts: Mapping[str, bytes], sizes: Mapping[str, int], about: Mapping[str, object]) -> bytes:
    """The manifest of parts as they are stored, with their unpacked sizes and what the bundle is `about`."""
    predicate: dict[str, object] = {
        "format": FORMAT,
        "program": VERSION,
        "metric_version": METRIC_VERSION,
        "rules_version": RULES_VERSION,
    }
    predicate |= {**about, "sizes": sizes}
    kinds = {"_type": STATEMENT, "subject": subject_of(parts), "predicateType": PREDICATE}
    return json_text(kinds | {"predicate": predicate})


def subject_of(parts: Mapping[str, bytes]) -> list[dict[str, object]]:
    """The SHA-256 of each part."""
    return [
        {"name": name, "digest": {"sha256": hashlib.sha256(content).hexdigest()}}
        for name, content in parts.items()
    ]


def read_manifest(manifest: bytes) -> dict[str, Any]:
    """The predicate and the `subject` of a manifest. Raises BadBundle."""
    statement = read_json(MANIFEST, manifest)
    try:
        predicate: dict[str, Any] = statement["predicate"] | {"subject": statement["subject"]}
        kinds = (
            statement["_type"],
            statement["predicateType"],
            *map(type, (predicate["run"], predicate["sizes"])),
        )
    except (KeyError, TypeError):
        kinds = ()
    if kinds != (STATEMENT, PREDICATE, int, dict):
        raise BadBundle(MANIFEST, f"Part {MANIFEST} is not the manifest of a bundle.")
    if predicate.get("metric_version") not in range(1, METRIC_VERSION + 1):
        sentence = (
            f"The bundle was scored by version {predicate.get('metric_version')!r} of the metrics, this program knows "
            f"up to {METRIC_VERSION}: verify it with a newer one."
        )
        raise BadBundle(MANIFEST, sentence)
    return predicate


def sign(manifest: bytes, key: ContestKey) -> bytes:
    """The envelope of a manifest."""
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import CryptoSigner  # type: ignore[attr-defined]

    envelope = Envelope(manifest, PAYLOAD, {})
    envelope.sign(CryptoSigner(key.private, _public(key.public)))
    return json_text(envelope.to_dict())


def is_signed(envelope: bytes, manifest: bytes, public_key: str) -> bool:
    """Whether this is the envelope of that manifest, signed by the key (32 bytes, hexadecimal) and no other."""
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import UnverifiedSignatureError

    try:
        read = Envelope.from_dict(read_json(ENVELOPE, envelope))
        read.verify([_public(public_key)], 1)
    except (UnverifiedSignatureError, KeyError, TypeError, ValueError, AttributeError):
        return False
    is_its_own = (read.payload, read.payload_type, [*read.signatures]) == (manifest, PAYLOAD, [public_key])
    # Written again: base64 has several texts for the same bytes.
    return is_its_own and json_text(read.to_dict()) == envelope


def is_signed_text(text: str, signature: str, public_key: str) -> bool:
    """Whether a text in UTF-8 has this signature (64 bytes, hexadecimal)."""
    from securesystemslib.exceptions import UnverifiedSignatureError
    from securesystemslib.signer import Signature  # type: ignore[attr-defined]

    try:
        _public(public_key).verify_signature(Signature(public_key, signature), text.encode())
    except (UnverifiedSignatureError, TypeError, ValueError):
        return False
    return True


def _public(public_key: str) -> Any:
    from securesystemslib.signer import SSlibKey  # type: ignore[attr-defined]

    return SSlibKey(public_key, "ed25519", "ed25519", {"public": public_key})
