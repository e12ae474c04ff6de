from __future__ import annotations

import csv
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lpirc_score import METRICS
from referee.cli import main

DATA = Path(__file__).parents[4] / "shared" / "data"
TRUTH = (
    "image,class,xmin,ymin,xmax,ymax\n1,1,10,10,29,29\n2,1,10,10,29,29\n2,4,0,0,9,9\n"
)
FOUND = "image,class,confidence,xmin,ymin,xmax,ymax\n1,1,0.9,10,10,29,29\n2,4,0.8,0,0,9,9\n2,4,0.9,50,0,59,9\n"
COUNTED = [("1", 2, 1, 0), ("4", 1, 1, 1)]
KEYS = [
    "metric",
    "map",
    "ap",
    "categories",
    "categories_with_ground_truth",
    "images",
    "detections",
]
KEYS += ["energy_wh", "score", "map_ilsvrc_det", "signature"]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return [
        write(tmp_path, "truth.csv", TRUTH),
        write(tmp_path, "found.csv", FOUND),
    ]


def write(
    folder: Path,
    name: str,
    content: str,
) -> str:
    (folder / name).write_text(content)
    return str(folder / name)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["score", *arguments])


def document(*arguments: str) -> dict[str, Any]:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    parsed: dict[str, Any] = json.loads(result.stdout)
    more = ["summary"] if parsed["metric"] == "coco" else []
    assert list(parsed) == KEYS + more
    return parsed


def test_json_is_one_document_with_everything(files: list[str]) -> None:
    parsed = document(*files)
    assert parsed["ap"] == {"1": 0.5, "4": 0.5}
    assert parsed["map"] == 0.5
    assert parsed["categories_with_ground_truth"] == 2
    assert parsed["images"] == 2
    assert parsed["detections"] == 3
    assert parsed["metric"] == "lpirc"
    assert parsed["energy_wh"] is None
    assert parsed["score"] is None


def test_energy_gives_a_score(files: list[str]) -> None:
    parsed = document(*files, "--energy-wh", "2.082")
    assert parsed["energy_wh"] == 2.082
    assert parsed["score"] == 0.5 / 2.082


def test_the_table_names_categories_counts_map_and_score(files: list[str]) -> None:
    result = call(*files, "--energy-wh", "0.3")
    assert result.exit_code == 0
    assert "mAP 0.50000, the mean of 2 categories" in result.output
    assert "score 1.6667 mAP/Wh with 0.3 Wh" in result.output
    assert "signature lpirc|iou:0.5|" in result.output
    (row,) = (line for line in result.output.splitlines() if line.startswith("│  4"))
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "4",
        "4",
        "1",
        "1",
        "1",
        "0.50000",
    ]


@pytest.mark.parametrize("metric", METRICS)
def test_the_map_that_compares_with_published_champions_stands_beside(
    tmp_path: Path,
    metric: str,
) -> None:
    truth = write(
        tmp_path,
        "truth.csv",
        "image,class,xmin,ymin,xmax,ymax\n1,1,10,10,14,14\n1,2,0,0,99,99\n",
    )
    # A third of the small object, which is enough for ilsvrc-det only.
    found = write(tmp_path, "found.csv", "1 1 0.9 12.5 10 17.5 14\n1 2 0.9 0 0 99 99\n")
    options = ["--metric", metric, "--json"]
    result = json.loads(call(truth, found, *options).stdout)
    assert result["map_ilsvrc_det"] == 1.0
    assert result["map"] == pytest.approx(1.0 if metric == "ilsvrc-det" else 0.5)
    told = call(truth, found, "--metric", metric).stdout
    assert (
        "mAP 1.00000 by ilsvrc-det, to compare with published champions" in told
    ) == (metric != "ilsvrc-det")


def test_a_blacklist_holds_for_both_maps(files: list[str], tmp_path: Path) -> None:
    blacklist = write(tmp_path, "blacklist.csv", "image,class\n2,1\n")
    assert document(*files)["map_ilsvrc_det"] == 0.5
    assert document(*files, "--blacklist", blacklist)["map_ilsvrc_det"] == 0.75


