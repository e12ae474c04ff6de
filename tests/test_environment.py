"""The script that builds `.venv`: what a machine lacks is one sentence, and a second start goes on."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import environment

ROOT = Path(__file__).parents[1]
SCRIPT = Path(environment.__file__)
LOCKS = ("requirements.lock", "extras.lock", "development.lock")


def checkout(folder: Path) -> Path:
    """What the script needs of this project, with lock files that ask for nothing."""
    shutil.copytree(
        ROOT / "client",
        folder / "client",
        ignore=shutil.ignore_patterns("__pycache__", "LICENSE"),
    )
    for lock in (*LOCKS, "client/oldest.lock"):
        (folder / lock).write_text("# nothing\n")
    return folder


def built(folder: Path, *part: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), ".venv", *part]
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("requirements.lock", ()),
        ("extras.lock", ("extras",)),
        (LOCKS[2], ("tools",)),
    ],
)
def test_a_clone_with_the_line_ends_of_windows_is_one_sentence(
    tmp_path: Path,
    name: str,
    part: tuple[str, ...],
) -> None:
    lock = checkout(tmp_path) / name
    lock.write_bytes(lock.read_bytes().replace(b"\n", b"\r\n"))
    done = built(tmp_path, *part)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "clone again, with `git clone -c core.autocrlf=false`" in done.stderr


def test_git_writes_line_feeds_also_where_it_is_set_to_those_of_windows(
    tmp_path: Path,
) -> None:
    clone = tmp_path / "clone"
    git = ["git", "-c", "core.autocrlf=true", "-c", "safe.directory=*"]
    subprocess.run(
        [*git, "clone", "--quiet", "--no-checkout", str(ROOT), str(clone)],
        check=True,
    )
    shutil.copy(ROOT / ".gitattributes", clone / ".git" / "info" / "attributes")
    names = ("requirements.lock", ".ci/run")
    subprocess.run([*git, "checkout", "HEAD", "--", *names], cwd=clone, check=True)
    for name in names:
        assert b"\r" not in (clone / name).read_bytes()


def test_an_older_python_is_named_with_the_way_to_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 14))
    with pytest.raises(
        environment.NotBuilt,
        match=r"3\.11 or newer is needed, .* is 3\.10: run `make setup PYTHON=",
    ):
        environment.check_python()


def test_a_python_without_venv_names_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", {"venv": "there"}.get)
    with pytest.raises(environment.NotBuilt, match="apt-get install python3-venv"):
        environment.check_python()


def test_a_lock_that_cannot_be_installed_fails_and_the_next_start_goes_on(
    tmp_path: Path,
) -> None:
    lock = checkout(tmp_path) / "requirements.lock"
    lock.write_text("click==8.1.7\n")  # without its hash
    done = built(tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("The environment could not be built: ")
    assert "Traceback" not in done.stderr
    lock.write_text("# nothing\n")
    again = built(tmp_path)
    # It comes as far as this project itself, which needs the build tools of the real lock file.
    assert "requirements.lock" in again.stdout
    assert "-e datasets -e scoring -e power -e client -e referee" in again.stdout


def test_tools_and_extras_are_added_to_the_environment_that_is_there(
    tmp_path: Path,
) -> None:
    folder = checkout(tmp_path)
    subprocess.run([sys.executable, "-m", "venv", folder / ".venv"], check=True)
    (folder / ".venv" / "kept").touch()
    (folder / ".venv" / environment.TEMPORARY).mkdir()  # of one that was interrupted
    done = built(folder, "extras")
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.endswith("--require-hashes -r extras.lock\n")
    assert not (folder / ".venv" / "oldest").exists()
    done = built(folder, "tools")
    assert done.returncode == 0
    assert done.stderr == ""
    for lock in ("extras.lock", "development.lock", "client/oldest.lock"):
        assert f"--require-hashes -r {lock}\n" in done.stdout
    assert "requirements.lock" not in done.stdout
    assert (folder / ".venv" / "oldest" / "bin" / "python").exists()
    assert (folder / ".venv" / "kept").exists()
    assert not (folder / ".venv" / environment.TEMPORARY).exists()


def test_each_part_says_its_own_size_of_a_full_disk(tmp_path: Path) -> None:
    said = environment.FULL[0]
    for part, size_mb in environment.INSTALLED_MB.items():
        sentence = environment.why(said, tmp_path / ".venv", part)
        assert f"the environment takes {size_mb} MB in {tmp_path}" in sentence


@pytest.mark.skipif(
    os.geteuid() == 0,
    reason="root may write everywhere; an ordinary user tries it",
)
def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    checkout(tmp_path).chmod(0o500)
    done = built(tmp_path)
    said = f"{tmp_path} cannot be written: clone into a folder that is yours, then run make there\n"
    assert done.returncode == 1
    assert done.stderr == said


def test_a_full_disk_is_named_with_what_is_needed(tmp_path: Path) -> None:
    said = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"
    sentence = environment.why(said, tmp_path / ".venv")
    assert "is too full, with" in sentence
    assert f"{environment.INSTALLED_MB['setup']} MB in {tmp_path}" in sentence


def test_an_index_that_does_not_answer_is_told_from_a_package_that_is_not_there() -> (
    None
):
    retries = "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(...)'\n"
    missing = "ERROR: No matching distribution found for click==8.1.7\n"
    assert environment.why(retries + missing, Path(".venv")).startswith(
        "The package index cannot be reached"
    )
    assert environment.why(missing, Path(".venv")).startswith(
        "The environment could not be built"
    )
    # Not the last line.
    assert "NewConnectionError" in environment.why(retries + missing, Path(".venv"))


def test_a_network_with_a_certificate_of_its_own_is_told_from_one_that_is_away() -> (
    None
):
    retries = "WARNING: Retrying after connection broken by 'SSLError(SSLCertVerificationError(1, ...))'\n"
    sentence = environment.why(
        f"{retries}ERROR: No matching distribution found for click\n",
        Path(".venv"),
    )
    assert "PIP_CERT" in sentence


def test_an_ensurepip_that_fails_is_a_missing_venv_or_a_full_disk(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(environment.INSTALLED_MB, environment.SETUP, 0)
    said = "Error: Command '['.venv/bin/python3', '-m', 'ensurepip', '--upgrade']' returned non-zero exit status 1.\n"
    assert "apt-get install python3-venv" in environment.why(said, tmp_path / ".venv")
    monkeypatch.setitem(environment.INSTALLED_MB, environment.SETUP, 10**9)
    assert "is too full" in environment.why(said, tmp_path / ".venv")


def test_a_folder_whose_name_means_something_to_the_shell_is_one_sentence(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "it's a $5 clone"
    folder.mkdir()
    done = built(checkout(folder))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(
        f"{folder} has $ in its name, with which the programs in .venv do not start: "
    )
    assert not (folder / ".venv").exists()


def test_a_user_without_a_home_is_no_failure(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", none)
    assert f"{tmp_path} is too full" in environment.why(
        environment.FULL[0],
        tmp_path / ".venv",
    )


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    (checkout(tmp_path) / "requirements.lock").unlink()
    done = built(tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(
        "requirements.lock cannot be read or written (No such file or directory): "
    )


def heeding_ctrl_c() -> None:
    """Also where the tests themselves run in a shell's background, where Ctrl-C is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_is_one_sentence(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), ".venv"]
    here = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "cwd": checkout(tmp_path),
    }
    here["preexec_fn"] = heeding_ctrl_c
    with subprocess.Popen(
        command,
        text=True,
        start_new_session=True,
        **here,
    ) as script:  # type: ignore[call-overload]
        assert script.stdout.readline().endswith("-m venv --clear .venv\n")
        os.killpg(script.pid, signal.SIGINT)
        said = script.communicate()[1]
    assert script.returncode == 1
    assert said == "Stopped: run make again, and it begins again\n"


