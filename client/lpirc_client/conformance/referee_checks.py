"""Checks a referee against docs/http.md: each method of Checks is one check, run in order and reported by name."""

from __future__ import annotations

import hashlib
import io
import json
import re
import time
import zipfile
from dataclasses import replace
from typing import Any, Callable, Iterator, Mapping
from urllib.parse import urlsplit

import requests

from lpirc_client.conformance.expectations import require, same, same_receipt
from lpirc_client.conformance.findings_report import FAIL, PASS, SKIP, Finding
from lpirc_client.conformance.posted_bodies import NO_IMAGES, Bodies
from lpirc_client.connection import ANSWER_S, JSON_BODY, METER_S, Connection
from lpirc_client.errors import ClientError, TransientError
from lpirc_client.http_errors import json_object
from lpirc_client.receipts import link_of
from lpirc_client.wire import Login, login_from
from lpirc_client.zip_stream import numbered

SESSION = "/v1/session"
REMAINING = "X-Window-Remaining-Ms"
EARLY_S = 3.0  # a refusal can do with the head of a request
KEY = "conformance"
IN_RUN = (
    "_check_log_in",
    "_check_problem_documents",
)  # the first one of a run, and the first one after it


class Checks(Connection):
    """One series of checks of a referee. Checks within a run need a password and use up one attempt."""

    run: Login
    keyed: Any = None  # the receipt of KEY
    bodies = Bodies()
    unposted = ""  # why no body could be posted
    paths: Mapping[str, Any] = {}

    def __init__(
        self,
        url: str,
        team: str,
        password: str = "",
        ca_cert: str | None = None,
    ) -> None:
        super().__init__(url, ca_cert)
        self.team = team
        self.password = password
        self.answers: list[requests.Response] = []
        self.receipts_given: list[dict[str, Any]] = []

    def all(self) -> Iterator[Finding]:
        """Yield the finding of each check. Raises ClientError if nothing answers at the URL."""
        names = [name for name in vars(Checks) if name.startswith("_check_")]
        in_run = names[names.index(IN_RUN[0]) : names.index(IN_RUN[1])]
        with self:
            for name in names:
                started_s = time.monotonic()
                has_run = hasattr(self, "run")
                can = (
                    has_run
                    or name not in in_run
                    or (self.password and name == in_run[0])
                )
                check = getattr(self, name) if can else lambda: "it needs a run"
                outcome = self._outcome(check)
                took_s = round(time.monotonic() - started_s, 3)
                yield Finding(
                    name[len("_check_") :].replace("_", "-"), *outcome, took_s=took_s
                )

    def _outcome(self, check: Callable[[], str | None]) -> tuple[str, str]:
        try:
            skipped = check()
        except ClientError as error:
            if not self.answers:
                raise
            return FAIL, error.sentence
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
        ) as error:
            return FAIL, f"the answer lacks or misstates {error}; is this a referee?"
        return (SKIP, skipped) if skipped else (PASS, "")

    def _ask(
        self,
        method: str,
        path: str,
        expected: str,
        body: bytes | None = None,
        **headers: str,
    ) -> requests.Response:
        """Return the answer, checked against `expected` status and code.

        Headers are given as keywords, with `_` for `-`.
        """
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        named = {**JSON_BODY, **named} if body is not None else named
        wait_s = (
            METER_S if path == SESSION else EARLY_S if "Expect" in named else ANSWER_S
        )
        answer = self._attempt(
            method,
            path,
            (wait_s, wait_s),
            body,
            named,
        )
        self.answers.append(answer)
        document = json_object(answer)
        got = f"{answer.status_code} {document.get('code', '')}".strip()
        said = f"{got} ({document['detail']})" if "detail" in document else got
        is_expected = got in expected.split(" or ")
        require(is_expected, f"{method} {path}: expected {expected}, got {said}")
        return answer

    def _post(
        self,
        body: bytes,
        expected: str = "202",
        **headers: str,
    ) -> Any:
        if (
            expected != "202"
        ):  # a refusal may come before the body is read: the connection ends with it
            headers["Connection"] = "close"
        return self._ask(
            "POST",
            self.bodies.path,
            expected,
            body,
            **headers,
        ).json()

    def _log_in(
        self,
        password: str,
        expected: str,
    ) -> Any:
        body = json.dumps({"team": self.team, "password": password}).encode()
        return self._ask("POST", SESSION, expected, body).json()

    def _standing(self, name: str) -> Any:
        return self._ask("GET", SESSION, "200").json()[name]

    def _check_health(self) -> None:
        document = json_object(self._ask("GET", "/v1/health", "200"))
        same("status", document["status"], "ok")
        types = [
            type(document[name]).__name__ for name in ("contest", "version", "window_s")
        ]
        same(
            "JSON types of the fields contest, version, window_s",
            types,
            ["str", "str", "int"],
        )

    def _check_openapi(self) -> None:
        document = json_object(self._ask("GET", "/v1/openapi.json", "200"))
        self.paths = document["paths"]
        same(
            "openapi, version",
            (document["openapi"][:4], document["info"]["version"]),
            ("3.1.", "1"),
        )

    def _check_no_token(self) -> None:
        self._ask("GET", SESSION, "401 token-missing")

    def _check_wrong_password(self) -> None:
        self._log_in("wrong", "401 bad-credentials")

    def _check_log_in(self) -> None:
        run = login_from(self._log_in(self.password, "201"))
        self._http.headers["Authorization"] = f"Bearer {run.token}"
        self.run = run
        self.bodies = Bodies(run.task)
        sentence = f"expected remaining_s above 0 and up to window_s, {run.window_s:g}, got {run.remaining_s:g}"
        require(0 < run.remaining_s <= run.window_s, sentence)

    def _check_log_in_again(self) -> None:
        again = login_from(self._log_in(self.password, "201"))
        same("session", replace(again, remaining_s=self.run.remaining_s), self.run)
        left_s = self.run.remaining_s
        require(
            again.remaining_s <= left_s,
            f"remaining_s: expected at most {left_s}, got {again.remaining_s}",
        )

    def _check_image(self) -> None:
        answer = self._ask("GET", "/v1/images/1", "200")
        same("Content-Type", answer.headers.get("Content-Type"), "image/jpeg")
        same("first bytes", answer.content[:3], b"\xff\xd8\xff")
        partly = self._ask(
            "GET",
            "/v1/images/1",
            "200",
            Range="bytes=0-9",
            If_None_Match="*",
        )
        same(
            "bytes for a conditional request", len(partly.content), len(answer.content)
        )

    def _check_image_head(self) -> None:
        before = self._standing("images_served")
        path = f"/v1/images/{self.run.images}"
        same(
            "Content-Length",
            self._ask("HEAD", path, "200").headers.get("Content-Length", "0"),
            "0",
        )
        same("images_served", self._standing("images_served"), before)

    def _check_unknown_image(self) -> None:
        for number in (0, self.run.images + 1):
            self._ask("GET", f"/v1/images/{number}", "404 image-unknown")

    def _check_batch(self) -> str | None:
        if self.paths and "/v1/images" not in self.paths:
            return "its OpenAPI document has no path /v1/images"
        last = self.run.images
        first = max(1, self.run.images - 1)
        content = self._ask("GET", f"/v1/images?first={first}&count=5", "200").content
        images = dict(numbered(io.BytesIO(content).read, first))
        same(
            "images in a batch that asks for more images than there are",
            list(images),
            list(range(first, last + 1)),
        )
        same("broken entry", zipfile.ZipFile(io.BytesIO(content)).testzip(), None)
        is_same = images[last] == self._ask("GET", f"/v1/images/{last}", "200").content
        require(
            is_same,
            f"image {last}: expected the same bytes in a batch and alone, got different ones",
        )
        return None

    def _check_rows(self) -> str | None:
        if self.run.task is not None:
            self._ask("POST", self.bodies.other_path, "409 other-task", NO_IMAGES)
        for kind, (body, count) in self.bodies.good(self.run).items():
            expected = [
                count,
                self._standing("detections_accepted") + count,
                hashlib.sha256(body).hexdigest(),
            ]
            try:
                receipt = self._post(body, Content_Type=kind)
            except ClientError as refused:
                if not self.bodies.may_be_refused:
                    raise
                self.unposted = (
                    f"{self.bodies.may_be_refused}, and it was refused: {refused}"
                )
                return self.unposted
            self.receipts_given.append(receipt)
            names = "accepted", "received_total", "sha256"
            same(
                f"{kind}: {', '.join(names)}",
                [receipt[name] for name in names],
                expected,
            )
        return None

    def _check_idempotency_key(self) -> str | None:
        if self.unposted:
            return "no body was accepted that could be sent again: see rows"
        self.keyed = self._post(NO_IMAGES, Idempotency_Key=KEY)
        self.receipts_given.append(self.keyed)
        same_receipt("receipt", self._post(NO_IMAGES, Idempotency_Key=KEY), self.keyed)
        self._post(b" []", "409 key-reused", Idempotency_Key=KEY)
        return None

    def _check_bad_row(self) -> None:
        before = self._standing("detections_accepted")
        refusal = self._post(self.bodies.bad(self.run), self.bodies.refusal)
        line = 2 if self.run.task is None else 1
        if "problems" in refusal or self.run.task is None:
            same(
                "lines, total",
                ([one["line"] for one in refusal["problems"]], refusal["total"]),
                ([line], 1),
            )
        same("detections_accepted", self._standing("detections_accepted"), before)

    def _check_media_type(self) -> None:
        kind = self.bodies.other_type
        self._post(b"1", "415 unsupported-media-type", Content_Type=kind)

    def _check_too_large(self) -> None:
        most = self.bodies.largest_bytes
        size = str(most + 1)
        head = {"Content_Length": size, "Expect": "100-continue", "Connection": "close"}
        try:
            self._ask(
                "POST",
                self.bodies.path,
                "413 too-large",
                None,
                **head,
            )
        except TransientError:  # it reads a body before it refuses it
            self._post(b" " * (most + 1), "413 too-large")

    def _check_receipts(self) -> str | None:
        if not self.receipts_given:
            return "no body was accepted that has one: see rows"
        given = [
            {**one, **one["receipt"]} for one in self.receipts_given if "receipt" in one
        ]
        if not given:
            return "this referee gives no receipts"
        links = {one["number"]: one["link"] for one in given}
        for one in given:
            expected = link_of(one), links.get(one["number"] - 1, one["previous"])
            same(
                f"link, previous of {one['number']}",
                (one["link"], one["previous"]),
                expected,
            )
        return None

    def _check_window_header(self) -> None:
        left_ms = self.run.window_s * 1000
        for answer in [
            one for one in self.answers if "Authorization" in one.request.headers
        ]:
            what = f"{REMAINING} of {answer.request.path_url}"
            text = answer.headers.get(REMAINING, "none")
            is_less = text.isdecimal() and int(text) <= left_ms
            require(is_less, f"{what}: expected at most {left_ms:.0f}, got {text}")
            left_ms = int(text)

    def _check_log_out(self) -> None:
        document = self._ask("DELETE", SESSION, "200").json()
        same(
            "phase, energy_wh",
            (document["phase"], "energy_wh" in document),
            ("closed", True),
        )
        if "receipt" in document and self.receipts_given:
            same(
                "head",
                document["receipt"]["head"],
                self.receipts_given[-1]["receipt"]["link"],
            )

    def _check_window_closed(self) -> None:
        self._ask("GET", "/v1/images/1", "409 window-closed")
        for kind, (body, _) in [*self.bodies.good(self.run).items()][:1]:
            self._post(body, "409 window-closed", Content_Type=kind)
        if self.keyed is not None:
            same_receipt(
                "receipt of a POST repeated after the window with a key from within it",
                self._post(NO_IMAGES, Idempotency_Key=KEY),
                self.keyed,
            )

    def _check_problem_documents(self) -> None:
        for answer in [one for one in self.answers if one.status_code >= 400]:
            document = json_object(answer)
            kind = answer.headers.get("Content-Type")
            got = kind, document.get("status"), type(document.get("detail")).__name__
            same(
                answer.request.path_url,
                got,
                ("application/problem+json", answer.status_code, "str"),
            )

    def _check_documented(self) -> str | None:
        for answer in self.answers if self.paths else ():
            status = str(answer.status_code)
            method = str(answer.request.method)
            path = urlsplit(answer.url).path[len(self._prefix) :]
            known = [
                self.paths[one]
                for one in self.paths
                if re.fullmatch(re.sub(r"{\w+}", "[^/]+", one), path)
            ]
            statuses = [
                one
                for route in known
                for one in route.get(method.lower(), {}).get("responses", {})
            ]
            sentence = f"{method} {path} answered {status}: expected a documented status, {statuses}"
            require(status in statuses, sentence)
        return None if self.paths else "it serves no OpenAPI document"
