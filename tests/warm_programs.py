"""The project's commands as processes that need not import everything anew: half a second of work each.

They are forked from a process that has only imported, which each process of pytest starts when it first needs it:
real processes with their own files, folder, environment and signals, whose only difference to those of a shell is that
their imports are done. The rehearsals start every command from scratch, and so do all tests with COLD_START=1.
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

ENTRIES = {"referee": "referee.cli", "meter": "power.cli", "lpirc-client": "lpirc_client.cli"}
# What the commands import late.
IMPORTED = (
    *ENTRIES.values(), "power.addresses", "power.cli.live", "power.cli.recording_run", "power.report.probe",
    "power.report.ranges", "power.report.readings", "power.simulator.control", "power.simulator.noise",
    "power.simulator.portmapper", "power.simulator.process", "power.visa.link", "power.sampling.polling",
    "referee.scoring.coco_reference", "referee.web.server", "lpirc_client.sample_detector.detector",
)  # fmt: skip
LIMITS = (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE)
LONGEST_REQUEST = 2**20


def cold(arguments: Sequence[str]) -> list[str]:
    """The command line that starts it from scratch."""
    return [str(Path(sys.executable).with_name(arguments[0])), *arguments[1:]]


class Process:
    """A command under way: what the tests use of subprocess.Popen. A stream is a file or, as a pipe, None."""

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
        self._told, told = os.pipe()
        request = {
            "arguments": self.args,
            "cwd": str(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
            "limits": {limit: resource.getrlimit(limit) for limit in LIMITS},
        }
        socket.send_fds(_forking(), [json.dumps(request).encode()], [out, err, told])
        for end in (out, err, told):
            os.close(end)
        self.pid = int(self._line())

    def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            byte = os.read(self._told, 1)
            assert byte, "the process that forks has ended"
            line += byte
        return line

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._ended(0)

    def _ended(self, patience_s: float | None) -> int | None:
        told = select.poll()  # which, unlike select, takes descriptors above 1023
        told.register(self._told, select.POLLIN)
        if self.returncode is None and told.poll(None if patience_s is None else patience_s * 1000):
            self.returncode = int(self._line())
            os.close(self._told)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it wrote to its pipes, once it has ended; no more than fits into them."""
        self.wait(timeout)
        told = []
        for stream in (self.stdout, self.stderr):
            with stream or contextlib.nullcontext():
                told.append(stream.read() if stream else "")
        return told[0], told[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()


def _end(stream: IO[Any] | None) -> tuple[IO[str] | None, int]:
    """Our end of a pipe, if it shall be one, and the process's end."""
    if stream is not None:
        return None, os.dup(stream.fileno())
    ours, theirs = os.pipe()
    return os.fdopen(ours), theirs


def start(arguments: Sequence[str], **places: Any) -> Any:
    """Start one of our commands by its name; streams that are not given are pipes, stdin has nothing."""
    if os.environ.get("COLD_START"):
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
        return subprocess.Popen(cold(arguments), text=True, **(streams | places))
    return Process(arguments, **places)


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
        told = []
        for file in (out, err):
            file.seek(0)
            told.append(file.read())
        return subprocess.CompletedProcess(list(arguments), process.returncode, *told)


@functools.cache
def _forking() -> socket.socket:
    """The way to the process that forks; it ends when we do."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LONGEST_REQUEST)
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


def _serve(requests: socket.socket) -> dict[str, Any]:
    """Fork for each request; returns in the child, with its request."""
    under_way: dict[int, tuple[int, int]] = {}
    while True:
        for ready in select.select([requests, *under_way], [], [])[0]:
            if ready is not requests:
                _tell_end(*under_way.pop(ready), ready)
                continue
            asked, files, _, _ = socket.recv_fds(requests, LONGEST_REQUEST, 3)
            if not asked:
                os._exit(0)
            *streams, told = files
            pid = os.fork()
            if pid == 0:
                requests.close()
                for end in (told, *under_way, *(end for _, end in under_way.values())):
                    os.close(end)
                for number, stream in enumerate(streams, 1):
                    os.dup2(stream, number)
                    os.close(stream)
                request: dict[str, Any] = json.loads(asked)
                return request
            for stream in streams:
                os.close(stream)
            os.write(told, b"%d\n" % pid)
            under_way[os.pidfd_open(pid)] = (pid, told)


def _tell_end(pid: int, told: int, watched: int) -> None:
    _, status = os.waitpid(pid, 0)
    os.close(watched)
    with contextlib.suppress(BrokenPipeError):
        os.write(told, b"%d\n" % os.waitstatus_to_exitcode(status))
    os.close(told)


def _become(request: dict[str, Any]) -> None:
    """Be the command of the request."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
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
    try:
        sys.exit(importlib.import_module(ENTRIES[name]).main())
    except SystemExit as end:
        _exit(end.code)
    except BaseException:  # noqa: BLE001 - as the interpreter does
        sys.excepthook(*sys.exc_info())
        _exit(1)


def _exit(code: object) -> None:
    """End as the interpreter does, but leave the taking apart of what was imported to the system."""
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        os._exit(120)
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as asking:
        del sys.path[0]  # the folder of this file
        for name in IMPORTED:
            importlib.import_module(name)
        importlib.import_module("referee.auth.passwords").decoy_hash()  # a fifth of a second for each server
        gc.freeze()
        request = _serve(asking)
    _become(request)
