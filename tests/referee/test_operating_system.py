"""What the referee does on macOS, as far as Linux can pretend to be it, and that it says no on Windows."""

from __future__ import annotations

import os
import resource
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from referee.operating_system import (
    MOST_FILES_OF_MACOS,
    allow_files,
    lower_priority,
)
from tests.pretended_system import imported, run, run_code

PROBED = """
import socket
from referee.web import listener
with socket.create_server(("127.0.0.1", 0)) as ours, socket.create_server(("127.0.0.1", 0)) as other:
    listener.end_dead_connections(ours.getsockname()[1])
    for one in (ours, other):
        print(one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE), one.getsockopt(socket.IPPROTO_TCP, 4))
"""
KNOWN = """
from pathlib import Path
from referee import operating_system as system
from referee.auth.guessing import PasswordChecks
from referee.clock import Clock
from referee.web.sole_server import sole_server
from referee.web.image_files import MODEST_BYTES, memory_for_images
from referee.errors import RefereeError
PasswordChecks()
print(Clock().boot_id(), Clock().monotonic_s() > 0, memory_for_images() == MODEST_BYTES)
with sole_server(Path()):
    print(system.lock_holder(Path()))
    try:
        with sole_server(Path()):
            print("both")
    except RefereeError as busy:
        print(busy)
print(*system.own_addresses())
"""


@pytest.mark.parametrize(
    "arguments",
    [(), ("--help",), ("--version",), ("serve", "contest")],
)
def test_on_windows_every_command_says_one_sentence(
    arguments: tuple[str, ...],
    tmp_path: Path,
) -> None:
    refused = run("win32", tmp_path, "referee", *arguments)
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert (
        refused.stderr
        == "referee: it runs on Linux and macOS, not on Windows; use WSL 2.\n"
    )


def test_every_module_is_imported_on_macos(tmp_path: Path) -> None:
    assert "referee.web.server" in imported("darwin", tmp_path, "referee")


def test_on_macos_dead_connections_to_our_port_are_ended(tmp_path: Path) -> None:
    ours, other = run_code("darwin", tmp_path, PROBED).splitlines()
    assert ours == "1 15"
    assert other.split()[0] == "0"


def test_what_macos_does_not_tell_is_unknown_and_a_folder_is_still_served_once(
    tmp_path: Path,
) -> None:
    clock, holder, busy, addresses = run_code("darwin", tmp_path, KNOWN).split("\n")[:4]
    assert clock == "None True True"
    assert holder == "None"
    assert busy == ". is being served already by process ?; stop that server first."
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))  # of TEST-NET-1; nothing is sent
        except OSError:
            assert addresses == ""
        else:
            assert addresses == asking.getsockname()[0]


def test_where_fewer_files_are_allowed_than_said_the_limit_is_what_macos_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = [256, resource.RLIM_INFINITY]

    def set_limit(_kind: int, wanted: tuple[int, int]) -> None:
        if wanted[0] > MOST_FILES_OF_MACOS:
            raise ValueError("current limit exceeds maximum limit")
        limits[:] = wanted

    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", set_limit)
    assert allow_files(16_896) == MOST_FILES_OF_MACOS
    assert limits == [MOST_FILES_OF_MACOS, resource.RLIM_INFINITY]
    assert allow_files(1000) == 1000


def test_a_thread_whose_priority_is_lower_already_keeps_it() -> None:
    def priorities() -> tuple[int, int]:
        lower_priority(5)
        first = os.getpriority(os.PRIO_PROCESS, 0)
        lower_priority(3)
        return first, os.getpriority(os.PRIO_PROCESS, 0)

    own = os.getpriority(os.PRIO_PROCESS, 0)
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(priorities).result() == (max(own, 5), max(own, 5))
