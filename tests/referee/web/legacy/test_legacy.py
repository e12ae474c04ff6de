"""The original protocol's routes: statuses and bodies."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, urlencode

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpirc_testsets import load_test_set
from referee.store.records import RunState
from referee.web.legacy.old_forms import Form
from tests.contest_day import PASSWORD, TEAM, Day, Server, until
from tests.referee.web.legacy.old_clients import OldClient, lists, posted, spoken

BOTH = ("GET", "POST")
WITH_TOKEN = (
    "/verify",
    "/no_of_images",
    "/image",
    "/zipimages",
    "/image_camera",
    "/result",
    "/logout",
)
ROWS = [["1", "1", "0.500000", "0.000000", "0.000000", "5.000000", "5.000000"]]
INVALID_TOKEN = (401, "Invalid Token\n")
INVALID_INDEX = (406, "Invalid Image index\n")
OUT_OF_RANGE = (406, "Image index out of range\n")
STORED = (200, "Result stored in the server database\n")


@pytest.fixture
def old(hall: Day, token: str) -> OldClient:
    """A client within the hall's open run."""
    assert hall.server is not None
    return OldClient(hall.server, token)


def served(day: Day) -> Server:
    assert day.server is not None
    return day.server


def count(day: Day) -> int:
    with day.store() as store:
        return store.posts.count_detections(1)


@pytest.mark.parametrize("method", BOTH)
def test_help_lists_every_route_without_a_log_in(hall: Day, method: str) -> None:
    told = posted(served(hall), "/help", "", method)
    assert told.status == 200
    assert told.headers["content-type"].startswith("text/plain")
    for route in (*WITH_TOKEN, "/help", "/login", "/get_token"):
        assert f"{route} " in told.body.decode() or f"{route})" in told.body.decode()


def test_help_needs_no_body_at_all(hall: Day) -> None:
    assert spoken(served(hall), b"GET /help HTTP/1.1\r\nHost: x\r\n\r\n").status == 200
    assert spoken(served(hall), b"GET /help HTTP/1.0\r\n\r\n").status == 200


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("path", ["/login", "/get_token"])
def test_the_token_of_a_log_in_is_the_same_session_s_and_raw(
    hall: Day,
    token: str,
    path: str,
    method: str,
) -> None:
    client = OldClient(served(hall))
    assert client.log_in(path, method).plain == (200, token)
    assert client.ask("/verify", method).plain == (200, "Valid Token\n")


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize(
    ("form", "body"),
    [
        ("", "Missing username or password\n"),
        ("username=ant", "Missing username or password\n"),
        ("password=six+legs", "Missing username or password\n"),
        ("user=ant&pass=six+legs", "Missing username or password\n"),
        ("username=&password=", "Invalid username or password\n"),
        ("username=ant&password=wrong", "Invalid username or password\n"),
        ("username=nobody&password=six+legs", "Invalid username or password\n"),
        ("username=%FF&password=%FF", "Invalid username or password\n"),
        ("username=%00&password=%00", "Invalid username or password\n"),
    ],
)
def test_a_log_in_that_fails_says_why_in_the_words_of_2015(
    hall: Day,
    method: str,
    form: str,
    body: str,
) -> None:
    assert posted(served(hall), "/login", form, method).plain == (401, body)


def test_fields_are_not_taken_from_the_address(hall: Day, token: str) -> None:
    query = urlencode({"username": TEAM, "password": PASSWORD})
    told = posted(served(hall), f"/login?{query}", "", "GET")
    assert told.plain == (401, "Missing username or password\n")
    plain = posted(served(hall), f"/verify?token={token}", "", "GET").plain
    assert plain == INVALID_TOKEN


@pytest.mark.parametrize(
    "given",
    [None, "", "x", "a.b.c", "%00", "%F0%9F%98%80", "a b", "&&&=&"],
)
@pytest.mark.parametrize("path", WITH_TOKEN)
def test_without_a_good_token_there_is_one_answer(
    hall: Day,
    path: str,
    given: str | None,
) -> None:
    form = "image_name=1" if given is None else f"token={given}&image_name=1"
    bad = path == "/no_of_images" and given and not given.startswith("&")
    expected = (401, "Invalid User") if bad else INVALID_TOKEN
    assert posted(served(hall), path, form).plain == expected


@pytest.mark.parametrize("path", ["/login", "/get_token", "/logout"])
def test_looking_at_the_head_of_a_log_in_or_logout_opens_and_closes_nothing(
    old: OldClient,
    hall: Day,
    path: str,
) -> None:
    form = urlencode(
        {
            "username": TEAM,
            "password": PASSWORD,
            "token": old.token,
        }
    )
    told = served(hall).ask("HEAD", path, data=form)
    assert told.status_code == 405
    assert set(told.headers["Allow"].split(", ")) == {"GET", "POST", "OPTIONS"}
    assert old.ask("/verify").plain == (200, "Valid Token\n")


