from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from lpirc_client.cli import main
from lpirc_client.conformance.referee_checks import Checks
from referee.clock import Clock
from tests.client.conformance.conftest import TEAMS
from tests.client.conformance.relay import Fault, Message, nothing, relay
from tests.contest_day import PASSWORD, TEAM, Day, until

READ_ONLY = [
    "health",
    "openapi",
    "no-token",
    "wrong-password",
    "problem-documents",
    "documented",
]


def failed(url: str, team: str = TEAM) -> list[str]:
    return [
        one.name for one in Checks(url, team, PASSWORD).all() if one.result != "PASS"
    ]


def when(condition: Callable[[Message], bool], fault: Fault) -> Fault:
    """That fault in those messages only."""
    return lambda message: fault(message) if condition(message) else None


def is_to(method: str, path: str) -> Callable[[Message], bool]:
    return lambda message: message.method == method and message.path.startswith(path)


def answers(status: int) -> Callable[[Message], bool]:
    return lambda message: message.status == status


def compress(message: Message) -> None:
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(message.content)) as stored,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as batch,
    ):
        for name in stored.namelist():
            batch.writestr(name, stored.read(name))
    message.content = packed.getvalue()


def serve_for_head(message: Message) -> None:
    message.method = "GET"


def forget_key(message: Message) -> None:
    message.headers.pop("Idempotency-Key", None)


def another_link(message: Message) -> None:
    message.change(receipt={**json.loads(message.content)["receipt"], "link": "0" * 64})


def refuse_otherwise(message: Message) -> None:
    message.status = 400


def another_type(message: Message) -> None:
    message.answer_headers["Content-Type"] = "application/json"


def without_header(message: Message) -> None:
    message.answer_headers.pop("X-Window-Remaining-Ms", None)


def undocumented(message: Message) -> None:
    document = json.loads(message.content)
    del document["paths"]["/v1/detections"]["post"]["responses"]["422"]
    message.content = json.dumps(document).encode()


def new_clock() -> Fault:
    """Each log-in says that more is left than the one before."""
    left_s = iter(range(100, 600))
    return when(
        is_to("POST", "/v1/session"),
        when(answers(201), lambda m: m.change(remaining_s=next(left_s))),
    )


