"""Images as answers: one JPEG, or a batch of them as a zip; whole, in part, or as what HEAD tells of them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from urllib.parse import parse_qsl

from referee.errors import RefereeError
from referee.runs.open_run import LiveRun
from referee.store.records import Run
from referee.web.answers import Answer, Environ, Stream
from referee.web.conditions import Selection, select
from referee.web.contestant.archives import LARGEST_ARCHIVE_BYTES, Entry, Part, StoredZip, joined
from referee.web.sessions import live_run_of
from referee.web.state import WebState
from referee.web.transfers import Kind, Transfer

logger = logging.getLogger(__name__)

IMAGES_PATH = "/v1/images"
LONGEST_NUMBER = 12  # digits; no test set is larger
LARGEST_BATCH = 1000
USUAL_BATCH = 100
CHUNK_BYTES = 2**17  # of a batch: a chunk takes a wake-up of the server's thread, and memory while it is sent
PARAMETERS = 8  # a query has two

_RANGES = ("Accept-Ranges", "bytes")
# Its client may keep it, and must ask before using it again.
_OWN_COPY = ("Cache-Control", "private, no-cache")


def image(state: WebState, environ: Environ) -> Answer:
    """GET or HEAD of /v1/images/<n>: one JPEG, while the window is open."""
    live = live_run_of(state, environ)
    number = image_number(_last_part(environ), live)
    return image_of(state, environ, live, number)


def image_of(state: WebState, environ: Environ, live: LiveRun, number: int) -> Answer:
    """The JPEG that the team of an open run knows by `number`.

    Raises RefereeError `image-unknown`, `window-closed`, `testset-changed`, `precondition-failed`,
    `range-not-satisfiable`.
    """
    original = live.testset_number(number)
    jpeg = state.images.read(original)
    tag = _tag(state, live.run, state.contest.test_set.images[original - 1].sha256)
    selection = select(environ, tag, len(jpeg))
    size = selection.stop - selection.start
    served = environ["REQUEST_METHOD"] != "HEAD" and selection.status != 304
    live.serve([(number, size)] if served else [])
    headers = _headers(selection, tag, len(jpeg), "image/jpeg")
    if not served:
        return Answer(selection.status, headers)
    return Answer(
        selection.status, headers, jpeg if size == len(jpeg) else jpeg[selection.start : selection.stop]
    )


def batch(state: WebState, environ: Environ) -> Answer:
    """GET or HEAD of /v1/images?first=&count=: images as one zip; a count that reaches beyond the last is cut."""
    live = live_run_of(state, environ)
    first, count = _wanted(environ.get("QUERY_STRING", ""))
    live.testset_number(first)
    return batch_of(state, environ, live, range(first, min(first + count, live.run.images + 1)))


def batch_of(state: WebState, environ: Environ, live: LiveRun, numbers: range) -> Answer:
    """The images that the team of an open run knows by `numbers`, as a stored zip with entries <n>.jpg.

    Raises RefereeError `image-unknown`, `window-closed`, `testset-changed`, `precondition-failed`,
    `range-not-satisfiable`, `too-many-downloads`; `bad-request` for more bytes than a zip of the old form takes.
    """
    transfers, address = state.transfers, environ.get("REMOTE_ADDR", "")
    # Before it is laid out, which takes a millisecond or two and is asked for by HEAD, too.
    transfer = transfers.begin(Kind.DOWNLOAD, live.run.id, address, state.clock.monotonic_s())
    try:
        answer = _batch(state, environ, live, numbers, transfer)
    except BaseException:
        transfers.end(transfer)
        raise
    if not isinstance(answer.body, Stream):  # else it is ended with the sending
        transfers.end(transfer)
    return answer


def _batch(state: WebState, environ: Environ, live: LiveRun, numbers: range, transfer: Transfer) -> Answer:
    archive = state.layouts.of(
        live.run.id, numbers, lambda: StoredZip([_entry(state, live, number) for number in numbers])
    )
    if archive.size > LARGEST_ARCHIVE_BYTES:
        raise RefereeError(
            "bad-request", f"These images make {archive.size} bytes, too many for one batch; ask for fewer."
        )
    about = f"{numbers.start} to {numbers.stop} of {state.contest.test_set.digest}"
    tag = _tag(state, live.run, about)
    selection = select(environ, tag, archive.size)
    headers = _headers(selection, tag, archive.size, "application/zip")
    live.serve([])
    if environ["REQUEST_METHOD"] == "HEAD" or selection.status == 304:
        return Answer(selection.status, headers)
    chunks = _chunks(state, live, numbers, transfer, archive.parts(selection.start, selection.stop))
    return Answer(selection.status, headers, Stream(chunks, partial(state.transfers.end, transfer)))


def _chunks(
    state: WebState, live: LiveRun, numbers: range, transfer: Transfer, parts: Iterator[Part]
) -> Iterator[bytes]:
    """The batch as it is sent, its images logged as they go out; it ends early when a file cannot be read any more.

    It does so at the end of the window, too. Its client sees a body that is shorter than was said.
    """
    try:
        for chunk, files in joined(parts, CHUNK_BYTES):
            live.serve([(numbers[place], size) for place, size in files])
            yield chunk
            transfer.goes_on(len(chunk), state.clock.monotonic_s())
    except RefereeError as error:
        if error.code != "window-closed":
            logger.error("a batch was cut short: %s", error.sentence)  # noqa: TRY400 - its words suffice


def image_number(text: str, live: LiveRun) -> int:
    """The number that the text is. Raises RefereeError `image-unknown` for a text that is none."""
    if not (text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER):
        shown = text if len(text) <= LONGEST_NUMBER else text[:LONGEST_NUMBER] + "..."
        raise RefereeError(
            "image-unknown", f"{shown!r} is no image number; the images are 1 to {live.run.images}."
        )
    return int(text)


def _entry(state: WebState, live: LiveRun, number: int) -> Entry:
    original = live.testset_number(number)
    return Entry(f"{number}.jpg", state.images.facts(original), partial(state.images.read, original))


def _wanted(query: str) -> tuple[int, int]:
    """(first, count) of a batch."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=PARAMETERS)
    except ValueError as error:
        raise RefereeError(
            "bad-request", f"The query has more than {PARAMETERS} parameters; send first and count."
        ) from error
    given = dict(pairs)
    if len(given) != len(pairs):
        raise RefereeError("bad-request", "The query has a parameter twice; send first and count.")
    first = _whole(given, "first", 1, 10**LONGEST_NUMBER - 1)
    return first, _whole(given, "count", USUAL_BATCH, LARGEST_BATCH)


