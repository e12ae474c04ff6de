"""`python -m tests.release ready|make|set VERSION`, for `make release`; `build FOLDER` makes its files without a key.

Exit code 1 with a line for each reason where it is refused; 2 is wrong usage.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.release import bill, git, provenance, readiness, requirements, version
from tests.release.building import built_twice, sha256_of
from tests.release.refusal import Refused
from tests.release.signing_key import PUBLIC_NAME, private_key

SUMS = "SHA256SUMS"
DEPLOYED = (
    "Containerfile",
    "compose.yaml",
    "nginx.conf",
    "referee-http.conf",
    "referee-server.conf",
    "set-up-debian.sh",
)
"""Files of docs/deploy with which a release is set up without a checkout."""


def main(words: Sequence[str], root: Path) -> int:
    """Do what the words say with the checkout `root`; return the exit code."""
    chosen = _arguments(words)
    try:
        if chosen.step == "set":
            files = version.write(root, chosen.version)
            print(f"{chosen.version} is written into {len(files)} files")
            return 0
        if chosen.step == "build":
            print(f"{_built(root, chosen.folder)} files, built twice with equal bytes")
            return 0
        readiness.check(root, chosen.version, chosen.key)
        if chosen.step == "ready":
            print(f"{git.commit(root)[:12]} can be released as {chosen.version}")
            return 0
        folder = chosen.out or root / "dist" / f"lpirc-{chosen.version}"
        for line in made(root, chosen.version, chosen.key, folder):
            print(line)
    except Refused as reason:
        print(reason, file=sys.stderr)
        return 1
    return 0


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.release")
    steps = parser.add_subparsers(dest="step", required=True)
    for name, what in (
        ("ready", "say whether this commit can be released"),
        ("make", "build, list, sum and sign"),
        ("set", "write the version into every place"),
    ):
        step = steps.add_parser(name, help=what)
        step.add_argument("version", metavar="VERSION")
        if name != "set":
            step.add_argument("--key", type=Path, required=True)
        if name == "make":
            step.add_argument(
                "--out", type=Path, help="dist/lpirc-VERSION if not given"
            )
    build = steps.add_parser("build", help="build the commit's wheels and sdists")
    build.add_argument("folder", type=Path, metavar="FOLDER")
    return parser.parse_args(words)


def _built(root: Path, folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="lpirc-release-") as work:
        files = built_twice(root, Path(work))
        for one in files:
            shutil.copy(one, folder)
    return len(files)


def made(root: Path, wanted: str, key: Path, folder: Path) -> list[str]:
    """Make the release in `folder`, which is new; return what is said of it.

    Raises:
        Refused: the folder exists, or the files cannot be made.
    """
    if folder.exists():
        raise Refused(f"{folder} exists: a release is made once; take it away first")
    began = datetime.now(UTC)
    with TemporaryDirectory(prefix="lpirc-release-") as work:
        files = built_twice(root, Path(work))
        unfinished = Path(work) / "release"
        unfinished.mkdir()
        for one in files:
            shutil.copy(one, unfinished)
        _describe(root, wanted, unfinished)
        listed = sorted(unfinished.iterdir())
        sums = "".join(f"{sha256_of(one)}  {one.name}\n" for one in listed)
        (unfinished / SUMS).write_text(sums)
        ended = datetime.now(UTC)
        subjects = sorted(unfinished.iterdir())
        about = provenance.statement_of(root, wanted, subjects, began, ended)
        envelope = provenance.signed(about, private_key(key))
        (unfinished / provenance.NAME).write_text(envelope)
        shutil.copytree(unfinished, folder)
    return [
        f"{len(files)} wheels and sdists, built twice with equal bytes",
        f"{folder}: {len(listed)} files in {SUMS}, signed in {provenance.NAME}",
        f"Tag the commit: git tag -s v{wanted} {git.commit(root)}",
    ]


def _describe(root: Path, wanted: str, folder: Path) -> None:
    """Write what stands beside the wheels and sdists of `folder`."""
    files = sorted(folder.iterdir())
    made_s = git.committed_s(root)
    bill_text = bill.bill_text(root, wanted, made_s, files)
    (folder / bill.NAME).write_text(bill_text)
    listed = requirements.requirements_text(root, files)
    (folder / requirements.NAME).write_text(listed)
    shutil.copy(root / PUBLIC_NAME, folder)
    for name in DEPLOYED:
        shutil.copy(root / "docs" / "deploy" / name, folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).parents[2]))
