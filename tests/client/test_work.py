"""How the harness is watched while it measures for a referee, which tests/tracks/web/test_work.py does."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

import pytest

from lpirc_client import work
from lpirc_client.cli import main
from lpirc_client.errors import ClientError


class LostLease:
    """A connection to a referee that has given the job to another device."""

    def ask(self, *_: object) -> None:
        raise ClientError("lease-lost", "The lease of this job is lost.")


def test_without_its_lease_the_harness_is_killed_and_its_pipes_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Kept(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Kept)
    endless = [sys.executable, "-c", "import signal; signal.pause()"]
    with pytest.raises(ClientError, match="lease"):
        work._run(endless, LostLease(), "/v1/work/1", 0.01, 60.0)  # noqa: SLF001 - it alone sees the pipes
    (harness,) = started
    assert harness.returncode == -signal.SIGKILL
    assert harness.stdout is not None
    assert harness.stderr is not None
    assert harness.stdout.closed is True
    assert harness.stderr.closed is True


def test_a_meter_needs_the_program_that_reads_it(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("lpirc_client.metering.find_spec", lambda _: None)
    assert (
        main(["work", "http://127.0.0.1:9", "--name", "pixel-4", "--meter", "sim:"])
        == 1
    )
    told = capsys.readouterr().err
    assert told.startswith("lpirc-client: --meter needs lpirc_power")
    assert told.endswith("pip install ./power\n")
