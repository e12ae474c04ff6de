"""Closed runs of a contest whose task is a plug-in: the counting task of `tests/plugin_sample`, with faults."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from lpirc_score.tasks.taken_answers import TakenAnswers
from referee.contest import Contest
from referee.store.records import Run
from tests.plugins_installed import Installer
from tests.referee.factories import START, TEAM
from tests.referee.judging.classified_runs import closed_run

SAMPLE = Path(__file__).parents[2] / "plugin_sample" / "lpirc_sample" / "tasks.py"
PACKAGE = "lpirc_tally"
ENGINE = "lpirc_tally-1.0"


def source_with(**bodies: str) -> str:
    """The source of the plug-in `tally`; each of the functions named gets another body, of one line."""
    text = SAMPLE.read_text().replace('name="counting"', 'name="tally"')
    for name, body in bodies.items():
        text = text.replace(
            "\n\n\nCOUNTING = ",
            f"\n\n\ndef {name}(*given):\n    {body}\n\n\nCOUNTING = ",
        )
    return text


def install(installer: Installer, **bodies: str) -> None:
    """Install the plug-in `tally`."""
    entry = "tally = lpirc_tally:COUNTING"
    installer.install(PACKAGE, "lpirc.tasks", entry, source_with(**bodies))


def tallied_run(
    contest: Contest, counts: Sequence[int] | None = None, *, team: str = TEAM
) -> Run:
    """A closed run that answered image 1, 2, ... of the team with these counts, 3 each by default."""
    images = len(contest.test_set.images)
    counts = [3] * images if counts is None else counts
    run = closed_run(contest, [], team=team)
    given = [{"image": image, "count": one} for image, one in enumerate(counts, 1)]
    body = json.dumps(given).encode()
    contest.store.posts.append(
        run.id,
        TakenAnswers([one["image"] for one in given], is_once=True),
        sha256=hashlib.sha256(body).hexdigest(),
        idempotency_key=None,
        elapsed_s=3.0,
        now=START,
        content_type="application/json",
        body=body,
    )
    return run
