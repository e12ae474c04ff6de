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

NO_FILE = "that of no file"
"""Instead of the SHA-256 of what cannot be read as a file."""


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


def manifest_of(files: Mapping[str, str], about: Mapping[str, object]) -> SiteManifest:
    """Return the manifest of files, given by their SHA-256."""
    subject = [
        {"name": name, "digest": {"sha256": files[name]}} for name in sorted(files)
    ]
    statement = {
        "_type": STATEMENT,
        "subject": subject,
        "predicateType": PREDICATE,
        "predicate": dict(about),
    }
    return SiteManifest(files, about, json_text(statement))


def write_signed(folder: Path, manifest: SiteManifest, key: ContestKey) -> None:
    """Write a manifest and its envelope into a folder."""
    (folder / MANIFEST).write_bytes(manifest.text)
    (folder / ENVELOPE).write_bytes(sign(manifest.text, key))


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


def digests(contents: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of each content."""
    return {
        name: hashlib.sha256(content).hexdigest() for name, content in contents.items()
    }


def _sha256(path: Path) -> str:
    if not path.is_file():  # a link to a folder or to nothing, a pipe
        return NO_FILE
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
