"""Link to a meter: VISA messages, with every failure turned into a MeterError. The only importer of pyvisa.

Use a Link in one thread at a time: pyvisa gives an answer to whichever thread reads first. The sampler owns the lock.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import logging
import re
import socket
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any, Final, cast

import pyvisa
from pyvisa.constants import BufferOperation, StatusCode
from pyvisa.resources import MessageBasedResource, SerialInstrument

from lpirc_power.errors import MeterError, MeterLost, MeterTimeout
from lpirc_power.visa import link_failures, usb
from lpirc_power.visa.resources import PURE_PYTHON, SIMULATED

with warnings.catch_warnings():
    # pyusb packs structures without naming their layout (pyusb issue 535), deprecated since Python 3.14 (CPython
    # gh-131747): with `-W error` its import fails, and pyvisa-py then knows no USB.
    warnings.filterwarnings(
        "ignore", r"Due to '_pack_', the '_usb_\w+' Structure ", DeprecationWarning
    )
    from pyvisa_py.protocols import rpc

    from lpirc_power.visa.library import EndingSocket, Library

# Our own errors report link failures; pyvisa's log lines name neither meter nor run.
logging.getLogger("pyvisa").setLevel(logging.CRITICAL)
_log: Final = logging.getLogger(__name__)
"""Logger; at level DEBUG it records each sent message as text, and each answer as bytes."""

TIMEOUT_MS: Final = 2000
OPEN_TIMEOUT_MS: Final = 2000
"""Timeout for opening; with less than about this, pyvisa-py gives up on a slow connect after 0.1 s."""
LOCK_QUESTION_MS: Final = 200
SLACK_S: Final = 1.5
"""Time allowed beyond an answer's timeout: pyvisa-py waits a second longer than the meter."""

_NAME_ERRORS: Final = (
    StatusCode.error_invalid_resource_name,
    StatusCode.error_resource_not_found,
    StatusCode.error_invalid_access_mode,
    StatusCode.error_interface_number_not_configured,
)
_TAKEN: Final = (StatusCode.error_resource_locked, StatusCode.error_resource_busy)
_opening = threading.Lock()


