"""`make test-on` where a system cannot be tried: one sentence each, over a real HTTP server and a real apt."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.systems import file_system, mirror
from tests.systems.__main__ import main
from tests.systems.mirror import CannotTry, Mirror, NoAnswer

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
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def url(server: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_port}"


def test_a_mirror_that_has_the_suite_is_asked_once(packages: Callable[..., ThreadingHTTPServer]) -> None:
    server = packages()
    Mirror(url(server)).check("trixie")
    assert vars(server)["asked"] == ["/dists/trixie/InRelease"]


def test_a_suite_that_does_not_exist_cannot_be_tried(packages: Callable[..., ThreadingHTTPServer]) -> None:
    server = packages()
    with pytest.raises(CannotTry, match="has no suite 'trixy'"):
        Mirror(url(server)).check("trixy")


def test_a_mirror_that_fails_is_asked_three_times(packages: Callable[..., ThreadingHTTPServer]) -> None:
    server = packages(status=503)
    with pytest.raises(NoAnswer, match="did not answer, 3 times: HTTP Error 503"):
        Mirror(url(server)).check("trixie")
    assert len(vars(server)["asked"]) == 3


def test_a_mirror_that_is_away_is_one_line_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setattr(file_system, "check_machine", lambda: None)
    monkeypatch.setattr(file_system, "_logged", lambda *_: 1)  # debootstrap, which may be missing, fails
    assert main(["trixie", "--mirror", away, "--cache", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert told.out.startswith(f"trixie: not tried: the mirror {away} did not answer, 3 times: ")
    assert (told.out.count("\n"), told.err) == (1, "")


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
    assert capsys.readouterr().err == f"trixie: debootstrap of trixie failed 3 times; {log} says why\n"
    assert not (tmp_path / "trixie-bare").exists()


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="this is not Debian")
def test_the_mirror_is_the_one_that_apt_is_set_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = "trixie: only root can try other systems; run `sudo make test-on SUITE=...`\n"
    assert (done.returncode, done.stderr) == (1, said)


@pytest.fixture
def this_system(tmp_path: Path) -> file_system.FileSystem:
    """The system that we run on, in place of a built one."""
    try:
        file_system.check_namespaces()
    except CannotTry as reason:
        pytest.skip(str(reason))
    return file_system.FileSystem(Path("/"), tmp_path / "home")


def test_a_command_runs_in_a_system_of_its_own_and_what_it_changes_there_is_forgotten(
    this_system: file_system.FileSystem, tmp_path: Path
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


def test_user_namespaces_work_inside_as_bubblewrap_needs_them(
    this_system: file_system.FileSystem, tmp_path: Path
) -> None:
    command = "unshare --user --map-root-user id --user > /home/id"
    assert this_system.run(command, user="root") == 0
    assert (tmp_path / "home" / "id").read_text() == "0\n"
