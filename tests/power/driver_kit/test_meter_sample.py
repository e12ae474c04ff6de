"""The two drivers of docs/plugins.md: from an empty folder to a kit without a fault and a recorded energy."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ports import own_port
from tests.power.driver_kit.kit_runs import METERS, ROOT, Kit, running, verdicts
from tests.power.driver_kit.test_kit_command import pm100
from tests.timeouts import TIMEOUT_S

PAGE = ROOT / "docs" / "plugins.md"
FILES = sorted(
    path.name for path in METERS.iterdir() if path.suffix in (".py", ".toml")
)
POINT = "[lpirc.meters]\nthin = my_meter:Thin\n"


def files_in(folder: Path) -> Path:
    """Make the author's folder: the files that the page shows."""
    for name in FILES:
        (folder / name).write_text((METERS / name).read_text("utf-8"))
    return folder


@contextlib.contextmanager
def plug_of(folder: Path) -> Iterator[str]:
    """Start the page's fake plug, as its author starts it; give its address."""
    command = [sys.executable, "fake_plug.py", str(own_port())]
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return files_in(tmp_path)


@pytest.fixture
def plug(mine: Path) -> Iterator[str]:
    with plug_of(mine) as address:
        yield address


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Kit]]:
    """The kit before both meters of the page, which wait together."""
    folder = files_in(tmp_path_factory.mktemp("mine"))
    options = ("--load", "36W", "--seconds", "2", "--json")
    with plug_of(folder) as plug, pm100() as instrument:
        kits = {
            "plug": ("my_meter", plug, "--library", "thinplug", *options),
            "acme": ("acme_meter", instrument, "--scpi", *options),
        }
        with running(kits, folder) as found:
            yield found


def meter(
    folder: Path,
    *arguments: str,
) -> subprocess.CompletedProcess[str]:
    """Run the command `meter` beside the installed driver."""
    return subprocess.run(
        [sys.executable, "-m", "lpirc_power", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def install(folder: Path) -> None:
    """Leave what `pip install` leaves, as far as it matters: the entry point."""
    info = folder / "my_meter-1.0.dist-info"
    info.mkdir()
    about = "Metadata-Version: 2.1\nName: my-meter\nVersion: 1.0\n"
    (info / "METADATA").write_text(about)
    (info / "entry_points.txt").write_text(POINT)


@pytest.mark.parametrize("name", FILES)
def test_the_page_shows_the_code_of_the_sample(name: str) -> None:
    text = (METERS / name).read_text("utf-8")
    shown = textwrap.indent(text.rstrip("\n"), "    ")
    page = PAGE.read_text("utf-8")
    assert f"`{name}`" in page
    assert f"\n\n{shown}\n" in page


def test_every_demand_of_the_kit_is_on_the_page(begun: dict[str, Kit]) -> None:
    done = begun["plug"].done()
    found = verdicts(done)
    assert [code for code, verdict in found.items() if verdict == "fails"] == []
    untried = [code for code, verdict in found.items() if verdict == "not tried"]
    assert untried == ["find", "restart", "dialect"]
    assert done.returncode == 0
    page = PAGE.read_text("utf-8")
    assert [code for code in found if f"`{code}`" not in page] == []


def test_the_installed_sample_is_listed_probed_and_recorded_with_its_own_term(
    mine: Path,
    plug: str,
) -> None:
    install(mine)
    probed = meter(mine, "probe", plug)
    assert probed.returncode == 0, probed.stderr
    assert "THIN TP-1, serial 0815" in probed.stdout
    done = meter(mine, "record", plug, "-o", "run.csv", "--duration", "2", "--json")
    assert done.returncode == 0, done.stderr
    recorded = json.loads(done.stdout)
    (step,) = [
        one for one in recorded["budget"]["terms"] if one["code"] == "counter-step"
    ]
    assert step["limit_wh"] == pytest.approx(0.001)
    assert step["source"] == "data sheet TP-1, page 2: 1 mWh"


def test_without_the_makers_library_the_command_that_installs_it_is_said(
    mine: Path,
) -> None:
    install(mine)
    (mine / "thinplug.py").unlink()
    done = meter(mine, "probe", "thin:127.0.0.1:1")
    assert done.returncode == 1
    assert done.stderr == (
        "meter: This meter needs the library thinplug, which is not installed: pip install thinplug\n"
    )


def test_the_family_behind_visa_has_no_fault(begun: dict[str, Kit]) -> None:
    done = begun["acme"].done()
    found = verdicts(done)
    assert [code for code, verdict in found.items() if verdict == "fails"] == []
    assert done.returncode == 0
