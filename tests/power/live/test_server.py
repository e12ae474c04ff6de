"""The live page's server: to whom it answers, and what a real browser sees while a meter is recorded."""

from __future__ import annotations

import http.client
import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.live.live_state import LiveState
from lpirc_power.live.server import MOST_CLIENTS, live_server
from lpirc_power.meter import Identity, Reading
from tests.browser import assert_accessible, browser, visit  # noqa: F401  a fixture
from tests.ports import own_port
from tests.power.cli.conftest import meter, started  # noqa: F401  fixtures
from tests.timeouts import TIMEOUT_S

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def state(reading: Callable[..., Reading]) -> LiveState:
    live = LiveState(lambda: 1.1)
    live.on_armed("run", Identity("YOKOGAWA", "WT310E", "S1", "F1"))
    live.on_reading("run", reading(1.0))
    return live


@pytest.fixture
def port(state: LiveState) -> Iterator[int]:
    with live_server(state, 0) as address:
        yield int(address.rsplit(":", 1)[1].rstrip("/"))


def asked(
    port: int, path: str = "/", host: str | None = None, method: str = "GET"
) -> tuple[int, str, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    connection.putrequest(method, path, skip_host=True)
    if host != "":
        connection.putheader("Host", host or f"127.0.0.1:{port}")
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read().decode()
    connection.close()
    return answer.status, content, answer.headers


def test_page_part_and_metrics_are_answered(port: int) -> None:
    status, page, headers = asked(port)
    assert status == 200
    assert "6 W" in page
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["Cache-Control"] == "no-store"
    assert asked(port, "/now")[0] == 200
    _, text, headers = asked(port, "/metrics")
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert 'lpirc_power_watts{recording="run"} 6.0' in text
    assert asked(port, host=f"localhost:{port}")[0] == 200
    assert asked(port, method="HEAD")[1] == ""


def test_a_file_name_that_is_no_text_is_shown_all_the_same(
    state: LiveState, port: int
) -> None:
    state.on_armed("run\udcff", Identity("YOKOGAWA", "WT310E", "S2", "F1"))
    for path in ("/", "/now", "/metrics"):
        status, content, _ = asked(port, path)
        assert status == 200
        assert "run?" in content


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1.evil.example:{port}",
        "",
    ],
)
@pytest.mark.parametrize("path", ["/", "/now", "/metrics"])
def test_a_page_that_reaches_us_under_its_own_name_learns_nothing(
    port: int, host: str, path: str
) -> None:
    status, content, _ = asked(port, path, host.format(port=port))
    assert status == 421
    assert "6 W" not in content
    assert "lpirc_" not in content


def test_two_names_in_one_request_are_refused(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_S) as connection:
        lines = (
            f"GET /now HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\n\r\n"
        )
        connection.sendall(lines.encode())
        assert b" 421 " in connection.recv(4096)


@pytest.mark.parametrize("path", ["/none", "/../etc/passwd", "//evil.example/"])
def test_other_paths_are_not_found(port: int, path: str) -> None:
    assert asked(port, path)[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_changed(port: int, method: str) -> None:
    assert asked(port, method=method)[0] == 501


def test_it_listens_on_the_loopback_alone(port: int) -> None:
    for *_, place in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET):
        if str(place[0]).startswith("127."):
            continue
        with pytest.raises(OSError), socket.create_connection(place[:2], 1):  # type: ignore[arg-type]  # noqa: PT011
            pass


def test_a_port_in_use_is_one_sentence(state: LiveState, port: int) -> None:
    with (
        pytest.raises(MeterError, match=f"cannot listen on port {port}") as caught,
        live_server(state, port),
    ):
        pass
    assert caught.value.code == "page-port"


def test_clients_that_say_nothing_do_not_keep_others_out_for_ever(
    state: LiveState,
) -> None:
    with live_server(state, 0) as address:
        port = int(address.rsplit(":", 1)[1].rstrip("/"))
        idle = [
            socket.create_connection(("127.0.0.1", port))
            for _ in range(MOST_CLIENTS + 4)
        ]
        for one in idle:
            one.close()
        threads = threading.active_count()
        assert asked_in_the_end(port) == 200
        assert threads <= MOST_CLIENTS + 8


def test_silent_clients_take_no_place_from_one_that_asks(state: LiveState) -> None:
    with live_server(state, 0) as address:
        port = int(address.rsplit(":", 1)[1].rstrip("/"))
        silent = [
            socket.create_connection(("127.0.0.1", port))
            for _ in range(3 * MOST_CLIENTS)
        ]
        for one in silent[::2]:
            one.sendall(b"GET / HT")  # never ends
        assert [asked(port)[0] for _ in range(3)] == [200, 200, 200]
        for one in silent:
            one.close()


def asked_in_the_end(port: int) -> int:
    """The status once a client gets through; a full server closes the connection."""
    while True:
        try:
            return asked(port)[0]
        except (http.client.HTTPException, ConnectionError):
            continue


def test_a_browser_sees_what_is_new_without_loading_the_page_again(
    browser: Browser,  # noqa: F811
    state: LiveState,
    reading: Callable[..., Reading],
    port: int,
) -> None:
    from playwright.sync_api import expect

    url = f"http://127.0.0.1:{port}/"
    with visit(browser, url, size=(360, 800), color_scheme="dark") as page:
        assert_accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        state.on_reading("run", reading(1.05, power_w=77.0))
        expect(page.locator("#now")).to_contain_text("77 W")


def test_a_page_whose_program_has_ended_says_so(
    browser: Browser,  # noqa: F811
    state: LiveState,
) -> None:
    from playwright.sync_api import expect

    with (
        live_server(state, 0) as address,
        visit(browser, address, refused=["ERR_FAILED"]) as page,
    ):
        page.route("**/now", lambda route: route.abort())
        expect(page.locator("#state")).to_contain_text("No answer")


def test_record_prints_its_address_and_serves_the_recording(
    started: Callable[..., Any],  # noqa: F811
    tmp_path: Path,
    until: Callable[..., None],
) -> None:
    port = own_port()
    process = started(
        "record", "sim:constant:36W", "-o", "run.csv", "--page", str(port), "--update", "0.1",
        "--voltage-range", "150", "--current-range", "0.5",
    )  # fmt: skip

    def recording() -> bool:
        try:
            text = asked(port, "/metrics")[1]
        except ConnectionError:
            return False
        found = re.search(r'lpirc_energy_joules_total\{recording="run"\} (\S+)', text)
        return found is not None and float(found[1]) > 0

    until(recording)
    process.terminate()
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert f"live page at http://127.0.0.1:{port}/" in errors
    assert (tmp_path / "run.csv").exists()


def test_watch_serves_a_page_too(
    started: Callable[..., Any],  # noqa: F811
    until: Callable[..., None],
) -> None:
    port = own_port()
    process = started("watch", "sim:constant:36W", "--page", str(port))

    def watching() -> bool:
        try:
            return "Watching; nothing is recorded." in asked(port, "/now")[1]
        except ConnectionError:
            return False

    until(watching)
    process.terminate()
    process.communicate(timeout=TIMEOUT_S)
