"""Rows that cannot be: the rest of their body is stored, they are on record, operator and report tell of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import urlencode

import numpy as np
import pytest

from tests.contest_day import TEAM, Day, until
from tests.referee.web.legacy.old_clients import COLUMNS, OldClient, posted

STORED = (200, "Result stored in the server database\n")
GOOD = ["1", "1", "0.500000", "0.000000", "0.000000", "5.000000", "5.000000"]
IMPOSSIBLE = {  # the column and the value, of what clients sent to the original referee: it stored all of it as text
    "image_name": ["0", "7", "1.5", "abc", "", "9e999", "5.png"],
    "CLASS_ID": ["0", "205", "-1", "3.5", "n02084071", ""],
    "confidence": ["nan", "-nan", "inf", "1.#QNAN", "0,5", "50%", "5f", ""],
    "xmin": ["5px", "None", "[5]", "0x5", "1e400", "5L", "'5'", "1_0", ""],
}
CASES = [
    (COLUMNS.index(name), value)
    for name, values in IMPOSSIBLE.items()
    for value in values
]
NAMES = ["2.jpg", "3.JPG", "4.jpeg", "images/5.jpg", "C:\\images\\6.Jpeg"]


def with_value(column: int, value: str) -> list[str]:
    return [*GOOD[:column], value, *GOOD[column + 1 :]]


@pytest.fixture
def old(hall: Day, token: str) -> OldClient:
    assert hall.server is not None
    return OldClient(hall.server, token)


def stored(day: Day) -> list[list[float]]:
    with day.store() as store:
        return store.posts.detections(1).tolist()


def test_good_rows_are_stored_and_the_others_kept_with_line_and_reason(
    day: Callable[..., Day],
) -> None:
    made = day()
    assert made.server is not None
    client = OldClient(made.server)
    client.log_in()
    rows = [with_value(*case) for case in CASES]
    last = ["2", "3", "0.25", "1", "2", "3", "4"]
    half = len(rows) // 2
    assert client.post([GOOD, *rows[:half], last]).plain == STORED
    assert client.post(rows[half:]).plain == STORED  # not one good row
    assert stored(made) == np.array([GOOD, last], float).tolist()
    with made.store() as store:
        kept = store.posts.refused_rows(1)
        assert store.posts.count_refused(1) == len(kept) == len(rows)
    assert [row["line"] for row in kept] == [
        *range(2, half + 2),
        *range(1, len(rows) - half + 1),
    ]
    for (_, value), row, sent in zip(CASES, kept, rows, strict=True):
        assert row["text"] == " ".join(sent)
        assert value in row["reason"] or row["reason"].startswith(
            ("confidence is ", "xmin is ", "image_name is ", "image is ")
        )
    listed = json.loads(made.refers("run", "list", "--json").stdout)
    assert listed[0]["refused"] == len(rows)
    assert f" {len(rows)} rows refused" in made.refers("run", "list").stdout
    client.ask("/logout")
    for shown in (
        made.refers("run", "show", "1"),
        made.refers("judge", "1"),
    ):
        assert f"{len(rows)} rows that the team posted were refused" in " ".join(
            shown.stdout.split()
        )
    judged = json.loads(made.refers("run", "show", "1", "--json").stdout)
    check = next(
        one for one in judged["judged"]["checks"] if one["code"] == "rows-refused"
    )
    assert check["severity"] == "warning"
    assert check["ok"] is False
    assert check["figures"] == {"rows": len(rows)}
    assert "line 2: image 0 is not a whole number in 1..6" in check["sentence"]
    assert [row["reason"] for row in judged["refused_rows"]] == [
        row["reason"] for row in kept
    ]
    log = made.folder / "server.log"
    until(lambda: "(team 'ant', run 1): 200 rows-refused: " in log.read_text())


def test_a_run_without_refused_rows_has_no_such_check(day: Callable[..., Day]) -> None:
    made = day()
    assert made.server is not None
    client = OldClient(made.server)
    client.log_in()
    client.post([GOOD])
    client.ask("/logout")
    assert "rows-refused" not in made.refers("judge", "1").stdout
    assert "refused" not in made.refers("run", "list").stdout


def test_whatever_a_refused_row_holds_the_operator_can_read_it(
    day: Callable[..., Day],
) -> None:
    made = day()
    assert made.server is not None
    client = OldClient(made.server)
    client.log_in()
    client.post(
        [
            with_value(3, "[/red]"),
            with_value(4, ":dog:\x00\x1b[2J\U0001f415"),
        ]
    )
    client.ask("/logout")
    for shown in (
        made.refers("judge", "1"),
        made.refers("run", "show", "1"),
    ):
        assert shown.returncode == 0, shown.stderr
        assert "'[/red]' is not a number" in shown.stdout
        assert "\x1b" not in shown.stdout


def test_the_same_body_counts_its_refused_rows_once(old: OldClient, hall: Day) -> None:
    rows = [
        with_value(2, "0.87"),
        with_value(1, "77"),
    ]
    before = len(stored(hall))
    own = []
    for _ in range(3):
        assert old.post(rows).plain == STORED
        with hall.store() as store:
            own.append((store.posts.count_refused(1), len(store.posts.refused_rows(1))))
    assert len(stored(hall)) == before + 1
    assert len(set(own)) == 1


def test_an_image_may_be_named_by_a_file_that_leaves_no_doubt(
    old: OldClient,
    hall: Day,
) -> None:
    before = len(stored(hall))
    assert old.post([with_value(0, name) for name in NAMES]).plain == STORED
    assert [row[0] for row in stored(hall)[before:]] == [2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("form", "taken", "refused"),
    [
        # One image_name and two boxes: the first box was stored.
        (
            "image_name=3&" + "&".join(f"{name}=1&{name}=2" for name in COLUMNS[1:]),
            [[3, 1, 1, 1, 1, 1, 1]],
            1,
        ),
        (urlencode(dict.fromkeys(COLUMNS[1:], "1")), [], 1),
        (urlencode({f"{name}[]": "1" for name in COLUMNS}), [], 1),
        (urlencode(dict.fromkeys(COLUMNS, "")), [], 1),
        ("", [], 0),
    ],
)
def test_there_are_as_many_rows_as_image_names(
    old: OldClient,
    hall: Day,
    form: str,
    taken: list[list[float]],
    refused: int,
) -> None:
    before = len(stored(hall))
    with hall.store() as store:
        had = store.posts.count_refused(1)
    assert posted(old.server, "/result", f"token={old.token}&{form}").plain == STORED
    assert stored(hall)[before:] == taken
    with hall.store() as store:
        assert store.posts.count_refused(1) - had == refused
        assert old.token not in json.dumps(store.posts.refused_rows(1))


def test_refusals_are_logged_but_a_flood_of_them_fills_no_disk(
    day: Callable[..., Day],
) -> None:
    made = day()
    assert made.server is not None
    client = OldClient(made.server)
    client.log_in()
    log = made.folder / "server.log"
    for number in range(40):
        assert OldClient(made.server, f"bad{number}").ask("/verify").status == 401
        assert OldClient(made.server, password="wrong").log_in().status == 401
    assert client.ask("/image", image_name="99").status == 406
    until(
        lambda: (
            "(team 'ant', run 1): 406 bad-request: Image index out of range\n"
            in log.read_text()
        )
    )
    assert (
        log.read_text().count(
            "(team 'ant'): 401 bad-credentials: Team or password is wrong."
        )
        == 1
    )
    assert log.read_text().count("refused 127.0.0.1: 401 bad-token: ") == 1
    assert client.token not in log.read_text()
    with made.store() as store:
        found = {
            (one.code, one.team, one.run): one.count
            for one in store.refusals.newest(50)
        }
    assert found["bad-token", None, None] == 40
    assert (
        found["bad-credentials", TEAM, None] + found["too-many-failures", TEAM, None]
        == 40
    )
    assert found["bad-request", TEAM, 1] == 1


def test_the_operators_log_says_that_fields_in_the_address_are_not_read(
    day: Callable[..., Day],
) -> None:
    made = day()
    assert made.server is not None
    client = OldClient(made.server)
    client.log_in()
    for path in (f"/verify?token={client.token}", "/login?username=ant&password=x"):
        assert made.server.ask("GET", path).status_code == 401
    headers = {"Authorization": f"Bearer {client.token}"}
    assert made.server.ask("GET", "/verify", headers=headers).status_code == 401
    form = "The form in the body has no"
    said = (
        f"401 token-missing: {form} token; what stands in the address is not read.\n",
        f"401 token-missing: {form} token; the header Authorization is not read here.\n",
        f"401 bad-request: {form} username or no password; what stands in the address",
    )
    log = made.folder / "server.log"
    until(lambda: all(one in log.read_text() for one in said))
    assert client.token not in log.read_text()


def test_a_header_says_why_while_the_body_stays_as_it_was(old: OldClient) -> None:
    told = old.post([GOOD, with_value(2, "90%")])
    assert told.plain == STORED
    assert told.headers["x-referee-reason"] == (
        "1 row refused, line 2: confidence: '90%' is not a number; write 0.9"
    )
    assert "x-referee-reason" not in old.post([GOOD]).headers
    refused = old.server.ask("GET", "/login?username=ant&password=x")
    assert refused.text == "Missing username or password\n"
    assert refused.headers["X-Referee-Reason"] == (
        "The form in the body has no username or no password; what stands in the address is not read."
    )
    odd = old.post([with_value(2, "\r\nSet-Cookie: a\x00\x7f\u00b5")])
    assert odd.plain == STORED
    assert odd.headers["x-referee-reason"].isprintable()
    assert "set-cookie" not in odd.headers


@pytest.mark.parametrize(("path", "fields", "told"), [
    ("/image", {"image_name": "0"}, "image_name is '0'; here it is a number alone, from 1 to"),
    ("/image", {"image_name": "50.jpg"}, "image_name is '50.jpg'; here it is a number alone"),
    ("/image", {"image_name": "9" * 5000}, "image_name is '9999"),
    ("/image", {}, "image_name is ''; here it is a number alone"),
    ("/zipimages", {"image_name": "2"}, "image_name is 2; a zip begins at image 1, 101, 201, ..."),
    ("/result", {"image": "1", "xmin": "1"}, "; the form has no image_name, CLASS_ID, confidence, ymin"),
])  # fmt: skip
def test_a_header_names_the_field_and_what_it_may_be(
    old: OldClient, path: str, fields: dict[str, str], told: str
) -> None:
    assert told in old.ask(path, **fields).headers["x-referee-reason"]
