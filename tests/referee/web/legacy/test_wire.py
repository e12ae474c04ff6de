"""What goes over the wire: multipart forms, connections that end, clients that read until then."""

from __future__ import annotations

import shutil
import socket
import subprocess
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from urllib.parse import urlencode

import pytest

from referee.store.records import RunState
from referee.web.request_bodies import LARGEST_DOCUMENT_BYTES
from tests.contest_day import PASSWORD, TEAM, TIMEOUT_S, Day, Server
from tests.referee.web.legacy.old_clients import (
    COLUMNS,
    OldClient,
    Told,
    posted,
    spoken,
)

STORED = (200, "Result stored in the server database\n")
SOON_S = 20.0  # the server keeps idle connections for 75 s
BOX = ("1", "0.5", "0", "0", "5", "5")


@pytest.fixture
def old(hall: Day, token: str) -> OldClient:
    assert hall.server is not None
    return OldClient(hall.server, token)


def count(day: Day) -> int:
    with day.store() as store:
        return store.posts.count_detections(1)


def curl(
    server: Server,
    path: str,
    *fields: tuple[str, str],
    method: str = "POST",
) -> Told:
    """`curl -F`, the real one."""
    program = shutil.which("curl")
    if program is None:
        pytest.skip("curl is not installed")
    options = [part for name, value in fields for part in ("-F", f"{name}={value}")]
    command = [
        program,
        "-sS",
        "-w",
        "\n%{http_code}",
        "-X",
        method,
        "--noproxy",
        "*",
        *options,
        server.url + path,
    ]
    body, _, status = subprocess.run(
        command,
        check=True,
        capture_output=True,
    ).stdout.rpartition(b"\n")
    return Told(int(status), body, {})


def multipart(
    fields: list[tuple[str, str]],
    boundary: str = "----x--7",
    end: str = "--",
) -> bytes:
    parts = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n'
        for n, v in fields
    )
    return f"{parts}--{boundary}{end}\r\n".encode()


def sent(
    server: Server,
    path: str,
    body: bytes,
    boundary: str = "----x--7",
) -> Told:
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
    kind = f"Content-Type: multipart/form-data; boundary={boundary}\r\n\r\n"
    return spoken(server, (head + kind).encode() + body)


def rows_of(images: list[int], confidence: str = "0.5") -> list[tuple[str, str]]:
    box = dict(zip(COLUMNS[1:], BOX, strict=True)) | {"confidence": confidence}
    return [
        pair for image in images for pair in [("image_name", str(image)), *box.items()]
    ]


def test_curl_with_multipart_forms_makes_a_whole_run(day: Callable[..., Day]) -> None:
    made = day()
    server = made.server
    assert server is not None
    told = curl(server, "/login", ("username", TEAM), ("password", PASSWORD))
    assert told.status == 200
    token = ("token", told.body.decode())
    body = curl(server, "/get_token", ("password", PASSWORD), ("username", TEAM)).body
    assert body == told.body
    assert curl(server, "/verify", token, method="GET").plain == (200, "Valid Token\n")
    assert curl(server, "/no_of_images", token).plain == (200, "6")
    assert curl(server, "/image", ("image_name", "2"), token).body.startswith(
        b"\xff\xd8"
    )
    with zipfile.ZipFile(
        BytesIO(curl(server, "/zipimages", token, ("image_name", "1")).body)
    ) as archive:
        assert len(archive.namelist()) == 6
    assert curl(server, "/image_camera", token, ("image_name", "1")).status == 500
    rows = rows_of([1, 2]) + rows_of([3], "nan")
    # Curl draws another boundary each time: the same rows again still count once.
    for _ in range(2):
        assert curl(server, "/result", token, *rows).plain == STORED
    assert count(made) == 2
    with made.store() as store:
        assert [row["line"] for row in store.posts.refused_rows(1)] == [3]
    assert curl(server, "/logout", token).plain == (200, "Logout success\n")
    assert made.run().closed_by == "logout"


