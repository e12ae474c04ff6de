"""The seams of docs/plugins.md: a distribution of its own, installed beside, brings one of each by real commands."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from lpirc_testsets import synthesize
from referee.config.contest_text import config_text
from referee.contest import create_contest
from tests.plugins_installed import Installer, plugins_in
from tests.power.plug import plugged
from tests.timeouts import TIMEOUT_S

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "tests" / "plugin_sample"
PAGE = ROOT / "docs" / "plugins.md"
BIN = Path(sys.executable).parent
FILES = sorted(
    path.relative_to(SAMPLE).as_posix()
    for path in SAMPLE.rglob("*")
    if path.suffix in (".py", ".toml")
)
WITHOUT_TRACKS = """
import sys
from importlib import metadata

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "lpirc_tracks":
            raise ModuleNotFoundError(f"No module named {name!r}")

def entry_points(**given):
    found = everything(**given)
    return metadata.EntryPoints(one for one in found if one.dist.name != "lpirc-tracks")

everything, metadata.entry_points = metadata.entry_points, entry_points
sys.meta_path.insert(0, Blocked())
"""
"""As sitecustomize.py: an environment in which lpirc-tracks is not installed."""
BROKEN = "VALUE = 7\ndef fail(*given):\n    raise ZeroDivisionError('by zero')\n"


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the sample is installed, as a user does."""
    folder = tmp_path_factory.mktemp("plugins")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps"]
    options = ["--no-build-isolation", "--disable-pip-version-check"]
    source = tmp_path_factory.mktemp("source")
    for name in FILES:
        copy = source / name
        copy.parent.mkdir(exist_ok=True)
        copy.write_text((SAMPLE / name).read_text())
    subprocess.run([*pip, *options, "--target", folder, source], check=True)
    return folder


@pytest.fixture
def contest(tmp_path: Path) -> Path:
    """A contest with two tracks, one of them by the sample's rule; its window leaves 5 ms an image."""
    images = synthesize(
        tmp_path / "set",
        images=200,
        categories=2,
        seed=3,
        size=(96, 64),
    ).folder
    folder = tmp_path / "contest"
    text = config_text(
        "Test day",
        1,
        "sim:constant:5W",
        str(images),
        auto_arm=False,
    )
    track = '\n[[tracks]]\nname = "{0}"\nrule = "{0}"\ntestset = "{1}"\n'
    tracks = [track.format(rule, images) for rule in ("fastest", "results")]
    create_contest(folder, text + "".join(tracks))
    return folder


