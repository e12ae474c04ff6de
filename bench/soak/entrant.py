"""Teams before a deadline: each hands in its model and asks until there is a final answer, all of it in a journal.

Times are of this host's wall clock, in seconds, as the referee's dates are.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import requests
from requests.adapters import HTTPAdapter

LIMITS_S = (3.0, 15.0)
PAUSE_S = 0.5
PARTS = 3
PART_PAUSE_S = 2.0
TRACK = "models"
PASSED = (429, 502, 503, 507)
AGAIN = ("upload-unknown", "offset-mismatch", "upload-busy")
"""What is answered after an answer was lost: it is asked again."""


@dataclass(frozen=True)
class Plan:
    """What a team does: at `at_s` it sends its file from its own address, in parts if `resumes`."""

    team: str
    password: str
    address: str
    file: str
    at_s: float
    resumes: bool


class FromAddress(HTTPAdapter):
    """Connects from an address of this host, as a client elsewhere has its own."""

    def __init__(self, address: str) -> None:
        self._address = address
        super().__init__()

    def init_poolmanager(self, *sizes: Any, **more: Any) -> None:
        """Bind what is connected to that address."""
        super().init_poolmanager(*sizes, source_address=(self._address, 0), **more)


class Entrant:
    """One team; `note` keeps a line of its journal."""

    def __init__(
        self,
        plan: Plan,
        urls: list[str],
        note: Any,
    ) -> None:
        self._plan = plan
        self._urls = urls
        self._note = note
        self._body = Path(plan.file).read_bytes()
        self._sha256 = hashlib.sha256(self._body).hexdigest()
        self._name = Path(plan.file).name
        self._place = ""  # of an upload that was begun
        self._entry = ""  # whose receipt is still to be fetched
        self._attempts: list[tuple[float, float]] = []
        self._http = requests.Session()
        self._http.trust_env = False
        self._http.auth = (plan.team, plan.password)
        self._http.mount("http://", FromAddress(plan.address))

    def go(self) -> None:
        """Hand in, and note the receipt or the refusal."""
        time.sleep(max(self._plan.at_s - time.time(), 0.0))
        first_s = time.time()
        about = {
            "team": self._plan.team,
            "sha256": self._sha256,
            "first_s": first_s,
        }
        self._note(about | {"what": "sent", "resumes": self._plan.resumes})
        answer = self._until_final()
        about |= {"told_s": time.time(), "attempts": self._attempts}
        document = answer.json()
        if answer.status_code == 202:
            self._note(about | {"what": "received", "entry": document})
        else:
            self._note(
                about
                | {"what": "refused", "code": document.get("code", answer.status_code)}
            )

    def _until_final(self) -> requests.Response:
        """Ask one host after the other until one has taken the file or refuses it for good."""
        while True:
            answer = self._once()
            if answer is not None and answer.status_code == 202:
                return answer
            if answer is not None and answer.json().get("code") == "entry-repeated":
                # An answer was lost on its way: the receipt is with the entry.
                self._entry = f"/v1/entries/{answer.json()['entry']}"
            elif answer is not None and not _is_passing(answer):
                return answer
            self._urls = [*self._urls[1:], self._urls[0]]
            time.sleep(PAUSE_S)

    def _once(self) -> requests.Response | None:
        """One try, at one host."""
        if self._entry:
            return self._receipt()
        return self._resumed() if self._plan.resumes else self._whole()

    def _whole(self) -> requests.Response | None:
        return self._last(
            "POST",
            f"/v1/entries?track={TRACK}&name={self._name}",
            data=self._body,
        )

    def _resumed(self) -> requests.Response | None:
        """By tus, part after part, from where the host has it; the entry, or what ended it."""
        offset = self._offset()
        if offset is None:
            made = self._create()
            if made is None or made.status_code != 201:
                return made
            self._place = made.headers["Location"]
            offset = 0
        size = len(self._body)
        part_size = size // PARTS + 1
        while True:
            part = self._body[offset : offset + part_size]
            more = {
                "Upload-Offset": str(offset),
                "Content-Type": "application/offset+octet-stream",
            }
            sends = self._last if offset + len(part) == size else self._ask
            answer = sends("PATCH", self._place, headers=self._tus(more), data=part)
            if answer is None or answer.status_code != 204:
                return answer
            offset += len(part)
            if offset == size:
                self._entry = answer.headers["Content-Location"]
                return self._receipt()
            time.sleep(PART_PAUSE_S)

    def _create(self) -> requests.Response | None:
        about = {
            "track": TRACK,
            "name": self._name,
            "sha256": self._sha256,
        }
        pairs = [
            f"{key} {base64.b64encode(value.encode()).decode()}"
            for key, value in about.items()
        ]
        head = {
            "Upload-Length": str(len(self._body)),
            "Upload-Metadata": ",".join(pairs),
        }
        return self._ask("POST", "/v1/uploads", headers=self._tus(head))

    def _offset(self) -> int | None:
        """Where an upload that was begun goes on; None if none was, or the host does not know it."""
        there = (
            self._ask("HEAD", self._place, headers=self._tus({}))
            if self._place
            else None
        )
        if there is None or there.status_code != 200:
            return None
        return int(there.headers["Upload-Offset"])

    def _receipt(self) -> requests.Response | None:
        """The entry, with its receipt, as if it were the answer to its last byte; None if no host gives it now."""
        entry = self._ask("GET", self._entry)
        if entry is None or entry.status_code != 200:
            return None
        entry.status_code = 202
        return entry

    @staticmethod
    def _tus(more: dict[str, str]) -> dict[str, str]:
        return {"Tus-Resumable": "1.0.0"} | more

    def _last(
        self,
        method: str,
        path: str,
        **more: Any,
    ) -> requests.Response | None:
        """A request whose end is the file's last byte: its date lies between these two moments."""
        asked_s = time.time()
        answer = self._ask(method, path, **more)
        self._attempts.append((asked_s, time.time()))
        return answer

    def _ask(
        self,
        method: str,
        path: str,
        **more: Any,
    ) -> requests.Response | None:
        asked_s = time.time()
        try:
            answer = self._http.request(
                method,
                self._urls[0] + path,
                timeout=LIMITS_S,
                **more,
            )
        except requests.RequestException:
            answer = None
        status = None if answer is None else answer.status_code
        about = {
            "what": "asked",
            "team": self._plan.team,
            "asked_s": asked_s,
            "took_s": time.time() - asked_s,
        }
        self._note(about | {"status": status, "to": self._urls[0]})
        return answer


def _is_passing(answer: requests.Response) -> bool:
    return answer.status_code in PASSED or answer.json().get("code") in AGAIN


def main(plans: str, journal: str, *urls: str) -> None:
    """All teams of the file `plans`, a thread for each."""
    lock = threading.Lock()
    with Path(journal).open("ab") as file:

        def note(line: dict[str, Any]) -> None:
            with lock:
                file.write(json.dumps(line).encode() + b"\n")
                file.flush()

        threads = [
            threading.Thread(target=Entrant(Plan(**one), [*urls], note).go, daemon=True)
            for one in json.loads(Path(plans).read_text())
        ]
        for thread in threads:
            thread.start()
        parent = os.getppid()
        while any(thread.is_alive() for thread in threads) and os.getppid() == parent:
            time.sleep(PAUSE_S)


def write_plans(plans: list[Plan], path: Path) -> None:
    """The file that `main` reads."""
    path.write_text(json.dumps([asdict(one) for one in plans]))


if __name__ == "__main__":
    main(*sys.argv[1:])
