"""The loads that a refused one may have been meant as. Pure; the parser of loads says which of them it takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

EXAMPLES: Final = {
    "constant": "constant:36W",
    "steps": "steps:2W@5s,9W@10s",
    "noise": "noise:36W,sd=0.5W,seed=1",
    "csv": "csv:FILE",
    "cpu": "cpu:PID,idle=2W,busy=9W",
    "while": "while:FILE,idle=2W,busy=9W",
}
FORMS: Final = (
    f"Loads are {', '.join(EXAMPLES.values())}; all but "
    "csv take ,volts=120V,pf=1,crest=1.414."
)
STEP_S: Final = 5
"""Length of a step whose end is not given, in seconds."""
_WRITTEN: Final = re.compile(r"(?:--)?(?:load[=:\s]+)?(?:sim:)?([A-Za-z]*)[\s:=,]*(.*)")


def meant_loads(spec: str) -> Iterator[str]:
    """Yield what a load may have been meant as, the likeliest first; never the load itself."""
    written = _WRITTEN.fullmatch(spec.strip())
    if written is None:
        return
    word, rest = written.groups()
    rest = rest.replace(";", ",")
    if not word:
        word = "steps" if "@" in rest else "constant"
    for kind in get_close_matches(word.lower(), EXAMPLES, n=1):
        plain = f"{kind}:{rest}"
        if plain != spec:
            yield plain
        if kind == "steps":
            yield from (f"steps:{steps}" for steps in _meant_steps(rest))


def _meant_steps(rest: str) -> Iterator[str]:
    """Yield steps with a point for the comma of "2,5W@5s", and with an end of each step that has none."""
    yield re.sub(r"(?<![\d.@=])(\d+),(\d+[Ww]?@)", r"\1.\2", rest)
    words = rest.split(",")
    for place, word in enumerate(words):
        if word.strip() and "@" not in word and "=" not in word:
            words[place] = f"{word}@{STEP_S * (place + 1)}s"
    yield ",".join(words)


def not_taken(rest: str, word: str, first: str, own: dict[str, str]) -> str:
    """Say what a word may have been meant as: the digits after a decimal sign, or an option without its name."""
    parts = rest.split(",")
    before = parts[parts.index(word) - 1]
    meant = []
    if (first == "power" or "=" in before) and word[:1].isdecimal():
        number = before.rstrip("WwVv")
        if number[-1:].isdecimal() and "." not in number:
            meant.append(f"{number}.{word} (the decimal sign is a point)")
    meant += [f"{name}={word}" for name, usual in own.items() if usual.endswith("W")]
    perhaps = f"; did you mean {' or '.join(meant)}?" if meant else ""
    return f"{word!r} in {rest!r} is not known{perhaps}"
