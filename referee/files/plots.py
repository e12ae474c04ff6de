"""What the program's drawings have in common: text as it is, and the same bytes for the same picture."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from referee.errors import RefereeError
from referee.files.atomic_write import require_place


def require_drawing_place(path: Path, suffixes: Sequence[str], code: str) -> None:
    """Raise RefereeError `code` unless the name ends in a form that can be drawn and a file can be made there."""
    if path.suffix.lower() not in suffixes:
        *most, last = suffixes
        sentence = f"{path}: this is written to a file that ends in {', '.join(most)} or {last}"
        raise RefereeError(code, sentence, file=str(path))
    try:
        require_place(path)
    except OSError as error:
        sentence = f"{path}: it cannot be written: {error.strerror or error}"
        raise RefereeError(code, sentence, file=str(path)) from error


def drawn(form: str, draw: Callable[[Any], None]) -> bytes:
    """The figure that `draw` fills, as the bytes of a "png" or an "svg". Raises RefereeError `no-matplotlib`."""
    try:
        from matplotlib import rc_context  # takes a second, and only drawings need it
        from matplotlib.figure import Figure
    except ImportError:
        raise RefereeError("no-matplotlib", "Drawing needs matplotlib, which is not installed.") from None
    figure = Figure(figsize=(8, 5), dpi=150, layout="constrained")
    drawing = io.BytesIO()
    with rc_context({"svg.hashsalt": "referee"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        draw(figure)
        figure.savefig(drawing, format=form, metadata={"Date": None} if form == "svg" else None)
    return drawing.getvalue()


def printable(text: str) -> str:
    """The text without control characters, which no XML may hold."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
