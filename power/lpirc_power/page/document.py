"""A whole page as one HTML file: its style stands in it, and its content security policy allows nothing else."""

from __future__ import annotations

import base64
import functools
import hashlib
from html import escape
from importlib import resources


@functools.cache
def style_sheet(*names: str) -> str:
    """Return style sheets of this room as one."""
    folder = resources.files("lpirc_power.page")
    return "".join((folder / name).read_text(encoding="utf-8") for name in names)


def document(title: str, lead: str, body: str, footer: str, head: str = "") -> str:
    """Return the whole page: `title` as text; `lead`, `body`, `footer` and further tags of the `head` as HTML."""
    style = style_sheet("page.css", "chart.css")
    shown = escape(title)
    policy = content_security_policy(style)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{head}<title>{shown}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<header><h1>{shown}</h1>{lead}</header>\n<main>\n{body}</main>\n"
        f"<footer>{footer}</footer>\n</body>\n</html>\n"
    )


def content_security_policy(style: str) -> str:
    """Return the policy of a page that needs nothing but this style sheet."""
    digest = hashlib.sha256(style.encode()).digest()
    allowed = base64.b64encode(digest).decode()
    return f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
