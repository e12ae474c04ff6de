"""What a bundle is written in: the container, texts, bodies of detections, signatures. From docs/bundle.md alone."""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from itertools import zip_longest
from typing import Any
from urllib.parse import parse_qsl

FORMAT = 3
LARGEST_PART = 2**30

MANIFEST = "manifest.json"
ENVELOPE = "manifest.dsse.json"
GROUND_TRUTH = "ground_truth.json.gz"
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
    "judgements.json",
    "result.json",
)
SINCE_FORMAT_3 = "judgements.json"
PACKED_AGAIN = "perhaps another program packed it again: ask for the file as it was exported"

Row = tuple[float, ...]


class Wrong(Exception):
    """Something does not hold; the sentence says what."""


class NotChecked(Exception):
    """An item cannot be checked; the sentence says why."""


def need(holds: object, sentence: str) -> None:
    """Raise Wrong unless it holds."""
    if not holds:
        raise Wrong(sentence)


def need_same(what: str, found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Raise Wrong unless `found` has every value of `expected`, bit by bit: both have the same JSON text."""
    wrong = [key for key in expected if key not in found or json_of(found[key]) != json_of(expected[key])]
    need(not wrong, f"{what} has another {', '.join(wrong)}")


def sentence_of(error: Exception) -> str:
    """What went wrong, in words, also where others wrote what cannot be read."""
    if isinstance(error, Wrong):
        return str(error)
    return f"not what belongs there ({error!r:.100})"


@contextmanager
def about(what: str) -> Iterator[None]:
    """Whatever goes wrong here is wrong about this."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - others wrote what is read here
        raise Wrong(f"{what}: {sentence_of(error)}") from None


def sha256(content: bytes | str) -> str:
    """The digest in hexadecimal; of a text, that of its UTF-8."""
    if isinstance(content, str):
        content = content.encode()
    return hashlib.sha256(content).hexdigest()


def lines(*values: object) -> str:
    """Each value as a line, ended by a line feed."""
    return "".join(f"{value}\n" for value in values)


def json_of(value: object) -> str:
    """The JSON text of a value."""
    return json.dumps(value, allow_nan=False)


# The container


def unpack(data: bytes) -> dict[str, bytes]:
    """The parts by name, as they are packed. Raises Wrong."""
    need(data[:4] == b"PK\3\4", "the file is not a bundle")
    parts: dict[str, bytes] = {}
    names: list[str] = [MANIFEST]
    directory = b""
    at = 0
    while data[at : at + 4] == b"PK\3\4" and len(data) >= at + 30:
        name, content = _part_at(data, at)
        _need_next(name, parts, names)
        header = _header(name, content)
        need(data.startswith(header, at), f"{name} is damaged, or {PACKED_AGAIN}")
        if name == MANIFEST:
            names = _names_of_format(content)

        parts[name] = content
        directory += _entry(name, content, at)
        at += len(header) + len(content)

    missing = [name for name in names if name not in parts and name != GROUND_TRUTH]
    need(not missing, f"it has no part {', '.join(missing)}, or is cut short")
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, len(parts), len(parts), len(directory), at, 0)
    need(data[at:] == directory + end, f"the end is cut short or not that of a bundle: {PACKED_AGAIN}")
    return parts


def _part_at(data: bytes, at: int) -> tuple[str, bytes]:
    """The name and content of the part whose header is there."""
    size, _, name_length = struct.unpack_from("<LLH", data, at + 18)
    begin = at + 30 + name_length
    name = data[at + 30 : begin].decode("ascii", "replace")
    need(begin + size <= len(data), f"cut short in {name[:80]!r}")
    return name, data[begin : begin + size]


def _need_next(name: str, before: dict[str, bytes], names: list[str]) -> None:
    """Raise Wrong unless this part may follow the others."""
    is_known = name in names
    follows = is_known and all(names.index(name) > names.index(each) for each in before)
    need(follows, f"{name[:80]!r} is not a part, or not in its place: {PACKED_AGAIN}")


def _common_header(name: str, content: bytes) -> bytes:
    """The fields that a local header and an entry of the directory share."""
    crc = zlib.crc32(content)
    size = len(content)
    return struct.pack("<5H3L2H", 20, 0, 0, 0, 33, crc, size, size, len(name), 0)