def test_a_posted_request_has_no_conditions(old: OldClient, hall: Day) -> None:
    form = urlencode({"token": old.token, "image_name": 1})
    form_type = {"Content-Type": "application/x-www-form-urlencoded"}
    for name in ("If-None-Match", "If-Match"):
        told = served(hall).ask(
            "POST",
            "/image",
            headers=form_type | {name: "*"},
            data=form,
        )
        assert told.status_code == 200
        assert told.content[:2] == b"\xff\xd8"


def test_an_altered_token_is_refused(old: OldClient) -> None:
    for altered in (old.token[:-1], old.token + "A", old.token.swapcase()):
        assert OldClient(old.server, altered).ask("/verify").plain == INVALID_TOKEN


def test_the_number_of_images_has_no_newline_and_is_only_posted_for(
    old: OldClient,
) -> None:
    assert old.ask("/no_of_images").plain == (200, "6")
    for path, method in [
        ("/no_of_images", "GET"),
        ("/result", "GET"),
        ("/image", "PUT"),
    ]:
        assert old.ask(path, method).status == 405


@pytest.mark.parametrize("method", BOTH)
def test_an_image_is_the_one_of_version_1_as_an_attachment(
    old: OldClient,
    hall: Day,
    method: str,
) -> None:
    for number in range(1, 7):
        told = old.ask("/image", method, image_name=number)
        same = served(hall).ask("GET", f"/v1/images/{number}", old.token)
        assert told.status == 200
        assert told.body == same.content
        assert told.headers["content-type"] == "image/jpeg"
        assert (
            told.headers["content-disposition"] == f"attachment; filename={number}.jpg"
        )
    assert (
        old.ask("/image", image_name="004")
        .headers["content-disposition"]
        .endswith("=4.jpg")
    )


@pytest.mark.parametrize("path", ["/image", "/zipimages", "/image_camera"])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", INVALID_INDEX),
        ("one", INVALID_INDEX),
        ("1.jpg", INVALID_INDEX),
        ("-1", INVALID_INDEX),
        ("1.0", INVALID_INDEX),
        (" 1", INVALID_INDEX),
        ("\u0661", INVALID_INDEX),
        ("\u00b2", INVALID_INDEX),
        ("0", OUT_OF_RANGE),
        ("7", OUT_OF_RANGE),
        ("101", OUT_OF_RANGE),
        ("9" * 400, OUT_OF_RANGE),
        ("1" + "0" * 12 + "1", OUT_OF_RANGE),
    ],
)
def test_an_index_that_is_none_is_told_from_one_that_is_out_of_range(
    old: OldClient,
    path: str,
    name: str,
    expected: tuple[int, str],
) -> None:
    assert old.ask(path, image_name=name).plain == expected


@pytest.mark.parametrize("path", ["/image", "/zipimages", "/image_camera"])
def test_a_missing_index_is_an_invalid_one(old: OldClient, path: str) -> None:
    assert old.ask(path).plain == INVALID_INDEX


