"""A newcomer's clone of this project, and what reaches the network from it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.systems.file_system import USER
from tests.systems.mirror import CannotTry

ROOT = Path(__file__).parents[2]
# The references that the tests compare with, where this machine has them.
SHARED = ROOT.parent / "shared"
# Below the home folder; with spaces, as on many a laptop.
FOLDER = "my projects"
NAME = "lpirc referee"
USER_ID = 1000
CERTIFICATES = "certificates.pem"
# What pip may be set to on a machine. It reads each from a variable, too.
PIP_SETTINGS = ("index-url", "proxy", "trusted-host")
NETWORK_VARIABLES = ("http_proxy", "https_proxy", "no_proxy")


def clone(home: Path, user: str, *, fresh: bool) -> None:
    """Clone what is committed here into the home folder of `user`; `fresh` forgets all that is there."""
    home_of_user = home / user
    if fresh:
        shutil.rmtree(home, ignore_errors=True)
    projects = home_of_user / FOLDER
    projects.mkdir(parents=True, exist_ok=True)
    checkout = projects / NAME
    # A checkout of any owner is read, by root. Files that got their owner by chown have not changed: else git would
    # write them again, and make would build the environment again.
    settings = home / "gitconfig"
    settings.write_text("[safe]\n\tdirectory = *\n[core]\n\tcheckStat = minimal\n")
    if checkout.exists():
        _git(settings, "-C", checkout, "fetch", "--quiet", "origin", "HEAD")
        _git(settings, "-C", checkout, "reset", "--quiet", "--hard", "FETCH_HEAD")
    else:
        _git(settings, "clone", "--quiet", "--no-hardlinks", ROOT, checkout)
    if SHARED.is_dir():
        shutil.copytree(SHARED, projects / SHARED.name, dirs_exist_ok=True)
    if user == USER:
        subprocess.run(
            ["chown", "-R", f"{USER_ID}:{USER_ID}", str(home_of_user)],
            check=True,
        )


def _git(settings: Path, *words: str | Path) -> None:
    environment = os.environ | {"GIT_CONFIG_GLOBAL": str(settings)}
    done = subprocess.run(
        ["git", *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CannotTry(f"git cannot copy {ROOT}: {done.stderr.strip()}")


def network_settings(home: Path) -> dict[str, str]:
    """Return the variables with which pip reaches the index that this machine is set to.

    A file of certificates is copied into `home`, which is /home inside.
    """
    found = {
        name: value
        for name, value in os.environ.items()
        if name.lower() in NETWORK_VARIABLES
    }
    for setting in PIP_SETTINGS:
        value = _pip_setting(setting)
        if value:
            found[f"PIP_{setting.upper().replace('-', '_')}"] = value
    certificates = _pip_setting("cert")
    if certificates:
        shutil.copyfile(certificates, home / CERTIFICATES)
        inside = f"/home/{CERTIFICATES}"
        found |= {
            "PIP_CERT": inside,
            "SSL_CERT_FILE": inside,
            "REQUESTS_CA_BUNDLE": inside,
        }
    return found


def _pip_setting(name: str) -> str:
    variable = f"PIP_{name.upper().replace('-', '_')}"
    if variable in os.environ:
        return os.environ[variable]
    command = [sys.executable, "-m", "pip", "config", "get", f"global.{name}"]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
