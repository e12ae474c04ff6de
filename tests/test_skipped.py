"""`--skipped-last-time`, in a pytest of its own over a few tests, some of which need what is not there yet."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ALWAYS = """
def test_runs_anywhere():
    pass
"""
SOMETIMES = """
import os, pytest

@pytest.mark.skipif("BROWSER" not in os.environ, reason="no browser")
def test_needs_a_browser():
    pass

def test_needs_none():
    pass
"""
NEVER_BARE = """
import os, pytest

if "BROWSER" not in os.environ:
    pytest.skip("no browser", allow_module_level=True)

def test_of_a_page():
    pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_always.py").write_text(ALWAYS)
    (tmp_path / "test_sometimes.py").write_text(SOMETIMES)
    (tmp_path / "test_never_bare.py").write_text(NEVER_BARE)
    return tmp_path


def run(
    folder: Path, *words: str, browser: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a pytest of the folder, with the project's own conftest."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTEST_ADDOPTS", None)
    if browser:
        environment["BROWSER"] = "yes"
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest"]
    return subprocess.run(
        [*command, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_a_bare_machine_skipped_runs_alone_where_the_packages_are(
    folder: Path,
) -> None:
    bare = run(folder, "-n", "1")
    assert "2 passed, 2 skipped" in bare.stdout
    full = run(folder, "--skipped-last-time", "-v", "-n", "1", browser=True)
    assert full.returncode == 0, full.stdout
    assert "2 passed" in full.stdout
    assert "test_needs_a_browser" in full.stdout
    assert "test_of_a_page" in full.stdout


def test_a_run_of_what_was_skipped_leaves_the_record_for_the_next(folder: Path) -> None:
    run(folder)
    first = run(folder, "--skipped-last-time", browser=True)
    second = run(folder, "--skipped-last-time", browser=True)
    assert "2 passed" in first.stdout
    assert "2 passed" in second.stdout


def test_repeating_what_failed_leaves_the_record_as_it_is(folder: Path) -> None:
    failing = folder / "test_failing.py"
    failing.write_text("def test_of_a_limit():\n    assert False\n")
    run(folder)
    failing.write_text("def test_of_a_limit():\n    pass\n")
    repeated = run(folder, "--last-failed")
    again = run(folder, "--skipped-last-time", browser=True)
    assert "1 passed" in repeated.stdout
    assert "2 passed" in again.stdout


def test_collecting_alone_leaves_the_record_as_it_is(folder: Path) -> None:
    run(folder)
    run(folder, "--collect-only", browser=True)
    again = run(folder, "--skipped-last-time", browser=True)
    assert "2 passed" in again.stdout


def test_where_nothing_was_skipped_nothing_is_left_to_run_and_nothing_fails(
    folder: Path,
) -> None:
    run(folder, browser=True)
    done = run(folder, "--skipped-last-time", browser=True)
    assert done.returncode == 0
    assert "the last run skipped nothing" in done.stdout + done.stderr


def test_a_run_of_what_was_skipped_needs_a_run_before(folder: Path) -> None:
    refused = run(folder, "--skipped-last-time")
    assert refused.returncode != 0
    said = refused.stdout + refused.stderr
    assert "no run is recorded; run without --skipped-last-time first" in said


def test_without_a_cache_nothing_is_recorded_and_nothing_fails(folder: Path) -> None:
    done = run(folder, "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout
    assert not (folder / ".pytest_cache").exists()
