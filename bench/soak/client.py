"""A team for hours: run after run, everything that it sends and is told written to a file before it goes on.

`python -m bench.soak.client URL TEAM PASSWORD JOURNAL PARENT` goes on where the journal of a killed one ends: what was not
acknowledged is sent again under its key. After SIGTERM it begins no other run. Times are of the monotonic clock.
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

CONNECT_S, ANSWER_S, LOG_IN_S = 2.0, 10.0, 60.0
PAUSE_S = 0.2
PACE_S, HURRY_S = (0.1, 0.4), 0.25  # between posts; without a pause in the last part of a window
TWICE, LOGOUT = 0.03, 0.25  # how often a post is sent twice, and a run ended early
LEFT, CLOSED = "X-Window-Remaining-Ms", "window-closed"
TRANSIENT = (429, 503, 507)


class Team:
    """One team's runs, and its journal."""

    def __init__(self, url: str, team: str, password: str, journal: Path, parent: int) -> None:
        self._url, self._who, self._parent = url, {"team": team, "password": password}, parent
        self._http, self._chance = requests.Session(), random.Random(f"{team} {os.getpid()}")  # noqa: S311 - no secret
        self._http.trust_env = False
        lines = journal.read_text().splitlines() if journal.exists() else []
        if lines and not lines[-1].endswith(
            "}"
        ):  # killed in mid-line: what it was about was not noted, so not relied on
            lines.pop()
        told = [json.loads(line) for line in lines]
        acknowledged = {one["key"] for one in told if one["what"] in ("acknowledged", "refused")}
        self._pending = [one for one in told if one["what"] == "sent" and one["key"] not in acknowledged]
        journal.write_text("".join(line + "\n" for line in lines))
        self._journal = journal.open("a")
        self._serial = sum(one["what"] == "sent" for one in told)
        signal.signal(signal.SIGTERM, self._stop)
        self._stopped = False

    def go(self) -> None:
        """Have one run after the other until SIGTERM, or until the parent is gone."""
        for post in self._pending:
            self._deliver(post)
        first_s = 0.0  # the one that was killed may have asked before
        while not self._stopped and os.getppid() == self._parent:
            asked_s = time.monotonic()
            if (
                answer := self._ask("POST", "/v1/session", json=self._who, limit_s=LOG_IN_S)
            ) is None or answer.status_code != 201:
                time.sleep(PAUSE_S)
                continue
            run = answer.json()
            self._note("opened", run=run["run"], window_s=run["window_s"], first_s=first_s, asked_s=asked_s,
                       told_s=time.monotonic(), left_s=run["remaining_s"])  # fmt: skip
            self._work(run)
            first_s = time.monotonic()

    def _work(self, run: dict[str, Any]) -> None:
        """Post until the window is over, or log out before."""
        end_s = time.monotonic() + run["remaining_s"]
        early_s = self._chance.uniform(5.0, run["window_s"]) if self._chance.random() < LOGOUT else 0.0
        while os.getppid() == self._parent:
            left_s = end_s - time.monotonic()
            if left_s < early_s and self._log_out(run):
                return
            self._ask("GET", f"/v1/images/{self._chance.randint(1, run['images'])}", run["token"])
            if not self._deliver(self._new_post(run)):
                return
            time.sleep(self._chance.uniform(*PACE_S) if left_s > HURRY_S else 0.0)

    def _new_post(self, run: dict[str, Any]) -> dict[str, Any]:
        """A post that no other one is like, as it is noted before it is sent."""
        self._serial += 1
        rows = [
            [self._chance.randint(1, run["images"]), 1, 0.5, 0, 0, self._serial, row]
            for row in range(1, self._chance.randint(2, 9))
        ]
        return self._note("sent", run=run["run"], token=run["token"], key=os.urandom(8).hex(), rows=len(rows),
                          body=json.dumps(rows), at_s=time.monotonic())  # fmt: skip

    def _deliver(self, post: dict[str, Any]) -> bool:
        """Send until there is a final answer; False once the window is closed. Now and then, once more after it."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": post["key"]}
        again = self._chance.random() < TWICE
        while os.getppid() == self._parent:
            asked_s = time.monotonic()
            answer = self._ask(
                "POST", "/v1/detections", post["token"], data=post["body"].encode(), headers=headers
            )
            told_s = time.monotonic()
            if answer is None or answer.status_code in TRANSIENT:
                time.sleep(PAUSE_S)
                continue
            known = {
                "run": post["run"],
                "key": post["key"],
                "first_s": post["at_s"],
                "asked_s": asked_s,
                "told_s": told_s,
            }
            if answer.status_code != 202:
                code = answer.json().get("code", answer.status_code)
                self._note("refused", **known, code=code)
                return bool(code != CLOSED)
            self._note("acknowledged", **known, left_ms=int(answer.headers.get(LEFT, 0)), rows=post["rows"],
                       sha256=hashlib.sha256(post["body"].encode()).hexdigest(), answer=answer.json())  # fmt: skip
            if not again:
                return True
            again = False
        return False

    def _log_out(self, run: dict[str, Any]) -> bool:
        asked_s = time.monotonic()
        while (
            answer := self._ask("DELETE", "/v1/session", run["token"], limit_s=LOG_IN_S)
        ) is None or answer.status_code != 200:
            if os.getppid() != self._parent or time.monotonic() > asked_s + run["window_s"]:
                return False
            time.sleep(PAUSE_S)
        self._note(
            "logged-out", run=run["run"], asked_s=asked_s, told_s=time.monotonic(), answer=answer.json()
        )
        return True

    def _ask(
        self,
        method: str,
        path: str,
        token: str = "",
        limit_s: float = ANSWER_S,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> requests.Response | None:
        """The answer; None when there is none."""
        bearing = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            return self._http.request(
                method,
                self._url + path,
                timeout=(CONNECT_S, limit_s),
                headers=bearing | (headers or {}),
                **more,
            )
        except requests.RequestException:
            return None

    def _note(self, what: str, **values: Any) -> dict[str, Any]:
        noted = {"what": what} | values
        self._journal.write(json.dumps(noted) + "\n")
        self._journal.flush()
        return noted

    def _stop(self, *_: object) -> None:
        self._stopped = True


if __name__ == "__main__":
    url, team, password, journal, parent = sys.argv[1:]
    Team(url, team, password, Path(journal), int(parent)).go()
