"""`referee backup` and `referee restore`: save a contest to a file, and rebuild it from one."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from referee.backup import contest_copy, journal_copy
from referee.cli.output_paths import ZIP, folder_to_make, zip_file
from referee.cli.shared_options import any_path, contest_argument
from referee.clock import Clock
from referee.config import read_config
from referee.config.contest_text import BACKUP_FOLDER
from referee.presence import is_file, is_there


@click.command()
@contest_argument()
@click.option(
    "-o",
    "--out",
    "file",
    type=zip_file,
    required=True,
    help="Zip file to write.",
)
@click.option("--with-keys", is_flag=True, help="Include the secrets and keys.")
@click.option("--no-testset", is_flag=True, help="Leave out test sets and models.")
def backup(folder: Path, file: Path, *, with_keys: bool, no_testset: bool) -> None:
    """Back up the contest in FOLDER, also while it is served: database, contest.toml, test sets, models."""
    now = Clock().utc()
    try:
        with _named(file):
            contest_copy.back_up(
                folder, file, now, keys=with_keys, test_sets=not no_testset
            )
    except contest_copy.WrongTarget as error:
        raise click.BadParameter(error.sentence, param_hint="'-o' / '--out'") from error
    what = f"{file.stat().st_size / 1e6:.1f} MB, {'with its' if with_keys else 'no'} secrets and keys"
    click.echo(
        f"Backed up {folder} to {file}: {what}. Keep it secret: it has data that no team may see."
    )


@click.command()
@click.argument("places", type=any_path, nargs=-1, metavar="[FILE] FOLDER")
@click.option(
    "--base",
    type=any_path,
    help="An earlier backup, for parts that FILE lacks, such as keys and test sets.",
)
@click.option(
    "--journal",
    "by_journal",
    is_flag=True,
    help="Make the database of FOLDER from its journal.",
)
def restore(places: tuple[Path, ...], base: Path | None, *, by_journal: bool) -> None:
    """Make the contest FOLDER from FILE, which `referee backup` or the server wrote: all of it or nothing.

    With --journal only the database of FOLDER is made, from the journal that its contest.toml names.
    """
    if by_journal:
        if len(places) != 1 or base is not None:
            raise click.UsageError("With --journal give the contest FOLDER alone.")
        _restore_by_journal(places[0])
        return
    if len(places) != 2:
        raise click.UsageError("Give the backup's FILE and the FOLDER to make.")
    file, folder = places
    _require_backup_first(file, folder)
    folder_to_make.convert(folder, None, click.get_current_context())
    with _named(folder):
        contest, former, missing = contest_copy.restore(
            file, folder, base, Clock().utc()
        )
        if (
            read_config(folder).backup.folder == BACKUP_FOLDER
        ):  # any other one may be a disk that is mounted
            (folder / BACKUP_FOLDER).mkdir(exist_ok=True)
    if contest != former:
        click.echo(
            f"{file} has no keys: new ones were made. The id is now {contest}, it was {former};"
        )
        click.echo(
            "tokens of open runs are void, images are drawn with a new secret, and receipts are signed with a new key."
        )
        click.echo(
            "Bundles of earlier runs still verify, under the contest's first id. New signatures have the new key, the"
        )
        click.echo(
            "closing receipts that teams hold have the former one: referee log shows both (signing-key)."
        )
    for one in missing:
        click.echo(
            f"There is no test set at {folder / one}: put it there, or change contest.toml."
        )
    click.echo(
        f"Restored {folder}. Never serve both this folder and the former one. "
        f"Next: referee serve {shlex.quote(str(folder))}"
    )


def _require_backup_first(file: Path, folder: Path) -> None:
    """Raise click.UsageError if the folder stands before the backup's file."""
    is_named_zip = folder.suffix.lower() == ZIP and file.suffix.lower() != ZIP
    if is_file(file) or not (is_file(folder) or is_named_zip):
        return
    new = file.with_name(f"{file.name}-restored") if is_there(file) else file
    turned = shlex.join(["referee", "restore", str(folder), str(new)])
    what = (
        f"{folder} is a file, and" if is_file(folder) else f"There is no {folder}; it"
    )
    words = f"{what} stands in the place of the folder to make"
    raise click.UsageError(
        f"{words}; give the backup first, then a new folder: {turned}"
    )


def _restore_by_journal(folder: Path) -> None:
    with _named(folder):
        found = journal_copy.restore_database(folder, Clock().utc())
    click.echo(
        f"Made {found.database} from {found.journal}: {found.transactions} transactions."
    )
    if found.kept is not None:
        click.echo(f"The former database is kept as {found.kept}.")
    click.echo(f"Next: referee serve {shlex.quote(str(folder))}")


@contextmanager
def _named(place: Path) -> Iterator[None]:
    """In the block, add the file's name to an error that the disk is full, since the system leaves the name out."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(place)) from error
