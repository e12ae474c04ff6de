"""Verifies a device's claimed answers: the referee runs the same model on a few images and compares.

The images are drawn with the contest's secret, so no device knows them before it has sent its document. The model runs
with the same confinement as at its upload. Answers of two runtimes may differ a little, so one image in twenty may
differ.
"""

from __future__ import annotations

import hmac
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lpirc_score.metrics.overlap import overlaps
from lpirc_tracks import Track
from lpirc_tracks.submissions import harness
from lpirc_tracks.submissions.confining import hidden_files, unit_socket
from lpirc_tracks.submissions.harness import Limits
from lpirc_tracks.submissions.kept_models import kept_model
from lpirc_tracks.submissions.open_track import OpenTrack, configured_track
from lpirc_tracks.submissions.result_document import ResultDocument, parse_result
from lpirc_tracks.submissions.results_files import EntryDesk
from referee.errors import RefereeError
from referee.store.model_records import Submission
from referee.workers import WorkerLost
from referee.workers.job_dispatch import LEASE_S

IMAGES = 20
IMAGES_FOR_ONE_DIFFERENCE = 20
TIMEOUT_S = 10.0
"""Timeout of one inference by the referee, however long the device takes for one."""
BEST_ROWS = 20  # of an image, by confidence
LEAST_OVERLAP = 0.75  # intersection over union of one box of both
CONFIDENCE_SHARE = 0.1
"""Difference allowed between the confidences of two runtimes, relative to the best confidence in the image."""
CATEGORY = 1  # columns of a row
CONFIDENCE = 2
CORNERS = slice(3, 7)
LEAST_PARTNERS = 0.9  # of the best rows of an image, on both sides


def doubt_of(
    desk: EntryDesk,
    track: OpenTrack,
    made: Submission,
    keep_lease: Callable[[], object],
    document: ResultDocument,
) -> str | None:
    """Return why a device's document must be reviewed, or None if the referee's own run confirms it.

    The run is in a low-priority worker that may be busy; `keep_lease` is called until it is done. `document` must be
    valid for `track` and `made`. Raises what `keep_lease` raises.
    """
    contest = desk.contest
    config = configured_track(contest, made.track)
    numbers = drawn_images(contest.secret, made, document["processed"])
    running = desk.workers.submit(
        run_again,
        kept_model(contest, made),
        made.model_file,
        track.rule,
        [track.test_set.image_path(number) for number in numbers],
        Limits(timeout_s=TIMEOUT_S, repeats=1, confined=not config.unconfined),
        hidden_files(contest),
    )
    while not wait([running], LEASE_S / 3).done:
        keep_lease()
    try:
        own = running.result()
    except (RefereeError, WorkerLost) as error:
        reason, _, _ = (
            str(error).removesuffix(".").partition("; --")
        )  # which option would allow more
        return f"the referee could not repeat the device's answers on {len(numbers)} images: {reason}."
    return difference(document, own, numbers)


def drawn_images(secret: bytes, made: Submission, processed: int) -> list[int]:
    """Draw the images to repeat from those that the device has answered; return their numbers, ascending."""
    about = f"claim {made.id} {made.split} {made.model_sha256}"
    key = hmac.digest(secret, about.encode(), "sha256")

    def place(number: int) -> bytes:
        return hmac.digest(key, str(number).encode(), "sha256")

    in_drawn_order = sorted(range(1, processed + 1), key=place)
    return sorted(in_drawn_order[:IMAGES])


def run_again(
    model: bytes,
    file: str,
    rule: Track,
    images: Sequence[Path],
    limits: Limits,
    hidden: Sequence[Path],
) -> ResultDocument:
    """Run a model on images here, and return the result document, with the images numbered from 1 in order.

    Raises RefereeError as `harness.bench`.
    """
    named = {f"{place:08}.jpg": path for place, path in enumerate(images, start=1)}
    unit = unit_socket()
    if unit is None:
        return _run_here(model, file, rule, named, limits)
    contents = {name: path.read_bytes() for name, path in named.items()}
    options = harness.of_rule(rule) | {
        "preprocessing": rule.preprocessing,
        "threads": rule.threads,
        "timeout_s": limits.timeout_s,
        "repeats": limits.repeats,
    }
    done = harness.in_unit(unit, "bench", file, model, options, contents, hidden)
    if done.returncode != 0:
        raise harness.failure(done)
    return parse_result(done.stdout)


def _run_here(
    model: bytes, file: str, rule: Track, named: Mapping[str, Path], limits: Limits
) -> ResultDocument:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "images"
        folder.mkdir()
        for name, path in named.items():
            (folder / name).symlink_to(path.resolve())
        own = Path(scratch) / f"model{Path(file).suffix.lower()}"
        own.write_bytes(model)
        return parse_result(harness.bench(own, folder, rule, None, limits))


def difference(
    document: ResultDocument, own: ResultDocument, numbers: Sequence[int]
) -> str | None:
    """Return how a device's answers on those images differ from the referee's own, or None if they agree."""
    differing = [
        number
        for place, number in enumerate(numbers, start=1)
        if not _is_equal(document, number, own, place)
    ]
    if len(differing) <= len(numbers) // IMAGES_FOR_ONE_DIFFERENCE:
        return None
    shown = ", ".join(map(str, differing))
    return f"the device's answers differ from the referee's own on {len(differing)} of {len(numbers)} images ({shown})."


def _is_equal(
    document: ResultDocument, number: int, own: ResultDocument, place: int
) -> bool:
    if document["task"] == "classification":
        return dict(document.answers).get(number) == dict(own.answers).get(place)
    theirs = _rows(document, number)
    ours = _rows(own, place)
    scale = max(
        (float(rows[0, CONFIDENCE]) for rows in (theirs, ours) if len(rows)),
        default=0.0,
    )
    their_best = theirs[:BEST_ROWS]
    our_best = ours[:BEST_ROWS]
    found = _with_partner(their_best, ours, scale) + _with_partner(
        our_best, theirs, scale
    )
    return found >= LEAST_PARTNERS * (len(their_best) + len(our_best))


def _rows(document: ResultDocument, number: int) -> NDArray[np.float64]:
    """Return the rows (M, 7) of an image, highest confidence first."""
    rows = document.rows[document.rows[:, 0] == number]
    surest_first: NDArray[np.float64] = rows[
        np.argsort(-rows[:, CONFIDENCE], kind="stable")
    ]
    return surest_first


def _with_partner(
    rows: NDArray[np.float64], others: NDArray[np.float64], scale: float
) -> int:
    """Count the rows that match one of the other rows: same category, similar confidence, overlapping box."""
    found = 0
    for row in rows:
        is_same_category = others[:, CATEGORY] == row[CATEGORY]
        apart = np.abs(others[:, CONFIDENCE] - row[CONFIDENCE])
        alike = others[is_same_category & (apart <= CONFIDENCE_SHARE * abs(scale))]
        if len(alike):
            boxes = np.tile(row[CORNERS], (len(alike), 1))
            found += bool(overlaps(boxes, alike[:, CORNERS]).max() >= LEAST_OVERLAP)
    return found
