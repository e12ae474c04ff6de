"""Bundles altered at random: a byte, or rows of a part swapped, removed, repeated or in another order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from referee.evidence.bundle_container import ENVELOPE, MANIFEST, pack, unpack
from tests.referee.evidence.proved import Proved, Texts, opened, packed_parts

Chance = np.random.Generator
_LISTS = ("image_order.json", "checks.json", "testset.json", MANIFEST)
_TABLES = (
    "posts.jsonl.gz",
    "served.csv.gz",
    "readings.csv.gz",
    "events.jsonl.gz",
    "bodies.gz",
)


@dataclass(frozen=True)
class Tampered:
    """An altered bundle, the parts of which one must be named, and how it was made."""

    data: bytes
    parts: tuple[str, ...]
    how: str


def tampered(
    proved: Proved,
    count: int,
    seed: int,
) -> Iterator[Tampered]:
    """So many altered bundles, half of them by a byte."""
    chance = np.random.default_rng(seed)
    texts = opened(proved.data)
    places = [*_places(proved.data)]
    for number in range(count):
        if number % 2 == 0:
            yield _byte(proved.data, places, chance)
        else:
            yield _rows(proved, texts, chance, number // 2)


def _places(data: bytes) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Where the header and the content of each part lie, and the directory, each with what may be named."""
    at = 0
    for name, part in unpack(data).items():
        begin = at + 30 + len(name)
        end = at + 30 + len(name) + len(part)
        yield at, begin, (name, "container")
        # The envelope holds the manifest once more, so either may be the altered one.
        yield (
            begin,
            end,
            (MANIFEST, ENVELOPE) if name in (MANIFEST, ENVELOPE) else (name,),
        )
        at = end
    yield at, len(data), ("container",)


def _byte(
    data: bytes,
    places: list[tuple[int, int, tuple[str, ...]]],
    chance: Chance,
) -> Tampered:
    # Each part has the same chance: the large ones would else get nearly all.
    first, end, parts = places[int(chance.integers(len(places)))]
    at = int(chance.integers(first, end))
    other = int(chance.integers(1, 256))
    altered = bytearray(data)
    altered[at] ^= other
    return Tampered(bytes(altered), parts, f"byte {at} ^ {other}")


def _rows(
    proved: Proved,
    texts: Texts,
    chance: Chance,
    number: int,
) -> Tampered:
    names = [name for name in (*_LISTS, *_TABLES) if len(_split(name, texts[name])) > 1]
    while True:
        name = names[int(chance.integers(len(names)))]
        rows = _split(name, texts[name])
        how, altered = _ALTERED[int(chance.integers(len(_ALTERED)))]
        text = _joined(name, texts[name], altered([*rows], chance))
        if text != texts[name]:
            break
    changed = texts | {name: text}
    sealing = ("left", "by a wrong key", "by a wrong key of its own")[number % 3]
    told = f"{name}: rows {how}, signature {sealing}"
    if name == MANIFEST or sealing == "left":
        kept = unpack(proved.data)
        parts = kept | {name: packed_parts({name: text})[name]}
        return Tampered(
            b"".join(pack(parts)),
            (MANIFEST, ENVELOPE) if name == MANIFEST else (name,),
            told,
        )
    public_key = (
        proved.key.public if sealing == "by a wrong key" else proved.wrong_key.public
    )
    return Tampered(
        proved.sealed(changed, proved.wrong_key, public_key=public_key),
        (ENVELOPE, name),
        told,
    )


def _split(name: str, text: bytes) -> list[object]:
    if name == "testset.json":
        rows: list[object] = json.loads(text)["images"]
    elif name == MANIFEST:
        rows = json.loads(text)["subject"]
    elif name.endswith(".json"):
        rows = json.loads(text)
    elif name == "bodies.gz":
        rows = [text[at : at + 40] for at in range(0, len(text), 40)]
    else:
        rows = [*text.splitlines(keepends=True)]
    return rows


def _joined(name: str, before: bytes, rows: list[object]) -> bytes:
    if not name.endswith(".json"):
        return b"".join(rows)  # type: ignore[arg-type]
    key = {"testset.json": "images", MANIFEST: "subject"}.get(name)
    return f"{json.dumps(json.loads(before) | {key: rows} if key else rows)}\n".encode()


def _swapped(rows: list[object], chance: Chance) -> list[object]:
    one, other = chance.choice(len(rows), 2, replace=False).tolist()
    first = rows[one]
    rows[one] = rows[other]
    rows[other] = first
    return rows


def _removed(rows: list[object], chance: Chance) -> list[object]:
    del rows[int(chance.integers(len(rows)))]
    return rows


def _repeated(rows: list[object], chance: Chance) -> list[object]:
    at = int(chance.integers(len(rows)))
    return [*rows[:at], rows[at], *rows[at:]]


def _reordered(rows: list[object], chance: Chance) -> list[object]:
    return [rows[at] for at in chance.permutation(len(rows)).tolist()]


_ALTERED: list[tuple[str, Callable[[list[object], Chance], list[object]]]] = [
    ("swapped", _swapped),
    ("removed", _removed),
    ("repeated", _repeated),
    ("reordered", _reordered),
]
