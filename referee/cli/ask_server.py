"""Requests to the server of a contest, with the operator's key."""

from __future__ import annotations

import json
import shlex
import socket
import ssl
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from referee.cli.recorded_acts import user
from referee.errors import RefereeError
from referee.presence import is_there
from referee.served import (
    CERTIFICATE_NAME,
    OPERATOR_KEY_NAME,
    USER,
    is_served,
    read_secret,
    server_url,
)

ACT_TIMEOUT_S = 60.0
LOOK_TIMEOUT_S = 5.0


class NoServer(RefereeError):
    """Raised if the contest is not being served, or if its server does not answer."""


def ask(
    folder: Path, path: str, body: dict[str, Any] | None = None, *, more_s: float = 0.0
) -> Any:
    """Send a POST of `body` to /operator`path`, or a GET if there is no body, and return the server's answer.

    `more_s` is added to the timeout, for acts that take longer than others.

    Raises NoServer `not-served`, `no-answer`; RefereeError `contest-missing`, `certificate-wrong`, the errors of
    `read_secret`, and any refusal of the server.
    """
    if not is_there(folder / "contest.toml"):
        from referee.config import (
            read_config,
        )  # importing it takes a twentieth of a second

        read_config(folder)
    url = server_url(folder)
    key = read_secret(folder / OPERATOR_KEY_NAME).hex()
    not_served = NoServer(
        "not-served",
        f"{folder} is not being served; start it: referee serve {shlex.quote(str(folder))}",
    )
    if url is None or not is_served(
        folder
    ):  # left by a killed server, or copied with a served folder
        raise not_served
    timeout_s = (LOOK_TIMEOUT_S if body is None else ACT_TIMEOUT_S) + more_s
    try:
        status, content = _answer(folder, f"{url}/operator{path}", body, key, timeout_s)
        document: Any = json.loads(content)
    except TimeoutError as error:
        what = (
            f"has not answered in {timeout_s:.0f} s; see its log, and: referee run list"
        )
        raise NoServer("no-answer", f"The server at {url} {what}") from error
    except ssl.SSLError as error:
        sentence = f"The server at {url} does not have the certificate of this contest: {error}."
        raise RefereeError("certificate-wrong", sentence) from error
    except (OSError, HTTPException, ValueError) as error:
        raise not_served from error
    if status >= 400:
        raise RefereeError(
            document.get("code", "failed"), document.get("detail", content.decode())
        )
    return document


def _answer(
    folder: Path, url: str, body: dict[str, Any] | None, key: str, timeout_s: float
) -> tuple[int, bytes]:
    where = urlsplit(url)
    connection: HTTPConnection = HTTPConnection(
        where.hostname or "", where.port, timeout=timeout_s
    )
    if where.scheme == "https":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        # Trust only this certificate, whoever issued it.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(folder / CERTIFICATE_NAME)
        connection = HTTPSConnection(
            where.hostname or "", where.port, timeout=timeout_s, context=context
        )
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    headers[USER] = quote(f"{user()}@{socket.gethostname()}")
    try:
        sent = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", where.path, sent, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
