"""The receipts of a team's run, oldest first, in pages. A page that can no longer change is made once."""

from __future__ import annotations

import threading
from collections import defaultdict

import orjson

from referee.contest import Contest
from referee.errors import RefereeError
from referee.judging.team_view import receipt_document
from referee.store.records import OVER, Run
from referee.web.closing_receipt import closing_receipt

A_PAGE = 500
MOST_KEPT = 32
WAIT_S = 1.0
RETRY_S = 1


class ReceiptPages:
    """Makes pages of receipts, one at a time for each team, and keeps the newest MOST_KEPT of them."""

    def __init__(self, contest: Contest) -> None:
        self._contest = contest
        self._lock = threading.Lock()
        self._of_team: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._kept: dict[tuple[int, int], bytes] = {}

    def page(self, run: Run, after: int) -> bytes:
        """Return the page, as JSON, after the first `after` receipts. Raises RefereeError `too-many-requests`."""
        key = (run.id, after)
        with self._lock:
            of_team = self._of_team[run.team]
        if not of_team.acquire(timeout=WAIT_S):
            sentence = (
                "Receipts of your team are being read; ask for one page at a time."
            )
            raise RefereeError("too-many-requests", sentence, retry_after_s=RETRY_S)
        try:
            kept = self._kept.get(key)
            if kept is not None:
                return kept
            made, is_final = self._made(run, after)
            if is_final:
                self._keep(key, made)
            return made
        finally:
            of_team.release()

    def _made(self, run: Run, after: int) -> tuple[bytes, bool]:
        """Return a page, and whether it is kept: one of a run that is over, as `next` names it."""
        found = self._contest.store.posts.receipts_after(run.id, after, A_PAGE + 1)
        is_over = run.state in OVER
        closing = closing_receipt(self._contest, run.id) if is_over else {}
        following = None
        if len(found) > A_PAGE:
            following = f"/team/runs/{run.id}/receipts?after={after + A_PAGE}"
        document = {
            "run": run.id,
            "rules_sha256": None if run.rules is None else run.rules.sha256,
            "receipts": [receipt_document(one) for one in found[:A_PAGE]],
            "next": following,
            "closing": closing.get("receipt"),
        }
        is_kept = is_over and bool(found) and after % A_PAGE == 0
        return orjson.dumps(document), is_kept

    def _keep(self, key: tuple[int, int], made: bytes) -> None:
        with self._lock:
            if len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = made
