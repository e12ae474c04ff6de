from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from lpirc_tracks import Aim, track_named
from lpirc_tracks.frontier_plot import Plot, PlotPoint, check_plot_path, place_labels
from referee.errors import RefereeError

pytest.importorskip("matplotlib", reason="matplotlib draws and is not installed")

POINTS = (
    PlotPoint("ant", 20.0, 21.0),
    PlotPoint("bee", 30.0, 25.0),
    PlotPoint("cat", 40.0, 30.0, is_valid=False),
)
OVIC = track_named("ovic-detection")


def plot(form: str, *figures: Any, **more: Any) -> bytes:
    return Plot(*figures, **more).drawn(form)


def groups(drawing: bytes, name: str) -> int:
    return drawing.count(f'id="{name}_'.encode())


def test_points_valid_or_not_frontier_and_target_are_in_the_drawing() -> None:
    track = track_named("ovic-detection")
    whole = plot("svg", POINTS, track.accuracy_at, track.aim(), "OVIC")
    bare = plot("svg", POINTS)
    assert (
        groups(whole, "PathCollection")
        == groups(bare, "PathCollection")
        > groups(plot("svg", POINTS[:2]), "PathCollection")
    )
    orange = b"#ff7f0e"  # the curve and its line in the legend
    assert whole.count(orange) == 2
    assert bare.count(orange) == 0
    texts = [
        b"<!-- ant -->",
        b"<!-- cat -->",
        b"<!-- OVIC -->",
        b"<!-- frontier -->",
        b"<!-- target 30 ms -->",
    ]
    assert [text in whole for text in texts] == [True] * 5
    assert [text in bare for text in texts] == [True, True, False, False, False]


def test_a_track_without_a_frontier_and_a_board_without_models_can_be_drawn() -> None:
    track = track_named("aiotbench")
    drawing = plot("svg", POINTS, track.accuracy_at, track.aim())
    assert b"<!-- frontier -->" not in drawing
    assert b"<!-- no models yet -->" not in drawing
    assert plot("png", []).startswith(b"\x89PNG")
    assert b"<!-- no models yet -->" in plot("svg", [], None, track.aim())
    assert b"<!-- frontier -->" in plot("svg", [], OVIC.accuracy_at, OVIC.aim())


def test_a_frontier_is_drawn_only_where_it_is_an_accuracy() -> None:
    models = [PlotPoint("ant", 10.0, 50.0)]
    cut = plot("svg", models, lambda latency: 10 * latency if latency <= 10 else None)
    assert plot("svg", models, lambda latency: 10 * latency) == cut
    assert plot("svg", models, lambda _: 100.1) == plot("svg", models)


def test_a_name_is_text_whatever_it_holds() -> None:
    names = ["$x$ and $", "_hidden", "日本", "<b>&amp;", "a\nb", "a\x01--\x7fb", ""]
    points = [PlotPoint(name, 20.0 + place, 20.0) for place, name in enumerate(names)]
    drawing = plot("svg", points, title=" ".join(names))
    assert ElementTree.fromstring(drawing).tag.endswith("svg")  # noqa: S314 - our own drawing


def test_the_same_points_give_the_same_bytes() -> None:
    for form in ("svg", "png"):
        drawn = [plot(form, POINTS, None, Aim("target", 30.0)) for _ in range(2)]
        assert drawn[0] == drawn[1]


def test_a_drawing_is_written_by_the_name_of_its_file(tmp_path: Path) -> None:
    Plot(POINTS).write(tmp_path / "p.SVG")
    assert (tmp_path / "p.SVG").read_bytes() == plot("svg", POINTS)
    with pytest.raises(RefereeError, match=r"ends in \.png or \.svg"):
        check_plot_path(tmp_path / "p.pdf")
    with pytest.raises(RefereeError, match="cannot be written: No such file"):
        check_plot_path(tmp_path / "nowhere" / "p.png")


def test_a_pipe_is_no_place_for_a_drawing(tmp_path: Path) -> None:
    pipe = tmp_path / "p.png"
    os.mkfifo(pipe)
    with pytest.raises(RefereeError, match="regular file") as failure:
        check_plot_path(pipe)
    assert failure.value.code == "bad-plot-file"


def test_the_latency_that_is_marked_has_the_rules_own_word_for_it() -> None:
    assert b"<!-- budget 30 ms -->" in plot(
        "svg",
        POINTS,
        None,
        track_named("lpirc2018-track1").aim(),
    )


def labelled(
    places: list[tuple[float, float]],
    texts: list[str],
) -> tuple[Any, list[Any]]:
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
    assert [label.get_text() for label in labels] == [
        f"team-{number}" for number in range(9)
    ]
    boxes = [label.get_window_extent() for label in labels]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert not any(box.contains(*axes.transData.transform((1.0, 2.0))) for box in boxes)


def test_a_label_at_the_edge_stands_inside_the_frame_and_not_over_another_point() -> (
    None
):
    axes, (label,) = labelled(
        [(0.0, 0.0), (100.0, 0.0), (95.0, 0.2)],
        ["", "a team with a name"],
    )
    box = label.get_window_extent()
    assert axes.bbox.x0 < box.x0
    assert box.x1 < axes.bbox.x1
    assert not box.contains(*axes.transData.transform((95.0, 0.2)))


def test_a_label_without_room_is_left_out() -> None:
    _, labels = labelled([(1.0, 2.0)] * 60, ["one of many"] * 60)
    assert 20 < len(labels) < 60
    assert labelled([(1.0, 2.0)], ["too long for any drawing " * 20])[1] == []
