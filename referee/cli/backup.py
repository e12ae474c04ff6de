"""`referee backup` and `referee restore`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from referee.backup import contest_copy
from referee.cli.shared_options import any_path
from referee.clock import Clock


@click.command()
@click.argument("folder", type=any_path)
@click.option("-o", "--out", "file", type=any_path, required=True, help="The file to write, a zip.")
@click.option("--with-keys", is_flag=True, help="Also the secrets and keys.")
@click.option("--no-testset", is_flag=True, help="Without test sets and models.")
def backup(folder: Path, file: Path, *, with_keys: bool, no_testset: bool) -> None:
    """Back up the contest in FOLDER, also while it is served: database, contest.toml, test sets, models."""
    with _named(file):
        contest_copy.back_up(folder, file, Clock().utc(), keys=with_keys, test_sets=not no_testset)
    what = f"{file.stat().st_size / 1e6:.1f} MB, {'with its' if with_keys else 'no'} secrets and keys"
    click.echo(f"Backed up {folder} to {file}: {what}. Keep it to yourself: it has what no team may see.")


@click.command()
@click.argument("file", type=any_path)
@click.argument("folder", type=any_path)
@click.option("--base", type=any_path, help="An earlier backup, for what FILE lacks: keys, test sets.")
def restore(file: Path, folder: Path, base: Path | None) -> None:
    """Make the contest FOLDER from FILE, which `referee backup` or the server wrote: all of it or nothing."""
    with _named(folder):
        contest, former, missing = contest_copy.restore(file, folder, base, Clock().utc())
    if contest != former:
        click.echo(f"{file} has no keys: new ones were made. The id is now {contest}, it was {former};")
        click.echo("tokens of open runs are void, another secret draws images, and another key signs.")
        click.echo(
            "Bundles of earlier runs still verify, by their first id. New signatures have the new key, the"
        )
        click.echo(
            "closing receipts that teams hold have the former one: referee log shows both (signing-key)."
        )
    for one in missing:
        click.echo(f"There is no test set at {folder / one}: put it there, or change contest.toml.")
    click.echo(f"Restored {folder}. Never serve it beside the former folder. Next: referee serve {folder}")


@contextmanager
def _named(place: Path) -> Iterator[None]:
    """The error of a write to a full disk names no file: give it the name of what was to be made."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(place)) from error
