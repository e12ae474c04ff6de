"""`referee serve` starts, or says in one line why not."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from lpirc_testsets import import_labels, load_test_set, synthesize
from referee.web.listener import own_addresses
from referee.web.sole_server import sole_server
from tests.contest_day import TEAM, TIMEOUT_S, Day, Program, problem, program, refers


def stated(result: subprocess.CompletedProcess[str]) -> str:
    """The one line of a stated failure."""
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith("referee: ")
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr


def test_a_folder_of_other_files_is_no_contest(tmp_path: Path) -> None:
    """One that is missing or empty is set up: tests/referee/web/setup."""
    file = tmp_path / "file"
    file.touch()
    assert "is not a contest folder: it has no contest.toml" in stated(
        refers("serve", str(tmp_path))
    )
    assert str(file) in stated(refers("serve", str(file)))


def test_a_contest_that_is_being_served_is_busy(hall: Day) -> None:
    assert "is being served already" in stated(
        refers("serve", str(hall.folder), "--port", "0")
    )
    assert hall.server is not None
    assert hall.server.ask("GET", "/v1/health").status_code == 200


def test_a_contest_that_is_served_is_busy_also_without_its_lock_file_and_names_its_server(
    day: Callable[..., Day],
) -> None:
    made = day()
    assert made.server is not None
    (made.folder / ".lock").unlink()
    told = stated(refers("serve", str(made.folder), "--port", "0"))
    assert f"is being served already by process {made.server.pid};" in told


def test_a_contest_that_a_server_of_an_earlier_version_serves_is_busy(
    day: Callable[..., Day],
) -> None:
    made = day(served=False)
    with (made.folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        told = stated(refers("serve", str(made.folder), "--port", "0"))
    assert f"is being served already by process {os.getpid()};" in told


def test_a_port_in_use_is_refused(day: Callable[..., Day]) -> None:
    made = day(served=False)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        assert f"Port {port} of 127.0.0.1 is in use" in stated(
            refers("serve", str(made.folder), "--port", port)
        )


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host", ""])
def test_a_host_that_is_not_this_machine_is_refused(
    day: Callable[..., Day],
    host: str,
) -> None:
    made = day(served=False)
    result = refers("serve", str(made.folder), "--host", host, "--port", "0")
    assert "is not an address of this machine" in stated(result)


def test_a_host_may_be_a_name(day: Callable[..., Day]) -> None:
    made = day(served=False)
    assert made.serve("--host", "localhost").ask("GET", "/v1/health").status_code == 200


def test_a_test_set_that_changed_is_not_served(
    day: Callable[..., Day],
    tmp_path: Path,
) -> None:
    images = synthesize(
        tmp_path / "set",
        images=2,
        categories=2,
        seed=1,
        size=(96, 64),
    )
    made = day(served=False, testset=images.folder)
    path = images.image_path(2)
    path.write_bytes(path.read_bytes() + b"\0")
    # By the look beside serving.
    ended = refers("serve", str(made.folder), "--port", "0")
    (line,) = (one for one in ended.stderr.splitlines() if one.startswith("referee: "))
    assert ended.returncode == 1
    assert "changed since its manifest was made" in line
    assert path.name in line
    assert "changed since" in stated(made.refers("judge", "--all"))


def test_a_test_set_of_labels_only_is_not_served(
    day: Callable[..., Day],
    tmp_path: Path,
    tiny_set: Path,
) -> None:
    pictures = tmp_path / "pictures"
    table = tmp_path / "labels.csv"
    pictures.mkdir()
    shutil.copy(load_test_set(tiny_set).image_path(1), pictures / "a.jpg")
    table.write_text("file,label\na.jpg,7\n")
    labels = import_labels(table, pictures, tmp_path / "labels").folder
    made = day(served=False, testset=labels)
    assert "has no categories" in stated(
        refers("serve", str(made.folder), "--port", "0")
    )
    command = [
        sys.executable,
        "-m",
        "referee.web.live_process",
        str(made.folder),
        str(os.getpid()),
    ]
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert ended.returncode == 1
    assert re.search(r"^live score: .*labels and no boxes", ended.stderr, re.MULTILINE)


def test_a_certificate_that_is_none_is_refused(day: Callable[..., Day]) -> None:
    made = day(served=False)
    config = str(made.folder / "contest.toml")
    result = refers(
        "serve",
        str(made.folder),
        "--port",
        "0",
        "--tls-cert",
        config,
        "--tls-key",
        config,
    )
    told = stated(result)
    assert "is not a valid certificate with an unencrypted key" in told
    assert "_ssl.c" not in told


def test_a_contest_is_served_over_tls_and_obeys_its_operator(
    day: Callable[..., Day],
) -> None:
    made = day(served=False, auto_arm=False)
    cert, key = certificate(made.folder)
    server = made.serve(*options(cert, key))
    assert server.url.startswith("https://127.0.0.1:")
    assert server.ask("GET", "/v1/health", verify=str(cert)).json()["status"] == "ok"
    armed = made.refers("run", "arm", TEAM)
    assert armed.returncode == 0
    assert armed.stderr == ""
    problem(
        server.ask("GET", "/v1/session", "wrong", verify=str(cert)),
        401,
        "bad-token",
    )
    entering = {
        "name": "",
        "password": (made.folder / "operator-key").read_text().strip(),
    }
    entered = server.ask(
        "POST",
        "/operator/login",
        data=entering,
        allow_redirects=False,
        verify=str(cert),
    )
    assert "Secure" in entered.headers["Set-Cookie"].split("; ")
    with pytest.raises(requests.ConnectionError):
        requests.get(f"http://127.0.0.1:{server.port}/v1/health", timeout=TIMEOUT_S)


def test_a_key_that_everyone_can_read_is_refused(day: Callable[..., Day]) -> None:
    made = day(served=False)
    cert, key = certificate(made.folder)
    key.chmod(0o644)
    result = refers(
        "serve",
        str(made.folder),
        "--port",
        "0",
        "--tls-cert",
        str(cert),
        "--tls-key",
        str(key),
    )
    assert f"Everyone can read {key}; repair it with: chmod 600 {key}" in stated(result)


def test_the_operator_s_key_goes_to_no_server_with_another_certificate(
    day: Callable[..., Day],
    tmp_path: Path,
) -> None:
    made = day(served=False, auto_arm=False)
    server = made.serve(*options(*certificate(made.folder, "referee.example")))
    assert made.refers("run", "arm", TEAM).returncode == 0, (
        "whatever host a certificate names"
    )
    server.end()
    impostor = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    impostor.load_cert_chain(*certificate(tmp_path))
    with (
        sole_server(made.folder),
        socket.create_server(("127.0.0.1", server.port)) as listener,
    ):
        (made.folder / "server").write_text(f"{server.url}\n")
        with ThreadPoolExecutor() as pool:
            asked = pool.submit(made.refers, "run", "close", "1")
            connection, _ = listener.accept()
            connection.settimeout(TIMEOUT_S)
            with (
                connection,
                pytest.raises(ssl.SSLError, match=r"(?i)unknown.ca|certificate"),
            ):
                impostor.wrap_socket(connection, server_side=True).recv(1)
            assert "does not have the certificate of this contest" in stated(
                asked.result()
            )


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("0.0.0.0", "127.0.0.1"), ("::", "[::1]")],  # noqa: S104 - meant
)
def test_all_networks_are_announced_by_addresses_that_answer(
    day: Callable[..., Day],
    host: str,
    loopback: str,
) -> None:
    if host == "::" and not socket.has_dualstack_ipv6():
        pytest.skip("no IPv6 here")
    made = day(served=False, auto_arm=False)
    server = made.serve("--host", host)
    wanted = own_addresses() or [loopback]
    urls = re.findall(r"http://\S+", server.ready)
    assert urls == [f"http://{one}:{server.port}" for one in wanted]
    for url in urls:
        status = requests.get(f"{url}/v1/health", timeout=TIMEOUT_S).json()["status"]
        assert status == "ok"
    assert made.refers("run", "arm", TEAM).returncode == 0
    said = server.log.read_text()
    assert (
        "Warning: trusted_proxy is not set: no proxy limits the connections of an address"
        in said
    )
    assert "And no clients are set for station 'station-1'" in said


def test_the_addresses_of_this_machine_are_those_that_it_sends_from() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))  # of TEST-NET-1; nothing is sent
        except OSError:
            pytest.skip("no network but the loopback here")
        assert asking.getsockname()[0] in own_addresses()


def options(cert: Path, key: Path) -> tuple[str, ...]:
    return ("--tls-cert", str(cert), "--tls-key", str(key))


def certificate(folder: Path, name: str = "") -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    cert = folder / "cert.pem"
    key = folder / "key.pem"
    arguments = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "1",
    ]
    names = [
        "-subj",
        "/CN=referee",
        "-addext",
        f"subjectAltName={f'DNS:{name}' if name else 'IP:127.0.0.1'}",
    ]
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            *arguments,
            *names,
            "-keyout",
            str(key),
            "-out",
            str(cert),
        ],
        check=True,
        capture_output=True,
    )
    return cert, key


def test_a_server_whose_owner_is_gone_ends(
    day: Callable[..., Day],
    tmp_path: Path,
) -> None:
    made = day(served=False)
    owner = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    where = [str(made.folder), "--port", "0", "--parent", str(owner.pid)]
    server = Program([program("referee"), "serve", *where], tmp_path / "log")
    assert server.first_line().startswith("Serving ")
    owner.communicate()
    assert server.process.wait(TIMEOUT_S) == 0
    server.close()
