"""Reports findings as a table and as JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass
from typing import Sequence

from lpirc_client.errors import printable

PASS = "PASS"  # noqa: S105 - an outcome
FAIL = "FAIL"
SKIP = "SKIP"
FAULT = "FAULT"
HINT = "HINT"
BAD = (FAIL, FAULT)
JUNIT_TAGS = {FAIL: "failure", FAULT: "failure", SKIP: "skipped", HINT: "system-out"}


@dataclass(frozen=True)
class Finding:
    """The result of a check (PASS, FAIL, SKIP) or of a rule (PASS, FAULT, HINT).

    For a check it holds the time taken; for a rule, how often it was broken, and the first time in s since the window
    opened.
    """

    name: str
    result: str
    detail: str = ""
    count: int = 0
    first_s: float | None = None
    took_s: float = 0.0


def table(findings: Sequence[Finding]) -> str:
    """Return a line for each finding, and a last line with their counts."""
    lines = [
        printable(f"{one.result:5} {one.name:26} {one.detail}").rstrip()
        for one in findings
    ]
    counts = Counter(one.result for one in findings)
    return "\n".join(
        [*lines, ", ".join(f"{count} {result}" for result, count in counts.items())]
    )


def junit(suite: str, findings: Sequence[Finding]) -> str:
    """Return JUnit XML with a testcase for each finding; one with a hint passes."""
    tags = [JUNIT_TAGS.get(one.result, "") for one in findings]
    facts = {
        "name": suite,
        "tests": len(tags),
        "failures": tags.count("failure"),
        "errors": 0,
        "skipped": tags.count("skipped"),
        "time": f"{sum(one.took_s for one in findings):.3f}",
    }
    root = ET.Element("testsuite", {name: str(fact) for name, fact in facts.items()})
    for tag, one in zip(tags, findings):
        case = ET.SubElement(
            root,
            "testcase",
            classname=suite,
            name=one.name,
            time=f"{one.took_s:.3f}",
        )
        if tag:
            text = printable(one.detail)
            said = {
                "failure": {"message": text, "type": one.result},
                "skipped": {"message": text},
            }
            ET.SubElement(case, tag, said.get(tag, {})).text = text
    return ET.tostring(root, encoding="unicode")
