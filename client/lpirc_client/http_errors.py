"""Turns an exception of the library `requests`, or an error answer of the referee, into one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Callable, TypeVar
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import NameResolutionError

from lpirc_client.errors import (
    AnswerError,
    BadCredentials,
    ClientError,
    ConnectionLost,
    NothingListens,
    NotStarted,
    TransientError,
    UnknownRoute,
    WindowClosed,
)

Value = TypeVar("Value")

SHOWN_PROBLEMS = 3
TLS_MARKS = re.compile(r"\[SSL[^\]]*\] | \(_ssl\.c:\d+\)")
"""What Python adds to the words of OpenSSL."""
REFUSED_BODY = (413, 415, 422)
BROKEN = (requests.ConnectionError, requests.exceptions.ChunkedEncodingError)
BY_CODE = {
    "bad-credentials": BadCredentials,
    "window-closed": WindowClosed,
    "not-started": NotStarted,
    "not-found": UnknownRoute,
    "method-not-allowed": UnknownRoute,
}


def from_transport(
    url: str,
    error: requests.RequestException | OSError,
    *,
    is_in_run: bool = False,
) -> ClientError:
    """Return why no answer came from `url`; before a run, add what to do."""
    causes = list(_chain(error))
    if isinstance(error, requests.exceptions.SSLError):
        why = _root_cause(error)
        is_plain = "WRONG_VERSION" in why or "record layer" in why.lower()
        hint = (
            "does it speak plain HTTP? Write http://"
            if is_plain
            else "a self-signed referee needs --ca-cert"
        )
        why = TLS_MARKS.sub("", why)
        return ClientError("tls", f"{url}: the TLS connection failed: {why}; {hint}")
    if any(isinstance(cause, NameResolutionError) for cause in causes):
        return TransientError(
            "unknown-host", f"{url}: the host name is unknown here; check its spelling"
        )
    if isinstance(error, requests.ConnectTimeout):
        return TransientError(
            "timeout",
            f"{url}: the host does not answer; check address, cable, firewall",
        )
    if isinstance(error, requests.Timeout):
        return TransientError(
            "timeout", f"{url}: connected, but no answer came in time"
        )
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        if is_in_run:
            return TransientError("connection-refused", f"{url}: nothing listens there")
        return NothingListens(url)
    if isinstance(error, BROKEN):
        return ConnectionLost(
            "connection-lost", f"{url}: the connection broke: {_root_cause(error)}"
        )
    return ClientError(
        "bad-request", f"{url}: the request could not be sent: {_root_cause(error)}"
    )


def perhaps_tls(url: str, error: ConnectionLost) -> ConnectionLost:
    """Return the error with a hint that a server which breaks plain connections may speak TLS."""
    is_plain = url.startswith("http://")
    hint = "; does it speak TLS? Write https://" if is_plain else ""
    return ConnectionLost(error.code, error.sentence + hint)


def not_a_referee(url: str, status: int) -> UnknownRoute:
    """Return the error for an answer that is not a referee's, or of an address that no referee has."""
    what = (
        f"status {status}, which is not a referee's answer; is this the referee's URL?"
    )
    perhaps = _perhaps_without_path(url)
    return UnknownRoute("not-a-referee", f"{url} answered {what}{perhaps}")


def _perhaps_without_path(url: str) -> str:
    """Return which URL may be the referee's, as the end of a sentence; "" where only the referee's own path follows."""
    parts = urlsplit(url)
    before = parts.path.rpartition("/v1/")[0]
    if not before:
        return ""
    return f" Perhaps {parts.scheme}://{parts.netloc} is, without {before}"


def from_response(url: str, response: requests.Response) -> ClientError:
    """Return the referee's refusal, in its own words if it answered problem+json."""
    document = json_object(response)
    if "code" not in document:
        return not_a_referee(url, response.status_code)
    code = str(document["code"])
    sentence = str(
        document.get("detail")
        or document.get("title")
        or f"status {response.status_code}"
    )
    problems = [_problem(item) for item in document.get("problems") or ()]
    if problems:
        more = (
            ""
            if len(problems) <= SHOWN_PROBLEMS
            else f"; and {len(problems) - SHOWN_PROBLEMS} more"
        )
        sentence = (
            f"{sentence.rstrip('.:')}: {'; '.join(problems[:SHOWN_PROBLEMS])}{more}"
        )
    retry_after = response.headers.get("Retry-After")
    if (
        retry_after
        and response.status_code in (429, 503)
        and f"again in {retry_after} s" not in sentence
    ):
        sentence = f"{sentence.rstrip('.')}; try again in {retry_after} s"
    kind = (
        AnswerError
        if response.status_code in REFUSED_BODY
        else BY_CODE.get(code, ClientError)
    )
    if kind is UnknownRoute:
        if _perhaps_without_path(url):
            return not_a_referee(url, response.status_code)
        sentence = f"{url}: {sentence}"
    return kind(code, " ".join(sentence.split()))


def json_object(response: requests.Response) -> dict[str, Any]:
    """Return the JSON object in the response, or an empty one if it holds none."""
    try:
        document = response.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def read_document(
    response: requests.Response,
    status: int,
    reader: Callable[[dict[str, Any]], Value],
) -> Value:
    """Return the JSON document parsed by `reader`, if the status is the one that means success."""
    if response.status_code != status:
        raise from_response(response.url, response)
    try:
        return reader(json_object(response))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        sentence = (
            f"{response.url}: the answer lacks or misstates {error}; is this a referee?"
        )
        raise ClientError("not-a-referee", sentence) from error


def _problem(item: object) -> str:
    if not isinstance(item, dict):
        return str(item)
    text = str(item.get("detail") or item.get("problem") or item.get("message") or item)
    return f"line {item['line']}: {text}" if "line" in item else text


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and all its causes; urllib3 keeps them in attributes and arguments."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        item = waiting.pop()
        if isinstance(item, BaseException) and id(item) not in seen:
            seen.add(id(item))
            yield item
            waiting += [
                item.__cause__,
                item.__context__,
                getattr(item, "reason", None),
                *item.args,
            ]


def _root_cause(error: BaseException) -> str:
    *_, root = _chain(error)
    return " ".join(str(root).split()) or type(root).__name__
