"""The container of a bundle: a zip with every byte determined by the content of its parts. Pure."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from lpirc_score.metrics.evaluation_result import RULES_VERSION
from lpirc_score.tasks.offered import TASK_RULES_VERSION
from referee.errors import RefereeError

FORMAT_OF_BUDGETS = 6
"""Format of results with an uncertainty budget."""

FORMAT = FORMAT_OF_BUDGETS
"""The newest format."""

FORMAT_OF_RULES = 5
"""Format of runs that answer another task than boxes, or are ranked by another rule than the usual one."""

FORMAT_OF_BOXES = 4
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:lpirc-referee:bundle"
MANIFEST = "manifest.json"
ENVELOPE = "manifest.dsse.json"
GROUND_TRUTH = "ground_truth.json.gz"
JUDGEMENTS = "judgements.json"
WITH_JUDGEMENTS = 3  # the first format with this part
NAMES = (
    *(
        MANIFEST,
        ENVELOPE,
        "ro-crate-metadata.json",
        "run.json",
        "testset.json",
        "image_order.json",
    ),
    *(
        GROUND_TRUTH,
        "posts.jsonl.gz",
        "bodies.gz",
        "served.csv.gz",
        "readings.csv.gz",
        "events.jsonl.gz",
    ),
    *("checks.json", JUDGEMENTS, "result.json"),
)
"""Names of all parts, in order; GROUND_TRUTH may be missing; earlier formats lack JUDGEMENTS."""
LARGEST_PART_BYTES = 2**30
LARGEST_BYTES = 2**32 - 1

_SAME = struct.Struct("<HHHHHIIIHH")
_LOCAL = b"PK\x03\x04"
_ENTRY = b"PK\x01\x02"
_END = b"PK\x05\x06"
_VERSION = 20
_DATE = 33  # a zip without extensions, 1980-01-01
_HEADER_BYTES = len(_LOCAL) + _SAME.size
AGAIN = "perhaps another program packed it again: ask for the file as it was exported"
BEGIN = _LOCAL + struct.pack("<HHHHH", _VERSION, 0, 0, 0, _DATE)
"""The first bytes of every bundle, and of hardly any other zip."""


class BadBundle(RefereeError):
    """The file is not a bundle, or is too damaged to be compared; `part` names the damaged part."""

    def __init__(self, part: str, sentence: str) -> None:
        super().__init__("bad-bundle", sentence, part=part)
        self.part = part


def pack(parts: Mapping[str, bytes]) -> list[bytes]:
    """Return the container of these parts, in pieces. Raises RefereeError `bundle-too-large`."""
    pieces = []
    offsets = []
    at = 0
    for name, content in parts.items():
        offsets.append(at)
        pieces += [_local_header(name, content), content]
        at += len(pieces[-2]) + len(content)
    end = _directory(parts, offsets, at)
    if at + len(end) > LARGEST_BYTES:
        sentence = f"The bundle would have {at + len(end)} bytes; a zip of this form has less than 2^32."
        raise RefereeError("bundle-too-large", sentence)
    return [*pieces, end]


def unpack(data: bytes) -> dict[str, bytes]:
    """Return the parts of a container. Raises BadBundle unless every byte is as `pack` writes it."""
    if data[:4] != _LOCAL:
        raise BadBundle(
            "container",
            "The file is not a bundle: it does not begin as a bundle's zip does.",
        )
    parts: dict[str, bytes] = {}
    offsets = []
    at = 0
    while data[at : at + 4] == _LOCAL:
        name, content, end = _next(data, at)
        _require_place(name, parts)
        if _local_header(name, content) != data[at : end - len(content)]:
            sentence = f"Part {name} is damaged: its CRC-32 or its header in the zip is not as it was written"
            raise BadBundle(name, f"{sentence}; {AGAIN}.")
        if name == MANIFEST:
            read_manifest(content)
        parts[name] = content
        offsets.append(at)
        at = end
    _require_end(data, at, _directory(parts, offsets, at))
    _require_all(parts)
    return parts


def _require_all(parts: Mapping[str, bytes]) -> None:
    for name in NAMES:
        if name not in (*parts, GROUND_TRUTH, JUDGEMENTS):
            raise BadBundle(name, f"The bundle has no part {name}.")
    number = read_manifest(parts[MANIFEST])["format"]
    if (JUDGEMENTS in parts) != (number >= WITH_JUDGEMENTS):
        has = "has the" if JUDGEMENTS in parts else "has no"
        raise BadBundle(
            JUDGEMENTS,
            f"The bundle has format {number} and {has} part {JUDGEMENTS}; bundles have this part since format "
            f"{WITH_JUDGEMENTS}.",
        )


def read_manifest(manifest: bytes) -> dict[str, Any]:
    """Return the predicate and the `subject` of a manifest. Raises BadBundle, also for a manifest of a newer form."""
    statement = read_json(MANIFEST, manifest)
    try:
        predicate: dict[str, Any] = statement["predicate"] | {
            "subject": statement["subject"]
        }
        of_rules = max(RULES_VERSION, TASK_RULES_VERSION)
        versions = {"format": FORMAT, "metric_version": of_rules}
        for name, newest in versions.items():
            if type(predicate[name]) is not int or not 1 <= predicate[name] <= newest:
                sentence = f"The bundle has {name} {predicate[name]!r}, but this program knows only up to {newest}"
                raise BadBundle(
                    MANIFEST,
                    f"{sentence}: verify it with a newer version of this program.",
                )
        kinds = [
            statement["_type"],
            statement["predicateType"],
            type(predicate["run"]),
            type(predicate["sizes"]),
        ]
    except (KeyError, TypeError):
        kinds = []
    if kinds != [STATEMENT, PREDICATE, int, dict]:
        raise BadBundle(MANIFEST, f"Part {MANIFEST} is not the manifest of a bundle.")
    return predicate


def gunzip(name: str, packed: bytes, size: object) -> bytes:
    """Unpack a compressed part of the `size` stated in the manifest. Raises BadBundle."""
    if type(size) is not int or not 0 <= size <= LARGEST_PART_BYTES:
        most = f"at most {LARGEST_PART_BYTES} are unpacked"
        raise BadBundle(
            name, f"Part {name} is stated to unpack to {size!r} bytes; {most}."
        )
    gzip = zlib.decompressobj(31)
    try:
        content = gzip.decompress(packed, size + 1)
    except zlib.error as error:
        raise BadBundle(name, f"Part {name} cannot be unpacked: {error}.") from None
    if len(content) != size or not gzip.eof or gzip.unused_data:
        sentence = f"Part {name} does not unpack to exactly the {size} bytes that the manifest states."
        raise BadBundle(name, sentence)
    return content


def json_text(value: object) -> bytes:
    """Return a value as JSON text with a line feed, in the only form that a bundle allows."""
    return f"{json.dumps(value, allow_nan=False)}\n".encode()


def read_json(name: str, text: bytes) -> Any:
    """Return the value of a JSON text. Raises BadBundle unless the text is exactly as `json_text` writes it."""
    try:
        value = json.loads(text)
        if json_text(value) == text:
            return value
    except (ValueError, RecursionError):
        pass
    raise BadBundle(name, f"Part {name} is not JSON as a bundle writes it.")


def read_json_lines(name: str, text: bytes) -> Iterator[Any]:
    """Yield the values of JSON texts, one per line. Raises BadBundle as `read_json` does."""
    for line in text.splitlines(keepends=True):
        yield read_json(name, line)


def _next(data: bytes, at: int) -> tuple[str, bytes, int]:
    """Return the name, content and end of the part that begins at `at`."""
    if len(data) < at + _HEADER_BYTES:
        raise BadBundle(
            "container",
            f"The bundle is cut short: {len(data)} bytes end within a header.",
        )
    *_, size, length, _extra = _SAME.unpack_from(data, at + 4)
    begin = at + _HEADER_BYTES + length
    name = data[at + _HEADER_BYTES : begin].decode("ascii", "backslashreplace")
    if len(data) < begin + size:
        sentence = f"The bundle is cut short or damaged in part {name[:40]!r}: {len(data)} bytes are too few."
        raise BadBundle(name if name in NAMES else "container", sentence)
    return name, data[begin : begin + size], begin + size


def _require_place(name: str, before: Mapping[str, bytes]) -> None:
    if name not in NAMES:
        sentence = f"The file is not a bundle: it has an unknown part {name[:80]!r}; nothing was unpacked."
        raise BadBundle("container", sentence)
    last = max((NAMES.index(one) for one in before), default=-1)
    if NAMES.index(name) <= last or (not before and name != MANIFEST):
        raise BadBundle(
            name, f"Part {name} occurs twice, or is at the wrong position; {AGAIN}."
        )


def _require_end(data: bytes, at: int, end: bytes) -> None:
    if data[at:] == end:
        return
    if end.startswith(data[at:]):
        raise BadBundle(
            "container",
            "The bundle is cut short: the directory at its end is not whole.",
        )
    raise BadBundle(
        "container",
        f"The zip directory at the end of the bundle does not match the parts before it; {AGAIN}.",
    )


def _local_header(name: str, content: bytes) -> bytes:
    return _LOCAL + _common(name, content) + name.encode("ascii")


def _directory(parts: Mapping[str, bytes], offsets: list[int], at: int) -> bytes:
    entries = [
        _ENTRY
        + struct.pack("<H", _VERSION)
        + _common(name, content)
        + bytes(10)
        + struct.pack("<I", offset)
        + name.encode()
        for (name, content), offset in zip(parts.items(), offsets, strict=True)
    ]
    directory = b"".join(entries)
    counts = struct.pack(
        "<HHHHIIH", 0, 0, len(entries), len(entries), len(directory), at, 0
    )
    return directory + _END + counts


def _common(name: str, content: bytes) -> bytes:
    size = len(content)
    return _SAME.pack(
        _VERSION, 0, 0, 0, _DATE, zlib.crc32(content), size, size, len(name), 0
    )
