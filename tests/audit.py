"""`python -m tests.audit [LOCK]`: does a locked dependency have a known vulnerability? For `make lint`: of all locks.

pip-audit asks a service on the internet. Where that cannot be reached, or is too slow, one line says so and nothing
fails: the style of a change can be checked on a train. A vulnerability that is found fails.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

import click

LOCKS = ("requirements.lock", "extras.lock", "development.lock")
CONNECT_S = 3  # of one request: an address that does not answer takes no longer
LIMIT_S = 90.0  # of all: some two hundred requests
# How pip-audit ends when its service does not answer, or not as it should. Its exit code is that of a finding.
UNREACHABLE = (
    "requests.exceptions.",
    "urllib3.exceptions.",
    "ServiceError",
    "Could not connect",
    "ConnectionError",
)


def main(words: Sequence[str]) -> int:
    """Print what was found; the exit code is 1 for a vulnerability, or for a lock file that cannot be read."""
    is_one = bool(words) and not words[0].startswith("-")
    locks = words[:1] if is_one else LOCKS
    more = words[1:] if is_one else words
    # The service is not the package index: names are not looked up there, and no resolver runs.
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--vulnerability-service",
        "osv",
    ]
    for lock in locks:
        command += ["--requirement", lock]
    command += [
        "--disable-pip",
        "--no-deps",
        "--timeout",
        str(CONNECT_S),
        "--progress-spinner",
        "off",
    ]
    command += ["--format", "json", "--desc", "off", *more]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _not_checked(f"it took longer than {LIMIT_S:g} s")
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        last = done.stderr.strip().rpartition("\n")[2]
        if any(words in done.stderr for words in UNREACHABLE):
            return _not_checked("the service cannot be reached")
        click.echo(f"audit: {last or 'pip-audit said nothing'}", err=True)
        return 1
    vulnerable = [(one, bug) for one in found for bug in one.get("vulns", ())]
    for one, bug in vulnerable:
        mended = ", ".join(bug["fix_versions"]) or "no version yet"
        click.echo(
            f"audit: {one['name']} {one['version']} has {bug['id']}; mended in: {mended}"
        )
    click.echo(
        f"audit: {len(found)} dependencies, {len(vulnerable)} known vulnerabilities"
    )
    return int(bool(vulnerable))


def _not_checked(why: str) -> int:
    click.echo(f"audit: not checked for known vulnerabilities: {why}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