@pytest.mark.parametrize("method", BOTH)
def test_a_zip_holds_the_images_from_its_index_on(
    old: OldClient,
    hall: Day,
    method: str,
) -> None:
    told = old.ask("/zipimages", method, image_name=1)
    assert told.status == 200
    assert told.headers["content-disposition"] == "attachment; filename=1.zip"
    assert int(told.headers["content-length"]) == len(told.body)
    with zipfile.ZipFile(io.BytesIO(told.body)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [f"{number}.jpg" for number in range(1, 7)]
        for number in range(1, 7):
            image = old.ask("/image", image_name=number).body
            assert archive.read(f"{number}.jpg") == image
    for other in (2, 6):
        assert old.ask("/zipimages", method, image_name=other).plain == OUT_OF_RANGE


@pytest.mark.parametrize("method", BOTH)
def test_a_contest_without_a_screen_says_that_the_display_failed(
    old: OldClient,
    method: str,
) -> None:
    assert old.ask("/image_camera", method, image_name=3).plain == (
        500,
        "Display failed to start\n",
    )


def test_results_are_stored_when_the_answer_comes(old: OldClient, hall: Day) -> None:
    before = count(hall)
    rows = [
        ["6", "3", "0.125000", "1.500000", "2.000000", "30.250000", "40.000000"],
        *ROWS,
    ]
    assert old.post(rows).plain == STORED
    with hall.store() as store:
        assert np.array_equal(
            store.posts.detections(1)[before:],
            np.array(rows, np.float64),
        )


def test_no_rows_are_a_result(old: OldClient, hall: Day) -> None:
    before = count(hall)
    for form in ("", "&", "&&"):
        assert posted(old.server, "/result", f"token={old.token}{form}").plain == STORED
    assert old.post([]).plain == STORED
    assert count(hall) == before


def test_an_image_may_be_named_by_its_file(old: OldClient, hall: Day) -> None:
    before = count(hall)
    assert old.post([["5.jpg", "2", "0.75", "1", "1", "8", "8"]]).plain == STORED
    with hall.store() as store:
        assert store.posts.detections(1)[before].tolist() == [5, 2, 0.75, 1, 1, 8, 8]


def test_boxes_of_an_image_may_come_one_by_one_and_lists_in_any_order(
    old: OldClient,
    hall: Day,
) -> None:
    before = count(hall)
    for confidence in ("0.31", "0.32", "0.33"):
        assert old.post([["4", "1", confidence, "0", "0", "9", "9"]]).plain == STORED
    form = "ymax=9&ymax=8&xmin=1&xmin=2&token={}&CLASS_ID=1&CLASS_ID=2&image_name=2&image_name=3&xmax=5&xmax=6"
    more = "&confidence=0.5&confidence=0.25&ymin=3&ymin=4"
    assert posted(old.server, "/result", form.format(old.token) + more).plain == STORED
    with hall.store() as store:
        stored = store.posts.detections(1)[before:]
    assert stored[:3, 2].tolist() == [0.31, 0.32, 0.33]
    assert stored[3:].tolist() == [
        [2, 1, 0.5, 1, 3, 5, 9],
        [3, 2, 0.25, 2, 4, 6, 8],
    ]


def test_the_same_body_again_is_stored_once(old: OldClient, hall: Day) -> None:
    rows = [["2", "2", "0.987654", "1", "1", "8", "8"]]
    assert old.post(rows).plain == STORED
    before = count(hall)
    for _ in range(3):
        assert old.post(rows).plain == STORED
    assert count(hall) == before
    assert old.post(rows * 2).plain == STORED
    assert count(hall) == before + 2


@pytest.mark.parametrize("column", range(1, 7))
def test_a_list_that_is_shorter_than_the_images_is_a_mismatch(
    old: OldClient,
    hall: Day,
    column: int,
) -> None:
    before = count(hall)
    fields = lists(ROWS * 2).split("&")
    for short in (
        fields[: 2 * column] + fields[2 * column + 1 :],
        fields[: 2 * column] + fields[2 * column + 2 :],
    ):
        told = posted(old.server, "/result", f"token={old.token}&{'&'.join(short)}")
        assert told.plain == (406, "Result field length mismatch\n")
    assert count(hall) == before


def test_inverted_boxes_are_stored_as_they_are(old: OldClient, hall: Day) -> None:
    before = count(hall)
    row = [["3", "1", "0.5", "40.5", "30", "10.25", "20"]]
    assert old.post(row).plain == STORED
    with hall.store() as store:
        assert store.posts.detections(1)[before:].tolist() == [
            [3, 1, 0.5, 40.5, 30, 10.25, 20]
        ]


@settings(max_examples=60)
@given(
    path=st.sampled_from(("/login", "/get_token", *WITH_TOKEN)),
    body=st.binary(max_size=300),
    known=st.booleans(),
)
def test_garbage_gets_an_answer_of_the_protocol(
    old: OldClient,
    path: str,
    body: bytes,
    known: bool,
) -> None:
    if known and path == "/logout":
        return
    content = f"token={old.token}&".encode() + body if known else body
    told = posted(old.server, path, content)
    if path.startswith("/image") and told.status == 200:
        assert told.body.startswith(b"\xff\xd8")
        return
    assert told.status in (200, 401, 406)
    assert b"Traceback" not in told.body
    assert told.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("Transfer-Encoding: chunked\r\n\r\n5\r\ntoken\r\n0\r\n\r\n", 411),
        ("Content-Length: 99999999\r\n\r\n", 413),
        ("Content-Length: 5\r\nContent-Type: multipart/form-data\r\n\r\ntoken", 401),
        ("Content-Length: 5\r\nContent-Type: application/json\r\n\r\n[1,2]", 401),
        ("Content-Length: 5\r\n\r\ntoken", 401),
    ],
)
@pytest.mark.parametrize("path", ["/verify", "/image", "/result"])
def test_what_is_no_form_is_refused_in_a_line(
    hall: Day,
    path: str,
    head: str,
    status: int,
) -> None:
    told = spoken(served(hall), f"POST {path} HTTP/1.1\r\nHost: x\r\n{head}".encode())
    assert told.status == status
    assert told.body.count(b"\n") == 1


