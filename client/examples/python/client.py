#!/usr/bin/env python3
"""A whole run with nothing but Python (3.6 or newer): python3 client.py URL TEAM PASSWORD_FILE [FIRST_IMAGE [LINKS]].

A referee with a certificate of its own: SSL_CERT_FILE=cert.pem python3 client.py https://...

LINKS is a file for the links of the contest's log, which show that nobody was told another history (docs/receipts.md).
"""

import http.client
import io
import json
import os
import re
import ssl
import struct
import sys
import time
import uuid
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

BATCH = 50  # images a request, fetched while the detector works on those before
POST_EVERY = 20  # images; near the end of the window each is posted at once
NEAR_END_S = 5.0
LOGIN_S = 30.0  # how long to try to reach the referee before the window is known
ANSWER_S = 15.0
TLS_HINTS = {  # failures that stay, and what to do
    "CERTIFICATE_VERIFY": "set SSL_CERT_FILE to its certificate, and this host's clock",
    "WRONG_VERSION": "write http:// if it speaks plain HTTP",
}
NO_ANSWER_HINT = "; check address and port, and whether the referee is running"
FORM = "the form is: python3 client.py URL TEAM PASSWORD_FILE [FIRST_IMAGE [LINKS]]"
FILE_HINT = "name the file whose first line is the team's password"
SWAPPED = "TEAM is a file: it and PASSWORD_FILE seem to be swapped"
URL = re.compile(
    r"(?i)(https?)://([\w.-]+|\[[\w.:%]+\])(?::(\d{1,5}))?((?:/(?!v1)[a-z0-9_.-]+)*)/?"
)
METER_S = 60.0  # the log-in and the log-out wait for the meter


def detect(jpeg: bytes, categories: List[Dict[str, Any]]) -> Any:
    """Replace this: return (category id, confidence, xmin, ymin, xmax, ymax) for each object, in inclusive pixels.

    In a contest of another task: return what its JSON has for an image, without the image, such as {"classes": [3]}, or
    a list of such items. This one reports an object of the first category, as large as the JPEG header says.
    """
    width, height = jpeg_size(jpeg)
    return [(categories[0]["id"], 0.5, 0, 0, width - 1, height - 1)]


def jpeg_size(jpeg: bytes) -> Tuple[int, int]:
    """Return width and height as the frame header (SOF0 to SOF15) of a JPEG file states them. Raises ValueError."""
    at = 2
    while at + 9 <= len(jpeg):
        marker, length, height, width = struct.unpack_from(">xBHxHH", jpeg, at)
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return width, height
        at += 1 if marker == 0xFF else 2 + length
    raise ValueError("not a JPEG file: it has no frame header")


class Refused(Exception):
    """The referee refused a request. `again_s` is the pause before asking again (0: any pause), or None for never."""

    def __init__(
        self, code: str, detail: str, again_s: Optional[float] = None, hint: str = ""
    ) -> None:
        super().__init__(detail + hint)
        self.code = code
        self.detail = detail
        self.again_s = again_s


class Window:
    """The end of the run's window, as the referee's latest answer states it."""

    def __init__(self) -> None:
        self.set(LOGIN_S)

    def set(self, left_s: float) -> None:
        """Set the seconds that are left."""
        self._end_s = time.monotonic() + left_s

    @property
    def left_s(self) -> float:
        """Return the seconds that are left."""
        return self._end_s - time.monotonic()


class Referee:
    """One kept-alive connection. It repeats a request while the window lasts, if the failure may be temporary."""

    def __init__(
        self, url: str, window: Window, token: str = "", timeout_s: float = ANSWER_S
    ) -> None:
        kind, host, port, self._base = address_in(url)
        self._connection = kind(host, port, timeout=timeout_s)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._url = url
        self._window = window
        self.links: Optional[Links] = None

    def ask(
        self,
        method: str,
        path: str,
        body: Optional[bytes] = None,
        headers: Optional[Dict[str, str]] = None,
    ) -> bytes:
        """Return the answer's body. Raises Refused."""
        sent = {**self._headers, **(headers or {})}
        pause_s = 0.1
        said = ""
        while True:
            try:
                return self._attempt(method, path, body, sent)
            except Refused as refused:
                if refused.again_s is None:
                    raise
                wait_s = refused.again_s or pause_s
                if self._window.left_s < wait_s:
                    raise
                if said != refused.detail:
                    said = refused.detail
                    say(f"{said}; trying again for {self._window.left_s:.0f} s")
            time.sleep(wait_s)
            pause_s = min(2 * pause_s, 5.0)

    def _attempt(
        self, method: str, path: str, body: Optional[bytes], headers: Dict[str, str]
    ) -> bytes:
        try:
            self._connection.request(method, self._base + path, body, headers)
            answer = self._connection.getresponse()
            content: bytes = answer.read()
        except ssl.SSLError as error:
            self._connection.close()
            lasting = [hint for text, hint in TLS_HINTS.items() if text in str(error)]
            what = f"{self._url}: TLS failed: {reason_of(error)}"
            again_s = None if lasting else 0.0
            raise Refused("tls", what, again_s, "; ".join(["", *lasting])) from error
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            what = f"{self._url} does not answer: {reason_of(error)}"
            raise Refused("no-answer", what, 0.0, NO_ANSWER_HINT) from error
        if "X-Window-Remaining-Ms" in answer.headers:
            self._window.set(int(answer.headers["X-Window-Remaining-Ms"]) / 1000)
        if answer.status < 300:
            return content
        raise refusal(self._url, answer, content)

    def fetch(self, first: int) -> List[Tuple[int, bytes]]:
        """Return a batch of images with their numbers; zipfile checks the CRC of each. Raises Refused."""
        body = self.ask("GET", f"/v1/images?first={first}&count={BATCH}")
        archive = zipfile.ZipFile(io.BytesIO(body))
        names = archive.namelist()
        return [(int(name[: -len(".jpg")]), archive.read(name)) for name in names]

    def post(self, path: str, kind: str, body: bytes) -> None:
        """Post a body of this type. The key makes the referee count it once, even if sent again. Raises Refused."""
        headers = {"Content-Type": kind, "Idempotency-Key": uuid.uuid4().hex}
        answer = json.loads(self.ask("POST", path, body, headers))
        if answer["sha256"] != sha256(body).hexdigest():
            what = "the referee received other bytes than were sent; try again"
            raise Refused("altered-on-the-way", what)
        for warning in answer.get("warnings", []):
            say(f"warning: {warning}")
        if self.links is not None and answer.get("log"):
            self.links.keep(answer["log"])


