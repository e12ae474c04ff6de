"""The main job of each distribution, as its user does it in an empty folder; a command that fails raises."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

SYNTHESIZE = """
from pathlib import Path
from lpirc_testsets import check, load_test_set, synthesize
synthesize(Path("set"), images=10, categories=3, seed=1)
problems = check(Path("set"))
assert not problems, problems
assert len(load_test_set(Path("set")).images) == 10
"""

DETECTOR = """
def detect(jpeg, categories):
    yield categories[0].id, 0.5, 1, 2, 3, 4
"""

PICTURES = """
from importlib.resources import files
from pathlib import Path
Path("pictures").mkdir()
jpeg = files("lpirc_client").joinpath("preflight.jpg").read_bytes()
Path("pictures/1.jpg").write_bytes(jpeg)
Path("categories.txt").write_text("thing\\n")
"""

LABELS = """
from pathlib import Path
from PIL import Image
from lpirc_testsets import import_labels
Path("pictures").mkdir()
lines = ["file,label"]
for number in range(4):
    Image.new("RGB", (40 + number, 32)).save(f"pictures/{number}.jpg")
    lines.append(f"{number}.jpg,7")
Path("labels.csv").write_text("\\n".join(lines))
import_labels(Path("labels.csv"), Path("pictures"), Path("labels"))
"""

TRACK = """
[[tracks]]
name = "phones"
rule = "lpirc2018-track1"
testset = "../labels"
"""


@dataclass(frozen=True)
class Trial:
    """An environment with a distribution, and an empty folder."""

    programs: Path
    folder: Path

    def run(self, name: str, *words: str) -> str:
        """Run a program of the environment; return its stdout. Raises CalledProcessError."""
        environment = os.environ | {"LPIRC_PASSWORD": "of-a-team"}
        environment.pop("PYTHONPATH", None)
        command = [str(self.programs / name), *words]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        return done.stdout

    def told(self, name: str, *words: str) -> Any:
        """Run a program with --json; return its document."""
        return json.loads(self.run(name, *words, "--json"))

    def write(self, name: str, text: str) -> None:
        """Write a file of the folder."""
        (self.folder / name).write_text(text)


def _synthesize_and_check(trial: Trial) -> None:
    trial.run("python", "-c", SYNTHESIZE)


def _score_two_files(trial: Trial) -> None:
    trial.write("truth.csv", "image,class,xmin,ymin,xmax,ymax\n1,1,0,0,9,9\n")
    trial.write("found.txt", "1 1 0.9 0 0 9 9\n")
    for metric in ("lpirc", "coco"):
        scored = trial.told("lpirc-score", "truth.csv", "found.txt", "--metric", metric)
        assert scored["map"] > 0.999999, scored


def _measure(trial: Trial) -> None:
    identity = trial.told("meter", "probe", "sim:")["identity"]
    assert identity["model"], identity
    ranges = ["--voltage-range", "150", "--current-range", "0.5"]
    record = ["record", "sim:constant:36W", "-o", "run.csv", "--duration", "3"]
    trial.run("meter", *record, *ranges)
    assert (trial.folder / "run.csv").stat().st_size


def _check_a_detector(trial: Trial) -> None:
    assert trial.run("lpirc-client", "--version").startswith("lpirc-client ")
    trial.run("python", "-c", PICTURES)
    trial.write("mine.py", DETECTOR)
    options = ["--images", "pictures", "--categories", "categories.txt"]
    trial.run("lpirc-client", "check", "--detector", "mine:detect", *options)


def _rehearse(trial: Trial) -> None:
    report = trial.told("referee", "rehearse", "--images", "20", "--out", "rehearsal")
    assert report["map"] > 0, report


def _rank_a_result(trial: Trial) -> None:
    trial.run("python", "-c", LABELS)
    trial.run("referee", "init", "day", "--yes")
    with (trial.folder / "day" / "contest.toml").open("a") as settings:
        settings.write(TRACK)
    trial.run("referee", "team", "add", "alpha", "--contest", "day")
    trial.write("found.json", json.dumps(_result(trial.folder / "labels")))
    who = ["--measured-by", "the phone's maker", "--build", "1"]
    of_track = ["--track", "phones", "--contest", "day"]
    result = ["--team", "alpha", "--result", "found.json"]
    trial.run("referee", "model", "submit", *of_track, *result, *who)
    (place,) = trial.told("referee", "model", "board", *of_track)["places"]
    assert place["latency_ms"] == 1.92, place


def _result(test_set: Path) -> dict[str, Any]:
    """The result of a model that was measured elsewhere: docs/model-board.md."""
    images = json.loads((test_set / "manifest.json").read_text())["images"]
    lines = "".join(f"{one['number']} {one['sha256']}\n" for one in images)
    digest = hashlib.sha256(lines.encode()).hexdigest()
    return {
        "elsewhere_version": 1,
        "task": "classification",
        "images": {"count": len(images), "sha256": digest},
        "runtime": "its own",
        "device": {"name": "phone"},
        "latency": {"mean_ms": 1.92, "counted": 100},
        "predictions": {"labels": [[one["number"], 7, 0.9] for one in images]},
    }


@dataclass(frozen=True)
class Job:
    """What is installed, and what it must then do."""

    wanted: str
    title: str
    do: Callable[[Trial], None]


JOBS: Final = (
    Job("lpirc-testsets", "synthesize a set, and check it", _synthesize_and_check),
    Job("lpirc-score", "an mAP from two files", _score_two_files),
    Job("lpirc-power", "probe and record a simulated meter", _measure),
    Job("lpirc-client", "check a detector", _check_a_detector),
    Job("lpirc-referee[rehearse]", "a rehearsal of 20 images", _rehearse),
    Job("lpirc-tracks", "rank a result of model tracks", _rank_a_result),
)
