"""The first quarter of an hour behind each door is carried out as its page says, and so are the requests with curl.

Comments that no reader sees mark what is run: `<!-- run -->` before commands, `<!-- serve -->` before one that goes on
until the page ends, `<!-- file NAME -->` before a file to save.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from lpirc_testsets import synthesize
from tests import warm_programs
from tests.contest_day import PASSWORD, TEAM, TIMEOUT_S, contest_day, until
from tests.ports import own_port

ROOT = Path(__file__).parents[2]
MARKED = re.compile(
    r"^<!-- (run|serve|file)(?: (\S+))? -->\n((?:(?: {4}.*)?\n)+)",
    re.MULTILINE,
)
BIN = Path(sys.executable).parent


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextlib.contextmanager
def served(
    words: list[str],
    folder: Path,
    port: int,
) -> Iterator[None]:
    path = folder / "served.log"
    with path.open("a") as log:
        process: Any = warm_programs.start(
            words,
            stdout=log,
            stderr=log,
            cwd=folder,
        )
        try:
            until(
                lambda: (
                    (path.stat().st_size and answers(port))
                    or process.poll() is not None
                )
            )
            yield
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(TIMEOUT_S)
    assert "Traceback" not in path.read_text(), path.read_text()


def carry_out(
    page: Path, folder: Path, instead: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Do what a page says, in order; returns what each command printed.

    `instead` replaces words of the page, such as a long wait by a short one; each must be there.
    """
    port = own_port()
    told = page.read_text().replace("8080", str(port))
    for words, others in instead.items():
        assert words in told
        told = told.replace(words, others)
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}
    printed = {}
    with contextlib.ExitStack() as until_the_end:
        for kind, name, block in MARKED.findall(told):
            text = "".join(line[4:] or line for line in block.splitlines(keepends=True))
            if kind == "file":
                (folder / name).write_text(text)
                continue
            for line in filter(str.strip, text.replace("\\\n", " ").splitlines()):
                words = shlex.split(line, comments=True)
                if kind == "serve":
                    until_the_end.enter_context(served(words, folder, port))
                elif words[0] == "export":
                    environment |= [words[1].split("=", 1)]
                else:
                    ours = words[0] in warm_programs.ENTRIES
                    command = words if ours else ["bash", "-ec", line]
                    run: Any = warm_programs.run if ours else subprocess.run
                    given = (
                        {}
                        if ours
                        else {
                            "capture_output": True,
                            "text": True,
                            "check": False,
                        }
                    )
                    done = run(
                        command,
                        cwd=folder,
                        env=environment,
                        timeout=TIMEOUT_S,
                        **given,
                    )
                    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
                    printed[line] = done.stdout + done.stderr
    return printed


def test_a_first_contest(tmp_path: Path) -> None:
    printed = carry_out(ROOT / "docs" / "first-contest.md", tmp_path)
    sound, advice = printed["referee doctor day"].splitlines()
    assert sound == "Nothing is wrong with day."
    assert advice.startswith("advice, unguarded: trusted_proxy is not set")
    assert "40 of 40 images" in next(
        said for line, said in printed.items() if line.startswith("lpirc-client run")
    )
    warnings = re.findall(
        r"^warning (\S+):",
        printed["referee judge 1"],
        re.MULTILINE,
    )
    assert warnings == ["accuracy", "official-meter"]
    assert "Best score: alpha." in printed["referee leaderboard"]


def test_a_first_run_of_a_detector_of_ones_own(tmp_path: Path) -> None:
    printed = carry_out(ROOT / "docs" / "first-run.md", tmp_path)
    assert any(
        "40 of 40 images, 40 detections posted" in said for said in printed.values()
    )
    assert "mAP" in next(
        said for line, said in printed.items() if line.startswith("lpirc-client check")
    )


def test_a_first_measurement(tmp_path: Path) -> None:
    printed = carry_out(ROOT / "docs" / "first-measurement.md", tmp_path)
    assert "mAP" in printed["referee score truth.csv found.csv"]
    assert "36" in printed["meter probe sim:constant:36W"]
    assert (tmp_path / "run.csv").is_file()


def test_a_laboratory_measurement(tmp_path: Path) -> None:
    shorter = {"-- sleep 40": "-- sleep 9", "-- sleep 30": "-- sleep 1"}
    printed = carry_out(ROOT / "docs" / "lab.md", tmp_path, shorter)
    recorded, _, compared, _, worked = printed.values()
    for word in ("warm-up ", "attempt 3 ", "mean energy ", "interval ", "advice "):
        assert f"\n{word}" in recorded
    # A busy machine starts `meter mark` so slowly that seconds of work may not show.
    shown = r"^(new takes [\d.]+ % less, interval |No difference is shown: new takes )"
    assert re.search(shown, compared)
    assert "which do not cancel" not in compared
    assert "several meters" not in compared
    assert "inference" in (tmp_path / "new-1.json").read_text()
    assert (tmp_path / "new.html").is_file()
    above = re.search(r"^above idle +(\S+) Wh \+-.*; idle 20 W over ", worked, re.M)
    assert above is not None
    assert float(above[1]) > 16 * 4 / 3600 / 2


def test_a_look_at_a_measurement(tmp_path: Path) -> None:
    printed = carry_out(ROOT / "docs" / "lab-pages.md", tmp_path)
    assert "integrator-trapezoid" in (tmp_path / "run.html").read_text()
    checked = printed["meter check old.csv"]
    assert "'Power (mW)' is the power in mW" in checked
    assert "so the energy has no uncertainty" in checked
    assert "readings are in run.parquet" in printed["meter export run.csv"]


@pytest.mark.skipif(
    shutil.which("curl") is None,
    reason="no curl here: apt-get install curl",
)
def test_each_request_with_curl_is_answered_as_the_page_says(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "http.md").read_text().partition("**HTTPS.**")[0]
    block = "\n".join(re.findall(r"^ {4}(.*)$", page, re.MULTILINE)).replace(
        "curl -s",
        "curl -fsSw '\\n'",
    )
    testset = synthesize(
        tmp_path / "testset",
        images=2,
        categories=7,
        seed=1,
        size=(64, 64),
    ).folder
    with contest_day(tmp_path / "day", testset) as day:
        url = day.serve().url
        script = (
            block.replace("http://127.0.0.1:8080", url)
            .replace('"alpha"', f'"{TEAM}"')
            .replace("…", PASSWORD)
        )
        done = subprocess.run(
            ["bash", "-euc", script],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0
    assert done.stderr == ""
    assert re.findall(r'"(?:status|accepted|phase)": ?"?(\w+)', done.stdout) == [
        "ok",
        "1",
        "2",
        "closed",
    ]
    assert (tmp_path / "1.jpg").read_bytes()[:2] == b"\xff\xd8"
    assert (tmp_path / "1-100.zip").read_bytes()[:2] == b"PK"
