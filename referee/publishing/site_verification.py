"""Verifies a copy of a site: signed by the contest, every file as it was published, and none added."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from referee.config import CONFIG_NAME
from referee.errors import RefereeError
from referee.evidence.signed_statement import is_signed
from referee.presence import is_file, is_there
from referee.publishing.site_manifest import (
    ENVELOPE,
    MANIFEST,
    SiteManifest,
    digests_of,
    read_manifest,
)


@dataclass(frozen=True)
class VerifiedSite:
    """A site whose signature is right, and what is wrong with its files, in sentences."""

    manifest: SiteManifest
    public_key: str
    problems: list[str]


def verify_site(folder: Path, key: str | None) -> VerifiedSite:
    """Verify the copy of a site in a folder. With a `key` (hexadecimal) the contest's key must be this one.

    Raises RefereeError `site-unsigned`; OSError.
    """
    manifest, public_key = _signed_manifest(folder, key)
    problems = [*_differences(manifest, digests_of(folder))]
    return VerifiedSite(manifest, public_key, problems)


def _signed_manifest(folder: Path, key: str | None) -> tuple[SiteManifest, str]:
    _require_site(folder)
    text = (folder / MANIFEST).read_bytes()
    envelope = (folder / ENVELOPE).read_bytes()
    try:
        manifest = read_manifest(text)
    except ValueError as error:
        raise _unsigned(f"{MANIFEST} is not the manifest of a site: {error}") from error
    stated = str(manifest.about.get("public_key"))
    if key is not None and stated != key:
        raise _unsigned(f"the site states the key {stated}, and you gave {key}")
    try:
        is_right = is_signed(envelope, text, stated)
    except RefereeError as error:
        raise _unsigned(error.sentence) from error
    if not is_right:
        raise _unsigned(f"{ENVELOPE} is no signature of {MANIFEST} by {stated}")
    return manifest, stated


def _require_site(folder: Path) -> None:
    """Raise RefereeError `site-missing` unless the folder has a manifest, with what it is instead."""
    if is_file(folder / MANIFEST):
        return
    quoted = shlex.quote(str(folder))
    if not is_there(folder):
        words = f"There is no folder {folder}; name the folder that `referee publish` wrote, or a copy of it."
    elif is_file(folder.parent / MANIFEST):
        site = shlex.quote(str(folder.parent))
        words = f"{folder} is a file of a site; name its folder: referee verify {site}"
    elif is_file(folder):
        words = f"{folder} is a file, and a site is a folder; a bundle is verified by: referee bundle verify {quoted}"
    elif is_file(folder / CONFIG_NAME):
        words = f"{folder} is a contest, not a published site; publish it with: referee publish {quoted} SITE"
    else:
        words = f"{folder} is not the folder of a published site: it has no {MANIFEST}; name the folder that has it."
    raise RefereeError("site-missing", words)


def _unsigned(why: str) -> RefereeError:
    return RefereeError("site-unsigned", f"The site failed verification: {why}.")


def _differences(manifest: SiteManifest, found: dict[str, str]) -> Iterator[str]:
    for name, digest in manifest.files.items():
        if name not in found:
            yield f"{name} is missing."
        elif found[name] != digest:
            yield f"{name} was altered: its SHA-256 is {found[name]}, and {digest} was published."
    for name in found.keys() - manifest.files.keys():
        yield f"{name} was added: it is not in the manifest."
