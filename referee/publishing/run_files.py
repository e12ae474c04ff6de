"""Writes what belongs to single runs and teams, at the end of a contest: reports, bundles, certificates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from referee.contest import Contest
from referee.errors import RefereeError
from referee.evidence.bundle_parts import export_bundle
from referee.pages import page_style, template_environment
from referee.publishing.public_site import SiteDocument, team_page_name

REPORTS = "reports"
BUNDLES = "bundles"
CERTIFICATES = "certificates"


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
    _write_certificates(document, folder, made)
    return made


def _write_certificates(
    document: SiteDocument,
    folder: Path,
    made: RunFiles,
) -> None:
    """Write a certificate for each ranked team: as PDF, or as a page if no browser is installed to print it."""
    printable = True
    (folder / CERTIFICATES).mkdir()
    for place in document.board["ranking"]:
        name = Path(team_page_name(place["team"])).name
        page = folder / CERTIFICATES / name
        text = _certificate(document.board, place)
        page.write_text(text, encoding="utf-8")
        made.certificates[place["team"]] = f"{CERTIFICATES}/{name}"
        if printable:
            printable = _printed(page, place["team"], made)


def _printed(page: Path, team: str, made: RunFiles) -> bool:
    """Replace a certificate's page by its PDF. Return False if no browser can print any."""
    from referee.report import print_pdf

    try:
        pdf = print_pdf(page)
    except RefereeError as error:
        sentence = error.sentence.replace("--pdf needs", "To print certificates needs")
        made.left_out.append(f"Certificates are pages, not PDF. {sentence}")
        return False
    page.unlink()
    made.certificates[team] = f"{CERTIFICATES}/{pdf.name}"
    return True


def _certificate(board: dict[str, Any], place: dict[str, Any]) -> str:
    environment = template_environment("referee.publishing")
    template = environment.get_template("certificate.html")
    return template.render(
        board=board,
        place=place,
        prizes=prizes_of(board, place["team"]),
        style=page_style(),
        theme="light",
    )


def prizes_of(board: Mapping[str, Any], team: str) -> list[str]:
    """Return the names of the prizes of a team."""
    return [one["name"] for one in board["prizes"] if team in one["teams"]]
