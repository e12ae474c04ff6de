"""`make test-on` where a system cannot be tried: one sentence each, over a real HTTP server and a real apt."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.contest_day import processes_naming, until
from tests.systems import file_system, mirror
from tests.systems.__main__ import AGAIN, Step, _arguments, _commands, main
from tests.systems.mirror import CannotTry, Mirror, NoAnswer
from tests.timeouts import TIMEOUT_S

ROOT = Path(__file__).parents[2]


class Packages(BaseHTTPRequestHandler):
    """A mirror that has the suite "trixie" only, and answers as its server is told to."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        has_suite = self.path == "/dists/trixie/InRelease"
        status = self.server.status or (200 if has_suite else 404)  # type: ignore[attr-defined]
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def packages() -> Iterator[Callable[..., ThreadingHTTPServer]]:
    servers = []

    def start(status: int | None = None) -> ThreadingHTTPServer:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Packages)
        vars(server).update(status=status, asked=[])
        threading.Thread(
            target=server.serve_forever,
            args=(0.01,),
            daemon=True,
        ).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def url(server: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_port}"


def test_a_mirror_that_has_the_suite_is_asked_once(
    packages: Callable[..., ThreadingHTTPServer],
) -> None:
    server = packages()
    Mirror(url(server)).check("trixie")
    assert vars(server)["asked"] == ["/dists/trixie/InRelease"]


def test_a_suite_that_does_not_exist_cannot_be_tried(
    packages: Callable[..., ThreadingHTTPServer],
) -> None:
    server = packages()
    with pytest.raises(CannotTry, match="has no suite 'trixy'"):
        Mirror(url(server)).check("trixy")


def test_a_mirror_that_fails_is_asked_three_times(
    packages: Callable[..., ThreadingHTTPServer],
) -> None:
    server = packages(status=503)
    with pytest.raises(NoAnswer, match="did not answer, 3 times: HTTP Error 503"):
        Mirror(url(server)).check("trixie")
    assert len(vars(server)["asked"]) == 3


