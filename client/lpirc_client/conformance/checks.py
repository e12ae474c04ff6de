"""The checks of a referee against docs/http.md, in order; those within a run use up one attempt of the team."""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import requests

from lpirc_client.batches import numbered
from lpirc_client.conformance.report import FAIL, PASS, SKIP, Finding
from lpirc_client.errors import ClientError, TransientError
from lpirc_client.http_errors import from_transport, json_object
from lpirc_client.receipts import link_of
from lpirc_client.wire import Login, login_from

REMAINING = "X-Window-Remaining-Ms"
ROWS, JSON, FORM = "/v1/detections", "application/json", "application/x-www-form-urlencoded"
FORM_ROW = "image_name=%s&CLASS_ID=%s&confidence=%s&xmin=%s&ymin=%s&xmax=%s&ymax=%s"
LARGEST_BODY_BYTES = 4 * 2**20
ANSWER_S, EARLY_S = 70.0, 3.0  # a log-in waits for the meter; a refusal can do with the head of a request
UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
NOT_IN = Login("", "", 0, 0.0, 0.0, ())


class Mismatch(Exception):
    """The referee does something else than documented."""


class Trial:
    """One pass over a referee: its connection, and what earlier checks learnt for the later ones."""

    def __init__(self, url: str, team: str, password: str = "", ca_cert: str | None = None) -> None:
        self.url, self.team, self.password = url.rstrip("/"), team, password
        self.http = requests.Session()
        self.http.trust_env = False
        self.http.verify = ca_cert or True
        self.seen: list[requests.Response] = []
        self.login = NOT_IN
        self.receipts: list[dict[str, Any]] = []

    def ask(self, method: str, path: str, status: int, code: str = "", **more: Any) -> requests.Response:
        """Return the answer if it has that status and code. Raises Mismatch, or ClientError if none comes."""
        try:
            more.setdefault("timeout", ANSWER_S)
            answer = self.http.request(method, self.url + path, allow_redirects=False, **more)
        except (requests.RequestException, OSError) as error:
            raise from_transport(self.url, error) from error
        self.seen.append(answer)
        document = json_object(answer)
        got = f"{answer.status_code} {document.get('code', '')}".strip()
        detail = f" {document['detail']}" if "detail" in document else ""
        _same(f"{method} {path}", got, f"{status} {code}".strip(), detail)
        return answer

    def post(self, body: bytes, status: int = 202, code: str = "", kind: str = JSON, key: str = "") -> Any:
        """Hand in a body of rows and return the document that comes back."""
        headers = {"Content-Type": kind, **({"Idempotency-Key": key} if key else {})}
        return self.ask("POST", ROWS, status, code, data=body, headers=headers).json()

    def log_in(self, password: str, status: int, code: str = "") -> Any:
        """Log in, or try to, and return the document that comes back."""
        credentials = {"team": self.team, "password": password}
        return self.ask("POST", "/v1/session", status, code, json=credentials).json()

    def standing(self, name: str) -> Any:
        """Return that part of where the run stands."""
        return self.ask("GET", "/v1/session", 200).json()[name]

    @property
    def row(self) -> list[float]:
        """A row that is right."""
        return [1, self.login.categories[0].id, 0.5, 1, 1, 5, 5]


def run_checks(at: Trial) -> Iterator[Finding]:
    """Yield what each check came to. Raises TransientError if nothing answers at the URL."""
    for name, check in {**OUTSIDE, **WITHIN, **AFTER}.items():
        if name in WITHIN and not at.login.token and not (at.password and name == "log-in"):
            yield Finding(name, SKIP, "the log-in failed" if at.password else "read-only")
            continue
        try:
            skipped = check(at)
        except (Mismatch, ClientError) as error:
            if isinstance(error, TransientError) and not at.seen:
                raise
            yield Finding(name, FAIL, str(error))
        except UNREADABLE as error:
            yield Finding(name, FAIL, f"an answer lacks or misstates a part: {type(error).__name__}: {error}")
        else:
            yield Finding(name, SKIP, skipped) if isinstance(skipped, str) else Finding(name, PASS)


def _same(what: str, got: object, expected: object, more: str = "") -> None:
    if got != expected:
        raise Mismatch(f"{what}: expected {expected}, got {got!s:.100}{more}")


