"""Keeps the referee's receipts and checks each: its link binds all that the run was acknowledged before.

The page docs/receipts.md of the project has the texts. `referee bundle verify --receipts` also checks the signature.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lpirc_client.errors import ClientError, printable
from lpirc_client.files import read_regular
from lpirc_client.presence import is_there
from lpirc_client.terminal import say
from lpirc_client.wire import Receipt

CHAINED = ("number", "previous", "link", "received_utc")
LINE_STARTS = b'{"run": ', b'{"closing": '


def link_of(kept: Mapping[str, Any]) -> str:
    """Compute the link of a kept receipt from its other fields. Raises KeyError where one is missing."""
    fields = ("previous", "number", "sha256", "received_utc", "accepted", "received_total")
    text = "".join(f"{kept[name]}\n" for name in fields)
    return hashlib.sha256(f"lpirc-receipt-1\n{text}".encode()).hexdigest()


class ReceiptFile:
    """Appends the receipts of one run to a file of JSON lines; what does not fit is kept, too, with a warning.

    A run goes on whatever is wrong here: only making it raises ClientError `no-receipts-file`. A file with
    receipts of this run is continued; beside one with those of another run a file of its own is made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._run: int | str = ""
        self._last: dict[str, Any] = {}
        self._given = self._lost = 0
        self._is_older = False  # a POST was acknowledged without a receipt
        self._open(path)

    def begin(self, run: str) -> None:
        """Say of which run the next receipts are."""
        self._run = int(run) if run.isascii() and run.isdigit() else run
        earlier = self._last.get("run", self._run)
        if earlier == self._run:
            return
        own, before = self.path.with_name(f"{self.path.stem}-run-{self._run}{self.path.suffix}"), self._file
        say(printable(f"{self.path} has receipts of run {earlier}; those of run {self._run} go to {own}"))
        self._last = {}
        try:
            self._open(own)
        except ClientError as error:
            say(f"{error.sentence}; they go to {self.path}")
        else:
            self.path = own
            before.close()

    def keep(self, receipt: Receipt) -> None:
        """Append the receipt of a POST, and warn unless it follows from the last one kept."""
        if receipt.chain is None:
            self._is_older = True
            return
        kept = {"run": self._run, **{name: receipt.chain.get(name) for name in CHAINED}}
        kept.update(accepted=receipt.accepted, received_total=receipt.received_total, sha256=receipt.sha256)
        self._append(kept)
        what, last = f"receipt {kept['number']}", self._last
        if kept["link"] != link_of(kept):
            self._warn(what, "its link is not that of its other figures")
        elif not isinstance(kept["number"], int) or kept["number"] <= last.get("number", 0):
            self._warn(what, f"it does not come after receipt {last.get('number', 0)}")
        elif kept["number"] == last.get("number", 0) + 1 and kept["previous"] != last.get(
            "link", kept["previous"]
        ):
            self._warn(what, f"it does not follow from receipt {last['number']}")
        self._last = kept if isinstance(kept["number"], int) else last

    def close(self, closing: object) -> None:
        """Append the closing receipt of the run, and warn unless it covers the last one kept."""
        if not isinstance(closing, dict):
            return
        self._append({"closing": closing})
        number, link = self._last.get("number", 0), self._last.get("link")
        posts, what = closing.get("posts"), "the closing receipt"
        if closing.get("run") != self._run:
            self._warn(what, f"it is of run {closing.get('run')}")
        elif not isinstance(posts, int) or posts < number:
            self._warn(what, f"it counts {posts} bodies, but receipt {number} was given")
        elif posts == number and link is not None and closing.get("head") != link:
            self._warn(what, f"its head is not the link of receipt {number}")

    def end(self) -> None:
        """Close the file, and say so if it lacks receipts."""
        self._file.close()
        if self._is_older and not self._given:
            say(printable(f"The referee gave no receipts (an older version?): {self.path} got none."))
        elif self._lost:
            say(printable(f"{self.path} has {self._given - self._lost} of {self._given} receipts"))

    def _open(self, path: Path) -> None:
        try:
            content = read_regular(path) if is_there(path) else b""
            whole = content[: content.rfind(b"\n") + 1]
            lines, cut = [json.loads(line) for line in whole.splitlines()], content[len(whole) :]
            is_ours = any(start[: len(cut)] == cut[: len(start)] for start in LINE_STARTS)
            if not (is_ours and all({"number", "closing"} & one.keys() for one in lines)):
                raise ValueError("it has other lines than receipts")  # noqa: TRY301 - one sentence for all
            if cut:  # by a crash
                os.truncate(path, len(whole))
            self._file = path.open("ab", buffering=0)
        except (OSError, ValueError, AttributeError) as error:
            what = f"receipts file {path}: {error}; choose another one"
            raise ClientError("no-receipts-file", what) from error
        self._last = next((one for one in reversed(lines) if isinstance(one.get("number"), int)), {})

    def _append(self, kept: Mapping[str, Any]) -> None:
        self._given += 1
        line, written = json.dumps(kept).encode() + b"\n", 0
        try:
            while written < len(line):  # a disk that gets full takes the part that fits
                written += self._file.write(line[written:])
        except OSError as error:
            if not self._lost:
                say(printable(f"{self.path}: a receipt cannot be kept: {error.strerror}; the run goes on"))
            self._lost += 1
            if written:  # the next line must not follow half a line
                with suppress(OSError):
                    os.ftruncate(self._file.fileno(), os.fstat(self._file.fileno()).st_size - written)

    def _warn(self, what: str, why: str) -> None:
        sentence = (
            f"WARNING: {what} of run {self._run} does not fit: {why}; the referee's record was altered, or"
        )
        say(printable(f"{sentence} {self.path} is of another contest. The run goes on; keep the file."))
