"""Findings of a reader in a file: problems, for which the file is refused, and notices, which only warn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from lpirc_score.detections import ProblemList
from lpirc_score.errors import CodedError

INVERTED = "inverted boxes"
NOT_COUNTED = "rows that do not count"
NEW_IMAGE = "new images"
NEW_CATEGORY = "new categories"

_WORDS = {
    NOT_COUNTED: "counts is {value}, since the run was not served the image; left out",
    INVERTED: "{value}; scored unchanged, as in the metric's official program",
    NEW_IMAGE: "image {value} is not in the ground truth; treated as an image without objects",
    NEW_CATEGORY: "category {value} is not in the ground truth; treated as a category without objects",
}


@dataclass
class _Notice:
    line: int
    value: str
    count: int = 0


@dataclass
class Findings:
    """Problems and notices of one file, by the number of the line, or of the `unit` that the file has instead."""

    path: Path
    problems: ProblemList = field(default_factory=ProblemList)
    unit: str = "line"
    _notices: dict[str, _Notice] = field(default_factory=dict)

    def note(
        self,
        kind: str,
        line: int,
        value: str,
    ) -> None:
        """Count a value that is accepted with a warning; the first of each kind is kept."""
        self._notices.setdefault(kind, _Notice(line, value)).count += 1

    def raise_if_any(self, code: str) -> None:
        """Raise `CodedError` if there are problems.

        The sentence states the first problem; the facts are `file`, `problems` and `total`.
        """
        if not self.problems.total:
            return
        line, problem = self.problems.first[0]
        total = self.problems.total
        others = ""
        if total > 1:
            others = f" (and {_more(total)})"
        if self.problems.stops and total >= self.problems.most:
            others = (
                f" (and {total - 1} more problems; the rest of the file was not read)"
            )
        facts = self.problems.as_facts()
        sentence = f"{self.path}: {self.unit} {line}: {problem}{others}"
        raise CodedError(
            code,
            sentence,
            file=str(self.path),
            problems=facts,
            total=total,
        )

    def warnings(self) -> tuple[str, ...]:
        """Return one sentence for each kind of notice, with file, first line, value and count."""
        sentences = []
        for kind, notice in self._notices.items():
            words = _WORDS[kind].format(value=notice.value)
            rows = "row" if notice.count == 1 else "rows"
            sentences.append(
                f"{self.path}: {self.unit} {notice.line}: {words} "
                f"({notice.count} {rows} of this kind)"
            )
        return tuple(sentences)


def raise_if_any_in(files: Sequence[Findings], code: str) -> None:
    """Raise `CodedError` if there are problems in one of several files.

    The sentence states the first problem of the first such file; each entry of `problems` has its own `file`.
    """
    bad = [one for one in files if one.problems.total]
    if not bad:
        return
    first = bad[0]
    line, problem = min(first.problems.first)
    total = sum(one.problems.total for one in bad)
    others = ""
    if total > 1:
        where = f" in {len(bad)} files" if len(bad) > 1 else ""
        others = f" (and {_more(total)}{where})"
    facts = [
        {"file": str(one.path)} | fact
        for one in bad
        for fact in one.problems.as_facts()
    ]
    raise CodedError(
        code,
        f"{first.path}: {first.unit} {line}: {problem}{others}",
        file=str(first.path),
        problems=facts[: first.problems.most],
        total=total,
    )


def _more(total: int) -> str:
    return "1 more problem" if total == 2 else f"{total - 1} more problems"


def refuse(path: Path, reason: str) -> NoReturn:
    """Raise `CodedError` `unreadable-file`."""
    raise CodedError("unreadable-file", f"{path}: {reason}", file=str(path)) from None
