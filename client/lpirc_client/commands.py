"""Runs `run` and `replay`: prepare everything, wait for the referee, log in, work, report."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Callable, Mapping

from lpirc_client import detectors, progress, replay, trial
from lpirc_client.errors import (
    AnswerError,
    BadCredentials,
    ClientError,
    NothingListens,
)
from lpirc_client.files import require_apart
from lpirc_client.parent import ending_with
from lpirc_client.receipts import ReceiptFile
from lpirc_client.run import (
    FAILED,
    FINISHED,
    WINDOW_CLOSED,
    Answer,
    ImageRun,
    Plan,
    Summary,
)
from lpirc_client.session import Session
from lpirc_client.terminal import result, say
from lpirc_client.timeline import STARTS, Timeline
from lpirc_client.wire import Login, login_from

LOGIN_S = 2.0
"""Maximum seconds of a log-in. A window open for longer was opened earlier; with less time left, nobody can resume."""

ENDS = {FINISHED: "finished", WINDOW_CLOSED: "the window closed", FAILED: "failed"}
NOTHING_POSTED = (
    "\nnothing was posted, so the accuracy is 0: check the detector or the recording"
)
STOP = (
    "\n--stop best: score {score:.4g} at {stopped_s:.0f} s; best one seen {best_score:.4g} at {best_s:.0f} s;"
    " expected for a run to the end {expected_at_end:.4g}"
)


def execute(options: argparse.Namespace) -> None:
    """Run the command. Raises ClientError, or KeyboardInterrupt with a message on what to do next."""
    with ending_with(options.parent):
        try:
            _contest(options)
        except NothingListens as error:
            if options.wait > 0:
                raise
            sentence = f"{error.sentence}, or wait for it with --wait S"
            raise ClientError(error.code, sentence) from error
        except BadCredentials as error:
            raise with_credentials(error, options) from error


def with_credentials(error: BadCredentials, options: argparse.Namespace) -> ClientError:
    """Return a refused log-in with the team, and where the password came from."""
    source = "typed"
    if options.password_file is not None:
        file = options.password_file
        source = f"the first line of {file}{_not_alone(password_from(file))}"
    elif os.environ.get("LPIRC_PASSWORD"):
        source = "LPIRC_PASSWORD"
    what = f"the team was {options.team!r}, the password {source}"
    return ClientError(error.code, f"{error.sentence.rstrip('.')}: {what}")


def _not_alone(line: str) -> str:
    """Return what a password file's first line has beside a password, as the end of a sentence."""
    if line.strip(" \t\"'") != line:
        return ", with blanks or quotes around it: remove them"
    if any(one in line for one in " \t{"):
        return ", which must hold nothing else"
    return ""


def password_from(file: Path | None, what: str = "password") -> str:
    """Return the password from the file, else from LPIRC_PASSWORD, else from a prompt on a terminal.

    `what` says what it is: the password of a team, or the key of a device.
    """
    if file is not None:
        try:
            text = file.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
            words = f"{reason}; its first line must be the {what}"
            raise ClientError(
                "no-password", f"{what} file {file}: cannot be read: {words}"
            ) from error
        password = text.partition("\n")[0].rstrip("\r")
        if not password:
            raise ClientError(
                "no-password", f"{what} file {file}: its first line is empty"
            )
        return password
    password = os.environ.get("LPIRC_PASSWORD", "")
    if password:
        return password
    if not sys.stdin.isatty():
        raise ClientError(
            "no-password", f"no {what}: give --{what}-file or set LPIRC_PASSWORD"
        )
    return getpass.getpass("Password: ", stream=sys.stderr)


def _contest(options: argparse.Namespace) -> None:
    _check_ends(options)
    password = password_from(options.password_file)
    plan = Plan(
        options.first,
        options.images,
        options.fetch,
        options.least,
        options.stop,
    )
    _check_places(options)
    receipts = (
        None if options.receipts is None else ReceiptFile(options.receipts.absolute())
    )
    session = Session(
        options.url,
        options.team,
        password,
        ca_cert=options.ca_cert and str(Path(options.ca_cert).absolute()),
        receipts=receipts,
        batch=options.batch,
        packed=options.command != "replay",  # a recording counts with all its digits
        stay=options.stay,
        logout_on_error=options.logout_on_error,
        wait_s=options.wait,
        timeline=Timeline(options.timeline),
    )
    try:
        prepare = _preparation(
            options
        )  # after the files are open: a detector may change the folder
        is_tried = options.command == "run" and not options.no_preflight
        is_replay = options.command == "replay"
        health = session.wait() if is_tried or is_replay or plan.first > 1 else {}
        images = health.get("images")
        if isinstance(images, int) and plan.first > images:
            sentence = f"--first {plan.first} is too high: a run of this contest has {images} images. No run was opened"
            raise ClientError("image-unknown", sentence)
        if is_tried:
            trial.preflight(options.detector, options.preflight, health)
        elif is_replay:
            _try_recording(prepare, health)
        _say_what_ends_it(plan.least_s, health)
        summary = _work(session, plan, prepare, options.progress)
    finally:
        session.close()
    if options.stop is not None and summary.stop is None:
        say("--stop best could not decide: the referee showed no provisional score")
    if receipts is not None:
        receipts.end()
    try:
        if options.json:
            result(json.dumps(_document(summary)))
        else:
            say(_in_words(summary))
    finally:  # it says how to go on, so it counts more than a full stdout
        if summary.failure is not None:
            raise ClientError(
                summary.failure.code, _with_next_step(summary, summary.failure)
            )


