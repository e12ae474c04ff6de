"""docs/deploy/nginx.conf changes nothing for a client that behaves, and refuses in the referee's form."""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from referee.web.request_bodies import LARGEST_BODY_BYTES
from tests.contest_day import PASSWORD, ROWS, TEAM, TIMEOUT_S
from tests.deploy.deployment import (
    GUIDE,
    HOST,
    Answer,
    Deployment,
    Nginx,
    asked,
    begun,
    head,
    program,
    read_answer,
    substitutions,
    upstream,
)
from tests.ports import own_port

BOARD = "127.0.9.1"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_board_works_over_tls(
    deployment: Deployment,
    version: ssl.TLSVersion,
) -> None:
    trusting = ssl.create_default_context(cafile=str(deployment.nginx.certificate))
    trusting.minimum_version = trusting.maximum_version = version
    connection = http.client.HTTPSConnection(
        HOST,
        deployment.nginx.tls_port,
        timeout=TIMEOUT_S,
        context=trusting,
    )
    with contextlib.closing(connection):
        login = asked(
            connection,
            "POST",
            "/v1/session",
            body={"team": TEAM, "password": PASSWORD},
        )
        token = login.json()["token"]
        assert login.status == 201
        assert token == deployment.token
        assert asked(connection, "GET", "/v1/images/1", token).body.startswith(
            b"\xff\xd8"
        )
        assert asked(connection, "POST", "/v1/detections", token, ROWS).status == 202


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/v1/images/3", {}),
        ("/v1/images/3", {"Range": "bytes=100-199"}),
        ("/v1/images/3", {"If-None-Match": "*"}),
        ("/v1/images?first=2&count=23", {}),
        ("/v1/images?first=2&count=23", {"Range": "bytes=2000000-2999999"}),
        ("/v1/images/99", {}),
        ("/v1//images/3", {}),
        ("/nowhere", {}),
    ],
)
def test_an_answer_is_the_same_as_without_nginx(
    deployment: Deployment,
    path: str,
    headers: dict[str, str],
) -> None:
    server = deployment.day.server
    assert server is not None
    told = []
    for port in (deployment.nginx.port, server.port):
        with contextlib.closing(
            http.client.HTTPConnection(HOST, port, TIMEOUT_S)
        ) as connection:
            told.append(asked(connection, "GET", path, deployment.token, **headers))
    for answer in told:
        for name in ("date", "server", "connection", "x-window-remaining-ms"):
            answer.headers.pop(name, None)
    assert told[0] == told[1]


def test_a_body_of_4_mib_arrives_and_no_larger_one(deployment: Deployment) -> None:
    row = struct.pack("<7f", 1, 1, 0.5, 0, 0, 5, 5)
    most = LARGEST_BODY_BYTES // len(row)

    def posted(rows: int) -> Answer:
        packed = {"Content-Type": "application/octet-stream"}
        return deployment.ask(
            BOARD,
            "POST",
            "/v1/detections",
            deployment.token,
            body=row * rows,
            **packed,
        )

    arrived = posted(most)
    assert arrived.status == 202
    assert arrived.json()["accepted"] == most
    assert posted(most + 1).problem() == (413, "too-large")


@pytest.mark.parametrize("path", ["/v1/entries", "/v1/jobs/x/result"])
def test_an_entry_and_what_a_device_measured_may_be_larger(
    deployment: Deployment,
    alone: Nginx,
    path: str,
) -> None:
    sent = deployment.ask(BOARD, "POST", path, body=bytes(LARGEST_BODY_BYTES + 1))
    assert sent.status != 413  # the referee itself answers
    with socket.create_connection((HOST, alone.port), TIMEOUT_S) as connection:
        connection.sendall(head("POST", path, "x", 512 * 2**20 + 1))
        refused = read_answer(begun(connection))
    assert refused.problem() == (413, "too-large")
    assert refused.json()["detail"] == "The body has more than 512 MiB."


