from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from referee.tracks.submissions.plot_labels import place_labels

pytest.importorskip("matplotlib", reason="matplotlib draws and is not installed")


def labelled(places: list[tuple[float, float]], texts: list[str]) -> tuple[Any, list[Any]]:
    """Axes with points and labels as they stand in the finished drawing, and the labels."""
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    axes = figure.add_subplot()
    axes.scatter(*zip(*places, strict=True))
    place_labels(axes, places, texts)
    figure.draw_without_rendering()
    return axes, list(axes.texts)


def test_labels_of_points_at_one_place_stand_apart_beside_it() -> None:
    axes, labels = labelled([(1.0, 2.0)] * 9, [f"team-{number}" for number in range(9)])
    assert [label.get_text() for label in labels] == [f"team-{number}" for number in range(9)]
    boxes = [label.get_window_extent() for label in labels]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert not any(box.contains(*axes.transData.transform((1.0, 2.0))) for box in boxes)


def test_a_label_at_the_edge_stands_inside_the_frame_and_not_over_another_point() -> None:
    axes, (label,) = labelled([(0.0, 0.0), (100.0, 0.0), (95.0, 0.2)], ["", "a team with a name"])
    box = label.get_window_extent()
    assert axes.bbox.x0 < box.x0
    assert box.x1 < axes.bbox.x1
    assert not box.contains(*axes.transData.transform((95.0, 0.2)))


def test_a_label_without_room_is_left_out() -> None:
    _, labels = labelled([(1.0, 2.0)] * 100, ["one of many"] * 100)
    assert 20 < len(labels) < 100
    assert labelled([(1.0, 2.0)], ["too long for any drawing " * 20])[1] == []
