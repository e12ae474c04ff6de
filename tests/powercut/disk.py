"""A disk that loses its power: what was written and synced, in order, and what a cut may leave of it.

The model is harsher than most file systems. What was not synced may be lost, kept, kept in part (by sectors of 512 or
4096 bytes) or overtaken by what came later, each file and each name in a folder by itself; of a file that grew, sectors
that were never written may hold anything. A rename is kept or lost as one. What a sync has returned from stays, and a
write leaves the bytes beside it alone (SQLite's "powersafe overwrite").
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple


class Write(NamedTuple):
    node: int
    offset: int
    data: bytes


class Cut(NamedTuple):
    node: int
    size: int


class Entry(NamedTuple):
    """A name in a folder: `node` gets it, None loses it; a rename takes it from the name `was` in another folder."""

    folder: int
    name: str
    node: int | None
    was: tuple[int, str] | None = None


class Sync(NamedTuple):
    """Of a file's content, or of a folder's names; None: of everything."""

    node: int | None


Step = Write | Cut | Entry | Sync
ROOT = 0


@dataclass
class Disk:
    """What is on it for sure, and the steps that are only on their way."""

    files: dict[int, bytes] = field(default_factory=dict)
    folders: dict[int, dict[str, int]] = field(default_factory=lambda: {ROOT: {}})
    waiting: list[Step] = field(default_factory=list)

    def take(self, step: Step) -> None:
        if not isinstance(step, Sync):
            self.waiting.append(step)
            return
        done: list[Step] = []
        later: list[Step] = []
        for one in self.waiting:
            (done if step.node is None or step.node in _nodes(one) else later).append(
                one
            )
        (self.files, self.folders) = self._with(done)
        self.waiting = later

    def left(self, kept: Sequence[Step]) -> dict[str, bytes]:
        """The files that are found after a cut, content by path, when of what was on its way this much was kept."""
        files, folders = self._with(kept)
        found: dict[str, bytes] = {}

        def walk(folder: int, place: str) -> None:
            for name, node in folders.get(folder, {}).items():
                if node in folders:
                    walk(node, f"{place}{name}/")
                else:
                    found[place + name] = files.get(node, b"")

        walk(ROOT, "")
        return found

    def _with(
        self,
        steps: Sequence[Step],
    ) -> tuple[dict[int, bytes], dict[int, dict[str, int]]]:
        folders = {folder: dict(names) for folder, names in self.folders.items()}
        grown: dict[int, bytearray] = {}
        for step in steps:
            if isinstance(step, Entry):
                _rename(folders, step)
            elif isinstance(step, Write | Cut):
                content = grown.setdefault(
                    step.node,
                    bytearray(self.files.get(step.node, b"")),
                )
                end = step.size if isinstance(step, Cut) else step.offset
                content.extend(bytes(max(end - len(content), 0)))
                if isinstance(step, Cut):
                    del content[end:]
                else:
                    content[end : end + len(step.data)] = step.data
        return self.files | {
            node: bytes(content) for node, content in grown.items()
        }, folders

    def cuts(
        self,
        rng: random.Random,
        most: int,
    ) -> Iterator[list[Step]]:
        """What a cut at this moment may keep: nothing, everything, and up to `most` ways between."""
        yield []
        if self.waiting:
            yield self.waiting
            for _ in range(min(most, 2 * len(self.waiting))):
                yield rng.choice(
                    (
                        self._early,
                        self._late,
                        self._some,
                        self._some,
                        self._torn,
                        self._torn,
                    )
                )(rng)

    def _early(self, rng: random.Random) -> list[Step]:
        """In order, up to one that is torn."""
        kept = rng.randrange(len(self.waiting))
        torn = _pieces(self.waiting[kept], rng.choice((512, 4096)))
        return [*self.waiting[:kept], *torn[: rng.randint(0, len(torn))]]

    def _late(self, rng: random.Random) -> list[Step]:
        """The later ones overtook the earlier ones."""
        return self.waiting[rng.randrange(len(self.waiting)) :]

    def _some(self, rng: random.Random) -> list[Step]:
        """Some of each file's, as likely as not few or many."""
        share = {
            node: rng.choice((0.0, 0.2, 0.5, 0.8, 1.0))
            for one in self.waiting
            for node in _nodes(one)
        }
        return [one for one in self.waiting if rng.random() < share[_nodes(one)[0]]]

    def _torn(self, rng: random.Random) -> list[Step]:
        """Some sectors of each; those that are lost beyond the end of a file may hold anything."""
        sector = rng.choice((512, 4096))
        share = rng.choice((0.1, 0.5, 0.9))
        is_junk = rng.random() < 0.3
        kept: list[Step] = []
        for one in (piece for step in self.waiting for piece in _pieces(step, sector)):
            if rng.random() < share:
                kept.append(one)
            elif (
                is_junk
                and isinstance(one, Write)
                and one.offset >= len(self.files.get(one.node, b""))
            ):
                kept.append(one._replace(data=rng.randbytes(len(one.data))))
        return kept


def _nodes(step: Step) -> list[int]:
    if not isinstance(step, Entry):
        return [] if step.node is None else [step.node]
    return [step.folder] if step.was is None else [step.folder, step.was[0]]


def _rename(folders: dict[int, dict[str, int]], step: Entry) -> None:
    if step.was is not None:
        source = folders.setdefault(step.was[0], {})
        if source.get(step.was[1]) == step.node:
            del source[step.was[1]]
    names = folders.setdefault(step.folder, {})
    if step.node is None:
        names.pop(step.name, None)
    else:
        names[step.name] = step.node


def _pieces(step: Step, sector: int) -> list[Step]:
    """A write, sector by sector; anything else is whole or not at all."""
    if not isinstance(step, Write):
        return [step]
    ends = [
        *range(
            step.offset - step.offset % sector + sector,
            step.offset + len(step.data),
            sector,
        )
    ]
    bounds = [step.offset, *ends, step.offset + len(step.data)]
    return [
        Write(step.node, start, step.data[start - step.offset : end - step.offset])
        for start, end in pairwise(bounds)
    ]
