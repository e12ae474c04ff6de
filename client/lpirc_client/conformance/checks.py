"""The checks of a referee against docs/http.md: methods of Checks, in order, each named as it is reported."""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import requests

from lpirc_client.batches import numbered
from lpirc_client.conformance.report import FAIL, PASS, SKIP, Finding
from lpirc_client.connection import Connection
from lpirc_client.errors import ClientError, TransientError
from lpirc_client.http_errors import json_object
from lpirc_client.receipts import link_of
from lpirc_client.wire import Login, login_from

ROWS, JSON, REMAINING = "/v1/detections", "application/json", "X-Window-Remaining-Ms"
FORM_ROW = "image_name=%s&CLASS_ID=%s&confidence=%s&xmin=%s&ymin=%s&xmax=%s&ymax=%s"
LARGEST_BODY_BYTES = 4 * 2**20
ANSWER_S, EARLY_S = 70.0, 3.0  # a log-in waits for the meter; a refusal can do with the head of a request
KEY = "conformance"
NOT_IN = Login("", "", 0, 0.0, 0.0, ())


class Checks(Connection):
    """One pass over a referee; without a password only what needs no run. Those in a run use up one attempt."""

    def __init__(self, url: str, team: str, password: str = "", ca_cert: str | None = None) -> None:
        super().__init__(url, ca_cert)
        self.team, self.password = team, password
        self.answers: list[requests.Response] = []
        self.opened = NOT_IN
        self.kept: list[dict[str, Any]] = []

    def all(self) -> Iterator[Finding]:
        """Yield what each check came to. Raises TransientError if nothing answers at the URL."""
        methods = [name for name in vars(Checks) if name.startswith("_check_")]
        in_run = methods[methods.index("_check_log_in") : methods.index("_check_problem_documents")]
        with self:
            for method in methods:
                can_run = self.opened.token or (self.password and method == in_run[0])
                name = method[len("_check_") :].replace("_", "-")
                if method in in_run and not can_run:
                    yield Finding(name, SKIP, "it needs a run")
                else:
                    yield Finding(name, *self._outcome(getattr(self, method)))

    def _outcome(self, check: Callable[[], str | None]) -> tuple[str, str]:
        try:
            skipped = check()
        except ClientError as error:
            if isinstance(error, TransientError) and not self.answers:
                raise
            return FAIL, str(error)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            return FAIL, f"expected another document, got {type(error).__name__}: {error}"
        return (SKIP, skipped) if skipped else (PASS, "")

    def _ask(
        self, method: str, path: str, status: int, code: str = "", body: bytes | None = None, **headers: str
    ) -> requests.Response:
        """Return the answer if it has that status and code; `_` in a header's name is `-`. Raises ClientError."""
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        timeout_s = EARLY_S if "Expect" in headers else ANSWER_S
        answer = self._attempt(method, path, (timeout_s, timeout_s), body, named)
        self.answers.append(answer)
        got = f"{answer.status_code} {json_object(answer).get('code', '')}"
        _same(f"{method} {path}", got.strip(), f"{status} {code}".strip())
        return answer

    def _post(self, body: bytes, status: int = 202, code: str = "", kind: str = JSON, **headers: str) -> Any:
        if status >= 400:  # a refusal may come before the body is read: the connection ends with it
            headers["Connection"] = "close"
        return self._ask("POST", ROWS, status, code, body, Content_Type=kind, **headers).json()

    def _log_in(self, password: str, status: int, code: str = "") -> Any:
        body = json.dumps({"team": self.team, "password": password}).encode()
        return self._ask("POST", "/v1/session", status, code, body, Content_Type=JSON).json()

    def _standing(self, name: str) -> Any:
        return self._ask("GET", "/v1/session", 200).json()[name]

    def _row(self, image: int = 1) -> list[float]:
        return [image, self.opened.categories[0].id, 0.5, 1, 1, 5, 5]

    def _check_health(self) -> None:
        document = self._ask("GET", "/v1/health", 200).json()
        _same("status", document["status"], "ok")
        _same("types", [type(document[one]) for one in ("contest", "version", "window_s")], [str, str, int])

    def _check_openapi(self) -> None:
        document = self._ask("GET", "/v1/openapi.json", 200).json()
        _same("openapi, version", (document["openapi"][:4], document["info"]["version"]), ("3.1.", "1"))

    def _check_no_token(self) -> None:
        self._ask("GET", "/v1/session", 401, "token-missing")

    def _check_wrong_password(self) -> None:
        self._log_in("wrong", 401, "bad-credentials")

    def _check_log_in(self) -> None:
        self.opened = login_from(self._log_in(self.password, 201))
        self._http.headers["Authorization"] = f"Bearer {self.opened.token}"
        _same("0 < remaining_s <= window_s", 0 < self.opened.remaining_s <= self.opened.window_s, True)

    def _check_log_in_again(self) -> None:
        again = login_from(self._log_in(self.password, 201))
        _same("session", replace(again, remaining_s=self.opened.remaining_s), self.opened)
        _same("remaining_s runs on", again.remaining_s <= self.opened.remaining_s, True)

    def _check_image(self) -> None:
        answer = self._ask("GET", "/v1/images/1", 200)
        _same("Content-Type", answer.headers.get("Content-Type"), "image/jpeg")
        _same("first bytes", answer.content[:3], b"\xff\xd8\xff")
        partly = self._ask("GET", "/v1/images/1", 200, Range="bytes=0-9", If_None_Match="*")
        _same("bytes for a conditional request", len(partly.content), len(answer.content))

    def _check_image_head(self) -> None:
        before, path = self._standing("images_served"), f"/v1/images/{self.opened.images}"
        _same("Content-Length", self._ask("HEAD", path, 200).headers.get("Content-Length", "0"), "0")
        _same("images_served", self._standing("images_served"), before)

    def _check_unknown_image(self) -> None:
        for number in (0, self.opened.images + 1):
            self._ask("GET", f"/v1/images/{number}", 404, "image-unknown")

    def _check_batch(self) -> None:
        last, first = self.opened.images, max(1, self.opened.images - 1)
        content = self._ask("GET", f"/v1/images?first={first}&count=5", 200).content
        images = dict(numbered(io.BytesIO(content).read, first))
        _same("images, cut at the last one", list(images), list(range(first, last + 1)))
        _same("broken entry", zipfile.ZipFile(io.BytesIO(content)).testzip(), None)
        _same("same by itself", images[last] == self._ask("GET", f"/v1/images/{last}", 200).content, True)

    def _check_rows(self) -> None:
        row = self._row()
        bodies = {
            JSON: json.dumps([row]).encode(),
            "text/plain": " ".join(map(str, row)).encode(),
            "application/x-www-form-urlencoded": (FORM_ROW % tuple(row)).encode(),
            "application/octet-stream": struct.pack("<7f", *row),
        }
        for kind, body in bodies.items():
            total = self._standing("detections_accepted") + 1
            receipt = self._post(body, kind=kind)
            self.kept.append(receipt)
            got = receipt["accepted"], receipt["received_total"], receipt["sha256"]
            _same(
                f"{kind}: accepted, received_total, sha256", got, (1, total, hashlib.sha256(body).hexdigest())
            )

    def _check_idempotency_key(self) -> None:
        self.kept.append(self._post(b"[]", Idempotency_Key=KEY))
        _same("receipt", self._post(b"[]", Idempotency_Key=KEY), self.kept[-1])
        self._post(b" []", 409, "key-reused", Idempotency_Key=KEY)

    def _check_bad_row(self) -> None:
        before, body = self._standing("detections_accepted"), [self._row(), self._row(self.opened.images + 1)]
        refusal = self._post(json.dumps(body).encode(), 422, "bad-rows")
        _same("lines, total", ([one["line"] for one in refusal["problems"]], refusal["total"]), ([2], 1))
        _same("detections_accepted", self._standing("detections_accepted"), before)

    def _check_media_type(self) -> None:
        self._post(b"1", 415, "unsupported-media-type", kind="image/png")

    def _check_too_large(self) -> None:
        size = str(LARGEST_BODY_BYTES + 1)
        try:
            self._ask(
                "POST", ROWS, 413, "too-large", Content_Length=size, Expect="100-continue", Connection="close"
            )
        except TransientError:  # it reads a body before it refuses it
            self._post(b" " * (LARGEST_BODY_BYTES + 1), 413, "too-large")

    def _check_receipts(self) -> str | None:
        if not all("receipt" in one for one in self.kept):
            return "this referee gives none"
        kept = [{**one, **one["receipt"]} for one in self.kept]
        links = {one["number"]: one["link"] for one in kept}
        for one in kept:
            before = links.get(one["number"] - 1, one["previous"])
            _same(
                f"link, previous of {one['number']}", (one["link"], one["previous"]), (link_of(one), before)
            )
        return None

    def _check_window_header(self) -> None:
        left_ms = self.opened.window_s * 1000
        for answer in [one for one in self.answers if "Authorization" in one.request.headers]:
            what, text = f"{REMAINING} of {answer.request.path_url}", answer.headers.get(REMAINING, "none")
            _same(f"{what} is at most {left_ms:.0f}: {text}", text.isdigit() and int(text) <= left_ms, True)
            left_ms = int(text)

    def _check_log_out(self) -> None:
        document = self._ask("DELETE", "/v1/session", 200).json()
        _same("phase, energy_wh", (document["phase"], "energy_wh" in document), ("closed", True))
        if "receipt" in document:
            _same("head", document["receipt"]["head"], self.kept[-1]["receipt"]["link"])

    def _check_window_closed(self) -> None:
        self._ask("GET", "/v1/images/1", 409, "window-closed")
        self._post(json.dumps([self._row()]).encode(), 409, "window-closed")
        _same("receipt of a key that came in time", self._post(b"[]", Idempotency_Key=KEY), self.kept[-1])

    def _check_problem_documents(self) -> None:
        for answer in self.answers:
            if answer.status_code >= 400:
                document, kind = json_object(answer), answer.headers.get("Content-Type")
                got = kind, document.get("status"), isinstance(document.get("detail"), str)
                _same(answer.request.path_url, got, ("application/problem+json", answer.status_code, True))

    def _check_documented(self) -> None:
        paths = self._ask("GET", "/v1/openapi.json", 200).json()["paths"]
        for answer in self.answers:
            path, method = urlsplit(answer.url).path, str(answer.request.method).lower()
            found = [one for one in paths if re.fullmatch(re.sub(r"{\w+}", "[^/]+", one), path)]
            documented = paths[found[0]][method]["responses"] if found else {}
            _same(f"{method} {path}, {answer.status_code}", str(answer.status_code) in documented, True)


def _same(what: str, got: object, expected: object) -> None:
    if got != expected:
        raise ClientError("mismatch", f"{what}: expected {expected!s:.200}, got {got!s:.200}")
