from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets import load_test_set
from lpirc_tracks import track_named
from lpirc_tracks.submissions import harness
from lpirc_tracks.submissions.open_track import first_images, track_on
from lpirc_tracks.suites.suite_plan import read_plan
from lpirc_tracks.suites.suite_run import SuiteRun
from lpirc_tracks.suites.suite_table import read_rows
from referee.clock import Clock
from referee.errors import RefereeError
from tests import onnx_models
from tests import tflite_models as models
from tests.contest_day import called
from tests.tracks.submissions.model_days import LONG, colour_set, packed, result


def planned(
    model: str,
    implementation: str,
    file: str,
    mflops: int,
    *more: str,
) -> str:
    texts = {
        "model": model,
        "implementation": implementation,
        "file": f"{file}.tflite",
    }
    lines = [
        *(f'{key} = "{text}"' for key, text in texts.items()),
        f"mflops = {mflops}",
        *more,
    ]
    return "\n".join(["[[tests]]", *lines]) + "\n"


TESTS = {
    "good": planned("mean", "float", "mean", 500, "repeats = 1"),
    "quantized": planned("mean", "uint8", "quantized", 500, "repeats = 1"),
    "onnx": planned(
        "mean",
        "onnx",
        "onnx",
        500,
        "repeats = 1",
        "mean = [1, 2, 3]",
        "sigma = 2",
    ),
    "endless": planned("mean", "endless", "endless", 500, "timeout_s = 0.5"),
    "garbage": planned("nothing", "float", "garbage", 2),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models, and five pictures of which the first four carry their colour's label."""
    folder = tmp_path_factory.mktemp("suite")
    red = ("red", models.RED)
    green = ("green", models.GREEN)
    colour_set(
        folder,
        red,
        green,
        ("blue", models.BLUE),
        ("green", models.GREEN),
        ("red", models.BLUE),
    )
    for name, data in (
        ("mean", models.classifier()),
        ("quantized", models.classifier(quantized=True)),
        ("endless", models.endless()),
        ("onnx", onnx_models.classifier("float32", outputs=1000)),
        ("garbage", b"no model at all, really"),
    ):
        (folder / f"{name}.tflite").write_bytes(data)
    return folder


@pytest.fixture
def plan(place: Path) -> Callable[..., Path]:
    def written(
        *tests: str,
        limit: int = 5,
        cooldown_s: int = 0,
    ) -> Path:
        path = place / "suite.toml"
        head = f'device = "board"\ncooldown_s = {cooldown_s}\nlimit = {limit}\n'
        path.write_text(head + "".join(TESTS[test] for test in tests))
        return path

    return written


def run(
    place: Path,
    plan: Path,
    out: Path,
    *more: str,
) -> Any:
    told = called(
        "suite",
        "run",
        str(plan),
        "--images",
        str(place / "colours"),
        "--out",
        str(out),
        "--json",
        *more,
    )
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


def test_a_suite_is_measured_and_scored_and_goes_on_where_it_stopped(
    place: Path,
    plan: Callable[..., Path],
    tmp_path: Path,
) -> None:
    out = tmp_path / "table.csv"
    flops = tmp_path / "flops.csv"
    first = run(place, plan("good"), out)
    document = run(
        place, plan("good", "endless", "garbage"), out, "--flops", str(flops)
    )
    good, endless, garbage = document["tests"]
    # The first test is not measured again: its time is the same to the last digit.
    assert good == first["tests"][0]
    assert good["accuracy_percent"] == 80.0
    assert "no answer within" in endless["sentence"]
    assert "not a TFLite flatbuffer" in garbage["sentence"]
    assert endless["accuracy_percent"] is None
    assert endless["time_ms"] is None
    vips = 0.8 / (good["time_ms"] / 1000)
    assert document["scores"] == [
        {
            "device": "board",
            "vips": pytest.approx(vips),
            "vops_gflops": pytest.approx(vips / 2),
            "missing": [
                f"{test['implementation']} {test['model']}"
                for test in (endless, garbage)
            ],
        }
    ]
    scored = called("suite", "score", str(out), "--flops", str(flops), "--json")
    assert json.loads(scored.stdout)["scores"] == document["scores"]


def test_a_test_with_an_unstable_latency_has_no_figures(
    place: Path,
    plan: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = load_test_set(place / "colours")
    data = models.classifier()
    changes = LONG | {
        "latency__counted": 400,
        "latency__total_s": 0.08,
        "latency__processor_share": 0.5,
    }
    busy = result(made, data, [7] * 5, **changes)
    monkeypatch.setattr(harness, "bench", lambda *_: packed(busy))
    track = first_images(
        track_on(place / "colours", "aiotbench", track_named("aiotbench")),
        5,
    )
    (row,) = SuiteRun(
        read_plan(plan("good")),
        track,
        tmp_path / "t.csv",
        Clock(),
        lambda _: None,
    ).measure()
    assert row.accuracy_percent == ""
    assert row.time_ms == ""
    assert row.sentence.startswith(
        "the latency is unstable, the model had a processor for only 50%"
    )


@pytest.mark.parametrize("which", ["table", "plan"])
def test_the_flops_go_into_a_file_of_their_own(
    plan: Callable[..., Path],
    tmp_path: Path,
    which: str,
) -> None:
    table = tmp_path / "t.csv"
    file = plan()
    table.write_text("kept")
    before = file.read_text()
    flops = str(table if which == "table" else file)
    told = called(
        "suite",
        "run",
        str(file),
        "--images",
        "x",
        "--out",
        str(table),
        "--flops",
        flops,
    )
    assert told.returncode == 2
    assert table.read_text() == "kept"
    assert file.read_text() == before
    assert "must be a different file from the table and the plan" in told.stderr


def test_a_link_that_leads_to_itself_is_no_place_for_the_flops(
    plan: Callable[..., Path],
    tmp_path: Path,
) -> None:
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    told = called(
        "suite",
        "run",
        str(plan()),
        "--images",
        "x",
        "--out",
        "t.csv",
        "--flops",
        str(loop),
    )
    assert told.returncode == 1
    assert told.stderr.startswith(f"referee: {loop}: Too many levels of symbolic")
    assert told.stderr.endswith("the link leads back to itself; name another place\n")


def test_only_the_first_images_count(
    place: Path,
    plan: Callable[..., Path],
    tmp_path: Path,
) -> None:
    # In its own preprocessing.
    document = run(
        place,
        plan("onnx", limit=4),
        tmp_path / "table.csv",
    )
    assert document["tests"][0]["accuracy_percent"] == 100.0
    assert document["tests"][0]["images"] == "4"


def test_another_model_under_the_same_name_is_not_taken_for_the_one_measured(
    place: Path,
    plan: Callable[..., Path],
    tmp_path: Path,
) -> None:
    out = tmp_path / "table.csv"
    run(place, plan("garbage"), out)
    out.write_text(out.read_text().replace(read_rows(out)[0].model_sha256, "0" * 64))
    told = called(
        "suite",
        "run",
        str(plan("garbage")),
        "--images",
        str(place / "colours"),
        "--out",
        str(out),
    )
    assert told.returncode == 1
    assert "nothing (float) with other model file" in told.stderr


def test_an_interruption_keeps_what_was_measured(
    place: Path,
    plan: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "table.csv"
    real = harness.bench

    def interrupted(
        model: Path,
        *arguments: Any,
        **named: Any,
    ) -> bytes:
        if model.name == "quantized.tflite":
            raise KeyboardInterrupt
        return real(model, *arguments, **named)

    monkeypatch.setattr(harness, "bench", interrupted)
    where = ("--images", str(place / "colours"), "--out", str(out))
    told = called("suite", "run", str(plan("garbage", "quantized")), *where)
    assert told.returncode == 130
    assert f"1 test is in {out}; run the same command again to continue" in told.stderr
    assert [row.model for row in read_rows(out)] == ["nothing"]
    told = called("suite", "run", str(plan("garbage")), *where)
    assert (
        f"not a TFLite flatbuffer, which has TFL3 at byte 4; convert the model to TFLite first (from {out})"
        in told.stderr
    )


def test_a_failure_of_the_house_is_not_a_models(
    place: Path,
    plan: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: Any, **__: Any) -> bytes:
        raise RefereeError("missing-extra", "Install it.")

    monkeypatch.setattr(harness, "bench", broken)
    out = tmp_path / "table.csv"
    told = called(
        "suite",
        "run",
        str(plan("good")),
        "--images",
        str(place / "colours"),
        "--out",
        str(out),
    )
    assert told.returncode == 1
    assert told.stderr == "referee: Install it.\n"
    assert not out.exists()


class Patient(Clock):
    """A clock whose waits are over at once, and told."""

    def __init__(self) -> None:
        self.waits_s: list[float] = []

    def monotonic_s(self) -> float:
        return 1000.0

    def wait(self, event: threading.Event, until_s: float) -> bool:
        self.waits_s.append(until_s - 1000.0)
        return False


def test_between_two_tests_the_device_cools_down(
    place: Path,
    plan: Callable[..., Path],
    tmp_path: Path,
) -> None:
    clock = Patient()
    track = first_images(
        track_on(place / "colours", "aiotbench", track_named("aiotbench")),
        5,
    )
    read = read_plan(plan("garbage", "good", cooldown_s=300))
    reports: list[str] = []
    run = SuiteRun(read, track, tmp_path / "table.csv", clock, reports.append)
    assert len(run.measure()) == 2
    assert clock.waits_s == [300.0]
    assert reports[1] == "cooling down for 300 s"
    run.measure()
    assert clock.waits_s == [300.0]
    assert len(reports) == 6
