"""pyvisa-py with a VXI-11 that notices a closed connection. Other users of pyvisa-py are not affected."""

from __future__ import annotations

import contextlib
import math
import random
import socket
import time
from typing import Any, Final

from pyvisa import constants, rname
from pyvisa_py.highlevel import PyVisaLibrary
from pyvisa_py.protocols import rpc, vxi11
from pyvisa_py.sessions import OpenError
from pyvisa_py.tcpip import TCPIPInstrVxi11, Vxi11CoreClient

OPENING_S: Final = 6.0
"""Time limit for all answers of an instrument while the link is being made."""
LARGEST_ANSWER: Final = 1 << 20
LARGEST_CHUNK: Final = 1 << 30


class EndingSocket(socket.socket):
    """A socket that raises when the connection is closed or an answer takes too long.

    pyvisa-py takes the empty bytes of a closed connection for "nothing yet" and asks again until its timeout, which
    uses a full core. Its timeout also restarts with every byte. An exception stops it at once.
    """

    end_s = math.inf

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        """Receive bytes; ConnectionError if the connection closed or is too slow, EOFError if it is not VXI-11."""
        if bufsize > LARGEST_ANSWER:  # text, taken for the length of a record
            raise EOFError("its answer is not VXI-11")
        if time.monotonic() > self.end_s:
            raise ConnectionAbortedError("its answer took too long")
        data = super().recv(bufsize, flags)
        if not data:
            raise ConnectionResetError("the meter closed the connection")
        return data


class _Ending:
    """Mixin that makes a pyvisa-py client connect through an EndingSocket."""

    sock: Any

    def connect(self, timeout: float = 5.0) -> None:
        """Connect as the client does, and then use an EndingSocket."""
        rpc.RawTCPClient.connect(self, timeout)
        self.sock = EndingSocket(fileno=self.sock.detach())
        self.sock.end_s = time.monotonic() + OPENING_S


class _Portmapper(_Ending, rpc.TCPPortMapperClient):  # type: ignore[misc]  # pyvisa-py has no types
    """The portmapper of an instrument, which knows the port of its VXI-11 server."""


class _Core(_Ending, Vxi11CoreClient):  # type: ignore[misc]
    """The connection of one link."""

    def __init__(self, host: str, port: int | None, open_timeout: int | None) -> None:
        if port is None:
            port = _vxi11_port(host, open_timeout)
        super().__init__(host, port, open_timeout)


def _vxi11_port(host: str, open_timeout: int | None) -> int:
    with contextlib.closing(_Portmapper(host, open_timeout)) as portmapper:
        program = (vxi11.DEVICE_CORE_PROG, vxi11.DEVICE_CORE_VERS, rpc.IPPROTO_TCP, 0)
        port = int(portmapper.get_port(program))
    if port == 0:
        raise rpc.RPCError("program not registered")
    return port


class _Vxi11Session(TCPIPInstrVxi11):  # type: ignore[misc]
    """A VXI-11 link; no connection stays open if the link cannot be made."""

    def after_parsing(self) -> None:
        """Connect and create the link, as the base class does with its own client."""
        host, _, port = self.parsed.host_address.partition(",")
        try:
            self.interface = _Core(host, int(port) if port else None, self.open_timeout)
        except rpc.RPCError as error:
            raise OpenError from error
        try:
            self._make_link()
        except BaseException:
            self.interface.close()
            raise

    def _make_link(self) -> None:
        self.client_id = random.getrandbits(31)
        self.keepalive = False
        error, self.link, _, largest = self.interface.create_link(
            self.client_id, 0, self.lock_timeout, self.parsed.lan_device_name
        )
        if error:
            raise RuntimeError(f"error creating link: {error}")
        self.max_recv_size = min(largest, LARGEST_CHUNK)
        name = constants.ResourceAttribute
        self.attrs |= {
            name.tcpip_is_hislip: False,
            name.tcpip_address: self.parsed.host_address,
            name.tcpip_hostname: "",
            name.tcpip_device_name: self.parsed.lan_device_name,
            name.send_end_enabled: True,
            name.termchar: ord("\n"),
            name.termchar_enabled: False,
        }


class Library(PyVisaLibrary):  # type: ignore[misc]
    """pyvisa-py with sessions of its own and with our VXI-11."""

    def open(
        self,
        session: Any,
        resource_name: str,
        access_mode: Any = 0,
        open_timeout: int | None = 0,
    ) -> Any:
        """Open a session as viOpen does."""
        parsed = _vxi11_address(resource_name)
        if parsed is None:
            return super().open(session, resource_name, access_mode, open_timeout)
        try:
            opened = _Vxi11Session(session, resource_name, parsed, open_timeout)
        except OpenError as error:
            return 0, self.handle_return_value(None, error.error_code)
        return self._register(opened), constants.StatusCode.success


def _vxi11_address(resource_name: str) -> Any:
    try:
        parsed = rname.ResourceName.from_string(resource_name)
    except rname.InvalidResourceName:
        return None
    if not isinstance(
        parsed, rname.TCPIPInstr
    ) or parsed.lan_device_name.lower().startswith("hislip"):
        return None
    return parsed