def _health(at: Trial) -> None:
    document = at.ask("GET", "/v1/health", 200).json()
    _same("status", document["status"], "ok")
    _same(
        "contest, version, window_s",
        [type(document[one]) for one in ("contest", "version", "window_s")],
        [str, str, int],
    )


def _openapi(at: Trial) -> None:
    document = at.ask("GET", "/v1/openapi.json", 200).json()
    _same("openapi", document["openapi"][:4], "3.1.")
    _same("version", document["info"]["version"], "1")
    _same(
        "paths that it lacks",
        {"/v1/health", "/v1/session", "/v1/images", ROWS} - set(document["paths"]),
        set(),
    )


def _log_in(at: Trial) -> None:
    at.login = login_from(at.log_in(at.password, 201))
    at.http.headers["Authorization"] = f"Bearer {at.login.token}"
    _same("0 < remaining_s <= window_s", 0 < at.login.remaining_s <= at.login.window_s, True)


def _log_in_again(at: Trial) -> None:
    again = login_from(at.log_in(at.password, 201))
    _same("the clock runs on", again.remaining_s <= at.login.remaining_s, True)
    _same("the session", replace(again, remaining_s=at.login.remaining_s), at.login)


def _image(at: Trial) -> None:
    before, head = at.standing("images_served"), at.ask("HEAD", "/v1/images/1", 200)
    _same("length of a HEAD", head.headers.get("Content-Length", "0"), "0")
    _same("images served after a HEAD", at.standing("images_served"), before)
    answer = at.ask("GET", "/v1/images/1", 200)
    _same("type", answer.headers.get("Content-Type"), "image/jpeg")
    _same("its first bytes", answer.content[:3], b"\xff\xd8\xff")
    conditional = at.ask("GET", "/v1/images/1", 200, headers={"Range": "bytes=0-9", "If-None-Match": "*"})
    _same("bytes for a conditional request", len(conditional.content), len(answer.content))


def _unknown_image(at: Trial) -> None:
    for number in (0, at.login.images + 1):
        at.ask("GET", f"/v1/images/{number}", 404, "image-unknown")


def _batch(at: Trial) -> None:
    last, first = at.login.images, max(1, at.login.images - 1)
    content = at.ask("GET", f"/v1/images?first={first}&count=5", 200).content
    images = dict(numbered(io.BytesIO(content).read, first))
    _same("images, the count cut at the last one", list(images), list(range(first, last + 1)))
    _same("broken entry", zipfile.ZipFile(io.BytesIO(content)).testzip(), None)
    alone = at.ask("GET", f"/v1/images/{last}", 200).content
    _same(
        "image by itself and in a batch",
        hashlib.sha256(images[last]).hexdigest(),
        hashlib.sha256(alone).hexdigest(),
    )


def _rows(at: Trial, kind: str, body_of: Callable[[list[float]], bytes]) -> None:
    body, before = body_of(at.row), at.standing("detections_accepted")
    receipt = at.post(body, kind=kind)
    at.receipts.append(receipt)
    _same("accepted", receipt["accepted"], 1)
    _same("received_total", receipt["received_total"], before + 1)
    _same("sha256", receipt["sha256"], hashlib.sha256(body).hexdigest())


def _key_repeated(at: Trial) -> None:
    at.receipts.append(at.post(b"[]", key="conformance"))
    _same("second receipt", at.post(b"[]", key="conformance"), at.receipts[-1])


def _bad_row(at: Trial) -> None:
    before, bad = at.standing("detections_accepted"), [at.login.images + 1, *at.row[1:]]
    refusal = at.post(json.dumps([at.row, bad]).encode(), 422, "bad-rows")
    _same("lines of problems", [one["line"] for one in refusal["problems"]], [2])
    _same("total", refusal["total"], 1)
    _same("detections after a body that was refused", at.standing("detections_accepted"), before)


def _too_large(at: Trial) -> None:
    head = {"Content-Length": str(LARGEST_BODY_BYTES + 1), "Expect": "100-continue", "Connection": "close"}
    try:
        at.ask("POST", ROWS, 413, "too-large", headers=head, timeout=EARLY_S)
    except TransientError:  # it reads a body before it refuses it
        at.post(b" " * (LARGEST_BODY_BYTES + 1), 413, "too-large")


