"""One connection to the referee: log in, fetch images, post detections, log out.

Within a run it repeats a request after a broken connection, a timeout or the statuses 502, 503 and 504, with growing
pauses, as long as the window lasts: the referee keeps a run and its token over a restart. It repeats nothing else.

A POST may count although its answer got lost. Each POST therefore carries an `Idempotency-Key` that stays the same in
every attempt: the referee answers a known key with its first answer and counts the rows once.
"""

from __future__ import annotations

import hashlib
import http.client
import io
import json
import time
import uuid
from itertools import chain, repeat
from types import TracebackType
from typing import Any, Generator, Iterator, Mapping
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.utils import requote_uri

from lpirc_client.errors import (
    ClientError,
    ConnectionLost,
    TransientError,
    printable,
)
from lpirc_client.http_errors import (
    from_response,
    from_transport,
    json_object,
    not_a_referee,
    perhaps_tls,
    read_document,
)
from lpirc_client.receipts import ReceiptFile
from lpirc_client.referee_url import require_certificate, require_url
from lpirc_client.remaining_time import Window
from lpirc_client.rows import JSON_TYPE
from lpirc_client.terminal import say
from lpirc_client.wire import Login, Receipt, elapsed_from, login_from, receipt_from
from lpirc_client.zip_stream import numbered

CONNECT_S = 5.0
ANSWER_S = 15.0
METER_S = 60.0  # the referee answers a login only when the meter integrates, a logout when it has stopped
LOGIN_RETRY_S = 5.0
LOGIN_PAUSE_S = 0.2
# The first retry is immediate: a kept-alive connection may just have been stale.
PAUSES_S = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6)
TRANSIENT_STATUSES = (502, 503, 504)
NO_ANSWER = "no-answer"  # a proxy's code for a referee that does not answer
SILENCE_S = 2.0
JSON_BODY = {"Content-Type": JSON_TYPE}


