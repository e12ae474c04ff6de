"""The six wheels: what they hold, and that they run without a checkout. `make wheels` tries each alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from configparser import ConfigParser
from pathlib import Path

import pytest

from tests.contest_day import PASSWORD, Day
from tests.deploy.deployment import program
from tests.examples.conftest import IMAGES
from tests.wheels.building import FOLDERS, ROOT, built, file_of
from tests.wheels.installing import environment, install

PACKAGES = {
    "lpirc-testsets": ROOT / "datasets" / "lpirc_testsets",
    "lpirc-score": ROOT / "scoring" / "lpirc_score",
    "lpirc-power": ROOT / "power" / "lpirc_power",
    "lpirc-client": ROOT / "client" / "lpirc_client",
    "lpirc-referee": ROOT / "referee",
    "lpirc-tracks": ROOT / "tracks" / "lpirc_tracks",
}
IMPORTED = [folder.name for folder in PACKAGES.values()]
# The folder of the referee is its package, and has these beside it.
OF_THE_PROJECT = {"referee/LICENSE", "referee/README.md", "referee/pyproject.toml"}
# How `make docs` builds its site.
NOT_OF_THE_WHEEL = ("referee/documents/make", "referee/documents/index.md")
# What client/oldest.lock has: requests, and no NumPy.
OLDEST = next((Path(sys.prefix) / "oldest" / "lib").glob("*/site-packages"))
DETECTOR = (
    "def detect(jpeg, categories):\n    yield categories[0].id, 0.5, 1, 2, 3, 4\n"
)


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return built(tmp_path_factory.mktemp("dist"))


def held(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {one for one in archive.namelist() if ".dist-info/" not in one}


def files_of(folder: Path) -> set[str]:
    """The files of a package, also those behind its link to the documents or the examples."""
    linked = (path for path in folder.iterdir() if path.is_symlink())
    found = [*folder.rglob("*")]
    for link in linked:
        found += [
            link / one.relative_to(link.resolve()) for one in link.resolve().rglob("*")
        ]
    files = {
        f"{folder.name}/{path.relative_to(folder)}"
        for path in found
        if path.is_file() and path.parent.name != "__pycache__"
    }
    return {one for one in files if not one.startswith(NOT_OF_THE_WHEEL)}


def commands_of(wheel: Path) -> list[str]:
    points = ConfigParser(delimiters="=")
    with zipfile.ZipFile(wheel) as archive:
        if not any(one.endswith("/entry_points.txt") for one in archive.namelist()):
            return []
    points.read_string(file_of(wheel, "entry_points.txt").decode())
    return [*points["console_scripts"]] if "console_scripts" in points else []


def test_the_wheels_hold_their_packages_whole_and_nothing_else(
    wheels: dict[str, Path],
) -> None:
    assert [*wheels] == [*FOLDERS] == [*PACKAGES]
    for name, wheel in wheels.items():
        assert held(wheel) == files_of(PACKAGES[name]) - OF_THE_PROJECT
        assert f"{PACKAGES[name].name}/py.typed" in held(wheel)
        assert b"MIT License" in file_of(wheel, "licenses/LICENSE")
    assert "lpirc_client/examples/python/client.py" in held(wheels["lpirc-client"])
    assert {
        "referee/documents/http.md",
        "referee/documents/images/board.png",
        "referee/pages/templates/base.html",
        "referee/pages/static/style.css",
    } <= held(wheels["lpirc-referee"])


def test_source_distributions_hold_what_a_wheel_is_built_from(tmp_path: Path) -> None:
    for name, file in built(tmp_path, "sdist").items():
        with tarfile.open(file) as archive:
            kept = {one.partition("/")[2] for one in archive.getnames()}
        package = PACKAGES[name]
        prefix = "" if package.name == FOLDERS[name] else f"{package.name}/"
        wanted = {
            prefix + one.partition("/")[2] for one in files_of(package) - OF_THE_PROJECT
        }
        assert wanted | {"pyproject.toml", "README.md", "LICENSE"} <= kept
        assert not [one for one in kept if "__pycache__" in one]
        assert ("verify_bundle.py" in kept) == (name == "lpirc-client")


def answered(
    hall: Day,
    team: str,
    folder: Path,
    *command: str,
    **settings: str,
) -> None:
    """The client at that command answers a whole run with a detector of one's own."""
    (folder / "mine.py").write_text(DETECTOR)
    armed = hall.refers("run", "arm", team)
    assert armed.returncode == 0, armed.stderr
    assert hall.server is not None
    options = [
        "run",
        hall.server.url,
        "--team",
        team,
        "--detector",
        "mine:detect",
        "--json",
    ]
    environ = os.environ | {"LPIRC_PASSWORD": PASSWORD} | settings
    done = subprocess.run(
        [*command, *options],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["images"] == IMAGES
    assert document["detections"] == IMAGES
    assert document["logged_out"] is True


def test_installed_wheels_run_outside_of_the_checkout_and_the_client_with_requests_only(
    hall: Day,
    wheels: dict[str, Path],
    tmp_path: Path,
) -> None:
    programs = environment(tmp_path / "venv")
    install(programs, "--no-index", "--no-deps", *map(str, wheels.values()))
    site = next((tmp_path / "venv" / "lib").glob("*/site-packages"))
    (site / "others.pth").write_text(str(OLDEST))
    returncode = subprocess.run(
        [programs / "python", "-c", "import numpy"],
        capture_output=True,
    ).returncode
    assert returncode == 1
    answered(hall, "wheel-python", tmp_path, str(programs / "lpirc-client"))

    # A folder that a .pth names is searched last, and its own .pth files, the editable installs, are not read.
    (site / "others.pth").write_text(str(Path(pytest.__file__).parents[1]))
    names = ", ".join(IMPORTED)
    code = f"import {names}; print(*(one.__file__ for one in ({names})))"
    commands = [name for wheel in wheels.values() for name in commands_of(wheel)]
    lines = [
        ["python", "-c", code],
        ["python", str(ROOT / "client" / "verify_bundle.py"), "--version"],
    ]
    said = [
        subprocess.run(
            [programs / one, *more],
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for one, *more in [*lines, *([name, "--version"] for name in commands)]
    ]
    assert said[0].split() == [str(site / name / "__init__.py") for name in IMPORTED]
    project = tomllib.loads((ROOT / "referee" / "pyproject.toml").read_text())
    version = project["project"]["version"]
    assert said[1:] == [
        f"{name} {version}\n" for name in ("verify_bundle.py", *commands)
    ]
    assert {"referee", "meter", "lpirc-score", "lpirc-client"} <= set(commands)


def test_the_clients_wheel_alone_runs_on_the_oldest_python(
    hall: Day,
    wheels: dict[str, Path],
    tmp_path: Path,
) -> None:
    """Its pip takes ten seconds there; a wheel of Python only is installed by unpacking."""
    pypy = program("pypy3")
    with zipfile.ZipFile(wheels["lpirc-client"]) as archive:
        archive.extractall(tmp_path / "wheel")  # noqa: S202 - our own
    path = f"{tmp_path / 'wheel'}:{OLDEST}"
    answered(
        hall, "wheel-pypy3", tmp_path, pypy, "-m", "lpirc_client.cli", PYTHONPATH=path
    )