def made(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Call make with the real Makefile in a folder that has nothing but what it looks at."""
    shutil.copy(ROOT / "Makefile", folder)
    for name in (
        *LOCKS,
        "pyproject.toml",
        "client/pyproject.toml",
        "client/oldest.lock",
    ):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.touch(exist_ok=True)
        os.utime(path, (0, 0))
    command = ["make", *words]
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("words", "sentence"), [
    (["setup", "PYTHON=python3.99"], "python3.99 is not installed: "),
    (["setup", "PYTHON=/bin/false"], "Python 3.11 or newer is needed, and /bin/false is not: "),
    (["test-on"], "name the suite of Debian: make test-on SUITE=trixie\n"),
])  # fmt: skip
def test_make_says_what_it_needs(
    words: list[str],
    sentence: str,
    tmp_path: Path,
) -> None:
    done = made(tmp_path, *words)
    assert done.returncode == 2
    assert done.stderr.startswith(sentence)


def test_make_says_where_options_of_a_command_go(tmp_path: Path) -> None:
    done = made(tmp_path, "rehearse", "images=10")
    assert done.returncode == 2
    told = 'make reads no images: options go into ARGS, as in make rehearse ARGS="--images 10"'
    assert told in done.stderr


def test_an_environment_that_was_moved_is_built_again_and_no_other(
    tmp_path: Path,
) -> None:
    ready = tmp_path / ".venv" / ".ready"
    ready.parent.mkdir()
    ready.write_text(f"{tmp_path.resolve()}\n")
    assert "environment.py" not in made(tmp_path, "-n", "setup").stdout
    ready.write_text("/elsewhere\n")
    assert "environment.py" in made(tmp_path, "-n", "setup").stdout


def test_running_installs_what_running_needs_and_tests_the_tools(
    tmp_path: Path,
) -> None:
    ready = tmp_path / ".venv" / ".ready"
    ready.parent.mkdir()
    ready.write_text(f"{tmp_path.resolve()}\n")
    for target in ("rehearse", "demo", "serve"):
        assert "environment.py" not in made(tmp_path, "-n", target).stdout
    assert "environment.py .venv extras" in made(tmp_path, "-n", "extras").stdout
    for target in ("test", "lint", "docs", "bench", "simulate", "mutants", "soak"):
        assert "environment.py .venv tools" in made(tmp_path, "-n", target).stdout
    (ready.parent / ".tools").touch()
    assert "environment.py" not in made(tmp_path, "-n", "lint").stdout
