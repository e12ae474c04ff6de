"""Reads a bundle: the container and its texts. From docs/bundle.md alone."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

FORMAT = 4
"""The newest format that this program knows."""

LARGEST_PART = 2**30
"""Bytes of an unpacked part."""

MANIFEST = "manifest.json"
ENVELOPE = "manifest.dsse.json"
GROUND_TRUTH = "ground_truth.json.gz"
JUDGEMENTS = "judgements.json"
PARTS = (
    MANIFEST,
    ENVELOPE,
    "ro-crate-metadata.json",
    "run.json",
    "testset.json",
    "image_order.json",
    GROUND_TRUTH,
    "posts.jsonl.gz",
    "bodies.gz",
    "served.csv.gz",
    "readings.csv.gz",
    "events.jsonl.gz",
    "checks.json",
    JUDGEMENTS,
    "result.json",
)
PACKED_AGAIN = (
    "perhaps another program packed it again: ask for the file as it was exported"
)


# What goes wrong


class Wrong(Exception):
    """An item does not hold; the sentence says why."""


class NotChecked(Exception):
    """An item cannot be checked; the sentence says why."""


def need(holds: bool, sentence: str) -> None:
    """Raise Wrong unless it holds."""
    if not holds:
        raise Wrong(sentence)


def need_same(
    what: str,
    found: dict[str, Any],
    expected: dict[str, Any],
) -> None:
    """Raise Wrong unless `found` has every value of `expected`, bit by bit."""
    wrong = []
    for name, value in expected.items():
        if name not in found or not is_same(found[name], value):
            wrong.append(name)
    need(not wrong, f"{what} has another {', '.join(wrong)}")


def is_same(one: object, other: object) -> bool:
    """Tell if both are one value: every bit of a number counts, the order of keys does not."""
    return compact_json_of(one) == compact_json_of(other)


def sentence_of(error: Exception) -> str:
    """Return an error in words, also for files that cannot be read."""
    if isinstance(error, Wrong):
        return str(error)
    return f"not what belongs there ({error!r:.100})"


@contextmanager
def about(what: str) -> Iterator[None]:
    """Name the subject of every error raised in this block."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - others wrote what is read here
        raise Wrong(f"{what}: {sentence_of(error)}") from None


# Texts


def sha256(content: bytes | str) -> str:
    """Return the digest in hexadecimal; for a text, that of its UTF-8."""
    if isinstance(content, str):
        content = content.encode()
    return hashlib.sha256(content).hexdigest()


def lines(*values: object) -> str:
    """Each value as a line, ended by a line feed."""
    return "".join(f"{value}\n" for value in values)


def json_of(value: object) -> str:
    """The JSON text of a value."""
    return json.dumps(value, allow_nan=False)


