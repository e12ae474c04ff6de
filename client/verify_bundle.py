#!/usr/bin/env python3
"""The second verifier of run bundles: written from docs/bundle.md alone, it shares no code with the referee.

python3 verify_bundle.py FILE [--testset DIR] [--receipts FILE] [--key HEX] [--head EVENTS:HEX]
                                [--links FILE ...] [--chain FILE ...]

It needs Python 3.11 and nothing else but the files verify_*.py beside it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import verify_arguments as arguments
import verify_items as items
import verify_results as results
from verify_budget import WITH_BUDGET
from verify_formats import NotChecked, lines, sentence_of
from verify_links import check_links, has_links, read_kept, read_log
from verify_receipts import check_receipts
from verify_records import Bundle
from verify_rule import WITHOUT_LIMITS, rule_of

VERSION = "1.0.0"
ITEMS = (
    "container",
    "signature",
    "parts",
    "testset",
    "ground-truth",
    "bodies",
    "run-chain",
    "meter-chain",
    "log-chain",
    "links",
    "closing",
    "energy",
    "map",
    "map-ilsvrc-det",
    "score",
    "result-signature",
    "checks",
    "judged-event",
    "judgements",
    "rules",
    "interval",
    "receipts",
)

NOT_COMPUTED = (
    "energy_limit, energy_own_limit and energy_known_by of the result were not computed"
)
TERMS_NOT_COMPUTED = (
    "the terms of the result's energy_budget, and what they cover, were not computed"
)
LIMITS_NOT_COMPUTED = (
    "whether the run is within the limits of its rule was not computed; see checks.json"
)

Value = TypeVar("Value")


@dataclass
class Findings:
    """Results of the checks of a bundle.

    `wrong` maps each finished item to its problem, empty if it passed. `unchecked` maps each skipped item to the
    reason.
    """

    wrong: dict[str, str] = field(default_factory=dict)
    unchecked: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def failed(self) -> list[str]:
        """Return the names of the items that failed."""
        return [name for name, sentence in self.wrong.items() if sentence]

    def item(
        self,
        name: str,
        check: Callable[..., Value],
        *given: Any,
        after: tuple[str, ...] = (),
    ) -> Value | None:
        """Run one check and return its value, or None if it failed or was skipped.

        It is skipped if one of the checks `after` failed or was skipped.
        """
        for other in after:
            if other in self.unchecked:
                self.unchecked[name] = self.unchecked[other]
                return None
            if self.wrong[other]:
                self.unchecked[name] = f"it depends on the item {other}, which failed"
                return None

        try:
            value = check(*given)
        except NotChecked as reason:
            self.unchecked[name] = str(reason)
        except Exception as error:  # noqa: BLE001 - others wrote what is read here
            self.wrong[name] = sentence_of(error)
        else:
            self.wrong[name] = ""
            return value
        return None

    def leave_the_rest(self, why: str) -> None:
        """Mark every item without a result as not checked, for the reason `why`."""
        for name in ITEMS:
            if name not in self.wrong:
                self.unchecked.setdefault(name, why)


def verify(
    data: bytes,
    *,
    receipts: bytes | None = None,
    truth: bytes | None = None,
    key: str | None = None,
    head: str | None = None,
    links: list[tuple[bytes, str]] | None = None,
    chains: list[tuple[bytes, str]] | None = None,
) -> Findings:
    """Verify a bundle. `truth` is the content of the test set's ground_truth.json; the rest are command options."""
    findings = Findings()
    bundle = findings.item("container", Bundle, data, truth)
    if bundle is None:
        findings.leave_the_rest("the bundle cannot be read")
        return findings

    findings.item("signature", items.check_signature, bundle, key)
    findings.item("parts", items.check_parts, bundle)
    if findings.wrong["parts"]:
        findings.leave_the_rest("it depends on the item `parts`, which failed")
        return findings

    findings.item("testset", items.check_test_set, bundle)
    findings.item("ground-truth", items.check_ground_truth, bundle)
    rows = findings.item("bodies", items.check_bodies, bundle)
    findings.item("run-chain", items.check_run_chain, bundle)
    findings.item("meter-chain", items.check_meter_chain, bundle)
    findings.item("log-chain", items.check_log_chain, bundle, head)
    kept = _kept_files(links or [], receipts)
    findings.item("links", _check_links, bundle, kept, chains or [])
    findings.item("closing", items.check_closing, bundle)
    findings.item("energy", items.check_energy, bundle)
    findings.item("result-signature", results.check_result_signature, bundle)
    findings.item("judged-event", results.check_judged_event, bundle)
    scored = ("ground-truth", "bodies")
    findings.item(
        "map",
        results.check_map,
        bundle,
        rows,
        after=scored,
    )
    findings.item(
        "map-ilsvrc-det",
        results.check_map_ilsvrc_det,
        bundle,
        rows,
        after=scored,
    )
    score = findings.item("score", results.check_score, bundle, rows, after=("map",))
    if bundle.result is not None:
        findings.notes.append(NOT_COMPUTED)
        if bundle.predicate["format"] >= WITH_BUDGET:
            findings.notes.append(TERMS_NOT_COMPUTED)
        if rule_of(bundle)["name"] not in WITHOUT_LIMITS:
            findings.notes.append(LIMITS_NOT_COMPUTED)
    findings.item("judgements", results.check_judgements, bundle)
    findings.item("rules", results.check_rules, bundle)
    findings.item("interval", results.check_interval, bundle)
    findings.item("receipts", check_receipts, bundle, receipts)
    findings.leave_the_rest("this verifier does not recompute this item")

    if score is None:
        findings.notes.append("the score was not computed here")
    else:
        findings.notes.append(f"score {score}, computed here")
    if key is None:
        findings.notes.append(f"signed by {bundle.key}: compare it with the board")
    return findings