def _whole(given: dict[str, str], name: str, default: int, largest: int) -> int:
    text = given.get(name, str(default))
    value = int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER else 0
    if not 1 <= value <= largest:
        shown = text if len(text) <= LONGEST_NUMBER else text[:LONGEST_NUMBER] + "..."
        raise RefereeError(
            "bad-request", f"{name} is {shown!r}; it must be a whole number from 1 to {largest}."
        )
    return value


def _tag(state: WebState, run: Run, about: str) -> str:
    """An entity tag that is keyed with the run: it must not tell which image of another run this one is."""
    digest = state.entity_tags.copy()
    digest.update(f"{run.id} {about}".encode())
    return f'"{digest.hexdigest()}"'


def _headers(selection: Selection, tag: str, size: int, media_type: str) -> list[tuple[str, str]]:
    headers = [("ETag", tag), _OWN_COPY]
    if selection.status != 304:
        length = str(selection.stop - selection.start)
        headers += [("Content-Type", media_type), ("Content-Length", length), _RANGES]
    if selection.status == 206:
        headers.append(("Content-Range", f"bytes {selection.start}-{selection.stop - 1}/{size}"))
    return headers


def _last_part(environ: Environ) -> str:
    path: str = environ["PATH_INFO"]
    return path.rpartition("/")[2].encode("latin-1").decode("utf-8", "replace")
