"""The client's files for download, made from the installed distributions: wheels, a zipapp, and the examples.

The same installation makes the same bytes, so a SHA-256 that was compared once stays right.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from referee.handouts.installed_distribution import Installed, installed

CLIENT = ("lpirc-client", "lpirc_client")
NEEDED = (
    ("requests", "requests"),
    ("urllib3", "urllib3"),
    ("certifi", "certifi"),
    ("idna", "idna"),
    ("charset-normalizer", "charset_normalizer"),
)
"""What the client needs, as distribution and package: parts of the zipapp, and wheels of their own for pip."""
EXAMPLES = "lpirc_client/examples/"
VERIFIER = "lpirc_client/verify_site.py"
ONE_FILE = "python/client.py"
LANGUAGES = {"python": "Python", "cpp": "C++", "go": "Go", "shell": "shell"}
ZIPAPP = "lpirc-client.pyz"
SUMS = "SHA256SUMS"
START = b"#!/usr/bin/env python3\n"
MAIN = b"import sys\n\nfrom lpirc_client.cli import main\n\nsys.exit(main())\n"
EARLIEST = (1980, 1, 1, 0, 0, 0)
TEXT = "text/plain; charset=utf-8"
BINARY = "application/octet-stream"
LEAST_PYTHON = re.compile(r">=\s*3\.(\d+)")


@dataclass(frozen=True)
class ClientFile:
    """A file for download, and what it is."""

    name: str
    content: bytes
    media_type: str
    about: str

    @cached_property
    def sha256(self) -> str:
        """Return the SHA-256 of the content, hexadecimal."""
        return hashlib.sha256(self.content).hexdigest()


@cache
def client_files() -> Mapping[str, ClientFile]:
    """Return all files by name, as they are listed; none if the client is not installed."""
    client = installed(*CLIENT)
    if client is None:
        return {}
    needed = [installed(*one) for one in NEEDED]
    parts = [part for part in needed if part is not None]
    is_whole = len(parts) == len(NEEDED)
    made = [_one_file(client)]
    if is_whole:
        made.append(_zipapp([client, *parts]))
    about = f"for pip; it needs requests and Python {client.needs_python}"
    made.append(_wheel(client, about))
    if is_whole:
        made += [_wheel(part, "for pip, which lpirc-client needs") for part in parts]
    made += [*_examples(client), _verifier(client)]
    return {file.name: file for file in made}


def sums() -> str:
    """Return the list of all files for `sha256sum -c`."""
    return "".join(f"{file.sha256}  {file.name}\n" for file in client_files().values())


def _one_file(client: Installed) -> ClientFile:
    content = client.package_files()[EXAMPLES + ONE_FILE]
    about = "one file, Python 3.6 or newer, nothing else: for old Jetsons, too"
    return ClientFile("client.py", content, TEXT, about)


def _verifier(client: Installed) -> ClientFile:
    content = client.package_files()[VERIFIER]
    about = "verifies a published site, one file, Python 3.8 or newer, nothing else"
    return ClientFile("verify_site.py", content, TEXT, about)


def _zipapp(parts: Sequence[Installed]) -> ClientFile:
    """Return the client with all that it needs as one program."""
    files = {"__main__.py": MAIN}
    for part in parts:
        files |= part.package_files() | part.information()
    least = max(_least_python(part) for part in parts)
    about = f"lpirc-client with all that it needs, Python 3.{least} or newer"
    content = START + _zipped(files)
    return ClientFile(ZIPAPP, content, BINARY, about)


def _least_python(part: Installed) -> int:
    found = LEAST_PYTHON.search(part.needs_python)
    return int(found[1]) if found else 0


def _wheel(part: Installed, about: str) -> ClientFile:
    """Return a wheel for any system: of a package with compiled parts, one that works without them."""
    info = part.info_folder
    lines = ["Wheel-Version: 1.0", "Generator: lpirc-referee", "Root-Is-Purelib: true"]
    lines += ["Tag: py3-none-any", ""]
    files = part.package_files() | part.information()
    files[f"{info}/WHEEL"] = "\n".join(lines).encode()
    record = [_record_line(name, content) for name, content in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    name = f"{part.package}-{part.version}-py3-none-any.whl"
    return ClientFile(name, _zipped(files), BINARY, about)


def _record_line(name: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return f"{name},sha256={digest.decode().rstrip('=')},{len(content)}"


def _examples(client: Installed) -> list[ClientFile]:
    found = []
    for path, content in client.package_files().items():
        name = path.removeprefix(EXAMPLES)
        language = LANGUAGES.get(name.partition("/")[0])
        if name == path or language is None:
            continue
        about = f"a whole client in {language}, to copy and change"
        if name.endswith(".md"):
            about = f"how to build and start the client in {language}"
        found.append(ClientFile(f"examples/{name}", content, TEXT, about))
    return found


def _zipped(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return packed.getvalue()
