from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet
from pycocotools.coco import COCO

from lpirc_power.recording import read_recording
from lpirc_score import Detections, evaluate
from lpirc_score.detections.files import read_detections, read_submission
from lpirc_testsets import TestSet, TestSetError, read_ground_truth
from referee.contest import Contest, create_contest, open_contest
from referee.errors import RefereeError
from referee.judging import run_export
from referee.judging.judge import case_of, judge
from referee.judging.run_case import scoring_input
from referee.judging.run_export import FORMATS, NUMBERS, export_run, sent_rows
from tests.contest_day import called
from tests.referee.factories import START, TEAM, DrivenClock, config_text, run_record
from tests.referee.judging.sent_runs import closed_run, guesses


@pytest.fixture
def contest(tmp_path: Path, small_set: TestSet) -> Iterator[Contest]:
    create_contest(tmp_path / "contest", config_text(small_set))
    with open_contest(tmp_path / "contest") as opened:
        yield opened


COLUMNS = (
    *("post", "elapsed_s", "team_image", "image", "file", "counts", "category", "name"),
    *("confidence", "xmin", "ymin", "xmax", "ymax"),
)


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_table_has_every_row_as_sent_and_in_the_sets_own_numbers_and_names(
    contest: Contest,
    tmp_path: Path,
) -> None:
    run = closed_run(contest, guesses(contest, 0.7), served=3)
    export_run(contest, run.id, tmp_path / "out", ("csv",))
    lines = table(tmp_path / "out" / "detections.csv")
    sent = contest.store.posts.detections(run.id)
    assert list(lines[0]) == list(COLUMNS)
    own = [
        float(line[name])
        for line in lines
        for name in ("image", "category", *COLUMNS[-5:])
    ]
    assert (
        own
        == scoring_input(case_of(contest, contest.store.runs.get(run.id)))
        .rows.ravel()
        .tolist()
    )
    assert [int(line["team_image"]) for line in lines] == sent[:, 0].tolist()
    files = {image.number: image.file for image in contest.test_set.images}
    names = {one.id: one.name for one in contest.test_set.categories}
    told = {
        (line["image"], line["file"], line["category"], line["name"]) for line in lines
    }
    assert all(
        files[int(image)] == file and names[int(id_)] == name
        for image, file, id_, name in told
    )
    assert [line["counts"] for line in lines] == [
        str(int(image <= 3)) for image in sent[:, 0]
    ]
    half = -(-len(sent) // 2)
    assert [
        (line["post"], line["elapsed_s"]) for line in lines[half - 1 : half + 1]
    ] == [
        ("1", "1.0"),
        ("2", "2.0"),
    ]


def test_numbers_and_names_are_written_as_csv_writes_them(contest: Contest) -> None:
    rng = np.random.default_rng(0)
    near = np.concatenate(
        [np.nextafter([0.0, 1e-4, 1e15, 1e16, 1.0], to) for to in (-np.inf, 0, np.inf)]
    )
    values = np.concatenate(
        [near, [0.0, -0.0, 1e300, 5e-324, 1 / 3], 10.0 ** rng.uniform(-20, 20, 500)]
    )
    rows = np.ones((len(values), 7))
    rows[:, 2:] = np.column_stack(
        [values, -values, values * 7, values / 3, values.round(2)]
    )
    sent = sent_rows(contest, closed_run(contest, rows)) | {
        "name": np.array(['1, "a"\n'] * len(rows), object)
    }
    expected = io.StringIO()
    lines = zip(*(column.tolist() for column in sent.values()), strict=True)
    csv.writer(expected, lineterminator="\n").writerows([tuple(sent), *lines])
    assert b"".join(FORMATS["csv"](sent)[1]).decode() == expected.getvalue()  # type: ignore[arg-type]


def test_parquet_has_the_same_table_with_types(
    contest: Contest,
    tmp_path: Path,
) -> None:
    run = closed_run(contest, guesses(contest, 0.7), served=3)
    export_run(contest, run.id, tmp_path, tuple(FORMATS))
    found = parquet.read_table(tmp_path / "detections.parquet")
    assert found.column_names == list(COLUMNS)
    as_text = [
        {name: str(value) for name, value in row.items()} for row in found.to_pylist()
    ]
    assert as_text == table(tmp_path / "detections.csv")


def test_coco_results_load_with_pycocotools_and_score_as_judged(
    contest: Contest,
    tmp_path: Path,
) -> None:
    run = closed_run(contest, guesses(contest, 0.7), served=3)
    export_run(contest, run.id, tmp_path, ("coco",))
    file = tmp_path / "detections.coco.json"
    truth = contest.test_set.ground_truth_path
    loaded = COCO(str(truth)).loadRes(str(file))
    own = scoring_input(case_of(contest, contest.store.runs.get(run.id))).rows
    counted = own[contest.store.posts.detections(run.id)[:, 0] <= 3]
    assert 0 < len(loaded.anns) == len(counted) < len(own)
    ground_truth = read_ground_truth(contest.test_set.folder)
    scored = evaluate(ground_truth, read_detections(file, ground_truth))
    assert scored.map == pytest.approx(
        judge(contest, run.id, DrivenClock()).map,
        abs=1e-12,
    )
    assert scored.map > 0


def test_more_rows_than_are_written_at_once_are_all_there(
    contest: Contest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = closed_run(contest, guesses(contest, 1.0))
    files = [export_run(contest, run.id, tmp_path / "whole", ("csv", "coco"))[:2]]
    monkeypatch.setattr(run_export, "AT_ONCE", 4)
    files.append(export_run(contest, run.id, tmp_path / "parts", ("csv", "coco"))[:2])
    whole, parts = ([path.read_bytes() for path in each] for each in files)
    assert parts == whole
    assert len(json.loads(parts[1])) > 4


def test_readings_are_a_recording_and_events_are_beside(
    contest: Contest,
    tmp_path: Path,
) -> None:
    run = closed_run(contest, guesses(contest, 0.7), served=2)
    export_run(contest, run.id, tmp_path, ("csv",))
    assert read_recording(tmp_path / "readings.csv") == contest.store.readings.of_run(
        run.id,
        0.0,
    )
    events = [
        json.loads(line)
        for line in (tmp_path / "events.jsonl").read_text().splitlines()
    ]
    assert events == contest.store.log.of_run(run.id)
    assert [event["kind"] for event in events] == ["opened"]


def test_the_command_writes_a_folder_also_for_a_run_of_which_nothing_came(
    contest: Contest,
) -> None:
    contest.store.teams.add(TEAM, "no hash", START)
    record = run_record(testset_digest=contest.test_set.digest)
    contest.store.runs.arm(record, START, np.arange(1, 6))
    out = contest.folder / "out"
    done = called(
        "run",
        "export",
        "1",
        "--format",
        "all",
        "--out",
        str(out),
        "--contest",
        str(contest.folder),
    )
    assert done.returncode == 0, done.stderr
    beside = {"events.jsonl", "readings.csv"}
    names = {"detections.csv", "detections.coco.json", "detections.parquet"} | beside
    assert {path.name for path in out.iterdir()} == names
    assert all(str(path) in done.stdout for path in out.iterdir())
    assert json.loads((out / "detections.coco.json").read_text()) == []
    assert (out / "detections.csv").read_text() == ",".join(COLUMNS) + "\n"
    assert parquet.read_table(out / "detections.parquet").num_rows == 0


def test_without_pyarrow_parquet_is_refused_and_nothing_is_written(
    contest: Contest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = closed_run(contest, guesses(contest, 0.7))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        RefereeError,
        match="pip install pyarrow",
    ) as refused:
        export_run(contest, run.id, tmp_path / "out", tuple(FORMATS))
    assert refused.value.code == "no-pyarrow"
    assert not (tmp_path / "out").exists()


def test_a_run_on_other_images_is_not_exported_under_their_names(
    contest: Contest,
    tmp_path: Path,
) -> None:
    contest.store.teams.add(TEAM, "no hash", START)
    contest.store.runs.arm(run_record(), START, np.arange(1, 6))
    with pytest.raises(RefereeError, match="images other than those") as refused:
        export_run(contest, 1, tmp_path, ("csv",))
    assert refused.value.code == "testset-changed"


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_what_is_written_is_read_again_as_the_rows_that_count(
    contest: Contest,
    tmp_path: Path,
    form: str,
) -> None:
    run = closed_run(contest, guesses(contest, 0.7), served=3)
    folder = tmp_path / "out"
    export_run(contest, run.id, folder, (form,))
    truth = read_ground_truth(contest.test_set.folder)
    sent = sent_rows(contest, run)
    counts = sent["counts"] == 1
    assert 0 < counts.sum() < len(counts)
    read = read_submission(folder, truth)
    metric = "coco"  # the order of the rows of COCO results is another
    found = evaluate(truth, read.detections, metric)
    assert found.detections == counts.sum()
    whole = Detections.from_rows(
        np.column_stack([sent[name] for name in ("image", "category", *NUMBERS)])
    )
    expected = evaluate(truth, whole.of_rows(counts), metric)
    assert found.map == pytest.approx(expected.map, abs=1e-12)
    assert len(read.warnings) == (form != "coco")


def test_an_export_is_no_ground_truth(contest: Contest, tmp_path: Path) -> None:
    run = closed_run(contest, guesses(contest, 0.7), served=3)
    export_run(contest, run.id, tmp_path / "out", tuple(FORMATS))
    with pytest.raises(TestSetError, match="detections, and no ground truth"):
        read_ground_truth(tmp_path / "out")