POST = is_to("POST", "/v1/detections")
FAULTS: dict[str, tuple[Fault, Fault]] = {
    "health": (
        nothing,
        when(is_to("GET", "/v1/health"), lambda m: m.change(status="fine")),
    ),
    "wrong-password": (
        nothing,
        when(is_to("POST", "/v1/session"), when(answers(401), refuse_otherwise)),
    ),
    "log-in-again": (nothing, new_clock()),
    "image-head": (when(is_to("HEAD", "/v1/images"), serve_for_head), nothing),
    "batch": (nothing, when(is_to("GET", "/v1/images?"), compress)),
    "rows": (
        nothing,
        when(POST, when(answers(202), lambda m: m.change(sha256="0" * 64))),
    ),
    "idempotency-key": (when(POST, forget_key), nothing),
    "bad-row": (nothing, when(answers(422), lambda m: m.change(problems=[], total=0))),
    "too-large": (nothing, when(answers(413), refuse_otherwise)),
    "receipts": (nothing, when(POST, when(answers(202), another_link))),
    "window-header": (nothing, when(is_to("GET", "/v1/images/"), without_header)),
    "window-closed": (
        nothing,
        when(
            is_to("GET", "/v1/images"),
            when(answers(409), lambda m: m.change(code="over")),
        ),
    ),
    "problem-documents": (nothing, when(answers(415), another_type)),
    "documented": (nothing, when(is_to("GET", "/v1/openapi.json"), undocumented)),
}
# Where one fault breaks two promises.
FOUND_TOO = {
    "wrong-password": ["problem-documents"],
    "rows": ["receipts"],
    "idempotency-key": ["log-out", "window-closed"],
    "too-large": ["problem-documents"],
    "receipts": ["log-out"],
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_by_its_name(url: str, name: str) -> None:
    with relay(url, *FAULTS[name]) as faulty:
        found = failed(faulty, TEAMS[list(FAULTS).index(name)])
    assert found == sorted({name, *FOUND_TOO.get(name, ())}, key=found.index)


def test_our_referee_passes_also_behind_the_relay(url: str) -> None:
    with relay(url) as honest:
        assert failed(honest) == []


def test_a_log_that_grows_between_two_answers_to_one_body_is_no_fault(
    trial_day: Day,
    url: str,
) -> None:
    shown: list[int] = []

    def grow(message: Message) -> None:
        """Put an act on record and wait until it is shown, before a body with a key arrives."""
        if "Idempotency-Key" not in message.headers:
            return
        with trial_day.store() as store:
            store.log.append(Clock().utc(), None, "odd")
            events = store.log.head()[0]
        until(lambda: shown_events(trial_day) >= events)

    def note(message: Message) -> None:
        shown.append(json.loads(message.content)["log"]["events"])

    is_keyed = when(lambda m: "Idempotency-Key" in m.headers, when(answers(202), note))
    with relay(url, grow, is_keyed) as honest:
        assert failed(honest) == []
    assert len(shown) == len(set(shown)) == 3


def shown_events(day: Day) -> int:
    """How many events the log has that the server shows."""
    assert day.server is not None
    return len(day.server.ask("GET", "/log/links").content) // 32


def without_batches(message: Message) -> None:
    document = json.loads(message.content)
    del document["paths"]["/v1/images"]
    message.content = json.dumps(document).encode()


def without_receipts(message: Message) -> None:
    document = json.loads(message.content)
    document.pop("receipt", None)
    message.content = json.dumps(document).encode()


def test_what_a_referee_of_another_implementer_does_not_have_is_skipped(
    url: str,
) -> None:
    def lessen(message: Message) -> None:
        when(is_to("GET", "/v1/openapi.json"), without_batches)(message)
        when(POST, when(answers(202), without_receipts))(message)
        when(is_to("DELETE", "/v1/session"), without_receipts)(message)

    with relay(url, nothing, lessen) as lesser:
        found = {
            one.name: one
            for one in Checks(lesser, TEAMS[-1], PASSWORD).all()
            if one.result != "PASS"
        }
    assert {name: one.result for name, one in found.items()} == {
        "batch": "SKIP",
        "receipts": "SKIP",
    }


def test_a_server_that_is_no_referee_fails_and_one_that_speaks_no_http_is_one_sentence(
    url: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def welcome(message: Message) -> None:
        message.status = 200
        message.content = b"<h1>Welcome!</h1>"

    with relay(url, nothing, welcome) as page:
        found = {one.name: one for one in Checks(page, TEAM, PASSWORD).all()}
        assert main(["check", page, "--proxy", "0"]) == 1
    assert "is this the referee's URL?" in capsys.readouterr().err
    assert "is this a referee?" in found["health"].detail
    assert {one.result for name, one in found.items() if name in READ_ONLY[:4]} == {
        "FAIL"
    }
    assert found["documented"].result == "SKIP"
    assert main(["check", url.replace("http", "https"), "--read-only"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert ("TLS" in shown.err) is True


def test_a_refused_log_in_is_told_in_the_words_of_the_referee(url: str) -> None:
    found = {one.name: one for one in Checks(url, "nobody", "wrong").all()}
    assert found["log-in"].detail.startswith(
        "POST /v1/session: expected 201, got 401 bad-credentials ("
    )


def test_without_a_log_in_the_checks_of_a_run_are_skipped(url: str) -> None:
    findings = list(Checks(url, "nobody", "wrong").all())
    assert [one.name for one in findings if one.result == "PASS"] == READ_ONLY
    assert [one.name for one in findings if one.result == "FAIL"] == ["log-in"]


def test_the_command_reports_as_table_and_junit_and_opens_a_run_only_if_told(
    trial_day: Day,
    url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LPIRC_PASSWORD", PASSWORD)
    with trial_day.store() as store:
        runs = len(store.runs.find())
    with pytest.raises(SystemExit) as usage:
        main(["check", url, "--team", TEAM])
    assert usage.value.code == 2
    assert "--yes" in capsys.readouterr().err
    assert main(["check", url, "--read-only", "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert [one["name"] for one in findings if one["result"] == "PASS"] == READ_ONLY
    with trial_day.store() as store:
        assert len(store.runs.find()) == runs
    assert (
        main(
            [
                "check",
                url,
                "--team",
                TEAM,
                "--yes",
                "--junit",
                str(tmp_path / "found.xml"),
            ]
        )
        == 0
    )
    assert capsys.readouterr().out.endswith("21 PASS\n")
    suite = ET.parse(tmp_path / "found.xml").getroot()  # noqa: S314 - our own
    counts = {
        name: suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")
    }
    assert counts == {
        "tests": "21",
        "failures": "0",
        "errors": "0",
        "skipped": "0",
    }
    assert float(suite.attrib["time"]) == pytest.approx(
        sum(float(one.attrib["time"]) for one in suite),
        abs=1e-6,
    )


def test_a_failure_ends_the_command_with_1_and_is_in_the_junit_file(
    url: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with relay(url, *FAULTS["health"]) as faulty:
        assert (
            main(
                ["check", faulty, "--read-only", "--junit", str(tmp_path / "found.xml")]
            )
            == 1
        )
    shown = capsys.readouterr()
    assert "FAIL  health                     status: expected ok, got fine" in shown.out
    assert "1 of 21 checks failed: health" in shown.err
    (failure,) = ET.parse(tmp_path / "found.xml").iter("failure")  # noqa: S314 - our own
    assert failure.attrib["message"] == "status: expected ok, got fine"


def test_a_port_of_thousands_of_digits_is_a_usage_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["check", "http://127.0.0.1:9", "--proxy", "1" * 5000])
    assert "is not a port; write 8081 or 0.0.0.0:8081" in capsys.readouterr().err


def test_where_nothing_listens_one_sentence_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for more in (["--read-only"], ["--proxy", "0"]):
        assert main(["check", "http://127.0.0.1:9", *more]) == 1
        assert "nothing listens there" in capsys.readouterr().err
