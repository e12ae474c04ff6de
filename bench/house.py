"""The servers under test, each in processes of its own: a referee with a team logged in, the bare app, nginx.

A referee is driven by its commands and by HTTP alone, so one of another commit can be measured as well.
"""

from __future__ import annotations

import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import requests

from bench.figures import processor_s

HERE = Path(sys.executable).parent
TEAM = "bench"
PASSWORD = "measured"  # noqa: S105 - guards nothing
WINDOW_S = 3600
READY_TIMEOUT_S = 30.0
IDLE_LOOKS = 4
SEARCH = "/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin"
# One worker, as the others have; `arg_first` is the parameter of a batch.
NGINX = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; root {answers}; location = /v1/images {{ try_files /batches/$arg_first =404; }} }}
}}
"""


@dataclass(frozen=True)
class Server:
    """A server that is up; `worker` is the process that answers, `idle` the share of a processor it takes idle.

    `rival` is the token of another team's run.
    """

    name: str
    url: str
    worker: int
    token: str
    idle: float = 0.0
    has_score: bool = False
    rival: str = ""
    folder: Path | None = None

    def scored_detections(self) -> int:
        """How many detections the provisional score that operators see has seen, from the contest's database."""
        assert self.folder is not None  # noqa: S101 - it is a referee
        with closing(
            sqlite3.connect(f"file:{self.folder / 'contest.db'}?mode=ro", uri=True)
        ) as database:
            found = database.execute("SELECT detections FROM provisional").fetchone()
        return int(found[0]) if found else 0

    def processor_s(self) -> float:
        """Processor time, user and system, that the process which answers has taken in all its threads."""
        return processor_s(self.worker)

    def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        media_type: str = "",
    ) -> requests.Response:
        """One request of the team."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": media_type}
        answer = requests.request(
            method,
            self.url + path,
            data=body,
            headers=headers,
            timeout=60,
        )
        answer.raise_for_status()
        return answer

    def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        media_type: str = "",
    ) -> bytes:
        """The same request as it travels."""
        about = (
            f"Content-Type: {media_type}\r\nContent-Length: {len(body)}\r\n"
            if body
            else ""
        )
        head = f"{method} {path} HTTP/1.1\r\nHost: referee\r\nAuthorization: Bearer {self.token}\r\n{about}\r\n"
        return head.encode() + body


@contextmanager
def referee(
    name: str,
    programs: Path,
    folder: Path,
    testset: Path,
    rival: str = "",
    tls: tuple[Path, Path] | None = None,
) -> Iterator[Server]:
    """Serve a contest on that test set with the commands in the folder `programs`, and log its team in, and a rival.

    `tls` is a certificate and its key.
    """
    command = str(programs / "referee")
    run(
        command,
        "init",
        folder,
        "--testset",
        testset,
        "--window",
        WINDOW_S,
        "--auto-arm",
    )
    settings = folder / "contest.toml"
    password = folder / "password"
    text = settings.read_text()
    # An earlier version's init has no option for it.
    text = re.sub(
        "(?m)^attempts = .*$",
        "",
        text,
    )
    second = '[[stations]]\nname = "second"\nmeter = "sim:"\n' if rival else ""
    settings.write_text(text.replace("shuffle = true", "shuffle = false") + second)
    password.write_text(PASSWORD)
    teams = [TEAM, rival] if rival else [TEAM]
    for team in teams:
        run(
            command,
            "team",
            "add",
            team,
            "--password-file",
            password,
            "--contest",
            folder,
        )
    options = [
        "--port",
        0,
        *(("--tls-cert", tls[0], "--tls-key", tls[1]) if tls else ()),
    ]
    with (
        (folder / "log").open("w") as log,
        _started(log, command, "serve", folder, *options) as process,
    ):
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        url = process.stdout.readline().split(" at ")[1].split()[0]
        trusted = str(tls[0]) if tls else True
        tokens = [_log_in(url, team, trusted) for team in teams]
        server = Server(
            name,
            url,
            _worker(process),
            tokens[0],
            has_score=True,
            rival=tokens[-1],
            folder=folder,
        )
        # The least of several looks: at first it still loads its images.
        yield replace(server, idle=min(_idle(server) for _ in range(IDLE_LOOKS)))


def _log_in(url: str, team: str, verify: str | bool) -> str:
    entering = {"team": team, "password": PASSWORD}
    answer = requests.post(
        f"{url}/v1/session",
        json=entering,
        timeout=60,
        verify=verify,
    )
    answer.raise_for_status()
    return str(answer.json()["token"])


def _idle(server: Server) -> float:
    before_s = server.processor_s()
    time.sleep(1.0)
    return server.processor_s() - before_s


@contextmanager
def bare(answers: Path, token: str) -> Iterator[Server]:
    """Serve the recorded answers by `bench.bare`."""
    port = free_port()
    with _started(None, sys.executable, "-m", "bench.bare", answers, port) as process:
        _wait_for(port)
        yield Server(
            "bare Granian",
            f"http://127.0.0.1:{port}",
            _worker(process),
            token,
        )


def nginx_is_installed() -> bool:
    """Whether nginx can be started."""
    return shutil.which("nginx", path=SEARCH) is not None


@contextmanager
def nginx(answers: Path, token: str) -> Iterator[Server]:
    """Serve the recorded images and batches by nginx; a POST it refuses."""
    port = free_port()
    folder = answers.with_name("nginx")
    folder.mkdir(mode=0o755)
    (folder / "nginx.conf").write_text(
        NGINX.format(folder=folder, port=port, answers=answers)
    )
    program = shutil.which("nginx", path=SEARCH) or "nginx"
    with _started(None, program, "-c", folder / "nginx.conf") as process:
        _wait_for(port)
        yield Server("nginx", f"http://127.0.0.1:{port}", _worker(process), token)


def run(*words: object) -> None:
    """Run one of our commands to its end; it must not fail."""
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - ours


@contextmanager
def _started(log: IO[str] | None, *words: object) -> Iterator[subprocess.Popen[str]]:
    command = [str(word) for word in words]
    with subprocess.Popen(  # noqa: S603 - ours
        command, stdout=subprocess.PIPE, stderr=log, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def _worker(process: subprocess.Popen[str]) -> int:
    """The child that answers requests: others, such as Python's resource tracker, have hardly worked."""
    children = (
        Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    )
    return max(map(int, children), key=processor_s)


def free_port() -> int:
    """A port of this host that no one listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _wait_for(port: int) -> None:
    deadline_s = time.monotonic() + READY_TIMEOUT_S
    while time.monotonic() < deadline_s:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
            return
        time.sleep(0.05)
    raise TimeoutError(f"no server answers on port {port}")
