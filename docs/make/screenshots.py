"""Takes the pictures of the documents again, of the demo's pages and of a rehearsal: `make screenshots`.

The pages need Chromium.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from io import BytesIO, StringIO
from pathlib import Path
from typing import IO

from PIL import Image
from playwright.sync_api import Page, sync_playwright
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

IMAGES = Path(__file__).resolve().parents[1] / "images"
REHEARSAL = IMAGES.parent / "rehearsal.svg"
COLUMNS = 125
FONT_OF_A_HOST = re.compile(r"@font-face {{.*?}}\n", re.DOTALL)
REFEREE = str(Path(sys.executable).with_name("referee"))


def main() -> None:
    """Rehearse; show the demo, wait until a run has been going on for a while, and take each picture."""
    _rehearse()
    with tempfile.TemporaryDirectory() as folder:
        demo = [REFEREE, "demo", "--folder", f"{folder}/demo", "--port", "0"]
        with subprocess.Popen(demo, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
            try:
                assert process.stdout is not None  # noqa: S101
                _take(Path(folder) / "demo" / "day-1", process.stdout)
            finally:
                process.terminate()


def _rehearse() -> None:
    terminal = {"FORCE_COLOR": "1", "COLUMNS": str(COLUMNS)}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(  # noqa: S603
            [REFEREE, "rehearse"],
            cwd=folder,
            env=os.environ | terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # the progress of the run
            text=True,
            check=True,
        )
        said = done.stdout.replace(f"{Path(folder).resolve()}/", "")
    console = Console(record=True, width=COLUMNS, file=StringIO())
    console.print(Text("$ make rehearse"), Text.from_ansi(said), sep="\n")
    form = FONT_OF_A_HOST.sub("", CONSOLE_SVG_FORMAT)
    drawn = console.export_svg(
        title="make rehearse", code_format=form, unique_id="rehearsal"
    )
    local = drawn.replace("Fira Code", "DejaVu Sans Mono")
    REHEARSAL.write_text("\n".join(map(str.rstrip, local.splitlines())) + "\n")


def _take(folder: Path, said: IO[str]) -> None:
    url = _found(r"board +(http\S+)/\n", said.readline())
    password = _found(r"as demo with the password (\S+)\n", said.readline())
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium",
            args=["--no-sandbox"],
        )
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{url}/operator/")
        page.fill("[name=name]", "demo")
        page.fill("[name=password]", password)
        page.click("button[type=submit]")
        page.wait_for_timeout(60_000)  # two teams have been running for a while
        _keep(page, "console.png")
        page.goto(f"{url}/")
        page.wait_for_timeout(3_000)
        _keep(page, "board.png")
        subprocess.run([REFEREE, "report", "1", "--contest", str(folder)], check=True)  # noqa: S603
        page.set_viewport_size({"width": 1440, "height": 1100})
        page.goto((folder / "reports" / "run-1.html").as_uri())
        _keep(page, "report.png")
        browser.close()


def _found(pattern: str, line: str) -> str:
    found = re.search(pattern, line)
    if found is None:
        sys.exit(f"the demo does not say what is looked for: {line!r}")
    return found[1]


def _keep(page: Page, name: str) -> None:
    Image.open(BytesIO(page.screenshot())).convert("RGB").quantize().save(
        IMAGES / name, optimize=True
    )


if __name__ == "__main__":
    main()
