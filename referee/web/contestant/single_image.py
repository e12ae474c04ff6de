"""A single image: sent as a JPEG, or shown on the station's screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from referee.errors import RefereeError
from referee.runs.camera_screens import Picture
from referee.web.callers import open_run_of
from referee.web.http_answers import NOT_TO_BE_KEPT, Answer, Environ
from referee.web.run_service import RunService
from referee.web.web_request import WebRequest

if TYPE_CHECKING:
    from referee.runs.open_run import OpenRun

IMAGES_PATH = "/v1/images"
LONGEST_NUMBER = 12  # digits; no test set is larger


def image(service: RunService, asked: WebRequest) -> Answer:
    """Answer GET or HEAD of /v1/images/<n> with one JPEG, while the window is open."""
    live = open_run_of(service.callers, asked)
    number = image_number(_last_part(asked.environ), live)
    return image_of(service, asked, live, number)


def image_of(
    service: RunService, asked: WebRequest, live: OpenRun, number: int
) -> Answer:
    """Return the JPEG that the team of an open run knows by `number`; a HEAD reveals nothing, not even its length.

    Raises RefereeError `image-unknown`, `window-closed`, `testset-changed`.
    """
    original = live.testset_number(number)
    headers = [("Content-Type", "image/jpeg"), NOT_TO_BE_KEPT]
    if asked.environ["REQUEST_METHOD"] == "HEAD":
        live.require_open()
        return Answer(200, headers)
    jpeg = service.images.read(original)
    live.serve([(number, len(jpeg))])
    return Answer(200, [*headers, ("Content-Length", str(len(jpeg)))], jpeg)


def show(service: RunService, live: OpenRun, number: int) -> None:
    """Show an image on the screen of the run's station; it is logged as served once the screen shows it.

    Raises RefereeError `image-unknown`, `window-closed`, `testset-changed`, `display-failed`.
    """
    jpeg = service.images.read(live.testset_number(number))
    live.require_open()
    service.screens.show(live.run.station, Picture(live.run.id, number))
    live.serve([(number, len(jpeg))])


def image_number(text: str, live: OpenRun) -> int:
    """Return the image number in the text. Raises RefereeError `image-unknown` if it is not a number."""
    if not (text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER):
        shown = text if len(text) <= LONGEST_NUMBER else text[:LONGEST_NUMBER] + "..."
        raise RefereeError(
            "image-unknown",
            f"{shown!r} is not an image number; the images are 1 to {live.run.images}.",
        )
    return int(text)


def _last_part(environ: Environ) -> str:
    path: str = environ["PATH_INFO"]
    return path.rpartition("/")[2].encode("latin-1").decode("utf-8", "replace")
