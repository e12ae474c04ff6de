"""Marks over real sockets: from programs that behave, that die, that flood, and that lie."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.marks import marking, marks_listener
from lpirc_power.marks.mark_list import MarkList
from lpirc_power.marks.marking import Sender, instant, mark
from lpirc_power.marks.marks_listener import MarksListener


@pytest.fixture
def listener() -> Iterator[MarksListener]:
    found = MarksListener(MarkList(), time.monotonic)
    yield found
    found.close()


def said(listener: MarksListener, *messages: object) -> MarkList:
    """Say messages as a stranger would, bytes as they are, and return what was made of them."""
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(listener.address)
        for one in messages:
            line = one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n"
            try:
                stranger.sendall(line)
            except OSError:
                break  # it was cut off
    listener.close()
    return listener.marks


def test_a_stretch_and_an_instant_have_the_senders_times(
    listener: MarksListener,
) -> None:
    sender = Sender(listener.address)
    before_s = time.monotonic()
    with mark("inference", sender):
        inside_s = time.monotonic()
    instant("ready", sender)
    after_s = time.monotonic()
    sender.close()
    listener.close()
    first, second = listener.marks.marks
    assert (first.name, second.name) == ("inference", "ready")
    assert first.end_s is not None
    assert before_s <= first.begin_s <= inside_s <= first.end_s <= second.begin_s
    assert second.begin_s == second.end_s
    assert second.end_s is not None
    assert second.end_s <= after_s
    assert (first.doubt_s, listener.marks.lost, listener.marks.refused) == (0.0, 0, 0)


def test_a_time_that_no_clock_shows_is_lost_and_spoils_no_later_one(
    listener: MarksListener,
) -> None:
    marks = said(
        listener, ["at", 99999999999, "far"], ["at", -1e11, "far"], ["at", 0, "near"]
    )
    assert [(one.name, one.doubt_s) for one in marks.marks] == [("near", 0.05)]
    assert marks.refused == 2


def test_one_mark_may_be_entered_again_also_within_itself(
    listener: MarksListener, caplog: pytest.LogCaptureFixture
) -> None:
    sender = Sender(listener.address)
    again = mark("work", sender)
    again.__exit__(None, None, None)
    assert "'work' is ended but has not begun" in caplog.text
    with again, again:
        pass
    again.__exit__(None, None, None)
    with mark("", sender):
        pass
    sender.close()
    listener.close()
    *both, nameless = listener.marks.marks
    outer, inner = sorted(both, key=lambda one: one.begin_s)
    assert outer.end_s is not None
    assert inner.end_s is not None
    assert inner.end_s <= outer.end_s
    assert nameless.name == "(no name)"
    assert (listener.marks.lost, listener.marks.refused) == (0, 0)


def test_stretches_nest_overlap_and_repeat(listener: MarksListener) -> None:
    sender = Sender(listener.address)
    a = mark("a", sender)
    b = mark("a", sender)
    with mark("outer", sender):
        a.__enter__()
        b.__enter__()
        a.__exit__(None, None, None)
        b.__exit__(None, None, None)
    sender.close()
    listener.close()
    assert [one.name for one in listener.marks.marks] == ["outer", "a", "a"]
    assert all(one.end_s is not None for one in listener.marks.marks)


def test_a_program_that_dies_in_a_stretch_leaves_it_without_an_end(
    listener: MarksListener,
) -> None:
    sender = Sender(listener.address)
    mark("inference", sender).__enter__()
    sender.close()
    listener.close()
    (found,) = listener.marks.marks
    assert (found.name, found.end_s) == ("inference", None)


def test_a_child_process_has_a_connection_of_its_own(listener: MarksListener) -> None:
    sender = Sender(listener.address)
    os.register_at_fork(after_in_child=sender.abandon)
    instant("parent", sender)
    child = os.fork()
    if not child:
        for _ in range(1000):
            instant("child", sender)
        sender.close()
        os._exit(0)
    for _ in range(1000):
        instant("parent", sender)
    os.waitpid(child, 0)
    sender.close()
    listener.close()
    names = [one.name for one in listener.marks.marks]
    assert (names.count("parent"), names.count("child")) == (1001, 1000)
    assert listener.marks.refused == 0


def test_marks_of_many_threads_are_all_there(listener: MarksListener) -> None:
    sender = Sender(listener.address)

    def work() -> None:
        for _ in range(200):
            with mark("a", sender):
                pass

    threads = [threading.Thread(target=work) for _ in range(5)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    sender.close()
    listener.close()
    assert len(listener.marks.marks) + listener.marks.lost == 1000
    assert listener.marks.refused == 0


CROWD = """
import os
from lpirc_power.marks import marking

children = []
for _ in range(200):
    pid = os.fork()
    if not pid:
        for _ in range(50):
            with marking.mark("work"):
                pass
        marking.own_sender.close()
        os._exit(0)
    children.append(pid)
