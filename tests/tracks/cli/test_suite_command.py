from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest

from tests.contest_day import called, shared

FLOPS = "model,mflops\nlarge,2000\nsmall,500\n"
HEADER = "device,implementation,model,accuracy_percent,time_ms\n"
# bee: 0.25 / 0.05 s = 5 images/s of 2 GFLOP; ant: 0.5 / 0.1 s = 5 of 2 GFLOP and 0.8 / 0.2 s = 4 of 0.5 GFLOP.
TABLE = (
    HEADER
    + "bee,one,large,25,50\nant,one,large,50,100\nant,one,small,80,200\nbee,one,small,,\n"
)


def scored(
    folder: Path,
    table: str | bytes,
    flops: str = FLOPS,
    *options: str,
) -> tuple[int, str, str]:
    content = table.encode() if isinstance(table, str) else table
    (folder / "table.csv").write_bytes(content)
    (folder / "flops.csv").write_text(flops)
    where = (str(folder / "table.csv"), "--flops", str(folder / "flops.csv"))
    told = called("suite", "score", *where, *options)
    return told.returncode, told.stdout, told.stderr


def test_a_table_by_hand(tmp_path: Path) -> None:
    code, stdout, stderr = scored(tmp_path, TABLE, FLOPS, "--json")
    assert code == 0
    assert stderr == ""
    document = json.loads(stdout)
    assert list(document) == ["scores"]
    assert document["scores"] == [
        {
            "device": "bee",
            "vips": pytest.approx(5),
            "vops_gflops": pytest.approx(10),
            "missing": ["one small"],
        },
        {
            "device": "ant",
            "vips": pytest.approx(9),
            "vops_gflops": pytest.approx(12),
            "missing": [],
        },
    ]


def test_the_ten_published_scores_come_out_to_their_printed_digits() -> None:
    files = [
        str(shared("tables", f"aiotbench_{name}.csv")) for name in ("table6", "flops")
    ]
    told = called("suite", "score", files[0], "--flops", files[1], "--json")
    rows = [
        {
            "device": row["device"],
            "vips": f"{row['vips']:.2f}",
            "vops_gflops": f"{row['vops_gflops']:.2f}",
        }
        for row in json.loads(told.stdout)["scores"]
    ]
    with shared("tables", "aiotbench_scores.csv").open(newline="") as lines:
        assert rows == list(csv.DictReader(lines))
    assert len(rows) == 5
    lacking = {
        row["device"]: row["missing"]
        for row in json.loads(told.stdout)["scores"]
        if row["missing"]
    }
    assert lacking == {
        "Oppo R17": [
            f"tflite_nnapi {model}" for model in ("resnet50", "densenet121", "mnasnet")
        ]
    }


