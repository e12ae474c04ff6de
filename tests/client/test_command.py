"""The command as a process of its own: exit codes, output, passwords, interruptions."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lpirc_client import detectors
from tests import warm_programs
from tests.client.conftest import Client
from tests.client.referee_double import PASSWORD, Referee
from tests.ports import own_port
from tests.timeouts import TIMEOUT_S

DETECTOR = (
    "def detect(jpeg, categories):\n    yield categories[0].id, 0.5, 1, 2, 3, 4\n"
)
STUCK = DETECTOR.replace(
    "    yield",
    "    import signal\n    b'3' in jpeg and signal.pause()\n    yield",
)
OWN = ("--team", "alpha", "--detector", "mine:detect")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(DETECTOR)
    return path


def in_background(
    environment: dict[str, str],
    folder: Path,
    *arguments: object,
) -> Any:
    return warm_programs.start(
        ["lpirc-client", *map(str, arguments)],
        cwd=folder,
        env=environment,
    )


@pytest.mark.usefixtures("mine")
def test_a_run_ends_with_one_line_and_a_logout(
    referee: Referee,
    client: Client,
) -> None:
    done = client("run", referee.url, *OWN)
    assert done.returncode == 0
    assert done.stdout == ""
    assert done.stderr.startswith("run r1: finished after ")
    assert (
        "; 5 of 5 images, 5 detections posted\ntime: detecting 0.0 s, waiting for images "
        in done.stderr
    )
    assert len(referee.posts) == 1
    assert referee.phase == "closed"


@pytest.mark.usefixtures("mine")
def test_the_length_of_a_run_is_the_referees(referee: Referee, client: Client) -> None:
    referee.elapsed_s = 34567.891
    assert client("run", referee.url, *OWN).stderr.startswith(
        "run r1: finished after 34567.9 s;"
    )


@pytest.mark.usefixtures("mine")
def test_a_run_that_stays_open_says_so_with_what_is_left(
    referee: Referee,
    client: Client,
) -> None:
    referee.window_s = 86_400.0
    line = client("run", referee.url, *OWN, "--stay").stderr
    left = re.search(r"5 detections posted; the run stays open, (\d+) s left\n", line)
    assert left, line
    assert 86_300 < int(left[1]) <= 86_400
    assert referee.phase == "open"


@pytest.mark.usefixtures("mine")
def test_in_a_heat_it_waits_for_the_start_signal_and_says_so_once(
    referee: Referee,
    client: Client,
) -> None:
    referee.faults["POST /v1/session"] = [(409, "not-started")] * 3
    done = client("run", referee.url, *OWN)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Waiting; Ctrl-C ends it.") == 1
    assert referee.requests["POST /v1/session"] == 4


@pytest.mark.usefixtures("mine")
def test_json_gives_one_document_and_json_lines(
    referee: Referee,
    client: Client,
) -> None:
    done = client(
        "run",
        referee.url,
        *OWN,
        "--batch",
        1,
        "--images",
        3,
        "--stay",
        "--json",
        "--progress",
        "json",
    )
    document = json.loads(done.stdout)
    assert document.pop("elapsed_s") < 10
    assert 0 < document.pop("remaining_s") <= referee.window_s
    assert {*document.pop("time")} == {
        "detecting_s",
        "waiting_s",
        "posting_s",
        "idle_s",
    }
    assert document == {
        "run": "r1",
        "images": 3,
        "of": 3,
        "detections": 3,
        "ended": "finished",
        "logged_out": False,
        "next_image": 4,
    }
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert {*lines[-1]} == {"images", "of", "detections", "remaining_s"}
    assert lines[-1]["images"] == 3
    assert referee.phase == "open"


@pytest.mark.parametrize("is_broken", [False, True])
def test_a_stdout_that_takes_nothing_is_one_line_unless_the_run_failed(
    referee: Referee,
    environment: dict[str, str],
    mine: Path,
    *,
    is_broken: bool,
) -> None:
    if is_broken:
        mine.write_text(DETECTOR + "    1 / 0\n")
    command = warm_programs.cold(["lpirc-client", "run", referee.url, *OWN, "--json"])
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command,
            stdout=full,
            stderr=-1,
            cwd=mine.parent,
            env=environment,
            text=True,
            check=False,
        )
    said = (
        "image 1: the detector failed: ZeroDivisionError"
        if is_broken
        else "system: No space left on device\n"
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert done.stderr.startswith(f"lpirc-client: {said}")


@pytest.mark.parametrize(
    "arguments",
    [
        ["lpirc-client", "--completion"],
        ["lpirc-client", "check", "--detector", "mine:detect", "--images", "."],
        ["lpirc-harness", "--completion"],
    ],
)
def test_a_reader_of_stdout_that_is_gone_is_one_line(
    environment: dict[str, str],
    mine: Path,
    arguments: list[str],
) -> None:
    sample = Path(detectors.__file__).with_name("preflight.jpg")
    (mine.parent / "a.jpg").write_bytes(sample.read_bytes())
    mine.write_text("def detect(jpeg, categories):\n    return []\n")
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "wb") as nowhere:
        done = subprocess.run(
            warm_programs.cold(arguments),
            stdout=nowhere,
            stderr=-1,
            cwd=mine.parent,
            env=environment,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == f"{arguments[0]}: system: Broken pipe\n"


@pytest.mark.usefixtures("mine")
def test_a_bar_is_drawn_on_request(referee: Referee, client: Client) -> None:
    assert "5/5" in client("run", referee.url, *OWN, "--progress", "bar").stderr


def test_the_sample_detector_is_the_default(referee: Referee, client: Client) -> None:
    done = client("run", referee.url, "--team", "alpha")
    assert done.returncode == 1
    assert (
        "lpirc-client: image 1: the detector failed: UnidentifiedImageError"
        in done.stderr
    )
    assert referee.phase == "open"


@pytest.mark.usefixtures("mine")
def test_a_referee_that_is_gone_until_the_window_ends_leaves_no_advice_to_go_on(
    referee: Referee,
    client: Client,
) -> None:
    referee.window_s = 1.0
    referee.faults["POST /v1/detections"] = ["drop-before"] * 1000
    done = client("run", referee.url, *OWN, "--json")
    assert (done.returncode, json.loads(done.stdout)["ended"]) == (1, "failed"), (
        done.stderr
    )
    confirmed = "the referee confirmed the detections of only 0 of 5 images"
    assert done.stderr.endswith(f" (the window ends; {confirmed})\n")


def test_a_detectors_exception_is_reported_after_posting_what_was_found(
    referee: Referee,
    client: Client,
    mine: Path,
) -> None:
    mine.write_text(DETECTOR + "    assert jpeg != b'jpeg 3', 'three'\n")
    done = client("run", referee.url, *OWN, "--json")
    assert done.returncode == 1
    failed = f"image 3: the detector failed: AssertionError: three ({mine}, line 3)"
    assert (
        done.stderr
        == f"lpirc-client: {failed} (not logged out; --first 3 continues while the run is open)\n"
    )
    assert json.loads(done.stdout)["ended"] == "failed"
    assert len(referee.rows) == 2


@pytest.mark.usefixtures("mine")
def test_passwords_come_from_file_or_environment_but_never_from_an_option(
    referee: Referee,
    client: Client,
    tmp_path: Path,
) -> None:
    (tmp_path / "secret").write_text(PASSWORD + "\n")
    stay = (*OWN, "--stay")
    returncode = client(
        "run", referee.url, *stay, "--password-file", "secret", LPIRC_PASSWORD=""
    ).returncode
    assert returncode == 0
    none = client("run", referee.url, *OWN, LPIRC_PASSWORD="")
    assert none.returncode == 1
    assert (
        none.stderr
        == "lpirc-client: no password: give --password-file or set LPIRC_PASSWORD\n"
    )
    assert client("run", referee.url, *OWN, "--password", PASSWORD).returncode == 2
    stderr = client("run", referee.url, *OWN, "--password-file", "none").stderr
    assert "cannot be read" in stderr
    stderr = client("run", referee.url, *OWN, LPIRC_PASSWORD="wrong").stderr
    who = "the team was 'alpha', the password LPIRC_PASSWORD"
    assert stderr == f"lpirc-client: It is bad-credentials: {who}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("run",),
        ("run", "http://x"),
        ("run", "http://x", "--team", "a", "--batch", "0"),
        ("replay", "http://x"),
    ],
)
def test_wrong_usage_exits_with_2(client: Client, arguments: tuple[str, ...]) -> None:
    assert client(*arguments).returncode == 2


def test_a_referee_that_is_not_there_is_named(client: Client, mine: Path) -> None:
    done = client("run", f"http://127.0.0.1:{own_port()}", *OWN, "--wait", "0.5")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "nothing listens there" in done.stderr


@pytest.mark.usefixtures("mine")
def test_it_waits_for_a_referee_to_come(
    serve: Callable[..., Referee],
    client: Client,
) -> None:
    port = own_port()
    timer = threading.Timer(0.3, serve, (port,))
    timer.start()
    assert client("run", f"http://127.0.0.1:{port}", *OWN, "--wait", 20).returncode == 0
    timer.join()


@pytest.mark.parametrize("health", [{}, {"images": "five"}])
def test_a_first_image_beyond_the_last_does_not_end_the_run(
    referee: Referee,
    client: Client,
    mine: Path,
    health: dict[str, object],
) -> None:
    referee.health = health
    done = client("run", referee.url, *OWN, "--first", 6)
    assert done.returncode == 1
    assert referee.phase == "open"
    assert (
        done.stderr == "lpirc-client: --first 6: run r1 has 5 images; it stays open\n"
    )


def test_a_first_image_beyond_the_last_opens_no_run_where_the_referee_says_how_many_there_are(
    referee: Referee,
    client: Client,
    mine: Path,
) -> None:
    referee.health = {"images": 5}
    done = client("run", referee.url, *OWN, "--first", 6, "--no-preflight")
    assert done.returncode == 1
    assert referee.phase == "armed"
    assert (
        done.stderr
        == "lpirc-client: --first 6 is too high: a run of this contest has 5 images. No run was opened\n"
    )


def test_an_interrupted_run_stays_open_and_is_taken_up_again(
    referee: Referee,
    client: Client,
    environment: dict[str, str],
    mine: Path,
) -> None:
    mine.write_text(STUCK)
    one_by_one = ("--batch", 1, "--fetch", 1)
    process = in_background(
        environment,
        mine.parent,
        "run",
        referee.url,
        *OWN,
        *one_by_one,
    )
    referee.until(lambda: len(referee.rows) == 2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    assert errors == (
        "lpirc-client: interrupted; run r1 is still open, and its window continues:"
        " the same command with --first 3 resumes it\n"
    )
    assert referee.phase == "open"
    mine.write_text(DETECTOR)
    assert client("run", referee.url, *OWN, "--first", 3).returncode == 0
    assert [row[0] for row in referee.rows] == [1, 2, 3, 4, 5]


@pytest.mark.usefixtures("mine")
def test_a_run_that_was_open_before_is_named_with_what_it_has(
    referee: Referee,
    client: Client,
) -> None:
    assert client("run", referee.url, *OWN, "--stay").stderr.count("goes on") == 0
    assert referee.opened_at is not None
    referee.opened_at -= 30
    told = client("run", referee.url, *OWN).stderr
    line = r"^run r1 continues: it has been open for 3\d s, and 5 earlier detections are kept$"
    assert re.search(line, told, re.MULTILINE), told


@pytest.mark.usefixtures("mine")
def test_a_later_first_image_in_a_new_run_is_said(
    referee: Referee,
    client: Client,
) -> None:
    run = ("run", referee.url, *OWN, "--first", 4, "--stay")
    assert client(*run).stderr.startswith(
        "run r1 is a new one: it skips the images before 4\n"
    )
    assert "is new" not in client(*run).stderr


@pytest.mark.usefixtures("mine")
def test_a_referee_that_refuses_to_say_what_a_run_has_ends_no_run(
    referee: Referee,
    client: Client,
) -> None:
    assert client("run", referee.url, *OWN, "--images", 2, "--stay").returncode == 0
    assert referee.opened_at is not None
    referee.opened_at -= 30
    referee.faults["GET /v1/session"] = [(404, "not-found")]
    done = client("run", referee.url, *OWN, "--first", 3)
    assert (done.returncode, referee.phase, len(referee.rows)) == (0, "closed", 5), (
        done.stderr
    )


@pytest.mark.usefixtures("mine")
def test_boxes_of_fractions_cost_no_attempt(
    referee: Referee,
    client: Client,
    mine: Path,
) -> None:
    referee.health = {"categories": referee.categories}
    mine.write_text(
        "def detect(jpeg, categories):\n    yield 7, 0.5, 0.1, 0.2, 0.3, 0.4\n"
    )
    done = client("run", referee.url, *OWN)
    assert done.returncode == 1
    assert referee.phase == "armed"
    assert (
        "row 1: a box of fractions is 0.1, 0.2, 0.3, 0.4; expected pixels of an image of"
        in done.stderr
    )


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


def test_it_ends_with_another_process(
    referee: Referee,
    environment: dict[str, str],
    mine: Path,
    bystander: subprocess.Popen[bytes],
) -> None:
    mine.write_text(STUCK)
    process = in_background(
        environment, mine.parent, "run", referee.url, *OWN, "--parent", bystander.pid
    )
    referee.until(lambda: referee.phase == "open")
    bystander.kill()
    bystander.wait()
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1
    assert (
        errors
        == f"lpirc-client: process {bystander.pid} has ended, so this process ends too\n"
    )


@pytest.mark.usefixtures("mine")
def test_a_living_parent_changes_nothing(referee: Referee, client: Client) -> None:
    assert client("run", referee.url, *OWN, "--parent", os.getpid()).returncode == 0


def test_a_replay_posts_what_was_recorded(
    referee: Referee,
    client: Client,
    tmp_path: Path,
) -> None:
    (tmp_path / "found.csv").write_text("4 7 0.25 1 2 3 4\n2 7 0.5 1 2 3 4\n")
    done = client("replay", referee.url, "found.csv", "--team", "alpha", "--json")
    assert done.returncode == 0
    assert referee.rows == [
        [2, 7, 0.5, 1, 2, 3, 4],
        [4, 7, 0.25, 1, 2, 3, 4],
    ]
    assert len(referee.posts) == 1


def test_a_replay_with_a_mistake_does_not_log_in(
    referee: Referee,
    client: Client,
    tmp_path: Path,
) -> None:
    (tmp_path / "found.csv").write_text("4 7 x 1 2 3 4\n")
    done = client("replay", referee.url, "found.csv", "--team", "alpha")
    assert done.returncode == 1
    assert (
        done.stderr
        == "lpirc-client: found.csv, line 1: confidence is 'x', not a finite number\n"
    )
    assert referee.phase == "armed"


def test_a_replay_of_unknown_categories_says_so_and_can_be_repeated(
    referee: Referee,
    client: Client,
    tmp_path: Path,
) -> None:
    (tmp_path / "found.csv").write_text(
        "image,class,confidence,xmin,ymin,xmax,ymax\n1,cat,0.5,1,2,3,4\n"
    )
    done = client("replay", referee.url, "found.csv", "--team", "alpha")
    assert done.returncode == 1
    assert (
        "line 2: category 'cat' is not one of this contest's 1: red-disc (not logged out"
        in done.stderr
    )
    assert referee.phase == "open"


def test_starting_loads_nothing_of_the_extras() -> None:
    code = "import sys, lpirc_client.cli; print({'numpy', 'PIL', 'rich', 'ai_edge_litert'} & {*sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "set()\n"


def test_a_detector_that_changes_the_folder_moves_no_file_of_the_client(
    serve: Callable[..., Referee],
    client: Client,
    tmp_path: Path,
) -> None:
    referee = serve(gives_receipts=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "mover.py").write_text(
        "import os\nos.chdir('elsewhere')\ndef detect(jpeg, categories):\n    return []\n"
    )
    (tmp_path / "password").write_text(PASSWORD)
    files = [
        "--password-file",
        "password",
        "--receipts",
        "kept.jsonl",
        "--timeline",
        "trace.json",
    ]
    done = client(
        "run", referee.url, "--team", "alpha", "--detector", "mover:detect", *files
    )
    assert done.returncode == 0, done.stderr
    assert not list((tmp_path / "elsewhere").iterdir())
    assert (tmp_path / "kept.jsonl").read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("check", "URL", "--read-only"), "start the referee or check the port\n"),
        (
            ("run", "URL", "--team", "alpha", "--detector", "sample"),
            "check the port, or wait for it with --wait S\n",
        ),
        (
            ("run", "URL", "--team", "alpha", "--wait", "0.1"),
            "start the referee or check the port\n",
        ),
    ],
)
def test_wait_is_named_only_to_a_command_that_has_it(
    client: Client, arguments: tuple[str, ...], sentence: str
) -> None:
    url = f"http://127.0.0.1:{own_port()}"
    done = client(*[one.replace("URL", url) for one in arguments])
    assert done.returncode == 1
    assert done.stderr.endswith(sentence)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("run", "URL", "--password", "x"),
            "Did you mean --password-file instead of --password?",
        ),
        (
            ("check", "--detecter", "sample"),
            "Did you mean --detector instead of --detecter?",
        ),
        (("status", "URL", "--json", "--xyz"), "arguments: --xyz\n"),
        (("run", "URL", "--host", "x"), "unrecognized arguments: --host\n"),
        (
            ("status", "--jsn"),
            "arguments are required: URL. Did you mean --json instead of --jsn?",
        ),
    ],
)
def test_an_unknown_option_is_told_with_the_closest_of_its_command(
    client: Client, arguments: tuple[str, ...], told: str
) -> None:
    done = client(*arguments, "--team", "alpha")
    assert done.returncode == 2
    assert f"usage: lpirc-client {arguments[0]} " in done.stderr
    assert told in done.stderr


def test_a_run_that_posted_nothing_says_so(
    referee: Referee, client: Client, mine: Path
) -> None:
    mine.write_text("def detect(jpeg, categories):\n    return []\n")
    done = client("run", referee.url, *OWN)
    assert done.returncode == 0
    assert "\nnothing was posted, so the accuracy is 0: " in done.stderr
