"""One HTML file with everything that was computed: it needs no network and no script, and works on a phone.

Its style stands in it, and its content security policy allows nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from lpirc_score.analysis.analyses import Analyses
from lpirc_score.errors import CodedError
from lpirc_score.files.atomic_write import require_writable, write_atomically
from lpirc_score.files.curve_drawings import Curves
from lpirc_score.files.page_parts import Table, table_element
from lpirc_score.files.page_sections import sections_of
from lpirc_score.files.plots import printable
from lpirc_score.metrics.evaluation_result import Evaluation

SUFFIXES = (".html", ".htm")
_STYLE = Path(__file__).with_name("score_page.css")


@dataclass(frozen=True)
class PageResult:
    """One file scored by one metric: its facts (name and figure), what was computed, and the names of categories.

    `curves` are by category id, empty for a metric without them. `title` is the file, with the metric.
    """

    title: str
    facts: Sequence[tuple[str, str]]
    evaluation: Evaluation
    names: Mapping[int, str]
    analyses: Analyses
    curves: Curves = field(default_factory=dict)


@dataclass(frozen=True)
class ScorePage:
    """What a page shows: its title, the results, and a sentence for each order of two files.

    `part` says which part of the set was scored; it is empty for the whole set.
    """

    title: str
    results: Sequence[PageResult]
    orders: Sequence[str] = ()
    part: str = ""


def check_page_path(path: Path) -> None:
    """Raise `CodedError` `bad-html-file` unless the path ends in one of SUFFIXES and can be written."""
    if path.suffix.lower() not in SUFFIXES:
        sentence = f"{path}: the page needs a file name that ends in .html or .htm"
        raise CodedError("bad-html-file", sentence, file=str(path))
    try:
        require_writable(path)
    except OSError as error:
        sentence = f"{path}: it cannot be written: {error.strerror or error}"
        raise CodedError("bad-html-file", sentence, file=str(path)) from error


def write_score_page(path: Path, page: ScorePage) -> None:
    """Write the page. Raises `CodedError` `html-not-written`."""
    try:
        write_atomically(path, page_text(page).encode())
    except OSError as error:
        sentence = f"{path}: the page cannot be written: {error.strerror or error}"
        raise CodedError("html-not-written", sentence, file=str(path)) from error


def page_text(page: ScorePage) -> str:
    """Return the whole page; the same results give the same bytes."""
    style = _STYLE.read_text(encoding="utf-8")
    digest = hashlib.sha256(style.encode()).digest()
    allowed = f"style-src 'sha256-{base64.b64encode(digest).decode()}'"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    title = escape(printable(page.title))
    of_part = f"<p>{escape(page.part)}</p>" if page.part else ""
    body = [_overview(page)] if len(page.results) > 1 else []
    body += [_result(one) for one in page.results]
    signatures = [one.evaluation.signature for one in page.results]
    signed = "<br>".join(escape(printable(one)) for one in signatures)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<header><h1>{title}</h1>{of_part}</header>\n<main>\n{''.join(body)}</main>\n"
        f"<footer><p>Signatures, which say how each mAP was computed:<br>{signed}</p></footer>\n"
        "</body>\n</html>\n"
    )


def _overview(page: ScorePage) -> str:
    names: dict[str, None] = {}
    for one in page.results:
        names |= dict.fromkeys(name for name, _ in one.facts)
    rows = []
    for one in page.results:
        figures = dict(one.facts)
        rows.append((one.title, *(figures.get(name, "") for name in names)))
    table = Table(("file and metric",), tuple(names), rows)
    sentences = "".join(f"<p>{escape(printable(one))}</p>" for one in page.orders)
    return f"<section><h2>Side by side</h2>{table_element(table, 'Side by side')}{sentences}</section>"


def _result(one: PageResult) -> str:
    facts = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(figure)}</dd></div>"
        for name, figure in one.facts
    )
    sections = sections_of(one.evaluation, one.names, one.analyses, one.curves)
    return (
        f"<section><h2>{escape(printable(one.title))}</h2><dl>{facts}</dl>"
        f'<div class="parts">{"".join(sections)}</div></section>\n'
    )
