"""Reads the container of a bundle and the parts in it. Written from docs/bundle.md alone."""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

FORMAT = 6
"""The newest format that this program knows."""

LARGEST_PART = 2**30
"""Largest size of an unpacked part, in bytes."""

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
    """A check failed; the sentence says why."""


class NotChecked(Exception):
    """A check cannot be made; the sentence says why."""


def need(holds: bool, sentence: str) -> None:
    """Raise Wrong with this sentence unless `holds` is True."""
    if not holds:
        raise Wrong(sentence)


def need_same(
    what: str,
    found: dict[str, Any],
    expected: dict[str, Any],
) -> None:
    """Raise Wrong unless every value of `expected` is in `found` under the same name, bit for bit."""
    wrong = []
    for name, value in expected.items():
        if name not in found or not is_same(found[name], value):
            wrong.append(name)
    need(not wrong, f"{what} has the wrong {', '.join(wrong)}")


def is_close(one: float | None, other: float | None) -> bool:
    """Return True if the values differ by no more than another order of summation can cause."""
    if one is None or other is None:
        return False
    return math.isclose(one, other, rel_tol=1e-12)


def is_same(one: object, other: object) -> bool:
    """Return True if both values are equal: numbers to the last bit, dictionaries in any order of keys."""
    return compact_json_of(one) == compact_json_of(other)


def sentence_of(error: Exception) -> str:
    """Return an error as a sentence; an error from an unreadable value becomes one, too."""
    if isinstance(error, Wrong):
        return str(error)
    return f"malformed ({error!r:.100})"


@contextmanager
def about(what: str) -> Iterator[None]:
    """Prefix every error raised in this block with `what`, and raise it as Wrong."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - others wrote what is read here
        raise Wrong(f"{what}: {sentence_of(error)}") from None


# Texts


def sha256(content: bytes | str) -> str:
    """Return the SHA-256 in hexadecimal; a text is encoded as UTF-8 first."""
    if isinstance(content, str):
        content = content.encode()
    return hashlib.sha256(content).hexdigest()


def lines(*values: object) -> str:
    """Return the values as a text, each on a line that ends with a line feed."""
    return "".join(f"{value}\n" for value in values)


def json_of(value: object) -> str:
    """Return a value as JSON text."""
    return json.dumps(value, allow_nan=False)


def compact_json_of(value: object) -> str:
    """Return a value as JSON text with sorted keys and without spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def as_json(text: bytes, name: str) -> Any:
    """Return the value of a JSON text that ends with a line feed. Raises Wrong unless it is written as in a bundle."""
    with about(name):
        value = json.loads(text)
        expected = f"{json_of(value)}\n".encode()
        need(text == expected, "its JSON is not written as in a bundle")
    return value


def inflate(
    content: bytes,
    size: int,
    name: str,
) -> bytes:
    """Return a part's content, decompressed if it is a .gz. Raises Wrong unless it has the manifest's `size`."""
    with about(name):
        is_possible = 0 <= size <= LARGEST_PART
        need(
            is_possible,
            f"the manifest states {size} bytes, but a part has 0 to {LARGEST_PART}",
        )
        if name.endswith(".gz"):
            member = zlib.decompressobj(31)
            content = member.decompress(content, size + 1)
            is_whole = member.eof and not member.unused_data
            need(
                is_whole,
                f"it is cut short, unpacks to more than the stated {size} bytes, or has data after its end",
            )
        need(len(content) == size, f"it has {len(content)} bytes, not {size}")
    return content


# The container


def unpack(data: bytes) -> dict[str, bytes]:
    """Return the parts of a bundle by name, still compressed. Raises Wrong."""
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
    need(not missing, f"the bundle has no part {', '.join(missing)}, or is cut short")
    expected = directory + _end(len(parts), len(directory), at)
    is_as_written = data[at:] == expected
    need(
        is_as_written,
        f"its end is cut short, or is not the end of a bundle: {PACKED_AGAIN}",
    )
    return parts


def _part_at(data: bytes, at: int) -> tuple[str, bytes]:
    """Return the name and the content of the part whose local header begins at offset `at`."""
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
    """Raise Wrong unless a part of this name may follow the parts `before`, in the order of `names`."""
    places = [names.index(each) for each in before]
    is_next = name in names and names.index(name) > max(places, default=-1)
    need(
        is_next,
        f"{name[:80]!r} is not the name of a part, or is at the wrong position: {PACKED_AGAIN}",
    )


def _names_of_format(manifest: bytes) -> list[str]:
    """Return the names of all parts, in order, in the format that a manifest states. Raises Wrong."""
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
    """Return a number as two bytes, little-endian."""
    return value.to_bytes(2, "little")


def _four(value: int) -> bytes:
    """Return a number as four bytes, little-endian."""
    return value.to_bytes(4, "little")


def _header(name: str, content: bytes) -> bytes:
    """Return the zip's local header of a part."""
    return b"PK\3\4" + _common_fields(name, content) + name.encode()


def _common_fields(name: str, content: bytes) -> bytes:
    """Return the fields shared by a part's local header and its entry in the zip's central directory."""
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
    """Return a part's entry in the zip's central directory."""
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
    """Return the zip's end-of-central-directory record."""
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
