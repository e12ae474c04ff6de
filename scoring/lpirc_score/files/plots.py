"""Writes drawings to files: text is drawn literally, and the same picture gives the same bytes."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from lpirc_score.errors import CodedError
from lpirc_score.files.atomic_write import require_writable, write_atomically


def require_drawable(
    path: Path,
    suffixes: Sequence[str],
    code: str,
) -> None:
    """Raise CodedError `code` unless the path ends in one of the suffixes and can be written."""
    if path.suffix.lower() not in suffixes:
        *most, last = suffixes
        sentence = f"{path}: the plot needs a file name that ends in {', '.join(most)} or {last}"
        raise CodedError(code, sentence, file=str(path))
    try:
        require_writable(path)
    except OSError as error:
        sentence = f"{path}: it cannot be written: {error.strerror or error}"
        raise CodedError(code, sentence, file=str(path)) from error


def write_drawing(
    path: Path,
    content: bytes,
    what: str,
) -> None:
    """Write a drawing of `what`, such as "curves" or "plot".

    Raises CodedError with a code such as `curves-not-written`.
    """
    try:
        write_atomically(path, content)
    except OSError as error:
        sentence = f"{path}: the {what} cannot be written: {error.strerror or error}"
        raise CodedError(f"{what}-not-written", sentence, file=str(path)) from error


def drawn(
    form: str,
    draw: Callable[[Any], None],
    size: tuple[float, float] = (8, 5),
    fonttype: str = "path",
) -> bytes:
    """Return the figure that `draw` fills, as the bytes of a "png" or an "svg"; `size` is in inches.

    In an SVG, text becomes outlines, or with `fonttype` "none" stays text. Raises CodedError `no-matplotlib`.
    """
    try:
        from matplotlib import rc_context  # takes a second, and only drawings need it
        from matplotlib.figure import Figure
    except ImportError:
        raise CodedError(
            "no-matplotlib",
            "Drawing needs matplotlib, which is not installed: pip install matplotlib",
        ) from None
    drawing = io.BytesIO()
    with (
        rc_context({"svg.hashsalt": "referee", "svg.fonttype": fonttype}),
        warnings.catch_warnings(),
    ):
        missing = "Glyph .* missing"
        warnings.filterwarnings("ignore", message=missing, category=UserWarning)
        figure = Figure(figsize=size, dpi=150, layout="constrained")
        draw(figure)
        metadata = {"Date": None} if form == "svg" else None
        figure.savefig(drawing, format=form, metadata=metadata)
    return drawing.getvalue()


def inline_svg(
    label: str,
    draw: Callable[[Any], None],
    size: tuple[float, float] = (8, 4),
) -> str:
    """Return the figure as an SVG element for a page that may hold several; `label` describes it for screen readers.

    Text stays text, so it can be searched and copied. Raises CodedError `no-matplotlib`.
    """
    text = drawn("svg", draw, size, "none").decode()
    begin = text.index("<svg")
    text = re.sub(r"<metadata>.*?</metadata>", "", text[begin:], flags=re.DOTALL)
    # HTML needs none of these attributes.
    text = re.sub(r' (xmlns(:\w+)?|width|height|version)="[^"]*"', "", text, count=5)
    used = {*re.findall(r"#([\w.-]+)[\")]", text)}

    def id_if_used(found: re.Match[str]) -> str:
        if found[1] in used:
            return found[0]
        return ""

    # Each drawing numbers its parts from 1, so two drawings in one page would have the same ids.
    text = re.sub(r' id="([^"]*)"', id_if_used, text)
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1)


def note_in_middle(
    axes: Any,
    note: str,
    **style: Any,
) -> None:
    """Write a note in the middle of axes that are empty."""
    axes.text(
        0.5,
        0.5,
        note,
        color="0.4",
        transform=axes.transAxes,
        ha="center",
        **style,
    )


def printable(text: str) -> str:
    """Return the text with blanks instead of control characters, which XML cannot contain."""
    letters = list(text)
    for place, letter in enumerate(letters):
        if not letter.isprintable():
            letters[place] = " "
    return "".join(letters)
