from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from lpirc_power.addresses.meter_address import open_meter
from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterError
from lpirc_power.visa.link import Link
from tests.power.peer import Instrument, Peer


@pytest.fixture
def link(simulate: Any) -> Iterator[tuple[Link, Any]]:
    simulator = simulate()
    with contextlib.closing(Link(simulator.address)) as opened:
        yield opened, simulator


def refused(
    link: Link,
    message: str = "*IDN?",
) -> str:
    with pytest.raises(MeterError) as caught:
        link.query(message)
    assert link.address in caught.value.sentence
    return caught.value.code


def test_messages_go_and_answers_come(link: Any) -> None:
    opened, _ = link
    opened.write(":COMMUNICATE:HEADER OFF")
    assert opened.query("*IDN?") == "YOKOGAWA,WT310,SIMULATED,F1.03"


def test_nobody_listening_is_unreachable_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(MeterError) as caught:
        Link(f"TCPIP::127.0.0.1,{port}::INSTR")
    assert caught.value.code == "meter-unreachable"
    assert str(port) in caught.value.sentence


@pytest.mark.slow
def test_a_server_that_accepts_and_says_nothing_is_unreachable() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(MeterError) as caught,
    ):
        Link(f"TCPIP::127.0.0.1,{silent.getsockname()[1]}::INSTR")
    assert caught.value.code == "meter-unreachable"
    assert "opens no link" in caught.value.sentence


@pytest.mark.parametrize(
    "address",
    ["nonsense", "TCPIP::127.0.0.1,5::SOCKET::7", "ASRL99::INSTR"],
)
def test_an_address_pyvisa_cannot_use_is_a_meter_error(address: str) -> None:
    with pytest.raises(MeterError) as caught:
        Link(address)
    assert caught.value.code in (
        "meter-wrong-address",
        "meter-unreachable",
        "meter-backend",
    )


def failure(
    address: str,
    **options: Any,
) -> MeterError:
    with pytest.raises(MeterError) as caught:
        Link(address, **options)
    assert address in caught.value.sentence
    return caught.value


@pytest.mark.parametrize(
    "address",
    ["TCPIP::no-such-host.invalid::INSTR", "TCPIP::no-such-host.invalid,5::INSTR"],
)
def test_a_host_that_does_not_exist_is_named(address: str) -> None:
    error = failure(address)
    assert error.code == "meter-unreachable"
    assert ("no-such-host.invalid" in error.sentence) is True
    assert "no host 'no-such-host.invalid'" in error.sentence


@pytest.mark.parametrize(
    ("port", "told"),
    [
        ("/dev/ttyNONE", "This machine has no serial port /dev/ttyNONE; plug"),
        ("/dev/null", "/dev/null is not a serial port; `meter find` lists"),
        ("/", "This machine has no serial port /; plug"),
    ],
)
def test_a_serial_port_that_is_none_is_named_without_the_systems_words(
    port: str, told: str
) -> None:
    with pytest.raises(MeterError) as caught:
        Link(f"ASRL{port}::INSTR")
    assert caught.value.code == "meter-unreachable"
    assert caught.value.sentence.startswith(told)


def test_a_wrong_resource_string_is_told_the_form_with_a_comma() -> None:
    error = failure("TCPIP::INSTR")
    assert error.code == "meter-wrong-address"
    assert "TCPIP::HOST,PORT::INSTR, with a comma" in error.sentence


@pytest.mark.slow
def test_a_host_that_stays_silent_is_unreachable() -> None:
    # A queue of connections that is full answers no further one, as a host that is switched off.
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        error = failure(f"TCPIP::127.0.0.1,{full.getsockname()[1]}::INSTR")
    assert error.code == "meter-unreachable"


def test_without_a_vendors_visa_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_there(_backend: str) -> None:
        raise OSError("Could not open VISA library")

    # What pyvisa says where no library is installed; here one may be.
    monkeypatch.setattr("lpirc_power.visa.link._resources", nothing_there)
    error = failure("GPIB0::1::INSTR", backend="@ivi")
    assert error.code == "meter-backend"
    assert "no vendor VISA is installed" in error.sentence


def test_an_unknown_backend_is_refused() -> None:
    assert failure("GPIB0::1::INSTR", backend="@none").code == "meter-backend"


def test_an_unknown_query_times_out_and_the_link_stays_good(simulate: Any) -> None:
    with contextlib.closing(Link(simulate().address, timeout_ms=100)) as opened:
        assert refused(opened, ":NONSENSE?") == "meter-timeout"
        assert opened.query(":STATUS:ERROR?").startswith("113,")


