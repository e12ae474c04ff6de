"""Measures every test of a suite in turn, and stores each in the table as soon as it is done."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from lpirc_testsets.folder import sha256_of
from lpirc_tracks.submissions import harness
from lpirc_tracks.submissions.harness import Limits
from lpirc_tracks.submissions.open_track import OpenTrack
from lpirc_tracks.submissions.result_document import parse_result
from lpirc_tracks.submissions.stability import disturbance
from lpirc_tracks.suites.plan_rows import PlannedTest
from lpirc_tracks.suites.readiness import Readiness, device_name, rule_for
from lpirc_tracks.suites.suite_plan import SuitePlan
from lpirc_tracks.suites.suite_table import SuiteRow, read_rows, row_of, write_rows
from referee.clock import Clock
from referee.errors import ModelFault, RefereeError


@dataclass(frozen=True)
class SuiteRun:
    """One run of a plan on a track's images, into a table that may also hold tests of other devices.

    `report` is called with a line of text about each test and each cool-down.
    """

    plan: SuitePlan
    track: OpenTrack
    out: Path
    clock: Clock
    report: Callable[[str], None]

    def measure(self) -> list[SuiteRow]:
        """Measure all tests and return their rows in the plan's order; the row of a model that fails has no figures.

        Raises RefereeError for any other failure.
        """
        table = read_rows(self.out)
        done = []
        has_measured = False
        for test in self.plan.tests:
            blank = self._blank(test, sha256_of(_file_of(test)))
            _require_stated(test, blank)
            row = row_of(table, blank, self.out)
            origin = f" (from {self.out})"
            if row is None:
                if has_measured:
                    self._cool_down()
                row = self._measured(test, blank)
                origin = ""
                has_measured = True
                table.append(row)
                write_rows(self.out, table)
            done.append(row)
            figures = f"failed: {row.sentence}"
            if not row.sentence:
                figures = (
                    f"{row.test.accuracy_percent:.3f} % in {row.test.time_ms:.3f} ms"
                )
            self.report(f"{test.name}: {figures}{origin}")
        return done

    def row_without_model(self, found: Readiness) -> SuiteRow:
        """Return the row of a test whose model is not there: of the table, if that has it, else without figures.

        Raises RefereeError `suite-changed` if the table has it on other images.
        """
        if found.row is None:
            return replace(self._blank(found.test, ""), sentence=found.sentence)
        wanted = self._blank(found.test, found.row.model_sha256)
        return row_of([found.row], wanted, self.out) or found.row

    def _blank(self, test: PlannedTest, model_sha256: str) -> SuiteRow:
        return SuiteRow(
            device=device_name(self.plan),
            implementation=test.implementation,
            model=test.model,
            accuracy_percent="",
            time_ms="",
            images=str(len(self.track.test_set.images)),
            model_sha256=model_sha256,
            images_sha256=self.track.images_sha256,
            sentence="",
            settings=test.settings,
        )

    def _measured(self, test: PlannedTest, blank: SuiteRow) -> SuiteRow:
        test_set = self.track.test_set
        limits = Limits(limit=len(test_set.images), **test.options)  # type: ignore[arg-type]
        try:
            content = harness.bench(
                _file_of(test),
                test_set.folder,
                rule_for(test, self.track.rule),
                None,
                limits,
            )
        except ModelFault as failure:
            return replace(blank, sentence=failure.sentence)
        document = parse_result(content)
        for path, value in (
            ("images.sha256", blank.images_sha256),
            ("model.sha256", blank.model_sha256),
        ):
            if document[path] != value:
                raise RefereeError(
                    "suite-changed",
                    f"{test.name}: {path} changed while it was measured.",
                )
        if unstable := disturbance(document):
            sentence = f"the latency is unstable, {unstable}; delete this line and run the suite again"
            return replace(blank, sentence=sentence)
        self.report(
            f"{test.name}: loaded in {document.get('latency.load_ms') or 0:.1f} ms"
        )
        accuracy = self.track.accuracy_percent(document)
        return replace(
            blank,
            accuracy_percent=repr(accuracy),
            time_ms=repr(document["latency.mean_ms"]),
        )

    def _cool_down(self) -> None:
        if self.plan.cooldown_s:
            self.report(f"cooling down for {self.plan.cooldown_s:g} s")
            self.clock.wait(
                threading.Event(), self.clock.monotonic_s() + self.plan.cooldown_s
            )


def _file_of(test: PlannedTest) -> Path:
    """Return the file of a test's model. Raises RefereeError `bad-suite` for a test that has none."""
    if test.file is None:
        raise RefereeError("bad-suite", f"{test.name} has no model file to measure.")
    return test.file


def _require_stated(test: PlannedTest, blank: SuiteRow) -> None:
    """Refuse a file that has become another than the one its row names."""
    if test.stated.sha256 not in ("", blank.model_sha256):
        sentence = f"{test.file} changed: its SHA-256 is {blank.model_sha256}."
        raise RefereeError("suite-changed", sentence)
