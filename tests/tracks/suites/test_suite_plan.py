from __future__ import annotations

import os
from pathlib import Path

import pytest

from lpirc_tracks.suites.suite_plan import read_plan
from referee.errors import RefereeError

TEST = '[[tests]]\nmodel = "m"\nimplementation = "float"\nfile = "m.tflite"\nmflops = 300\n'


def written(folder: Path, text: str) -> Path:
    (folder / "m.tflite").write_bytes(b"x")
    path = folder / "suite.toml"
    path.write_text(text)
    return path


def test_what_is_not_written_has_the_published_value(tmp_path: Path) -> None:
    plan = read_plan(written(tmp_path, TEST))
    assert plan.device == ""
    assert plan.cooldown_s == 300.0
    assert plan.limit == 5000
    (test,) = plan.tests
    assert test.model == "m"
    assert test.implementation == "float"
    assert test.file == tmp_path / "m.tflite"
    assert test.mflops == 300.0
    assert test.options == {}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    text = (
        'device = "Pi 5"\ncooldown_s = 0\nlimit = 10\n'
        + TEST
        + "threads = 4\ntimeout_s = 5\nrepeats = 2\n"
    )
    plan = read_plan(written(tmp_path, text))
    assert plan.device == "Pi 5"
    assert plan.cooldown_s == 0.0
    assert plan.limit == 10
    assert plan.tests[0].options == {"threads": 4, "timeout_s": 5, "repeats": 2}
    own = (
        'channels = "BGR"\nmean = [103.5, 116, 123]\nsigma = 57.5\ndelegate = "none"\n'
    )
    (test,) = read_plan(written(tmp_path, TEST + own)).tests
    levels = {"mean": "103.5,116,123", "sigma": "57.5"}
    assert test.options == {"channels": "BGR", "delegate": "none"} | levels
    assert plan.mflops == {"m": 300.0}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "there is no test"),
        ("tests = 5\n", "there is no test"),
        ("[[tests]]\n" , "test 1: the key 'file' is missing"),
        ("cooldown = 5\n" + TEST, "unknown key 'cooldown'; the keys are device, cooldown_s, limit, tests"),
        ("cooldown_s = -1\n" + TEST, "cooldown_s = -1 must be a number from 0"),
        ("cooldown_s = nan\n" + TEST, "cooldown_s = nan must be a number from 0"),
        ("limit = 1\n" + TEST, "limit = 1 must be a number from 2"),
        ("limit = 2.5\n" + TEST, "limit = 2.5 must be a whole number"),
        ("device = 5\n" + TEST, "device = 5 must be a line of text"),
        (TEST + "cores = 5\n", "test 1: unknown key 'cores'"),
        (TEST + "threads = true\n", "test 1: threads = True must be a number"),
        (TEST.replace("300", "0"), "test 1: mflops = 0 must be a number from"),
        (TEST.replace("m.tflite", "n.tflite"), "test 1: file = 'n.tflite': there is no file"),
        (TEST.replace('"float"', '" "'), "test 1: implementation = ' ' must be a line of text"),
        (TEST + "channels = 'GBR'\n", "test 1: channels = 'GBR' must be RGB or BGR"),
        (TEST + "mean = [1, 2]\n", "test 1: mean = [1, 2] must be a number from -1e+06"),
        (TEST + "sigma = [1, 2, 0]\n", "test 1: sigma = 0 must be a number from 1e-06"),
        (TEST + TEST, "the test m (float) is given twice"),
        (TEST + TEST.replace("float", "uint8").replace("300", "200"), "the model m has 300 and 200 mflops"),
        ("a = [", "cannot be read"),
        ("device = x\n", "line 1 is not TOML: 'device = x'; a text stands in quotes"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_in_one_sentence(
    tmp_path: Path,
    text: str,
    told: str,
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(RefereeError) as failure:
        read_plan(path)
    assert failure.value.code == "bad-suite"
    assert failure.value.sentence.startswith(str(path))
    assert told in failure.value.sentence
    assert "\n" not in failure.value.sentence


def test_a_suite_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(RefereeError, match="cannot be read: No such file"):
        read_plan(tmp_path / "nowhere.toml")


def test_a_pipe_into_which_nobody_writes_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "suite.toml")
    with pytest.raises(RefereeError, match="regular file") as failure:
        read_plan(tmp_path / "suite.toml")
    assert failure.value.code == "bad-suite"


def test_a_table_in_place_of_a_plan_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "tests.csv"
    path.write_text("device,model\n")
    with pytest.raises(RefereeError) as refused:
        read_plan(path)
    assert (
        "is a table, and the plan of a suite is a TOML file" in refused.value.sentence
    )
    assert f"referee suite score {path} --suite FOLDER" in refused.value.sentence
