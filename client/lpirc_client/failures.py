"""From what requests and the referee report to one clear sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import requests
from urllib3.exceptions import NameResolutionError

from lpirc_client.errors import AnswerError, ClientError

SHOWN_PROBLEMS = 3
REFUSED_BODY = (413, 415, 422)


BROKEN = (requests.ConnectionError, requests.exceptions.ChunkedEncodingError)


def from_transport(url: str, error: requests.RequestException | OSError) -> ClientError:
    """Say why no answer came from `url`."""
    causes = list(_chain(error))
    if isinstance(error, requests.exceptions.SSLError):
        return ClientError(
            "tls",
            f"{url}: the TLS connection failed: {_last_words(error)}; a self-signed referee needs --ca-cert",
        )
    if any(isinstance(cause, NameResolutionError) for cause in causes):
        return ClientError(
            "unknown-host", f"{url}: the host name is not known here; check the URL's spelling"
        )
    if isinstance(error, requests.ConnectTimeout):
        return ClientError("timeout", f"{url}: the host does not answer; check address, cable and firewall")
    if isinstance(error, requests.Timeout):
        return ClientError("timeout", f"{url}: connected, but no answer came in time")
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return ClientError(
            "connection-refused",
            f"{url}: nothing listens there; start the referee, check the port, or give it time with --wait",
        )
    if isinstance(error, BROKEN):
        return ClientError("connection-lost", f"{url}: the connection broke: {_last_words(error)}")
    return ClientError("bad-request", f"{url}: the request could not be sent: {_last_words(error)}")


def from_response(url: str, response: requests.Response) -> ClientError:
    """Say what the referee refused, in its own words where it used the form of problem+json."""
    document = json_object(response)
    if "code" not in document:
        return ClientError(
            "not-a-referee",
            f"{url} answered status {response.status_code}, and not in a referee's form; is this its URL?",
        )
    code = str(document["code"])
    sentence = str(document.get("detail") or document.get("title") or f"status {response.status_code}")
    problems = [_problem(item) for item in document.get("problems") or ()]
    if problems:
        more = "" if len(problems) <= SHOWN_PROBLEMS else f"; and {len(problems) - SHOWN_PROBLEMS} more"
        sentence = f"{sentence.rstrip('.:')}: {'; '.join(problems[:SHOWN_PROBLEMS])}{more}"
    retry_after = response.headers.get("Retry-After")
    if retry_after and response.status_code in (429, 503):
        sentence = f"{sentence.rstrip('.')}; try again in {retry_after} s"
    kind = AnswerError if response.status_code in REFUSED_BODY else ClientError
    return kind(code, " ".join(sentence.split()))


def json_object(response: requests.Response) -> dict[str, Any]:
    """Return the JSON object in the response, or an empty one when it holds none."""
    try:
        document = response.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _problem(item: object) -> str:
    if not isinstance(item, dict):
        return str(item)
    text = str(item.get("detail") or item.get("problem") or item.get("message") or item)
    return f"line {item['line']}: {text}" if "line" in item else text


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and all it was raised from; urllib3 keeps reasons in attributes and arguments."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        item = waiting.pop()
        if not isinstance(item, BaseException) or id(item) in seen:
            continue
        seen.add(id(item))
        yield item
        waiting += [item.__cause__, item.__context__, getattr(item, "reason", None), *item.args]


def _last_words(error: BaseException) -> str:
    *_, root = _chain(error)
    return " ".join(str(root).split()) or type(root).__name__
