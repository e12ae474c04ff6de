from __future__ import annotations

import json
import math
import os
import threading
from pathlib import Path

import pytest

from tests.contest_day import called

# ln t = 0, 1, 2 and A = 10, 13, 13: k = 1.5, a0 = 10.5, residuals -0.5, 1, -0.5.
POINTS = f"latency_ms,accuracy\n1,10\n{math.e!r},13\n{math.e**2!r},13\n"


@pytest.fixture
def points(tmp_path: Path) -> Path:
    path = tmp_path / "points.csv"
    path.write_text(POINTS)
    return path


def test_three_points_by_hand(points: Path) -> None:
    told = called("frontier", "fit", str(points), "--json")
    document = json.loads(told.stdout)
    assert document["k"] == pytest.approx(1.5)
    assert document["a0"] == pytest.approx(10.5)
    assert document["base"] == "e"
    assert [point["residual"] for point in document["points"]] == pytest.approx(
        [-0.5, 1, -0.5]
    )
    assert document["rms"] == pytest.approx(math.sqrt(0.5))
    assert document["r_squared"] == pytest.approx(0.75)
    assert document["accuracy_at_target"] is None
    assert told.stderr == f"referee: warning: {document['warnings'][0]}\n"


@pytest.mark.parametrize(
    "header",
    ["T,A\n", "", "\ufeff", "time_ms,accuracy_percent\n"],
)
def test_points_may_have_a_short_header_or_none(
    tmp_path: Path,
    points: Path,
    header: str,
) -> None:
    other = tmp_path / "other.csv"
    other.write_text(header + POINTS.split("\n", 1)[1], encoding="utf-8")
    stdout = called("frontier", "fit", str(other), "--json").stdout
    assert stdout == called("frontier", "fit", str(points), "--json").stdout


def test_the_base_changes_k_and_the_target_is_read_off(points: Path) -> None:
    told = called(
        "frontier", "fit", str(points), "--base", "2", "--target", str(math.e), "--json"
    )
    document = json.loads(told.stdout)
    assert document["k"] == pytest.approx(1.5 * math.log(2))
    assert document["accuracy_at_target"] == pytest.approx(12)


def test_without_json_people_read_residuals_and_lines_for_the_configuration(
    points: Path,
) -> None:
    stdout = called("frontier", "fit", str(points), "--target", "2").stdout
    assert "a(t) = 1.5 ln t + 10.5" in stdout
    assert "+1.000" in stdout
    assert "RMS 0.7071 percent points, R² 0.75000, 3 points" in stdout
    assert "11.540 % at the target 2 ms" in stdout
    assert stdout.splitlines()[-2:] == ['base = "e"', "target_ms = 2.0"]


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("p.png", b"\x89PNG"),
        ("p.svg", b"<?xml"),
    ],
)
def test_points_and_curve_are_drawn(
    tmp_path: Path,
    points: Path,
    name: str,
    start: bytes,
) -> None:
    told = called(
        "frontier", "fit", str(points), "--plot", str(tmp_path / name), "--target", "2"
    )
    assert told.returncode == 0
    assert (tmp_path / name).read_bytes().startswith(start)


def test_a_plot_of_another_form_is_refused_before_anything_is_read(
    tmp_path: Path,
) -> None:
    told = called("frontier", "fit", str(tmp_path / "nothing.csv"), "--plot", "p.gif")
    assert told.returncode == 1
    assert told.stdout == ""
    assert (
        told.stderr
        == "referee: p.gif: the plot needs a file name that ends in .png or .svg\n"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["the file is empty"]),
        ("latency,accuracy\n1,2\n", ["the column latency_ms is missing"]),
        ("latency_ms,accuracy\n0,2\n", ["line 2", "latency_ms = '0' must be above 0"]),
        (
            "latency_ms,accuracy\n1,200\n",
            ["line 2", "accuracy = '200' must lie between 0 and 100"],
        ),
        (
            "latency_ms,accuracy\n7,20\n7,30\n",
            ["two latencies or more", "all 2 points have the latency 7 ms"],
        ),
    ],
)
def test_each_fault_is_one_sentence(
    tmp_path: Path,
    text: str,
    words: list[str],
) -> None:
    path = tmp_path / "points.csv"
    path.write_text(text)
    told = called("frontier", "fit", str(path))
    assert told.returncode == 1
    assert told.stdout == ""
    assert told.stderr.count("\n") == 1
    assert [word for word in words if word not in told.stderr] == [], told.stderr


@pytest.mark.parametrize("target", ["0", "-1", "nan", "inf", "fast"])
def test_a_target_that_is_none_is_wrong_use(points: Path, target: str) -> None:
    assert called("frontier", "fit", str(points), "--target", target).returncode == 2


def test_a_pipe_is_read_once_and_whole() -> None:
    mine, theirs = os.pipe()  # as a shell gives one for <(command)

    def write() -> None:
        with os.fdopen(theirs, "w") as pipe:
            pipe.write(POINTS + f"4.{'0' * 40},14\n" * 2_000)  # more than a pipe holds

    writer = threading.Thread(target=write)
    writer.start()
    document = json.loads(called("frontier", "fit", f"/dev/fd/{mine}", "--json").stdout)
    writer.join()
    os.close(mine)
    assert len(document["points"]) == 2_003


def test_a_pipe_into_which_nobody_writes_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    told = called("frontier", "fit", str(tmp_path / "pipe"))
    assert told.returncode == 1
    assert ("regular file" in told.stderr) is True
    assert told.stderr.count("\n") == 1


def test_a_table_with_semicolons_is_told_how_to_save_it(tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    file.write_text("latency_ms;accuracy\n10;70,1\n20;75,2\n")
    told = called("frontier", "fit", str(file))
    assert told.returncode == 1
    assert "is missing" not in told.stderr
    advice = "semicolons separate its values: save it with commas, and with points in numbers"
    assert advice in told.stderr