def test_without_energy_no_score_is_told(files: list[str]) -> None:
    assert "score" not in call(*files).output


def test_metric_iou_and_blacklist_reach_the_scorer(
    files: list[str],
    tmp_path: Path,
) -> None:
    blacklist = write(tmp_path, "blacklist.csv", "image,class\n2,4\n")
    parsed = document(
        *files, "--metric", "ilsvrc-det", "--iou", "0.75", "--blacklist", blacklist
    )
    assert parsed["ap"] == {"1": 0.5, "4": None}
    assert parsed["map"] == 0.5
    assert parsed["categories_with_ground_truth"] == 1
    assert parsed["signature"].startswith("ilsvrc-det|iou:0.75|blacklist:1-")


def test_images_without_objects_are_named_by_their_list(
    files: list[str],
    tmp_path: Path,
) -> None:
    more = write(tmp_path, "more.csv", FOUND + "3,1,0.95,0,0,5,5\n")
    images = write(tmp_path, "images.csv", "image\n1\n2\n3\n")
    refused = call(files[0], more)
    assert refused.exit_code == 1
    assert refused.stdout == ""
    assert "more.csv: line 5: image '3' is unknown" in refused.stderr
    parsed = document(files[0], more, "--images", images)
    assert parsed["images"] == 3
    assert parsed["ap"]["1"] == 0.25


def test_signatures_tell_ground_truths_apart(files: list[str], tmp_path: Path) -> None:
    images = write(tmp_path, "images.csv", "image\n1\n2\n")
    other = write(tmp_path, "other.csv", TRUTH + "1,4,0,0,9,9\n")
    signatures = {
        document(*files)["signature"],
        document(other, files[1])["signature"],
        document(*files, "--images", images)["signature"],
    }
    assert len(signatures) == 3
    assert document(*files)["signature"] in signatures


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--iou", "0"], "IoU threshold"),
        (["--energy-wh", "0"], "above 0 Wh"),
        (["--energy-wh", "nan"], "above 0 Wh"),
        (["--blacklist", "nowhere.csv"], "nowhere.csv: no such file; check the path"),
    ],
)
def test_failures_are_one_line_on_stderr(
    files: list[str],
    options: list[str],
    words: str,
) -> None:
    result = call(*files, *options, "--json")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_range_of_thresholds_names_the_metric_that_has_one(files: list[str]) -> None:
    for asked in ("0.5:0.95", "0.50,0.95", ".5:.05:.95", "0,5-0,95"):
        result = call(*files, "--iou", asked)
        assert result.exit_code == 2
        assert f"'{asked}' is not one threshold" in result.stderr
        assert "write: --metric coco" in result.stderr


INVERTED = "1,1,0.3,5,5,4,9\n"
NEW_CATEGORY = "1,3,0.9,1,1,2,2\n1,8.0,0.9,1,1,2,2\n"
NEW_IMAGE = "9,1,0.9,1,1,2,2\n"
OFFICIAL = ["ilsvrc-det", "voc-area", "voc-11", "coco"]
INVERTED_WORDS = "line 5: the box 5, 5, 4, 9 is inverted; scored unchanged"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (INVERTED, "is inverted"),
        (NEW_CATEGORY, "category '3' is unknown"),
        (NEW_IMAGE, "image '9' is unknown"),
    ],
)
def test_the_contest_s_own_rule_takes_nothing_odd(
    files: list[str],
    tmp_path: Path,
    rows: str,
    words: str,
) -> None:
    result = call(files[0], write(tmp_path, "odd.csv", FOUND + rows), "--json")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "odd.csv: line 5: " in result.stderr
    assert words in result.stderr


