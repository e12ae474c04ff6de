"""Publishes a contest's site: what is public now is written beside the present site, signed, and takes its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from referee.contest import Contest
from referee.errors import RefereeError
from referee.judging.freeze import Freeze
from referee.publishing.public_site import SiteDocument, as_final, site_document
from referee.publishing.run_files import RunFiles, write_run_files
from referee.publishing.site_folder import SiteFolder
from referee.publishing.site_manifest import sign_site
from referee.publishing.site_pages import write_pages
from referee.publishing.viewers import Viewing, viewing_of
from referee.store.records import RunState

NOT_OVER = (RunState.ARMED, RunState.OPEN, RunState.CLOSED)


@dataclass(frozen=True)
class Publication:
    """What was published: where, how much, as of when, and what could not be."""

    folder: Path
    files: int
    size: int
    as_of_utc: str
    state: str
    is_new: bool
    viewing: Viewing
    left_out: list[str] = field(default_factory=list)


def publish_site(
    contest: Contest,
    folder: Path,
    now: datetime,
    *,
    final: bool = False,
    every_s: int | None = None,
) -> Publication:
    """Publish the site in `folder`; `final` adds reports, bundles and certificates, which show the test set's images.

    `every_s` is how often it will be published again: the pages renew themselves as often. Raises RefereeError
    `contest-not-over`, `site-target`, `site-busy`; OSError.
    """
    document = site_document(contest, now)
    if final:
        require_over(contest, now)
        document = as_final(document)
    site = SiteFolder(folder)
    with site.locked():
        site.clean()
        staged = site.stage()
        made = RunFiles()
        if final:
            made = write_run_files(contest, document, staged, now)
        write_pages(document, staged, made, every_s)
        about = _about(document)
        manifest = sign_site(staged, about, contest.key)
        size = sum(one.stat().st_size for one in staged.rglob("*") if one.is_file())
        viewing = viewing_of(staged)
        is_new = site.replace(staged, manifest)
    return Publication(
        folder,
        len(manifest.files),
        size,
        document.as_of_utc,
        document.state,
        is_new,
        viewing,
        made.left_out,
    )


def require_over(contest: Contest, now: datetime) -> None:
    """Raise RefereeError `contest-not-over` while a team may still run, or while the board hides results."""
    why = None
    going = [run for run in contest.store.runs.find() if run.state in NOT_OVER]
    freeze = Freeze(contest.store.published.get(), contest.config.freeze_at)
    if going:
        run = going[0]
        why = f"run {run.id} of {run.team} is {run.state}"
    elif contest.store.queue.teams():
        why = "teams wait in the queue"
    elif freeze.hides_news(now):
        why = f"the board is {freeze.state}"
        if not freeze.is_on:
            why = "the board is due to be frozen"
    if why is not None:
        raise RefereeError(
            "contest-not-over",
            f"Reports and bundles show images of the test set and results, and {why}: publish them when the contest is "
            "over and the board is live, or publish the site without them.",
        )


def _about(document: SiteDocument) -> dict[str, object]:
    return {
        "contest": document.board["contest"],
        "state": document.state,
        "as_of_utc": document.as_of_utc,
        "public_key": document.board["public_key"],
    }