def test_fields_of_a_multipart_form_are_read_whatever_its_boundary(
    old: OldClient,
    hall: Day,
) -> None:
    for number, boundary in enumerate(
        ("a", "----WebKitFormBoundary7MA4YWxkTrZu0gW", "'()+_,-./:=?")
    ):
        before = count(hall)
        body = multipart(
            [("token", old.token), *rows_of([1, 2, 3], f"0.7{number}")],
            boundary,
        )
        quoted = f'"{boundary}"'
        assert sent(old.server, "/result", body, quoted).plain == STORED
        assert sent(old.server, "/result", body, quoted).plain == STORED
        assert count(hall) == before + 3


@pytest.mark.parametrize("path", ["/verify", "/image", "/result", "/logout"])
@pytest.mark.parametrize(
    "fields",
    [[], [("token", "x")], [("tokens", "x"), ("image_name", "1")]],
)
def test_a_multipart_form_without_a_good_token_is_refused(
    old: OldClient,
    path: str,
    fields: list[tuple[str, str]],
) -> None:
    assert sent(old.server, path, multipart(fields)).plain == (401, "Invalid Token\n")


def test_a_multipart_form_that_is_not_whole_stores_nothing(
    old: OldClient,
    hall: Day,
) -> None:
    before = count(hall)
    fields = [("token", old.token), *rows_of([1, 2], "0.61")]
    assert sent(old.server, "/result", multipart(fields, end="")).status == 400
    status = sent(
        old.server,
        "/result",
        multipart(fields).replace(b'name="xmin"', b'name="\xff"'),
    ).status
    assert status == 400
    too_many = [("token", old.token), *rows_of([1] * 1500, "0.62")]
    assert sent(old.server, "/result", multipart(too_many)).status == 413
    assert count(hall) == before


def test_the_token_of_a_multipart_form_is_in_its_first_64_kib(
    old: OldClient,
    hall: Day,
) -> None:
    before = count(hall)
    rows = rows_of([1] * 200, "0.63")
    late = multipart([*rows, ("token", old.token)])
    assert len(late) > LARGEST_DOCUMENT_BYTES
    assert sent(old.server, "/result", late).plain == (401, "Invalid Token\n")
    assert count(hall) == before
    plain = sent(
        old.server,
        "/result",
        multipart([*rows[:98], ("token", old.token), *rows[98:]]),
    ).plain
    assert plain == STORED
    assert count(hall) == before + 200
    status = sent(
        old.server,
        "/verify",
        multipart([("x", "1")] * 100 + [("token", old.token)]),
    ).status
    assert status == 413
    headers = (
        b'"token"\r\nContent-Type: text/plain\r\nContent-Transfer-Encoding: 8bit\r\n'
    )
    body = multipart([("token", old.token)]).replace(b'"token"\r\n', headers)
    assert sent(old.server, "/result", body).plain == STORED


def test_odd_parts_of_a_multipart_form(old: OldClient, hall: Day) -> None:
    """As the original: files are no fields, of two tokens the first counts, empty parts are of no harm."""
    before = count(hall)
    token = multipart(
        [
            ("token", old.token),
            ("token", "x"),
            ("", ""),
            ("remark", "&token=x&"),
        ],
        "1",
    )
    file = (
        b'--1\r\nContent-Disposition: form-data; name="xmin"; filename="x"\r\n\r\n7\r\n'
    )
    bodies = [
        file + file + multipart([("token", old.token), *rows_of([1], f"0.6{n}1")], "1")
        for n in "12"
    ]
    assert sent(old.server, "/verify", token, "1").plain == (200, "Valid Token\n")
    for body in (*bodies, *bodies):  # a boundary that is part of every number
        assert sent(old.server, "/result", body, "1").plain == STORED
    assert count(hall) == before + 2
    as_file = multipart([("token", old.token)]).replace(
        b'"token"',
        b'"token"; filename="t"',
    )
    assert sent(old.server, "/verify", as_file).plain == (401, "Invalid Token\n")


