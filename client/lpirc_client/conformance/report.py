"""What was found, as a table and as JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lpirc_client.errors import printable

PASS, FAIL, SKIP, FAULT, HINT = "PASS", "FAIL", "SKIP", "FAULT", "HINT"
BAD = (FAIL, FAULT)
JUNIT_TAG = {FAIL: "failure", FAULT: "failure", SKIP: "skipped", HINT: "system-out"}


@dataclass(frozen=True)
class Finding:
    """What a check (PASS, FAIL, SKIP) or a rule (PASS, FAULT, HINT) came to.

    Of a rule: how often it was broken, and first at how many s after the window opened.
    """

    name: str
    result: str
    detail: str = ""
    count: int = 0
    first_s: float | None = None


def table(findings: Sequence[Finding]) -> str:
    """Return a line for each finding, and one that counts them."""
    lines = [printable(f"{one.result:5} {one.name:26} {one.detail}").rstrip() for one in findings]
    counts = Counter(one.result for one in findings)
    return "\n".join([*lines, ", ".join(f"{count} {result}" for result, count in counts.items())])


def junit(suite: str, findings: Sequence[Finding]) -> str:
    """Return JUnit XML with a testcase for each finding; one with a hint passes."""
    tags = [JUNIT_TAG.get(one.result, "") for one in findings]
    counts = {"tests": len(tags), "failures": tags.count("failure"), "skipped": tags.count("skipped")}
    root = ET.Element("testsuite", {"name": suite, **{name: str(count) for name, count in counts.items()}})
    for tag, one in zip(tags, findings):
        case = ET.SubElement(root, "testcase", classname=suite, name=one.name)
        if tag:
            ET.SubElement(case, tag, message=printable(one.detail)).text = printable(one.detail)
    return ET.tostring(root, encoding="unicode")