def _header(name: str, content: bytes) -> bytes:
    return b"PK\3\4" + _common_header(name, content) + name.encode()


def _entry(name: str, content: bytes, offset: int) -> bytes:
    made_by = struct.pack("<H", 20)
    rest = struct.pack("<3H2L", 0, 0, 0, 0, offset)
    return b"PK\1\2" + made_by + _common_header(name, content) + rest + name.encode()


def _names_of_format(manifest: bytes) -> list[str]:
    """The parts, in their order, of a bundle of the format that its manifest states."""
    version = as_json(manifest, MANIFEST)["predicate"]["format"]
    is_known = type(version) is int and 1 <= version <= FORMAT
    need(is_known, f"format {version!r} is unknown to this program: use a newer one")
    return [name for name in PARTS if version >= 3 or name != SINCE_FORMAT_3]


# Texts


def as_json(text: bytes, name: str) -> Any:
    """The value of a JSON text with its line feed. Raises Wrong unless it is written as a bundle writes it."""
    with about(name):
        value = json.loads(text)
        need(f"{json_of(value)}\n".encode() == text, "not in the form of a bundle")
    return value


def inflate(content: bytes, size: int, name: str) -> bytes:
    """The text of a part, of which the manifest says the size. Raises Wrong."""
    with about(name):
        need(0 <= size <= LARGEST_PART, f"{size} bytes are more than a part may have")
        if name.endswith(".gz"):
            member = zlib.decompressobj(31)
            content = member.decompress(content, size + 1)
            is_one = member.eof and not member.unused_data
            need(is_one, f"more than its {size} bytes, or cut short")
        need(len(content) == size, f"{len(content)} bytes and not {size}")
    return content


# Bodies

NUMBER = re.compile(r"(?ai)\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*")
JPEG = re.compile(r"(?is)^(.*[/\\])?([^/\\]*)\.jpe?g\s*$")
FIELDS = ("image_name", "CLASS_ID", "confidence", "xmin", "ymin", "xmax", "ymax")
URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"


def good_rows(post: dict[str, Any], body: bytes, images: int, categories: set[int]) -> list[Row]:
    """The rows of a body that are taken. Raises Wrong if it has another content than its line in posts says."""
    if post["kind"] == "rows":  # of an earlier version, which kept the accepted rows only
        rows = [*struct.iter_unpack("<7d", body)]
        good = [row for row in rows if _is_good(row, images, categories)]
        need(len(good) == len(rows), "it has rows that cannot be accepted")
        return good

    need(post["kind"] == "body", f"no body is of kind {post['kind']!r}")
    need(sha256(body) == post["sha256"], "it has another SHA-256")
    kind = post["content_type"].partition(";")[0].strip().lower()
    if kind in (URLENCODED, MULTIPART):
        rows = _form_rows(body, kind, post["content_type"])
        good = [row for row in rows if _is_good(row, images, categories)]
    else:
        rows = _plain_rows(body, kind)
        good = [row for row in rows if _is_good(row, images, categories) and _is_upright(row)]
        need(len(good) == len(rows), "it has rows that cannot be accepted")
    refused = len(rows) - len(good)
    need(refused == post["refused"], f"{refused} rows are to be refused")
    return good


def _is_good(row: Row, images: int, categories: set[int]) -> bool:
    if len(row) != len(FIELDS) or not all(map(math.isfinite, row)):
        return False
    image, category = row[:2]
    return 1 <= image <= images and image % 1 == 0 and category in categories


def _is_upright(row: Row) -> bool:
    _, _, _, xmin, ymin, xmax, ymax = row
    return xmin <= xmax and ymin <= ymax


def _plain_rows(body: bytes, kind: str) -> list[Row]:
    if kind == "application/octet-stream":
        return [*struct.iter_unpack("<7f", body)]
    if kind == "application/json":
        written = json.loads(body.strip() or b"[]")
        are_numbers = all(type(value) in (int, float) for row in written for value in row)
        need(are_numbers, "it has rows with other values than numbers")
        return [tuple(map(float, row)) for row in written]
    need(kind in ("text/plain", "text/csv"), f"no body is of type {kind!r}")
    need(b"_" not in body, "it has a number with _")
    split = [line.split() for line in body.replace(b",", b" ").splitlines()]
    return [tuple(map(float, row)) for row in split if row]


