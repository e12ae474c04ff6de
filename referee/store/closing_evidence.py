"""Evidence that a run's closing event commits to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

import numpy as np

from lpirc_power.meter import Setup
from referee.store.database import Database
from referee.store.hash_links import terms_sha256
from referee.store.post_table import PostTable
from referee.store.reading_table import ReadingTable
from referee.store.records import RUN_CLOSED, Closing
from referee.store.served_table import ServedTable

_CLOSED = "SELECT detail, link FROM events WHERE run = ? AND kind = ? ORDER BY id DESC LIMIT 1"
_TERMS = (
    "SELECT images, window_s, setup, meter_identity, meter_standing, images_digest, numbers"
    " FROM runs JOIN image_orders ON run = id WHERE id = ?"
)


class Closings:
    """The evidence in the closing event of each run: bodies, readings, served images, terms."""

    def __init__(
        self,
        database: Database,
        posts: PostTable,
        readings: ReadingTable,
        served: ServedTable,
    ) -> None:
        self._database = database
        self._posts = posts
        self._readings = readings
        self._served = served

    def evidence(self, run: int) -> dict[str, object]:
        """Return the detail of a run's closing event: bodies, head of their chain, readings, served images, terms."""
        posts, head = self._posts.receipt_head(run)
        digests = {
            "readings_sha256": _sha256(self._readings.csv_parts(run)),
            "served_sha256": _sha256(self._served.csv_parts(run)),
            "terms_sha256": self._terms_sha256(run),
        }
        return {"posts": posts, "head": head.hex(), **digests}

    def _terms_sha256(self, run: int) -> str:
        found = self._database.rows(_TERMS, run)[0]
        images, window_s, setup_text, *rest, numbers = found
        order = np.frombuffer(numbers, "<i8").tolist()
        setup = Setup(**json.loads(setup_text))
        terms = [images, window_s, setup.stated, *rest]
        return terms_sha256(terms, order)

    def of_run(self, run: int) -> Closing | None:
        """Return the evidence of a run's close; None before it is closed, or if an earlier version closed it."""
        rows = self._database.rows(_CLOSED, run, RUN_CLOSED)
        if not rows:
            return None
        closed = rows[0]
        detail = json.loads(closed["detail"])
        if "head" not in detail:
            return None
        link = closed["link"].hex()
        return Closing(run, detail["posts"], detail["head"], link)


def _sha256(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
