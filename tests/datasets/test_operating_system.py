"""What test sets do on Windows and macOS, as far as Linux can pretend to be them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lpirc_testsets import load_test_set, synthesize, verify
from tests.pretended_system import imported, run_code

MADE = """
from pathlib import Path
from lpirc_testsets import check, load_test_set, synthesize
out = Path("set")
out.mkdir()
synthesize(out, images=3)
print(load_test_set(out).digest, check(out), *sorted(one.name for one in Path().iterdir()))
"""
TWICE = """
from pathlib import Path
from lpirc_testsets import TestSetError
from lpirc_testsets.writing import new_folder
out = Path("set")
with new_folder(out, resumable=True) as first:
    (first / "mine").touch()
    try:
        with new_folder(out, resumable=True):
            print("both")
    except TestSetError as refused:
        print(refused)
print((out / "mine").exists(), *[one.name for one in Path().iterdir()])
"""


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_every_module_is_imported(system: str, tmp_path: Path) -> None:
    assert "lpirc_testsets.writing" in imported(system, tmp_path, "lpirc_testsets")


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_a_synthetic_set_is_the_same_to_the_byte_and_stands_alone(
    system: str,
    tmp_path: Path,
) -> None:
    here = synthesize(tmp_path / "here", images=3)
    there = tmp_path / "there"
    there.mkdir()
    assert run_code(system, there, MADE) == f"{here.digest} () set\n"
    assert verify(load_test_set(there / "set")) == ()
    files = [one.relative_to(here.folder) for one in here.folder.rglob("*.json")]
    assert files
    for file in files:
        assert (there / "set" / file).read_bytes() == (here.folder / file).read_bytes()


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_two_do_not_make_one_set_at_once(system: str, tmp_path: Path) -> None:
    said, left = run_code(system, tmp_path, TWICE).splitlines()
    assert said.endswith(
        "set: another import is writing to it; wait until that import ends"
    )
    assert left == "True set"
