"""QR codes of every size, as a decoder of another maker reads them."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest
from numpy.typing import NDArray

from referee.pages.qr_code import MOST_BYTES, QUIET, QrCode, qr_code

ADDRESS = ("http://hall.example:8080/?from=" + "0123456789abcdefghij" * 5)[:MOST_BYTES]
PIXELS = 4


def read(code: QrCode) -> list[tuple[str, str]]:
    """Text and level of what a decoder finds in the drawn path."""
    try:
        import zxingcpp
    except ImportError:
        reason = "zxing-cpp is not installed: make tools"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    found = zxingcpp.read_barcodes(drawn(code))
    return [(one.text, one.ec_level) for one in found]


def drawn(code: QrCode) -> NDArray[np.uint8]:
    pixels = np.full((code.edge, code.edge), 255, np.uint8)
    for x, y in re.findall(r"M(\d+) (\d+)h1v1h-1z", code.path):
        pixels[int(y), int(x)] = 0
    return np.kron(pixels, np.ones((PIXELS, PIXELS), np.uint8))


def test_a_decoder_reads_every_length_that_fits() -> None:
    for length in range(1, MOST_BYTES + 1):
        code = qr_code(ADDRESS[:length])
        assert code is not None
        assert read(code) == [(ADDRESS[:length], "M")]


def test_a_decoder_reads_it_although_a_tenth_of_it_is_covered() -> None:
    code = qr_code(ADDRESS)
    assert code is not None
    covered = int(0.3 * len(code.rows))
    rows = [list(row) for row in code.rows]
    start = len(rows) - 9 - covered
    for row in rows[start : start + covered]:
        row[start : start + covered] = [1] * covered
    damaged = QrCode(tuple(map(tuple, rows)))
    assert read(damaged) == [(ADDRESS, "M")]


def test_the_margin_is_blank_and_what_is_too_long_has_no_code() -> None:
    code = qr_code("http://10.0.0.7/")
    assert code is not None
    pixels = drawn(code)[::PIXELS, ::PIXELS]
    assert pixels[:QUIET].min() == pixels[:, -QUIET:].min() == 255
    assert code.edge == 25 + 2 * QUIET
    assert qr_code("é" * (MOST_BYTES // 2)) is not None
    assert qr_code("é" * MOST_BYTES) is None
