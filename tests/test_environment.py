"""The script that builds `.venv`: what a machine lacks is one sentence, and a second start goes on."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import environment

ROOT = Path(__file__).parents[1]
SCRIPT = Path(environment.__file__)


def checkout(folder: Path) -> Path:
    """What the script needs of this project, with lock files that ask for nothing."""
    shutil.copytree(
        ROOT / "client", folder / "client", ignore=shutil.ignore_patterns("__pycache__", "LICENSE")
    )
    (folder / "requirements.lock").write_text("# nothing\n")
    (folder / "client" / "oldest.lock").write_text("# nothing\n")
    return folder


def built(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), ".venv"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_clone_with_the_line_ends_of_windows_is_one_sentence(tmp_path: Path) -> None:
    lock = checkout(tmp_path) / "requirements.lock"
    lock.write_bytes(lock.read_bytes().replace(b"\n", b"\r\n"))
    done = built(tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "clone again, with `git clone -c core.autocrlf=false`" in done.stderr


def test_git_writes_line_feeds_also_where_it_is_set_to_those_of_windows(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git = ["git", "-c", "core.autocrlf=true", "-c", "safe.directory=*"]
    subprocess.run([*git, "clone", "--quiet", "--no-checkout", str(ROOT), str(clone)], check=True)
    shutil.copy(ROOT / ".gitattributes", clone / ".git" / "info" / "attributes")
    checkout_lock = [*git, "checkout", "HEAD", "--", "requirements.lock", ".ci/run"]
    subprocess.run(checkout_lock, cwd=clone, check=True)
    for name in ("requirements.lock", ".ci/run"):
        assert b"\r" not in (clone / name).read_bytes()


def test_an_older_python_is_named_with_the_way_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 14))
    with pytest.raises(
        environment.NotBuilt, match=r"3\.11 or newer is needed, .* is 3\.10: run `make PYTHON="
    ):
        environment.check_python()


def test_a_python_without_venv_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", {"venv": "there"}.get)
    with pytest.raises(environment.NotBuilt, match="apt-get install python3-venv"):
        environment.check_python()


def test_a_lock_that_cannot_be_installed_fails_and_the_next_start_goes_on(tmp_path: Path) -> None:
    lock = checkout(tmp_path) / "requirements.lock"
    lock.write_text("click==8.1.7\n")  # without its hash
    done = built(tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("The environment could not be built: ")
    assert "Traceback" not in done.stderr
    lock.write_text("# nothing\n")
    again = built(tmp_path)
    # It comes as far as this project itself, which needs the build tools of the real lock file.
    assert "requirements.lock" in again.stdout
    assert "-e . -e client" in again.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere; an ordinary user tries it")
def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    checkout(tmp_path).chmod(0o500)
    done = built(tmp_path)
    said = f"{tmp_path} cannot be written: clone into a folder that is yours, then run make there\n"
    assert (done.returncode, done.stderr) == (1, said)


def test_a_full_disk_is_named_with_what_is_needed(tmp_path: Path) -> None:
    said = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"
    sentence = environment.why(said, tmp_path / ".venv")
    assert "is full, with" in sentence
    assert f"1300 MB in {tmp_path}" in sentence


def test_an_index_that_does_not_answer_is_told_from_a_package_that_is_not_there() -> None:
    retries = "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(...)'\n"
    missing = "ERROR: No matching distribution found for click==8.1.7\n"
    assert environment.why(retries + missing, Path(".venv")).startswith("The package index cannot be reached")
    assert environment.why(missing, Path(".venv")).startswith("The environment could not be built")
