"""`referee compare`: two judged runs side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from lpirc_testsets import read_ground_truth
from referee.cli.main import main
from referee.clock import Clock
from referee.judging.judge import judge
from referee.store.records import RunState
from tests.contest_day import called
from tests.referee.factories import START, House, reading, stored_run


def judged(
    hall: House,
    every: int,
    energy_wh: float | None,
    category: int = 0,
) -> None:
    """Make a judged run that sent every n-th object (n = `every`) and all objects of a category."""
    store = hall.store
    test_set = hall.contest.test_set
    run = stored_run(store, testset_digest=test_set.digest).id
    truth = read_ground_truth(test_set.folder)
    sent = np.column_stack(
        [truth.image, truth.category, np.full(len(truth.image), 0.5), truth.boxes]
    )
    sent = sent[(np.arange(len(sent)) % every == 0) | (truth.category == category)]
    store.served.append(run, [(image, 10) for image in range(1, 6)], 1.0)
    now = START + timedelta(seconds=2)
    store.posts.append(
        run,
        sent,
        sha256="",
        idempotency_key=None,
        elapsed_s=2.0,
        now=now,
    )
    store.readings.append(
        run,
        0.0,
        [reading(float(s), energy_wh=s * 0.01) for s in range(3)],
    )
    store.log.append(now, run, "closed", start_stop_s=0.01)
    over = {
        "state": RunState.CLOSED.value,
        "elapsed_s": 4.0,
        "energy_wh": energy_wh,
    }
    store.runs.change(run, (RunState.ARMED,), **over)
    judge(hall.contest, run, Clock())


def compared(*arguments: str) -> dict[str, dict[str, Any]]:
    result = called("compare", *arguments, "--json")
    assert result.returncode == 0, result.stderr
    return {row["figure"]: row for row in json.loads(result.stdout)}


def test_the_ratio_of_the_scores_is_divided_into_map_and_energy(
    build: Callable[..., House],
) -> None:
    hall = build()
    judged(hall, 2, 0.08)
    judged(hall, 2, 0.04, category=2)
    rows = compared("1", "2", "--contest", str(hall.folder))
    scores, maps, energies = (rows[name] for name in ("score", "map", "energy_wh"))
    assert maps["second"] > maps["first"] > 0
    assert energies["first"] == 0.08
    assert energies["second"] == 0.04
    assert energies["difference"] == -0.04
    assert rows["images_fetched"]["first"] == 5
    assert rows["first_post_s"]["second"] == 2.0
    assert rows["check energy-measured"]["first"] == "ok"
    assert rows["errors missed"]["difference"] < 0
    assert rows["regret"]["first"] > 1
    aps = [row for name, row in rows.items() if name.startswith("AP ")]
    sizes = [abs(row["difference"]) for row in aps]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 0 == sizes[-1]
    told = called("compare", "1", "2", "--contest", str(hall.folder)).stdout
    whole = scores["second"] / scores["first"]
    of_map = maps["second"] / maps["first"]
    assert (
        f"The second score is {whole:.3f} times the first: {of_map:.3f} by mAP, 2.000 by energy"
        in told
    )
    assert (
        f"(log ratio {math.log(whole):+.3f} = {math.log(of_map):+.3f} +0.693)" in told
    )
    assert "State, metric, test set and window are the same." in told
    stdout = called("compare", "1", "2", "--contest", str(hall.folder), "--html").stdout
    assert "<td>regret</td>" in stdout


def test_two_folders_with_a_run_each_are_compared_and_what_they_differ_in_is_told(
    build: Callable[..., House],
) -> None:
    halls = [build(name="a"), build(name="b", metric="voc-11")]
    judged(halls[0], 1, None)
    judged(halls[1], 2, 0.04)
    rows = compared(*(str(hall.folder) for hall in halls))
    assert rows["score"]["first"] is None
    assert rows["score"]["difference"] is None
    assert rows["regret"]["first"] is None
    assert (rows["regret"]["second"] > 0) is True
    told = called("compare", *(str(hall.folder) for hall in halls)).stdout
    assert told.splitlines()[-1] == "They differ in metric."
    assert "times the first" not in told


def test_a_void_run_is_shown_as_one(build: Callable[..., House]) -> None:
    hall = build()
    judged(hall, 2, 0.08)
    judged(hall, 2, 0.08)
    hall.store.runs.change(2, (RunState.JUDGED,), state=RunState.VOID.value)
    told = called("compare", "1", "2", "--contest", str(hall.folder)).stdout
    assert told.splitlines()[1].split() == ["state", "judged", "void"]
    assert told.splitlines()[-1] == "They differ in state."


@pytest.mark.parametrize(
    ("runs", "sentence"),
    [
        ("1 9", "There is no run 9"),
        ("1 3", "Run 3 has no current judgement; run: referee judge 3"),
        ("1 {}", "has 3 runs; name two by number: referee compare 1 2 --contest"),
        ("1 99999999999999999999", "There is no folder 9999"),
        ("1 nowhere", "There is no folder nowhere"),
        ("-1 1", "No such option"),
        ("² 1", "There is no folder ²"),
    ],
)
def test_a_run_that_cannot_be_compared_is_told(
    build: Callable[..., House],
    runs: str,
    sentence: str,
) -> None:
    hall = build()
    judged(hall, 1, 0.1)
    judged(hall, 1, 0.1)
    stored_run(hall.store)
    result = called(
        "compare", *runs.format(hall.folder).split(), "--contest", str(hall.folder)
    )
    assert result.returncode == (2 if runs[0] == "-" else 1)
    assert result.stdout == ""
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("a.csv b.csv", "For files of detections: referee score GROUND_TRUTH a.csv b.csv\n"),
        ("a.csv 2", "For files of detections: referee score GROUND_TRUTH FILE FILE\n"),
        ("1 contest.db", "contest.db is a file, and runs are compared by number"),
        ("1 bundle.zip", "To judge the run of a bundle again: referee bundle verify bundle.zip\n"),
    ],
)  # fmt: skip
def test_a_file_is_told_what_takes_it_and_never_proposed_to_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv", "bundle.zip", "contest.db"):
        Path(name).write_text("")
    ran = CliRunner().invoke(main, ["compare", *given.split()])
    assert ran.exit_code == 2
    assert told in ran.stderr
    assert ">" not in ran.stderr


def test_a_file_to_be_written_is_told_how() -> None:
    ran = CliRunner().invoke(main, ["compare", "1", "2", "--html", "out.html"])
    assert ran.exit_code == 2
    assert "keep the output in a file, write > out.html\n" in ran.stderr


def test_a_contest_without_runs_is_said_to_have_none(
    build: Callable[..., House],
) -> None:
    folder = str(build().folder)
    told = called("compare", folder, folder)
    assert told.returncode == 1
    assert told.stderr == (
        f"referee: The contest {folder} has no runs to compare yet.\n"
    )
