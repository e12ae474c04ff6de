"""The session over a real socket: what it sends, what it repeats, and how it words failures."""

from __future__ import annotations

import math
import socket
import threading
import time
from array import array
from collections.abc import Callable
from typing import Any

import pytest

from lpirc_client.connection import Connection
from lpirc_client.errors import AnswerError, ClientError
from lpirc_client.rows import body_of
from lpirc_client.wire import Category
from tests.client.referee_double import PASSWORD, Referee
from tests.ports import own_port
from tests.timeouts import TIMEOUT_S

VALUES = (1, 7, 0.5, 1.0, 2.0, 3.0, 4.0)
ROW = body_of(array("d", VALUES), is_packed=False)
IMAGE_1 = "GET /v1/images/1"
POST = "POST /v1/detections"


def failure_of(call: Callable[[], object]) -> ClientError:
    with pytest.raises(ClientError) as caught:
        call()
    assert "\n" not in caught.value.sentence
    return caught.value


def test_a_login_tells_the_run_and_its_categories(referee: Referee) -> None:
    with Connection(referee.url + "/") as session:
        login = session.login("alpha", PASSWORD)
        assert login.run == "r1"
        assert login.images == 5
        assert login.window_s == 60.0
        assert login.categories == (Category(7, "red-disc"),)
        assert 59 < session.remaining_s <= 60
        assert session.status()["phase"] == "open"


def test_a_whole_run_uses_one_connection_and_another_for_single_images(
    referee: Referee,
    session: Connection,
) -> None:
    assert session.image(2) == b"jpeg 2"
    receipt = session.post(*ROW)
    session.logout()
    assert receipt.accepted == 1
    assert receipt.received_total == 1
    assert len(referee.connections) == 2
    assert referee.phase == "closed"


def test_floats_arrive_as_the_same_float64(
    referee: Referee,
    session: Connection,
) -> None:
    values = (0.1 + 0.2, 1e-17, 1 / 3, 123456789.123456789, 5e-324)
    session.post(*body_of(array("d", (1, 7, *values)), is_packed=False))
    assert referee.rows == [[1, 7, *values]]


def test_remaining_time_follows_the_referee(
    referee: Referee,
    session: Connection,
) -> None:
    referee.window_s = 20.0
    session.image(1)
    assert 19 < session.remaining_s <= 20


@pytest.mark.parametrize("fault", ["drop-before", "drop-after", (503, ""), (502, "")])
def test_an_image_is_fetched_again_after_a_break(
    referee: Referee,
    session: Connection,
    fault: object,
) -> None:
    referee.faults[IMAGE_1] = [fault, fault]  # type: ignore[list-item]
    assert session.image(1) == b"jpeg 1"
    assert referee.requests[IMAGE_1] == 3


def test_a_post_whose_answer_got_lost_counts_once(
    referee: Referee,
    session: Connection,
) -> None:
    referee.faults[POST] = ["drop-after"]
    assert session.post(*ROW).received_total == 1
    assert referee.requests[POST] == 2
    assert len(referee.rows) == 1


def test_equal_posts_have_different_keys(referee: Referee, session: Connection) -> None:
    session.post(*ROW)
    assert session.post(*ROW).received_total == 2


def test_a_login_whose_answer_got_lost_is_sent_again(referee: Referee) -> None:
    referee.faults["POST /v1/session"] = ["drop-after"]
    with Connection(referee.url) as session:
        assert session.login("alpha", PASSWORD).run == "r1"


def test_a_restarted_referee_is_found_again(
    session: Connection,
    serve: Callable[..., Referee],
) -> None:
    port = own_port()
    session.url = f"http://127.0.0.1:{port}"
    later = threading.Timer(
        0.1,
        lambda: serve(port, phase="open", opened_at=time.monotonic()),
    )
    later.start()
    assert session.image(1) == b"jpeg 1"
    later.join()


@pytest.mark.parametrize("fault", ["drop-before", (502, "no-answer")])
def test_a_referee_that_does_not_answer_for_a_while_is_named_once_and_again_when_it_does(
    referee: Referee,
    session: Connection,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fault: Any,
) -> None:
    monkeypatch.setattr("lpirc_client.connection.PAUSES_S", (0.0, 0.01))
    monkeypatch.setattr("lpirc_client.connection.SILENCE_S", 0.0)
    referee.faults[IMAGE_1] = [fault] * 8
    assert session.image(1) == b"jpeg 1"
    monkeypatch.setattr("lpirc_client.connection.SILENCE_S", TIMEOUT_S)
    referee.faults[IMAGE_1] = [fault] * 2  # shorter than that is no news
    assert session.image(1) == b"jpeg 1"
    assert capsys.readouterr().err.splitlines() == [
        f"{session.url} does not answer. Trying again until the window ends.",
        "The referee answers again.",
    ]


def test_trying_again_ends_with_the_window(
    referee: Referee,
    session: Connection,
) -> None:
    referee.faults[IMAGE_1] = ["drop-before"] * 1000
    session.window.deadline = time.monotonic() + 0.2
    assert failure_of(lambda: session.image(1)).code == "connection-lost"
    assert referee.requests[IMAGE_1] < 5


