"""The conditions under which a standby host takes the first host for dead."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from referee.errors import RefereeError
from referee.journal.beats import Beat, beat_path, read_beat, write_beat
from referee.journal.first_host import Address, FirstHost, read_address
from tests.ports import own_port
from tests.referee.factories import DrivenClock

AFTER_S = 4.0


class Health(http.server.BaseHTTPRequestHandler):
    """A first host that answers."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def answering() -> Iterator[Address]:
    with http.server.HTTPServer(("127.0.0.1", own_port()), Health) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield Address("127.0.0.1", server.server_port, is_tls=False)
        server.shutdown()
        thread.join()


def silent() -> Address:
    return Address("127.0.0.1", own_port(), is_tls=False)


def test_it_is_dead_when_signs_of_life_and_answers_both_have_ended(
    tmp_path: Path,
) -> None:
    clock = DrivenClock()
    first = FirstHost(tmp_path, 1, silent(), AFTER_S, clock)
    clock.advance(100)
    assert not first.is_dead()  # it has not begun yet
    for number in range(1, 5):
        write_beat(tmp_path, 1, Beat(number, process=7))
        assert not first.is_dead()
        clock.advance(AFTER_S - 0.5)
        assert not first.is_dead()
    write_beat(tmp_path, 2, Beat(1, process=8))  # of another epoch
    # A damaged file is no sign of life, either.
    beat_path(tmp_path, 1).write_bytes(bytes(256))
    assert not first.is_dead()
    clock.advance(1)
    assert first.is_dead()


def test_it_is_not_dead_while_it_answers_or_when_it_was_ended_in_order(
    tmp_path: Path,
    answering: Address,
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = DrivenClock()
    write_beat(tmp_path, 1, Beat(1, process=7))
    first = FirstHost(tmp_path, 1, answering, AFTER_S, clock)
    other = FirstHost(tmp_path, 1, silent(), AFTER_S, clock)
    for _ in range(3):
        clock.advance(AFTER_S)
        assert not first.is_dead()
    assert caplog.text.count("but the host answers: check its mount") == 1
    write_beat(tmp_path, 1, Beat(0, process=7, is_ended=True))
    clock.advance(AFTER_S)
    assert not other.is_dead()
    clock.advance(AFTER_S)
    assert not other.is_dead()
    assert (
        caplog.text.count("was shut down cleanly; to take over: referee standby --now")
        == 1
    )


def test_a_sign_of_life_that_is_being_written_is_none(tmp_path: Path) -> None:
    assert read_beat(tmp_path, 1) is None
    for content in (b"", b"\0" * 256, b'{"count": 1', b"[]", b'{"count": 1}'):
        (tmp_path / "000001.beat").write_bytes(content)
        assert read_beat(tmp_path, 1) is None


@pytest.mark.parametrize(
    "text",
    ["", "hall-a", "ftp://hall-a", "http://", "http://hall-a:x", "http://hall-a:99999"],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(RefereeError, match="write it as http://HOST:PORT"):
        read_address(text)


def test_addresses_have_the_port_of_their_scheme() -> None:
    assert [read_address(f"{one}://[::1]").port for one in ("http", "https")] == [
        80,
        443,
    ]
    assert str(read_address("http://hall-a:8080/")) == "hall-a:8080"