def compact_json_of(value: object) -> str:
    """The JSON text with sorted keys and without blanks."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def as_json(text: bytes, name: str) -> Any:
    """The value of a JSON text with its line feed, written as a bundle writes it. Raises Wrong."""
    with about(name):
        value = json.loads(text)
        expected = f"{json_of(value)}\n".encode()
        need(text == expected, "not in the form of a bundle")
    return value


def inflate(
    content: bytes,
    size: int,
    name: str,
) -> bytes:
    """The text of a part, of which the manifest says the size. Raises Wrong."""
    with about(name):
        is_possible = 0 <= size <= LARGEST_PART
        need(is_possible, f"{size} bytes are more than a part may have")
        if name.endswith(".gz"):
            member = zlib.decompressobj(31)
            content = member.decompress(content, size + 1)
            is_whole = member.eof and not member.unused_data
            need(is_whole, f"more than its {size} bytes, or cut short")
        need(len(content) == size, f"{len(content)} bytes and not {size}")
    return content


# The container


def unpack(data: bytes) -> dict[str, bytes]:
    """The parts by name, as they are packed. Raises Wrong."""
    need(data[:4] == b"PK\3\4", "the file is not a bundle")
    parts: dict[str, bytes] = {}
    names = [MANIFEST]
    directory = b""
    at = 0
    while data[at : at + 4] == b"PK\3\4":
        name, content = _part_at(data, at)
        _need_next(name, [*parts], names)
        header = _header(name, content)
        is_as_written = data.startswith(header, at)
        need(is_as_written, f"{name} is damaged, or {PACKED_AGAIN}")
        if name == MANIFEST:
            names = _names_of_format(content)

        parts[name] = content
        directory += _entry(name, content, at)
        at += len(header) + len(content)

    missing = [name for name in names if name not in parts]
    missing = [name for name in missing if name != GROUND_TRUTH]
    need(not missing, f"it has no part {', '.join(missing)}, or is cut short")
    expected = directory + _end(len(parts), len(directory), at)
    is_as_written = data[at:] == expected
    need(
        is_as_written,
        f"the end is cut short or not that of a bundle: {PACKED_AGAIN}",
    )
    return parts


def _part_at(data: bytes, at: int) -> tuple[str, bytes]:
    """The name and content of the part whose header is there."""
    header = data[at : at + 30]
    size = int.from_bytes(header[18:22], "little")
    name_length = int.from_bytes(header[26:28], "little")
    name_begins = at + 30
    begin = name_begins + name_length
    end = begin + size
    name = data[name_begins:begin].decode("ascii", "replace")
    need(end <= len(data), f"cut short in {name[:80]!r}")
    return name, data[begin:end]


def _need_next(
    name: str,
    before: list[str],
    names: list[str],
) -> None:
    """Raise Wrong unless this part may follow the others."""
    places = [names.index(each) for each in before]
    is_next = name in names and names.index(name) > max(places, default=-1)
    need(
        is_next,
        f"{name[:80]!r} is not a part, or not in its place: {PACKED_AGAIN}",
    )


def _names_of_format(manifest: bytes) -> list[str]:
    """The parts, in order, of the format that a manifest states. Raises Wrong."""
    version = as_json(manifest, MANIFEST)["predicate"]["format"]
    is_known = type(version) is int and 1 <= version <= FORMAT
    need(
        is_known,
        f"format {version!r} is unknown to this program: use a newer one",
    )
    names = [*PARTS]
    if version < 3:
        names.remove(JUDGEMENTS)
    return names


def _two(value: int) -> bytes:
    """Return a number in two bytes, the least significant one first."""
    return value.to_bytes(2, "little")


def _four(value: int) -> bytes:
    """Return a number in four bytes, the least significant one first."""
    return value.to_bytes(4, "little")


def _header(name: str, content: bytes) -> bytes:
    """The local header of a part."""
    return b"PK\3\4" + _common_fields(name, content) + name.encode()


def _common_fields(name: str, content: bytes) -> bytes:
    """Return the fields that a local header and an entry of the directory share."""
    fields = [
        _two(20),  # version needed
        _two(0),  # flags
        _two(0),  # stored
        _two(0),  # time
        _two(33),  # date: 1980-01-01
        _four(zlib.crc32(content)),
        _four(len(content)),
        _four(len(content)),
        _two(len(name)),
        _two(0),
    ]
    return b"".join(fields)


def _entry(
    name: str,
    content: bytes,
    offset: int,
) -> bytes:
    """The entry of a part in the directory."""
    fields = [
        b"PK\1\2",
        _two(20),  # made by
        _common_fields(name, content),
        _two(0),
        _two(0),
        _two(0),
        _four(0),
        _four(offset),
        name.encode(),
    ]
    return b"".join(fields)


def _end(
    parts: int,
    size: int,
    offset: int,
) -> bytes:
    """Return the record that comes after the directory."""
    fields = [
        b"PK\5\6",
        _two(0),
        _two(0),
        _two(parts),
        _two(parts),
        _four(size),
        _four(offset),
        _two(0),
    ]
    return b"".join(fields)
