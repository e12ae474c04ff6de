"""Whatever a client sends, it gets one clear sentence with a stable code."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from lpirc_score.metrics.evaluation_result import VERSION
from referee.auth.passwords import hash_password
from referee.auth.tokens import Session, issue
from referee.contest import open_contest
from tests.contest_day import PASSWORD, ROWS, TEAM, Day, Server, problem

Ask = Callable[..., requests.Response]


@pytest.fixture
def server(hall: Day) -> Server:
    assert hall.server is not None
    return hall.server


def test_health_needs_no_login(server: Server) -> None:
    answer = server.ask("GET", "/v1/health")
    assert answer.status_code == 200
    names = ("red-disc", "green-square", "blue-triangle")
    assert answer.json() == {
        "status": "ok",
        "contest": "Test day",
        "version": VERSION,
        "window_s": 600,
        "categories": [
            {"id": number, "name": name} for number, name in enumerate(names, start=1)
        ],
        "images": 6,
    }


@pytest.mark.parametrize(
    ("team", "password"),
    [
        (TEAM, "wrong"),
        ("nobody", PASSWORD),
        ("", ""),
    ],
)
def test_wrong_credentials_tell_not_which_part_is_wrong(
    server: Server,
    team: str,
    password: str,
) -> None:
    answer = server.ask(
        "POST",
        "/v1/session",
        json={"team": team or " x ", "password": password or "x"},
    )
    detail = problem(answer, 401, "bad-credentials")["detail"]
    assert detail == "Team or password is wrong."


@pytest.mark.parametrize(
    ("password", "status", "code", "told"),
    [
        (
            PASSWORD,
            403,
            "team-disabled",
            "The team 'dog' is disabled; ask the operator",
        ),
        ("wrong", 401, "bad-credentials", "Team or password is wrong."),
    ],
)
def test_only_who_knows_its_password_is_told_that_a_team_is_disabled(
    hall: Day, server: Server, password: str, status: int, code: str, told: str
) -> None:
    with hall.store() as store:
        store.teams.set_password("dog", hash_password(PASSWORD))  # not others' hash
        store.teams.set_disabled("dog", True)
    asked = {"team": "dog", "password": password}
    for _ in range(2):  # a password that was right is remembered
        answer = server.ask("POST", "/v1/session", json=asked)
        assert problem(answer, status, code)["detail"].startswith(told)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 20_000,
        b'{"team": "ant"}',
        b'{"team": 1, "password": "x"}',
        b'{"team": "\\ud800", "password": "x"}',
        b'{"team": "ant", "password": "\\ud800"}',
        b"team=ant&password=six+legs",
    ],
)
def test_a_log_in_that_is_no_json_object_of_texts_is_refused(
    server: Server,
    body: bytes,
) -> None:
    problem(server.ask("POST", "/v1/session", data=body), 400, "bad-json")


def test_a_log_in_with_another_key_is_told_the_keys_without_values(
    server: Server,
) -> None:
    body = {"username": "ant", "password": PASSWORD}
    answer = server.ask("POST", "/v1/session", json=body)
    told = "The JSON body needs a text 'team'; it has 'username', 'password'."
    assert answer.json()["detail"] == told


@pytest.mark.parametrize(
    ("length", "status", "code"),
    [("", 411, "length-missing"), ("Content-Length: 0\r\n", 400, "bad-json")],
)
def test_a_log_in_without_a_body_is_told_what_to_send(
    server: Server, length: str, status: int, code: str
) -> None:
    asked = f"POST /v1/session HTTP/1.1\r\nHost: x\r\n{length}Connection: close\r\n\r\n"
    answer = server.raw(asked.encode())
    told = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert (told["status"], told["code"]) == (status, code)
    assert told["detail"] == (
        'The request has no body; send {"team": "...", "password": "..."}.'
    )


def test_a_log_in_of_a_megabyte_is_too_large(server: Server) -> None:
    body = json.dumps({"team": TEAM, "password": "x" * 2**20})
    problem(server.ask("POST", "/v1/session", data=body), 413, "too-large")


def test_too_many_failed_log_ins_have_to_wait_and_hinder_no_other_team(
    hall: Day,
    server: Server,
) -> None:
    def log_in(password: str) -> requests.Response:
        return server.ask(
            "POST",
            "/v1/session",
            json={"team": "cat", "password": password},
        )

    for _ in range(10):
        problem(log_in("guess"), 401, "bad-credentials")
    answer = log_in(PASSWORD)
    told = problem(answer, 429, "too-many-failures")
    assert 0 < int(answer.headers["Retry-After"]) == told["retry_after_s"] <= 60
    assert hall.login()["run"]


def test_many_guesses_at_once_get_no_further_than_one_after_another(
    server: Server,
) -> None:
    def guess(_: int) -> int:
        body = {"team": "many guesses", "password": "guess"}
        return server.ask("POST", "/v1/session", json=body).status_code

    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(guess, range(60)))
    assert set(answers) == {401, 429}
    assert answers.count(401) == 10  # one is checked at a time


@pytest.mark.usefixtures("token")  # there is a run to open
def test_a_token_opens_nothing_of_another_team(hall: Day, server: Server) -> None:
    with open_contest(hall.folder) as contest:
        nonce = contest.store.runs.get(1).nonce
        session = Session(run=1, team="bee", expires_s=4e9, nonce=nonce)
        stray = issue(contest.secret, session, contest.id)
    for method, path in (
        ("GET", "/v1/session"),
        ("DELETE", "/v1/session"),
        ("GET", "/v1/images/1"),
    ):
        problem(server.ask(method, path, stray), 403, "not-your-run")
    problem(hall.post(stray), 403, "not-your-run")


def test_the_token_of_a_run_that_no_longer_exists_is_a_bad_token(
    hall: Day,
    server: Server,
) -> None:
    with open_contest(
        hall.folder
    ) as contest:  # a restored backup does not have the run
        lost = issue(
            contest.secret,
            Session(run=99, team=TEAM, expires_s=4e9, nonce="0" * 16),
            contest.id,
        )
    for method, path in (
        ("GET", "/v1/session"),
        ("DELETE", "/v1/session"),
        ("GET", "/v1/images/1"),
    ):
        problem(server.ask(method, path, lost), 401, "bad-token")
    problem(hall.post(lost), 401, "bad-token")
    problem(hall.post(lost, key="k"), 401, "bad-token")


@pytest.mark.parametrize(
    ("authorization", "code"),
    [
        (None, "token-missing"),
        ("Bearer", "token-missing"),
        ("Bearer  ", "token-missing"),
        ("Basic YW50OnNpeCBsZWdz", "token-missing"),
        ("Bearer nonsense", "bad-token"),
        ("Bearer " + "x" * 5000, "bad-token"),
    ],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/session"),
        ("DELETE", "/v1/session"),
        ("GET", "/v1/images/1"),
        ("GET", "/v1/images"),
        ("POST", "/v1/detections"),
    ],
)
def test_a_missing_or_wrong_token_is_refused_everywhere(
    server: Server,
    method: str,
    path: str,
    authorization: str | None,
    code: str,
) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    answer = server.ask(method, path, headers=headers)
    problem(answer, 401, code)
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_token_with_a_character_changed_is_refused(
    server: Server,
    token: str,
) -> None:
    for changed in (token[:-1], token + "x", token.swapcase()):
        problem(server.ask("GET", "/v1/session", changed), 401, "bad-token")


def test_an_expired_token_is_refused(
    hall: Day,
    server: Server,
    token: str,
) -> None:
    with open_contest(hall.folder) as contest:
        expired = issue(
            contest.secret,
            Session(run=1, team=TEAM, expires_s=1_700_000_000.0),
            contest.id,
        )
    problem(server.ask("GET", "/v1/session", expired), 401, "token-expired")
    assert server.ask("GET", "/v1/session", token).status_code == 200


@pytest.mark.parametrize(
    "number",
    [
        "0",
        "7",
        "x",
        "-1",
        "1.5",
        "9" * 5000,
        "%00",
        "%EF%BC%91",
        "1%20",
        "%ff",
        "000000000001" + "9" * 20,
        "0" * 13,
    ],
)
def test_an_image_that_does_not_exist_is_refused(
    server: Server,
    token: str,
    number: str,
) -> None:
    told = problem(
        server.ask("GET", f"/v1/images/{number}", token),
        404,
        "image-unknown",
    )
    assert "1 to 6" in told["detail"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([1, 1, 0.5, 0, 0, 5], "xmin, ymin, xmax, ymax), but this one has 6"),
        ([1, "cat", 0.5, 0, 0, 5, 5], "category: 'cat' is not a number; send its id"),
        ([1, 1, 0.5, 9, 0, 5, 5], "inverted"),
        ([1, 99, 0.5, 0, 0, 5, 5], "category 99 is unknown"),
        ([99, 1, 0.5, 0, 0, 5, 5], "image 99 is not a whole number in 1..6"),
        ([1.5, 1, 0.5, 0, 0, 5, 5], "image 1.5 is not a whole number"),
        ([1, 1, float("nan"), 0, 0, 5, 5], "confidence is nan"),
        ([1, 1, 0.5, 0, 0, float("inf"), 5], "xmax is inf"),
    ],
)
def test_a_bad_row_refuses_the_whole_body_with_its_line(
    server: Server,
    token: str,
    row: list[float],
    words: str,
) -> None:
    before = received(server, token)
    answer = server.ask(
        "POST",
        "/v1/detections",
        token,
        JSON,
        data=json.dumps([*ROWS, row]),
    )
    told = problem(answer, 422, "bad-rows")
    assert words in told["detail"]
    assert [one["line"] for one in told["problems"]] == [3]
    assert told["total"] == 1
    assert received(server, token) == before


def test_at_most_twenty_problems_are_told_and_all_are_counted(
    server: Server,
    token: str,
) -> None:
    told = problem(
        server.ask("POST", "/v1/detections", token, TEXT, data="1 2 3\n" * 50),
        422,
        "bad-rows",
    )
    assert [one["line"] for one in told["problems"]] == [*range(1, 21)]
    assert told["total"] == 50


@pytest.mark.parametrize(
    "body",
    [b"{", b"{}", b"1 1 .5 0 0 5 5", b"\xff", b"[" * 20_000, b"[" + b"9" * 9000 + b"]"],
)
def test_detections_that_are_not_json_are_refused(
    server: Server,
    token: str,
    body: bytes,
) -> None:
    answer = server.ask("POST", "/v1/detections", token, JSON, data=body)
    assert answer.status_code in (400, 422)
    problem(
        answer,
        answer.status_code,
        "bad-json" if answer.status_code == 400 else "bad-rows",
    )


def test_a_number_where_a_text_is_needed_is_called_a_number(server: Server) -> None:
    answer = server.ask("POST", "/v1/session", data=b'{"team": 5, "password": "x"}')
    told = problem(answer, 400, "bad-json")["detail"]
    assert told.startswith("The JSON body's 'team' is a number, and a text is needed;")


@pytest.mark.parametrize("kind", ["image/png", "text/html", "multipart/form-data"])
def test_an_unknown_content_type_is_refused(
    server: Server,
    token: str,
    kind: str,
) -> None:
    headers = {"Content-Type": kind}
    told = problem(
        server.ask("POST", "/v1/detections", token, headers, data=b"x"),
        415,
        "unsupported-media-type",
    )
    assert "send one of application/json, text/plain" in told["detail"]


@pytest.mark.parametrize("coding", ["gzip", "identity, gzip", "x" * 5000])
def test_a_compressed_body_is_refused_even_where_its_bytes_would_make_rows(
    server: Server,
    token: str,
    coding: str,
) -> None:
    before = received(server, token)
    headers = JSON | {"Content-Encoding": coding}
    answer = server.ask("POST", "/v1/detections", token, headers, data=json.dumps(ROWS))
    detail = problem(answer, 415, "unsupported-media-type")["detail"]
    assert "send the body uncompressed" in detail
    assert received(server, token) == before
    headers = JSON | {"Content-Encoding": "identity"}
    status_code = server.ask(
        "POST",
        "/v1/detections",
        token,
        headers,
        data=json.dumps(ROWS),
    ).status_code
    assert status_code == 202


@pytest.mark.parametrize("key", ["", "k" * 201, "\xe9"])
def test_an_idempotency_key_that_could_not_be_kept_is_refused(
    server: Server,
    token: str,
    key: str,
) -> None:
    headers = JSON | {"Idempotency-Key": key}
    problem(
        server.ask("POST", "/v1/detections", token, headers, data=b"[]"),
        400,
        "bad-request",
    )


@pytest.mark.parametrize(
    "path",
    [
        "/v1",
        "/v1/",
        "/v1/health/",
        "/v2/health",
        "/v1/images/",
        "/v1/images/1/2",
        "/v1/images//1",
        "/v1/images/%2F1",
        "/v1//health",
        "/v1/imagesx",
        "/operator/x",
        "/%ff",
    ],
)
def test_an_unknown_path_is_not_found(server: Server, path: str) -> None:
    problem(server.ask("GET", path, allow_redirects=False), 404, "not-found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/v1/session", {"GET", "HEAD", "POST", "DELETE", "OPTIONS"}),
        ("POST", "/v1/images/1", {"GET", "HEAD", "OPTIONS"}),
        ("POST", "/v1/images", {"GET", "HEAD", "OPTIONS"}),
        ("DELETE", "/v1/openapi.json", {"GET", "HEAD", "OPTIONS"}),
        ("GET", "/v1/detections", {"POST", "OPTIONS"}),
        ("FOO", "/v1/health", {"GET", "HEAD", "OPTIONS"}),
        ("GET", "/operator/runs", {"POST", "OPTIONS"}),
    ],
)
def test_a_method_that_a_path_has_not_is_refused_with_those_it_has(
    server: Server,
    method: str,
    path: str,
    allowed: set[str],
) -> None:
    answer = server.ask(method, path)
    problem(answer, 405, "method-not-allowed")
    assert set(answer.headers["Allow"].split(", ")) == allowed


@pytest.mark.parametrize("protocol", ["websocket", "h2c"])
def test_a_wish_for_another_protocol_is_passed_over(
    server: Server,
    protocol: str,
) -> None:
    headers = {
        "Upgrade": protocol,
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
    }
    assert server.ask("GET", "/v1/health", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "sent",
    [b"\x16\x03\x01\x00\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"],
)
def test_what_is_no_http_gets_an_answer_and_does_no_harm(
    server: Server,
    sent: bytes,
) -> None:
    assert server.raw(sent, cut=True).startswith(
        (b"HTTP/1.1 400", b"HTTP/1.1 505", b"")
    )
    assert server.ask("GET", "/v1/health").status_code == 200


def received(server: Server, token: str) -> int:
    return int(server.ask("GET", "/v1/session", token).json()["detections_accepted"])


JSON = {"Content-Type": "application/json"}
TEXT = {"Content-Type": "text/plain"}


@pytest.mark.parametrize("method", ["get", "Get", "post", "hEAD", "delete"])
@pytest.mark.parametrize("path", ["/v1/images/1", "/v1/session", "/login"])
def test_methods_are_told_apart_by_case(
    server: Server,
    token: str,
    method: str,
    path: str,
) -> None:
    lines = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
    told = server.raw(lines.encode())
    assert told.startswith(b"HTTP/1.1 501")
    assert b'"code": "method-unknown"' in told


@pytest.mark.parametrize(
    "hosts",
    ["", "Host:\r\n", "Host: x\r\nHost: y\r\n", "Host: x\r\nHost: x\r\n"],
)
@pytest.mark.parametrize("path", ["/v1/images/1", "/v1/health"])
def test_a_request_that_names_no_host_or_several_is_refused(
    server: Server,
    token: str,
    hosts: str,
    path: str,
) -> None:
    lines = f"GET {path} HTTP/1.1\r\n{hosts}Connection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
    told = server.raw(lines.encode())
    assert told.startswith(b"HTTP/1.1 400")
    assert b'"code": "bad-request"' in told


def test_a_client_of_http_1_0_needs_to_name_no_host(server: Server) -> None:
    assert server.raw(b"GET /v1/health HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.0 200")


@pytest.mark.parametrize(
    "path",
    ["/v1/session", "/v1/images/1", "/v1/detections", "/login"],
)
def test_options_tells_the_methods_and_has_no_body(server: Server, path: str) -> None:
    answer = server.ask("OPTIONS", path)
    assert answer.status_code == 204
    assert answer.content == b""
    assert "OPTIONS" in answer.headers["Allow"]
    assert "Content-Type" not in answer.headers
    assert "Content-Length" not in answer.headers


def test_who_ends_its_side_before_the_answer_and_sends_again_is_counted_once(
    server: Server,
    token: str,
) -> None:
    fields = [
        "POST /v1/detections HTTP/1.1",
        "Host: x",
        f"Authorization: Bearer {token}",
        "Idempotency-Key: half",
    ]
    body = b"[[1, 1, 0.5, 0, 0, 5, 5]]"
    sent = (
        "\r\n".join([*fields, f"Content-Length: {len(body)}", "", ""]).encode() + body
    )
    before = received(server, token)
    # Taken or not, as the server in front of us came to see the end of it.
    server.raw(sent, cut=True)
    again = server.ask(
        "POST",
        "/v1/detections",
        token,
        {"Idempotency-Key": "half"},
        data=body,
    )
    assert again.status_code == 202
    assert again.json()["accepted"] == 1
    assert received(server, token) == before + 1


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (None, "the token of the log-in (POST /v1/session)."),
        ("Token {token}", "has 'Token' and no token after 'Bearer'"),
        ("Basic YTpi", "has 'Basic' and no token after 'Bearer'"),
        ("Bearer: {token}", "has 'Bearer:' and no token after 'Bearer'"),
        ("Bearer", "has 'Bearer' and no token after it"),
        ("{token}", "does not begin with 'Bearer'"),
    ],
)
def test_a_header_without_a_token_says_what_it_has_but_no_secret(
    server: Server, token: str, header: str | None, words: str
) -> None:
    headers = {} if header is None else {"Authorization": header.format(token=token)}
    answer = server.ask("GET", "/v1/images/1", headers=headers)
    told = problem(answer, 401, "token-missing")
    assert words in told["detail"]
    assert token not in answer.text


def test_a_token_in_quotes_is_told_to_be_sent_as_it_was_given(
    server: Server, token: str
) -> None:
    headers = {"Authorization": f'Bearer "{token}"'}
    told = problem(server.ask("GET", "/v1/images/1", headers=headers), 401, "bad-token")
    assert "as the log-in gave it" in told["detail"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"team": "a", "password": "b",}', "It is not JSON: "),
        ("{'team': 'a', 'password': 'b'}", "at line 1, column 2"),
        ("team=a&password=b", "at line 1, column 1"),
        ('["a", "b"]', '{"team": "...", "password": "..."}.'),
    ],
)
def test_a_log_in_that_is_not_json_says_where(
    server: Server, body: str, words: str
) -> None:
    answer = server.ask("POST", "/v1/session", data=body)
    told = problem(answer, 400, "bad-json")
    assert told["detail"].startswith("The body must be a JSON object")
    assert words in told["detail"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/v1/detection", "nothing at /v1/detection. Did you mean /v1/detections?"),
        ("/v1/session/", "nothing at /v1/session/. Did you mean /v1/session?"),
    ],
)
def test_a_mistyped_address_gets_the_near_one(
    server: Server, token: str, path: str, words: str
) -> None:
    answer = server.ask("POST", path, token, JSON, data=json.dumps(ROWS))
    assert words in problem(answer, 404, "not-found")["detail"]
