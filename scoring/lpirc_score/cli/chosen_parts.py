"""Parts of a set as the command line names them: lists of images and categories, in files and in options."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lpirc_score.analysis.selection import Part, leave_out, pool_categories, select
from lpirc_score.cli.analysis_options import Asked
from lpirc_score.detections.files.findings import Findings
from lpirc_score.detections.files.names import Finder, Finders
from lpirc_score.detections.files.text import text_of
from lpirc_score.errors import CodedError
from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.metric_kinds import STRICT
from lpirc_testsets.ground_truth import GroundTruth
from lpirc_testsets.presence import is_file, is_there

Pairs = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Chosen:
    """The images and categories to score (None: all), whether categories are one, and the slices by name.

    The set has `of_images` images and `of_categories` categories.
    """

    images: tuple[int, ...] | None
    categories: tuple[int, ...] | None
    is_pooled: bool
    slices: dict[str, tuple[int, ...]]
    of_images: int
    of_categories: int

    @property
    def is_everything(self) -> bool:
        """Return True if the whole set is scored as it is."""
        return self.images is None and self.categories is None and not self.is_pooled

    def of(
        self, ground_truth: GroundTruth, detections: Detections, banned: Pairs
    ) -> Part:
        """Return what is to be scored, without the objects and detections of the `banned` pairs."""
        part = leave_out(ground_truth, detections, banned)
        part = select(*part, images=self.images, categories=self.categories)
        if self.is_pooled:
            part = pool_categories(*part)
        return part

    def digest(self, whole: str, banned: Pairs) -> str:
        """Return the digest of the chosen part of a ground truth, from that of the whole."""
        if self.is_everything:
            return whole
        words = (whole, self.images, self.categories, self.is_pooled, sorted(banned))
        return hashlib.sha256(repr(words).encode()).hexdigest()

    @property
    def sentence(self) -> str:
        """Return a sentence that says what of the set is scored; it is empty for the whole set."""
        parts = []
        if self.images is not None:
            parts.append(f"{len(self.images)} of {self.of_images} images")
        if self.categories is not None:
            parts.append(f"{len(self.categories)} of {self.of_categories} categories")
        sentence = f"A part of the set: {', '.join(parts)}." if parts else ""
        if self.is_pooled:
            sentence += " All categories count as one."
        return sentence.strip()

    def as_document(self) -> dict[str, object]:
        """Return what was chosen, in JSON's terms."""
        return {
            "images": None if self.images is None else list(self.images),
            "categories": None if self.categories is None else list(self.categories),
            "pooled": self.is_pooled,
        }


def chosen_of(asked: Asked, ground_truth: GroundTruth) -> Chosen:
    """Return the parts that the options name.

    Raises `CodedError` `bad-list` for a name or an id that the ground truth does not have, an empty list, and a slice
    that is not NAME=FILE, is named twice or has no image; `unreadable-file` for a file that cannot be read.
    """
    findings = Findings(Path())
    finders = Finders.of(ground_truth, STRICT, findings)
    images = None
    if asked.img_ids is not None:
        images = _images(asked.img_ids, finders.images)
    categories = None
    if asked.cat_ids is not None:
        find = finders.categories.by_text
        categories = _ids("--cat-ids", _listed(asked.cat_ids), find)
    slices: dict[str, tuple[int, ...]] = {}
    for text in asked.slices:
        name, _, file = text.partition("=")
        if not name or not file:
            sentence = f"--slice {text}: a slice is NAME=FILE, such as night=night.txt"
            raise CodedError("bad-list", sentence)
        if name in slices:
            raise CodedError("bad-list", f"--slice {text}: {name} is named twice")
        if not is_there(Path(file)):
            sentence = f"--slice {text}: there is no file {file}; it lists the images of {name}, one a line"
            raise CodedError("bad-list", sentence)
        of_file = _of_file(Path(file), finders.images)
        slices[name] = _within(name, of_file, images)
    return Chosen(
        images,
        categories,
        asked.no_cats,
        slices,
        len(ground_truth.image_ids),
        len(ground_truth.category_ids),
    )


def _within(
    name: str,
    ids: tuple[int, ...],
    images: tuple[int, ...] | None,
) -> tuple[int, ...]:
    """Return the ids of a slice that are scored at all."""
    if images is None:
        return ids
    known = set(images)
    kept = tuple(id_ for id_ in ids if id_ in known)
    if not kept:
        sentence = f"--slice {name}: none of its images is among those of --img-ids"
        raise CodedError("bad-list", sentence)
    return kept


def _images(text: str, finder: Finder) -> tuple[int, ...]:
    if is_file(Path(text)):
        return _of_file(Path(text), finder)
    if "," not in text:
        try:
            return (finder.by_text(text.strip(), 1),)
        except ValueError as error:
            sentence = f"--img-ids: {text} is no file, and {error}{_no_range(text)}"
            raise CodedError("bad-list", sentence) from None
    return _ids("--img-ids", _listed(text), finder.by_text)


def _of_file(path: Path, finder: Finder) -> tuple[int, ...]:
    def lines() -> Iterator[tuple[int, str]]:
        for number, line in enumerate(text_of(path).splitlines(), start=1):
            cell = line.strip().strip('"')
            is_header = number == 1 and cell == "image"
            if cell and not is_header:
                yield number, cell

    return _ids(str(path), lines(), finder.by_text)


def _listed(text: str) -> Iterator[tuple[int, str]]:
    for number, part in enumerate(text.split(","), start=1):
        if part.strip():
            yield number, part.strip()


def _ids(
    source: str,
    listed: Iterator[tuple[int, str]],
    find: Callable[[str, int], int],
) -> tuple[int, ...]:
    """Return the ids, each once, in their order. Raises as `chosen_of`."""
    found: dict[int, None] = {}
    for number, text in listed:
        try:
            found[find(text, number)] = None
        except ValueError as error:
            place = f"{source}: line {number}"
            if source.startswith("--"):
                place = f"{source}: entry {number}"
            sentence = f"{place}: {error}{_no_range(text)}"
            raise CodedError("bad-list", sentence) from None
    if not found:
        raise CodedError("bad-list", f"{source}: the list is empty")
    return tuple(found)


def _no_range(text: str) -> str:
    """Return what to add to a sentence about an unknown text that looks like a range of ids; "" for any other."""
    found = re.fullmatch(r"(\d{1,9})\s*(-|:|\.\.+|\u2013)\s*(\d{1,9})", text.strip())
    if found is None:
        return ""
    first = int(found[1])
    last = int(found[3])
    some = ",".join(map(str, range(first, min(last, first + 2) + 1)))
    more = ",..." if last > first + 2 else ""
    return f"; ranges are not read: name each id, {some}{more}" if last > first else ""