class Links:
    """Keeps each new link of the contest's log in a file, with the time; nothing that fails here ends the run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: Dict[str, Any] = {}

    def keep(self, log: Dict[str, Any]) -> None:
        """Append a link, unless it is the last one, and say so if it contradicts that."""
        last = self._last
        if log == last:
            return
        self._last = log
        if last and log["events"] <= last["events"]:
            say(f"WARNING: the contest's log was rewritten: {log} follows {last}")
        seen = datetime.now(timezone.utc).isoformat()
        try:
            with self._path.open("a") as file:
                file.write(json.dumps({"log": log, "seen_utc": seen}) + "\n")
        except OSError as error:
            say(f"{self._path}: a link of the log cannot be kept: {reason_of(error)}")


class Boxes:
    """The body of a contest of boxes: rows of seven numbers, the image's first."""

    path = "/v1/detections"
    kind = "application/octet-stream"

    def of_image(self, number: int, found: Any) -> List[Any]:
        """Return the rows of an image."""
        return [(number, *row) for row in found]

    def body(self, rows: List[Any]) -> bytes:
        """Return rows as a body."""
        return b"".join(struct.pack("<7f", *row) for row in rows)


class Items:
    """The body of a contest of another task: a JSON array of items, each with its image."""

    kind = "application/json"

    def __init__(self, task: Dict[str, Any]) -> None:
        self.path = task["path"]
        self._image = "image_id" if task["name"] == "instances" else "image"

    def of_image(self, number: int, found: Any) -> List[Any]:
        """Return the items of an image."""
        items = found if isinstance(found, list) else [found]
        return [{self._image: number, **item} for item in items]

    def body(self, items: List[Any]) -> bytes:
        """Return items as a body."""
        return json.dumps(items).encode()


def reason_of(error: Exception) -> str:
    """Return why a file or a connection failed, without the system's numbers."""
    if isinstance(error, ssl.SSLError):
        reason = (error.reason or "the connection was cut off").replace("_", " ")
        return getattr(error, "verify_message", "") or reason.lower()
    if isinstance(error, http.client.HTTPException) and not isinstance(error, OSError):
        return "what came back is not HTTP, or broke off"
    if isinstance(error, UnicodeError):
        return "it is not text in UTF-8"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def refusal(url: str, answer: http.client.HTTPResponse, content: bytes) -> Refused:
    """Read a problem document."""
    passing = answer.status in (502, 504) or "Retry-After" in answer.headers
    again_s = float(answer.headers.get("Retry-After", 0)) if passing else None
    try:
        problem = json.loads(content)
        return Refused(problem["code"], problem["detail"], again_s)
    except (ValueError, KeyError, TypeError):
        what = f"{url} answered status {answer.status}, and not as a referee does"
        return Refused("not-a-referee", what, again_s, "; check address and port")


def login(url: str, window: Window, team: str, password: str) -> Dict[str, Any]:
    """Open the team's run, waiting until it is armed and started. Raises Refused."""
    referee = Referee(url, window, timeout_s=METER_S)
    said = ""
    body = json.dumps({"team": team, "password": password}).encode()
    while True:
        try:
            answer = referee.ask("POST", "/v1/session", body)
            document: Dict[str, Any] = json.loads(answer)
            window.set(document["remaining_s"])
            break
        except (ValueError, KeyError, TypeError) as error:
            what = f"{url} does not answer as a referee does; check address and port"
            raise Refused("not-a-referee", what) from error
        except Refused as refused:
            if refused.code not in ("not-armed", "not-started"):
                raise
            said = said or say(f"{refused} Waiting; Ctrl-C ends it.")
        time.sleep(1.0)
        window.set(LOGIN_S)
    return document