def test_a_503_with_reasons_is_believed_after_a_while(
    referee: Referee,
    session: Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lpirc_client.connection.PAUSES_S", (0.0, 0.01, 0.01))
    referee.faults[IMAGE_1] = [(503, "testset-changed")] * 100
    assert failure_of(lambda: session.image(1)).code == "testset-changed"
    assert referee.requests[IMAGE_1] < 10


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (404, "image-unknown"),
        (409, "window-closed"),
        (401, "bad-token"),
    ],
)
def test_a_refusal_is_not_tried_again(
    referee: Referee,
    session: Connection,
    status: int,
    code: str,
) -> None:
    referee.faults[IMAGE_1] = [(status, code)]
    failure = failure_of(lambda: session.image(1))
    assert failure.code == code
    assert failure.sentence == f"It is {code}."
    assert referee.requests[IMAGE_1] == 1


def test_refused_rows_are_named(session: Connection) -> None:
    failure = failure_of(
        lambda: session.post(
            *body_of(array("d", (*VALUES, 1, 9, *VALUES[2:])), is_packed=False)
        )
    )
    assert isinstance(failure, AnswerError)
    assert failure.sentence == "It is bad-rows: line 2: category 9"


def test_a_receipt_for_other_bytes_is_noticed(
    referee: Referee,
    session: Connection,
) -> None:
    referee.lies_about_hash = True
    assert failure_of(lambda: session.post(*ROW)).code == "altered-on-the-way"


def test_a_wrong_password_is_said_in_the_referees_words(referee: Referee) -> None:
    with Connection(referee.url) as session:
        assert failure_of(lambda: session.login("alpha", "x")).code == "bad-credentials"
    assert referee.requests["POST /v1/session"] == 1


def test_too_many_logins_say_how_long_to_wait(referee: Referee) -> None:
    referee.faults["POST /v1/session"] = [(429, "too-many-failures")]
    with Connection(referee.url) as session:
        assert failure_of(lambda: session.login("alpha", "x")).sentence.endswith(
            "; try again in 30 s"
        )


def test_how_long_to_wait_is_said_once(
    referee: Referee,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sentence = "Too many failed log-ins within 60 s; try again in 30 s."
    refusal = referee.problem(429, "too-many-failures", detail=sentence)
    monkeypatch.setattr(Referee, "log_in", lambda *_: refusal)
    with Connection(referee.url) as session:
        assert failure_of(lambda: session.login("alpha", "x")).sentence == sentence


def test_a_closed_port_is_named() -> None:
    url = f"http://127.0.0.1:{own_port()}"
    with Connection(url) as session:
        failure = failure_of(session.health)
    assert failure.code == "connection-refused"
    assert failure.sentence.startswith(f"{url}: nothing listens there")


def test_an_unknown_host_is_named() -> None:
    with Connection("http://no-such-host.invalid:1") as session:
        assert failure_of(session.health).code == "unknown-host"


def test_a_silent_host_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lpirc_client.connection.CONNECT_S", 0.1)
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Connection(f"http://127.0.0.1:{listener.getsockname()[1]}") as session,
    ):
        assert failure_of(session.health).code == "timeout"


@pytest.mark.parametrize("status", [200, 404, 301])
def test_another_web_server_is_not_taken_for_a_referee(
    referee: Referee,
    status: int,
) -> None:
    referee.faults["GET /v1/health"] = [(status, "")]
    with Connection(referee.url) as session:
        assert failure_of(session.health).code == "not-a-referee"


def test_a_login_answer_without_token_is_not_a_referees(
    referee: Referee,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Referee, "log_in", lambda *_: (201, {"run": "r1"}))
    with Connection(referee.url) as session:
        failure = failure_of(lambda: session.login("alpha", PASSWORD))
    assert failure.code == "not-a-referee"
    assert "'token'" in failure.sentence


def test_a_logout_at_the_windows_end_waits_until_a_slow_meter_has_stopped(
    referee: Referee,
    session: Connection,
) -> None:
    referee.elapsed_s = 59.9
    referee.stop_s = 1.3
    session.window.deadline = time.monotonic() + 0.1
    assert session.logout() == 59.9
    assert referee.requests["DELETE /v1/session"] == 1


@pytest.mark.parametrize(
    "stated",
    [math.nan, math.inf, True, pytest.param(10**400, id="huge"), "12", [1]],
)
def test_an_invalid_length_is_ignored_and_the_run_logged_out(
    referee: Referee,
    session: Connection,
    stated: Any,
) -> None:
    referee.elapsed_s = stated
    assert session.logout() is None
    assert referee.phase == "closed"


@pytest.mark.parametrize(
    "changes",
    [{"remaining_s": math.inf}, {"window_s": 10**400}, {"images": math.inf}],
)
def test_a_login_answer_with_an_invalid_number_is_not_a_referees(
    referee: Referee,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
) -> None:
    status, answer = referee.answer(
        "POST",
        "/v1/session",
        {},
        b'{"team": "alpha", "password": "%s"}' % PASSWORD.encode(),
    )
    assert isinstance(answer, dict)
    monkeypatch.setattr(Referee, "log_in", lambda *_: (status, answer | changes))
    with Connection(referee.url) as session:
        code = failure_of(lambda: session.login("alpha", PASSWORD)).code
        assert code == "not-a-referee"


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:8080", "ftp://host", "http://", "http://host:port", ""],
)
def test_an_invalid_url_is_refused(url: str) -> None:
    assert failure_of(lambda: Connection(url)).code == "bad-url"


def test_a_netrc_file_does_not_replace_the_token(
    referee: Referee,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    netrc = tmp_path_factory.mktemp("home") / "netrc"
    netrc.write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with Connection(referee.url) as session:
        session.login("alpha", PASSWORD)
        assert session.image(1) == b"jpeg 1"