for pid in children:
    os.waitpid(pid, 0)
"""


def test_marks_of_200_programs_at_once_are_all_there(
    listener: MarksListener, until: Any
) -> None:
    address = {marking.ENVIRONMENT: listener.address}
    done = subprocess.run(
        [sys.executable, "-c", CROWD],
        env=os.environ | address,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "No recording listens" not in done.stderr
    until(lambda: len(listener.marks) == 200 * 50)
    listener.close()
    assert (listener.marks.lost, listener.marks.refused) == (0, 0)
    assert all(one.end_s is not None for one in listener.marks.marks)


def test_more_programs_than_are_listened_to_are_counted_as_lost(
    listener: MarksListener, monkeypatch: pytest.MonkeyPatch, until: Any
) -> None:
    monkeypatch.setattr(marks_listener, "MOST_CONNECTIONS", 3)
    senders = [Sender(listener.address) for _ in range(5)]
    heard = [instant("ready", one) for one in senders]
    assert heard == [True] * 3 + [False] * 2
    listener.close()
    assert (len(listener.marks), listener.marks.lost) == (3, 2)
    for one in senders:
        one.close()


def test_an_end_before_its_beginning_leaves_nothing_open(
    listener: MarksListener,
) -> None:
    now_s = time.monotonic()
    marks = said(
        listener,
        ["end", 7, now_s, now_s, "late"],
        ["begin", 7, now_s, "late"],
        ["begin", 7, now_s, "again"],
    )
    found = [(one.name, one.end_s is None) for one in marks.marks]
    assert sorted(found) == [("again", True), ("late", False)]


@pytest.mark.parametrize("address", ["tcp:", "tcp:host", "tcp:host:x:token"])
def test_an_address_that_is_none_is_said(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert not instant("ready", Sender(address))
    assert "LPIRC_METER_MARKS is not tcp:HOST:PORT:TOKEN" in caplog.text


def test_a_recording_that_answers_late_gets_every_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(marking, "CONNECT_S", 0.01)
    with socket.socket(socket.AF_UNIX) as busy:
        busy.bind(str(tmp_path / "m"))
        busy.listen()
        sender = Sender(str(tmp_path / "m"))
        assert instant("ready", sender)
        assert "has not answered yet" in caplog.text
        sender.close()
        accepted, _ = busy.accept()
        with accepted, accepted.makefile("rb") as lines:
            words = [json.loads(one)[0] for one in lines]
    assert words == ["hello", "at"]


def test_a_flood_does_not_wait_and_what_is_dropped_is_counted(
    listener: MarksListener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marks_listener, "MOST_A_SECOND", 100)
    monkeypatch.setattr(marking, "MOST_WAITING", 10_000)
    sender = Sender(listener.address)
    begun_s = time.monotonic()
    for _ in range(20_000):
        instant("flood", sender)
    took_s = time.monotonic() - begun_s
    sender.close()
    listener.close()
    assert took_s < 5.0
    assert listener.marks.lost > 0
    # The last chunk may have come after the time for reading it.
    assert len(listener.marks.marks) + listener.marks.lost <= 20_000


def test_the_senders_clock_does_not_count_on_another_machine(
    listener: MarksListener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marking, "machine", lambda: "another")
    monkeypatch.setattr(time, "monotonic", _shifted(time.monotonic, 1e6))
    sender = Sender(listener.address)
    with mark("a", sender):
        threading.Event().wait(0.05)
    sender.close()
    monkeypatch.undo()
    listener.close()
    (found,) = listener.marks.marks
    assert found.end_s is not None
    assert 0.0 < found.doubt_s < 2.0
    assert found.end_s - found.begin_s >= 0.05
    assert abs(found.end_s - time.monotonic()) < 60.0


def _shifted(clock: Any, by_s: float) -> Any:
    return lambda: clock() + by_s


def test_a_line_of_a_shell_is_a_mark_at_its_arrival(listener: MarksListener) -> None:
    before_s = time.monotonic()
    (found,) = said(listener, b'["at",0,"ready"]\n').marks
    assert before_s <= found.begin_s <= time.monotonic()
    assert found.doubt_s == marks_listener.SUDDEN_S


@pytest.mark.parametrize(
    "message",
    [
        b"\n", b"\xff\xfe\n", b"{}\n", b"[]\n", b"null\n", b'"at"\n', b"[" * 1000 + b"\n", b"1e999\n",
        ["nonsense", 1], ["at"], ["at", 1.0], ["at", 1.0, "a", 2], ["at", "1", "a"], ["at", True, "a"], ["at", 1.0, 5],
        ["at", 1.0, ""], b'["at",1e999,"a"]\n', b'["at",NaN,"a"]\n',
        ["end", 1, 2.0, 1.0, "a"], ["end", [], 1.0, 2.0, "a"],
        ["begin", {}, 1.0, "a"], ["lost", "many"], ["lost", None], ["delay"], ["hello"], ["hello", 1, 2, 3, 4],
        [["at"], 1, "a"],
        ["at", 10**400, "a"], b"9" * 1500 + b"\n",
    ],
)  # fmt: skip
def test_nonsense_is_counted_and_what_follows_is_taken(
    listener: MarksListener, message: object
) -> None:
    found = said(listener, message, ["at", 0, "good"])
    assert [one.name for one in found.marks] == ["good"]
    assert found.refused == 1


def test_a_time_in_the_future_is_refused(listener: MarksListener) -> None:
    now_s = time.monotonic()
    hello = ["hello", marking.machine(), now_s, ""]
    found = said(listener, hello, ["at", now_s + 3600.0, "a"], ["at", now_s, "b"])
    assert [one.name for one in found.marks] == ["b"]
    assert found.refused == 1


def test_an_endless_line_is_cut_off_and_others_go_on(listener: MarksListener) -> None:
    sender = Sender(listener.address)
    instant("before", sender)
    with socket.socket(socket.AF_UNIX) as endless:
        endless.connect(listener.address)
        endless.sendall(b"x" * 10_000)
        assert endless.recv(1) == b""
    instant("after", sender)
    sender.close()
    listener.close()
    assert [one.name for one in listener.marks.marks] == ["before", "after"]


def test_a_lie_about_losses_is_bounded(listener: MarksListener) -> None:
    assert said(listener, ["lost", 1e300], ["lost", -5]).lost == 10**12


def test_only_this_user_can_reach_the_socket(listener: MarksListener) -> None:
    path = Path(listener.address)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    listener.close()
    assert not path.parent.exists()


def test_where_there_is_no_unix_socket_a_token_keeps_strangers_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(marks_listener, "HAS_UNIX_SOCKETS", False)
    listener = MarksListener(MarkList(), time.monotonic)
    try:
        assert listener.address.startswith("tcp:127.0.0.1:")
        sender = Sender(listener.address)
        assert instant("mine", sender)
        sender.close()
        liar = Sender(listener.address[:-4] + "AAAA")
        assert not instant("liar", liar)
        _, host, port, _ = listener.address.split(":")
        with socket.create_connection((host, int(port))) as stranger:
            stranger.sendall(b'["at",0,"stranger"]\n')
            assert stranger.recv(1) == b""
    finally:
        listener.close()
    assert [one.name for one in listener.marks.marks] == ["mine"]


def test_without_a_recording_there_is_one_warning_and_nothing_else(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    for address in (None, "", str(tmp_path / "none"), "tcp:nonsense"):
        caplog.clear()
        sender = Sender(address)
        for _ in range(3):
            with mark("a", sender):
                pass
        assert not instant("b", sender)
        assert len(caplog.records) == 1
        assert "No recording listens" in caplog.text


def test_a_signal_handler_that_marks_while_a_mark_is_sent_does_not_hang(
    listener: MarksListener, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender = Sender(listener.address)
    instant("first", sender)
    dumps = json.dumps

    def interrupted(message: Any) -> str:
        monkeypatch.setattr(json, "dumps", dumps)
        assert not instant("handler", sender)
        return dumps(message)

    monkeypatch.setattr(json, "dumps", interrupted)
    assert instant("second", sender)
    sender.close()
    listener.close()
    assert [one.name for one in listener.marks.marks] == ["first", "second"]
    assert listener.marks.lost == 1


def test_a_recording_that_goes_away_costs_the_workload_nothing(
    listener: MarksListener, caplog: pytest.LogCaptureFixture
) -> None:
    sender = Sender(listener.address)
    instant("a", sender)
    listener.close()
    for _ in range(3):
        instant("b", sender)
    assert [one.name for one in listener.marks.marks] == ["a"]
    assert len(caplog.records) == 1


@pytest.mark.parametrize("kind", ["file", "folder", "long", "in use"])
def test_a_path_that_cannot_be_a_socket_is_refused_in_one_sentence(
    tmp_path: Path, kind: str, listener: MarksListener
) -> None:
    path = tmp_path / "marks"
    if kind == "file":
        path.write_text("precious")
    if kind == "folder":
        path.mkdir()
    if kind == "long":
        path = tmp_path / ("x" * 120)
    if kind == "in use":
        path = Path(listener.address)
    with pytest.raises(MeterError) as raised:
        MarksListener(MarkList(), time.monotonic, path)
    assert raised.value.code == "marks-address"
    assert kind != "file" or path.read_text() == "precious"


def test_the_socket_of_a_killed_recording_is_replaced() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "marks")
        with socket.socket(socket.AF_UNIX) as former:
            former.bind(str(path))
        MarksListener(MarkList(), time.monotonic, path).close()


def test_importing_marks_imports_neither_numpy_nor_a_meter() -> None:
    import subprocess

    program = (
        "import sys; from lpirc_power import mark; "
        "raise SystemExit(any(one in sys.modules for one in ('numpy', 'pyvisa', 'click')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