def test_too_many_wrong_passwords_slow_down_in_the_words_of_2015(
    day: Callable[..., Day],
) -> None:
    made = day()
    guesser = OldClient(served(made), password="wrong")
    for _ in range(11):
        assert guesser.log_in().plain == (401, "Invalid username or password\n")
    assert OldClient(served(made)).log_in().plain == (
        401,
        "Invalid username or password\n",
    )
    assert made.runs(RunState.OPEN) == []


def test_a_log_in_that_the_referee_is_not_ready_for_is_told_so(
    day: Callable[..., Day],
) -> None:
    made = day(auto_arm=False)
    client = OldClient(served(made))
    not_ready = (500, "Powermeter not connected\n")
    assert client.log_in().plain == not_ready  # nothing is armed
    assert made.refers("run", "arm", TEAM).returncode == 0
    made.meter.kill()
    assert client.log_in().plain == not_ready
    assert made.runs(RunState.OPEN) == []
    made.revive_meter()
    assert client.log_in().status == 200


def test_after_the_end_the_token_is_invalid_but_a_stored_result_is_not_denied(
    day: Callable[..., Day],
) -> None:
    made = day(window_s=3)
    client = OldClient(served(made))
    client.log_in()
    assert client.post(ROWS).plain == STORED
    until(lambda: made.runs(RunState.CLOSED))
    assert client.post([["2", *ROWS[0][1:]]]).plain == INVALID_TOKEN
    assert client.post(ROWS).plain == STORED
    assert count(made) == 1
    for path in ("/verify", "/image", "/zipimages", "/image_camera"):
        assert client.ask(path, image_name=1).plain == INVALID_TOKEN
    assert client.ask("/no_of_images").plain == (401, "Invalid User")
    assert client.ask("/logout").plain == (200, "Logout success\n")
    assert made.run().closed_by == "deadline"


def test_a_logout_stops_the_meter_and_can_be_repeated(day: Callable[..., Day]) -> None:
    made = day()
    client = OldClient(served(made))
    client.log_in()
    for method in BOTH:
        assert client.ask("/logout", method).plain == (200, "Logout success\n")
    run = made.run()
    assert run.state == RunState.CLOSED
    assert run.closed_by == "logout"
    assert run.energy_wh is not None
    assert client.ask("/verify").plain == INVALID_TOKEN


@given(
    st.dictionaries(
        st.text("abcdefgh_", min_size=1, max_size=8),
        st.text(max_size=20),
        max_size=6,
    )
)
def test_any_field_comes_out_as_it_was_put_in(fields: dict[str, str]) -> None:
    form = Form(urlencode(fields, errors="surrogatepass").encode())
    for name, value in fields.items():
        if value.isprintable():
            assert form.field(name) == value
    assert form.field("token") is None


@given(st.binary(max_size=200), st.sampled_from(["token", "username"]))
def test_a_form_of_any_bytes_can_be_asked(body: bytes, name: str) -> None:
    found = Form(body).field(name)
    assert found is None or found.encode().decode() == found


def test_the_images_shown_are_logged_once_each(
    day: Callable[..., Day],
    tiny_set: Path,
) -> None:
    made = day()
    client = OldClient(served(made))
    client.log_in()
    client.ask("/image", image_name=2)
    client.ask("/zipimages", image_name=1)
    client.ask("/image_camera", image_name=3)
    client.ask("/logout")
    with made.store() as store:
        assert store.served.images(1) == [1, 2, 3, 4, 5, 6]
        order = store.runs.image_order(1)
    sizes = {
        int(number): load_test_set(tiny_set).image_path(int(number)).stat().st_size
        for number in order
    }
    assert len(sizes) == 6


@given(
    name=st.sampled_from(["token", "username", "image_name"]),
    value=st.text(max_size=20),
    before=st.sampled_from(["", "x=1&", "tokens=1&", "%74oke=2&"]),
    data=st.data(),
)
def test_a_field_is_found_however_its_name_is_escaped(
    name: str,
    value: str,
    before: str,
    data: st.DataObject,
) -> None:
    forms = [lambda c: c, lambda c: f"%{ord(c):02x}", lambda c: f"%{ord(c):02X}"]
    written = "".join(
        data.draw(st.sampled_from(forms))(character) for character in name
    )
    form = Form(f"{before}{written}={quote(value)}&after=1".encode())
    assert form.field(name) == value
    assert form.field("password") is None


def test_a_log_in_with_escaped_field_names_is_one(hall: Day, token: str) -> None:
    form = f"%75sername={TEAM}&pass%77ord=six+legs"
    assert posted(served(hall), "/login", form).plain == (200, token)
