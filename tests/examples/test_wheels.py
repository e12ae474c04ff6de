"""Both wheels: what they hold, and that they run without a checkout. `make wheels` also rehearses with them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from configparser import ConfigParser
from pathlib import Path

import pytest

from tests.contest_day import PASSWORD, Day
from tests.deploy.deployment import program
from tests.examples.conftest import IMAGES
from tests.wheels import PROJECTS, ROOT, built, environment, file_of, install

PACKAGES = {
    "referee": ROOT / "referee",
    "lpirc_power": ROOT / "power" / "lpirc_power",
    "lpirc_testsets": ROOT / "datasets" / "lpirc_testsets",
    "lpirc_client": ROOT / "client" / "lpirc_client",
}
VERSIONS = [
    tomllib.loads((one / "pyproject.toml").read_text())["project"]["version"]
    for one in PROJECTS.values()
]
# What client/oldest.lock has: requests, and no NumPy.
OLDEST = next((Path(sys.prefix) / "oldest" / "lib").glob("*/site-packages"))
DETECTOR = (
    "def detect(jpeg, categories):\n    yield categories[0].id, 0.5, 1, 2, 3, 4\n"
)


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return built(tmp_path_factory.mktemp("dist"))


def held(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {one for one in archive.namelist() if ".dist-info/" not in one}


def commands_of(wheel: Path) -> list[str]:
    points = ConfigParser(delimiters="=")
    points.read_string(file_of(wheel, "entry_points.txt").decode())
    return [*points["console_scripts"]]


def test_the_wheels_hold_their_packages_whole_and_nothing_else(
    wheels: list[Path],
) -> None:
    kept = {
        f"{name}/{path.relative_to(folder)}"
        for name, folder in PACKAGES.items()
        for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }
    of_referee, of_client = map(held, wheels)
    assert of_referee | of_client == kept
    assert {one.partition("/")[0] for one in of_client} == {"lpirc_client"}
    assert {f"{name}/py.typed" for name in PACKAGES} <= kept
    assert {
        "referee/pages/templates/base.html",
        "referee/pages/static/style.css",
    } <= of_referee
    for wheel in wheels:
        assert b"MIT License" in file_of(wheel, "licenses/LICENSE")


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
    wheels: list[Path],
    tmp_path: Path,
) -> None:
    programs = environment(tmp_path / "venv")
    install(programs, "--no-index", "--no-deps", *map(str, wheels))
    site = next((tmp_path / "venv" / "lib").glob("*/site-packages"))
    (site / "others.pth").write_text(str(OLDEST))
    assert (
        subprocess.run(
            [programs / "python", "-c", "import numpy"], capture_output=True
        ).returncode
        == 1
    )
    answered(hall, "wheel-python", tmp_path, str(programs / "lpirc-client"))

    # A folder that a .pth names is searched last, and its own .pth files, the editable installs, are not read.
    (site / "others.pth").write_text(str(Path(pytest.__file__).parents[1]))
    code = f"import {', '.join(PACKAGES)}; print(*(one.__file__ for one in ({', '.join(PACKAGES)})))"
    commands = [name for wheel in wheels for name in commands_of(wheel)]
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
    assert said[0].split() == [str(site / name / "__init__.py") for name in PACKAGES]
    assert said[1:] == [
        f"{name} {VERSIONS[0]}\n" for name in ("verify_bundle.py", *commands)
    ]
    assert {"referee", "meter", "lpirc-client"} <= set(commands)
    assert len(set(VERSIONS)) == 1


def test_the_clients_wheel_alone_runs_on_the_oldest_python(
    hall: Day,
    wheels: list[Path],
    tmp_path: Path,
) -> None:
    """Its pip takes ten seconds there; a wheel of Python only is installed by unpacking."""
    pypy = program("pypy3")
    with zipfile.ZipFile(wheels[1]) as archive:
        archive.extractall(tmp_path / "wheel")
    path = f"{tmp_path / 'wheel'}:{OLDEST}"
    answered(
        hall, "wheel-pypy3", tmp_path, pypy, "-m", "lpirc_client.cli", PYTHONPATH=path
    )
