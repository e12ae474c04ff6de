"""A whole page as one HTML file: its style stands in it, and its content security policy allows nothing else."""

from __future__ import annotations

import base64
import functools
import hashlib
from html import escape
from importlib import resources


@functools.cache
def page_style() -> str:
    """Return the style sheet of every page."""
    return style_sheet("page.css") + style_sheet("chart.css")


@functools.cache
def style_sheet(name: str) -> str:
    """Return a style sheet of this room."""
    folder = resources.files("lpirc_power.page")
    return (folder / name).read_text(encoding="utf-8")


def document(title: str, lead: str, body: str, footer: str, *, script: str = "") -> str:
    """Return the whole page: `title` as text; `lead`, `body` and `footer` as HTML; `script` for a live page alone."""
    style = page_style()
    shown = escape(title)
    policy = content_security_policy(style, script)
    running = f"<script>{script}</script>" if script else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{shown}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<header><h1>{shown}</h1>{lead}</header>\n<main>\n{body}</main>\n"
        f"<footer>{footer}</footer>\n{running}</body>\n</html>\n"
    )


def content_security_policy(style: str, script: str = "") -> str:
    """Return the policy of a page that needs nothing but this style sheet, and this script if there is one."""
    parts = ["default-src 'none'", f"style-src '{_digest(style)}'"]
    if script:
        parts += [f"script-src '{_digest(script)}'", "connect-src 'self'"]
    return "; ".join([*parts, "base-uri 'none'", "form-action 'none'"])


def _digest(text: str) -> str:
    found = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(found).decode()}"
