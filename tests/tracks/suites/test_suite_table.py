from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lpirc_score.errors import CodedError
from lpirc_tracks.suites.suite_table import (
    SuiteRow,
    read_flops,
    read_rows,
    read_tests,
    row_of,
    table_lock,
    write_flops,
    write_rows,
)
from referee.errors import RefereeError
from tests.forbidden import LOOP, loop_at

DONE = SuiteRow(
    "Pi, 5", "float", "m", "71.25", "12.5", "5000", "aa", "bb", "", "default"
)
FAILED = replace(
    DONE,
    implementation="uint8",
    accuracy_percent="",
    time_ms="",
    sentence='It said "no", twice',
)


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "suite.csv"
    assert read_rows(path) == []
    write_rows(path, [DONE, FAILED])
    link = tmp_path / "link.csv"
    link.symlink_to(path)
    write_rows(link, [DONE])
    assert link.is_symlink()
    assert read_rows(path) == [DONE]
    write_rows(link, [DONE, FAILED])
    link.unlink()
    assert read_rows(path) == [DONE, FAILED]
    assert [file.name for file in tmp_path.iterdir()] == ["suite.csv"]


def test_the_scorer_reads_what_a_run_writes(tmp_path: Path) -> None:
    write_rows(tmp_path / "suite.csv", [DONE, FAILED])
    write_flops(tmp_path / "flops.csv", {"m": 300.5})
    mflops = read_flops(tmp_path / "flops.csv")
    assert mflops == {"m": 300.5}
    tests = read_tests(tmp_path / "suite.csv", mflops)
    assert list(tests) == [DONE.test, FAILED.test]
    assert [test.images_per_s for test in tests] == [pytest.approx(57.0), 0.0]


def test_a_test_is_done_when_it_is_of_the_same_model_and_images() -> None:
    path = Path("suite.csv")
    blank = replace(DONE, accuracy_percent="", time_ms="")
    assert row_of([FAILED, DONE], blank, path) == DONE
    assert row_of([FAILED], blank, path) is None
    assert row_of([DONE], replace(blank, device="another"), path) is None
    for changed, told in (
        (replace(blank, model_sha256="c"), "model file"),
        (replace(blank, images_sha256="c"), "images"),
        (replace(blank, settings="mean=1"), "settings"),
    ):
        with pytest.raises(
            RefereeError,
            match=f"has m \\(float\\) with other {told}",
        ) as failure:
            row_of([DONE], changed, path)
        assert failure.value.code == "suite-changed"


def test_a_test_cannot_count_twice(tmp_path: Path) -> None:
    path = tmp_path / "suite.csv"
    write_rows(path, [DONE, FAILED, DONE])
    with pytest.raises(
        CodedError, match="line 4: the test Pi, 5, float, m is listed"
    ) as failure:
        read_rows(path)
    assert failure.value.code == "bad-table"


def test_a_table_without_settings_is_of_an_earlier_version_and_continued(
    tmp_path: Path,
) -> None:
    path = tmp_path / "suite.csv"
    columns = [column for column in vars(DONE) if column != "settings"]
    cells = [f'"{getattr(DONE, column)}"' for column in columns]
    path.write_text(f"{','.join(columns)}\n{','.join(cells)}\n")
    (row,) = read_rows(path)
    assert row == replace(DONE, settings="")
    assert row_of([row], replace(DONE, settings="mean=1"), path) == row


@pytest.mark.parametrize("spoilt", ["", "model,accuracy\n", "device\nx\n"])
def test_a_file_that_is_no_table_of_a_run_is_refused(
    tmp_path: Path,
    spoilt: str,
) -> None:
    path = tmp_path / "suite.csv"
    path.write_text(spoilt)
    with pytest.raises(RefereeError):
        read_rows(path)
    for figures, told in (
        ({"time_ms": "soon"}, "time_ms"),
        ({"time_ms": "0"}, "time_ms = '0' must be above 0"),
        ({"time_ms": ""}, "is given without time_ms"),
        ({"accuracy_percent": "101"}, "accuracy_percent"),
        ({"accuracy_percent": "", "time_ms": ""}, "either figures or a sentence"),
        ({"sentence": "It crashed."}, "either figures or a sentence"),
    ):
        write_rows(path, [replace(DONE, **figures)])
        with pytest.raises(RefereeError, match=told):
            read_rows(path)


def test_one_suite_is_run_at_a_time_and_only_into_a_file(tmp_path: Path) -> None:
    path = tmp_path / "suite.csv"
    with (
        table_lock(path),
        pytest.raises(RefereeError, match="Another suite is being run") as busy,
        table_lock(path),
    ):
        pass
    assert busy.value.code == "suite-busy"
    with table_lock(path):
        write_rows(path, [DONE])
    with pytest.raises(RefereeError, match="regular file"), table_lock(tmp_path):
        pass
    assert [file.name for file in tmp_path.iterdir()] == ["suite.csv"]


def test_rows_that_cannot_be_looked_at_are_not_taken_for_none(tmp_path: Path) -> None:
    with pytest.raises(RefereeError, match=LOOP) as caught:
        read_rows(loop_at(tmp_path / "rows.csv"))
    assert caught.value.code == "not-accessible"
