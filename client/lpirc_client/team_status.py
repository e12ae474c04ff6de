"""The command `status`: what the referee tells a team about itself, in plain lines or as JSON. It opens no run."""

from __future__ import annotations

import argparse
import base64
import json
from typing import Any, Iterator, Mapping

from lpirc_client.commands import password_from, with_credentials
from lpirc_client.connection import Connection
from lpirc_client.errors import BadCredentials, ClientError, printable
from lpirc_client.http_errors import read_document
from lpirc_client.option_types import a_name, file_path
from lpirc_client.terminal import result
from lpirc_client.wire import DETECTIONS

PATH = "/v1/team"
LINE = "  "
PRESENT = ("armed", "open")
OF_BOXES = {"answers": DETECTIONS, "accuracy": "mAP"}
"""The words of a contest of boxes, whose document has no task."""


def add_parser(subparsers: Any, from_file: str, ca_cert: str) -> None:
    """Add the command to the command line; the arguments are the help of options that other commands have, too."""
    text = "show the team's place in the queue, runs, refusals, uploads and answers"
    about = "Show what the referee tells the team about itself. No run is opened."
    parser = subparsers.add_parser("status", help=text, description=about)
    add = parser.add_argument
    add("url", metavar="URL", help="the referee's, http://host:port")
    add("--team", type=a_name, required=True, help="the team's name")
    add("--password-file", type=file_path, metavar="F", help=from_file)
    add("--json", action="store_true", help="print the document itself on stdout")
    add("--ca-cert", metavar="F", help=ca_cert)


def execute(options: argparse.Namespace) -> None:
    """Run the command. Raises ClientError."""
    if ":" in options.team:
        raise ClientError(
            "bad-team",
            f"HTTP Basic cannot send the name {printable(options.team)}, because it has a colon; see the team's page"
            f" at {options.url.rstrip('/')}/team/ instead",
        )
    password = password_from(options.password_file)
    credentials = f"{options.team}:{password}".encode("utf-8", "surrogatepass")
    with Connection(options.url, options.ca_cert) as connection:
        connection.authorize("Basic " + base64.b64encode(credentials).decode())
        try:
            answer = connection.ask("GET", PATH)
            document, lines = read_document(answer, 200, _read)
        except BadCredentials as error:
            raise with_credentials(error, options) from error
    if options.json:
        result(json.dumps(document))
        return
    result("\n".join(lines))


def _read(document: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    return document, [printable(line) for line in in_lines(document)]


def in_lines(document: dict[str, Any]) -> Iterator[str]:
    """Yield the document in plain lines."""
    yield f"{document['team']} at {document['contest']}"
    place = document["place_in_queue"]
    present = [one for one in document["runs"] if one["state"] in PRESENT]
    queued = "not queued"
    if place is not None:
        queued = f"{place} of {document['queued']}"
    elif present:
        queued = f"at {present[0]['station']}"
    attempts = document["attempts"]
    of = "" if attempts["of"] is None else f" of {attempts['of']}"
    yield f"queue: {queued}; attempts used: {attempts['used']}{of}"
    if document["hides_news"]:
        yield "the board is frozen: nobody sees newer results until it is unveiled"
    task = document.get("task") or OF_BOXES
    for run in document["runs"]:
        yield from _run_lines(run, task)
    for one in document["refusals"]:
        times = "" if one["count"] == 1 else f" {one['count']} times"
        yield f"refused{times}: {one['status']} {one['code']}: {one['sentence']}"
    for one in document["uploads"]:
        reason = f": {one['reason']}" if one.get("reason") else ""
        yield f"upload {one.get('file', '')}: {one['state']}{reason}"
    for one in document["questions"]:
        yield from _question_lines("question", one["text"], one["answer"])
    for one in document["answers"]:
        text = one["question"]
        yield from _question_lines("question of another team", text, one["answer"])


def _run_lines(run: dict[str, Any], task: Mapping[str, Any]) -> Iterator[str]:
    reason = f": {run['void_reason']}" if run["void_reason"] else ""
    answered = run.get(
        "images_answered"
    )  # an earlier referee counts only what it served
    images = f"{run['images_served']} of {run['images']} images"
    if answered is not None:
        images = f"{answered} of {run['images']} images answered"
    sent = f"{images}, {run['detections_accepted']} {task['answers']}"
    yield f"run {run['run']} at {run['station']}: {run['state']}{reason}; {sent} in {run['posts']} posts"
    result_ = run["result"]
    if result_ is not None and result_.get("score") is not None:
        rank = f", rank {result_['rank']}" if result_.get("rank") else ""
        # A score of a small energy is published with fewer decimal places.
        digits = max(result_.get("score_digits", 4), 0)
        yield (
            f"{LINE}score {result_['score']:.{digits}f}{rank}; {task['accuracy']} {result_['map']:.5f},"
            f"{_others(result_)} {result_['energy_wh']:.4f} Wh"
        )
    for name in ("not_ranked", "left_out"):
        if result_ is not None and result_.get(name):
            yield f"{LINE}{name.replace('_', ' ')}: {result_[name]}"
    opened = run["open"]
    if opened is None:
        return
    if opened["remaining_s"] is not None:
        yield f"{LINE}{opened['remaining_s']:.0f} s left"
    figures = opened["figures"]
    if figures is not None and figures["power_w"] is not None:
        yield f"{LINE}{figures['power_w']:.2f} W, {figures['energy_wh'] or 0.0:.4f} Wh so far"
    for warning in opened["warnings"]:
        yield f"{LINE}warning: {warning}"


def _others(result_: dict[str, Any]) -> str:
    """Return the further figures of a task, such as top-5 beside top-1."""
    others = result_.get("others") or {}
    return "".join(f" {name} {value:.5f}," for name, value in others.items())


def _question_lines(what: str, text: str, answer: str | None) -> Iterator[str]:
    for number, line in enumerate(text.split("\n")):
        yield line if number else f"{what}: {line}"
    if answer is None:
        yield f"{LINE}no answer yet"
        return
    for number, line in enumerate(answer.split("\n")):
        yield f"{LINE}{line}" if number else f"{LINE}answer: {line}"
