"""Gets the models that a referee has waiting for this device, and measures each with the harness."""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import requests

from lpirc_client import metering
from lpirc_client.commands import password_from
from lpirc_client.connection import Connection, pauses_s
from lpirc_client.errors import ClientError, TransientError, missing_extra
from lpirc_client.http_errors import from_response, json_object
from lpirc_client.operating_system import kill_group, require_models
from lpirc_client.option_types import any_path, file_path
from lpirc_client.terminal import say
from lpirc_client.zip_stream import numbered

HARNESS = (sys.executable, "-m", "lpirc_client.harness.cli", "bench")
ANSWER_S = 300.0  # the referee judges a result before it answers
BATCH = 50
METER_CHECKED_S = 60.0  # while nothing waits
METER_RELEASED_S = 25.0  # 10 s for a harness that hangs, 10 s for a meter that is away
PASSED_ON = (
    "task",
    "runtime",
    "rules",
    "preprocessing",
    "threads",
    "budget_s",
    "energy_loop_s",
)
"""Options of the harness that the referee sets."""


def add_parser(subparsers: Any) -> None:
    """Add the command to the command line."""
    text = "measure the models that wait for this device at a referee"
    parser = subparsers.add_parser("work", help=text, description=__doc__)
    add = parser.add_argument
    add("url", metavar="URL", help="the referee's, http://host:port")
    add("--name", required=True, help="the name of this device in the contest")
    text = (
        "file whose first line is the device's key (else LPIRC_PASSWORD, else a prompt)"
    )
    add("--key-file", type=file_path, metavar="F", help=text)
    text = "keep the tracks' images in this folder (default: lpirc-images)"
    add(
        "--images",
        type=any_path,
        default=Path("lpirc-images"),
        metavar="FOLDER",
        help=text,
    )
    text = "measure energy with the meter at this address; nothing else may use it (needs lpirc_power)"
    add("--meter", metavar="ADDRESS", help=text)
    add("--once", action="store_true", help="end after one model")
    add(
        "--ca-cert",
        metavar="F",
        help="PEM file of a certificate to trust, for a referee whose certificate no public authority signed",
    )


def execute(options: argparse.Namespace) -> None:
    """Measure waiting models, and wait for more, until Ctrl-C. Raises ClientError."""
    require_models()  # before a referee leases this device anything
    if sys.version_info < (3, 11) or not (
        find_spec("ai_edge_litert") or find_spec("onnxruntime")
    ):
        raise missing_extra(
            "measuring models", "Python 3.11 and LiteRT or ONNX Runtime", "models"
        )
    greeting = {"name": options.name, "version": version("lpirc-client")}
    if options.meter is not None:
        metering.require_program()
        greeting["meter"] = metering.identity_at(options.meter)
    key = password_from(options.key_file, "key")
    with Connection(options.url, options.ca_cert) as connection:
        connection.authorize(f"Bearer {key}")
        is_announced = False
        checked_s = time.monotonic()
        while True:
            if (
                options.meter is not None
                and time.monotonic() >= checked_s + METER_CHECKED_S
            ):
                greeting["meter"] = _meter_again(options.meter)
                checked_s = time.monotonic()
            answer = _answer(
                connection, "POST", "/v1/jobs", json.dumps(greeting).encode()
            )
            if answer.status_code == 204:
                if not is_announced:
                    say(
                        f"No model waits for {options.name}; the referee is asked again until one does."
                    )
                is_announced = True
                time.sleep(float(answer.headers.get("Retry-After", "5")))
                continue
            work = json_object(answer)
            if "job" not in work:
                raise from_response(
                    f"{connection.url}/v1/jobs", answer
                )  # it is not a referee
            _work(connection, work, options.images, options.meter)
            if options.once:
                return
            is_announced = False
            checked_s = -math.inf


def _meter_again(address: str) -> str:
    """Wait until the meter answers and return its identity; no job is leased meanwhile."""
    for attempt, pause in enumerate(pauses_s()):
        time.sleep(pause if attempt else 0)
        try:
            return metering.identity_at(address)
        except metering.MeterFailed as error:
            if attempt == 0:
                say(
                    f"{error.sentence} This device requests no model until the meter answers."
                )
    raise AssertionError


def _work(
    connection: Connection,
    work: dict[str, Any],
    images: Path,
    meter: str | None,
) -> None:
    path = f"/v1/jobs/{work['job']}"
    try:
        try:
            what, printed = _measured(
                connection,
                path,
                work,
                images,
                meter,
            )
        except (ClientError, OSError) as error:
            what = "failed"
            printed = str(error).encode()
        outcome = json_object(_answer(connection, "POST", f"{path}/{what}", printed))[
            "outcome"
        ]
    except ClientError as error:  # such as a lease that is lost
        outcome = error.sentence
    except KeyboardInterrupt:
        with suppress(ClientError):
            connection.ask("DELETE", path)
        raise
    say(f"{work['track']}, {work['model']['name']}: {outcome}")


