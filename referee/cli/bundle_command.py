"""`referee bundle`: a run as one file, from which anyone can recompute its score."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lpirc_testsets import load_test_set
from lpirc_testsets.file_bytes import file_bytes
from referee.cli.output_paths import output_path, zip_file
from referee.cli.shared_options import (
    any_path,
    as_json,
    contest_folder,
    hexadecimal,
    run_number,
)
from referee.clock import Clock
from referee.contest import open_contest
from referee.errors import RefereeError
from referee.judging.jury_decisions import is_published, require_published
from referee.store.records import OVER

if TYPE_CHECKING:
    from referee.evidence.kept_links import KeptLink

LARGEST_FILE_BYTES = 2**32


@click.group("bundle")
def bundle() -> None:
    """Bundles: everything that a run's score rests on, as one file that anyone can verify."""


@bundle.command("export")
@click.argument("number", metavar="[RUN]", type=run_number, required=False)
@click.option(
    "--all",
    "all_runs",
    is_flag=True,
    help="Write a bundle of every closed run, one file each.",
)
@click.option(
    "--unpublished",
    is_flag=True,
    help="Also of runs that the jury has not published (publish_by): for the jury alone.",
)
@click.option(
    "-o",
    "--out",
    type=output_path,
    required=True,
    help="The file to write; with --all, the folder.",
)
@contest_folder
def export_command(
    number: int | None,
    folder: Path,
    out: Path,
    *,
    all_runs: bool,
    unpublished: bool,
) -> None:
    """Write the bundle of a run: bodies, readings, events, score, signed by the contest's key."""
    from referee.evidence.bundle_parts import export_bundle

    _require_place(number, out, all_runs=all_runs)
    now = Clock().utc()
    with open_contest(folder) as contest:
        if number is not None:
            if not unpublished:
                require_published(contest, number)
            click.echo(export_bundle(contest, number, out, now))
            return
        out.mkdir(parents=True, exist_ok=True)
        numbers = [
            run.id
            for run in contest.store.runs.find()
            if run.state in OVER and run.start_s is not None
        ]
        left_out = []
        waiting = []
        for one in numbers:
            if not (unpublished or is_published(contest, one)):
                waiting.append(str(one))
                continue
            try:
                click.echo(export_bundle(contest, one, out / f"run-{one}.zip", now))
            except RefereeError as error:
                left_out.append(f"run {one}")
                click.echo(f"referee: {error.sentence}", err=True)
    if waiting:
        click.echo(
            f"Not published, so without a bundle: run {', '.join(waiting)}; with them: --unpublished",
            err=True,
        )
    if left_out:
        raise RefereeError(
            "bundle-failed", f"There is no bundle of {', '.join(left_out)}."
        )
    if not numbers:
        click.echo("No run is closed yet.", err=True)


def _require_place(number: int | None, out: Path, *, all_runs: bool) -> None:
    """Fail unless one run is named, with the zip to write, or all runs with a folder."""
    if all_runs == (number is not None):
        raise click.UsageError("Give either RUN or --all.")
    if number is not None:
        zip_file.convert(out, None, click.get_current_context())


