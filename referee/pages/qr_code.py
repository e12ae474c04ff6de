"""QR codes of addresses, drawn as SVG paths. segno encodes them."""

from __future__ import annotations

from dataclasses import dataclass

MOST_BYTES = (
    106  # a version 6 code; a camera at the back of the hall reads no finer modules
)
CORRECTION = "m"  # 15 % of the code may be covered
QUIET = 4  # modules of blank margin that scanners need


@dataclass(frozen=True)
class QrCode:
    """A QR code as rows of modules; a dark module is 1."""

    rows: tuple[tuple[int, ...], ...]

    @property
    def edge(self) -> int:
        """The number of modules of an edge, with the margin."""
        return len(self.rows) + 2 * QUIET

    @property
    def path(self) -> str:
        """The dark modules as an SVG path, inside the margin; a unit is a module."""
        return "".join(
            f"M{x + QUIET} {y + QUIET}h1v1h-1z"
            for y, row in enumerate(self.rows)
            for x, is_dark in enumerate(row)
            if is_dark
        )


def qr_code(text: str) -> QrCode | None:
    """Return the smallest QR code of a text; None if it is longer than MOST_BYTES."""
    # Imported here because most commands draw no code.
    import segno

    content = text.encode()
    if len(content) > MOST_BYTES:
        return None
    code = segno.make_qr(
        content,
        error=CORRECTION,
        mode="byte",
        boost_error=False,
    )
    return QrCode(tuple(tuple(map(int, row)) for row in code.matrix))