def _check_ends(options: argparse.Namespace) -> None:
    """Raise ClientError if options say when to log out, and another one not to."""
    for name, is_given in (("least", options.least > 0), ("stop", options.stop)):
        if options.stay and is_given:
            sentence = f"--stay never logs out, so --{name} does nothing: leave one out"
            raise ClientError("bad-option", sentence)


def _check_places(options: argparse.Namespace) -> None:
    """Raise ClientError before a file is opened for writing that is read, or that is no timeline."""
    names = ("password_file", "ca_cert", "file", "preflight", "receipts")
    read = [getattr(options, name, None) for name in names]
    require_apart("--timeline", options.timeline, STARTS, read)
    require_apart("--receipts", options.receipts, (b"",), read[:-1])


def _preparation(options: argparse.Namespace) -> Callable[[Login], Answer]:
    """Load the detector or the recording now, so that nothing fails or takes time within the window."""
    if options.command == "replay":
        return replay.prepare(options.file, options.testset)
    options.detector = detectors.load(options.detector)
    return partial(detectors.answers_of, options.detector)


def _try_recording(
    prepare: Callable[[Login], Answer], health: Mapping[str, Any]
) -> None:
    """Raise ClientError before the log-in if the recording has an image or a category that the contest lacks."""
    try:
        login = login_from({"token": "", "run": "", "remaining_s": 0, **health})
    except (KeyError, TypeError, ValueError):  # an older referee says less
        return
    try:
        prepare(login)
    except AnswerError as error:
        sentence = f"{error.sentence}. No run was opened"
        raise ClientError(error.code, sentence) from error


def _say_what_ends_it(least_s: float, health: Mapping[str, Any]) -> None:
    """Say that the window is shorter than the run is to last at least."""
    window_s = health.get("window_s")
    if isinstance(window_s, (int, float)) and least_s > window_s:
        say(f"--least {least_s:g}: the window ends the run after {window_s:g} s")


def _work(
    session: Session,
    plan: Plan,
    prepare: Callable[[Login], Answer],
    progress_choice: str,
) -> Summary:
    login = session.open()
    if plan.first > login.images:
        what = f"run {login.run} has {login.images} images; it stays open"
        raise ClientError("image-unknown", f"--first {plan.first}: {what}")
    _say_which_run(session, login, plan.first)
    reporter = progress.reporter(progress_choice)
    run = ImageRun(session, plan, prepare, reporter)
    try:
        return run.go()
    except KeyboardInterrupt as interrupt:
        with suppress(KeyboardInterrupt):  # a second one
            session.finish(interrupt)
        raise KeyboardInterrupt(
            f"interrupted; run {login.run} is still open, and its window continues:"
            f" the same command with --first {run.next_image} resumes it"
        ) from interrupt
    finally:
        reporter.close()


def _say_which_run(
    session: Session,
    login: Login,
    first: int,
) -> None:
    """Print whether a run was open already, with earlier rows and energy that count, or a new run begins at `first`."""
    open_s = login.window_s - login.remaining_s
    status: dict[str, Any] = {}
    if open_s <= LOGIN_S and first == 1:
        return
    with suppress(ClientError):  # the run goes on without this look
        status = session.connection.status()
    if open_s > LOGIN_S:
        posted = status.get("detections_accepted", "its")
        say(
            f"run {login.run} continues: it has been open for {open_s:.0f} s, and {posted} earlier {login.answers} are"
            " kept"
        )
    elif status.get("images_served") == 0:
        say(f"run {login.run} is a new one: it skips the images before {first}")


def _document(summary: Summary) -> dict[str, object]:
    document = {
        name: value
        for name, value in vars(summary).items()
        if name not in ("failure", "stop", "answers")
    }
    if summary.stop is not None:
        document["stop"] = summary.stop
    if summary.failure is not None:
        document.update(code=summary.failure.code, detail=summary.failure.sentence)
    return document


def _in_words(summary: Summary) -> str:
    stays_open = (
        summary.ended == FINISHED and not summary.logged_out and summary.remaining_s > 0
    )
    return (
        f"run {summary.run}: {ENDS[summary.ended]} after {summary.elapsed_s:.1f} s;"
        f" {summary.images} of {summary.of} images, {summary.detections} {summary.answers} posted"
        + (
            f"; the run stays open, {summary.remaining_s:.0f} s left"
            if stays_open
            else ""
        )
        + (NOTHING_POSTED if summary.images > 0 and summary.detections == 0 else "")
        + f"\n{time_in_words(summary.time)}"
        + (STOP.format_map(summary.stop) if summary.stop else "")
    )


def time_in_words(time: Mapping[str, float]) -> str:
    """Return how the time of a run was spent, in words."""
    return (
        f"time: detecting {time['detecting_s']:.1f} s, waiting for images {time['waiting_s']:.1f} s,"
        f" posting {time['posting_s']:.1f} s, the rest, including the log-out, {time['idle_s']:.1f} s"
    )


def _with_next_step(summary: Summary, failure: ClientError) -> str:
    if summary.images == summary.of:
        return (
            f"{failure.sentence} (all images are posted, but the run is not logged out)"
        )
    if summary.logged_out:
        return f"{failure.sentence} (logged out; {summary.images} images were posted)"
    if summary.remaining_s < LOGIN_S:
        what = f"the referee confirmed the {summary.answers} of only {summary.images} of {summary.of} images"
        return f"{failure.sentence} (the window ends; {what})"
    return f"{failure.sentence} (not logged out; --first {summary.next_image} continues while the run is open)"
