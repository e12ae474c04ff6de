from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from lpirc_score.analysis.precision_recall import Curve
from lpirc_score.files.curve_drawings import write_curves

CURVE = Curve(
    np.array([1, 3]),
    np.array([0.5, 1.0]),
    np.array([1.0, 2 / 3]),
    np.array([0.9, 0.7]),
)
MISSED = Curve(np.array([], int), np.array([]), np.array([]), np.array([]))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    pytest.importorskip(
        "matplotlib",
        reason="matplotlib draws the curves and is not installed",
    )
    return tmp_path / "curves.svg"


def test_a_categorys_name_is_text_whatever_it_holds(path: Path) -> None:
    names = dict(enumerate(["$x^{$", "_hidden", "日本", "a\x01b", ""]))
    write_curves(path, dict.fromkeys(names, CURVE), names, "lpirc")
    ElementTree.parse(path)  # noqa: S314 - our own drawing
    drawing = path.read_text()
    for name in filter(None, names.values()):
        assert f"<!-- {name.replace(chr(1), ' ')} -->" in drawing


@pytest.mark.parametrize(("first", "is_told"), [(MISSED, True), (CURVE, False)])
def test_a_drawing_of_nothing_found_says_so_and_names_all_categories(
    path: Path,
    first: Curve,
    is_told: bool,
) -> None:
    write_curves(path, {1: first, 2: MISSED}, {1: "ant", 2: "bee"}, "lpirc")
    drawing = path.read_text()
    assert ("<!-- no detection found an object -->" in drawing) is is_told
    assert [f"<!-- {name} -->" in drawing for name in ("ant", "bee")] == [True, True]
