"""Batches of images, as stored zips that are made while they are sent."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from referee.errors import RefereeError, WindowClosed
from referee.web.callers import open_run_of
from referee.web.concurrency_limits import too_many_requests
from referee.web.contestant.single_image import LONGEST_NUMBER
from referee.web.contestant.stored_zip import LARGEST_ARCHIVE_BYTES, Entry, StoredZip
from referee.web.http_answers import NOT_TO_BE_KEPT, Answer, Stream
from referee.web.query_parameters import require_known
from referee.web.run_service import RunService
from referee.web.web_request import WebRequest

if TYPE_CHECKING:
    from referee.runs.open_run import OpenRun

logger = logging.getLogger(__name__)

LARGEST_BATCH = 1000
USUAL_BATCH = 100
CHUNK_BYTES = 2**17
"""Size of a chunk of a batch. Each chunk wakes the server's thread once and takes memory while it is sent."""
PARAMETERS = 8  # a query has two
KNOWN = ("first", "count")
LARGEST_NUMBER = 10**LONGEST_NUMBER - 1


def batch(service: RunService, asked: WebRequest) -> Answer:
    """Answer GET or HEAD of /v1/images?first=&count= with a zip; a count beyond the last image is reduced."""
    live = open_run_of(service.callers, asked)
    first, count = wanted(asked.environ.get("QUERY_STRING", ""), live.run.images)
    live.testset_number(first)
    end = min(first + count, live.run.images + 1)
    return batch_of(service, asked, live, range(first, end))


def batch_of(
    service: RunService, asked: WebRequest, live: OpenRun, numbers: range
) -> Answer:
    """Return the images that the team of an open run knows by `numbers`, as a stored zip with entries <n>.jpg.

    A HEAD reveals nothing about them. The batch holds one of the run's slots until it is sent. Raises RefereeError
    `image-unknown`, `window-closed`, `testset-changed`, `too-many-requests`, and `bad-request` for more bytes than a
    zip without ZIP64 can hold.
    """
    live.require_open()
    headers = [("Content-Type", "application/zip"), NOT_TO_BE_KEPT]
    if asked.environ["REQUEST_METHOD"] == "HEAD":
        return Answer(200, headers)
    if not live.slots.acquire(blocking=False):
        raise too_many_requests()
    try:
        archive = _archive(service, live, numbers)
    except BaseException:
        live.slots.release()
        raise
    headers.append(("Content-Length", str(archive.size)))
    return Answer(
        200, headers, Stream(_chunks(live, numbers, archive), live.slots.release)
    )


def _archive(service: RunService, live: OpenRun, numbers: range) -> StoredZip:
    originals = live.order[numbers.start - 1 : numbers.stop - 1].tolist()
    facts = service.images.facts
    entries = [
        Entry(f"{n}.jpg", facts(o), o) for n, o in zip(numbers, originals, strict=True)
    ]
    archive = StoredZip(entries, service.images.read)
    if archive.size > LARGEST_ARCHIVE_BYTES:
        raise RefereeError(
            "bad-request",
            "These images exceed the 2 GiB that one batch may have; ask for fewer.",
        )
    return archive


def _chunks(live: OpenRun, numbers: range, archive: StoredZip) -> Iterator[bytes]:
    """Yield the batch in chunks, logging each image when it is handed out.

    It stops early when the window ends or a file cannot be read any more. The client then sees a body shorter than its
    stated length.
    """
    try:
        for chunk, ended in archive.chunks(CHUNK_BYTES):
            live.serve([(numbers[place], size_bytes) for place, size_bytes in ended])
            yield chunk
    except WindowClosed:
        return
    except RefereeError as error:
        logger.error("a batch was cut short: %s", error.sentence)  # noqa: TRY400 - its words suffice


def wanted(query: str, images: int) -> tuple[int, int]:
    """Return (first, count) of the requested batch of a run's images. Raises RefereeError `bad-request`."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=PARAMETERS)
    except ValueError as error:
        raise RefereeError(
            "bad-request",
            f"The query has more than {PARAMETERS} parameters; send only `first` and `count`.",
        ) from error
    given = dict(pairs)
    if len(given) != len(pairs):
        raise RefereeError(
            "bad-request",
            "The query has a parameter twice; send `first` and `count` once each.",
        )
    require_known(given, KNOWN)
    first = _whole(given, "first", 1, LARGEST_NUMBER, images)
    return first, _whole(given, "count", USUAL_BATCH, LARGEST_BATCH, LARGEST_BATCH)


def _whole(
    given: dict[str, str], name: str, default: int, largest: int, told: int
) -> int:
    """Return a whole number, at most the largest; a refusal tells of `told`: an image beyond it is refused later."""
    text = given.get(name, str(default))
    value = (
        int(text)
        if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER
        else 0
    )
    if not 1 <= value <= largest:
        shown = text if len(text) <= LONGEST_NUMBER else text[:LONGEST_NUMBER] + "..."
        raise RefereeError(
            "bad-request",
            f"{name} is {shown!r}; it must be a whole number from 1 to {told}.",
        )
    return value
