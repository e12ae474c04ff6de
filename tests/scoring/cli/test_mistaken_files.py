"""Files that are swapped or empty are called so by the command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from lpirc_score.cli.program import main
from lpirc_testsets import synthesize

TRUTH = "image,class,xmin,ymin,xmax,ymax\n1,1,1,1,9,9\n"
FOUND = "image,class,confidence,xmin,ymin,xmax,ymax\n1,1,0.5,1,1,9,9\n"
RESULTS = '[{"image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9], "score": 0.5}]'


@pytest.mark.parametrize(
    ("truth", "told"),
    [
        ("found.csv", "it has confidences, as detections have: is it given in place"),
        ("found.json", "a list, as detections in COCO's form are, and no ground truth"),
        ("empty.csv", "empty.csv: the file is empty. truth.csv is ground truth"),
        ("manifest.json", "it is the manifest of a test set; name its folder, ."),
    ],
)
def test_detections_in_place_of_the_ground_truth_are_called_so(
    tmp_path: Path, truth: str, told: str
) -> None:
    (tmp_path / "truth.csv").write_text(TRUTH)
    (tmp_path / "found.csv").write_text(FOUND)
    (tmp_path / "found.json").write_text(RESULTS)
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "manifest.json").write_text('{"format": "lpirc-testset"}')
    program = [str(Path(sys.executable).with_name("lpirc-score")), truth, "truth.csv"]
    done = subprocess.run(
        program, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 1
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_behind_json_is_not_taken_for_missing_detections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("truth.csv").write_text(TRUTH)
    Path("found.csv").write_text(FOUND)
    done = CliRunner().invoke(main, ["truth.csv", "found.csv", "--json", "o ut.json"])
    assert done.exit_code == 2
    assert "--json takes no value" in done.stderr
    assert "write --json > 'o ut.json'" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("truth.csv found.csv --confusion 0.5", "which is taken as one of the DETECTIONS; --confusion takes no value"),
        ("truth.csv found.csv --f1 --errors x", "--errors and --f1 take no value."),
        ("truth.csv found.csv --iou 50%", "'50%' is not a number; write 0.5."),
        ("truth.csv found.csv --iou 0,5", "'0,5' is not a number; write 0.5."),
        ("truth.csv found.csv --energy-wh 2.1Wh", "'2.1Wh' is not a number; its unit is Wh; write 2.1."),
        ("truth.csv found.csv --energy-wh 2.1kWh", "'2.1kWh' is not a number; its unit is Wh; write 2100."),
        ("truth.csv found.csv --energy-wh 7500J", "'7500J' is not a number; its unit is Wh; write 2.08333."),
        ("truth.csv found.csv --energy-wh 7.5kJ", "'7.5kJ' is not a number; its unit is Wh; write 2.08333."),
        ("truth.csv found.csv --energy-wh 5kW", "'5kW' is not a number; its unit is Wh."),
        ("truth.csv found.csv --energy-wh 5%", "'5%' is not a number; its unit is Wh."),
        ("truth.csv found.csv --iou 1e", "'1e' is not a number."),
        ("truth.csv found.csv --energy-wh two", "'two' is not a number; its unit is Wh."),
        ("truth.csv found.csv --iou 7.5kJ", "'7.5kJ' is not a number."),
        ("truth.csv found.csv --engine pycocotools", "coco, not lpirc; give --metric coco alone."),
        ("--ground-truth truth.csv found.csv", "Write it without --ground-truth: lpirc-score GROUND_TRUTH DET"),
        ("truth.csv found.csv -o s.json", "to keep it in a file, write > FILE in place of -o FILE."),
        ("truth.csv -", "- is not a file; name one"),
    ],
)  # fmt: skip
def test_a_slip_on_the_command_line_is_told_with_what_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("truth.csv").write_text(TRUTH)
    Path("found.csv").write_text(FOUND)
    done = CliRunner().invoke(main, words.split())
    assert done.exit_code == 2
    assert told in done.stderr


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("f.csv", TRUTH, "it has no confidences: is the ground truth given in place of"),
        ("f.csv", FOUND.title(), "; write the names in small letters"),
        ("f.csv", "image,confidence,class,xmin,ymin,xmax,ymax\n", "; put the columns in that order"),
        ("f.csv", FOUND.replace("0.5", "90%"), "line 2: '90%' is not a number; write 0.9"),
        ("f.csv", FOUND.replace("0.5", "12O"), "line 2: '12O' is not a number\n"),
        ("f.csv", FOUND.replace("0.5", '"0,5"'), "line 2: '0,5' is not a number; write 0.5"),
        ("f.json", RESULTS.replace("}]", "},]"), "not JSON: line 1: take out the comma before ]"),
        ("f.json", RESULTS.replace("}", ",}"), "not JSON: line 1: take out the comma before }"),
        ("f.json", RESULTS.replace('"', "'"), ": a text stands in double quotes"),
        ("f.json", RESULTS.replace("0.5", "None"), "not JSON: line 1: None is not JSON; write null"),
        ("f.json", RESULTS.replace("[{", "[\n// all\n{"), "not JSON: line 2: JSON has no comments; take it out"),
        ("f.json", RESULTS.replace(', "score"', ' "score"'), "a comma is missing before"),
    ],
)  # fmt: skip
def test_a_slip_in_a_file_is_told_with_what_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("truth.csv").write_text(TRUTH)
    Path(name).write_text(text)
    done = CliRunner().invoke(main, ["truth.csv", name])
    assert done.exit_code == 1
    assert told in done.stderr


def test_a_slice_without_its_file_names_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("truth.csv").write_text(TRUTH)
    Path("found.csv").write_text(FOUND)
    words = ["truth.csv", "found.csv", "--slice", "night=1,2"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 1
    assert "--slice night=1,2: there is no file 1,2; it lists the images" in done.stderr


def test_a_row_is_shown_with_the_quotes_that_part_its_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("truth.csv").write_text(TRUTH)
    header = FOUND.splitlines()[0]
    Path("found.csv").write_text(f'{header}\n1,"1,0.5",1,1,9,9\n')
    done = CliRunner().invoke(main, ["truth.csv", "found.csv"])
    assert done.exit_code == 1
    told = "line 2: a row needs 7 values, but this one has 6: '1,\"1,0.5\",1,1,9,9'"
    assert told in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("truth.csv f.csv --curves f.csv", "--curves f.csv is one of the DETECTIONS, "),
        ("truth.csv f.csv --curves truth.csv", "truth.csv is GROUND_TRUTH, which is"),
        ("truth.csv f.csv --curves same.csv", "--curves same.csv is GROUND_TRUTH, "),
        (
            "truth.csv f.csv --images truth.csv --curves o.csv",
            "exists, and is no .csv of --curves; name another file",
        ),
        ("truth.csv f.csv --blacklist b.csv --curves b.csv", "is the file of --blackl"),
        ("truth.csv f.csv --slice a=b.csv --curves b.csv", "is a file of --slice, "),
        ("truth.csv f.csv --img-ids b.csv --curves b.csv", "is the file of --img-ids"),
        ("truth.csv f.csv --html p.html", "p.html exists, and is no .html of --html"),
        ("truth.csv f.csv --html set/x.html", "is in the test set "),
        ("set f.csv --html set/images/x.html", "is in set, which is GROUND_TRUTH and"),
        ("truth.csv dir --curves dir/c.csv", "is in dir, which is one of the DETECT"),
    ],
)
def test_nothing_is_written_over_what_is_read_or_into_a_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    synthesize(tmp_path / "set", images=1, categories=1, size=(64, 64))
    for name in ("truth.csv", "o.csv", "b.csv", "p.html", "f.csv"):
        (tmp_path / name).write_text("1\n")
    (tmp_path / "same.csv").symlink_to("truth.csv")
    (tmp_path / "dir").mkdir()
    before = {one: one.is_file() and one.read_bytes() for one in tmp_path.rglob("*")}
    ran = CliRunner().invoke(main, words.split())
    assert ran.exit_code == 1
    assert told in ran.stderr
    after = {one: one.is_file() and one.read_bytes() for one in tmp_path.rglob("*")}
    assert after == before


@pytest.mark.parametrize("text", ["password", FOUND, "1 1 0.9 1 2 30 40\n"])
def test_swapped_arguments_are_told_with_the_command_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("truth.csv").write_text(TRUTH)
    Path("found.txt").write_text(text)
    done = CliRunner().invoke(main, ["found.txt", "truth.csv"], prog_name="lpirc-score")
    assert done.exit_code == 1
    assert done.stderr.startswith("lpirc-score: GROUND_TRUTH found.txt: ")
    assert done.stderr.endswith(
        " truth.csv is ground truth, which stands first: lpirc-score truth.csv found.txt\n"
    )


def test_a_refused_list_of_images_is_not_called_ground_truth(tmp_path: Path) -> None:
    truth = tmp_path / "truth.csv"
    truth.write_text(TRUTH)
    given = [str(truth), str(truth), "--images", str(tmp_path / "none.csv")]
    done = CliRunner().invoke(main, given)
    assert done.exit_code == 1
    assert "GROUND_TRUTH" not in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("truth.csv found.cvs", "found.cvs: no such file; did you mean found.csv?\n"),
        ("truth.csv found.cvs --json", "found.cvs: no such file; did you mean found.csv?\n"),
        ("none.csv truth.csv --iou 0.4", "truth.csv is ground truth, which stands first; the DETECTIONS follow it\n"),
        ("score truth.csv found.csv --iou 0.4", "; with the same options: lpirc-score truth.csv found.csv\n"),
        ("score truth.csv found.csv", "stands first: lpirc-score truth.csv found.csv\n"),
        ("a.xml found.csv", "a.xml: it is one annotation of VOC; name its folder, .\n"),
        ("day found.csv", "that the line testset in day/contest.toml names, or without it day/testset\n"),
        ("truth.csv day", "day: it is a contest; `referee run export RUN --contest"),
        ("truth.csv yolo.txt", "(five values: YOLO's texts are given by their folder"),
        ("truth.csv found.csv --images 200", "lpirc-score: --images 200: no such file"),
        ("day/contest.toml found.csv", '"image,class,xmin,ymin,xmax,ymax,difficult"\n'),
    ],
)  # fmt: skip
def test_the_right_file_in_the_wrong_place_leads_to_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("truth.csv").write_text(TRUTH)
    Path("found.csv").write_text(FOUND)
    Path("yolo.txt").write_text("0 .5 .5 .1 .1\n")
    Path("a.xml").write_text("<annotation>")
    Path("day").mkdir()
    Path("day/contest.toml").write_text('id = "ca91"   # do not copy it; another\n')
    done = CliRunner().invoke(main, words.split(), prog_name="lpirc-score")
    assert done.exit_code == 1
    assert told in done.stderr


@pytest.mark.parametrize("name", ["-", "A:1", "ftp://a"])
def test_a_file_that_is_there_may_have_an_odd_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("truth.csv").write_text(TRUTH)
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(FOUND)
    done = CliRunner().invoke(main, ["truth.csv", name])
    assert done.exit_code == 0


def test_an_empty_name_is_not_the_present_folder(tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text(TRUTH)
    done = CliRunner().invoke(main, ["", str(tmp_path / "truth.csv")])
    assert done.exit_code == 2
    assert "'GROUND_TRUTH': the name of the file or folder is empty" in done.stderr


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("image,class,xmin,ymin,xmax,ymax,confidence", "; put the columns in that order"),
        ("Unnamed: 0,image,class,confidence,xmin,ymin,xmax,ymax", "; take the first column out, in pandas with"),
        (",image,class,confidence,xmin,ymin,xmax,ymax", "; take the first column out"),
    ],
)  # fmt: skip
def test_a_header_of_another_order_or_with_an_index_is_told_so(
    tmp_path: Path, header: str, told: str
) -> None:
    (tmp_path / "truth.csv").write_text(TRUTH)
    (tmp_path / "found.csv").write_text(f"{header}\n0,1,1,0.5,1,1,9,9\n")
    given = [str(tmp_path / "truth.csv"), str(tmp_path / "found.csv")]
    done = CliRunner().invoke(main, given)
    assert done.exit_code == 1
    assert told in done.stderr
