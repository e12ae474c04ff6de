from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.release import git, version
from tests.release.__main__ import main
from tests.release.signing_key import PUBLIC_NAME
from tests.wheels.building import ROOT


def minor_after(present: str) -> str:
    """The first version of the next minor one: 1.1.0 after 1.0.3."""
    major, minor, _ = present.split(".")
    return f"{major}.{int(minor) + 1}.0"


NEXT = minor_after(next(iter(version.versions(ROOT).values())))
DAY = "2027-01-31"
WHO = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "keeper"), ("EMAIL", "keeper@example.org"))
}


@dataclass(frozen=True)
class Keeper:
    """Somebody with a checkout, and with the project's key."""

    root: Path
    key: Path

    def git(self, *words: str) -> None:
        subprocess.run(
            ["git", "-C", str(self.root), *words],
            check=True,
            env=os.environ | WHO,
            stdout=subprocess.DEVNULL,
        )

    def change(self, name: str, old: str, new: str) -> None:
        """Change a file without committing it."""
        file = self.root / name
        text = file.read_text()
        assert old in text, old
        file.write_text(text.replace(old, new, 1))

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "-q", "-m", "Release")


def openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, stdout=subprocess.DEVNULL)


def checkout(folder: Path) -> Path:
    """What git has or would add of this checkout, as a repository of its own."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "-co", "--exclude-standard"]
    listed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    for name in filter(None, listed.decode().split("\0")):
        source = ROOT / name
        if not source.is_symlink() and not source.is_file():
            continue  # taken away, and not yet committed
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(source.readlink())
        else:
            target.write_bytes(source.read_bytes())
            target.chmod(source.stat().st_mode & 0o755)
    return folder


def keeper_of(folder: Path) -> Keeper:
    """A checkout that can be released as `NEXT`, by the steps of docs/releasing.md."""
    root = checkout(folder / "project")
    keeper = Keeper(root, folder / "release-key")
    openssl("genpkey", "-algorithm", "ed25519", "-out", str(keeper.key))
    keeper.key.chmod(0o600)
    public = root / PUBLIC_NAME
    openssl("pkey", "-in", str(keeper.key), "-pubout", "-out", str(public))
    version.write(root, NEXT)
    log = root / "CHANGELOG.md"
    text = log.read_text()
    unreleased = "## [Unreleased]\n"
    text = text.replace(unreleased, f"{unreleased}\n## [{NEXT}] - {DAY}\n", 1)
    log.write_text(f"{text}[{NEXT}]: CONTRIBUTING.md\n")
    citation = root / "CITATION.cff"
    dated = f"version: {NEXT}\ndate-released: {DAY}\n"
    kept = re.sub(r"^date-released: .*\n", "", citation.read_text(), flags=re.M)
    citation.write_text(kept.replace(f"version: {NEXT}\n", dated, 1))
    keeper.git("init", "-q", "-b", "main")
    keeper.commit()
    return keeper


@pytest.fixture(scope="session")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Keeper:
    """One whose commit can be released; each test gets it as it was."""
    made = keeper_of(tmp_path_factory.mktemp("keeper"))
    made.git("branch", "-q", "as-it-was")
    return made


@pytest.fixture
def keeper(ready: Keeper) -> Iterator[Keeper]:
    key = ready.key.read_bytes()
    yield ready
    ready.git("reset", "-q", "--hard", "as-it-was")
    ready.git("clean", "-qfdx")
    for tag in git.tags(ready.root, "*"):
        ready.git("tag", "--delete", tag)
    ready.key.unlink(missing_ok=True)
    ready.key.write_bytes(key)
    ready.key.chmod(0o600)


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Keeper:
    """One whose release lies in `dist`; no test may change it."""
    keeper = keeper_of(tmp_path_factory.mktemp("released"))
    assert main(["make", NEXT, "--key", str(keeper.key)], keeper.root) == 0
    return keeper
