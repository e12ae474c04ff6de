"""What `run` and `replay` do: prepare everything, wait for the referee, log in, work, report."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from lpirc_client import detectors, progress, replay
from lpirc_client.errors import ClientError, NotStarted, TransientError
from lpirc_client.parent import ending_with
from lpirc_client.receipts import ReceiptFile
from lpirc_client.run import FAILED, FINISHED, WINDOW_CLOSED, Answer, ImageRun, Plan, Summary
from lpirc_client.session import Session
from lpirc_client.terminal import result, say
from lpirc_client.wire import Login

WAIT_PAUSE_S = 0.2
ENDS = {FINISHED: "finished", WINDOW_CLOSED: "the window closed", FAILED: "failed"}


def execute(options: argparse.Namespace) -> None:
    """Do what the command line asks. Raises ClientError, or KeyboardInterrupt that says what to do next."""
    with ending_with(options.parent):
        _contest(options)


def wait_for(session: Session, wait_s: float) -> None:
    """Return when the referee answers; raise its failure if it does not within `wait_s` seconds."""
    until = time.monotonic() + wait_s
    while True:
        try:
            session.health()
        except TransientError:
            if time.monotonic() + WAIT_PAUSE_S > until:
                raise
            time.sleep(WAIT_PAUSE_S)
        else:
            return


def log_in(session: Session, team: str, password: str) -> Login:
    """Log in; in a heat, wait for its start signal, however long that takes."""
    announced = False
    while True:
        try:
            return session.login(team, password)
        except NotStarted as error:
            if not announced:
                say(f"{error.sentence} Waiting; Ctrl-C ends it.")
                announced = True
            time.sleep(WAIT_PAUSE_S)


def password_from(file: Path | None) -> str:
    """Return the password from the file, else from LPIRC_PASSWORD, else from a prompt on a terminal."""
    if file is not None:
        try:
            password = file.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
        except (OSError, UnicodeDecodeError) as error:
            raise ClientError("no-password", f"password file {file}: cannot be read: {error}") from error
        if not password:
            raise ClientError("no-password", f"password file {file}: its first line is empty")
        return password
    password = os.environ.get("LPIRC_PASSWORD", "")
    if password:
        return password
    if not sys.stdin.isatty():
        raise ClientError("no-password", "no password: give --password-file or set LPIRC_PASSWORD")
    return getpass.getpass("Password: ", stream=sys.stderr)


def _contest(options: argparse.Namespace) -> None:
    prepare = _preparation(options)
    password = password_from(options.password_file)
    plan = Plan(options.first, options.images, options.batch, options.fetch, options.stay, options.least)
    receipts = None if options.receipts is None else ReceiptFile(options.receipts)
    with Session(options.url, options.ca_cert, receipts) as session:
        wait_for(session, options.wait)
        login = log_in(session, options.team, password)
        if plan.first > login.images:
            what = f"run {login.run} has {login.images} images; it stays open"
            raise ClientError("image-unknown", f"--first {plan.first}: {what}")
        summary = _work(session, login, plan, prepare, options.progress)
    if receipts is not None:
        receipts.end()
    if options.json:
        result(json.dumps(_document(summary)))
    else:
        say(_in_words(summary))
    if summary.failure is not None:
        raise ClientError(summary.failure.code, _with_next_step(summary, summary.failure))


def _preparation(options: argparse.Namespace) -> Callable[[Login], Answer]:
    """Load detector or recording now: nothing that may fail or take time should happen within the window."""
    if options.command == "replay":
        return replay.prepare(options.file, options.testset)
    return partial(detectors.answers_of, detectors.load(options.detector))


def _work(
    session: Session, login: Login, plan: Plan, prepare: Callable[[Login], Answer], progress_choice: str
) -> Summary:
    reporter = progress.reporter(progress_choice)
    run = ImageRun(session, login, plan, prepare, reporter)
    try:
        return run.go()
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt(
            f"interrupted; run {login.run} is still open and its time goes on:"
            f" the same command with --first {run.next_image} resumes it"
        ) from interrupt
    finally:
        reporter.close()


def _document(summary: Summary) -> dict[str, object]:
    document = {name: value for name, value in vars(summary).items() if name != "failure"}
    if summary.failure is not None:
        document |= {"code": summary.failure.code, "detail": summary.failure.sentence}
    return document


def _in_words(summary: Summary) -> str:
    stays_open = summary.ended == FINISHED and not summary.logged_out and summary.remaining_s > 0
    return (
        f"run {summary.run}: {ENDS[summary.ended]} after {summary.elapsed_s:.1f} s;"
        f" {summary.images} of {summary.of} images, {summary.detections} detections posted"
        + (f"; the run stays open, {summary.remaining_s:.0f} s left" if stays_open else "")
    )


def _with_next_step(summary: Summary, failure: ClientError) -> str:
    if summary.images == summary.of:
        return f"{failure.sentence} (all images are posted, but the run is not logged out)"
    if summary.logged_out:
        return f"{failure.sentence} (logged out; {summary.images} images were posted)"
    return (
        f"{failure.sentence} (not logged out; --first {summary.next_image} continues while the run is open)"
    )