def called(
    beside: Path, program: str, *arguments: str | Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """A command as users run it, beside what is installed in that folder."""
    return subprocess.run(
        [BIN / program, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(beside)} | environment,
        capture_output=True,
        text=True,
        timeout=2 * TIMEOUT_S,
        check=False,
    )


@contextmanager
def served(beside: Path, folder: Path) -> Iterator[str]:
    """Serve a contest; gives its address."""
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(
            [BIN / "referee", "serve", folder, "--port", "0"],
            env=os.environ | {"PYTHONPATH": str(beside)},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        found = re.search(r"http://\S+?:\d+", line)
        assert found, line + (folder / "server.log").read_text()
        yield found[0]
    finally:
        server.terminate()
        server.communicate(timeout=TIMEOUT_S)
    assert server.returncode == 0
    assert "Traceback" not in (folder / "server.log").read_text()


@pytest.mark.parametrize("name", FILES)
def test_the_page_shows_the_code_of_the_sample(name: str) -> None:
    lines = (SAMPLE / name).read_text().splitlines()
    shown = "\n".join(f"    {line}" if line else "" for line in lines)
    assert f"`{name}`" in PAGE.read_text()
    assert f"\n\n{shown}\n" in PAGE.read_text()


def test_a_command_of_the_sample_is_listed_and_runs(
    sample: Path, contest: Path
) -> None:
    listed = called(sample, "referee", "--help").stdout
    assert "  window       Print how long a run of the contest" in listed
    shown = called(sample, "referee", "window", contest)
    assert (shown.stdout, shown.stderr) == ("Test day: 0.0166667 minutes\n", "")


def test_a_check_and_a_track_of_the_sample_are_made_by_doctor(
    sample: Path, contest: Path
) -> None:
    found = called(sample, "referee", "doctor", contest).stdout
    advice = "advice, window-short: window_s = 1 leaves 5.0 ms an image; write more."
    assert advice in found
    assert "plugin-" not in found
    board = ("model", "board", "--contest", contest, "--track", "fastest")
    shown = called(sample, "referee", *board)
    assert shown.returncode == 0, shown.stderr
    assert "fastest (Fastest), public test set" in shown.stdout


def test_a_page_of_the_sample_is_served_with_its_background_work(
    sample: Path, contest: Path
) -> None:
    with served(sample, contest) as url:
        board = requests.get(url, headers={"Accept": "text/html"}, timeout=TIMEOUT_S)
        assert '<a href="/uptime">Uptime</a>' in board.text
        assert '<a href="/tracks/fastest">fastest</a>' in board.text
        tracks = requests.get(f"{url}/tracks/fastest.json", timeout=TIMEOUT_S)
        assert tracks.json()["metric"] == "images/s"
        words = "for 0 s"
        while "for 0 s" in words:
            words = requests.get(f"{url}/uptime", timeout=TIMEOUT_S).text
        assert re.search(r"This server has been running for \d+ s\.", words)


def test_a_meter_of_the_sample_is_found(sample: Path) -> None:
    with plugged() as host:
        found = called(sample, "meter", "find", SHELLY_PLUGS=host)
        assert f"shelly:{host}" in found.stdout


def test_a_metric_and_a_format_of_the_sample_are_found(
    sample: Path, tmp_path: Path
) -> None:
    folder = synthesize(
        tmp_path / "set",
        images=4,
        categories=2,
        seed=3,
        size=(96, 64),
    ).folder
    rows = tmp_path / "rows.csv"
    rows.write_text("image,class,confidence,xmin,ymin,xmax,ymax\n1,1,0.5,1,1,9,9\n")
    metrics = ("--metric", "lpirc-75", "--metric", "found", "--json")
    scored = called(sample, "referee", "score", folder, rows, *metrics)
    assert scored.returncode == 0, scored.stderr
    assert "lpirc-sample-1.0" in scored.stdout
    assert "centres" in called(sample, "referee", "testset", "import", "--help").stdout


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[Installer]:
    """Plug-ins of every seam of the referee, none of which can be used."""
    points = {
        "lpirc.commands": "gone = no_such_module:command\nseven = broken_commands:VALUE\n"
        "judge = broken_commands:VALUE",
        "lpirc.pages": "gone = no_such_module:pages\nfails = broken_pages:fail",
        "lpirc.checks": "gone = no_such_module:check\nfails = broken_checks:fail",
    }
    with plugins_in(tmp_path) as installer:
        for group, entries in points.items():
            name = f"broken_{group.partition('.')[2]}"
            installer.install(name, group, entries, BROKEN)
        yield installer


def test_broken_plug_ins_are_named_and_stop_nothing_else(
    broken: Installer, contest: Path
) -> None:
    text = (contest / "contest.toml").read_text()
    (contest / "contest.toml").write_text(text.replace("fastest", "ovic-detection"))
    found = called(broken.folder, "referee", "doctor", contest).stdout
    missing = "cannot be used: ModuleNotFoundError: No module named 'no_such_module'"
    for group in ("commands", "pages", "checks"):
        words = re.compile(
            f"plugin-broken: The plug-in lpirc.{group} gone = no_such_module:"
            rf"\w+ of broken_{group} 1.0 {missing}"
        )
        assert words.search(found), found
    assert "7 is not the command 'seven'" in found
    assert "offers the command 'judge', which referee has itself" in found
    failed = "cannot be used: it failed: ZeroDivisionError: by zero"
    check = f"lpirc.checks fails = broken_checks:fail of broken_checks 1.0 {failed}"
    assert f"plugin-broken: The plug-in {check}" in found

    listed = called(broken.folder, "referee", "--help")
    assert "Judge a closed run" in listed.stdout
    gone = called(broken.folder, "referee", "gone")
    assert (gone.returncode, gone.stdout) == (1, "")
    assert gone.stderr.startswith("referee: The plug-in lpirc.commands gone = ")

    with served(broken.folder, contest) as url:
        assert requests.get(f"{url}/v1/health", timeout=TIMEOUT_S).status_code == 200
        answer = requests.get(f"{url}/tracks/ovic-detection.json", timeout=TIMEOUT_S)
        assert answer.status_code == 200
    log = (contest / "server.log").read_text()
    assert f"broken_pages:fail of broken_pages 1.0 {failed}" in log
    assert "lpirc.pages gone = no_such_module:pages" in log


PAGES = """
import sys
from flask import Blueprint
from lpirc_power.errors import MeterLost
from referee.seams import Pages

ours, free = Blueprint("contest", __name__), Blueprint("free", __name__)
free.add_url_rule("/free", view_func=lambda: "free")
shadow = Blueprint("shadow", __name__)
shadow.add_url_rule("/v1/health", view_func=lambda: "shadow")

def named(contest, clock):
    return Pages(blueprints=[free, ours])

def shadows(contest, clock):
    return Pages(blueprints=[free, shadow])

def links(contest, clock):
    return Pages(links=[1])

def exits(contest, clock):
    sys.exit("exit")

def meter(contest, clock):
    raise MeterLost("The meter is lost.")
"""
EXITS = "import sys\nsys.exit(0)\n"


def test_pages_take_no_place_of_ours_and_end_no_server(
    tmp_path: Path, contest: Path
) -> None:
    names = ("named", "shadows", "links", "exits", "meter")
    entries = "\n".join(f"{name} = bad_pages:{name}" for name in names)
    with plugins_in(tmp_path) as installer:
        installer.install("bad_pages", "lpirc.pages", entries, PAGES)
        installer.install("bad_import", "lpirc.pages", "ends = bad_import:X", EXITS)
        with served(tmp_path, contest) as url:
            health = requests.get(f"{url}/v1/health", timeout=TIMEOUT_S)
            assert health.json()["status"] == "ok"
            kinds = {"Accept": "text/html"}
            assert (
                requests.get(url, headers=kinds, timeout=TIMEOUT_S).status_code == 200
            )
            free = requests.get(f"{url}/free", timeout=TIMEOUT_S)
            assert free.status_code == 404
            tracks = requests.get(f"{url}/tracks/results.json", timeout=TIMEOUT_S)
            assert tracks.status_code == 200
    log = (contest / "server.log").read_text()
    for words in (
        "ValueError: a blueprint named 'contest' exists already",
        "ValueError: GET /v1/health is answered already",
        "TypeError: cannot unpack non-iterable int object",
        "SystemExit: exit",
        "SystemExit: 0",
        "MeterLost: The meter is lost.",
    ):
        assert words in log


def test_plug_ins_that_exit_end_no_command(tmp_path: Path, contest: Path) -> None:
    with plugins_in(tmp_path) as installer:
        installer.install(
            "bad_command", "lpirc.commands", "ends = bad_command:X", EXITS
        )
        source = "import sys\ndef check(contest):\n    sys.exit(0)\n"
        installer.install("bad_check", "lpirc.checks", "ends = bad_check:check", source)
        listed = called(tmp_path, "referee", "--help").stdout
        found = called(tmp_path, "referee", "doctor", contest)
    assert "Judge a closed run" in listed
    assert "ends         The plug-in lpirc.commands ends = bad_command:X" in listed
    assert found.returncode == 1
    assert "of bad_command 1.0 cannot be used: SystemExit: 0" in found.stdout
    assert "of bad_check 1.0 cannot be used: it failed: SystemExit: 0" in found.stdout


def test_two_plug_ins_of_one_name_are_said(tmp_path: Path, contest: Path) -> None:
    with plugins_in(tmp_path) as installer:
        for name in ("one_maker", "other_maker"):
            entry = f"window = {name}:VALUE"
            installer.install(name, "lpirc.commands", entry, BROKEN)
        said = called(tmp_path, "referee", "window", contest)
        found = called(tmp_path, "referee", "doctor", contest).stdout
    words = "Two distributions offer the command 'window': "
    assert said.stderr.startswith(f"referee: {words}")
    assert f"plugin-twice: {words}" in found


def test_without_tracks_the_referee_works_and_names_what_is_missing(
    tmp_path: Path, contest: Path
) -> None:
    beside = tmp_path / "without"
    beside.mkdir()
    (beside / "sitecustomize.py").write_text(WITHOUT_TRACKS)
    missing = (
        "contest.toml has [[tracks]] (fastest, results), but lpirc-tracks, which serves "
        "them, is not installed here: pip install ./tracks in the project's folder, "
        "or lpirc_tracks-*.whl of the release"
    )
    found = called(beside, "referee", "doctor", contest).stdout
    assert f"tracks-missing: {missing}" in found
    said = called(beside, "referee", "model", "--help")
    assert (said.returncode, said.stdout) == (1, "")
    assert "The command model is part of lpirc-tracks" in said.stderr
    listed = called(beside, "referee", "--help").stdout
    assert "  judge " in listed
    assert "  model " not in listed

    with served(beside, contest) as url:
        board = requests.get(url, headers={"Accept": "text/html"}, timeout=TIMEOUT_S)
        assert board.status_code == 200
        assert "/tracks/" not in board.text
        answer = requests.get(f"{url}/tracks/results.json", timeout=TIMEOUT_S)
        assert answer.status_code == 404
    assert missing in (contest / "server.log").read_text()

    out = tmp_path / "rehearsal"
    options = ("--images", "8", "--window", "20", "--out", out)
    rehearsed = called(beside, "referee", "rehearse", *options)
    assert rehearsed.returncode == 0, rehearsed.stderr


FAILING = """
from lpirc_score.metrics.metric_kinds import OwnMetric
from lpirc_testsets.formats import Format
from lpirc_tracks import Track

def fail(*given, **named):
    raise ZeroDivisionError('by zero')

def seven(*given, **named):
    return 7

class Failing(Track):
    def measure(self, result):
        return fail()

METRICS = OwnMetric('fails', fail)
SEVEN = OwnMetric('seven', seven)
FORMATS = Format(fail, 'Fail.', ())
OTHERS = Format(seven, 'Return 7.', ())
"""
PLACE = "(failing.py, line 7)"


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[Path]:
    """A metric and a format that fail, and two that return nonsense."""
    points = {
        "lpirc.metrics": "fails = failing:METRICS\nseven = failing:SEVEN",
        "lpirc.formats": "fails = failing:FORMATS\nseven = failing:OTHERS",
    }
    with plugins_in(tmp_path) as installer:
        for group, entries in points.items():
            installer.install(f"of_{group[6:]}", group, entries, "")
        (tmp_path / "failing.py").write_text(FAILING)
        yield installer.folder


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fails", f"it failed: ZeroDivisionError: by zero {PLACE}"),
        ("seven", "it made 7, which is not an Evaluation"),
    ],
)
def test_a_metric_that_fails_is_one_sentence(
    failing: Path, tmp_path: Path, name: str, words: str
) -> None:
    truth = tmp_path / "truth.csv"
    truth.write_text("image,class,xmin,ymin,xmax,ymax\n1,1,1,1,9,9\n")
    rows = tmp_path / "rows.csv"
    rows.write_text("image,class,confidence,xmin,ymin,xmax,ymax\n1,1,0.5,1,1,9,9\n")
    said = called(failing, "lpirc-score", truth, rows, "--metric", name)
    assert said.returncode == 1
    start = f"lpirc-score: The plug-in lpirc.metrics {name} = failing:"
    assert said.stderr.startswith(start)
    assert said.stderr.endswith(f"cannot be used: {words}\n")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fails", f"it failed: ZeroDivisionError: by zero {PLACE}"),
        ("seven", "it made 7, which is not a TestSet"),
    ],
)
def test_a_format_that_fails_is_one_sentence(
    failing: Path, tmp_path: Path, name: str, words: str
) -> None:
    images = tmp_path / "images"
    images.mkdir()
    folders = ("--images", images, "--out", tmp_path / "out")
    said = called(failing, "referee", "testset", "import", name, *folders)
    assert said.returncode == 1
    assert said.stderr.startswith(f"referee: The plug-in lpirc.formats {name} = ")
    assert said.stderr.endswith(f"cannot be used: {words}\n")


