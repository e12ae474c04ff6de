"""Finds the ids of images and categories by the names that a file gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from lpirc_score.detections import shown
from lpirc_score.detections.files.findings import NEW_CATEGORY, NEW_IMAGE, Findings
from lpirc_score.metrics.metric_kinds import Tolerance
from lpirc_testsets.ground_truth import GroundTruth
from lpirc_testsets.values import LARGEST_ID, text_number


@dataclass
class Finder:
    """Finds ids by text or number; `new` are the accepted ids that the ground truth does not have."""

    what: str
    ids: Mapping[str, int]
    known: frozenset[int]
    takes_new: bool
    kind: str
    findings: Findings
    new: set[int] = field(default_factory=set)

    def by_text(
        self,
        text: str,
        line: int,
    ) -> int:
        """Return the id that a text means. Raises ValueError if there is none."""
        found = self.ids.get(text)
        if found is not None:
            return found
        with suppress(ValueError):
            if (number := text_number(text)).is_integer():
                found = int(number)
        if found is None:
            raise ValueError(f"{self.what} {shown(text)} is unknown")
        return self._checked(found, f"{self.what} {shown(text)}", line)

    def by_number(
        self,
        value: object,
        line: int,
    ) -> int:
        """Return a JSON number as an id. Raises ValueError if the id is not known."""
        name = f"{self.what}_id {shown(value)}"
        if type(value) is not int:
            raise ValueError(f"{name} is unknown")
        return self._checked(value, name, line)

    def _checked(
        self,
        id_: int,
        name: str,
        line: int,
    ) -> int:
        if id_ not in self.known:
            if not self.takes_new or abs(id_) > LARGEST_ID:
                raise ValueError(f"{name} is unknown")
            self.findings.note(self.kind, line, str(id_))
            self.new.add(id_)
        return id_


@dataclass(frozen=True)
class Finders:
    """The finder of images and the finder of categories."""

    images: Finder
    categories: Finder

    @classmethod
    def of(
        cls,
        ground_truth: GroundTruth,
        tolerance: Tolerance,
        findings: Findings,
    ) -> Finders:
        """Make finders for a ground truth; ids that `tolerance` accepts beyond it are noted in the findings."""
        image_ids = ground_truth.image_ids.tolist()
        category_ids = ground_truth.category_ids.tolist()
        images = _names(image_ids, ground_truth.image_names)
        stems: dict[str, int | None] = {}
        for name, id_ in images.items():
            stems[_stem(name)] = id_ if _stem(name) not in stems else None
        unique = {stem: id_ for stem, id_ in stems.items() if id_ is not None}
        texts = unique | images | {str(id_): id_ for id_ in image_ids}
        names = _names(category_ids, ground_truth.category_names)
        names |= {str(id_): id_ for id_ in category_ids}
        known_images = frozenset(image_ids)
        known_categories = frozenset(category_ids)
        return cls(
            Finder(
                "image",
                texts,
                known_images,
                tolerance.new_images,
                NEW_IMAGE,
                findings,
            ),
            Finder(
                "category",
                names,
                known_categories,
                tolerance.new_categories,
                NEW_CATEGORY,
                findings,
            ),
        )

    def report_to(self, findings: Findings) -> None:
        """Note what is found from now on in the findings of another file."""
        self.images.findings = findings
        self.categories.findings = findings

    def completed(self, ground_truth: GroundTruth) -> GroundTruth:
        """Return the ground truth with the new images and categories added."""
        images = _merged(
            ground_truth.image_ids,
            ground_truth.image_names,
            dict.fromkeys(self.images.new, ""),
        )
        new_categories = {id_: str(id_) for id_ in self.categories.new}
        categories = _merged(
            ground_truth.category_ids, ground_truth.category_names, new_categories
        )
        return replace(
            ground_truth,
            image_ids=np.array(list(images), np.int64),
            image_names=tuple(images.values()),
            category_ids=np.array(list(categories), np.int64),
            category_names=tuple(categories.values()),
        )


def has_misleading_names(ground_truth: GroundTruth) -> bool:
    """Return True if a number in a file might be a name instead of an id.

    An example is an image with id 3 and name 000005.jpg: 000005 is its name, and only reading it as text keeps it apart
    from id 5.
    """
    ids = ground_truth.image_ids.tolist()
    for id_, name in zip(ids, ground_truth.image_names, strict=True):
        stem = _stem(name)
        is_number = stem.isascii() and stem.isdigit()
        if is_number and (stem.lstrip("0") or "0") != str(id_):
            return True
    return False


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name


def _names(ids: Iterable[int], names: Iterable[str]) -> dict[str, int]:
    return {name: id_ for id_, name in zip(ids, names, strict=True) if name}


def _merged(
    ids: NDArray[np.int64],
    names: Iterable[str],
    new: Mapping[int, str],
) -> dict[int, str]:
    known = dict(zip(ids.tolist(), names, strict=True))
    return dict(sorted((known | dict(new)).items()))
