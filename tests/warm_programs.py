"""The project's commands as processes whose imports are already done, which saves half a second each.

Each process of pytest starts one process that only imports, and forks the commands from it. They are real processes
with their own files, folder, environment and signals. With COLD_START=1 all tests start every command from scratch, as
the rehearsals always do. With CLIENT_BIN=FOLDER they take the client's command from there: from another Python.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

LIVE = "referee.web.live_process"
ENTRIES = {
    "referee": "referee.cli",
    "meter": "lpirc_power.cli",
    "lpirc-score": "lpirc_score.cli.program",
    "lpirc-client": "lpirc_client.cli",
    "lpirc-harness": "lpirc_client.harness.cli",
}
ROOT = Path(__file__).parents[1]
# What the commands import late.
IMPORTED = (
    *ENTRIES.values(), LIVE, "lpirc_power.visa.link",
    *(f"lpirc_power.cli.{one.stem}" for one in (ROOT / "power/lpirc_power/cli").glob("[a-z]*.py")),
    *(f"referee.cli.{one.stem}" for one in (ROOT / "referee/cli").glob("[a-z]*.py")),
    "lpirc_score.metrics.coco_reference", "referee.web.server",
    "lpirc_client.sample_detector.detector",
    "lpirc_client.harness.harness_commands", "lpirc_client.harness.harness_options",
)  # fmt: skip
CLIENT_BIN = os.environ.get("CLIENT_BIN") and Path(os.environ["CLIENT_BIN"]).resolve()
LIMITS = (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE)
LONGEST_REQUEST = 2**20
_inherited: list[socket.socket] = []
"""In a command: its connection to the forking process."""


def cold(arguments: Sequence[str]) -> list[str]:
    """Return the command line that starts it from scratch."""
    program = Path(sys.executable).with_name(arguments[0])
    if CLIENT_BIN and arguments[0] == "lpirc-client":
        program = CLIENT_BIN / "lpirc-client"
    return [str(program), *arguments[1:]]


class Process:
    """A running command, with the parts of subprocess.Popen that the tests use; a stream is a file, or None: a pipe."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        stdout: IO[Any] | None = None,
        stderr: IO[Any] | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.args = list(arguments)
        self.returncode: int | None = None
        self.stdout, out = _end(stdout)
        self.stderr, err = _end(stderr)
        self._news, news = os.pipe()
        request = {
            "arguments": self.args,
            "cwd": str(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
            "limits": {limit: resource.getrlimit(limit) for limit in LIMITS},
        }
        socket.send_fds(_forking(), [json.dumps(request).encode()], [out, err, news])
        for end in (out, err, news):
            os.close(end)
        self.pid = int(self._line())

    def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            byte = os.read(self._news, 1)
            assert byte, "the forking process has ended"
            line += byte
        return line

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return self._ended(0)

    def _ended(self, timeout_s: float | None) -> int | None:
        news = select.poll()  # unlike select it takes descriptors above 1023
        news.register(self._news, select.POLLIN)
        if self.returncode is None and news.poll(
            None if timeout_s is None else timeout_s * 1000
        ):
            self.returncode = int(self._line())
            os.close(self._news)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            # It can end between the two: the forking process has collected it then.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for its end and return what it wrote to its pipes, which must fit into them."""
        self.wait(timeout)
        written = []
        for stream in (self.stdout, self.stderr):
            with stream or contextlib.nullcontext():
                written.append(stream.read() if stream else "")
        return written[0], written[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()


def _end(stream: IO[Any] | None) -> tuple[IO[str] | None, int]:
    """Return our end of a pipe, if there is no stream, and the process's end."""
    if stream is not None:
        return None, os.dup(stream.fileno())
    ours, theirs = os.pipe()
    return os.fdopen(ours), theirs


def start(arguments: Sequence[str], **places: Any) -> Any:
    """Start one of our commands by its name; streams that are not given are pipes, stdin is empty."""
    if os.environ.get("COLD_START") or (CLIENT_BIN and arguments[0] == "lpirc-client"):
        streams = {
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "stdin": subprocess.DEVNULL,
        }
        return subprocess.Popen(cold(arguments), text=True, **(streams | places))
    return Process(arguments, **places)


class Simulators:
    """Stands in for `subprocess` in the module `simulator_address`: the meter of an address `sim:` is forked, too."""

    PIPE = subprocess.PIPE
    TimeoutExpired = subprocess.TimeoutExpired

    @staticmethod
    def Popen(command: Sequence[str], **_: Any) -> Any:  # noqa: N802 - its name there
        """Start what `python -P -m lpirc_power ...` says."""
        return start(["meter", *command[command.index("lpirc_power") + 1 :]])


class LiveScores:
    """Stands in for `subprocess` in referee.web.live_process: what a server starts beside it is forked, too."""

    DEVNULL = subprocess.DEVNULL
    TimeoutExpired = subprocess.TimeoutExpired

    @staticmethod
    def Popen(command: Sequence[str], **_: Any) -> Process:  # noqa: N802 - its name there
        """Start what `python -P -m referee.web.live_process ...` says."""
        with Path(os.devnull).open("w") as nothing:
            return Process(
                command[command.index(LIVE) :],
                stdout=nothing,
                stderr=sys.stderr,
            )


def run(
    arguments: Sequence[str],
    timeout: float = 80.0,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run one of our commands to its end, as subprocess.run does with captured output."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        with start(arguments, stdout=out, stderr=err, cwd=cwd, env=env) as process:
            try:
                process.wait(timeout)
            finally:
                process.kill()
        written = []
        for file in (out, err):
            file.seek(0)
            written.append(file.read())
        return subprocess.CompletedProcess(
            list(arguments),
            process.returncode,
            *written,
        )


@functools.cache
def _forking() -> socket.socket:
    """Start the forking process, if we are not one of its commands, and return the socket to it; it ends when we do."""
    if _inherited:
        return _inherited[0]
    ours, theirs = _pair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _pair() -> tuple[socket.socket, socket.socket]:
    """Return who asks and who forks."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LONGEST_REQUEST)
    return ours, theirs


def _serve(requests: socket.socket) -> dict[str, Any]:
    """Fork for each request, of the tests or of a command; return in the child, with its request."""
    running: dict[int, tuple[int, int]] = {}
    asking = [requests]
    while True:
        for ready in select.select([*asking, *running], [], [])[0]:
            if isinstance(ready, int):
                _report_end(*running.pop(ready), ready)
                continue
            asked, files, _, _ = socket.recv_fds(ready, LONGEST_REQUEST, 3)
            if asked and (
                request := _forked(json.loads(asked), files, asking, running)
            ):
                return request
            if not asked and ready is requests:
                os._exit(0)
            if not asked:
                asking.remove(ready)
                ready.close()


def _forked(
    request: dict[str, Any],
    files: list[int],
    asking: list[socket.socket],
    running: dict[int, tuple[int, int]],
) -> dict[str, Any] | None:
    """Fork; return the request in the child, None in the parent."""
    *streams, news = files
    ours, theirs = _pair()
    pid = os.fork()
    if pid == 0:
        _inherited.append(ours)
        for connection in (theirs, *asking):
            connection.close()
        for end in (news, *running, *(end for _, end in running.values())):
            os.close(end)
        for number, stream in enumerate(streams, 1):
            os.dup2(stream, number)
            os.close(stream)
        return request
    ours.close()
    asking.append(theirs)
    for stream in streams:
        os.close(stream)
    os.write(news, b"%d\n" % pid)
    running[os.pidfd_open(pid)] = (pid, news)
    return None


def _report_end(pid: int, news: int, watched: int) -> None:
    _, status = os.waitpid(pid, 0)
    os.close(watched)
    with contextlib.suppress(BrokenPipeError):
        os.write(news, b"%d\n" % os.waitstatus_to_exitcode(status))
    os.close(news)


def _become(request: dict[str, Any]) -> None:
    """Become the command of the request."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Ignored where the tests were started by nohup.
    signal.signal(
        signal.SIGHUP,
        signal.SIG_DFL,
    )
    for limit, values in request["limits"].items():
        resource.setrlimit(int(limit), tuple(values))
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False, errors="backslashreplace", buffering=1)  # noqa: SIM115
    name, *_ = request["arguments"]
    sys.argv = cold(request["arguments"])
    vars(importlib.import_module(LIVE))["subprocess"] = LiveScores
    if name == LIVE:
        _descend_from(int(sys.argv[-1]))
    try:
        sys.exit(importlib.import_module(ENTRIES.get(name, name)).main())
    except SystemExit as end:
        _exit(end.code)
    except BaseException:  # noqa: BLE001 - as the interpreter does
        sys.excepthook(*sys.exc_info())
        _exit(1)


def _descend_from(parent: int) -> None:
    """Take that process for our parent as long as it lives."""
    try:
        watched = os.pidfd_open(parent)
    except ProcessLookupError:
        os._exit(0)
    vars(os)["getppid"] = lambda: (
        1 if select.select([watched], [], [], 0)[0] else parent
    )


def _exit(code: object) -> None:
    """End as the interpreter does, but without destroying the imported modules."""
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()  # private, but os._exit below would skip what the commands registered  # noqa: SLF001 - a forked child ends without its parent's clean-up
    try:
        sys.stdout.flush()
    except OSError:
        os._exit(120)
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _import_all() -> None:
    """Import what the commands need, and start no thread: a forked command would wait for it at its end, for ever.

    pyvisa-py looks for USB devices while it is imported. libusb then starts threads, and keeps them.
    """
    usb = importlib.import_module("usb.core")
    find = usb.find
    vars(usb)["find"] = lambda: None
    for name in IMPORTED:
        importlib.import_module(name)
    vars(usb)["find"] = find
    threads = os.listdir("/proc/self/task")  # noqa: PTH208 - only how many
    if len(threads) > 1:
        sys.exit(
            f"the forking process has {len(threads)} threads: what was imported has started some"
        )


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as asking:
        del sys.path[0]  # the folder of this file
        _import_all()
        # A fifth of a second for each server.
        importlib.import_module("referee.auth.passwords").decoy_hash()
        gc.freeze()
        request = _serve(asking)
    _become(request)