def _receipts(at: Trial) -> str | None:
    if not all("receipt" in one for one in at.receipts):
        return "this referee gives none"
    kept = [{**one, **one["receipt"]} for one in at.receipts]
    links = {one["number"]: one["link"] for one in kept}
    for one in kept:
        _same(f"link of receipt {one['number']}", one["link"], link_of(one))
        before = links.get(one["number"] - 1, one["previous"])
        _same(f"previous of receipt {one['number']}", one["previous"], before)
    return None


def _window_header(at: Trial) -> None:
    left_ms = at.login.window_s * 1000
    for answer in at.seen[len(OUTSIDE) :]:
        text = answer.headers.get(REMAINING, "none")
        what = f"{REMAINING} of {answer.request.method} {answer.request.path_url}"
        _same(what, text if text.isdigit() and int(text) <= left_ms else f"{text} after {left_ms}", text)
        left_ms = int(text)


def _log_out(at: Trial) -> None:
    document = at.ask("DELETE", "/v1/session", 200).json()
    _same("phase", document["phase"], "closed")
    _same("elapsed_s within the window", 0 <= document["elapsed_s"] <= at.login.window_s + 1, True)
    _same("energy_wh in the answer", "energy_wh" in document, True)
    if "receipt" in document:
        _same("head of the closing receipt", document["receipt"]["head"], at.receipts[-1]["receipt"]["link"])


def _window_closed(at: Trial) -> None:
    at.ask("GET", "/v1/images/1", 409, "window-closed")
    at.post(json.dumps([at.row]).encode(), 409, "window-closed")
    _same("receipt of a key that was used in time", at.post(b"[]", key="conformance"), at.receipts[-1])


def _problem_documents(at: Trial) -> None:
    for answer in at.seen:
        if answer.status_code >= 400:
            what, document = f"{answer.request.method} {answer.request.path_url}", json_object(answer)
            _same(f"type of {what}", answer.headers.get("Content-Type"), "application/problem+json")
            _same(f"status in the document of {what}", document.get("status"), answer.status_code)
            _same(f"detail of {what}", bool(document.get("detail")), True)


def _documented(at: Trial) -> None:
    interface = at.ask("GET", "/v1/openapi.json", 200).json()
    for answer in at.seen:
        path, method = urlsplit(answer.url).path, str(answer.request.method).lower()
        for template, operations in interface["paths"].items():
            if method in operations and re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), path):
                status, documented = str(answer.status_code), operations[method]["responses"]
                _same(f"{method} {template}", status, status if status in documented else sorted(documented))


OUTSIDE: dict[str, Callable[[Trial], object]] = {
    "health": _health,
    "openapi": _openapi,
    "wrong-password": lambda at: at.log_in("wrong", 401, "bad-credentials"),
    "no-token": lambda at: at.ask("GET", "/v1/session", 401, "token-missing"),
    "unknown-path": lambda at: at.ask("GET", "/v1/nothing", 404, "not-found"),
}
WITHIN: dict[str, Callable[[Trial], object]] = {
    "log-in": _log_in,
    "log-in-again": _log_in_again,
    "image": _image,
    "unknown-image": _unknown_image,
    "batch": _batch,
    "rows-json": partial(_rows, kind=JSON, body_of=lambda row: json.dumps([row]).encode()),
    "rows-text": partial(_rows, kind="text/plain", body_of=lambda row: " ".join(map(str, row)).encode()),
    "rows-form": partial(_rows, kind=FORM, body_of=lambda row: (FORM_ROW % tuple(row)).encode()),
    "rows-packed": partial(
        _rows, kind="application/octet-stream", body_of=lambda row: struct.pack("<7f", *row)
    ),
    "key-repeated": _key_repeated,
    "key-reused": lambda at: at.post(b" []", 409, "key-reused", key="conformance"),
    "bad-row": _bad_row,
    "media-type": lambda at: at.post(b"1", 415, "unsupported-media-type", kind="image/png"),
    "too-large": _too_large,
    "receipts": _receipts,
    "window-header": _window_header,
    "log-out": _log_out,
    "window-closed": _window_closed,
}
AFTER = {"problem-documents": _problem_documents, "documented": _documented}