def test_a_query_may_have_a_time_of_its_own(simulate: Any) -> None:
    with contextlib.closing(Link(simulate().address, timeout_ms=20000)) as opened:
        before_s = time.monotonic()
        with pytest.raises(MeterError, match=r"in 0\.05 s") as caught:
            opened.query(":NONSENSE?", timeout_ms=50)
        assert caught.value.code == "meter-timeout"
        assert time.monotonic() - before_s < 20.0
        assert opened._resource.timeout == 20000  # noqa: SLF001 - the timeout of the VISA session
        assert opened.query("*OPC?", timeout_ms=9000) == "1"


def test_a_meter_locked_by_another_says_so(link: Any) -> None:
    opened, simulator = link
    with contextlib.closing(Link(simulator.address)) as owner:
        owner._resource.lock_excl(0)  # noqa: SLF001 - a Link itself never locks
        assert refused(opened) == "meter-locked"
        owner._resource.unlock()  # noqa: SLF001 - a Link itself never locks
    with contextlib.closing(Link(simulator.address)) as again:
        assert again.query("*OPC?") == "1"


def test_a_killed_server_is_noticed_at_once_and_for_good(link: Any) -> None:
    opened, simulator = link
    simulator.kill()
    assert refused(opened) == "meter-lost"
    assert refused(opened) == "meter-lost"


def test_a_server_dying_under_a_query_costs_no_processor_time(link: Any) -> None:
    opened, simulator = link
    # Nothing sets a bit: the answer to what follows never comes.
    opened.write(":COMMUNICATE:WAIT 65535")
    codes: list[str] = []
    asking = threading.Thread(target=lambda: codes.append(refused(opened)))
    before_s = time.process_time()
    asking.start()
    simulator.kill()
    asking.join()
    assert codes == ["meter-lost"]
    # A spinning reader would burn three seconds.
    assert time.process_time() - before_s < 1.0


def test_closing_twice_and_after_a_loss_is_fine(simulate: Any) -> None:
    simulator = simulate()
    opened = Link(simulator.address)
    simulator.kill()
    assert refused(opened) == "meter-lost"
    opened.close()
    opened.close()
    assert refused(opened) == "meter-lost"


def test_closing_after_somebody_else_closed_the_socket_raises_nothing(
    link: Any,
) -> None:
    opened, _ = link
    opened._socket.close()  # noqa: SLF001
    opened.close()
    assert refused(opened) == "meter-lost"


ASKS_AT_ITS_END = """
import atexit
import sys
from lpirc_power.visa.link import Link

def ask():  # called last: what is registered last is called first
    print(link.query("*IDN?"))
    link.close()

atexit.register(ask)
link = Link(sys.argv[1])
"""


def test_a_link_works_until_its_owner_closes_it_also_as_the_process_ends(
    simulate: Any,
) -> None:
    command = [sys.executable, "-c", ASKS_AT_ITS_END, simulate().address]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "YOKOGAWA,WT310,SIMULATED,F1.03\n"
    assert done.stderr == ""


BESIDE_ANOTHER_PROGRAM = """
import sys
import pyvisa
from pyvisa_py.protocols import rpc

plain = rpc.RawTCPClient.connect
other = pyvisa.ResourceManager("@py")
from lpirc_power.visa.link import Link

link = Link(sys.argv[1])
theirs = other.open_resource(sys.argv[1])
print(rpc.RawTCPClient.connect is plain)
print(type(other.visalib.sessions[theirs.session].interface.sock).__name__)
print(theirs.query("*OPC?").strip(), link.query("*OPC?"))
other.close()
print(link.query("*OPC?"))
link.close()
"""


def test_another_program_in_the_process_has_its_own_pyvisa_py(simulate: Any) -> None:
    command = [sys.executable, "-c", BESIDE_ANOTHER_PROGRAM, simulate().address]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "socket", "1", "1", "1"]
    assert done.stderr == ""


DEVICE_CLEAR = 15


class Watched(Peer):
    """It notes what is called."""

    def _reply(
        self,
        procedure: int,
        body: bytes,
    ) -> bytes:
        self.called: list[int] = [*getattr(self, "called", []), procedure]
        return super()._reply(procedure, body)


def test_an_onlooker_on_the_network_clears_nothing_that_a_run_waits_for(
    clocks: Clocks,
) -> None:
    with (
        contextlib.closing(Watched(Instrument())) as peer,
        open_meter(peer.address, clocks) as meter,
    ):
        assert meter.identity.model == "WT310"
        assert peer.called
        assert DEVICE_CLEAR not in peer.called
        assert peer.instrument.errors == []
