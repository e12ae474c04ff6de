"""Every reason to refuse a release, each in one sentence, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.release import version
from tests.release.__main__ import main
from tests.release.conftest import DAY, NEXT, Keeper, openssl
from tests.release.readiness import check
from tests.release.refusal import Refused
from tests.wheels.building import ROOT


def refused(keeper: Keeper, wanted: str = NEXT) -> list[str]:
    with pytest.raises(Refused) as reason:
        check(keeper.root, wanted, keeper.key)
    assert not (keeper.root / "dist").exists()
    return str(reason.value).splitlines()


def test_all_places_have_one_version() -> None:
    found = version.versions(ROOT)
    assert len(set(found.values())) == 1, found


def test_a_commit_that_follows_the_steps_is_ready(keeper: Keeper) -> None:
    check(keeper.root, NEXT, keeper.key)


def test_the_tag_of_the_release_before_is_no_reason(keeper: Keeper) -> None:
    major, minor, _ = version.numbers(NEXT) or (0, 0, 0)
    keeper.git("tag", f"v{major}.{minor - 1}.12")
    keeper.git("tag", f"v{NEXT}")
    check(keeper.root, NEXT, keeper.key)


def test_a_version_is_written_into_every_place_and_nowhere_else(
    keeper: Keeper,
) -> None:
    before = version.versions(keeper.root)
    assert main(["set", "2.13.40"], keeper.root) == 0
    after = version.versions(keeper.root)
    assert {one.replace(NEXT, "2.13.40") for one in before} == {*after}
    assert {*after.values()} == {"2.13.40"}
    assert main(["set", NEXT], keeper.root) == 0
    check(keeper.root, NEXT, keeper.key)


@pytest.mark.parametrize("wanted", ["1.0", "v1.0.0", "1.0.0rc1", "01.0.0", ""])
def test_what_is_no_version_is_refused(
    keeper: Keeper, capsys: pytest.CaptureFixture[str], wanted: str
) -> None:
    (reason,) = refused(keeper, wanted)
    assert "three numbers, such as 1.0.0" in reason
    assert main(["set", wanted], keeper.root) == 1
    assert capsys.readouterr().err.count("\n") == 1
    check(keeper.root, NEXT, keeper.key)


def a_new_file(keeper: Keeper) -> None:
    (keeper.root / "scoring" / "lpirc_score" / "more.py").write_text("")


def a_changed_file(keeper: Keeper) -> None:
    keeper.change("README.md", "# ", "## ")


def a_tag_elsewhere(keeper: Keeper) -> None:
    keeper.git("tag", f"v{NEXT}")
    keeper.change("README.md", "# ", "#  ")
    keeper.commit()


def a_tag_above(keeper: Keeper) -> None:
    keeper.git("tag", "v999.10.0")
    keeper.git("tag", "v999.9.0")
    keeper.git("tag", "vnext")


def an_older_part(keeper: Keeper) -> None:
    keeper.change("power/pyproject.toml", f'version = "{NEXT}"', 'version = "0.9.0"')
    keeper.commit()


def an_older_need(keeper: Keeper) -> None:
    keeper.change("tracks/pyproject.toml", f"lpirc-score=={NEXT}", "lpirc-score==0.9.0")
    keeper.commit()


def no_date(keeper: Keeper) -> None:
    keeper.change("CHANGELOG.md", f"## [{NEXT}] - {DAY}", f"## [{NEXT}]")
    keeper.commit()


def a_day_that_is_none(keeper: Keeper) -> None:
    keeper.change("CHANGELOG.md", DAY, "2027-02-30")
    keeper.change("CITATION.cff", DAY, "2027-02-30")
    keeper.commit()


def no_section(keeper: Keeper) -> None:
    keeper.change("CHANGELOG.md", f"## [{NEXT}] - {DAY}\n", "")
    keeper.commit()


def lines_unreleased(keeper: Keeper) -> None:
    keeper.change("CHANGELOG.md", "## [Unreleased]\n", "## [Unreleased]\n\n- More.\n")
    keeper.commit()


def no_link(keeper: Keeper) -> None:
    keeper.change("CHANGELOG.md", f"\n[{NEXT}]: ", "\n[0.0.1]: ")
    keeper.commit()


def another_day_of_the_citation(keeper: Keeper) -> None:
    keeper.change("CITATION.cff", DAY, "2026-01-31")
    keeper.commit()


def a_readable_key(keeper: Keeper) -> None:
    keeper.key.chmod(0o644)


def a_key_of_another_kind(keeper: Keeper) -> None:
    openssl("genpkey", "-algorithm", "x25519", "-out", str(keeper.key))


def no_key(keeper: Keeper) -> None:
    keeper.key.unlink()


def another_key(keeper: Keeper) -> None:
    openssl("genpkey", "-algorithm", "ed25519", "-out", str(keeper.key))


def no_public_key(keeper: Keeper) -> None:
    (keeper.root / "release-key.pub").unlink()
    keeper.commit()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (a_new_file, "scoring/lpirc_score/more.py is not committed"),
        (a_changed_file, "README.md is not committed"),
        (a_tag_elsewhere, f"the tag v{NEXT} is at"),
        (a_tag_above, "choose a version above 999.10.0"),
        (an_older_part, f'power/pyproject.toml: version = " is 0.9.0, not {NEXT}'),
        (an_older_need, f'tracks/pyproject.toml: "lpirc-score== is 0.9.0, not {NEXT}'),
        (no_date, f"[{NEXT}] has no date"),
        (a_day_that_is_none, f"[{NEXT}] has no date"),
        (no_section, f"has no section [{NEXT}]"),
        (lines_unreleased, "[Unreleased] has lines"),
        (no_link, "has no link"),
        (another_day_of_the_citation, "CITATION.cff names 2026-01-31"),
        (a_readable_key, "can be read by others (644)"),
        (a_key_of_another_kind, "is not an Ed25519 key"),
        (no_key, "No such file or directory"),
        (another_key, "is not the key of release-key.pub"),
        (no_public_key, "release-key.pub is missing"),
    ],
)
def test_each_reason_is_one_sentence(
    keeper: Keeper, spoil: Callable[[Keeper], None], words: str
) -> None:
    spoil(keeper)
    reasons = refused(keeper)
    assert any(words in one for one in reasons), reasons
    assert all(": " in one for one in reasons)  # what is wrong, then what to do


def test_all_reasons_are_told_at_once(keeper: Keeper) -> None:
    an_older_part(keeper)
    a_new_file(keeper)
    a_readable_key(keeper)
    assert len(refused(keeper)) == 3
