"""Reads texts, lists and maps of YAML, as far as the files have them that name classes.

Taken are lists and maps of one level with dashes or `KEY: VALUE`, lists and maps in brackets over any number of lines
(so also JSON), comments, and texts that are plain or quoted, with all escapes. A plain text stays as it is written,
where YAML itself would make a number of 5 and a truth value of no. All else raises ValueError: anchors, aliases, tags,
texts over several lines, deeper levels of lines.
Source: https://yaml.org/spec/1.2.2/.
"""

from __future__ import annotations

import re

from lpirc_testsets.values import shown

Pairs = list[tuple[str, "Value"]]
Value = str | list["Value"] | dict[int, tuple[str, "Value"]]
"""A text, a list, or a map: its pairs by place, since a key may be there twice."""

_SPACE = re.compile(r"(?:\s+|(?<!\S)#[^\n]*)*")
_QUOTED = re.compile(r"""'((?:[^'\n]|'')*)'|"((?:[^"\\\n]|\\.)*)\"""")
_PLAIN = re.compile(
    r"""(?:[^\s,\[\]{}\#&*!|>%@`'"?:-]|[?:-](?=[^\s,\[\]{}]))"""
    r"""(?:[^\s,\[\]{}:]|:(?=[^\s,\[\]{}])|[ \t]+(?=[^\s,\[\]{}:\#])|[ \t]+(?=:[^\s,\[\]{}]))*"""
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)")
_CHARACTERS = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_NULLS = ("~", "null", "Null", "NULL")
_REFUSED = {
    "&": "anchors (&)",
    "*": "aliases (*)",
    "!": "tags (!)",
    "|": "block texts (|)",
    ">": "block texts (>)",
}
_LINE_OF_MAP = re.compile(
    r"""('(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|.*?)\s*:(?:\s+|$)(.*)"""
)


class _Brackets:
    """Reads one value in brackets; `at` is where reading goes on."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def value(self) -> Value:
        self._skip()
        start = self.text[self.at : self.at + 1]
        if start == "[":
            return self._list()
        if start == "{":
            return self._map()
        return self._text()

    def _list(self) -> Value:
        items: list[Value] = []
        while not self._ends("]", not items):
            items.append(self.value())
        return items

    def _map(self) -> Value:
        pairs: dict[int, tuple[str, Value]] = {}
        while not self._ends("}", not pairs):
            self._skip()
            key = self._text()
            self._skip()
            if not self.text.startswith(":", self.at):
                raise ValueError(f"{shown(key)} has no value after a colon and a blank")
            self.at += 1
            pairs[len(pairs)] = key, self.value()
        return pairs

    def _ends(self, closing: str, is_first: bool) -> bool:
        """Go to the next item; return True if there is none. The place is at the opening bracket before the first."""
        self._skip()
        if is_first or self.text.startswith(",", self.at):
            self.at += 1
        elif not self.text.startswith(closing, self.at):
            self._refuse(closing)
        self._skip()
        if self.text.startswith(closing, self.at):
            self.at += 1
            return True
        if self.at == len(self.text):
            self._refuse(closing)
        return False

    def _text(self) -> str:
        if found := _QUOTED.match(self.text, self.at):
            self.at = found.end()
            return _unquoted(found)
        found = _PLAIN.match(self.text, self.at)
        if found is None:
            _refuse_start(self.text[self.at :])
            raise ValueError(f"{shown(self._rest())} cannot be read as names")
        self.at = found.end()
        return _plain(found[0])

    def _skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _refuse(self, closing: str) -> None:
        if self.at == len(self.text):
            raise ValueError(f"the list has no {closing!r} at its end")
        raise ValueError(
            f"{shown(self._rest())} cannot be read as names: a comma or {closing!r} is missing before it"
        )

    def _rest(self) -> str:
        return self.text[self.at :].partition("\n")[0].strip()


def in_brackets(text: str, at: int) -> tuple[Value, int]:
    """Return the list or map that begins at a place, and where it ends. Raises ValueError."""
    reader = _Brackets(text, at)
    try:
        return reader.value(), reader.at
    except RecursionError:
        raise ValueError("its brackets are nested too deep") from None


def of_lines(text: str) -> Value:
    """Return the list or map of one level that a text begins with. Raises ValueError."""
    items: list[Value] = []
    pairs: dict[int, tuple[str, Value]] = {}
    first_indent = None
    for line in text.splitlines():
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip(" "))
        is_dash = content == "-" or content.startswith(("- ", "-\t"))
        if indent == 0 and not is_dash and not line.startswith("\t"):
            break
        first_indent = indent if first_indent is None else first_indent
        if indent != first_indent or (pairs if is_dash else items):
            raise ValueError(f"{shown(content)} does not continue the list before it")
        if is_dash:
            items.append(_of_line(content[1:]))
            continue
        found = _LINE_OF_MAP.fullmatch(content)
        if found is None:
            raise ValueError(f"{shown(content)} is not a name, or NUMBER: NAME")
        pairs[len(pairs)] = _of_line(found[1]), _of_line(found[2])
    return pairs or items


def _of_line(text: str) -> str:
    """Return the text that fills the rest of a line, but for a comment."""
    value = text.strip()
    if found := _QUOTED.match(value):
        after = value[found.end() :]
        if after.strip() and not re.match(r"\s+#", after):
            raise ValueError(f"{shown(value)} is not a text in quotes")
        return _unquoted(found)
    plain = re.split(r"(?:^|\s)#", value, maxsplit=1)[0].strip()
    _refuse_start(plain)
    if plain[:1] in ("", *"[]{}'\"%@`,") or re.match(r"[-?:](\s|$)", plain):
        raise ValueError(f"{shown(plain)} is not a name")
    if re.search(r":(\s|$)", plain):
        raise ValueError(f"{shown(plain)} is not a name; quote what has a colon")
    return _plain(plain)


def _plain(text: str) -> str:
    if text in _NULLS:
        raise ValueError(f"{text} is nothing to YAML; quote it if it is a name")
    return text


def _refuse_start(text: str) -> None:
    what = _REFUSED.get(text[:1])
    if what is not None:
        raise ValueError(f"{what} are not read; write the names themselves")


def _unquoted(found: re.Match[str]) -> str:
    if found[1] is not None:
        return found[1].replace("''", "'")
    text = _ESCAPE.sub(_character, found[2])
    try:  # JSON writes some characters as two halves
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        return text


def _character(found: re.Match[str]) -> str:
    name = found[1]
    try:
        return _CHARACTERS[name] if name in _CHARACTERS else chr(int(name[1:], 16))
    except (ValueError, OverflowError):
        raise ValueError(f"{shown(found[0])} is no escape of YAML") from None
