"""Bundles of a task that is a plug-in: what the plug-in of this computer does wrong is no fault of the bundle."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lpirc_testsets import TestSet
from referee.clock import Clock
from referee.contest import create_contest, open_contest
from referee.evidence.bundle_parts import export_bundle
from referee.evidence.bundle_verification import verify
from referee.evidence.given_facts import Given
from referee.evidence.verification_items import Item
from referee.judging.judge_many import judge_with_interval
from referee.runs.arming import rules_now
from tests.plugins_installed import Installer, plugins_in
from tests.referee.evidence.closed_runs import closed_with_bodies
from tests.referee.evidence.test_bundles_of_each_metric import SETUP
from tests.referee.factories import START, TEAM, config_text
from tests.referee.judging.tallied_runs import PACKAGE, install, source_with

FIGURES = ("map", "score", "checks", "interval")


@pytest.fixture
def installer(tmp_path: Path) -> Iterator[Installer]:
    (tmp_path / "plugins").mkdir()
    with plugins_in(tmp_path / "plugins") as installer:
        install(installer)
        yield installer


@pytest.fixture
def bundle(tmp_path: Path, small_set: TestSet, installer: Installer) -> bytes:
    """The bundle of a run that counted three objects in each image."""
    home = tmp_path / "day"
    create_contest(home, config_text(small_set, task="tally"))
    images = range(1, len(small_set.images) + 1)
    body = json.dumps([{"image": image, "count": 3} for image in images]).encode()
    with open_contest(home) as contest:
        contest.store.teams.add(TEAM, "no hash", START)
        rules = rules_now(contest.config, contest.test_set, SETUP, 0)
        run = closed_with_bodies(
            contest, [(body, "application/json")], rules=rules, setup=SETUP
        )
        judge_with_interval(contest, run.id, Clock())
        export_bundle(contest, run.id, tmp_path / "run.zip", START)
    return (tmp_path / "run.zip").read_bytes()


def items_of(bundle: bytes) -> dict[str, Item]:
    return {one.name: one for one in verify(bundle, Given(interval=True))}


def test_a_bundle_holds_with_its_plug_in(bundle: bytes) -> None:
    found = items_of(bundle)
    assert {name for name, one in found.items() if one.outcome != "ok"} == {
        "links",
        "receipts",
    }


@pytest.mark.parametrize(
    ("function", "unchecked"),
    [
        ("read", ("bodies", *FIGURES)),
        ("read_truth", ("ground-truth", *FIGURES)),
        ("statistics", FIGURES),
        ("figures", FIGURES),
    ],
)
@pytest.mark.parametrize("body", ["return {}['no such key']", "return None"])
def test_a_plug_in_that_fails_here_is_no_fault_of_the_bundle(
    bundle: bytes,
    installer: Installer,
    function: str,
    unchecked: tuple[str, ...],
    body: str,
) -> None:
    installer.change(PACKAGE, source_with(**{function: body}))
    found = items_of(bundle)
    assert [one for one in found.values() if one.outcome == "failed"] == []
    start = "The plug-in lpirc.tasks tally = lpirc_tally:COUNTING of lpirc_tally 1.0"
    for name in unchecked:
        assert found[name].outcome == "not checked"
        assert found[name].sentence.startswith(f"{start} cannot be used: ")
        assert function in found[name].sentence or body == "return None"


@pytest.mark.parametrize("source", ["import no_such_module", "COUNTING = 7"])
def test_a_plug_in_that_cannot_be_loaded_here_is_no_fault_of_the_bundle(
    bundle: bytes, installer: Installer, source: str
) -> None:
    installer.change(PACKAGE, source)
    found = items_of(bundle)
    assert [one for one in found.values() if one.outcome == "failed"] == []
    assert "lpirc_tally 1.0 cannot be used: " in found["map"].sentence
    installer.uninstall(PACKAGE)
    found = items_of(bundle)
    assert [one for one in found.values() if one.outcome == "failed"] == []
    assert "lpirc_tally-1.0, which is not installed here" in found["map"].sentence


def test_a_figure_that_differs_names_the_plug_in_that_computed_it(
    bundle: bytes, installer: Installer
) -> None:
    installer.change(PACKAGE, source_with(figures="return Figures(0.25)"))
    found = items_of(bundle)
    assert found["map"].outcome == "failed"
    assert "computed by the plug-in lpirc_tally-1.0 as it is installed here" in (
        found["map"].sentence
    )
    assert "plug-in" not in found["run-chain"].sentence
