"""The address where the server listens: finds a free port, checks the certificate, ends dead connections."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path

from referee.errors import RefereeError
from referee.operating_system import (
    allow_files,
    own_addresses,
    own_sockets,
    probe,
    share_port,
)

# A board that loses power while sending a body falls silent; the kernel probes the connection and ends it.
SILENCE_S = 15
PROBE_S = 5
PROBES = 3
UNREAD_S = 30  # an answer is given up if nothing is read for this long
MOST_CONNECTIONS = 16_384
LOOPBACK_OF = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound
OTHER_FILES = 512  # files that the process may open besides connections


_HOST_IN_URL = re.compile(
    r"(?P<scheme>https?://)?(?P<host>[\w.-]+)(?::(?P<port>\d+))?/?"
)


@dataclass(frozen=True)
class Listen:
    """An address to listen on; HTTPS if `tls_cert` and `tls_key` (PEM files) are given."""

    host: str = "127.0.0.1"
    port: int = 8080
    tls_cert: Path | None = None
    tls_key: Path | None = None

    @property
    def local_host(self) -> str:
        """The host name or address by which this machine reaches the server."""
        return LOOPBACK_OF.get(self.host, self.host)

    @property
    def is_of_this_machine(self) -> bool:
        """True if only this machine can reach the server."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def urls(self) -> list[str]:
        """The URLs for clients; if the server listens on all networks, one for each address of this machine."""
        own = own_addresses() if self.host in LOOPBACK_OF else []
        return [self.url(host) for host in own or [self.local_host]]

    def url(self, host: str) -> str:
        """Return the server's URL with `host` as its host."""
        return f"http{'s' if self.tls_cert else ''}://{f'[{host}]' if ':' in host else host}:{self.port}"


@contextmanager
def held_port(listen: Listen) -> Iterator[Listen]:
    """Hold a free port, and yield the same address with that port. Raises the errors of `with_free_port`.

    Granian binds with SO_REUSEPORT, so without this check a second server would silently share the first one's port. On
    Linux the system gives the port to no other program while it is held; Granian may still bind it.
    """
    with ExitStack() as held:
        try:
            family, _, _, _, place = socket.getaddrinfo(
                listen.host, listen.port, type=socket.SOCK_STREAM
            )[0]
            holder = held.enter_context(socket.socket(family, socket.SOCK_STREAM))
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.bind(place)
            host, port = holder.getsockname()[:2]
        except (OSError, UnicodeError) as error:
            raise _bind_error(listen, error) from error
        if not share_port(holder):
            held.close()
        yield replace(listen, host=host, port=port)


def with_free_port(listen: Listen) -> Listen:
    """Return the same address with a free port. Raises `port-busy`, `port-refused`, `host-unknown`."""
    with held_port(listen) as found:
        return found


def require_certificate(listen: Listen) -> None:
    """Raise RefereeError `tls-refused` if the certificate and key do not work, or everyone can read the key."""
    if listen.tls_cert is None or listen.tls_key is None:
        return
    try:
        # With an empty password an encrypted key is refused; otherwise OpenSSL would prompt for the password.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
            listen.tls_cert, listen.tls_key, password=""
        )
    except (OSError, ValueError) as error:
        perhaps = ""
        if _has(listen.tls_cert, b"PRIVATE KEY-") and _has(
            listen.tls_key, b"CERTIFICATE-"
        ):
            perhaps = " They are swapped: the first one has the key."
        raise RefereeError(
            "tls-refused",
            f"{listen.tls_cert} with {listen.tls_key} is not a valid certificate with an unencrypted key, both in "
            f"PEM form ({_reason_of(error)}).{perhaps}",
        ) from error
    if (
        listen.tls_key.stat().st_mode & 0o007
    ):  # a group may read it: Debian's ssl-cert is for such keys
        raise RefereeError(
            "tls-refused",
            f"Everyone can read {listen.tls_key}; repair it with: chmod 600 {listen.tls_key}",
        )


def _has(file: Path, words: bytes) -> bool:
    try:
        return words in file.read_bytes()
    except OSError:
        return False


def _reason_of(error: Exception) -> str:
    """Return why files of TLS are refused, without the place in the source of Python where it was noticed."""
    return re.sub(r" \(_ssl\.c:\d+\)", "", str(error))


def end_dead_connections(port: int) -> None:
    """Set the socket that listens on `port` so that the kernel ends connections that are dead or do not read.

    Granian opens that socket in this process and does not say which one it is.
    """
    for one in own_sockets():
        with suppress(OSError):
            is_listener = one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
            if is_listener and one.getsockname()[1] == port:
                probe(one, SILENCE_S, PROBE_S, PROBES, UNREAD_S)


def most_connections() -> int:
    """Raise this process's limit of open files as far as allowed, and return how many connections fit.

    The result never exceeds the available descriptors: once Granian has run out of them, it stops accepting for good.
    """
    limit = allow_files(MOST_CONNECTIONS + OTHER_FILES)
    return max(limit - OTHER_FILES, limit // 2)


def _bind_error(listen: Listen, error: OSError | UnicodeError) -> RefereeError:
    number = getattr(error, "errno", None)
    if number == errno.EADDRINUSE:
        return RefereeError(
            "port-busy",
            f"Port {listen.port} of {listen.host} is in use; choose another one with --port.",
        )
    if number == errno.EACCES:
        return RefereeError(
            "port-refused",
            f"Port {listen.port} needs more rights; choose one above 1023.",
        )
    return RefereeError("host-unknown", f"--host {listen.host!r} {_no_host(listen)}.")


def _no_host(listen: Listen) -> str:
    """Return why this machine has no such host, as the end of a sentence that begins with it."""
    meant = _HOST_IN_URL.fullmatch(listen.host)
    if meant is not None and (meant["scheme"] or meant["port"]):
        port = meant["port"] or listen.port
        return f"is a URL or has a port; write --host {meant['host']} --port {port}"
    return "is not an address of this machine; 0.0.0.0 means all that it has"
