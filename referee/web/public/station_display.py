"""The screen of a station in the camera track: a page that shows the image that the station's team requests.

The images are secret, so the page needs the operator's log-in.
"""

from __future__ import annotations

from flask import Blueprint, Response, jsonify, request

from referee.errors import RefereeError
from referee.runs.camera_screens import Picture
from referee.runs.open_run import OpenRun
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.contestant import single_image
from referee.web.html_pages import page
from referee.web.operator.operator_access import acting, led_to_log_in
from referee.web.run_service import RunService

blueprint = Blueprint("display", __name__, url_prefix="/display")


@blueprint.before_request
def require_operator() -> None:
    """Refuse all but operators; the page itself redirects to the log-in."""
    if request.endpoint != "display.screen":
        acting()


@blueprint.get("/<station>")
def screen(station: str) -> Response:
    """Answer with the page, which fills the screen."""
    elsewhere = led_to_log_in()
    if elsewhere is not None:
        return elsewhere
    contest = part(Callers).contest
    return page("display.html", station=contest.station(station).name)


@blueprint.get("/<station>/next")
def following(station: str) -> Response:
    """Answer with the next image to show, `{run, image}`, or {} if there is none, waiting up to a second for a change.

    `run` and `image` in the query are what the screen shows now.
    """
    part(Callers).contest.station(station)
    run, image = (request.args.get(name, type=int) for name in Picture._fields)
    shown = None if run is None or image is None else Picture(run, image)
    wanted = part(RunService).screens.next(
        station, shown, lambda number: _is_open(number, station)
    )
    return jsonify({} if wanted is None else wanted._asdict())


@blueprint.get("/<station>/runs/<int:run>/images/<number>")
def image(station: str, run: int, number: str) -> Response:
    """Answer with the JPEG that the station's open run knows by that number.

    Fetching it does not count the image as served.
    """
    live = _open_run(run, station)
    original = live.testset_number(single_image.image_number(number, live))
    jpeg = part(RunService).images.read(original)
    return Response(jpeg, content_type="image/jpeg")


def _open_run(run: int, station: str) -> OpenRun:
    live = part(Callers).control.live(run)
    live.require_open()
    if live.run.station != station:
        raise RefereeError(
            "run-unknown", f"Run {run} is at station {live.run.station}.", run=run
        )
    return live


def _is_open(run: int, station: str) -> bool:
    try:
        _open_run(run, station)
    except RefereeError:
        return False
    return True