class Link:
    """An open VISA session. After a failure it never recovers: close it and open a new one."""

    def __init__(
        self,
        address: str,
        backend: str = PURE_PYTHON,
        timeout_ms: int = TIMEOUT_MS,
        *,
        baud: int | None = None,
    ) -> None:
        """Open the session with a VISA backend named as in `lpirc_power.visa.resources`; `baud` is for serial lines.

        Raises MeterError `meter-unreachable`, `meter-locked`, `meter-wrong-address`, `meter-permission` or
        `meter-backend` if opening fails.
        """
        self.address = address
        self._failed = False
        self._closed = False
        self._timeout_ms = timeout_ms
        manager = _manager(address, backend)
        resource = usb.with_serial(address) if backend == PURE_PYTHON else address
        try:
            self._resource = _open(manager, resource, timeout_ms, baud)
        except (
            Exception
        ) as error:  # pyvisa-py raises anything here, down to a bare Exception
            raise _unopened(address, error) from error
        self._socket = _socket_of(self._resource)
        self._is_usb = hasattr(_interface(self._resource), "usb_dev")
        self._is_unshared = self._is_usb or isinstance(self._resource, SerialInstrument)
        if self._is_unshared:
            # It may hold what a killed program has left in it. A network meter is not cleared: a new link holds
            # nothing, and a meter with one output queue for all would lose the answer to a run.
            self.clear()

    def write(self, message: str) -> None:
        """Send a message that has no answer."""
        _log.debug("> %s", message)
        with self._translated(message, self._timeout_ms):
            self._resource.write_raw(message.encode("ascii") + b"\n")
        _log.debug("sent")

    def query(self, message: str, timeout_ms: int | None = None) -> str:
        """Send a message and return its answer without the terminator, within `timeout_ms` or the link's timeout.

        Raises MeterError `meter-timeout` if no answer comes (the link stays usable), `meter-locked` if another client
        has locked the meter, `meter-lost` for any other failure. A timeout shorter than the link's takes effect only on
        the network.
        """
        _log.debug("> %s", message)
        if timeout_ms and self._is_unshared:
            # On an unshared link, abandoning an answer aborts a transfer, which a meter may refuse.
            timeout_ms = max(timeout_ms, self._timeout_ms)
        with self._translated(message, timeout_ms or self._timeout_ms):
            # Only if it differs, since setting it takes time.
            if timeout_ms:
                self._resource.timeout = timeout_ms
            try:
                self._resource.write_raw(message.encode("ascii") + b"\n")
                answer = self._resource.read_raw()
            finally:
                if timeout_ms:
                    self._resource.timeout = self._timeout_ms
        _log.debug("< %r", answer)
        return answer.decode("latin-1").rstrip("\r\n")

    def read(self) -> str:
        """Return one more answer to an earlier message; raises the MeterErrors of `query`."""
        with self._translated("", self._timeout_ms):
            answer = self._resource.read_raw()
        _log.debug("< %r", answer)
        return answer.decode("latin-1").rstrip("\r\n")

    def clear(self) -> bool:
        """Make the meter discard this link's messages and answers; return True if it did.

        Status and queued errors stay. If the meter keeps one answer for all its links, this may remove an answer that
        another program waits for. So only a link that is not shared is cleared without a request.
        """
        if self._is_usb:
            return usb.clear(_interface(self._resource))
        try:
            if isinstance(self._resource, SerialInstrument):
                self._resource.flush(BufferOperation.discard_read_buffer)
            else:
                self._resource.clear()
        except Exception:  # noqa: BLE001 - as at opening, pyvisa-py raises anything here
            return False
        return True

    def close(self) -> None:
        """Close the session in any state; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._socket is not None:
            self._socket.end_s = time.monotonic() + SLACK_S
        if self._failed and self._socket is not None:
            # The closing message waits for an answer; a socket that is shut down refuses it at once.
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(
            Exception
        ):  # as at opening, pyvisa-py raises anything here
            self._resource.close()

    @contextlib.contextmanager
    def _translated(self, message: str, timeout_ms: int) -> Iterator[None]:
        if self._failed or self._closed:
            raise self._lost("it has failed before")
        if self._socket is not None:
            self._socket.end_s = time.monotonic() + timeout_ms / 1000 + SLACK_S
        try:
            yield
        except pyvisa.VisaIOError as error:
            if error.error_code == StatusCode.error_timeout:
                if self._is_unshared:  # a late answer would be taken for the next one
                    self.clear()
                raise self._timed_out(message, timeout_ms) from error
            locked = error.error_code in _TAKEN or self._is_locked()
            self._failed = True
            if locked:
                raise link_failures.locked(self.address) from error
            raise self._lost(str(error)) from error
        except Exception as error:  # pyvisa-py's RPC errors derive from Exception only
            if usb.is_refused_abort(_behind(error)) and self.clear():
                raise self._timed_out(message, timeout_ms) from error
            self._failed = True
            raise self._lost(str(error)) from error

    def _is_locked(self) -> bool:
        # A refusal because of another's lock and a dead server both come as VI_ERROR_IO; a serial poll, which a lock
        # refuses too, shows which, without waiting long for a server that hangs.
        interface = _interface(self._resource)
        if interface is None:
            return False
        session = cast("Any", self._resource.visalib).sessions[self._resource.session]
        try:
            refused, _ = interface.device_read_stb(session.link, 0, 0, LOCK_QUESTION_MS)
        except Exception:  # noqa: BLE001  whatever fails here, the link is lost
            return False
        return bool(refused == link_failures.LOCKED)

    def _timed_out(self, message: str, timeout_ms: int) -> MeterError:
        return MeterTimeout(
            f"The meter at {self.address} did not answer {message!r} in {timeout_ms / 1000:g} s; "
            "it may be busy, or not know the command."
        )

    def _lost(self, why: str) -> MeterError:
        return MeterLost(
            f"The link to the meter at {self.address} is lost ({why}); check cable and power of the meter."
        )


@functools.cache
def _resources(backend: str) -> pyvisa.ResourceManager:
    manager = pyvisa.ResourceManager(
        Library("py") if backend == PURE_PYTHON else backend
    )
    # As a process ends, pyvisa would close every link, also one that another thread still reads from: since Python 3.13
    # a worker process does this before its own end is called. Whoever opened a link closes it.
    atexit.unregister(manager._atexit_handler)  # noqa: SLF001 - it has no other name
    return manager


def _manager(address: str, backend: str) -> pyvisa.ResourceManager:
    try:
        with _opening:  # the list of sessions is shared
            return _resources(backend)
    except (OSError, ValueError) as error:  # no library, no such wrapper
        why = f"no vendor VISA is installed for the backend {backend}; install one, or use {PURE_PYTHON}."
        if backend.endswith(SIMULATED):
            why = (
                f"the backend {backend} needs the Python package pyvisa-sim (pip install pyvisa-sim), and any file "
                "named before @ must exist."
            )
        raise link_failures.no_backend(address, why) from error


def _open(
    manager: pyvisa.ResourceManager, address: str, timeout_ms: int, baud: int | None
) -> MessageBasedResource:
    resource = manager.open_resource(
        address, open_timeout=OPEN_TIMEOUT_MS, timeout=timeout_ms
    )
    if not isinstance(resource, MessageBasedResource):
        resource.close()
        raise TypeError(f"{address} takes no messages")
    if baud is not None and isinstance(resource, SerialInstrument):
        try:
            resource.baud_rate = baud
        except BaseException:  # a speed that the port does not have
            resource.close()
            raise
    return resource


def _interface(resource: MessageBasedResource) -> Any:
    # Internals of pyvisa-py; without them (another backend) only the improvements that rest on them are
    # missing.
    sessions = getattr(resource.visalib, "sessions", {})
    return getattr(sessions.get(resource.session), "interface", None)


def _socket_of(resource: MessageBasedResource) -> EndingSocket | None:
    plain = getattr(_interface(resource), "sock", None)
    return plain if isinstance(plain, EndingSocket) else None


def _behind(error: BaseException) -> Iterator[BaseException]:
    # pyvisa-py hides a portmapper's failure behind an error of its own.
    while True:
        yield error
        if error.__context__ is None:
            return
        error = error.__context__


def _unopened(address: str, error: Exception) -> MeterError:
    code = None
    text = str(error) or type(error).__name__
    if isinstance(error, pyvisa.VisaIOError):
        code = error.error_code
        text = error.description
    # pyvisa-py reports a network resource as "not found" even if its host just does not answer.
    silent = code == StatusCode.error_resource_not_found and link_failures.host_of(
        address
    )
    if code in _TAKEN:
        return link_failures.locked(address)
    if code in _NAME_ERRORS and not silent:
        return link_failures.wrong_address(address, text)
    if refused := re.search(r"error creating link: (\S+)", text):
        return link_failures.no_link(address, refused[1])
    return (
        link_failures.no_session(address, text)
        or _unopened_usb(address, error)
        or _unopened_serial(address, error)
        or _no_vxi11(address, error)
        or _unknown_host(address)
        or link_failures.unreachable(address, text)
    )


def _no_vxi11(address: str, error: BaseException) -> MeterError | None:
    for one in _behind(error) if link_failures.host_of(address) else ():
        if isinstance(one, ConnectionResetError | BrokenPipeError):
            return link_failures.no_vxi11(address, "closed the connection")
        if isinstance(one, EOFError | rpc.RPCUnpackError):
            return link_failures.no_vxi11(address, "answers with something else")
        if "program not registered" in str(one):
            return link_failures.no_vxi11(
                address, "is a portmapper that knows no meter"
            )
    return None


def _unknown_host(address: str) -> MeterError | None:
    host = link_failures.host_of(address)
    if host is None:
        return None
    try:
        socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):
        return link_failures.no_host(address, host)
    return None


def _unopened_serial(address: str, error: Exception) -> MeterError | None:
    return link_failures.no_serial_port(address, str(error))


def _unopened_usb(address: str, error: Exception) -> MeterError | None:
    ids = link_failures.usb_ids(address)
    if ids is None:
        return None
    if usb.is_in_use(_behind(error)):
        return link_failures.in_use(address)
    if getattr(error, "errno", None) == errno.EACCES:
        return link_failures.no_permission(address, *ids)
    if "No device found" not in str(error):
        return None
    found = usb.devices(*ids)
    # Without permission to open a device its serial number cannot be read, which pyvisa-py reports as "not found".
    if any(one.serial is None for one in found):
        return link_failures.no_permission(address, *ids)
    if found:
        why = "a meter of this kind is plugged in, but with another serial number"
    else:
        why = "no USB device of this vendor and product is plugged in"
    return link_failures.unreachable(address, why)