@bundle.command("verify")
@click.argument("file", type=any_path)
@click.option(
    "--testset",
    type=any_path,
    help="The test set, if the ground truth is still secret.",
)
@click.option(
    "--receipts",
    type=any_path,
    help="File with the receipts that the team's client kept, and the links of the log beside them.",
)
@click.option(
    "--key",
    metavar="HEX",
    help="The contest's public key, as shown on the board and the printed sheet.",
)
@click.option(
    "--head",
    metavar="[EVENTS:]HEX",
    help="Head of the log that a board showed: its number of events, and at least 12 of its digits.",
)
@click.option(
    "--links",
    "links",
    type=any_path,
    multiple=True,
    help="File with links of the log that somebody kept: lpirc-client's, or another team's receipts. Repeatable.",
)
@click.option(
    "--chain",
    "chains",
    type=any_path,
    multiple=True,
    help="The published log: the list from /log/links, or the site's record. It may be repeated.",
)
@click.option(
    "--interval",
    is_flag=True,
    help="Also compute the score's confidence interval again; this takes seconds.",
)
@as_json
def verify_command(
    file: Path,
    testset: Path | None,
    receipts: Path | None,
    key: str | None,
    head: str | None,
    links: tuple[Path, ...],
    chains: tuple[Path, ...],
    *,
    interval: bool,
    as_json: bool,
) -> None:
    """Compute a run's score again from its bundle, and list the results; exit code 1 if an item fails."""
    from referee.backup.backup_file import refuse_backup
    from referee.evidence.bundle_container import BadBundle
    from referee.evidence.bundle_verification import verify
    from referee.evidence.given_facts import Given
    from referee.evidence.published_chain import read_chain
    from referee.evidence.receipts_in_bundle import RECEIPTS, read_receipts

    data = file_bytes(file, LARGEST_FILE_BYTES)
    refuse_backup(file)
    head_events, head_link = _head(head)
    test_set = None if testset is None else load_test_set(testset)
    given = Given(
        key=hexadecimal("--key", key, 64),
        head=head_link,
        head_events=head_events,
        receipts=None
        if receipts is None
        else read_receipts(file_bytes(receipts), str(receipts)),
        ground_truth=None
        if test_set is None
        else file_bytes(test_set.ground_truth_path),
        test_set=test_set.digest if test_set else "",
        interval=interval,
        kept=_kept_links(links, receipts),
        chains=[read_chain(file_bytes(one), str(one)) for one in chains],
    )
    try:
        items = verify(data, given)
    except BadBundle as error:
        hint = "a bundle is made by: referee bundle export RUN -o FILE"
        sentence = f"{file}: {error.sentence.rstrip('.')}; {hint}"
        raise RefereeError(error.code, sentence) from error
    if as_json:
        is_ok = all(item.outcome != "failed" for item in items)
        click.echo(json.dumps({"ok": is_ok, "items": [asdict(item) for item in items]}))
    else:
        for item in items:
            where = f" [{item.part}]" if item.part else ""
            click.echo(f"{item.outcome:11}  {item.name}{where}: {item.sentence}")
    failed = [
        f"{item.name} ({item.part})" for item in items if item.outcome == "failed"
    ]
    left = [item.name for item in items if item.outcome == "not checked"]
    if [name.partition(" ")[0] for name in failed] == ["receipts"] and items[
        -1
    ].part == RECEIPTS:
        sentence = (
            "The receipts file failed; the bundle passed, as far as it was checked."
        )
        raise RefereeError("bundle-failed", sentence)
    if failed:
        raise RefereeError(
            "bundle-failed", f"{file} does not hold: {', '.join(failed)}."
        )
    if not as_json:
        click.echo(
            f"Every check passed{'; not checked: ' if left else ''}{', '.join(left)}."
        )


def _kept_links(links: Sequence[Path], receipts: Path | None) -> list[KeptLink]:
    """Read the links of the given files, and those that a client has kept beside its receipts."""
    from referee.evidence.kept_links import links_beside, read_kept

    kept = [kept for one in links for kept in read_kept(file_bytes(one), str(one))]
    if receipts is not None and receipts not in links:
        kept += links_beside(file_bytes(receipts), str(receipts))
    return kept


def _head(text: str | None) -> tuple[int | None, str | None]:
    """Parse a head of the log: the number of events that it covers, if given, and its link.

    Raises RefereeError `bad-request`.
    """
    if text is None or ":" not in text:
        return None, hexadecimal("--head", text, 12)
    events, _, link = text.partition(":")
    if not (events.isascii() and events.isdigit()):
        raise RefereeError(
            "bad-request", f"--head {text!r}: {events!r} is not a number of events."
        )
    return int(events), hexadecimal("--head", link, 12)
