"""Take the pictures in docs/images again, of the demo's real pages: `make screenshots`. Needs Chromium."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import IO

from PIL import Image
from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).resolve().parents[1] / "images"
REFEREE = str(Path(sys.executable).with_name("referee"))


def main() -> None:
    """Show the demo, wait until a run has been going on for a while, and take each picture."""
    with tempfile.TemporaryDirectory() as folder:
        demo = [REFEREE, "demo", "--folder", f"{folder}/demo", "--port", "0"]
        with subprocess.Popen(demo, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
            try:
                assert process.stdout is not None  # noqa: S101
                _take(Path(folder) / "demo" / "day-1", process.stdout)
            finally:
                process.terminate()


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
