"""Complete checks of referees whose contest is of another task than boxes, built in or a plug-in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lpirc_client.cli import main
from lpirc_client.conformance.findings_report import Finding
from lpirc_client.conformance.referee_checks import Checks
from lpirc_testsets import synthesize
from tests.contest_day import PASSWORD, TEAM, Day, contest_day
from tests.plugins_installed import plugins_in
from tests.referee.judging.tallied_runs import install
from tests.test_plugins import served


@contextmanager
def day_of(folder: Path, task: str) -> Iterator[tuple[Day, str]]:
    """A served contest of this task, and its address; `site` in the folder has plug-ins for the server."""
    of_set = "boxes" if task == "tally" else task
    made = synthesize(
        folder / "set", images=4, categories=3, size=(96, 64), task=of_set
    )
    with (
        contest_day(folder / "contest", made.folder, task=task) as day,
        served(folder / "site", day.folder) as url,
    ):
        yield day, url


def findings(url: str) -> dict[str, Finding]:
    return {one.name: one for one in Checks(url, TEAM, PASSWORD).all()}


def runs(day: Day) -> int:
    with day.store() as store:
        return len(store.runs.find())


@pytest.mark.parametrize("task", ["classification", "instances", "segmentation"])
def test_a_referee_of_a_built_in_task_passes_every_check(
    tmp_path: Path, task: str
) -> None:
    with day_of(tmp_path, task) as (_, url):
        found = findings(url)
    bad = {name: one.detail for name, one in found.items() if one.result != "PASS"}
    assert bad == {}


@pytest.fixture
def tally(
    tmp_path: Path,
) -> Iterator[Callable[..., Path]]:
    """Installs the plug-in `tally` for this process and for a server."""
    site = tmp_path / "site"
    site.mkdir()
    with plugins_in(site) as installer:

        def installed(**bodies: str) -> Path:
            install(installer, **bodies)
            return site

        yield installed


def test_a_referee_of_a_plug_in_is_checked_by_an_empty_list(
    tmp_path: Path, tally: Callable[..., Path]
) -> None:
    tally()
    with day_of(tmp_path, "tally") as (_, url):
        found = findings(url)
    bad = {name: one.detail for name, one in found.items() if one.result != "PASS"}
    assert bad == {}


def test_what_a_plug_in_does_not_take_is_skipped_with_the_true_reason(
    tmp_path: Path, tally: Callable[..., Path]
) -> None:
    tally(read="json_array(b'7', 'an array of {image, count}')")
    with day_of(tmp_path, "tally") as (_, url):
        found = findings(url)
    skipped = {name: one.detail for name, one in found.items() if one.result == "SKIP"}
    assert {one.result for one in found.values()} == {"PASS", "SKIP"}
    assert set(skipped) == {"rows", "idempotency-key", "receipts"}
    assert skipped["rows"].startswith(
        "the task tally is a plug-in whose counts are not known here: only an empty list was posted, and it was "
        "refused: POST /v1/answers: expected 202, got 400 bad-json"
    )
    assert skipped["receipts"] == "no body was accepted that has one: see rows"


def test_a_task_without_json_costs_no_attempt(
    tmp_path: Path,
    tally: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    site = tally()
    source = site / "lpirc_tally.py"
    binary = source.read_text().replace("application/json", "application/x-tally")
    source.write_text(binary)
    monkeypatch.setenv("LPIRC_PASSWORD", PASSWORD)
    with day_of(tmp_path, "tally") as (day, url):
        assert main(["check", url, "--team", TEAM, "--yes"]) == 1
        assert runs(day) == 0
        said = capsys.readouterr().err
        assert "task tally takes application/x-tally and no JSON" in said
        assert "no attempt used" in said
        assert main(["check", url, "--read-only", "--json"]) == 0
        read_only = json.loads(capsys.readouterr().out)["findings"]
        assert "FAIL" not in {one["result"] for one in read_only}