class Connection:
    """A client of the referee at `url` ("http://host:port"), on a kept-alive connection; a context manager.

    `ca_cert` is a PEM file for a referee with a certificate of its own. The connection ignores proxies and `~/.netrc`:
    the referee is in the same hall, and a netrc entry would replace the token. Every method raises ClientError.

    `receipts` keeps what the referee acknowledges to this connection. `closing` is the receipt of the whole run, which
    a log-out brings (docs/receipts.md of the project); it is None before the log-out, and if the referee gives none.
    """

    def __init__(
        self,
        url: str,
        ca_cert: str | None = None,
        receipts: ReceiptFile | None = None,
    ) -> None:
        self.url = require_url(url)
        require_certificate(ca_cert, url)
        parts = urlsplit(self.url)  # its connection is opened when it is used first
        self._prefix = requote_uri(parts.path)
        self._single = http.client.HTTPConnection(parts.hostname or "", parts.port)
        self._authorization = ""
        self._http = requests.Session()
        self._http.trust_env = False
        self._adapter = HTTPAdapter()
        self._http.mount("http://", self._adapter)
        self._http.mount("https://", self._adapter)
        self._http.verify = True if ca_cert is None else ca_cert
        self._ca_cert = ca_cert
        self.window = Window()
        self.receipts = receipts
        self.closing: dict[str, Any] | None = None

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the run stays as it is."""
        # urllib3 leaves this to the garbage collector, and the traceback of a failed attempt delays that.
        pools = self._adapter.poolmanager.pools
        for key in pools.keys():  # noqa: SIM118 - not a mapping: it cannot be iterated
            pools[key].close()
        self._http.close()
        self._single.close()

    @property
    def remaining_s(self) -> float:
        """Return the seconds left of the window, by the referee's latest answer; 0 before login and after the end."""
        deadline = self.window.deadline
        return 0.0 if deadline is None else max(0.0, deadline - time.monotonic())

    def health(self) -> dict[str, Any]:
        """Return the referee's description of itself. Raises ClientError if something other than a referee answers."""
        try:
            response = self._attempt("GET", "/v1/health", (CONNECT_S, CONNECT_S))
        except ConnectionLost as error:
            raise perhaps_tls(self.url, error) from error
        document = json_object(response)
        if response.status_code == 404:
            raise not_a_referee(f"{self.url}/v1/health", 404)
        if response.status_code != 200 or document.get("status") != "ok":
            raise from_response(f"{self.url}/v1/health", response)
        return document

    def login(
        self,
        team: str,
        password: str,
    ) -> Login:
        """Open the team's armed run, which starts its window, or resume its open one. Raises NotStarted in a heat."""
        body = json.dumps({"team": team, "password": password}).encode()
        until = time.monotonic() + LOGIN_RETRY_S
        while True:
            try:
                response = self._attempt(
                    "POST",
                    "/v1/session",
                    (CONNECT_S, METER_S),
                    body,
                    JSON_BODY,
                )
                break
            except ConnectionLost:
                # A second login returns the same run, so repeating it is safe.
                if time.monotonic() > until:
                    raise
                time.sleep(LOGIN_PAUSE_S)
        login = read_document(response, 201, login_from)
        self.authorize(f"Bearer {login.token}")
        self.window.deadline = time.monotonic() + login.remaining_s
        if self.receipts is not None:
            self.receipts.begin(login.run, login.rules, login.rules_sha256)
        return login

    def authorize(self, authorization: str) -> None:
        """Set the header `Authorization` of all further requests."""
        self._authorization = self._http.headers["Authorization"] = authorization

    def status(self) -> dict[str, Any]:
        """Return the phase of the run and what the referee has received in it."""
        return read_document(self._send("GET", "/v1/session"), 200, dict)

    def image(self, number: int) -> bytes:
        """Return the JPEG file of image `number`, 1..N."""
        path = f"/v1/images/{number}"
        jpeg = self._at_once(path)
        if jpeg is not None:
            return jpeg
        response = self._send("GET", path)
        if response.status_code != 200:
            raise from_response(self.url + path, response)
        return response.content

    def _at_once(self, path: str) -> bytes | None:
        """Return the file at `path`, or None if `_send` should ask again, which can wait and gives the reason.

        This uses http.client: for one small file the layers of `requests` take several times as long. It skips TLS.
        Raises the ClientError of a refusal.
        """
        if not self.url.startswith("http://"):
            return None
        single = self._single
        single.timeout = max(1.0, min(ANSWER_S, self.remaining_s + 1.0))
        try:
            if single.sock is not None:
                single.sock.settimeout(single.timeout)
            single.request(
                "GET",
                self._prefix + path,
                headers={"Authorization": self._authorization},
            )
            answer = single.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            single.close()
            return None
        if answer.status in TRANSIENT_STATUSES:
            return None
        headers = dict(answer.headers)
        self._note_window(headers)
        self._note_answer()
        if answer.status == 200:
            return content
        refusal = requests.Response()
        refusal.status_code = answer.status
        refusal.raw = io.BytesIO(content)
        refusal.headers.update(headers)
        raise from_response(self.url + path, refusal)

    def batch(
        self,
        first: int,
        count: int,
    ) -> Generator[tuple[int, bytes], None, None]:
        """Yield (number, JPEG file) of `count` images from `first` on, each as soon as it has arrived.

        Raises TransientError if the rest does not arrive: ask again for the missing images.
        """
        path = f"/v1/images?first={first}&count={count}"
        with self._send("GET", path, stream=True) as response:
            if response.status_code != 200:
                raise from_response(self.url + path, response)
            try:
                yield from numbered(response.raw.read, first)
                response.raw.read()  # the zip's directory: the connection can be used again only behind it
            except (
                urllib3.exceptions.HTTPError,
                http.client.HTTPException,
                OSError,
            ) as error:
                sentence = f"{self.url}: the connection broke in a batch: {error}"
                raise ConnectionLost("connection-lost", sentence) from error

    def twin(self) -> Connection:
        """Return another connection in the same run for use in another thread; that thread must close it."""
        twin = Connection(self.url, self._ca_cert, self.receipts)
        twin.authorize(self._authorization)
        twin.window = self.window
        return twin

    def post(
        self,
        body: bytes,
        content_type: str,
        path: str = "/v1/detections",
    ) -> Receipt:
        """Post rows or answers; return once the referee has them on disk and has confirmed the SHA-256 of the body."""
        headers = {"Content-Type": content_type, "Idempotency-Key": uuid.uuid4().hex}
        answer = self._send("POST", path, body, headers)
        receipt = read_document(answer, 202, receipt_from)
        if receipt.sha256 != hashlib.sha256(body).hexdigest():
            sentence = f"{self.url}: the referee did not receive the bytes that were sent; is there a proxy between?"
            raise ClientError("altered-on-the-way", sentence)
        if self.receipts is not None:
            self.receipts.keep(receipt)
        return receipt

    def logout(self) -> float | None:
        """Close the run for good and stop the meter; return its length in seconds if the referee states it."""
        answer = self._send("DELETE", "/v1/session", least_s=METER_S)
        document = read_document(answer, 200, dict)
        self.closing = document.get("receipt")
        if self.receipts is not None:
            self.receipts.close(self.closing)
        return elapsed_from(document)

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        answer_s: float = ANSWER_S,
        headers: dict[str, str] = JSON_BODY,
    ) -> requests.Response:
        """Send a request once, outside any run.

        Raises ClientError for a refusal, also TransientError: the same request may succeed later.
        """
        response = self._attempt(
            method,
            path,
            (CONNECT_S, answer_s),
            body,
            headers,
        )
        if response.ok:
            return response
        refusal = from_response(self.url + path, response)
        if response.status_code in (429, *TRANSIENT_STATUSES):
            raise TransientError(refusal.code, refusal.sentence)
        raise refusal

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        *,
        stream: bool = False,
        least_s: float = 1.0,
    ) -> requests.Response:
        """Send a request within the run, repeated while the window lasts; return the first final answer.

        It waits for an answer as long as the window lasts, and at least `least_s`.
        """
        pauses = pauses_s()
        refusals = 0
        began = time.monotonic()
        while True:
            pause = next(pauses)
            limit = (CONNECT_S, max(least_s, min(ANSWER_S, self.remaining_s + 1.0)))
            try:
                response = self._attempt(
                    method,
                    path,
                    limit,
                    body,
                    headers,
                    stream=stream,
                )
            except TransientError:
                if self.remaining_s <= pause:
                    raise
                self._note_silence(began)
            else:
                if response.status_code not in TRANSIENT_STATUSES:
                    self._note_answer()
                    return response
                if self.remaining_s <= pause:
                    return response
                if json_object(response).get("code", NO_ANSWER) == NO_ANSWER:
                    self._note_silence(began)
                else:
                    self._note_answer()
                    refusals += 1
                if refusals == len(PAUSES_S):
                    return response
            time.sleep(pause)

    def _note_answer(self) -> None:
        self.window.answered = time.monotonic()
        if self.window.is_silent:
            self.window.is_silent = False
            say("The referee answers again.")

    def _note_silence(self, since: float) -> None:
        silent_s = time.monotonic() - max(self.window.answered, since)
        if self.window.is_silent or silent_s <= SILENCE_S:
            return
        self.window.is_silent = True
        sentence = f"{self.url} does not answer. Trying again until the window ends."
        say(printable(sentence))

    def _attempt(
        self,
        method: str,
        path: str,
        timeout: tuple[float, float],
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        *,
        stream: bool = False,
    ) -> requests.Response:
        url = self.url + path
        try:
            response = self._http.request(
                method,
                url,
                data=body,
                headers=headers,
                timeout=timeout,
                allow_redirects=False,
                stream=stream,
            )
        except (requests.RequestException, OSError) as error:
            is_in_run = self.window.deadline is not None
            raise from_transport(self.url, error, is_in_run=is_in_run) from error
        self._note_window(response.headers)
        return response

    def _note_window(self, headers: Mapping[str, str]) -> None:
        left_ms = headers.get("X-Window-Remaining-Ms", "")
        if left_ms.isascii() and left_ms.isdigit():
            self.window.deadline = time.monotonic() + int(left_ms) / 1000


def pauses_s() -> Iterator[float]:
    """Yield the pauses between attempts; it never ends."""
    return chain(PAUSES_S, repeat(PAUSES_S[-1]))