def test_objects_that_a_csv_has_twice_are_told_and_counted(
    files: list[str],
    tmp_path: Path,
) -> None:
    twice = write(tmp_path, "twice.csv", f"{TRUTH}2,4,0,0,9,9\n")
    result = call(twice, files[1], "--json")
    assert result.exit_code == 0
    assert result.stderr == (
        f"referee: warning: {twice}: 1 row repeats an earlier one, and each counts as an object of its own; "
        "the first is image 2, class 4, box 0, 0, 9, 9.\n"
    )
    assert json.loads(result.stdout)["categories"]["4"]["objects"] == 2


@pytest.mark.parametrize("metric", OFFICIAL)
def test_official_metrics_take_what_their_programs_take_and_say_so(
    files: list[str],
    tmp_path: Path,
    metric: str,
) -> None:
    odd = write(tmp_path, "odd.csv", FOUND + INVERTED + NEW_CATEGORY)
    result = call(files[0], odd, "--metric", metric, "--json")
    assert result.exit_code == 0
    inverted, category = result.stderr.splitlines()
    assert inverted.startswith(f"referee: warning: {odd}: {INVERTED_WORDS}")
    assert inverted.endswith("(1 row of this kind)")
    assert f"{odd}: line 6: category 3 is not in the ground truth" in category
    assert category.endswith("(2 rows of this kind)")
    parsed = json.loads(result.stdout)
    assert parsed["ap"]["3"] is None
    assert parsed["ap"]["8"] is None
    assert parsed["categories_with_ground_truth"] == 2


@pytest.mark.parametrize("metric", OFFICIAL)
@pytest.mark.parametrize(
    "row",
    ["1,cat,0.9,1,1,2,2", "1,1.5,0.9,1,1,2,2", "1,1,nan,1,1,2,2", "1,1,0.9,inf,1,2,2"],
)
def test_names_and_numbers_that_are_none_are_errors_for_every_metric(
    files: list[str],
    tmp_path: Path,
    metric: str,
    row: str,
) -> None:
    result = call(
        files[0], write(tmp_path, "odd.csv", f"{FOUND}{row}\n"), "--metric", metric
    )
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "odd.csv: line 5: " in result.stderr


