"""Every reason not to make a release. Nothing is changed here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from tests.release import git, signing_key, version
from tests.release.refusal import Refused


def check(root: Path, wanted: str, key: Path) -> None:
    """See that the commit of `root` can be released as the version `wanted`, signed with `key`.

    Raises:
        Refused: it cannot; every reason is a line.
    """
    reasons = [*_reasons(root, wanted, key)]
    if reasons:
        raise Refused("\n".join(reasons))


def _reasons(root: Path, wanted: str, key: Path) -> Iterator[str]:
    if not version.FORM.fullmatch(wanted):
        yield f"VERSION={wanted} is not a version: write three numbers, such as 1.0.0"
        return
    yield from _of_git(root, wanted)
    for place, found in version.versions(root).items():
        if found != wanted:
            yield (
                f"{place} is {found}, not {wanted}: run "
                f"`python -m tests.release set {wanted}`, and commit it"
            )
    yield from _of_changelog(root, wanted)
    yield from _of_key(root, key)


def _of_git(root: Path, wanted: str) -> Iterator[str]:
    changed = git.not_committed(root)
    if changed:
        more = f" and {len(changed) - 1} more" if changed[1:] else ""
        yield f"{changed[0]}{more} is not committed: commit it, or take it away"
    tag = f"v{wanted}"
    tagged = git.tagged(root, tag)
    commit = git.commit(root)
    if tagged not in ("", commit):
        yield (
            f"the tag {tag} is at {tagged[:12]}, not at {commit[:12]}: "
            "check out the tag, or choose another version"
        )
    newest = _newest_tag(root)
    if newest > (version.numbers(wanted) or ()):
        found = ".".join(map(str, newest))
        yield f"the tag v{found} is above {wanted}: choose a version above {found}"


def _newest_tag(root: Path) -> tuple[int, ...]:
    """The numbers of the highest version that has a tag; empty if none has."""
    tagged = (version.numbers(one[1:]) for one in git.tags(root, "v*"))
    return max(filter(None, tagged), default=())


def _of_changelog(root: Path, wanted: str) -> Iterator[str]:
    text = (root / "CHANGELOG.md").read_text()
    heading = re.search(rf"^## \[{re.escape(wanted)}\](.*)$", text, re.MULTILINE)
    if heading is None:
        yield (
            f"CHANGELOG.md has no section [{wanted}]: put `## [{wanted}] - YYYY-MM-DD` "
            "below an empty [Unreleased]"
        )
        return
    released = heading[1].removeprefix(" - ")
    if not _is_date(released):
        yield (
            f"CHANGELOG.md: [{wanted}] has no date: write "
            f"`## [{wanted}] - YYYY-MM-DD`, with the day of the release"
        )
    first = text.partition("## [Unreleased]")[2].partition("\n## [")[0]
    if first.strip():
        yield (
            f"CHANGELOG.md: [Unreleased] has lines: move them below [{wanted}], "
            "or leave them out of this commit"
        )
    if not re.search(rf"^\[{re.escape(wanted)}\]: \S+$", text, re.MULTILINE):
        yield f"CHANGELOG.md: [{wanted}] has no link at the end of the file: add it"
    cited = re.search(r"^date-released: (.*)$", _citation(root), re.MULTILINE)
    if cited is None or cited[1].strip("\"'") != released:
        yield (
            f"CITATION.cff names {cited[1] if cited else 'no date'}, CHANGELOG.md "
            f"{released or 'none'}: write `date-released:` with the same day"
        )


def _citation(root: Path) -> str:
    return (root / "CITATION.cff").read_text()


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _of_key(root: Path, key: Path) -> Iterator[str]:
    try:
        private = signing_key.private_key(key)
        public = signing_key.public_key(root)
    except Refused as reason:
        yield str(reason)
        return
    if not signing_key.is_pair(private, public):
        yield (
            f"KEY={key} is not the key of {signing_key.PUBLIC_NAME}: "
            "name the project's key, or commit the new public half first"
        )
