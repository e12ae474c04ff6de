"""Printing of a report as PDF with an installed browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from lpirc_score.files.atomic_write import write_atomically
from referee.errors import RefereeError

BROWSERS = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
]
TIMEOUT_S = 120.0
OPTIONS = [
    *[
        "--headless",
        "--disable-gpu",
        "--no-first-run",
        "--disable-extensions",
        "--no-pdf-header-footer",
    ],
    *(
        "--disable-background-networking",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ),  # no network access
]


def print_pdf(page: Path) -> Path:
    """Print a page as PDF into the same folder and return its path. Raises RefereeError `no-browser`, `not-printed`."""
    browser = find_browser()
    with tempfile.TemporaryDirectory(prefix="referee-print-") as profile:
        made = Path(profile) / "page.pdf"
        # Chromium's sandbox does not work for root; the page has no script, so it is safe without.
        options = [*OPTIONS, f"--user-data-dir={profile}/profile"]
        if os.geteuid() == 0:
            options.append("--no-sandbox")
        command = [browser, *options, f"--print-to-pdf={made}", page.resolve().as_uri()]
        try:
            done = subprocess.run(  # noqa: S603
                command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
            )
            said = done.stderr.strip().splitlines()
        except subprocess.TimeoutExpired:
            said = [f"it took more than {TIMEOUT_S:g} s"]
        if not made.is_file():
            why = said[-1] if said else "it said nothing"
            sentence = (
                f"{browser} did not print {page}: {why}. The page itself is complete."
            )
            raise RefereeError("not-printed", sentence)
        target = page.with_suffix(".pdf")
        write_atomically(target, made.read_bytes())
        return target


def find_browser() -> str:
    """Return the path of an installed browser. Raises RefereeError `no-browser`."""
    for name in BROWSERS:
        if found := shutil.which(name):
            return found
    sentence = "--pdf needs Chromium or Chrome, and none is installed here"
    raise RefereeError(
        "no-browser", f"{sentence}; install chromium, or print the page in any browser."
    )
