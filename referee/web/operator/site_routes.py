"""The contest as a static site, from the console: published by a command of its own, and downloaded as one ZIP."""

from __future__ import annotations

import json
import tempfile
import zipfile
from http import HTTPStatus
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, jsonify

from referee.errors import RefereeError
from referee.publishing.site_manifest import MANIFEST, read_manifest
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.command_turns import CommandTurns, Refused, output_of
from referee.web.html_pages import html, page, rendered
from referee.web.http_answers import Answer, Stream, through_flask
from referee.web.operator.console import lead_to_log_in
from referee.web.operator.operator_access import csrf_token
from referee.web.operator.run_routes import NOT_GIVEN, act
from referee.web.request_bodies import is_yes, read_texts
from referee.web.request_slots import OPERATOR_PATH

FOLDER = "site"
"""The site's folder, in the contest folder."""
NO_SITE = Refused("site-failed", "Nothing was published")
PART_BYTES = 2**18
MB = 1e6

blueprint = Blueprint("site", __name__, url_prefix=f"{OPERATOR_PATH}/site")
blueprint.before_request(lead_to_log_in)
_turns = CommandTurns(
    "Another operator publishes or downloads the site; try again when that is done."
)


@blueprint.get("/")
def site() -> Response:
    """Answer with the page."""
    contest = part(Callers).contest.config.name
    return page("operator/site.html", contest=contest, csrf=csrf_token(), **_shown())


@blueprint.get("/live")
def live() -> Response:
    """Answer with the changing part of the page."""
    return html(rendered("operator/site_live.html", **_shown()))


@blueprint.post("/publish")
def publish() -> Response:
    """Publish what the public may see now; with `final` = "yes" also reports, bundles and certificates."""
    (final,) = read_texts(final=NOT_GIVEN)
    contest = part(Callers).contest.folder
    words = ["publish", str(contest), str(contest / FOLDER), "--json"]
    if is_yes("final", final):
        words.append("--final")
    with _turns.turn(), act("publish-site", final=final or None):
        printed = output_of(*words, refused=NO_SITE)
    made = json.loads(printed)
    left_out = " ".join(made["left_out"])
    size_mb = made["size"] / MB
    sentence = (
        f"The site is published: {made['files']} files, {size_mb:.1f} MB. {left_out}"
    )
    return jsonify(made | {"sentence": sentence.strip()})


@blueprint.get("/site.zip")
def download() -> Response:
    """Answer with the published site as a ZIP. Raises RefereeError `site-missing`."""
    contest = part(Callers).contest.folder
    with _turns.turn():
        folder = _present(contest)
        # Beside the site, because a system's folder for temporary files may be small.
        content = tempfile.TemporaryFile(dir=contest)  # noqa: SIM115 - the stream closes it
        try:
            with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
                for file in sorted(folder.rglob("*")):
                    archive.write(file, Path(FOLDER) / file.relative_to(folder))
        except BaseException:
            content.close()
            raise
    size = content.tell()
    content.seek(0)
    headers = [
        ("Content-Type", "application/zip"),
        ("Content-Length", str(size)),
        ("Content-Disposition", f'attachment; filename="{FOLDER}.zip"'),
    ]
    parts = iter(lambda: content.read(PART_BYTES), b"")
    return through_flask(Answer(HTTPStatus.OK, headers, Stream(parts, content.close)))


def _present(contest: Path) -> Path:
    """Return the folder of the version that is published. Raises RefereeError `site-missing`."""
    folder = (contest / FOLDER).resolve()
    if not (folder / MANIFEST).is_file():
        sentence = "No site is published from the console yet; publish it first."
        raise RefereeError("site-missing", sentence)
    return folder


def _shown() -> dict[str, Any]:
    """Return what the page says of the published site, and of the board that it would show."""
    store = part(Callers).contest.store
    row = store.published.get()
    shown: dict[str, Any] = {"board": "live" if row is None else row.state}
    try:
        folder = _present(part(Callers).contest.folder)
        manifest = read_manifest((folder / MANIFEST).read_bytes())
        sizes = [one.stat().st_size for one in folder.rglob("*") if one.is_file()]
    except (RefereeError, OSError, ValueError):
        return shown | {"site": None}
    names = manifest.files
    return shown | {
        "site": {
            "files": len(sizes),
            "size_mb": sum(sizes) / MB,
            "as_of_utc": manifest.about["as_of_utc"],
            "state": manifest.about["state"],
            "reports": sum(one.startswith("reports/") for one in names),
            "folder": str(folder.parent.parent / FOLDER),
        }
    }
