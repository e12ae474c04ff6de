"""Where a release comes from: an in-toto Statement with SLSA's predicate, in a DSSE envelope signed with our key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from platform import python_version
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner, SSlibKey

from tests.release import git
from tests.release.building import sha256_of
from tests.release.requirements import LOCKS

NAME = "provenance.intoto.json"
PAYLOAD: Final = "application/vnd.in-toto+json"
STATEMENT: Final = "https://in-toto.io/Statement/v1"
PREDICATE: Final = "https://slsa.dev/provenance/v1"
BUILD_TYPE: Final = "urn:lpirc-referee:make-release:1"
BUILDER: Final = "urn:lpirc-referee:keeper-of-the-release-key"


def statement_of(
    root: Path, version: str, files: Sequence[Path], began: datetime, ended: datetime
) -> dict[str, Any]:
    """Return the statement about these files of a release of the commit of `root`."""
    return {
        "_type": STATEMENT,
        "subject": [_digest(one.name, "sha256", sha256_of(one)) for one in files],
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": _definition(root, version),
            "runDetails": {
                "builder": {"id": BUILDER, "version": _tools()},
                "metadata": {
                    "startedOn": _stamp(began),
                    "finishedOn": _stamp(ended),
                },
            },
        },
    }


def _definition(root: Path, version: str) -> dict[str, Any]:
    locks = [_digest(one, "sha256", sha256_of(root / one)) for one in LOCKS]
    source = _digest("lpirc-referee", "gitCommit", git.commit(root))
    return {
        "buildType": BUILD_TYPE,
        "externalParameters": {"version": version, "tag": f"v{version}"},
        "internalParameters": {"SOURCE_DATE_EPOCH": git.committed_s(root)},
        "resolvedDependencies": [source, *locks],
    }


def _tools() -> dict[str, str]:
    return {"python": python_version(), "hatchling": metadata.version("hatchling")}


def _digest(name: str, kind: str, value: str) -> dict[str, Any]:
    return {"name": name, "digest": {kind: value}}


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def signed(statement: Mapping[str, Any], key: Ed25519PrivateKey) -> str:
    """Return the envelope of a statement as JSON."""
    public = key.public_key().public_bytes_raw().hex()
    signer = CryptoSigner(
        key, SSlibKey(public, "ed25519", "ed25519", {"public": public})
    )
    text = json.dumps(statement, indent=1, sort_keys=True)
    envelope = Envelope(text.encode(), PAYLOAD, {})
    envelope.sign(signer)
    return json.dumps(envelope.to_dict(), indent=1) + "\n"