def _kept_files(
    links: list[tuple[bytes, str]], receipts: bytes | None
) -> list[tuple[bytes, str]]:
    """Return the files with kept links; the receipts are one of them if they have links."""
    is_given = any(data == receipts for data, _ in links)
    if receipts is None or is_given or not has_links(receipts):
        return links
    return [*links, (receipts, "the receipts")]


def _check_links(
    bundle: Bundle,
    links: list[tuple[bytes, str]],
    chains: list[tuple[bytes, str]],
) -> None:
    """Read the given files, each with its name, and check the kept links. Raises Wrong, NotChecked."""
    kept = [one for file in links for one in read_kept(*file)]
    published = [read_log(*file) for file in chains]
    check_links(bundle, kept, published)


# The command


def main() -> None:
    """Verify the bundle named on the command line; exit with 1 if any item failed."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    version = f"%(prog)s {VERSION}"
    parser.add_argument("--version", action="version", version=version)
    parser.add_argument("file")
    parser.add_argument(
        "--testset",
        help="the folder of the test set, needed while the ground truth is secret",
    )
    parser.add_argument(
        "--receipts",
        help="what the team's client kept of the run: receipts, and links beside them",
    )
    parser.add_argument("--key", help="the contest's public key")
    parser.add_argument(
        "--head",
        help="a head of the log that the board showed, as EVENTS:HEX or HEX",
    )
    parser.add_argument(
        "--links",
        action="append",
        default=[],
        help="links of the log that somebody kept; may be repeated",
    )
    parser.add_argument(
        "--chain",
        action="append",
        default=[],
        help="the published log, a list of links or a record; may be repeated",
    )
    asked = parser.parse_args()

    receipts = None
    if asked.receipts is not None:
        receipts = arguments.read(Path(asked.receipts))
    truth = None
    if asked.testset is not None:
        truth = arguments.read(Path(asked.testset, "ground_truth.json"))

    findings = verify(
        arguments.read(Path(asked.file)),
        receipts=receipts,
        truth=truth,
        key=arguments.key(asked.key),
        head=_head(asked.head),
        links=[(arguments.read(Path(one)), one) for one in asked.links],
        chains=[(arguments.read(Path(one)), one) for one in asked.chain],
    )
    sys.stdout.write(lines(*_report(findings)))
    has_failed = findings.failed() != []
    sys.exit(has_failed)


def _report(findings: Findings) -> list[str]:
    """Print a line for each item, the notes, and the verdict."""
    said = []
    for name in ITEMS:
        if name in findings.unchecked:
            outcome = f"not checked: {findings.unchecked[name]}"
        elif findings.wrong[name]:
            outcome = f"failed: {findings.wrong[name]}"
        else:
            outcome = "ok"
        said.append(f"{name:17} {outcome}")

    said += findings.notes
    failed = findings.failed()
    if failed:
        said.append(f"does not hold: {', '.join(failed)}")
    else:
        left_out = [name for name in ITEMS if name in findings.unchecked]
        said.append(f"holds; not checked: {', '.join(left_out)}")
    return said


def _head(text: str | None) -> str | None:
    """Return the `--head` option without whitespace; exit with an error message if its form is wrong."""
    if text is None:
        return None
    head = arguments.trimmed(text)
    if not re.fullmatch("([0-9]{1,15}:)?[0-9a-f]{12,64}", head):
        sys.exit(
            f"--head is {text!r}, but must be EVENTS:HEX or HEX, where HEX has 12 to 64 hexadecimal digits"
        )
    return head


if __name__ == "__main__":
    main()
