"""A file that is written whole is the old one or the new one wherever the power is cut, and the new one afterwards."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest

import lpirc_client.files
from lpirc_score.files import atomic_write
from lpirc_score.files.atomic_write import write_atomically
from lpirc_testsets import load_test_set, verify
from lpirc_testsets.synthetic import synthesize
from lpirc_tracks.submissions.kept_models import keep_model
from referee.backup import contest_copy
from referee.backup.contest_copy import back_up, restore
from referee.contest import create_contest, open_contest
from referee.publishing import site_folder
from referee.publishing.site_folder import SiteFolder
from referee.store.integrity import Integrity
from tests.powercut.examination import lay
from tests.powercut.recording import Journal, recorded
from tests.referee.factories import config_text

WAYS = 8
NOW = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
SECRETS = ("secret", "operator-key", "signing-key")
LARGE = [os.urandom(5000) for _ in range(5)]


Left = list[tuple[int, dict[str, bytes]]]


def left(journal: Journal, ways: int = WAYS) -> Left:
    """What cuts leave below the folder: content by path, and how many steps were made before."""
    rng = random.Random(1)  # noqa: S311 - not for secrets
    return [
        (number, disk.left(kept))
        for number, disk in journal.disks()
        for kept in disk.cuts(rng, ways)
    ]


def faults(found: Left, root: Path, name: str) -> list[int]:
    """The steps at which a cut leaves neither the old nor the new; or, after the last one, not the new."""
    last = found[-1][0]
    own = [
        (n, {path: files[path] for path in files if f"{path}/".startswith(f"{name}/")})
        for n, files in found
    ]
    paths = [
        path for path in (root / name, *(root / name).rglob("*")) if path.is_file()
    ]
    old = own[0][1]
    new = {str(path.relative_to(root)): path.read_bytes() for path in paths}
    assert new != old
    assert (last, new) in own
    return sorted(
        {
            number
            for number, files in own
            if files != new and (files != old or number == last)
        }
    )


def written(
    folder: Path,
    name: str,
    act: Callable[[Path], object],
) -> list[int]:
    with recorded(folder) as journal:
        act(folder)
    return faults(left(journal), folder, name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "place"
    made.mkdir()
    (made / "old").write_bytes(b"what was there before" * 500)
    return made


@pytest.mark.parametrize("name", ["old", "new"])
@pytest.mark.parametrize(
    "act",
    [
        lambda path: write_atomically(path, LARGE),
        lambda path: write_atomically(path, b"short", mode=0o600),
        lambda path: lpirc_client.files.write_atomically(path, "text" * 3000),
    ],
    ids=["in parts", "private", "by the client"],
)
def test_a_file_is_the_old_or_the_new_one(
    folder: Path,
    name: str,
    act: Callable[[Path], object],
) -> None:
    assert written(folder, name, lambda place: act(place / name)) == []


def test_a_model_that_is_handed_in_is_kept_whole(folder: Path) -> None:
    assert (
        written(
            folder,
            "models/0.tflite",
            lambda place: keep_model(place, b"".join(LARGE), "0", "m.tflite"),
        )
        == []
    )


def test_a_test_set_is_there_with_every_image_or_not_at_all(folder: Path) -> None:
    assert (
        written(folder, "set", lambda place: synthesize(place / "set", images=3)) == []
    )
    assert len(load_test_set(folder / "set").images) == 3
    assert not verify(load_test_set(folder / "set"))


@pytest.mark.parametrize("is_synced", [True, False])
def test_a_version_of_a_site_is_whole_before_it_is_linked(
    folder: Path,
    *,
    is_synced: bool,
) -> None:
    site = SiteFolder(folder / "site")
    linked = []

    def publish(_: Path) -> None:
        with site.locked(), site.staged() as staged:
            site.place(staged, {"teams/ant.html": LARGE[0]})
            site.replace(staged)
        linked.append((folder / "site").readlink())

    forgetful = mock.patch.object(site_folder, "_sync", nothing)
    with recorded(folder) as journal, nullcontext() if is_synced else forgetful:
        publish(folder)
    assert (faults(left(journal), folder, str(linked[0])) == []) == is_synced


def test_a_contest_whose_folder_has_a_configuration_opens(tmp_path: Path) -> None:
    place = tmp_path / "place"
    text = config_text(synthesize(tmp_path / "set", images=1))
    place.mkdir()
    with recorded(place) as journal:
        create_contest(place / "contest", text)
    found = left(journal, ways=2)
    for name in (*SECRETS, "contest.toml"):
        assert faults(found, place, f"contest/{name}") == []
    complete = [files for _, files in found if "contest/contest.toml" in files]
    for files in complete:
        lay(files, tmp_path / "left")
        for name in SECRETS:
            (tmp_path / "left/contest" / name).chmod(0o600)
        with open_contest(tmp_path / "left/contest") as contest:
            assert contest.store.teams.all() == {}
    assert complete


@pytest.fixture
def day(tmp_path: Path) -> Path:
    """A contest, and a whole backup of it beside it."""
    create_contest(
        tmp_path / "day",
        config_text(synthesize(tmp_path / "set", images=1)),
    )
    back_up(tmp_path / "day", tmp_path / "day.zip", NOW, keys=True, test_sets=True)
    return tmp_path / "day"


def backed_up(place: Path) -> None:
    database = (place / "day" / "contest.db").read_bytes()
    # The recorded connection has no online copy; what the copy holds is no matter here.
    with mock.patch.object(
        Integrity,
        "copy_to",
        lambda _, copy: copy.write_bytes(database),
    ):
        back_up(place / "day", place / "day.zip", NOW, keys=False, test_sets=False)


@pytest.mark.parametrize(
    "forgets",
    [None, (contest_copy, "sync_folder"), (os, "fsync")],
)
def test_a_backup_takes_the_place_of_the_older_one_whole(
    folder: Path,
    day: Path,
    forgets: tuple[object, str] | None,
) -> None:
    def act(place: Path) -> None:
        with mock.patch.object(*forgets, nothing) if forgets else nullcontext():
            backed_up(place)

    shutil.copytree(day, folder / "day")
    shutil.copy(day.with_suffix(".zip"), folder)
    assert (written(folder, "day.zip", act) == []) == (forgets is None)


@pytest.mark.parametrize("is_synced", [True, False])
def test_a_contest_is_restored_whole_or_not_at_all(
    folder: Path,
    day: Path,
    *,
    is_synced: bool,
) -> None:
    def sync() -> None:
        for path in (folder, *folder.rglob("*")) if is_synced else ():
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)

    def act(place: Path) -> None:
        with mock.patch.object(os, "sync", sync):
            restore(day.with_suffix(".zip"), place / "copy", None, NOW)

    assert (written(folder, "copy", act) == []) == is_synced


def nothing(*_: object) -> None:
    pass


def written_in_place(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with path.open("rb") as file:
        os.fsync(file.fileno())


@pytest.mark.parametrize(
    ("forgets", "act"),
    [
        ((os, "fsync"), write_atomically),
        ((atomic_write, "sync_folder"), write_atomically),
        ((os, "none"), written_in_place),
    ],
    ids=["no sync", "no sync of the folder", "in place"],
)
def test_a_file_that_is_not_written_so_is_caught(
    folder: Path,
    forgets: tuple[object, str],
    act: Callable[[Path, bytes], None],
) -> None:
    def forgetful(place: Path) -> None:
        with mock.patch.object(*forgets, nothing, create=True):
            act(place / "old", b"new" * 5000)

    assert written(folder, "old", forgetful)


def test_a_test_set_whose_images_were_not_synced_is_caught(folder: Path) -> None:
    def forgetful(place: Path) -> None:
        with mock.patch("lpirc_testsets.writing.sync", nothing):
            synthesize(place / "set", images=2)

    assert written(folder, "set", forgetful)


WRITES = re.compile(r"""\.write_(?:text|bytes)\(|open\((?:[^()\n]*, )?["'][wx]""")
# Nothing of a contest: the log of a meter, what a developer fetches; and the two writers.
OTHERS = {
    *("client/lpirc_client/files.py", "scoring/lpirc_score/files/atomic_write.py"),
    "referee/journal/log_file.py",  # whose power is cut in `test_store.py`
    # in the folder of a site's next version, which is synced before it is linked
    *(
        "referee/publishing/certificates.py",
        "referee/publishing/site_manifest.py",
        "referee/publishing/site_folder.py",
    ),
    # in the folder that `new_folder` syncs
    *(
        "datasets/lpirc_testsets/set_building.py",
        "datasets/lpirc_testsets/synthetic.py",
        "datasets/lpirc_testsets/writing.py",
    ),
    "tracks/lpirc_tracks/submissions/claims.py",  # in a folder that is deleted after the claim
    "tracks/lpirc_tracks/submissions/kept_columns.py",  # what is read again where it is not whole
    *(
        "power/lpirc_power/cli/certify.py",
        "client/lpirc_client/terminal.py",
        "referee/pages/vendor.py",
    ),
    "referee/evidence/recomputed_run.py",  # in a temporary folder, for the time of a verification
    "client/lpirc_client/timeline.py",
    "client/lpirc_client/work.py",  # what it fetched is hashed before each use
    # a laboratory's pages, plots and exports, which are made again from the recording
    *(
        "power/lpirc_power/cli/page_file.py",
        "power/lpirc_power/measurement_files/parquet_export.py",
        "power/lpirc_power/notebook/plot.py",
    ),
    # a laboratory's recording: what a cut at any byte leaves of it is read in tests/power
    *(
        "power/lpirc_power/record/record_file.py",
        "power/lpirc_power/recording_run/kept_record.py",
        "power/lpirc_power/recording_run/logbook.py",
    ),
}


def test_no_other_place_of_the_program_writes_whole_files() -> None:
    root = Path(__file__).parents[2]
    found = {
        str(path.relative_to(root))
        for room in ("referee", "tracks", "scoring", "power", "client", "datasets")
        for path in (root / room).rglob("*.py")
        if WRITES.search(path.read_text())
    }
    assert found == OTHERS