def _form_rows(body: bytes, kind: str, content_type: str) -> list[Row]:
    """The rows of a form, as many as its longest list; what is missing or is not a number is NaN."""
    fields = _multipart_fields(body, content_type) if kind == MULTIPART else _urlencoded_fields(body)
    lists = [[value for name, value in fields if name == wanted] for wanted in FIELDS]
    if not any(lists) and any(name != "token" for name, _ in fields):
        return [(math.nan,) * len(FIELDS)]

    lists[0] = [JPEG.sub(r"\2", value) for value in lists[0]]
    need(min(map(len, lists)) >= len(lists[0]), "a list of the form is shorter than that of the images")
    rows = zip_longest(*lists, fillvalue="")
    return [tuple(_number(text) for text in texts) for texts in rows]


def _urlencoded_fields(body: bytes) -> list[tuple[str, str]]:
    text = body.decode(errors="backslashreplace")
    return parse_qsl(text, keep_blank_values=True, errors="backslashreplace")


def _multipart_fields(body: bytes, content_type: str) -> list[tuple[str, str]]:
    message: Any = message_from_bytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
    fields = []
    for part in message.get_payload():
        if part.get_filename() is None:
            name = part.get_param("name", header="content-disposition")
            fields.append((name, part.get_payload()))
    return fields


def _number(text: str) -> float:
    return float(text) if NUMBER.fullmatch(text) else math.nan


# Signatures: Ed25519 by RFC 8032. A point is (x, y, z, t) in extended coordinates.

Point = tuple[int, int, int, int]
PRIME = 2**255 - 19
GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, PRIME) % PRIME
NEUTRAL: Point = (0, 1, 1, 0)


def need_signature(text: bytes, signature: bytes, key: bytes) -> None:
    """Raise Wrong unless the signature (64 bytes) of the text is by the key (32 bytes)."""
    need(len(key) == 32 and len(signature) == 64, "not an Ed25519 signature")
    first_half = signature[:32]
    public = _point(key)
    commitment = _point(first_half)
    s = int.from_bytes(signature[32:], "little")
    digest = hashlib.sha512(first_half + key + text).digest()
    k = int.from_bytes(digest, "little") % GROUP_ORDER

    # s * BASE must be commitment + k * public.
    left = _times(s, BASE)
    right = _add(commitment, _times(k, public))
    holds = s < GROUP_ORDER and _is_same(left, right)
    need(holds, f"the signature is not by {key.hex()}")


def _point(data: bytes) -> Point:
    """The point that 32 bytes encode. Raises Wrong."""
    number = int.from_bytes(data, "little")
    sign = number >> 255
    y = number & (2**255 - 1)
    need(y < PRIME, "not a point of the curve")

    square = (y * y - 1) * pow(D * y * y + 1, -1, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if (x * x - square) % PRIME != 0:
        x = x * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
    need((x * x - square) % PRIME == 0, "not a point of the curve")
    need(x != 0 or sign == 0, "not a point of the curve")
    if x % 2 != sign:
        x = PRIME - x
    return x, y, 1, x * y % PRIME


def _add(p: Point, q: Point) -> Point:
    a = (p[1] - p[0]) * (q[1] - q[0])
    b = (p[1] + p[0]) * (q[1] + q[0])
    c = 2 * p[3] * q[3] * D
    d = 2 * p[2] * q[2]
    e = (b - a) % PRIME
    f = (d - c) % PRIME
    g = (d + c) % PRIME
    h = (b + a) % PRIME
    return e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME


def _times(factor: int, point: Point) -> Point:
    total = NEUTRAL
    while factor > 0:
        if factor % 2 == 1:
            total = _add(total, point)
        point = _add(point, point)
        factor //= 2
    return total


def _is_same(p: Point, q: Point) -> bool:
    same_x = (p[0] * q[2] - q[0] * p[2]) % PRIME == 0
    same_y = (p[1] * q[2] - q[1] * p[2]) % PRIME == 0
    return same_x and same_y


BASE = _point((4 * pow(5, -1, PRIME) % PRIME).to_bytes(32, "little"))
