"""The way to a meter: VISA messages, every failure turned into a MeterError. The only importer of pyvisa.

A Link is for one thread at a time: pyvisa gives answers to whichever thread reads first. The sampler owns the
lock.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import re
import socket
import threading
import traceback
from collections.abc import Iterator
from typing import Any, Final, cast

import pyvisa
from pyvisa.constants import StatusCode
from pyvisa.resources import MessageBasedResource
from pyvisa_py.protocols import rpc

from power.errors import MeterError

# What goes wrong on the link is told by our own errors; the library's lines name neither meter nor run.
logging.getLogger("pyvisa").setLevel(logging.CRITICAL)

TIMEOUT_MS: Final = 2000
OPEN_TIMEOUT_MS: Final = 2000
"""Below about this, pyvisa-py gives up on a slow connect after 0.1 s."""

_NAME_ERRORS: Final = (
    StatusCode.error_invalid_resource_name,
    StatusCode.error_resource_not_found,
    StatusCode.error_invalid_access_mode,
    StatusCode.error_interface_number_not_configured,
)
_LOCKED: Final = 11  # VXI-11: device locked by another link
_opening = threading.Lock()


class Link:
    """An open VISA session. Once it has failed it never recovers: close it and open another one."""

    def __init__(self, address: str, timeout_ms: int = TIMEOUT_MS) -> None:
        """Open it; MeterError `meter-unreachable`, `meter-locked` or `meter-wrong-address` if that fails."""
        self.address = address
        self._failed = False
        self._closed = False
        try:
            self._resource = _open(address, timeout_ms)
        except pyvisa.VisaIOError as error:
            _close_left_open(error)
            raise _open_failure(address, error) from error
        except Exception as error:  # pyvisa-py raises anything here, down to a bare Exception
            _close_left_open(error)
            raise _unopened(address, error) from error
        self._socket = _socket_of(self._resource)

    def write(self, message: str) -> None:
        """Send a message that asks nothing."""
        with self._translated(message):
            self._resource.write_raw(message.encode("ascii") + b"\n")

    def query(self, message: str) -> str:
        """Send a message and return its answer without the terminator.

        Raises MeterError `meter-timeout` if no answer comes (the link stays good), `meter-locked` if another
        client has locked the meter, `meter-lost` for all else.
        """
        with self._translated(message):
            self._resource.write_raw(message.encode("ascii") + b"\n")
            return self._resource.read_raw().decode("latin-1").rstrip("\r\n")

    def close(self) -> None:
        """Close the session, whatever state it is in; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._failed and self._socket is not None:
            # The polite farewell waits for an answer; a socket that is shut down refuses it at once.
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError, pyvisa.Error):
            self._resource.close()

    @contextlib.contextmanager
    def _translated(self, message: str) -> Iterator[None]:
        if self._failed or self._closed:
            raise self._lost(message, "it has failed before")
        try:
            yield
        except pyvisa.VisaIOError as error:
            if error.error_code == StatusCode.error_timeout:
                raise MeterError(
                    "meter-timeout",
                    f"The meter at {self.address} did not answer {message!r} in {TIMEOUT_MS / 1000:g} s; "
                    "it may be busy, or not know the command.",
                    address=self.address,
                    message=message,
                ) from error
            locked = self._is_locked()
            self._failed = True
            if locked:
                raise _locked(self.address) from error
            raise self._lost(message, str(error)) from error
        except (pyvisa.Error, OSError, EOFError, ValueError) as error:
            self._failed = True
            raise self._lost(message, str(error)) from error
        except Exception as error:  # pyvisa-py's RPC errors derive from Exception only
            self._failed = True
            raise self._lost(message, str(error)) from error

    def _is_locked(self) -> bool:
        # A refusal because of another's lock and a dead server both come as VI_ERROR_IO; asking for the lock
        # tells.
        interface = _interface(self._resource)
        if interface is None:
            return False
        session = cast("Any", self._resource.visalib).sessions[self._resource.session]
        try:
            refused: int = interface.device_lock(session.link, 0, 0)
            if refused == 0:
                interface.device_unlock(session.link)
        except Exception:  # noqa: BLE001  whatever fails here, the link is lost
            return False
        return refused == _LOCKED

    def _lost(self, message: str, why: str) -> MeterError:
        return MeterError(
            "meter-lost",
            f"The link to the meter at {self.address} is lost ({why}); check cable and power of the meter.",
            address=self.address,
            message=message,
        )


