"""Publishes a contest's site: what is public now is written beside the present site, signed, and takes its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from referee.contest import Contest
from referee.errors import RefereeError
from referee.judging.freeze import Freeze
from referee.publishing.log_files import log_files
from referee.publishing.packed_pages import packed
from referee.publishing.public_site import SiteDocument, as_final, site_document
from referee.publishing.run_files import RunFiles, write_run_files
from referee.publishing.site_disk import SiteDisk
from referee.publishing.site_folder import SiteFolder
from referee.publishing.site_manifest import (
    SiteManifest,
    digests,
    digests_of,
    manifest_of,
    write_signed,
)
from referee.publishing.site_pages import pages_of
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
    utc: Callable[[], datetime] | None = None,
) -> Publication:
    """Publish the site in `folder`; `final` adds reports, bundles and certificates, which show the test set's images.

    `every_s` is how often it will be published again: the pages renew themselves as often. `utc` reads the clock again
    once the board is computed; without it that takes no time. Raises RefereeError `contest-not-over`, `site-target`,
    `site-busy`, `site-disk-full`; OSError.
    """
    document = site_document(contest, now, utc or (lambda: now))
    if final:
        require_over(contest, now)
        document = as_final(document)
    site = SiteFolder(folder)
    disk = SiteDisk(contest.folder, folder)
    disk.require_space()
    with disk.watched(), site.locked():
        site.clean()
        if final:
            return _with_run_files(contest, document, site, disk, now)
        pages = _packed_pages(document, RunFiles(), every_s)
        pages |= log_files(contest.store, document.log_events)
        manifest = manifest_of(digests(pages), about_site(document))
        is_new = not site.has(manifest)
        if is_new:
            disk.require_space(sum(map(len, pages.values())))
            with site.staged() as staged:
                site.place(staged, pages)
                write_signed(staged, manifest, contest.key)
                site.replace(staged)
    return _published(folder, document, manifest, is_new=is_new)


def _with_run_files(
    contest: Contest,
    document: SiteDocument,
    site: SiteFolder,
    disk: SiteDisk,
    now: datetime,
) -> Publication:
    """Publish the site with reports, bundles and certificates."""
    with site.staged() as staged:
        made = write_run_files(contest, document, staged, now, disk.require_space)
        site.place(staged, _packed_pages(document, made, None))
        site.place(staged, packed(_written(staged, made)))
        site.place(staged, log_files(contest.store, document.log_events))
        manifest = manifest_of(digests_of(staged), about_site(document))
        is_new = not site.has(manifest)
        if is_new:
            write_signed(staged, manifest, contest.key)
            site.replace(staged)
    return _published(disk.site, document, manifest, made.left_out, is_new=is_new)


def _packed_pages(
    document: SiteDocument, made: RunFiles, every_s: int | None
) -> dict[str, bytes]:
    pages = pages_of(document, made, every_s)
    return pages | packed(pages)


def _written(staged: Path, made: RunFiles) -> dict[str, bytes]:
    """Return reports and certificates: pages, too, where they are not PDF."""
    names = (*made.reports.values(), *made.certificates.values())
    return {name: (staged / name).read_bytes() for name in names}


def _published(
    folder: Path,
    document: SiteDocument,
    manifest: SiteManifest,
    left_out: Sequence[str] = (),
    *,
    is_new: bool,
) -> Publication:
    size = sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())
    return Publication(
        folder,
        len(manifest.files),
        size,
        document.as_of_utc,
        document.state,
        is_new,
        viewing_of(folder),
        [*left_out],
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


def about_site(document: SiteDocument) -> dict[str, object]:
    """Return what the manifest says about a site."""
    return {
        "contest": document.board["contest"],
        "state": document.state,
        "as_of_utc": document.as_of_utc,
        "public_key": document.board["public_key"],
    }
