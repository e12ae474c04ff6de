"""Writes what belongs to single runs and teams, at the end of a contest: reports, bundles, certificates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from referee.contest import Contest
from referee.errors import RefereeError
from referee.evidence.bundle_parts import export_bundle
from referee.publishing.certificates import write_certificates
from referee.publishing.public_site import SiteDocument

REPORTS = "reports"
BUNDLES = "bundles"


@dataclass(frozen=True)
class RunFiles:
    """Paths within the site: reports and bundles by run, certificates by team. `left_out` says what there is not."""

    reports: dict[int, str] = field(default_factory=dict)
    bundles: dict[int, str] = field(default_factory=dict)
    certificates: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def write_run_files(
    contest: Contest,
    document: SiteDocument,
    folder: Path,
    now: datetime,
    require_space: Callable[[], None],
) -> RunFiles:
    """Write report and bundle of each run on the board, and a certificate for each ranked team.

    `require_space` is called before each run and raises RefereeError if the disk has too little.
    Until `ground_truth_secret_until` neither reports nor bundles show the ground truth.
    """
    from referee.report import write_report  # takes half a second

    until = contest.config.ground_truth_secret_until
    is_secret = until is not None and now < until
    made = RunFiles()
    (folder / BUNDLES).mkdir()
    for number in document.runs:
        require_space()
        try:
            report = write_report(
                contest,
                number,
                folder / REPORTS,
                f"run-{number}.html",
                for_team=is_secret,
            )
            made.reports[number] = f"{REPORTS}/{report.name}"
            bundle = folder / BUNDLES / f"run-{number}.zip"
            export_bundle(contest, number, bundle, now)
            made.bundles[number] = f"{BUNDLES}/{bundle.name}"
        except RefereeError as error:
            made.left_out.append(error.sentence)
    written = write_certificates(document.board, folder, made.left_out)
    made.certificates.update(written)
    return made
