"""The client of a rehearsal: its command line, its progress, and the closed run that it leaves."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from lpirc_score.tasks.words import words_of
from lpirc_testsets.close_names import closest
from referee.cli.child_processes import Child
from referee.cli.home_contest import client_program, contestant, keep_password
from referee.cli.rehearsal_plan import TEAM, Plan
from referee.cli.rehearsed_faults import Hall
from referee.clock import Clock
from referee.errors import RefereeError
from referee.installed import client_version
from referee.presence import is_file
from referee.store import Store
from referee.store.records import Run, RunState

CLOSE_TIMEOUT_S = 30.0
CLIENT_END_S = 10.0  # after its window a client may go on for so long
LOOK_S = 0.05
# Characters read at once: some clients write faster than this can show.
MOST_SAID = 1 << 20
CLIENT_LOG = "client.log"
PLACES = ("url", "team", "password_file", "password")
PLACE = re.compile(rf"\{{({'|'.join(PLACES)})\}}")
LIKE_A_PLACE = re.compile(r"(?<!\$)\{(\w+)\}")
AS_A_PLACE = re.compile(r"(?:--?[\w-]+=)?\{([^\W\d]\w*)\}")
FOR_A_SHELL = frozenset(("|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1", "&>"))
"""Words that only a shell takes for more than arguments."""
# Otherwise a fast client would end before the meter has measured anything.
LEAST_RUN_S = 2.0
RECEIPTS_NAME = "receipts.jsonl"


def client_words(client: str | None, replay: Path | None) -> tuple[str, ...]:
    """Return the words of --client, with the full path of the program; () for the sample client.

    Raises RefereeError, UsageError.
    """
    if client is None:
        client_version()
        return ()
    if replay is not None:
        raise click.UsageError(
            "--replay is for the sample client; leave it out with --client."
        )
    try:
        words = shlex.split(client)
    except ValueError as error:
        raise click.UsageError(
            f"--client {client!r} is not a command: {error}."
        ) from error
    _require_places(client, words)
    if shell := FOR_A_SHELL.intersection(words):
        raise click.UsageError(
            f"--client {client!r} has {min(shell)!r}, which only a shell understands; "
            f"write: --client {shlex.quote('sh -c ' + shlex.quote(client))}"
        )
    if not words or "{url}" not in client:
        raise click.UsageError(
            f"--client {client!r} has no {{url}}: it must be given the referee's address."
        )
    if (path := shutil.which(words[0])) is None:
        raise RefereeError("client-missing", _no_program(words[0]))
    return (path, *words[1:])


def _require_places(client: str, words: Sequence[str]) -> None:
    """Raise UsageError for words in braces that are not replaced.

    Within a longer word, as a script for a shell, others than slips may be meant: awk '{print}'.
    """
    alone = {found[1] for one in words if (found := AS_A_PLACE.fullmatch(one))}
    for name in LIKE_A_PLACE.findall(client):
        if name not in PLACES and (name in alone or closest(name, PLACES)):
            places = ", ".join(f"{{{one}}}" for one in PLACES)
            raise click.UsageError(
                f"--client {client!r} has {{{name}}}, which stands for nothing; what is replaced is {places}."
            )


def _no_program(name: str) -> str:
    """Return that there is no such program, and how a file of that name is called."""
    sentence = f"There is no program {name!r} that can be executed"
    file = Path(name)
    if not is_file(file):
        return f"{sentence}; check its name, and write its path if PATH does not lead to it"
    if file.suffix == ".py":
        call = f"python3 {shlex.quote(name)} ..."
        return f"{sentence}; for a file of Python write: --client {shlex.quote(call)}"
    here = name if "/" in name else f"./{name}"
    if os.access(file, os.X_OK):
        return f"{sentence}; a file in this folder is called as {here}"
    return f"{sentence}; the file {name} is not executable: chmod +x {name}, and call it as {here}"


def require_recording(file: Path, testset: Path | None) -> None:
    """Raise RefereeError `bad-recording` for a file that the client could not replay on this test set."""
    from lpirc_client.errors import ClientError
    from lpirc_client.recorded_rows import read
    from lpirc_client.replay import prepare

    try:
        if testset is None:
            read(file)
        else:
            prepare(file, testset)
    except ClientError as error:
        is_of_set = testset is not None and error.sentence.startswith(f"{testset}:")
        option = "--testset" if is_of_set else "--replay"
        raise RefereeError("bad-recording", f"{option} {error.sentence}") from error


def client_arguments(plan: Plan, url: str, password: str) -> list[str]:
    """Return the client's command line.

    The password is written to a file of mode 0600, as a contestant would have it.
    """
    password_file = plan.folder / "password"
    keep_password(password_file, password)
    known = {
        "url": url,
        "team": TEAM,
        "password_file": str(password_file.resolve()),
        "password": password,
    }
    if plan.client:
        return [PLACE.sub(lambda place: known[place[1]], word) for word in plan.client]
    what = ["run", url]
    if plan.replay is not None:
        what = ["replay", url, str(plan.replay), "--testset", str(plan.testset_folder)]
    common = [*contestant(TEAM, password_file)]
    if plan.faults:  # the first request may be cut off
        common += ["--wait", str(CLIENT_END_S)]
    common += ["--receipts", str(plan.folder / RECEIPTS_NAME)]
    common += ["--least", str(LEAST_RUN_S), "--progress", "json"]
    return [client_program(), *what, *common]


def await_client(plan: Plan, client: Child, hall: Hall, images: int) -> list[str]:
    """Show the client's output until it ends or is killed at its deadline, and return remarks on it.

    Raises RefereeError `child-failed` if the sample client fails.
    """
    clock = Clock()
    never = threading.Event()
    rest = ""
    console = Console(stderr=True)
    limit_s = clock.monotonic_s() + plan.window_s + CLIENT_END_S
    kept = plan.folder / CLIENT_LOG
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    progress = Progress(
        *columns, console=console, disable=bool(plan.client) or not console.is_terminal
    )
    task = progress.add_task("images", total=images)
    with (
        closing(Store.open(plan.folder / "contest.db")) as store,
        kept.open(errors="replace") as log,
        progress,
    ):
        is_running = True
        said = ""
        answers = words_of(plan.task).answers
        while is_running or said:
            is_running = client.exit_code is None and not clock.wait(
                never, clock.monotonic_s() + LOOK_S
            )
            said = log.read(MOST_SAID)
            if plan.client:
                click.echo(said, nl=False, err=True)
            *lines, rest = ("" if plan.client else rest + said).split("\n")
            for done in [json.loads(line) for line in lines if line.startswith("{")]:
                named = f"{done['detections']} {answers}"
                progress.update(task, completed=done["images"], description=named)
            for run in store.runs.find()[:1]:
                hall.cause_due_faults([run])
                limit_s = (
                    (run.start_s or clock.monotonic_s()) + plan.window_s + CLIENT_END_S
                )
            if is_running and clock.monotonic_s() > limit_s:
                client.kill()
                return [
                    f"The client still ran {CLIENT_END_S:g} s after its window of {plan.window_s} s, and was killed."
                ]
    client.kill()  # what it has left in its session
    if client.exit_code and not plan.client:
        raise client.failure()
    return (
        [f"The client failed with exit code {client.exit_code}; see {kept}."]
        if client.exit_code
        else []
    )


def closed_run(plan: Plan, hall: Hall, remarks: list[str]) -> Run:
    """Return the rehearsal's run once the client's log-out or the deadline has closed it. Raises RefereeError."""
    clock = Clock()
    never = threading.Event()
    until_s = clock.monotonic_s() + plan.window_s + CLOSE_TIMEOUT_S
    with closing(Store.open(plan.folder / "contest.db")) as store:
        while (
            run := next(iter(store.runs.find()), None)
        ) and clock.monotonic_s() <= until_s:
            hall.cause_due_faults([run])
            if run.state is not RunState.OPEN:
                return run
            clock.wait(never, clock.monotonic_s() + LOOK_S)
    if run is None:
        why = " ".join(remarks) or f"See {plan.folder / CLIENT_LOG}."
        raise RefereeError(
            "no-log-in", f"The client never logged in, so there is no run. {why}"
        )
    raise RefereeError(
        "run-state", f"The run did not close; see {plan.folder / 'server.log'}."
    )