def test_a_mirror_that_is_away_is_one_line_and_no_failure(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setattr(file_system, "check_machine", lambda: None)
    # Debootstrap, which may be missing, fails.
    monkeypatch.setattr(
        file_system,
        "_logged",
        lambda *_: 1,
    )
    assert main(["trixie", "--mirror", away, "--cache", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert told.out.startswith(
        f"trixie: not tried: the mirror {away} did not answer, 3 times: "
    )
    assert told.out.count("\n") == 1
    assert told.err == ""


def test_a_file_system_that_is_not_built_is_a_failure_where_the_mirror_answers(
    tmp_path: Path,
    packages: Callable[..., ThreadingHTTPServer],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(file_system, "check_machine", lambda: None)
    monkeypatch.setattr(file_system, "_logged", lambda *_: 1)
    assert main(["trixie", "--mirror", url(packages()), "--cache", str(tmp_path)]) == 1
    log = tmp_path / "trixie-bare.log"
    err = capsys.readouterr().err
    assert err == f"trixie: debootstrap of trixie failed 3 times; {log} says why\n"
    assert not (tmp_path / "trixie-bare").exists()


def test_a_step_that_failed_is_a_failure_also_when_the_mirror_is_away_later(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def steps(*_: object) -> Iterator[Step]:
        yield Step("trixie bare", "newcomer", "make test", 2, 200.0)
        raise NoAnswer("the mirror is away")

    monkeypatch.setattr(file_system, "check_machine", lambda: None)
    monkeypatch.setattr("tests.systems.__main__._steps", steps)
    assert (
        main(["trixie", "--mirror", "http://127.0.0.1", "--cache", str(tmp_path)]) == 1
    )
    said = capsys.readouterr().out
    assert "trixie: not tried: the mirror is away\n" in said
    assert said.endswith(
        "make test                              200 s  FAILED with exit code 2\n"
    )


@pytest.mark.parametrize(("words", "tests"), [
    ([], "make test ARGS=--skipped-last-time"),
    (["--only", "full"], "make test-all"),
])  # fmt: skip
def test_the_full_system_runs_what_the_bare_one_skipped_and_alone_everything(
    words: list[str],
    tests: str,
) -> None:
    chosen = _arguments(["trixie", *words])
    assert list(_commands(chosen, "full")) == ["make lint", tests, "make wheels"]
    assert list(_commands(chosen, "bare")) == ["make rehearse", "make test-all"]


@pytest.mark.parametrize(("second", "outcome"), [(0, 0), (1, 1)])
def test_tests_that_failed_are_repeated_on_demand_and_the_second_time_counts(
    second: int,
    outcome: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ran: list[str] = []

    class System(file_system.FileSystem):
        def run(self, command: str, *_: object) -> int:
            ran.append(command.rpartition("&& ")[2])
            return {"make test-all": 1, AGAIN: second}.get(ran[-1], 0)

    home = tmp_path / "home"
    home.mkdir()
    system = System(tmp_path, home)
    monkeypatch.setattr(file_system, "check_machine", lambda: None)
    monkeypatch.setattr(file_system, "bare", lambda *_: system)
    monkeypatch.setattr("tests.systems.__main__.clone", lambda *_, **__: None)
    words = ["trixie", "--mirror", "http://127.0.0.1", "--cache", str(tmp_path)]
    assert main([*words, "--only", "bare", "--repeat-failed"]) == outcome
    assert ran == ["true", "make rehearse", "make test-all", AGAIN]
    assert "FAILED with exit code 1; repeated below\n" in capsys.readouterr().out
    assert main([*words, "--only", "bare"]) == 1


def test_two_runs_of_a_suite_do_not_use_its_systems_at_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(file_system, "check_machine", lambda: None)
    with (tmp_path / "trixie.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert (
            main(["trixie", "--mirror", "http://127.0.0.1", "--cache", str(tmp_path)])
            == 1
        )
    said = (
        "trixie: another `make test-on` of this suite is under way; wait for its end\n"
    )
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(("recorded", "age_s", "is_kept"), [
    (file_system.BARE, 0.0, True),
    (file_system.BARE[1:], 0.0, False),
    (file_system.BARE, 8 * 86400.0, False),
])  # fmt: skip
def test_a_kept_system_is_built_again_for_other_packages_and_each_week(
    recorded: tuple[str, ...],
    age_s: float,
    is_kept: bool,
    tmp_path: Path,
    packages: Callable[..., ThreadingHTTPServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record = tmp_path / "trixie-bare" / file_system.RECORD
    record.parent.mkdir()
    record.write_text("\n".join(recorded))
    built_s = time.time() - age_s
    os.utime(record, (built_s, built_s))
    monkeypatch.setattr(file_system, "_logged", lambda *_: 1)
    with nullcontext() if is_kept else pytest.raises(file_system.NotBuilt):
        file_system.bare("trixie", Mirror(url(packages())), tmp_path)
    assert record.exists(), "one that cannot be built anew stays"


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="this is not Debian")
def test_the_mirror_is_the_one_that_apt_is_set_to(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    try:
        found = mirror.of_this_machine()
    except CannotTry as reason:  # a machine on which `apt-get update` never ran
        assert "apt-get update" in str(reason)  # noqa: PT017
    else:
        assert found.url.startswith("http")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotTry, match="on Debian only"):
        mirror.of_this_machine()


@pytest.mark.skipif(os.geteuid() == 0, reason="we are root; an ordinary user tries it")
def test_an_ordinary_user_is_told_to_be_root() -> None:
    command = [sys.executable, "-m", "tests.systems", "trixie"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    said = (
        "trixie: only root can try other systems; run `sudo make test-on SUITE=...`\n"
    )
    assert done.returncode == 1
    assert done.stderr == said


@pytest.fixture
def this_system(tmp_path: Path) -> file_system.FileSystem:
    """The system that we run on, in place of a built one."""
    try:
        file_system.check_namespaces()
    except CannotTry as reason:
        pytest.skip(str(reason))
    system = file_system.FileSystem(Path("/"), tmp_path / "home")
    if system.run("true", "root"):
        pytest.skip("no overlay can be mounted here; we may be on one")
    return system


def test_a_command_runs_in_a_system_of_its_own_and_what_it_changes_there_is_forgotten(
    this_system: file_system.FileSystem,
    tmp_path: Path,
) -> None:
    command = 'touch /etc/changed; echo "$HOME $TZ" > /home/said; ps -e -o pid= > /home/processes; exit 7'
    environment = {"TZ": "<+0545>-05:45"}
    assert this_system.run(command, user="root", environment=environment) == 7
    assert (tmp_path / "home" / "said").read_text() == "/home/root <+0545>-05:45\n"
    assert not Path("/etc/changed").exists()
    processes = (tmp_path / "home" / "processes").read_text().split()
    assert processes[0] == "1"
    assert len(processes) < 5
    assert [folder.name for folder in tmp_path.iterdir()] == ["home"]


STOPPED = """
import signal, sys
from pathlib import Path
from tests.systems.__main__ import _end
from tests.systems.file_system import FileSystem

signal.signal(signal.SIGTERM, _end)
home = Path(sys.argv[1])
FileSystem(Path("/"), home).run("echo ready > /home/ready && sleep 43217", "root")
"""


def test_a_run_that_is_ended_leaves_nothing_running_inside(
    this_system: file_system.FileSystem,
) -> None:
    command = [sys.executable, "-c", STOPPED, str(this_system.home)]
    with subprocess.Popen(command, cwd=ROOT) as run:
        until(lambda: (this_system.home / "ready").exists())
        run.terminate()
        assert run.wait(TIMEOUT_S) == 128 + signal.SIGTERM
    until(lambda: not processes_naming("43217"))


def test_user_namespaces_work_inside_as_bubblewrap_needs_them(
    this_system: file_system.FileSystem,
    tmp_path: Path,
) -> None:
    command = "unshare --user --map-root-user id --user > /home/id"
    assert this_system.run(command, user="root") == 0
    assert (tmp_path / "home" / "id").read_text() == "0\n"