@pytest.mark.parametrize("left", range(-2, 4))
def test_a_token_that_ends_where_the_first_64_kib_do_is_read_whole(
    old: OldClient,
    left: int,
) -> None:
    before = f"image_name={'1' * (LARGEST_DOCUMENT_BYTES - 60)}"
    form = f"{before[: LARGEST_DOCUMENT_BYTES - len(old.token) - len('&token=') - left]}&token={old.token}"
    for name in ("CLASS_ID", "confidence", "xmin", "ymin", "xmax", "ymax"):
        form += f"&{name}=1"
    assert posted(old.server, "/result", form).plain == STORED


# Connections


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize(
    "path",
    ["/help", "/verify", "/image", "/zipimages", "/result"],
)
def test_a_client_that_reads_until_the_connection_ends_has_its_answer(
    old: OldClient,
    path: str,
    version: str,
) -> None:
    form = urlencode({"token": old.token, "image_name": 1})
    head = f"POST {path} HTTP/{version}\r\nHost: x\r\nContent-Length: {len(form)}\r\n"
    for more, is_kept in (
        ("", False),
        ("Connection: close\r\n", False),
        ("Connection: Keep-Alive\r\n", True),
    ):
        with socket.create_connection(
            (old.server.host, old.server.port),
            TIMEOUT_S,
        ) as connection:
            connection.sendall(f"{head}{more}\r\n{form}".encode())
            answer = connection.makefile("rb")
            status = answer.readline()
            assert status.split()[1] in (b"200", b"406")
            if is_kept:
                connection.sendall(f"{head}Connection: close\r\n\r\n{form}".encode())
            connection.settimeout(SOON_S)
            assert answer.read().count(b"HTTP/1.") == int(is_kept)


def test_version_1_keeps_its_connections(hall: Day) -> None:
    assert hall.server is not None
    assert "connection" not in hall.server.ask("GET", "/v1/health").headers


# Log-ins


def test_logging_in_after_the_run_gives_its_token_again(
    day: Callable[..., Day],
) -> None:
    made = day(auto_arm=False)
    assert made.server is not None
    client = OldClient(made.server)
    # There was no run yet.
    assert client.log_in().plain == (
        500,
        "Powermeter not connected\n",
    )
    assert made.refers("run", "arm", TEAM).returncode == 0
    told = client.log_in()
    client.ask("/logout")
    assert OldClient(made.server).log_in().plain == told.plain
    assert client.ask("/verify").plain == (401, "Invalid Token\n")
    assert OldClient(made.server, password="wrong").log_in().status == 401
    assert made.refers("run", "arm", TEAM).returncode == 0
    assert client.log_in().plain != told.plain
    assert [run.id for run in made.runs(RunState.OPEN)] == [2]


def test_ten_log_ins_at_once_wait_for_one_another(
    day: Callable[..., Day],
    threads: ThreadPoolExecutor,
) -> None:
    made = day()
    server = made.server
    assert server is not None
    waiting = [threads.submit(OldClient(server).log_in) for _ in range(10)]
    assert {one.result().status for one in waiting} == {200}
    assert len({one.result().body for one in waiting}) == 1
    assert [run.id for run in made.runs(RunState.OPEN)] == [1]


def test_bodies_that_are_stored_together_are_each_read_as_their_own_request_says(
    hall: Day,
    token: str,
    old: OldClient,
) -> None:
    def post_form(number: int) -> Told:
        boundary = f"----x--{number}"
        fields = [("token", token), *rows_of([1], f"0.{number + 1000}")]
        return sent(old.server, "/result", multipart(fields, boundary), boundary)

    before = count(hall)
    with ThreadPoolExecutor(12) as threads:
        forms = threads.map(post_form, range(120))
        others = threads.map(
            lambda _: hall.post(token, [[1, 1, 0.5, 0, 0, 5, 5]]).status_code,
            range(120),
        )
        assert {(form.status, form.body.decode()) for form in forms} == {STORED}
        assert set(others) == {202}
    assert count(hall) == before + 240