def test_a_chunked_body_arrives_whole(deployment: Deployment) -> None:
    with contextlib.closing(deployment.connection(BOARD)) as connection:
        headers = {
            "Authorization": f"Bearer {deployment.token}",
            "Content-Type": "text/plain",
        }
        parts = iter([b"1 1 .5 0 ", b"0 5 5\n"])
        connection.request(
            "POST",
            "/v1/detections",
            parts,
            headers,
            encode_chunked=True,
        )
        answer = read_answer(connection.getresponse())
    assert answer.status == 202
    assert answer.json()["accepted"] == 1


def test_an_old_client_works_that_names_no_host(deployment: Deployment) -> None:
    form = urlencode({"username": TEAM, "password": PASSWORD}).encode()
    with socket.create_connection(
        (HOST, deployment.nginx.port),
        TIMEOUT_S,
    ) as connection:
        connection.sendall(
            b"POST /login HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s" % (len(form), form)
        )
        answer = read_answer(begun(connection))
    assert answer.status == 200
    assert answer.body.decode() == deployment.token


def test_failed_log_ins_of_one_board_keep_no_other_one_out(
    deployment: Deployment,
) -> None:
    guess = {"team": TEAM, "password": "guess"}
    for _ in range(10):
        status = deployment.ask("127.0.9.7", "POST", "/v1/session", body=guess).status
        assert status == 401
    refused = deployment.ask("127.0.9.7", "POST", "/v1/session", body=guess)
    assert refused.problem() == (429, "too-many-failures")
    assert deployment.login("127.0.9.8", TEAM).status == 201


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    """nginx without a referee behind it."""
    program("nginx")
    with contextlib.closing(
        Nginx(tmp_path_factory.mktemp("alone"), upstream(own_port()))
    ) as nginx:
        yield nginx


def test_while_the_referee_is_down_clients_are_told_so(alone: Nginx) -> None:
    with contextlib.closing(
        http.client.HTTPConnection(HOST, alone.port, TIMEOUT_S)
    ) as connection:
        assert asked(connection, "GET", "/v1/health").problem() == (502, "no-answer")
        assert asked(connection, "POST", "/v1/session", body={}).problem() == (
            502,
            "no-answer",
        )
        old = asked(connection, "POST", "/login", body=b"username=ant&password=x")
        assert old.status == 500
        assert old.body == b"Powermeter not connected\n"


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(alone: Nginx) -> None:
    with socket.create_connection((HOST, alone.port), TIMEOUT_S) as connection:
        connection.sendall(head("POST", "/v1/detections", "x", LARGEST_BODY_BYTES * 2))
        assert read_answer(begun(connection)).problem() == (413, "too-large")


def test_the_guide_lists_every_place_that_the_tests_change() -> None:
    guide = (GUIDE / "README.md").read_text()
    for place in substitutions(Path("/nowhere"), 1, 2) | upstream(3):
        assert f"`{place.strip()}`" in guide, place


def test_the_unit_and_nginx_agree_on_the_referee_s_address() -> None:
    assert "--host 127.0.0.1 --port 8080" in (GUIDE / "referee.service").read_text()
    assert "server 127.0.0.1:8080;" in (GUIDE / "nginx.conf").read_text()


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None,
    reason="systemd is not installed",
)
@pytest.mark.skipif(
    os.geteuid() != 0 and not Path("/run/systemd").is_dir(),
    reason="systemd does not run, and only root can try",
)
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    text = (GUIDE / "referee.service").read_text()
    installed = "/opt/lpirc/.venv/bin/referee"
    assert installed in text
    unit = tmp_path / "referee.service"
    here = Path(sys.executable).with_name("referee")
    unit.write_text(text.replace(installed, f'"{here}"'))  # its folder may have a space
    command = ["systemd-analyze", "verify", "--man=no", str(unit)]
    verified = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
    )
    assert verified.returncode == 0
    assert verified.stdout == ""
    assert verified.stderr == ""
