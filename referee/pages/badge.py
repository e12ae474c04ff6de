"""The badge of a contest: who leads, as a small SVG for other web sites."""

from __future__ import annotations

from typing import Any

from markupsafe import escape

from referee.pages.figure_text import score_text

MEDIA_TYPE = "image/svg+xml"
HEIGHT = 20
PADDING = 6
LETTER_WIDTH = 6.6  # about, of 11 px sans-serif
LONGEST_TEXT = 40
SHORTEST_NAME = 8
COLOURS = {"live": "#17683a", "frozen": "#0a5aa8", "unveiling": "#7a4b00"}
FORM = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" aria-label="{label}: {text}">'
    "<title>{label}: {text}</title>"
    '<rect width="{width}" height="{height}" rx="3" fill="#3a4652"/>'
    '<rect x="{split}" width="{rest}" height="{height}" rx="3" fill="{colour}"/>'
    '<g fill="#fff" font-family="system-ui,Verdana,sans-serif" font-size="11">'
    '<text x="{padding}" y="14" textLength="{label_length}">{label}</text>'
    '<text x="{text_x}" y="14" textLength="{text_length}">{text}</text></g></svg>\n'
)


def badge(board: dict[str, Any]) -> str:
    """Return the badge of a public board."""
    label = _short(board["contest"])
    text = _short(leader_text(board))
    label_length = _width(label)
    text_length = _width(text)
    split = label_length + 2 * PADDING
    rest = text_length + 2 * PADDING
    return FORM.format(
        width=split + rest,
        height=HEIGHT,
        split=split,
        rest=rest,
        colour=COLOURS.get(board["state"], COLOURS["live"]),
        padding=PADDING,
        label=escape(label),
        text=escape(text),
        label_length=label_length,
        text_length=text_length,
        text_x=split + PADDING,
    )


def leader_text(board: dict[str, Any]) -> str:
    """Return who leads and how the board stands, in a few words."""
    first = [place for place in board["ranking"] if place["rank"] == 1]
    if not first:
        return "no rank yet" if board["state"] == "live" else str(board["state"])
    others = f" and {len(first) - 1} more" if len(first) > 1 else ""
    said = f"{others} {score_text(first[0]['score'])}"
    if board["state"] != "live":
        said += f" ({board['state']})"
    # A long name is cut, not the score or the state.
    longest = max(SHORTEST_NAME, LONGEST_TEXT - len(said))
    return _short(first[0]["team"], longest) + said


def _short(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text in one line that XML can hold, cut where it is too long."""
    printable = "".join(map(_printable, text))
    if len(printable) <= longest:
        return printable
    return f"{printable[: longest - 1]}…"


def _printable(letter: str) -> str:
    return letter if letter.isprintable() else " "


def _width(text: str) -> int:
    return max(1, round(len(text) * LETTER_WIDTH))