def test_without_json_people_read_a_table(tmp_path: Path) -> None:
    code, stdout, _ = scored(tmp_path, TABLE)
    words = stdout.split()
    assert code == 0
    # The test that bee's sum lacks.
    assert words.index("12.00") > words.index("small") > words.index("10.00")
    assert (
        words.index("bee")
        < words.index("5.00")
        < words.index("10.00")
        < words.index("ant")
    )


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_byte_order_mark_blank_lines_and_columns_in_another_order_are_taken(
    tmp_path: Path,
    ending: str,
) -> None:
    table = "time_ms, model,note,device,accuracy_percent,implementation\n\n50,large,x,bee,25,one\n"
    code, stdout, _ = scored(
        tmp_path,
        b"\xef\xbb\xbf" + table.replace("\n", ending).encode(),
        FLOPS,
        "--json",
    )
    assert code == 0
    assert json.loads(stdout)["scores"][0]["vips"] == pytest.approx(5)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("", ["table.csv", "the file is empty"]),
        (
            "device,model,accuracy_percent,time_ms\na,b,1,1\n",
            ["the column implementation is missing"],
        ),
        (HEADER.replace("model", "device,model"), ["names the column device twice"]),
        (HEADER, ["no line below its header"]),
        (
            HEADER + "a,one,large,50\n",
            ["line 2", "5 columns, but this line has 4", "a,one,large,50"],
        ),
        (
            HEADER + "\n\na,one,large,fast,9\n",
            ["line 4", "accuracy_percent", "'fast' is not a number"],
        ),
        (
            HEADER + "a,one,large,50,1_000\n",
            ["line 2", "time_ms", "'1_000' is not a number"],
        ),
        (HEADER + "a,one,large,50,nan\n", ["line 2", "time_ms", "'nan'"]),
        (HEADER + "a,one,large,50,1e999\n", ["line 2", "time_ms", "'1e999'"]),
        (HEADER + "a,one,large,50,0\n", ["line 2", "time_ms = '0' must be above 0"]),
        (HEADER + "a,one,large,50,-7\n", ["line 2", "time_ms = '-7' must be above 0"]),
        (
            HEADER + "a,one,large,50,1e-300\n",
            ["line 2", "time_ms = '1e-300' must lie between"],
        ),
        (
            HEADER + "a,one,large,100.1,5\n",
            ["line 2", "accuracy_percent = '100.1' must lie between 0 and 100"],
        ),
        (HEADER + "a,one,large,-0.1,5\n", ["line 2", "accuracy_percent = '-0.1'"]),
        (
            HEADER + "a,one,large,50,5\na,one,large,50,6\n",
            ["line 3", "a, one, large is listed twice"],
        ),
        (
            HEADER + "a,one,large,50,\n",
            ["line 2", "accuracy_percent = 50 is given without time_ms"],
        ),
        (
            HEADER + "a,one,large,,50\n",
            ["line 2", "time_ms = 50 is given without accuracy_percent"],
        ),
        (HEADER + ",one,large,50,5\n", ["line 2", "device is blank"]),
        (
            HEADER + "a,one,tiny,50,5\n",
            ["line 2", "'tiny' is not listed with its FLOPs", "large, small"],
        ),
        (HEADER + 'a,one,"large,50,5\n', ["line 2", "unexpected end of data"]),
        (
            HEADER.encode() + b"caf\xe9,one,large,50,5\n",
            ["line 2 is not UTF-8; as Windows-1252 it reads"],
        ),
    ],
)
def test_each_fault_of_a_table_is_one_sentence(
    tmp_path: Path,
    table: str | bytes,
    words: list[str],
) -> None:
    code, stdout, stderr = scored(tmp_path, table)
    assert code == 1
    assert stdout == ""
    assert stderr.startswith("referee: ")
    assert stderr.count("\n") == 1
    assert [word for word in ["table.csv", *words] if word not in stderr] == [], stderr


@pytest.mark.parametrize(
    ("flops", "words"),
    [
        ("", ["the file is empty"]),
        ("model\nlarge\n", ["the column mflops is missing"]),
        ("model,mflops\nlarge,0\n", ["line 2", "mflops = '0' must be above 0"]),
        ("model,mflops\nlarge,5\nlarge,6\n", ["line 3", "'large' is listed twice"]),
    ],
)
def test_each_fault_of_the_flops_is_one_sentence(
    tmp_path: Path,
    flops: str,
    words: list[str],
) -> None:
    code, _, stderr = scored(tmp_path, TABLE, flops)
    assert code == 1
    assert stderr.count("\n") == 1
    assert [word for word in ["flops.csv", *words] if word not in stderr] == [], stderr


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    told = called(
        "suite",
        "score",
        str(tmp_path / "nothing.csv"),
        "--flops",
        str(tmp_path / "flops.csv"),
    )
    assert told.returncode == 1
    assert "flops.csv" in told.stderr
    assert called("suite", "score", "table.csv").returncode == 2


@pytest.mark.parametrize("is_flops", [True, False])
def test_a_pipe_into_which_nobody_writes_is_not_waited_for(
    tmp_path: Path,
    is_flops: bool,
) -> None:
    (tmp_path / "file.csv").write_text(FLOPS)
    os.mkfifo(tmp_path / "pipe")
    table, flops = ("file.csv", "pipe") if is_flops else ("pipe", "file.csv")
    words = ["suite", "score", str(tmp_path / table), "--flops", str(tmp_path / flops)]
    told = called(*words)
    assert told.returncode == 1
    assert ("regular file" in told.stderr) is True
