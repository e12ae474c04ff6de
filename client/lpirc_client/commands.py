"""What `run` and `replay` do: prepare what can be prepared, wait for the referee, log in, work, report."""

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

from lpirc_client import plugin, progress, replay
from lpirc_client.errors import ClientError
from lpirc_client.output import result, say
from lpirc_client.parent import ending_with
from lpirc_client.run import Answer, ImageRun, Plan, Summary
from lpirc_client.session import Session
from lpirc_client.wire import Login

WAIT_PAUSE_S = 0.2
NOT_YET = ("connection-refused", "connection-lost", "timeout", "unknown-host")


def execute(options: argparse.Namespace) -> None:
    """Do what the command line asks; raises ClientError, or KeyboardInterrupt that says what to do next."""
    with ending_with(options.parent):
        _contest(options)


def wait_for(session: Session, wait_s: float) -> None:
    """Return when the referee answers; its failure when it does not within `wait_s` seconds."""
    until = time.monotonic() + wait_s
    while True:
        try:
            session.health()
        except ClientError as error:
            if error.code not in NOT_YET or time.monotonic() + WAIT_PAUSE_S > until:
                raise
            time.sleep(WAIT_PAUSE_S)
        else:
            return


def log_in(session: Session, team: str, password: str) -> Login:
    """Log in; in a heat, wait for its start signal, however long that takes."""
    told = False
    while True:
        try:
            return session.login(team, password)
        except ClientError as error:
            if error.code != "not-started":
                raise
            if not told:
                say(f"{error.sentence} Waiting; Ctrl-C ends it.")
                told = True
            time.sleep(WAIT_PAUSE_S)


def password_from(file: Path | None) -> str:
    """Return the password from the file, else from LPIRC_PASSWORD, else asked for on a terminal."""
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
    with Session(options.url, options.ca_cert) as session:
        wait_for(session, options.wait)
        login = log_in(session, options.team, password)
        if plan.first > login.images:
            raise ClientError(
                "image-unknown",
                f"--first {plan.first}: run {login.run} has {login.images} images; it stays open",
            )
        summary = _work(session, login, plan, prepare, options.progress)
    if options.json:
        result(json.dumps(_document(summary)))
    else:
        say(_in_words(summary))
    if summary.failure is not None:
        raise ClientError(summary.failure.code, _with_next_step(summary, summary.failure))


def _preparation(options: argparse.Namespace) -> Callable[[Login], Answer]:
    """Load detector or recording now: nothing that can fail or take time should wait for the window."""
    if options.command == "replay":
        return replay.prepare(options.file, options.testset)
    return partial(plugin.answers_of, plugin.load(options.detector))


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
            f" the same command with --first {run.next_image} takes it up again"
        ) from interrupt
    finally:
        reporter.close()


def _document(summary: Summary) -> dict[str, object]:
    document: dict[str, object] = {
        "run": summary.run,
        "images": summary.images,
        "of": summary.of,
        "detections": summary.detections,
        "elapsed_s": summary.elapsed_s,
        "ended": summary.ended,
        "logged_out": summary.logged_out,
        "next_image": summary.next_image,
        "remaining_s": summary.remaining_s,
    }
    if summary.failure is not None:
        document |= {"code": summary.failure.code, "detail": summary.failure.sentence}
    return document


def _in_words(summary: Summary) -> str:
    ends = {"finished": "finished", "window-closed": "the window closed", "failed": "failed"}
    open_still = summary.ended == "finished" and not summary.logged_out and summary.remaining_s > 0
    return (
        f"run {summary.run}: {ends[summary.ended]} after {summary.elapsed_s:.1f} s;"
        f" {summary.images} of {summary.of} images, {summary.detections} detections posted"
        + (f"; the run stays open, {summary.remaining_s:.0f} s left" if open_still else "")
    )


def _with_next_step(summary: Summary, failure: ClientError) -> str:
    if summary.images == summary.of:
        return f"{failure.sentence} (all images are posted, but the run is not logged out)"
    if summary.logged_out:
        return f"{failure.sentence} (logged out; {summary.images} images were posted)"
    return f"{failure.sentence} (not logged out; --first {summary.next_image} goes on while the run is open)"