def images(referee: Referee, first: int, last: int) -> Iterator[Tuple[int, bytes]]:
    """Yield number and JPEG file of each image, with the next batch on its way. Raises Refused."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        ahead = pool.submit(referee.fetch, first) if first <= last else None
        while ahead:
            batch = ahead.result()
            first += len(batch)
            ahead = pool.submit(referee.fetch, first) if first <= last else None
            yield from batch


def run(url: str, team: str, password: str, first: int, links: Optional[Path]) -> None:
    """Answer the images from `first` on until all are answered or the window ends, then log out. Raises Refused."""
    window = Window()
    done = first - 1
    rows: List[Any] = []
    session = login(url, window, team, password)
    token = session["token"]
    last = session["images"]
    say(f"run {session['run']}: {last} images in {window.left_s:.0f} s")
    if first > last:
        # A log-out would close the run for good.
        what = f"FIRST_IMAGE is {first}, and the run has {last} images"
        sys.exit(f"client: {what}; the run stays open")
    form = Items(session["task"]) if "task" in session else Boxes()
    posting = Referee(url, window, token)
    posting.links = None if links is None else Links(links)
    try:
        for number, jpeg in images(Referee(url, window, token), first, last):
            rows += form.of_image(number, detect(jpeg, session["categories"]))
            is_end = number == last or window.left_s < NEAR_END_S
            if is_end or number - done >= POST_EVERY:
                posting.post(form.path, form.kind, form.body(rows))
                rows = []
                done = number
                say(f"image {done} of {last}, {window.left_s:.0f} s left")
    except BaseException as error:
        if isinstance(error, Refused) and error.code == "window-closed":
            say(str(error))
            return
        way = f"FIRST_IMAGE {done + 1} continues"
        say(f"the run stays open: while its window lasts, {way}")
        raise
    ending = Referee(url, window, token, METER_S)
    closed = json.loads(ending.ask("DELETE", "/v1/session"))
    say(f"logged out after {closed['elapsed_s']} s; {closed['energy_wh']} Wh")


def address_in(url: str) -> Tuple[Any, str, int, str]:
    """Return the kind of connection, host, port and path of a referee's URL; exit if it is none."""
    got = URL.fullmatch(url.strip())
    with suppress(UnicodeError):  # of a host with an empty label, or a long one
        if got and got[2].encode("idna") and 0 < int(got[3] or 80) < 65536:
            kind = getattr(http.client, f"{got[1].upper()}Connection")
            return kind, got[2].strip("[]"), int(got[3] or kind.default_port), got[4]
    url = re.sub(r"(?s)\A.*@", "...@", url)  # a password is not shown
    sys.exit(f"client: {url!r:.99} is not a referee's URL; write http://host:port")


def password_in(team: str, name: str) -> str:
    """Return the first line of the file; exit if there is none."""
    try:
        line = Path(name).read_text("utf-8-sig").partition("\n")[0]
    except (OSError, ValueError) as error:
        hint = SWAPPED if os.path.isfile(team) else FILE_HINT  # noqa: PTH113 - Path raises for a long name
        why = f"cannot be read: {reason_of(error)}; {hint}; {FORM}"
        sys.exit(f"client: PASSWORD_FILE {why}")
    return line or sys.exit(f"client: PASSWORD_FILE {name}: its first line is empty")


def number_in(text: str) -> int:
    """Return FIRST_IMAGE as a number from 1; exit if it is none."""
    if not (text.isdecimal() and len(text) < 19 and int(text) > 0):
        sys.exit(f"client: FIRST_IMAGE is {text!r:.99}, not a whole number from 1")
    return int(text)


def links_in(name: str) -> Path:
    """Return the path of LINKS; exit if nothing can be appended there."""
    try:
        Path(name).open("ab").close()
    except OSError as error:
        why = f"cannot be written: {reason_of(error)}; name another file"
        sys.exit(f"client: LINKS {name} {why}")
    return Path(name)


def say(sentence: str) -> str:
    """Print a sentence on stderr and return it."""
    print(f"client: {sentence}", file=sys.stderr, flush=True)
    return sentence


def main() -> None:
    """Run with the arguments of the command line; exit with a sentence after a failure."""
    given = sys.argv[1:]
    for one in given:
        if one[:2] == "--" or one == "-h":
            sys.exit(f"client: {one}: there are no options; {FORM}")
    if not 3 <= len(given) <= 5:
        sys.exit(f"client: arguments given: {len(given)}; {FORM}")
    url, team, file, *more = given
    address_in(url)
    first = number_in(more[0]) if more else 1
    password = password_in(team, file)
    links = links_in(more[1]) if more[1:] else None
    try:
        run(url, team, password, first, links)
    except Refused as refused:
        by = f" The team was {team!r}, the password the first line of {file}."
        sys.exit(f"client: {refused}{by if refused.code == 'bad-credentials' else ''}")
    except OSError as error:
        sys.exit(f"client: {error.filename or 'system'}: {reason_of(error)}")
    except KeyboardInterrupt:
        say("interrupted")
        sys.exit(130)


if __name__ == "__main__":
    main()
