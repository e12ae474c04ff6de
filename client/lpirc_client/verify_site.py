#!/usr/bin/env python3
"""Verifies a published site: the contest signed it, and each file is as it was published.

python3 verify_site.py SITE [--key HEX]

SITE is a folder with a copy, or an address (https://...). Of an address, every file that the contest signed is loaded;
what was added there cannot be seen. --key is the contest's public key, from the board, a receipt or the sheet with the
password: without it, a signature proves only that the site is of one hand.

It is one file and needs nothing but Python 3.8 or newer. It shares no code with the referee.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import hashlib
import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Iterator, Tuple

VERSION = "1.0.0"
MANIFEST = "manifest.json"
ENVELOPE = "manifest.dsse.json"
KIND = "urn:lpirc-referee:site"
PAYLOAD = "application/vnd.in-toto+json"
TIMEOUT_S = 30
LARGEST_BYTES = 2**30
PART_BYTES = 2**20

# Ed25519, RFC 8032. A point is (x, y, z, t) in extended coordinates.
Point = Tuple[int, int, int, int]
PRIME = 2**255 - 19
GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, PRIME - 2, PRIME) % PRIME
ROOT_OF_MINUS_1 = pow(2, (PRIME - 1) // 4, PRIME)
NEUTRAL: Point = (0, 1, 1, 0)


class Wrong(Exception):
    """What is wrong, as a sentence."""


# Where the site is


class Folder:
    """A copy of a site in a folder."""

    can_list = True

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, name: str) -> bytes:
        """Return a small file. Raises Wrong."""
        return b"".join(self.parts(name))

    def parts(self, name: str) -> Iterator[bytes]:
        """Yield the content of a file in parts. Raises Wrong."""
        try:
            with (self._path / name).open("rb") as file:
                part = file.read(PART_BYTES)
                while part:
                    yield part
                    part = file.read(PART_BYTES)
        except FileNotFoundError:
            raise Wrong(f"{name} is missing") from None
        except OSError as error:
            raise Wrong(f"{name} cannot be read: {error.strerror}") from None

    def names(self) -> list[str]:
        """Return the names of all files."""
        paths = sorted(self._path.rglob("*"))
        files = [one for one in paths if one.is_symlink() or not one.is_dir()]
        return [one.relative_to(self._path).as_posix() for one in files]


class Address:
    """A site on a web server."""

    can_list = False

    def __init__(self, url: str) -> None:
        self._url = url if url.endswith("/") else url + "/"

    def read(self, name: str) -> bytes:
        """Return a small file. Raises Wrong."""
        return b"".join(self.parts(name))

    def parts(self, name: str) -> Iterator[bytes]:
        """Yield the content of a file in parts. Raises Wrong."""
        url = self._url + urllib.parse.quote(name)
        headers = {"Accept-Encoding": "identity", "Cache-Control": "no-cache"}
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - main asks for http
        loaded = 0
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310 - as above
                part = answer.read(PART_BYTES)
                while part:
                    loaded += len(part)
                    if loaded > LARGEST_BYTES:
                        raise Wrong(f"{name} is larger than 1 GiB")
                    yield part
                    part = answer.read(PART_BYTES)
        except urllib.error.HTTPError as error:
            sentence = "{} is missing: the web server answers {}"
            raise Wrong(sentence.format(name, error.code)) from None
        except (OSError, ValueError) as error:
            raise Wrong(f"{name} cannot be loaded: {error}") from None

    def names(self) -> list[str]:
        """Return nothing: a web server does not list its files."""
        return []


# The signature


def signed_manifest(site: Any, key: str | None) -> tuple[bytes, dict[str, Any], str]:
    """Return the manifest as text and as values, and the key that signed it. Raises Wrong."""
    text = site.read(MANIFEST)
    manifest = _object(MANIFEST, text)
    if manifest.get("predicateType") != KIND:
        raise Wrong(f"{MANIFEST} is not the manifest of a site")
    about = manifest.get("predicate")
    stated = about.get("public_key") if isinstance(about, dict) else None
    if not isinstance(stated, str) or not re.fullmatch("[0-9a-f]{64}", stated):
        raise Wrong(f"{MANIFEST} states no key of a contest")
    if key is not None and stated != key:
        sentence = "the site is signed by {}, and you gave {}: it is not that contest's"
        raise Wrong(sentence.format(stated, key))
    need_envelope(site.read(ENVELOPE), text, bytes.fromhex(stated))
    return text, manifest, stated


def need_envelope(envelope: bytes, text: bytes, key: bytes) -> None:
    """Raise Wrong unless a DSSE envelope holds this text and one signature of it by the key."""
    values = _object(ENVELOPE, envelope)
    try:
        payload = base64.b64decode(values["payload"], validate=True)
        (signed,) = values["signatures"]
        signature = base64.b64decode(signed["sig"], validate=True)
    except (KeyError, TypeError, ValueError, binascii.Error):
        raise Wrong(f"{ENVELOPE} is not an envelope with one signature") from None
    if values.get("payloadType") != PAYLOAD:
        raise Wrong(f"{ENVELOPE} is an envelope of something else")
    if payload != text:
        raise Wrong(f"{ENVELOPE} holds another text than {MANIFEST}")
    head = f"DSSEv1 {len(PAYLOAD)} {PAYLOAD} {len(payload)} "
    need_signature(head.encode() + payload, signature, key)


def _object(name: str, text: bytes) -> dict[str, Any]:
    try:
        values = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Wrong(f"{name} is not JSON") from None
    if not isinstance(values, dict):
        raise Wrong(f"{name} is not a JSON object")
    return values


def need_signature(text: bytes, signature: bytes, key: bytes) -> None:
    """Raise Wrong unless `signature` is the Ed25519 signature of `text` by `key` (32 bytes)."""
    if len(signature) != 64:
        raise Wrong("the signature is not one of Ed25519")
    public = _point(key)
    commitment = _point(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    digest = hashlib.sha512(signature[:32] + key + text).digest()
    k = int.from_bytes(digest, "little") % GROUP_ORDER
    # s * BASE must be commitment + k * public.
    left = _times(s, BASE)
    right = _add(commitment, _times(k, public))
    if s >= GROUP_ORDER or not _is_same(left, right):
        raise Wrong(f"the signature is not by {key.hex()}")


def _point(data: bytes) -> Point:
    """Return the curve point that 32 bytes encode. Raises Wrong."""
    number = int.from_bytes(data, "little")
    y = number & (2**255 - 1)
    if y >= PRIME:
        raise Wrong("the signature or the key is not a point of Ed25519")
    x = _root((y * y - 1) * pow(D * y * y + 1, PRIME - 2, PRIME))
    if x % 2 != number >> 255:
        if x == 0:
            raise Wrong("the signature or the key is not a point of Ed25519")
        x = PRIME - x
    return x, y, 1, x * y % PRIME


def _root(square: int) -> int:
    """Return a square root modulo PRIME. Raises Wrong if there is none."""
    root = pow(square, (PRIME + 3) // 8, PRIME)
    for candidate in (root, root * ROOT_OF_MINUS_1 % PRIME):
        if (candidate * candidate - square) % PRIME == 0:
            return candidate
    raise Wrong("the signature or the key is not a point of Ed25519")


def _add(p: Point, q: Point) -> Point:
    """Return the sum of two points."""
    a = (p[1] - p[0]) * (q[1] - q[0])
    b = (p[1] + p[0]) * (q[1] + q[0])
    c = 2 * D * p[3] * q[3]
    d = 2 * p[2] * q[2]
    e = b - a
    f = d - c
    g = d + c
    h = b + a
    return e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME


def _times(factor: int, point: Point) -> Point:
    """Return `factor` times a point."""
    total = NEUTRAL
    while factor > 0:
        if factor % 2 == 1:
            total = _add(total, point)
        point = _add(point, point)
        factor //= 2
    return total


def _is_same(p: Point, q: Point) -> bool:
    """Return True if two points are equal: their x / z and their y / z agree."""
    is_same_x = (p[0] * q[2] - q[0] * p[2]) % PRIME == 0
    is_same_y = (p[1] * q[2] - q[1] * p[2]) % PRIME == 0
    return is_same_x and is_same_y


BASE = _point((4 * pow(5, PRIME - 2, PRIME) % PRIME).to_bytes(32, "little"))


# The files


def stated_files(manifest: dict[str, Any]) -> dict[str, str]:
    """Return the SHA-256 of each file that a manifest names. Raises Wrong."""
    found = {}
    try:
        for one in manifest["subject"]:
            name = one["name"]
            digest = one["digest"]["sha256"]
            if not re.fullmatch("[0-9a-f]{64}", digest) or not _is_inside(name):
                raise Wrong(f"{MANIFEST} names {name!r} wrongly")
            found[name] = digest
    except (KeyError, TypeError):
        raise Wrong(f"{MANIFEST} does not name its files") from None
    return found


def _is_inside(name: str) -> bool:
    """Return True for a path that leads to no other folder."""
    parts = name.split("/")
    return not {"", ".", ".."} & set(parts) and "\\" not in name and ":" not in name


def problems_of(site: Any, files: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong with the files of a site, in sentences."""
    for name, digest in files.items():
        found = hashlib.sha256()
        try:
            for part in site.parts(name):
                found.update(part)
        except Wrong as error:
            yield str(error)
            continue
        if found.hexdigest() != digest:
            sentence = "{} was altered: its SHA-256 is {}, and {} was signed"
            yield sentence.format(name, found.hexdigest(), digest)
    for name in site.names():
        if name not in files and name not in (MANIFEST, ENVELOPE):
            yield f"{name} was added: it was not signed"