def _measured(
    connection: Connection,
    path: str,
    work: dict[str, Any],
    images: Path,
    meter: str | None,
) -> tuple[str, bytes]:
    """Return the kind of document to hand in, `result` or `failed`, and its content. Raises ClientError, OSError."""
    folder = _fetched(connection, path, work["images"], images)
    data = _answer(connection, "GET", f"{path}/model").content
    arguments = [
        f"--{one.replace('_', '-')}={work['bench'][one]}"
        for one in PASSED_ON
        if work["bench"].get(one)
    ]
    with tempfile.TemporaryDirectory() as scratch:
        model = Path(scratch) / hashlib.sha256(data).hexdigest()
        model.write_bytes(data)
        arguments += [
            f"--images={folder.absolute()}",
            f"--parent={os.getpid()}",
            "--json",
            "--",
            str(model),
        ]
        command = [*HARNESS, *arguments]
        ending_s = 0.0
        if meter is not None:
            command = metering.measuring(meter, command)
            ending_s = METER_RELEASED_S
        every_s = work["lease_s"] / 3
        limit_s = work["limit_s"]
        code, printed, complaint = _run(
            command,
            connection,
            path,
            every_s,
            limit_s,
            ending_s,
        )
    if code != 0:
        return "failed", printed or complaint
    document = json.loads(printed)
    document["device"]["host"] = work["device"]
    return "result", json.dumps(document).encode()


def _run(
    command: list[str],
    connection: Connection,
    path: str,
    every_s: float,
    limit_s: float,
    ending_s: float = 0.0,
) -> tuple[int, bytes, bytes]:
    """Run the harness and renew the lease meanwhile; kill its process group when the lease is lost, or on Ctrl-C.

    If `ending_s` is above 0, it first asks the harness to end, and waits so many seconds.
    Raises ClientError `harness-hung` when it still runs after `limit_s`.
    """
    pipe = subprocess.PIPE
    end_s = time.monotonic() + limit_s
    with subprocess.Popen(  # noqa: S603 - our own
        command,
        stdin=subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        start_new_session=True,
    ) as process:
        try:
            while True:
                left_s = max(end_s - time.monotonic(), 0)
                with suppress(subprocess.TimeoutExpired):
                    printed, complaint = process.communicate(
                        timeout=min(every_s, left_s)
                    )
                    return process.returncode, printed, complaint
                if time.monotonic() >= end_s:
                    words = f"The harness did not finish within {limit_s:g} s, the track's limit, and was ended."
                    raise ClientError(
                        "harness-hung", f"{words} Look at the device, and restart it."
                    )
                with suppress(
                    TransientError
                ):  # measuring goes on while the referee is away
                    connection.ask("PUT", path)
        finally:
            _end(process, ending_s)


def _end(process: subprocess.Popen[bytes], ending_s: float) -> None:
    """End a process with its group; a process that uses a meter first restores the meter's settings."""
    try:
        if ending_s and process.poll() is None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=ending_s)
    finally:
        with suppress(ProcessLookupError, PermissionError):  # it has just ended
            kill_group(process.pid)


def _fetched(
    connection: Connection,
    path: str,
    wanted: dict[str, Any],
    kept: Path,
) -> Path:
    """Return the folder with a test set's images by number, after fetching those that are missing."""
    folder = kept / Path(wanted["sha256"]).name
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        number: folder / f"{number:08}.jpg" for number in range(1, wanted["count"] + 1)
    }
    for first, file in files.items():
        if not file.exists():
            batch = _answer(
                connection, "GET", f"{path}/images?first={first}&count={BATCH}"
            ).content
            for number, jpeg in numbered(io.BytesIO(batch).read, first):
                (folder / "partial").write_bytes(jpeg)
                (folder / "partial").replace(files[number])
    digests = (
        f"{n} {hashlib.sha256(file.read_bytes()).hexdigest()}\n"
        for n, file in files.items()
    )
    if hashlib.sha256("".join(digests).encode()).hexdigest() != wanted["sha256"]:
        for file in files.values():
            file.unlink()
        raise ClientError(
            "wrong-images",
            f"{folder}: these are not the track's images; they are removed and fetched again",
        )
    return folder


def _answer(
    connection: Connection,
    method: str,
    path: str,
    body: bytes | None = None,
) -> requests.Response:
    """Ask until the referee answers; report once that it is unreachable. Raises ClientError for a refusal."""
    for attempt, pause in enumerate(pauses_s()):
        time.sleep(pause if attempt else 0)
        try:
            return connection.ask(method, path, body, ANSWER_S)
        except TransientError as error:
            if attempt == 0:
                say(f"{error.sentence}; waiting for the referee")
    raise AssertionError