@pytest.mark.parametrize("metric", OFFICIAL)
def test_declared_images_and_categories_are_all_there_are(
    tmp_path: Path,
    metric: str,
) -> None:
    document = {
        "images": [{"id": 1}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [
            {
                "id": 1,
                "image_id": 1,
                "category_id": 1,
                "bbox": [1, 1, 5, 5],
            }
        ],
    }
    truth = write(tmp_path, "truth.json", json.dumps(document))
    header = FOUND.splitlines()[0]
    for row, words in (
        ("1,3,0.9,1,1,2,2", "category '3'"),
        ("9,1,0.9,1,1,2,2", "image '9'"),
    ):
        result = call(
            truth, write(tmp_path, "odd.csv", f"{header}\n{row}\n"), "--metric", metric
        )
        assert result.exit_code == 1
        assert f"line 2: {words} is unknown" in result.stderr


def test_only_voc_takes_images_that_only_detections_name(
    files: list[str],
    tmp_path: Path,
) -> None:
    odd = write(tmp_path, "odd.csv", FOUND + NEW_IMAGE)
    images = write(tmp_path, "images.csv", "image\n1\n2\n")
    for metric in OFFICIAL:
        result = call(files[0], odd, "--metric", metric, "--json")
        assert result.exit_code == (0 if metric.startswith("voc") else 1)
        assert "line 5: image" in result.stderr
        exit_code = call(
            files[0], odd, "--metric", metric, "--images", images
        ).exit_code
        assert exit_code == 1
    taken = json.loads(call(files[0], odd, "--metric", "voc-area", "--json").stdout)
    assert taken["images"] == 3
    assert taken["detections"] == 4


SUMMARY = ["AP", "AP50", "AP75", "APsmall", "APmedium", "APlarge"]
SUMMARY += ["AR1", "AR10", "AR100", "ARsmall", "ARmedium", "ARlarge"]


@pytest.mark.parametrize("engine", ["own", "pycocotools"])
def test_coco_has_a_summary(files: list[str], engine: str) -> None:
    result = call(*files, "--metric", "coco", "--engine", engine, "--json")
    parsed = json.loads(result.stdout)
    assert list(parsed) == [*KEYS, "summary"]
    assert list(parsed["summary"]) == SUMMARY
    assert parsed["summary"]["APlarge"] is None
    assert parsed["map"] == parsed["summary"]["AP"]
    scored = [
        each for each in parsed["categories"].values() if each["ap50"] is not None
    ]
    assert sum(each["ap50"] for each in scored) / len(scored) == pytest.approx(
        parsed["summary"]["AP50"]
    )
    assert sum(each["ap75"] for each in scored) / len(scored) == pytest.approx(
        parsed["summary"]["AP75"]
    )
    table = call(*files, "--metric", "coco", "--engine", engine).output
    assert "coco, IoU .50:.95" in table
    assert "APlarge none" in table


@pytest.mark.parametrize(
    "options",
    [
        ["--metric", "coco", "--iou", "0.5"],
        ["--engine", "pycocotools"],
    ],
)
def test_options_that_contradict_each_other_are_a_mistake_of_usage(
    files: list[str],
    options: list[str],
) -> None:
    result = call(*files, *options)
    assert result.exit_code == 2
    assert result.stdout == ""


def test_curves_are_written_as_a_table(files: list[str], tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    document(*files, "--curves", str(path))
    assert path.read_text().splitlines() == [
        "category,name,rank,recall,precision,confidence",
        "1,1,1,0.5,1.0,0.9",
        "4,4,2,1.0,0.5,0.8",
    ]


@pytest.mark.parametrize("metric", ["lpirc", "coco"])
def test_the_document_counts_objects_and_detections_by_category(
    files: list[str],
    metric: str,
) -> None:
    counted = document(*files, "--metric", metric)["categories"]
    assert [
        (key, each["objects"], each["found"], each["false"])
        for key, each in counted.items()
    ] == COUNTED


def test_cocos_curves_are_written_as_a_table(files: list[str], tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    document(*files, "--metric", "coco", "--curves", str(path))
    header, *lines = path.read_text().splitlines()
    assert header == "category,name,recall,precision_50,precision_75"
    assert [line.split(",")[0] for line in lines] == ["1"] * 101 + ["4"] * 101
    assert [float(cell) for cell in lines[0].split(",")] == pytest.approx(
        [1, 1, 0, 1, 1]
    )


def test_cocos_curves_are_drawn(files: list[str], tmp_path: Path) -> None:
    pytest.importorskip(
        "matplotlib",
        reason="matplotlib draws the curves and is not installed",
    )
    document(*files, "--metric", "coco", "--curves", str(tmp_path / "curves.svg"))
    assert (tmp_path / "curves.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize(
    ("suffix", "start"),
    [
        (".png", b"\x89PNG"),
        (".SVG", b"<?xml"),
    ],
)
def test_curves_are_drawn(
    files: list[str],
    tmp_path: Path,
    suffix: str,
    start: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip(
        "matplotlib",
        reason="matplotlib draws the curves and is not installed",
    )
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path))
    path = tmp_path / f"curves{suffix}"
    document(*files, "--curves", str(path))
    assert path.read_bytes().startswith(start)


def test_without_matplotlib_drawing_is_refused_in_words(
    files: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = call(*files, "--curves", str(tmp_path / "curves.png"))
    assert result.exit_code == 1
    assert result.stdout == ""
    assert (
        result.stderr == "referee: Drawing needs matplotlib, which is not installed: "
        "pip install matplotlib\n"
    )


def test_curves_that_cannot_be_written_are_told_before_anything_is_read(
    tmp_path: Path,
) -> None:
    (tmp_path / "loop.png").symlink_to("loop.png")
    for name in ("none/curves.png", "loop.png"):
        told = call("no-truth", "no-detections", "--curves", str(tmp_path / name))
        assert told.exit_code == 1
        assert told.stdout == ""
        assert f"{name}: it cannot be written: " in told.stderr


def test_curves_that_cannot_be_written_are_told(
    files: list[str],
    tmp_path: Path,
) -> None:
    for name, words in (
        ("curves.txt", "ends in .csv, .png or .svg"),
        ("none/curves.csv", "No such file"),
    ):
        result = call(*files, "--curves", str(tmp_path / name), "--json")
        assert result.exit_code == 1
        assert result.stdout == ""
        assert words in result.stderr
    pipe = tmp_path / "curves.svg"
    os.mkfifo(pipe)
    stderr = call(*files, "--curves", str(pipe)).stderr
    assert "curves.svg: it cannot be written: it is not a regular file" in stderr


def test_a_blacklisted_pair_that_nobody_names_has_no_effect(
    files: list[str],
    tmp_path: Path,
) -> None:
    blacklist = write(tmp_path, "blacklist.csv", "image,class\n1,77\n")
    assert call(*files, "--blacklist", blacklist).exit_code == 1
    result = call(*files, "--blacklist", blacklist, "--metric", "ilsvrc-det", "--json")
    assert "line 2: category 77 is not in the ground truth" in result.stderr
    assert list(json.loads(result.stdout)["ap"]) == ["1", "4"]


def test_an_unknown_metric_is_a_mistake_of_usage(files: list[str]) -> None:
    assert call(*files, "--metric", "map").exit_code == 2


def test_real_detections_on_real_photographs() -> None:
    if not DATA.is_dir():
        reason = f"{DATA} is absent: the photographs are not part of the project"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    folder = DATA / "voc100"
    paths = [
        str(folder / "annotations_coco" / "instances.json"),
        str(folder / "detections" / "yolo.csv"),
    ]
    parsed = document(*paths)
    assert parsed["images"] == 100
    assert parsed["detections"] == 452
    assert len(parsed["ap"]) == 20
    assert 0.5 < parsed["map"] < 0.7
    assert "│ pottedplant │" in call(*paths).output


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_a_pipe_is_refused_where_it_would_have_to_be_read_twice(
    files: list[str],
    tmp_path: Path,
    place: int,
) -> None:
    images = write(tmp_path, "images.csv", "image\n1\n2\n")
    blacklist = write(tmp_path, "blacklist.csv", "image,class\n1,1\n")
    paths = [*files, images, blacklist]
    mine, theirs = os.pipe()  # as a shell gives one for <(command)
    os.write(theirs, Path(paths[place]).read_bytes())
    os.close(theirs)
    paths[place] = f"/dev/fd/{mine}"
    truth, found, images, blacklist = paths
    told = call(truth, found, "--images", images, "--blacklist", blacklist)
    assert told.exit_code == 1
    assert told.stderr == f"referee: /dev/fd/{mine}: it is not a regular file\n"
    os.close(mine)


HEADER = FOUND.splitlines()[0]
WORSE = f"{HEADER}\n1,1,0.9,10,10,29,29\n2,4,0.8,0,0,9,9\n2,4,0.9,50,0,59,9\n2,1,0.95,60,60,79,79\n"


def test_several_files_and_metrics_are_compared_side_by_side(
    files: list[str],
    tmp_path: Path,
) -> None:
    worse = write(tmp_path, "worse.csv", WORSE)
    both = [*files, worse, "--metric", "lpirc", "--metric", "coco"]
    told = json.loads(call(*both, "--json").stdout)
    assert [(one["file"], one["metric"]) for one in told["files"]] == [
        (file, metric) for file in (files[1], worse) for metric in ("lpirc", "coco")
    ]
    alone = [
        document(files[0], file, "--metric", metric)
        for file in (files[1], worse)
        for metric in METRICS
    ]
    assert all(
        {key: one[key] for key in one if key != "file"} in alone
        for one in told["files"]
    )
    order, by_coco = told["orders"]
    assert by_coco["metric"] == "coco"
    assert order["metric"] == "lpirc"
    assert order["first"] == files[1]
    assert order["second"] == worse
    assert 0.5 < order["chance"] < 1.0
    table = call(*both).stdout
    assert (
        f"lpirc: {files[1]} is ahead of {worse} with a probability of {order['chance']:.1%}"
        in table
    )
    (row,) = (line for line in table.splitlines() if "mAP  " in line)
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert cells[2:] == [f"{one['map']:.5f}" for one in told["files"]]


def test_the_order_of_two_files_is_that_of_their_scores_paired_on_the_same_images(
    files: list[str],
    tmp_path: Path,
) -> None:
    again = write(tmp_path, "again.csv", FOUND)
    energies = ["--energy-wh", "2", "--energy-wh", "1"]
    (order,) = json.loads(call(*files, again, *energies, "--json").stdout)["orders"]
    # The same detections for half the energy: better on every choice of images, except where both find nothing.
    assert order["first"] == again
    assert order["second"] == files[1]
    assert order["chance"] == 1.0
    (tie,) = json.loads(call(*files, again, "--json").stdout)["orders"]
    assert tie["chance"] == 0.5
    assert "score mAP/Wh" in call(*files, again, *energies).stdout


def test_energies_that_are_not_one_for_each_file_are_a_mistake_of_usage(
    files: list[str],
) -> None:
    told = call(*files, files[1], "--energy-wh", "2")
    assert told.exit_code == 2
    assert told.stdout == ""
    assert "1 --energy-wh for 2 files; give it once for each file" in told.stderr


def test_the_curves_of_several_files_are_overlaid(
    files: list[str],
    tmp_path: Path,
) -> None:
    pytest.importorskip(
        "matplotlib",
        reason="matplotlib draws the curves and is not installed",
    )
    worse = write(tmp_path, "worse.csv", WORSE)
    path = tmp_path / "curves.csv"
    both = [
        *files,
        worse,
        "--metric",
        "lpirc",
        "--metric",
        "coco",
        "--json",
        "--curves",
    ]
    assert call(*both, str(path)).exit_code == 0
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert list(dict.fromkeys(row["of"] for row in rows)) == [
        f"{file} {metric}" for file in (files[1], worse) for metric in ("lpirc", "coco")
    ]
    assert rows[0] == {
        "of": f"{files[1]} lpirc",
        "category": "1",
        "name": "1",
        "rank": "1",
        "recall": "0.5",
        "precision": "1.0",
        "confidence": "0.9",
        "precision_50": "",
        "precision_75": "",
    }
    assert call(*both, str(tmp_path / "curves.svg")).exit_code == 0
    assert (tmp_path / "curves.svg").read_bytes().startswith(b"<?xml")


def test_voc_annotations_are_scored_as_they_are(tmp_path: Path) -> None:
    annotation = (
        "<annotation><filename>{}</filename><object><name>cat</name><bndbox><xmin>10</xmin><ymin>10</ymin>"
        "<xmax>29</xmax><ymax>29</ymax></bndbox></object></annotation>"
    )
    folder = tmp_path / "Annotations"
    folder.mkdir()
    for name in ("000007", "000012"):
        (folder / f"{name}.xml").write_text(annotation.format(f"{name}.jpg"))
    found = write(tmp_path, "found.csv", f"{HEADER}\n000007,cat,0.9,10,10,29,29\n")
    parsed = document(str(tmp_path), found, "--metric", "voc-area")
    assert parsed["map"] == 0.5
    assert parsed["images"] == 2
    assert parsed["ap"] == {"1": 0.5}
    (folder / "000012.xml").write_text(
        annotation.format("000012.jpg").replace("29", "28")
    )
    signature = document(str(tmp_path), found, "--metric", "voc-area")["signature"]
    assert signature != parsed["signature"]
