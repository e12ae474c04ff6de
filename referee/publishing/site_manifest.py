"""The manifest of a site: every file with its SHA-256, signed by the contest in a DSSE envelope, as of bundles."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from referee.auth.signing import ContestKey
from referee.evidence.bundle_container import STATEMENT, json_text
from referee.evidence.signed_statement import sign

PREDICATE = "urn:lpirc-referee:site"
MANIFEST = "manifest.json"
ENVELOPE = "manifest.dsse.json"
SIGNED_WITH = (MANIFEST, ENVELOPE)


@dataclass(frozen=True)
class SiteManifest:
    """The files of a site by path, each with its SHA-256, and what the manifest says about the site."""

    files: Mapping[str, str]
    about: Mapping[str, Any]
    text: bytes

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the manifest, which names this version of the site."""
        return hashlib.sha256(self.text).hexdigest()


def sign_site(
    folder: Path, about: Mapping[str, object], key: ContestKey
) -> SiteManifest:
    """Write manifest and envelope of all files of a folder."""
    files = digests_of(folder)
    subject = [
        {"name": name, "digest": {"sha256": digest}} for name, digest in files.items()
    ]
    statement = {
        "_type": STATEMENT,
        "subject": subject,
        "predicateType": PREDICATE,
        "predicate": dict(about),
    }
    text = json_text(statement)
    (folder / MANIFEST).write_bytes(text)
    (folder / ENVELOPE).write_bytes(sign(text, key))
    return SiteManifest(files, about, text)


def read_manifest(text: bytes) -> SiteManifest:
    """Read a manifest. Raises ValueError if it is not one of a site."""
    read = json.loads(text)
    try:
        kind = read["predicateType"]
        about = read["predicate"]
        files = {one["name"]: one["digest"]["sha256"] for one in read["subject"]}
    except (KeyError, TypeError) as error:
        raise ValueError(f"{error} is missing") from error
    if kind != PREDICATE or not isinstance(about, dict):
        raise ValueError("it is of something else")
    if not all(isinstance(one, str) for one in (*files, *files.values())):
        raise ValueError("a file or its SHA-256 is no text")
    return SiteManifest(files, about, text)


def digests_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file of a site by its path, without manifest and envelope, in order."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() and not path.is_symlink():
            continue
        if name not in SIGNED_WITH:
            found[name] = _sha256(path)
    return found


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
