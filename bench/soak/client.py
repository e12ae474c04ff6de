"""A team for hours: run after run, everything that it sends and receives written to its journal before it goes on.

A new process goes on where the journal of a killed one ends: what was not acknowledged is sent again under its key.
After SIGTERM it begins no other run. Times are of this host's monotonic clock.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import requests

LIMITS_S = (2.0, 10.0)
METER_S = (2.0, 60.0)
PAUSE_S = 0.2
# Between posts; without a pause in the last part of a window.
PACE_S = (0.1, 0.4)
HURRY_S = 0.25
# How often a post is sent twice, and a run ended early.
TWICE = 0.03
LOGOUT = 0.25
TRANSIENT = (429, 503, 507)
Entry = dict[str, Any]


def lines_of(journal: Path) -> list[Entry]:
    """What is noted in the journal; a line that was not finished does not count."""
    text = journal.read_text() if journal.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


class Team:
    """One team's runs. It ends with its parent, too."""

    def __init__(
        self,
        url: str,
        team: str,
        password: str,
        journal: str,
        parent: str,
    ) -> None:
        self._url = url
        self._who = {"team": team, "password": password}
        self._parent = int(parent)
        self._http = requests.Session()
        self._chance = random.Random()  # noqa: S311
        self._stopped = False
        self._http.trust_env = False
        entries = lines_of(Path(journal))
        answered = {
            one["key"] for one in entries if one["what"] in ("acknowledged", "refused")
        }
        self._pending = [
            one
            for one in entries
            if one["what"] == "sent" and one["key"] not in answered
        ]
        self._journal = Path(journal).open("ab")  # noqa: SIM115 - to the end of the process
        self._journal.truncate(Path(journal).read_bytes().rfind(b"\n") + 1)
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "_stopped", True))

    def go(self) -> None:
        """Have one run after the other."""
        for post in self._pending:
            self._deliver(post)
        first_s = 0.0  # the one that was killed may have asked before
        while not self._stopped and self._wanted():
            asked_s = time.monotonic()
            answer = self._ask("POST", "/v1/session", json=self._who, timeout=METER_S)
            if answer is None or answer.status_code != 201:
                time.sleep(PAUSE_S)
                continue
            run = answer.json()
            times = {
                "first_s": first_s,
                "asked_s": asked_s,
                "told_s": time.monotonic(),
                "left_s": run["remaining_s"],
            }
            self._note(
                "opened",
                run=run["run"],
                window_s=run["window_s"],
                **times,
            )
            self._work(run, time.monotonic() + run["remaining_s"])
            first_s = time.monotonic()

    def _work(self, run: Entry, end_s: float) -> None:
        """Post until the window is over, or log out before."""
        early_s = (
            self._chance.uniform(5.0, run["window_s"])
            if self._chance.random() < LOGOUT
            else 0.0
        )
        while self._wanted():
            left_s = end_s - time.monotonic()
            if left_s < early_s and self._log_out(run):
                return
            number = self._chance.randint(1, run["images"])
            self._ask("GET", f"/v1/images/{number}", run["token"])
            # No body is like another one: a post that is stored twice is found by it.
            rows = [
                [number, 1, 0.5, 0, 0, self._chance.random(), 9]
            ] * self._chance.randint(1, 8)
            about = {
                "run": run["run"],
                "token": run["token"],
                "key": os.urandom(8).hex(),
                "first_s": time.monotonic(),
            }
            if not self._deliver(
                self._note(
                    "sent",
                    **about,
                    rows=len(rows),
                    body=json.dumps(rows),
                )
            ):
                return
            time.sleep(max(min(self._chance.uniform(*PACE_S), left_s - HURRY_S), 0.0))

    def _deliver(self, post: Entry) -> bool:
        """Send until there is a final answer; False once the window is closed. Now and then, once more after it."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": post["key"]}
        times = 2 if self._chance.random() < TWICE else 1
        while times and self._wanted():
            asked_s = time.monotonic()
            body = post["body"].encode()
            answer = self._ask(
                "POST",
                "/v1/detections",
                post["token"],
                data=body,
                headers=headers,
            )
            known = {name: post[name] for name in ("run", "key", "first_s", "rows")}
            known |= {"asked_s": asked_s, "told_s": time.monotonic()}
            if answer is None or answer.status_code in TRANSIENT:
                time.sleep(PAUSE_S)
            elif answer.status_code != 202:
                code = answer.json().get("code", answer.status_code)
                self._note("refused", **known, code=code)
                return bool(code != "window-closed")
            else:
                left_ms = int(answer.headers.get("X-Window-Remaining-Ms", 0))
                sha256 = hashlib.sha256(body).hexdigest()
                self._note(
                    "acknowledged",
                    **known,
                    left_ms=left_ms,
                    sha256=sha256,
                    answer=answer.json(),
                )
                times -= 1
        return not times

    def _log_out(self, run: Entry) -> bool:
        asked_s = time.monotonic()
        while self._wanted() and time.monotonic() < asked_s + run["window_s"]:
            answer = self._ask("DELETE", "/v1/session", run["token"], timeout=METER_S)
            if answer is not None and answer.status_code == 200:
                times = {"asked_s": asked_s, "told_s": time.monotonic()}
                self._note(
                    "logged-out",
                    run=run["run"],
                    **times,
                    answer=answer.json(),
                )
                return True
            time.sleep(PAUSE_S)
        return False

    def _ask(
        self,
        method: str,
        path: str,
        token: str = "",
        **more: Any,
    ) -> requests.Response | None:
        """The answer; None when there is none."""
        headers = {"Authorization": f"Bearer {token}"} | more.pop("headers", {})
        try:
            return self._http.request(
                method,
                self._url + path,
                headers=headers,
                **({"timeout": LIMITS_S} | more),
            )
        except requests.RequestException:
            return None

    def _note(self, what: str, **values: Any) -> Entry:
        noted = {"what": what} | values
        self._journal.write(json.dumps(noted).encode() + b"\n")
        self._journal.flush()
        return noted

    def _wanted(self) -> bool:
        return os.getppid() == self._parent


if __name__ == "__main__":
    Team(*sys.argv[1:]).go()