class _EndingSocket(socket.socket):
    """A socket that reports its end.

    pyvisa-py takes the empty bytes of a closed connection for "nothing yet" and asks again until its timeout,
    at the cost of a whole core. An exception stops it at once.
    """

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        data = super().recv(bufsize, flags)
        if not data:
            raise ConnectionResetError("the meter closed the connection")
        return data


_plain_connect = rpc.RawTCPClient.connect


def _connect(client: Any, timeout: float = 5.0) -> None:
    _plain_connect(client, timeout)
    client.sock = _EndingSocket(fileno=client.sock.detach())


# For the whole process, because a connection that ends while a link is being made must be noticed too.
rpc.RawTCPClient.connect = _connect


@functools.cache
def _resources() -> pyvisa.ResourceManager:
    return pyvisa.ResourceManager("@py")


def _open(address: str, timeout_ms: int) -> MessageBasedResource:
    with _opening:  # the list of sessions is shared
        manager = _resources()
    resource = manager.open_resource(address, open_timeout=OPEN_TIMEOUT_MS, timeout=timeout_ms)
    if not isinstance(resource, MessageBasedResource):
        resource.close()
        raise TypeError(f"{address} takes no messages")
    return resource


def _interface(resource: MessageBasedResource) -> Any:
    # Internals of pyvisa-py; without them (another backend) only the improvements that rest on them are
    # missing.
    sessions = getattr(resource.visalib, "sessions", {})
    return getattr(sessions.get(resource.session), "interface", None)


def _socket_of(resource: MessageBasedResource) -> socket.socket | None:
    plain = getattr(_interface(resource), "sock", None)
    return plain if isinstance(plain, socket.socket) else None


def _close_left_open(error: BaseException) -> None:
    # pyvisa-py leaves its socket open when opening fails, and with it half a link in the meter; it is still
    # to be found in the frames of the exception.
    for frame, _ in traceback.walk_tb(error.__traceback__):
        owner = frame.f_locals.get("self")
        for holder in (owner, getattr(owner, "interface", None)):
            left = getattr(holder, "sock", None)
            if isinstance(left, socket.socket):
                left.close()


def _open_failure(address: str, error: pyvisa.VisaIOError) -> MeterError:
    if error.error_code in _NAME_ERRORS:
        return MeterError(
            "meter-wrong-address",
            f"{address!r} names no meter that can be reached from here ({error.description}); a meter on the "
            "network is TCPIP::HOST::INSTR, or TCPIP::HOST,PORT::INSTR for a VXI-11 server at a given port.",
            address=address,
        )
    return _unreachable(address, error.description)


def _unopened(address: str, error: Exception) -> MeterError:
    refused = re.search(r"error creating link: (\S+)", str(error))
    if refused and refused[1] == str(_LOCKED):
        return _locked(address)
    if refused:
        return _unreachable(address, "it accepts connections, but makes no link")
    return _unreachable(address, str(error) or type(error).__name__)


def _unreachable(address: str, why: str) -> MeterError:
    return MeterError(
        "meter-unreachable",
        f"No meter answers at {address} ({why}); check its power, its cable, and the address.",
        address=address,
    )


def _locked(address: str) -> MeterError:
    return MeterError(
        "meter-locked",
        f"The meter at {address} is locked by another program; close that program or unlock it there.",
        address=address,
    )
