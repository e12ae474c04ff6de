"""Findings of the kit: what was demanded of a driver, and whether it holds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """Whether a demand holds."""

    HOLDS = "holds"
    FAILS = "fails"
    NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Finding:
    """One demand on a driver: a stable code, the verdict, one sentence, and what to do if it fails."""

    code: str
    verdict: Verdict
    sentence: str
    advice: str = ""

    @property
    def failed(self) -> bool:
        """Return True if the driver must be changed."""
        return self.verdict is Verdict.FAILS

    @property
    def line(self) -> str:
        """Return the finding as one line for people."""
        words = f"{self.sentence} {self.advice}".rstrip()
        return f"{self.verdict:10} {self.code}: {words}"


def holds(code: str, sentence: str) -> Finding:
    """Return the finding that a demand holds."""
    return Finding(code, Verdict.HOLDS, sentence)


def fails(code: str, sentence: str, advice: str) -> Finding:
    """Return the finding that a demand does not hold."""
    return Finding(code, Verdict.FAILS, sentence, advice)


def not_tried(code: str, why: str) -> Finding:
    """Return the finding that a demand was not tried, and why."""
    return Finding(code, Verdict.NOT_TRIED, why)


def judged(code: str, problems: list[str], otherwise: str, advice: str = "") -> Finding:
    """Return a failure that names all problems, or that the demand holds."""
    if problems:
        return fails(code, f"{'; '.join(problems)}.", advice)
    return holds(code, otherwise)
