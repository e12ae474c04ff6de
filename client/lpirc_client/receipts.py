"""Keeps the referee's receipts, and checks that each is chained to everything acknowledged before it.

docs/receipts.md of the project has the texts. `referee bundle verify --receipts` also checks the signature.
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
from lpirc_client.log_links import SeenLinks, link_from, now_utc
from lpirc_client.presence import is_there
from lpirc_client.terminal import say
from lpirc_client.wire import Receipt

CHAINED = ("number", "previous", "link", "received_utc")
OF_METER = ("readings", "meter")
NEWEST_FORM = 2
LINE_STARTS = b'{"run": ', b'{"closing": '


def link_of(kept: Mapping[str, Any]) -> str:
    """Compute the link of a kept receipt from its other fields. Raises KeyError where one is missing."""
    form = kept.get("form", 1)
    fields = [
        "previous",
        "number",
        "sha256",
        "received_utc",
        "accepted",
        "received_total",
    ]
    if form != 1:
        fields += OF_METER
    text = "".join(f"{kept[name]}\n" for name in fields)
    return hashlib.sha256(f"lpirc-receipt-{form}\n{text}".encode()).hexdigest()


def sha256_of(rules: object) -> str:
    """Compute the SHA-256 of rules, over their canonical JSON."""
    text = json.dumps(rules, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class ReceiptFile:
    """Appends the receipts of one run to a file of JSON lines; a receipt that breaks the chain is kept with a warning.

    No problem here ends a run: only creating the object raises ClientError `no-receipts-file`. A file with receipts of
    this run is continued; if the file is of another run, a new file is made next to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._run: int | str = ""
        self._last: dict[str, Any] = {}
        self._rules: dict[str, Any] = {}
        self._given = self._lost = 0
        self._seen = SeenLinks()
        self._is_older = False  # a POST was acknowledged without a receipt
        self._open(path)

    def begin(
        self,
        run: str,
        rules: object = None,
        rules_sha256: str | None = None,
    ) -> None:
        """Set the run of the next receipts, and keep its rules (None: the referee recorded no rules for it)."""
        self._run = int(run) if run.isascii() and run.isdigit() else run
        earlier = (self._last or self._rules).get("run", self._run)
        if earlier != self._run:
            self._begin_file(earlier)
        if rules_sha256 is not None and rules_sha256 != self._rules.get("rules_sha256"):
            self._keep_rules(rules, rules_sha256)

    def _begin_file(self, earlier: object) -> None:
        own = self.path.with_name(f"{self.path.stem}-run-{self._run}{self.path.suffix}")
        before = self._file
        say(
            printable(
                f"{self.path} has receipts of run {earlier}; those of run {self._run} go to {own}"
            )
        )
        self._last = {}
        self._rules = {}
        try:
            self._open(own)
        except ClientError as error:
            say(f"{error.sentence}; they go to {self.path}")
        else:
            self.path = own
            before.close()

    def _keep_rules(
        self,
        rules: object,
        rules_sha256: str,
    ) -> None:
        kept = {"run": self._run, "rules": rules, "rules_sha256": rules_sha256}
        self._append(kept)
        if sha256_of(rules) != rules_sha256:
            self._warn(
                "the record of the rules",
                "the rules do not have the SHA-256 that the referee reports",
            )
        elif self._rules:
            self._warn(
                "the record of the rules",
                "the referee reported other rules earlier in this run",
            )
        self._rules = kept

    def keep(self, receipt: Receipt) -> None:
        """Append the receipt of a POST, and warn unless its link continues the chain of the last kept receipt."""
        if receipt.chain is None:
            self._is_older = True
            return
        kept: dict[str, Any] = {"run": self._run}
        if "form" in receipt.chain:
            kept["form"] = receipt.chain["form"]
        kept.update((name, receipt.chain.get(name)) for name in CHAINED)
        kept.update(
            (name, receipt.chain[name]) for name in OF_METER if name in receipt.chain
        )
        kept.update(
            accepted=receipt.accepted,
            received_total=receipt.received_total,
            sha256=receipt.sha256,
        )
        kept.update(self._new_link(receipt))
        self._append(kept)
        what = f"receipt {kept['number']}"
        last = self._last
        if kept.get("form", 1) not in range(1, NEWEST_FORM + 1):
            say(
                printable(
                    f"{what} has version {kept['form']}, which this client does not know; it is kept unchecked"
                )
            )
        elif not set(OF_METER) <= kept.keys() and kept.get("form", 1) != 1:
            self._warn(what, "it does not name the meter readings that it covers")
        elif kept["link"] != link_of(kept):
            self._warn(what, "its `link` is not the digest of its other fields")
        elif not isinstance(kept["number"], int) or kept["number"] <= last.get(
            "number", 0
        ):
            self._warn(what, f"it does not come after receipt {last.get('number', 0)}")
        elif kept["number"] == last.get("number", 0) + 1 and kept[
            "previous"
        ] != last.get("link", kept["previous"]):
            self._warn(
                what, f"its link does not continue that of receipt {last['number']}"
            )
        elif kept.get("readings", 0) < last.get("readings", 0):
            self._warn(
                what,
                f"it covers {kept['readings']} readings, fewer than the {last['readings']} of receipt {last['number']}",
            )
        self._last = kept if isinstance(kept["number"], int) else last

    def _new_link(self, receipt: Receipt) -> dict[str, Any]:
        """Return the log's link to keep beside a receipt, with the time, if it is another one than before; or warn."""
        found = link_from(receipt.log)
        if found is None or found == self._seen.last:
            return {}
        wrong = self._seen.see(found)
        if wrong is not None:
            say(
                printable(
                    f"WARNING: the contest's log was rewritten: {wrong}. The run goes on; keep {self.path}."
                )
            )
        return {"log": found.values, "seen_utc": now_utc()}

    def close(self, closing: object) -> None:
        """Append the closing receipt of the run, and warn unless it covers the last kept one."""
        if not isinstance(closing, dict):
            return
        self._append({"closing": closing})
        number = self._last.get("number", 0)
        link = self._last.get("link")
        posts = closing.get("posts")
        what = "the closing receipt"
        if closing.get("run") != self._run:
            self._warn(what, f"it belongs to run {closing.get('run')}")
        elif not isinstance(posts, int) or posts < number:
            self._warn(
                what,
                f"it reports {posts} accepted bodies, fewer than the {number} receipts given",
            )
        elif posts == number and link is not None and closing.get("head") != link:
            self._warn(
                what, f"its `head` is not the `link` of the last receipt, {number}"
            )

    def end(self) -> None:
        """Close the file, and warn if receipts are missing from it."""
        self._file.close()
        if self._is_older and not self._given:
            say(
                printable(
                    f"The referee gave no receipts (an older version?): {self.path} got none."
                )
            )
        elif self._lost:
            say(
                printable(
                    f"{self.path} has {self._given - self._lost} of {self._given} lines"
                )
            )

    def _open(self, path: Path) -> None:
        try:
            content = read_regular(path) if is_there(path) else b""
            whole = content[: content.rfind(b"\n") + 1]
            lines = [json.loads(line) for line in whole.splitlines()]
            cut = content[len(whole) :]
            is_ours = any(
                start[: len(cut)] == cut[: len(start)] for start in LINE_STARTS
            )
            if not (
                is_ours
                and all(
                    {"number", "closing", "rules_sha256"} & one.keys() for one in lines
                )
            ):
                raise ValueError  # noqa: TRY301 - one sentence for all
            if cut:  # by a crash
                os.truncate(path, len(whole))
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            what = (
                f"receipts file {path}: {error.strerror or error}; choose another one"
            )
            raise ClientError("no-receipts-file", what) from error
        except (ValueError, AttributeError) as error:
            what = f"{path} is no file of receipts, and is left as it is; choose another one"
            raise ClientError("no-receipts-file", what) from error
        self._last = next(
            (one for one in reversed(lines) if isinstance(one.get("number"), int)), {}
        )
        self._rules = next(
            (one for one in reversed(lines) if "rules_sha256" in one), {}
        )
        links = (link_from(one.get("log")) for one in reversed(lines))
        self._seen = SeenLinks(next(filter(None, links), None))

    def _append(self, kept: Mapping[str, Any]) -> None:
        self._given += 1
        line = json.dumps(kept).encode() + b"\n"
        written = 0
        try:
            while written < len(line):  # a disk that gets full takes the part that fits
                written += self._file.write(line[written:])
        except OSError as error:
            if not self._lost:
                say(
                    printable(
                        f"{self.path}: a receipt cannot be kept: {error.strerror}; the run goes on"
                    )
                )
            self._lost += 1
            if written:  # the next line must not follow half a line
                with suppress(OSError):
                    os.ftruncate(
                        self._file.fileno(),
                        os.fstat(self._file.fileno()).st_size - written,
                    )

    def _warn(
        self,
        what: str,
        why: str,
    ) -> None:
        sentence = f"WARNING: {what} of run {self._run} is inconsistent: {why}. The referee's record was altered, or"
        say(
            printable(
                f"{sentence} {self.path} belongs to another contest. The run goes on; keep the file."
            )
        )
