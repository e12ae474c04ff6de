"""The production server: one Granian worker process that owns the runs of one contest.

There is only one worker process because a run's clock, meter and admission must have a single owner. If the worker
dies, its parent starts another one, which resumes the open runs from the database. If it freezes, the parent kills it.
If the parent itself is killed, the worker ends too, and the next `referee serve` resumes the runs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from referee.clock import Clock
from referee.contest import open_contest, require_scorer, require_truth
from referee.errors import RefereeError
from referee.judging.contest_status import program_version
from referee.operating_system import fork_workers
from referee.runs.arming import images_of_a_run
from referee.served import SERVER_NAME
from referee.web.arriving_bodies import hand_over_protocol
from referee.web.journal_watch import require_journal, require_not_superseded
from referee.web.listener import Listen, held_port, require_certificate
from referee.web.server_worker import Load, load_app, load_in_worker
from referee.web.sole_server import sole_server
from referee.web.start_look import LookedAt, StartLook, start_look
from referee.web.supervisor import supervisor_of


def serve(
    folder: Path,
    listen: Listen,
    on_ready: Callable[[str], None],
    parent: int | None = None,
) -> None:
    """Serve the contest in `folder` until SIGINT or SIGTERM; `on_ready` gets a message once requests are answered.

    With `parent`, a process id, the server ends when that process does.

    Images, key and database are checked in full while it serves. If that finds a fault, the server ends, unless a run
    is open.

    Raises RefereeError `port-busy`, `port-refused`, `host-unknown`, `tls-refused`, `contest-busy`, `server-failed`,
    `testset-unfit`, `database-damaged`, and what `open_contest` and `require_unchanged` raise.
    """
    with open_contest(folder) as contest:
        require_scorer(contest)
        images_of_a_run(contest)
        require_truth(contest.test_set, contest.config.task)
        require_journal(contest, program_version(), Clock().utc())
    look = partial(start_look, folder)
    run_server(folder, listen, partial(load_app, on_ready=on_ready), look, parent)


def run_server(
    folder: Path,
    listen: Listen,
    load: Load,
    look_at_start: Callable[[], AbstractContextManager[StartLook | LookedAt]],
    parent: int | None = None,
    at_end: Callable[[Path], None] = require_not_superseded,
) -> None:
    """Run the server's processes until SIGINT or SIGTERM; `load` makes the app in the worker process.

    Raises the errors of `serve`, and what `at_end` raises: Superseded once another host has taken over.
    """
    require_certificate(listen)
    fork_workers()
    hand_over_protocol()
    # The look is forked first, so that it does not inherit the lock, which would then outlive a killed server.
    with (
        look_at_start() as look,
        sole_server(folder) as lock,
        held_port(listen) as listen,
    ):
        (folder / SERVER_NAME).unlink(missing_ok=True)  # of a server that was killed
        server = supervisor_of(folder, listen)
        look.on_fault(server.signal_handler_interrupt)
        try:
            server.serve(
                target_loader=partial(
                    load_in_worker,
                    folder,
                    listen,
                    load,
                    parent,
                    server.beats,
                    lock,
                    look.checks,
                ),
                wrap_loader=False,
            )
        except SystemExit as stop:
            # If Ctrl-C reaches the worker first, Granian regards that as a failure.
            if stop.code and not server.interrupt_signal:
                raise RefereeError(
                    "server-failed",
                    "The server's worker process ended by itself; see above.",
                ) from stop
        finally:
            server.ended.set()
            (folder / SERVER_NAME).unlink(missing_ok=True)
        look.require_sound()
    at_end(folder)
