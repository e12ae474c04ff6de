"""The signed receipt of a closed run, which a log-out and the team's own page show."""

from __future__ import annotations

import logging
from dataclasses import asdict, astuple

from referee.contest import Contest
from referee.errors import RefereeError
from referee.store.hash_links import closing_text

logger = logging.getLogger(__name__)


def closing_receipt(contest: Contest, run: int) -> dict[str, object]:
    """Return the signed receipt of a closed run; empty if an earlier version closed it or it never opened.

    A log-out does not fail if the signing key cannot be read.
    """
    closing = contest.store.closings.of_run(run)
    if closing is None:
        return {}
    try:
        signature = contest.key.sign(closing_text(*astuple(closing)))
    except RefereeError as error:
        said = "run %d: its closing receipt could not be made: %s"
        logger.error(said, run, error.sentence)  # noqa: TRY400
        return {}
    receipt = asdict(closing) | {
        "signature": signature,
        "public_key": contest.key.public,
    }
    return {"receipt": receipt}