def test_a_metric_of_a_plug_in_is_shown_without_thresholds_of_others(
    sample: Path, tmp_path: Path
) -> None:
    truth = tmp_path / "truth.csv"
    truth.write_text("image,class,xmin,ymin,xmax,ymax\n1,1,1,1,9,9\n")
    rows = tmp_path / "rows.csv"
    rows.write_text("image,class,confidence,xmin,ymin,xmax,ymax\n1,1,0.5,1,1,9,9\n")
    shown = called(sample, "lpirc-score", truth, rows, "--metric", "found").stdout
    assert "found, computed by lpirc-sample-1.0" in shown
    assert "IoU" not in shown


def test_doctor_asks_for_no_ranges_of_a_meter_that_has_none(
    sample: Path, contest: Path
) -> None:
    with plugged() as host:
        text = (contest / "contest.toml").read_text()
        meter = text.replace("sim:constant:5W", f"shelly:{host}")
        (contest / "contest.toml").write_text(meter)
        found = called(sample, "referee", "doctor", contest).stdout
    assert "range-automatic" not in found
    assert "meter-" not in found


def test_a_task_of_the_sample_holds_a_whole_contest(
    sample: Path,
    tmp_path: Path,
) -> None:
    counter = tmp_path / "three"
    counter.mkdir()
    (counter / "three.py").write_text(
        "def count(jpeg, categories):\n    return {'count': 3}\n"
    )
    client = (
        f"{shlex.quote(str(BIN / 'lpirc-client'))} run {{url}} --team {{team}} --password-file {{password_file}}"
        " --detector three:count"
    )
    out = tmp_path / "out"
    both = os.pathsep.join(map(str, (sample, counter)))
    rehearsed = called(
        Path(both),
        "referee",
        "rehearse",
        "--task",
        "counting",
        "--images",
        "8",
        "--out",
        out,
        "--client",
        client,
        "--json",
    )
    assert rehearsed.returncode == 0, rehearsed.stderr
    report = json.loads((out / "report.json").read_text())
    assert report["task"] == "counting"
    assert 0 < report["map"] < 1
    assert set(report["others"]) == {"exact"}
    bundle = out / "bundle.zip"
    verified = called(sample, "referee", "bundle", "verify", bundle)
    assert verified.returncode == 0, verified.stdout
    assert f"closeness {report['map']} was recomputed from 8 counts" in verified.stdout
    without = called(tmp_path, "referee", "bundle", "verify", bundle)
    assert without.returncode == 0, without.stdout
    assert (
        "The task counting was scored by lpirc-sample-1.0, which is not installed"
        in without.stdout
    )
