"""Finds the ids of images and categories by the names that a file gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from lpirc_score.detections import shown
from lpirc_score.detections.files.findings import NEW_CATEGORY, NEW_IMAGE, Findings
from lpirc_score.detections.row_checks import ids_in_words, shift_in_words
from lpirc_score.metrics.metric_kinds import Tolerance
from lpirc_testsets.close_names import closest
from lpirc_testsets.ground_truth import GroundTruth
from lpirc_testsets.values import LARGEST_ID, text_number

_OF_NUMBERS = frozenset("0123456789+-. ")


SHOWN_NAMES = 10


@dataclass(frozen=True)
class Names:
    """What the ground truth calls its images or categories.

    `of_ids` has the name of each id, "" without one, and `named` the ids of each text that names something.
    """

    of_ids: Mapping[int, str]
    named: Mapping[str, list[int]]

    @classmethod
    def of(
        cls,
        ids: NDArray[np.int64],
        names: Iterable[str],
        *,
        stems: bool = False,
    ) -> Names:
        """Collect names; with `stems` also what is left of them without a suffix, unless that is a name itself."""
        of_ids = dict(zip(ids.tolist(), names, strict=True))
        whole = _ids_by_text((name, id_) for id_, name in of_ids.items())
        if not stems:
            return cls(of_ids, whole)
        short = _ids_by_text((_stem(name), id_) for id_, name in of_ids.items())
        return cls(of_ids, short | whole)

    @cached_property
    def _by_sight(self) -> dict[str, str]:
        return {_at_sight(name): name for name in self.of_ids.values() if name}

    def hint(self, text: str) -> str:
        """Return what to add to a sentence about an unknown text that is nearly a name; "" if it is not."""
        name = self._by_sight.get(_at_sight(text))
        if name is None:
            return ""
        folders = ""
        if "/" in f"{name}{text}":
            folders = ", and folders are part of a name: write them alike, or name folders of the same level"
        return f"; the ground truth has {shown(name)}{folders}"

    def quoted(self, ids: Iterable[int]) -> str:
        """Return the names of some ids for a sentence, at most three."""
        first = islice(ids, 3)
        return ", ".join(f"{shown(self.of_ids[id_])} (id {id_})" for id_ in first)


@dataclass
class Finder:
    """Finds ids by text or number; `new` are the accepted ids that the ground truth does not have."""

    what: str
    names: Names
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
        """Return the id that a text means: an id, a name, or either with `id:` or `name:` before it.

        Raises ValueError if there is none, and if the text is the id of one and the name of another.
        """
        named = self.names.named.get(text, ())
        if len(named) == 1 and not text.lstrip("-").isdigit():
            return named[0]
        number = _whole_number(text)
        if number is not None:
            plain = text if named else str(number)  # 5.0 might be the name 5
            self._refuse_both(plain, number)
        if named:
            return self.by_name(text, line)
        if text.startswith("name:"):
            return self.by_name(text.removeprefix("name:"), line)
        return self.by_id(text.removeprefix("id:"), line)

    def by_name(
        self,
        text: str,
        line: int,
    ) -> int:
        """Return the id of a name; a number is an id only where the ground truth has no name for it.

        Raises ValueError if there is none, and if several have the name.
        """
        named = self.names.named.get(text, ())
        if len(named) > 1:
            self._refuse_shared(text, named)
        if named:
            return named[0]
        number = _whole_number(text)
        if number is not None and self.names.of_ids.get(number):
            raise ValueError(f"no {self.what} has the name {shown(text)}")
        return self.by_id(text, line)

    def by_id(
        self,
        text: str,
        line: int,
    ) -> int:
        """Return the id that a text is. Raises ValueError if it is not known."""
        name = f"{self.what} {shown(text)}"
        number = _whole_number(text)
        if number is None:
            hint = self.names.hint(text) or self._meant(text)
            raise ValueError(f"{name} is unknown{hint}")
        return self._checked(number, name, line)

    def _meant(self, text: str) -> str:
        """Return what to add to a sentence about an unknown category: the closest name, or some of the names."""
        if self.kind is not NEW_CATEGORY:  # the names of images are all alike
            return self._ids_in_words
        names = sorted(self.names.named)
        if meant := closest(text, names):
            return f"; did you mean {meant!r}?"
        more = ", ..." if len(names) > SHOWN_NAMES else ""
        return f"; the categories are {', '.join(names[:SHOWN_NAMES])}{more}"

    def by_value(
        self,
        value: object,
        line: int,
    ) -> int:
        """Return what a value in JSON means: a whole number is an id, a text what `by_text` says.

        Raises ValueError as `by_text`.
        """
        if isinstance(value, str):
            return self.by_text(value, line)
        name = f"{self.what}_id {shown(value)}"
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not int:
            raise ValueError(f"{name} is unknown")
        return self._checked(value, name, line)

    @cached_property
    def _ascending(self) -> NDArray[np.int64]:
        return np.array(sorted(self.known), np.int64)

    @cached_property
    def _ids_in_words(self) -> str:
        """Return what to add to a sentence about an unknown id: the ids, and of images also the names."""
        words = ids_in_words(self._ascending)
        names = sorted(filter(None, self.names.of_ids.values()))
        if self.kind is NEW_CATEGORY or not names:
            return words
        ends = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        return f"{words}, the names {ends}"

    def _checked(
        self,
        id_: int,
        name: str,
        line: int,
    ) -> int:
        if id_ not in self.known:
            if not self.takes_new or abs(id_) > LARGEST_ID:
                shift = shift_in_words(id_, self._ascending)
                raise ValueError(f"{name} is unknown{self._ids_in_words}{shift}")
            self.findings.note(self.kind, line, str(id_))
            self.new.add(id_)
        return id_

    def _refuse_both(self, text: str, number: int) -> None:
        """Raise ValueError if a text is an id and names another one. 000005 is no id."""
        others = [id_ for id_ in self.names.named.get(text, ()) if id_ != number]
        if others and number in self.known and text == str(number):
            raise ValueError(
                f"{self.what} {shown(text)} is ambiguous: it is an id, and it names {self.names.quoted(others)}; "
                f"write id:{text} or name:{text}"
            )

    def _refuse_shared(self, text: str, named: Sequence[int]) -> NoReturn:
        remedy = "give the id"
        if all(self.names.of_ids[id_] != text for id_ in named):
            remedy = "give the whole name"
        raise ValueError(
            f"{self.what} {shown(text)} is ambiguous: it names {self.names.quoted(named)}; {remedy}"
        )


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
        image_ids = ground_truth.image_ids
        category_ids = ground_truth.category_ids
        return cls(
            Finder(
                "image",
                Names.of(image_ids, ground_truth.image_names, stems=True),
                frozenset(image_ids.tolist()),
                tolerance.new_images,
                NEW_IMAGE,
                findings,
            ),
            Finder(
                "category",
                Names.of(category_ids, ground_truth.category_names),
                frozenset(category_ids.tolist()),
                tolerance.new_categories,
                NEW_CATEGORY,
                findings,
            ),
        )

    def of_ids(self) -> Finders:
        """Return finders that take every text as an id and share the rest with these."""
        nameless = Names({}, {})
        return Finders(
            replace(self.images, names=nameless),
            replace(self.categories, names=nameless),
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
    """Return True if a number in a file that is an id might be a name instead.

    An example is an image with id 3 and name 000005.jpg in a set with an image 5: 000005 is a name, and only reading it
    as text keeps it apart from id 5.
    """
    truth = ground_truth
    return _are_misleading(
        truth.image_ids, map(_stem, truth.image_names)
    ) or _are_misleading(truth.category_ids, truth.category_names)


def _are_misleading(ids: NDArray[np.int64], names: Iterable[str]) -> bool:
    known = frozenset(ids.tolist())
    for id_, name in zip(ids.tolist(), names, strict=True):
        number = _whole_number(name) if name[:1] in _OF_NUMBERS else None
        if number is not None and number != id_ and number in known:
            return True
    return False


def _whole_number(text: str) -> int | None:
    with suppress(ValueError):
        if (number := text_number(text)).is_integer():
            return int(number)
    return None


def _at_sight(name: str) -> str:
    """Return a name without what is easily mistaken: folders, suffix, capitals, blanks and underlines."""
    end = _stem(name.replace("\\", "/").rpartition("/")[2])
    return end.casefold().replace("_", "").replace(" ", "")


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name


def _ids_by_text(pairs: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Return the ids of each text that is not empty."""
    found: dict[str, list[int]] = {}
    for text, id_ in pairs:
        if text:
            found.setdefault(text, []).append(id_)
    return found


def _merged(
    ids: NDArray[np.int64],
    names: Iterable[str],
    new: Mapping[int, str],
) -> dict[int, str]:
    known = dict(zip(ids.tolist(), names, strict=True))
    return dict(sorted((known | dict(new)).items()))
