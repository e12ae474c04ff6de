"""The name that an unknown one may mean."""

from __future__ import annotations

import pytest

from lpirc_testsets.close_names import closest, did_you_mean
from lpirc_testsets.plugins import Seam, UnknownPlugin

NAMES = ("ilsvrc-det", "voc-area", "coco")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("coc", "coco"),
        ("COCO", "coco"),
        ("voc_area", "voc-area"),
        ("ilsvrc", "ilsvrc-det"),
        ("cooc", "coco"),
        ("voc-sizes", None),
        ("accuracy", None),
        ("", None),
    ],
)
def test_the_closest_name_is_found(name: str, meant: str | None) -> None:
    assert closest(name, NAMES) == meant
    question = did_you_mean(name, NAMES)
    assert question == ("" if meant is None else f" Did you mean {meant!r}?")


def test_the_dashes_of_options_make_them_no_more_alike() -> None:
    assert closest("--name", ("--mode", "--page")) is None
    assert closest("--nmae", ("--mode", "--name")) == "--name"


def test_neighbours_that_are_swapped_are_a_slip_of_a_short_name() -> None:
    assert closest("dya", ("day", "dax")) == "day"
    assert closest("yad", ("day",)) is None


def test_a_very_long_name_means_nothing() -> None:
    assert did_you_mean("x" * 10_000_000, NAMES) == ""


def test_an_unknown_plugin_is_told_with_the_closest() -> None:
    with pytest.raises(UnknownPlugin, match="Did you mean 'lpirc'"):
        Seam("lpirc.metrics", "metric", "lpirc-score").load("lpric")
