"""The package mirror that this machine is set to, and whether it answers."""

from __future__ import annotations

import shutil
import subprocess
import urllib.error
import urllib.request
from dataclasses import dataclass

TRIES = 3
TIMEOUT_S = 20.0


class CannotTry(Exception):
    """This machine cannot try another system. The sentence says what is missing."""


class NoAnswer(Exception):
    """The mirror did not answer. The sentence names it."""


@dataclass(frozen=True)
class Mirror:
    """Where packages come from: one address, which has a folder for each suite."""

    url: str

    def check(self, suite: str) -> None:
        """Ask for the index of `suite`, at most three times.

        Raises:
            NoAnswer: the mirror did not answer.
            CannotTry: it answered, and has no such suite.
        """
        index = f"{self.url}/dists/{suite}/InRelease"
        failure: object = None
        for _ in range(TRIES):
            try:
                with urllib.request.urlopen(index, timeout=TIMEOUT_S):  # noqa: S310 - apt's own address
                    return
            except urllib.error.HTTPError as error:
                error.close()
                if error.code in (403, 404, 410):
                    raise CannotTry(
                        f"the mirror {self.url} has no suite {suite!r}"
                    ) from error
                failure = error
            except OSError as error:
                failure = error
        raise NoAnswer(
            f"the mirror {self.url} did not answer, {TRIES} times: {failure}"
        )


def of_this_machine() -> Mirror:
    """Return the mirror in this machine's own package sources.

    Raises:
        CannotTry: this is not Debian, or its sources name no mirror.
    """
    if not shutil.which("apt-get"):
        raise CannotTry(
            "other systems are tried on Debian only: this machine has no apt-get"
        )
    command = [
        "apt-get",
        "indextargets",
        "--format",
        "$(ORIGIN) $(COMPONENT) $(SITE)",
        "Created-By: Packages",
    ]
    listed = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()
    for line in listed:
        origin, component, site = line.split(" ", 2)
        if (origin, component) == ("Debian", "main") and not site.endswith("-security"):
            return Mirror(site.rstrip("/"))
    raise CannotTry(
        "apt knows no mirror of Debian here; run `apt-get update`, or name one with --mirror"
    )
