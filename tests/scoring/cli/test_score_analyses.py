"""The analyses and parts of a set that `lpirc-score` can be asked for: as JSON, in the terminal, by both commands."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lpirc_score import (
    METRICS,
    analyse_errors,
    ap_by_size,
    best_f1,
    calibration,
    confusion_matrix,
    evaluate,
    evaluate_slices,
    label_candidates,
    pool_categories,
    read_detections,
    read_truth,
    select,
)
from lpirc_score.cli.program import main as command
from referee.cli import main as referee

FLAGS = ("errors", "confusion", "f1", "calibration", "sizes", "labels")
ROWS = """image,class,confidence,xmin,ymin,xmax,ymax
1,1,0.9,10,10,29,29
1,4,0.8,60,60,99,99
2,4,0.7,0,0,9,9
2,4,0.95,50,0,59,9
2,1,0.6,100,100,299,299
3,1,0.55,0,0,9,9
"""
OBJECTS = [
    (1, 1, 10, 10, 20, 20),
    (1, 1, 60, 60, 40, 40),
    (2, 1, 100, 100, 200, 200),
    (2, 4, 0, 0, 10, 10),
    (3, 4, 0, 0, 10, 10),
]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    truth = {
        "images": [
            {
                "id": id_,
                "file_name": f"photo{id_}.jpg",
                "width": 400,
                "height": 400,
            }
            for id_ in (1, 2, 3)
        ],
        "categories": [{"id": 1, "name": "cat"}, {"id": 4, "name": "dog"}],
        "annotations": [
            {
                "id": number,
                "image_id": image,
                "category_id": category,
                "bbox": box,
                "area": box[2] * box[3],
                "iscrowd": 0,
            }
            for number, (image, category, *box) in enumerate(OBJECTS, start=1)
        ],
    }
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    (tmp_path / "found.csv").write_text(ROWS)
    return [str(tmp_path / "truth.json"), str(tmp_path / "found.csv")]


def call(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def document(*arguments: str) -> dict[str, Any]:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed


@pytest.mark.parametrize("metric", METRICS)
def test_each_analysis_is_in_the_document_as_the_api_gives_it(
    files: list[str],
    metric: str,
) -> None:
    options = [f"--{flag}" for flag in FLAGS]
    got = document(
        *files,
        "--metric",
        metric,
        *options,
    )
    truth = read_truth(files[0])
    of = (truth, read_detections(files[1], truth), metric)
    errors = analyse_errors(*of)
    assert got["errors"]["gains"] == {str(k): v for k, v in errors.gains.items()}
    assert got["errors"]["counts"] == {str(k): v for k, v in errors.counts.items()}
    assert (got["errors"]["rule"], got["errors"]["iou"]) == (errors.rule, 0.5)
    worst = got["errors"]["worst_images"]
    assert worst
    assert all(one["name"] == f"photo{one['image']}.jpg" for one in worst)
    matrix = confusion_matrix(*of)
    assert got["confusion"]["counts"] == matrix.counts.tolist()
    assert got["confusion"]["names"] == ["cat", "dog", "background"]
    assert got["confusion"]["confidence"] == 0.25
    f1 = best_f1(*of)
    assert got["f1"]["overall"] == asdict(f1.overall)
    assert got["f1"]["categories"] == {
        str(id_): asdict(one) for id_, one in f1.by_category.items() if one
    }
    reliability = calibration(*of)
    assert got["calibration"]["ece"] == reliability.ece
    assert got["calibration"]["bins"] == [asdict(one) for one in reliability.bins]
    assert got["sizes"] == {
        name: {
            "rule": metric,
            "least_area": one.least,
            "most_area": one.most,
            "map": one.map,
            "objects": one.objects,
            "ap": {str(id_): ap for id_, ap in one.ap.items()},
        }
        for name, one in ap_by_size(*of).items()
    }
    labels = [asdict(one) for one in label_candidates(*of)]
    assert got["labels"] == json.loads(json.dumps(labels))
    assert labels
    alone = document(*files, "--metric", metric)
    assert alone == {key: got[key] for key in alone}
    assert set(got) - set(alone) == set(FLAGS)


@pytest.mark.parametrize("flag", FLAGS)
def test_only_what_is_asked_for_is_computed(files: list[str], flag: str) -> None:
    plain = document(*files)
    assert set(document(*files, f"--{flag}")) - set(plain) == {flag}


def test_the_referees_command_says_the_same(files: list[str]) -> None:
    options = [f"--{flag}" for flag in FLAGS]
    ours = call(*files, *options, "--json").stdout
    theirs = (
        CliRunner()
        .invoke(
            referee,
            [
                "score",
                *files,
                *options,
                "--json",
            ],
        )
        .stdout
    )
    assert json.loads(ours) == json.loads(theirs)


def test_the_terminal_shows_every_analysis(files: list[str], tmp_path: Path) -> None:
    (tmp_path / "night.txt").write_text("photo2\n3\n")
    options = [f"--{flag}" for flag in FLAGS]
    night = f"night={tmp_path / 'night.txt'}"
    told = call(
        *files,
        *options,
        "--slice",
        night,
    ).stdout
    for words in (
        "Errors, and what mending each type gains (mAP ",
        "│ duplicate ",
        "Most costly images",
        "Objects (rows) by category found (columns), lpirc, IoU 0.5, confidence 0.25",
        "Best F1 by lpirc at IoU 0.5",
        "one threshold for all",
        "Calibration by lpirc at IoU 0.5: ECE ",
        "│ medium ",
        "Labels to look at",
        "│ 3 photo3.jpg │  0.",
        "│ 1 photo1.jpg │ category  │ cat",
        "│ night │      2 │",
    ):
        assert words in told


def test_a_matrix_of_many_categories_is_told_by_its_pairs(tmp_path: Path) -> None:
    objects = "".join(f"1,{n},{50 * n},0,{50 * n + 9},9\n" for n in range(1, 31))
    rows = "".join(
        f"1 {n % 30 + 1} 0.9 {50 * n} 0 {50 * n + 9} 9\n" for n in range(1, 31)
    )
    (tmp_path / "truth.csv").write_text(f"image,class,xmin,ymin,xmax,ymax\n{objects}")
    (tmp_path / "found.txt").write_text(rows)
    paths = [str(tmp_path / "truth.csv"), str(tmp_path / "found.txt")]
    told = call(*paths, "--confusion").stdout
    assert "Most frequent confusions, lpirc, IoU 0.5" in told
    assert told.count("│          1 │") == 20


def test_where_no_label_is_doubted_that_is_said(files: list[str]) -> None:
    told = call(
        *files,
        "--labels",
        "--confidence",
        "1",
    ).stdout
    assert "No confident detection contradicts a label." in told
    assert (
        document(
            *files,
            "--labels",
            "--confidence",
            "1",
        )["labels"]
        == []
    )


@pytest.mark.parametrize(
    "listing",
    [
        "photo2.jpg,3",
        "2,photo3",
        "FILE",
        "HEADED",
    ],
)
def test_some_images_are_named_by_id_by_name_or_by_a_file(
    files: list[str],
    tmp_path: Path,
    listing: str,
) -> None:
    (tmp_path / "FILE").write_text("photo2.jpg\n\n3\n")
    (tmp_path / "HEADED").write_text('image\n"2"\n3\n')
    given = str(tmp_path / listing) if listing.isupper() else listing
    got = document(*files, "--img-ids", given)
    truth = read_truth(files[0])
    part = select(truth, read_detections(files[1], truth), images=[2, 3])
    assert got["map"] == evaluate(*part).map
    assert got["images"] == 2
    assert got["selection"] == {"images": [2, 3], "categories": None, "pooled": False}
    assert got["signature"] != document(*files)["signature"]


def test_some_categories_and_all_categories_as_one(files: list[str]) -> None:
    truth = read_truth(files[0])
    whole = (truth, read_detections(files[1], truth))
    dogs = document(*files, "--cat-ids", "dog")
    assert dogs["ap"] == {"4": evaluate(*select(*whole, categories=[4])).ap[4]}
    pooled = document(
        *files,
        "--no-cats",
        "--metric",
        "coco",
    )
    assert pooled["map"] == evaluate(*pool_categories(*whole), "coco").map
    assert pooled["selection"]["pooled"] is True
    signatures = {
        document(*files, *options)["signature"]
        for options in ([], ["--no-cats"], ["--cat-ids", "4"], ["--cat-ids", "1"])
    }
    assert len(signatures) == 4


def test_what_is_a_part_says_so_wherever_it_is_shown(
    files: list[str],
    tmp_path: Path,
) -> None:
    page = tmp_path / "page.html"
    parts = ["--img-ids", "2,3", "--cat-ids", "dog", "--no-cats", "--html", str(page)]
    said = "A part of the set: 2 of 3 images, 1 of 2 categories. All categories count as one."
    assert f"{said}\n" in call(*files, *parts).stdout
    assert said in page.read_text()
    assert "\nAll categories count as one.\n" in call(*files, "--no-cats").stdout
    assert "A part of the set" not in call(*files, "--html", str(page)).stdout
    assert "A part of the set" not in page.read_text()


def test_a_blacklist_holds_in_every_part(files: list[str], tmp_path: Path) -> None:
    (tmp_path / "blacklist.csv").write_text("image,class\n2,1\n")
    banned = ["--blacklist", str(tmp_path / "blacklist.csv")]
    every = [f"--{flag}" for flag in FLAGS]
    got = document(*files, *banned, *every)
    objects = sum(one["objects"] for one in got["categories"].values())
    assert objects == got["sizes"]["all"]["objects"] == 4
    assert got["f1"]["overall"]["objects"] == 4
    assert sum(map(sum, got["confusion"]["counts"][:-1])) == 4
    part = document(
        *files,
        *banned,
        "--img-ids",
        "1,2,3",
    )
    assert part["map"] == got["map"]
    assert document(*files, *banned, "--no-cats")["categories"]["1"]["objects"] == 4


def test_slices_are_scored_as_the_api_does(files: list[str], tmp_path: Path) -> None:
    (tmp_path / "day.txt").write_text("1\n")
    (tmp_path / "night.txt").write_text("photo2\nphoto3\n")
    slices = [
        option
        for name in ("day", "night")
        for option in ("--slice", f"{name}={tmp_path / name}.txt")
    ]
    got = document(*files, *slices)["slices"]
    truth = read_truth(files[0])
    found = read_detections(files[1], truth)
    scores = evaluate_slices(truth, found, {"day": [1], "night": [2, 3]})
    assert {name: one["map"] for name, one in got.items()} == {
        name: one.map for name, one in scores.items()
    }
    assert (got["night"]["images"], got["night"]["objects"]) == (2, 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--img-ids", "1,9"], "--img-ids: entry 2: image '9' is unknown"),
        (
            ["--img-ids", "nigth.txt"],
            "nigth.txt is no file, and image 'nigth.txt' is unknown",
        ),
        (["--img-ids", "1-3"], "; ranges are not read: name each id, 1,2,3"),
        (["--img-ids", "1,4:9"], "; ranges are not read: name each id, 4,5,6,..."),
        (["--img-ids", ","], "--img-ids: the list is empty"),
        (["--cat-ids", "bird"], "--cat-ids: entry 1: category 'bird' is unknown"),
        (["--slice", "night"], "--slice night: a slice is NAME=FILE"),
        (["--slice", "night=none.txt"], "there is no file none.txt"),
        (
            [
                "--slice",
                "a=1.txt",
                "--slice",
                "a=1.txt",
            ],
            "a is named twice",
        ),
        (["--slice", "a=odd.txt"], "odd.txt: line 2: image 'photo9' is unknown"),
        (
            [
                "--slice",
                "a=1.txt",
                "--img-ids",
                "2",
            ],
            "none of its images is among",
        ),
        (["--html", "page.pdf"], "page.pdf: the page needs a file name that ends in"),
        (["--html", "none/page.html"], "none/page.html: it cannot be written"),
    ],
)
def test_a_part_that_does_not_exist_is_one_line(
    files: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "1.txt").write_text("1\n")
    (tmp_path / "odd.txt").write_text("1\nphoto9\n")
    result = call(*files, *options)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


@pytest.mark.parametrize("confidence", ["-0.1", "1.1", "x"])
def test_a_confidence_outside_0_to_1_is_a_mistake_of_usage(
    files: list[str],
    confidence: str,
) -> None:
    assert (
        call(
            *files,
            "--labels",
            "--confidence",
            confidence,
        ).exit_code
        == 2
    )


def test_a_confidence_that_nothing_takes_is_a_mistake_of_usage(
    files: list[str],
    tmp_path: Path,
) -> None:
    result = call(*files, "--f1", "--confidence", "0.5")
    assert result.exit_code == 2
    assert "--confidence is for --confusion and --labels" in result.stderr
    page = ["--html", str(tmp_path / "page.html")]
    assert call(*files, *page, "--confidence", "0.5").exit_code == 0


def test_confidences_that_are_no_probabilities_have_no_calibration(
    files: list[str],
    tmp_path: Path,
) -> None:
    scores = tmp_path / "scores.csv"
    scores.write_text(ROWS.replace("0.95", "87"))
    result = call(files[0], str(scores), "--calibration")
    assert result.exit_code == 1
    assert "from 0 to 1, but one is 87" in result.stderr
    assert call(files[0], str(scores)).exit_code == 0


def test_several_files_have_their_analyses_each(
    files: list[str],
    tmp_path: Path,
) -> None:
    (tmp_path / "other.csv").write_text("\n".join(ROWS.splitlines()[:-2]))
    got = document(*files, str(tmp_path / "other.csv"), "--f1")
    assert [one["f1"]["overall"]["true"] for one in got["files"]] == [3, 2]
    (tmp_path / "night.txt").write_text("2\n")
    paths = [*files, str(tmp_path / "other.csv")]
    told = call(*paths, "--f1", "--slice", f"night={tmp_path}/night.txt").stdout
    assert told.count("Best F1 by lpirc") == told.count("│ night │") == 2
    assert f"\n{paths[1]} by lpirc\n" in told
    assert f"{paths[1]} by lpirc" not in call(*paths).stdout


def test_beside_a_page_the_terminal_shows_only_what_was_asked_for_by_name(
    files: list[str],
    tmp_path: Path,
) -> None:
    page = ["--html", str(tmp_path / "page.html")]
    assert call(*files, *page).stdout == call(*files).stdout
    assert call(*files, *page, "--f1").stdout == call(*files, "--f1").stdout
    every = [f"--{flag}" for flag in FLAGS]
    assert document(*files, *page) == document(*files, *every)


def test_a_part_without_objects_has_no_figure_in_tables_document_and_page(
    files: list[str], tmp_path: Path
) -> None:
    part = ("--img-ids", "3", "--cat-ids", "cat", "--energy-wh", "2")
    options = [f"--{flag}" for flag in FLAGS]
    for metric in METRICS:
        by = (*files, *part, *options, "--metric", metric)
        text = call(*by).output
        assert "mAP none, since no category has an object" in text
        assert "score none mAP/Wh with 2.0 Wh" in text
        got = document(*by)
        told = (got["map"], got["map_ilsvrc_det"], got["score"])
        assert told == (None, None, None)
        assert (got["f1"]["mean"], got["f1"]["overall"]) == (None, None)
        if metric != "coco":
            assert set(got["errors"]["gains"].values()) == {None}
    page = tmp_path / "score.html"
    other = tmp_path / "other.txt"
    other.write_bytes(Path(files[1]).read_bytes())
    both = (files[0], files[1], str(other), *part[:4], "--metric", "lpirc")
    compared = call(*both, "--metric", "coco", "--html", str(page))
    assert compared.exit_code == 0, compared.output
    assert "<dt>mAP</dt><dd>none</dd>" in page.read_text()
    assert "No category has an object, so there is no mAP." in page.read_text()
    assert "0.00000" not in compared.output


def test_a_slice_without_objects_has_no_figure(
    files: list[str], tmp_path: Path
) -> None:
    (tmp_path / "third.txt").write_text("3\n")
    text = call(
        *files, "--cat-ids", "cat", "--slice", f"third={tmp_path / 'third.txt'}"
    )
    assert "none" in text.output.splitlines()[-2]