def verify(site: Any, key: str | None) -> tuple[list[str], list[str]]:
    """Return what a right site proves, and what is wrong. Raises Wrong if it is not signed."""
    text, manifest, stated = signed_manifest(site, key)
    files = stated_files(manifest)
    problems = list(problems_of(site, files))
    if problems and site.read(MANIFEST) != text:
        raise Wrong("the site was published again meanwhile; verify it once more")
    about = manifest["predicate"]
    said = [
        f"{len(files)} files are as signed by {stated}",
        "contest {}, board {}, as of {}".format(
            about.get("contest"), about.get("state"), about.get("as_of_utc")
        ),
    ]
    if not site.can_list:
        said.append(
            "what was added cannot be seen at an address: copy the site for that"
        )
    if key is None:
        said.append("compare the key with the board, or give it as --key")
    return said, problems


def _printable(text: str) -> str:
    """Return untrusted text with the characters escaped that a terminal would take as commands."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def say(text: str) -> None:
    """Write a line to stdout."""
    sys.stdout.write(f"{text}\n")


def _key(text: str) -> str:
    found = text.strip().lower()
    if not re.fullmatch("[0-9a-f]{64}", found):
        raise argparse.ArgumentTypeError("it is not 64 hexadecimal digits")
    return found


def main() -> int:
    """Verify the site named on the command line; return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version="%(prog)s " + VERSION)
    parser.add_argument("site", metavar="SITE", help="a folder or an address")
    parser.add_argument("--key", type=_key, metavar="HEX", help="the contest's key")
    asked = parser.parse_args()
    site: Any = Folder(Path(asked.site))
    if asked.site.startswith(("http://", "https://")):
        site = Address(asked.site)
    try:
        said, problems = verify(site, asked.key)
    except Wrong as error:
        say(f"failed: {_printable(str(error))}")
        return 1
    for one in problems or said:
        say(_printable(one))
    if problems:
        say(f"failed: {len(problems)} of the files are not as signed")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
