"""Renders a Markdown document as part of a page: no markup of its own, no styles, anchors as GitHub makes them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

Address = Callable[[str], str | None]
NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")
CONTENTS = "h2"
COMMENT = re.compile(r"^<!--.*?-->\n", re.DOTALL | re.MULTILINE)
"""For tests and tools: no part of the text."""
TABLE = re.compile("<table>")
REGION = '<div class="scroll" tabindex="0" role="region" aria-label="Table {}"><table>'
EMPTY_HEADING = re.compile(r"<th[^>]*></th>")
EMPTY_HEAD = re.compile(r"<thead>\s*<tr>\s*(<th[^>]*></th>\s*)*</tr>\s*</thead>")


@dataclass(frozen=True)
class MarkdownPage:
    """A rendered document. `contents` are anchor and text of each section."""

    title: str
    html: str
    contents: Sequence[tuple[str, str]]


def render(text: str, address: Address) -> MarkdownPage:
    """Render a document. `address` returns where a link leads, or None: then its text stays, and the link goes."""
    # Imported here because most commands need no Markdown.
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = reader.parse(COMMENT.sub("", text))
    headings = _headings(tokens)
    for token in tokens:
        _align_by_class(token)
        token.children = _led(token.children or [], address)
    html = reader.renderer.render(tokens, reader.options, {})
    titles = [shown for tag, _, shown in headings if tag == "h1"]
    contents = [(anchor, shown) for tag, anchor, shown in headings if tag == CONTENTS]
    return MarkdownPage(titles[0] if titles else "", _readable(html), contents)


def _headings(tokens: Sequence[Token]) -> list[tuple[str, str, str]]:
    """Give each heading its anchor; return tag, anchor and text of each."""
    found = []
    used: Counter[str] = Counter()
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open":
            continue
        parts = inline.children or []
        text = "".join(one.content for one in parts if one.type != "image")
        anchor = NOT_IN_ANCHORS.sub("", text.lower()).replace(" ", "-")
        used[anchor] += 1
        if used[anchor] > 1:
            anchor = f"{anchor}-{used[anchor] - 1}"
        opening.attrSet("id", anchor)
        found.append((opening.tag, anchor, text))
    return found


def _align_by_class(token: Token) -> None:
    """Replace the alignment of a cell, a style that the content security policy forbids, by a class."""
    style = token.attrs.pop("style", None)
    if style == "text-align:right":
        token.attrSet("class", "figure")


def _led(parts: Sequence[Token], address: Address) -> list[Token]:
    """Return the parts of a line with links and pictures as they are on the server."""
    kept = []
    open_links: list[bool] = []
    for part in parts:
        if part.type == "link_open":
            there = address(str(part.attrGet("href")))
            open_links.append(there is not None)
            if there is None:
                continue
            part.attrSet("href", there)
        elif part.type == "link_close" and not open_links.pop():
            continue
        elif part.type == "image":
            part.attrSet("src", address(str(part.attrGet("src"))) or "")
        kept.append(part)
    return kept


def _readable(html: str) -> str:
    """Let wide tables and blocks of code scroll by themselves, also by keyboard; an empty heading is no heading."""
    html = EMPTY_HEAD.sub("", html)
    html = EMPTY_HEADING.sub("<td></td>", html)
    numbers = count(1)
    html = TABLE.sub(lambda _: REGION.format(next(numbers)), html)
    html = html.replace("</table>", "</table></div>")
    return html.replace("<pre>", '<pre tabindex="0">')
